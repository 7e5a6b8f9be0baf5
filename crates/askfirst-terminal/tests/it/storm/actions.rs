//! The actions of a storm, chosen by a seeded random generator.

use std::time::Duration;

use rustix::process::Signal;

/// A random generator with a seed.
#[derive(Debug)]
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`.
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

/// One action in a storm.
#[derive(Debug, Clone)]
pub(crate) enum StormAction {
    /// Sends bytes in pieces, each after a pause. No piece is a single `y` or `s`.
    Type(Vec<(Vec<u8>, Duration)>),
    /// Sends a key while the program is stopped, if the screen does not say ready.
    Ahead(u8),
    /// Sends a held `y` or `s`: the key, the count and the pause.
    Held(u8, usize, Duration),
    /// Stops the program for long, then sends a key, whatever the screen says.
    Asleep(u8),
    /// Changes the size and may send a key that was meant for the earlier screen.
    Resize(u16, Option<u8>),
    /// Sends a signal several times.
    Signals(Signal, usize),
    /// Stops the program and continues it.
    Blink(Duration),
    /// Lets another program read lines on the terminal and may send a key for it.
    Lines(Option<u8>),
    /// Waits.
    Wait(Duration),
    /// Closes the terminal.
    HangUp,
}

/// Keys that never approve.
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
/// The parts of bursts and pastes.
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
/// Escape sequences. A wrong decoder would read some of them as a yes.
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

/// Cuts bytes into pieces. No piece is a single `y` or `s`, because that would be a valid answer.
fn cut(random: &mut SeededRandom, bytes: &[u8]) -> StormAction {
    let mut pieces: Vec<Vec<u8>> = vec![Vec::new()];
    for byte in bytes {
        let last = pieces.last_mut().unwrap();
        last.push(*byte);
        let alone = matches!(last.as_slice(), b"y" | b"s");
        if !alone && random.one_in(4.max(bytes.len() / 10)) {
            pieces.push(Vec::new());
        }
    }
    if let Some(last) = pieces.pop_if(|last| matches!(last.as_slice(), b"" | b"y" | b"s")) {
        pieces.last_mut().unwrap().extend(last);
    }
    StormAction::Type(pieces.into_iter().map(|piece| (piece, random.millis(70))).collect())
}

fn whole(bytes: &[u8]) -> StormAction {
    StormAction::Type(vec![(bytes.to_vec(), Duration::ZERO)])
}

fn burst(random: &mut SeededRandom) -> Vec<u8> {
    let most = if random.one_in(6) { 900 } else { 7 };
    let parts = 2 + random.below(most);
    (0..parts).flat_map(|_| random.of(&MANY).bytes()).collect()
}

fn paste(random: &mut SeededRandom) -> Vec<u8> {
    let end = if random.one_in(5) { &b""[..] } else { b"\x1b[201~" };
    [b"\x1b[200~", burst(random).as_slice(), end].concat()
}

fn yes(random: &mut SeededRandom) -> u8 {
    *random.of(&[&b'y', &b's', &b'y'])
}

fn action(random: &mut SeededRandom, columns: &mut u16) -> StormAction {
    match random.below(46) {
        0..6 => whole(random.of(&LONE).as_bytes()),
        6..8 => whole(random.of(&["\r", " ", "\n"]).as_bytes()),
        8 => whole(random.of(&NO).as_bytes()),
        9..12 => whole(&burst(random)),
        12..15 => {
            let bytes = paste(random);
            cut(random, &bytes)
        }
        15..18 => {
            let bytes = random.of(&SEQUENCES).as_bytes();
            cut(random, bytes)
        }
        18..24 => StormAction::Ahead(*random.of(&[&b'y', &b's', &b'y', &b'\r', &b'z', &b'1', &b'v'])),
        24..26 => {
            StormAction::Held(yes(random), 2 + random.below(12), Duration::from_millis(5) + random.millis(40))
        }
        26 => StormAction::Asleep(yes(random)),
        27..31 => {
            // Always a new width: the program might miss a change to a width and back.
            *columns = if *columns >= 200 { 18 } else { *columns + 1 };
            let key = yes(random);
            StormAction::Resize(*columns, Some(key).filter(|_| random.one_in(2)))
        }
        31 => StormAction::Signals(Signal::WINCH, 1 + random.below(200)),
        32 => {
            StormAction::Signals(*random.of(&[&Signal::CONT, &Signal::TSTP, &Signal::URG, &Signal::CHILD]), 3)
        }
        33..35 => StormAction::Blink(random.millis(40)),
        35..37 => StormAction::Lines(Some(yes(random)).filter(|_| random.one_in(2))),
        37..43 => StormAction::Wait(Duration::from_millis(300) + random.millis(1_200)),
        43..45 => StormAction::Wait(random.millis(150)),
        _ if random.one_in(4) => last(random),
        _ => StormAction::Wait(Duration::ZERO),
    }
}

/// All actions of one storm.
pub(crate) fn plan(random: &mut SeededRandom) -> Vec<StormAction> {
    let mut columns = 60 + u16::try_from(random.below(60)).unwrap();
    let many = 5 + random.below(45);
    let mut plan = Vec::new();
    for _ in 0..many {
        plan.push(action(random, &mut columns));
        // A key acts only after a short time without another key.
        if random.one_in(2) {
            plan.push(StormAction::Wait(Duration::from_millis(140)));
        }
    }
    plan
}

/// The action that ends a storm.
pub(crate) fn last(random: &mut SeededRandom) -> StormAction {
    let ending = [
        &Signal::TERM,
        &Signal::HUP,
        &Signal::INT,
        &Signal::QUIT,
        &Signal::USR1,
        &Signal::USR2,
        &Signal::ALARM,
    ];
    match random.below(10) {
        0..6 => whole(b"\x03"),
        6..9 => StormAction::Signals(*random.of(&ending), 1 + random.below(2)),
        _ => StormAction::HangUp,
    }
}
