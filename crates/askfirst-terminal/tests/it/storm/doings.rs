//! What a storm is made of, drawn from a seed.

use std::time::Duration;

use rustix::process::Signal;

/// Numbers that follow from a seed.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(most).unwrap()).unwrap()
    }

    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(crate) fn of<'a, T: ?Sized>(&mut self, things: &[&'a T]) -> &'a T {
        things[self.below(things.len())]
    }

    fn millis(&mut self, most: usize) -> Duration {
        Duration::from_millis(self.below(most).try_into().unwrap())
    }
}

/// One thing that happens to a program.
#[derive(Debug, Clone)]
pub(crate) enum Doing {
    /// Bytes in pieces, each so long after the one before. None is a `y` or `s` alone.
    Type(Vec<(Vec<u8>, Duration)>),
    /// A key while the program is stopped, if the screen does not say ready.
    Ahead(u8),
    /// A `y` or `s` that is held.
    Held(u8, usize, Duration),
    /// A key long after the program was stopped, whatever the screen says.
    Asleep(u8),
    /// Another size, and a key that was meant for the one before.
    Resize(u16, Option<u8>),
    /// A signal, so many times.
    Signals(Signal, usize),
    /// Stopped and continued.
    Blink(Duration),
    /// Another program reads lines on the same terminal, and a key is typed for it.
    Lines(Option<u8>),
    /// Nothing.
    Wait(Duration),
    /// The terminal goes away.
    HangUp,
}

/// Keys that approve nothing, ever.
const LONE: [&str; 42] = [
    "N",
    "v",
    "r",
    "e",
    "?",
    "1",
    "2",
    "3",
    "9",
    "0",
    " ",
    "\r",
    "\n",
    "\t",
    "/",
    "\x7f",
    "g",
    "G",
    "j",
    "k",
    "b",
    "f",
    "+",
    "-",
    "w",
    "Y",
    "S",
    "\x1b[A",
    "\x1b[B",
    "\x1b[5~",
    "\x1b[6~",
    "\x1b[H",
    "\x1b[F",
    "\x1b[I",
    "\x1b[O",
    "\x1b[3~",
    "\x1b[121u",
    "\x1b[27;5;121~",
    "\x1bOy",
    "\x1by",
    "\x1bs",
    "\u{44b}",
];
/// Keys that refuse.
const NO: [&str; 5] = ["n", "q", "\x1b", "\x03", "\x04"];
/// What bursts and pastes are made of.
const MANY: [&str; 18] = [
    "y",
    "y",
    "s",
    "\r",
    "\n",
    "yes\r",
    "n",
    " ",
    "zebra@quill.org",
    "zebra",
    "\x1b[B",
    "\t",
    "1s",
    "sy",
    "y\n",
    "\u{e9}",
    "\x1b[",
    "\x07",
];
/// Sequences, some of which look like a yes to somebody who reads them badly.
const SEQUENCES: [&str; 12] = [
    "\x1b[200~y\x1b[201~",
    "\x1b[200~s",
    "\x1b]11;rgb:y/s\x07",
    "\x1b]52;c;eQ==\x1b\\",
    "\x1bPy\x1b\\",
    "\x1b[121;1:1u",
    "\x1b[<0;1;1M",
    "\x1b[?1;2c",
    "\x1b[24;80R",
    "\x1b[1;5A",
    "\u{1f44d}y\u{301}",
    "\x1b\x1b[A",
];

/// Cut in pieces. No piece is a `y` or `s` alone: that might be one that somebody typed.
fn cut(chance: &mut Chance, bytes: &[u8]) -> Doing {
    let mut pieces: Vec<Vec<u8>> = vec![Vec::new()];
    for byte in bytes {
        let last = pieces.last_mut().unwrap();
        last.push(*byte);
        let alone = matches!(last.as_slice(), b"y" | b"s");
        if !alone && chance.one_in(4.max(bytes.len() / 10)) {
            pieces.push(Vec::new());
        }
    }
    if let Some(last) = pieces.pop_if(|last| matches!(last.as_slice(), b"" | b"y" | b"s")) {
        pieces.last_mut().unwrap().extend(last);
    }
    Doing::Type(pieces.into_iter().map(|piece| (piece, chance.millis(70))).collect())
}

fn whole(bytes: &[u8]) -> Doing {
    Doing::Type(vec![(bytes.to_vec(), Duration::ZERO)])
}

fn burst(chance: &mut Chance) -> Vec<u8> {
    let most = if chance.one_in(6) { 900 } else { 7 };
    let parts = 2 + chance.below(most);
    (0..parts).flat_map(|_| chance.of(&MANY).bytes()).collect()
}

fn paste(chance: &mut Chance) -> Vec<u8> {
    let end = if chance.one_in(5) { &b""[..] } else { b"\x1b[201~" };
    [b"\x1b[200~", burst(chance).as_slice(), end].concat()
}

fn yes(chance: &mut Chance) -> u8 {
    *chance.of(&[&b'y', &b's', &b'y'])
}

fn doing(chance: &mut Chance, columns: &mut u16) -> Doing {
    match chance.below(46) {
        0..6 => whole(chance.of(&LONE).as_bytes()),
        6..8 => whole(chance.of(&["\r", " ", "\n"]).as_bytes()),
        8 => whole(chance.of(&NO).as_bytes()),
        9..12 => whole(&burst(chance)),
        12..15 => {
            let bytes = paste(chance);
            cut(chance, &bytes)
        }
        15..18 => {
            let bytes = chance.of(&SEQUENCES).as_bytes();
            cut(chance, bytes)
        }
        18..24 => Doing::Ahead(*chance.of(&[&b'y', &b's', &b'y', &b'\r', &b'z', &b'1', &b'v'])),
        24..26 => {
            Doing::Held(yes(chance), 2 + chance.below(12), Duration::from_millis(5) + chance.millis(40))
        }
        26 => Doing::Asleep(yes(chance)),
        27..31 => {
            // Never one that was there a while ago: the program might not have seen the one between.
            *columns = if *columns >= 200 { 18 } else { *columns + 1 };
            let key = yes(chance);
            Doing::Resize(*columns, Some(key).filter(|_| chance.one_in(2)))
        }
        31 => Doing::Signals(Signal::WINCH, 1 + chance.below(200)),
        32 => Doing::Signals(*chance.of(&[&Signal::CONT, &Signal::TSTP, &Signal::URG, &Signal::CHILD]), 3),
        33..35 => Doing::Blink(chance.millis(40)),
        35..37 => Doing::Lines(Some(yes(chance)).filter(|_| chance.one_in(2))),
        37..43 => Doing::Wait(Duration::from_millis(300) + chance.millis(1_200)),
        43..45 => Doing::Wait(chance.millis(150)),
        _ if chance.one_in(4) => last(chance),
        _ => Doing::Wait(Duration::ZERO),
    }
}

/// Everything that happens in one storm.
pub(crate) fn plan(chance: &mut Chance) -> Vec<Doing> {
    let mut columns = 60 + u16::try_from(chance.below(60)).unwrap();
    let many = 5 + chance.below(45);
    let mut plan = Vec::new();
    for _ in 0..many {
        plan.push(doing(chance, &mut columns));
        // What a key does, it does once it stayed alone.
        if chance.one_in(2) {
            plan.push(Doing::Wait(Duration::from_millis(140)));
        }
    }
    plan
}

/// What ends it.
pub(crate) fn last(chance: &mut Chance) -> Doing {
    let ending = [
        &Signal::TERM,
        &Signal::HUP,
        &Signal::INT,
        &Signal::QUIT,
        &Signal::USR1,
        &Signal::USR2,
        &Signal::ALARM,
    ];
    match chance.below(10) {
        0..6 => whole(b"\x03"),
        6..9 => Doing::Signals(*chance.of(&ending), 1 + chance.below(2)),
        _ => Doing::HangUp,
    }
}
