//! Other ways to write the same command, for denials: `git-push` is `git push`, `docker ps` is `docker container ls`,
//! `python3 -m pip` is `pip`. Nothing here grants.

mod spelled;

use super::line::tree::Word;
use super::programs;
use super::programs::used::Used;

/// Sub-commands of docker that stand alone and below a noun: the short way, then the long one.
const DOCKER: [(&[&str], &[&str]); 38] = [
    (&["attach"], &["container", "attach"]),
    (&["commit"], &["container", "commit"]),
    (&["cp"], &["container", "cp"]),
    (&["create"], &["container", "create"]),
    (&["diff"], &["container", "diff"]),
    (&["exec"], &["container", "exec"]),
    (&["export"], &["container", "export"]),
    (&["kill"], &["container", "kill"]),
    (&["logs"], &["container", "logs"]),
    (&["ps"], &["container", "ls"]),
    (&["ps"], &["container", "ps"]),
    (&["ps"], &["container", "list"]),
    (&["pause"], &["container", "pause"]),
    (&["port"], &["container", "port"]),
    (&["rename"], &["container", "rename"]),
    (&["restart"], &["container", "restart"]),
    (&["rm"], &["container", "rm"]),
    (&["rm"], &["container", "remove"]),
    (&["run"], &["container", "run"]),
    (&["start"], &["container", "start"]),
    (&["stats"], &["container", "stats"]),
    (&["stop"], &["container", "stop"]),
    (&["top"], &["container", "top"]),
    (&["update"], &["container", "update"]),
    (&["wait"], &["container", "wait"]),
    (&["build"], &["image", "build"]),
    (&["build"], &["builder", "build"]),
    (&["build"], &["buildx", "build"]),
    (&["history"], &["image", "history"]),
    (&["images"], &["image", "ls"]),
    (&["images"], &["image", "list"]),
    (&["load"], &["image", "load"]),
    (&["pull"], &["image", "pull"]),
    (&["push"], &["image", "push"]),
    (&["rmi"], &["image", "rm"]),
    (&["rmi"], &["image", "remove"]),
    (&["save"], &["image", "save"]),
    (&["tag"], &["image", "tag"]),
];

/// Programs by other names, which read their words alike.
const TWINS: &[(&str, &[&str])] = &[
    ("docker-compose", &["docker", "compose"]),
    ("nerdctl", &["docker"]),
    ("podman", &["docker"]),
    ("podman-compose", &["docker", "compose"]),
    ("oc", &["kubectl"]),
    ("sudoedit", &["sudo", "-e"]),
    ("terragrunt", &["terraform"]),
    ("tofu", &["terraform"]),
    ("hub", &["git"]),
    ("npx", &["npm", "exec"]),
    ("pip", &["pip3"]),
    ("pip3", &["pip"]),
    ("python", &["python3"]),
    ("node", &["nodejs"]),
    ("nodejs", &["node"]),
    ("batcat", &["bat"]),
    ("fdfind", &["fd"]),
    ("yarnpkg", &["yarn"]),
    ("gmake", &["make"]),
    ("gsed", &["sed"]),
    ("gtar", &["tar"]),
    ("view", &["vim"]),
    ("rvim", &["vim"]),
    ("rview", &["vim"]),
    ("vimdiff", &["vim", "-d"]),
    ("vim.basic", &["vim"]),
    ("vim.tiny", &["vim"]),
    ("netcat", &["nc"]),
    ("ncat", &["nc"]),
    ("nc.openbsd", &["nc"]),
    ("nc.traditional", &["nc"]),
    ("rbash", &["bash"]),
    ("slogin", &["ssh"]),
    ("sudo-rs", &["sudo"]),
    ("apt-get", &["apt"]),
    ("pypy3", &["python3"]),
    ("python3-dbg", &["python3"]),
    ("corepack", &[]),
];

/// Programs whose sub-commands are programs of their own: `git-push`.
const HYPHENED: [&str; 4] = ["git", "cargo", "docker", "kubectl"];

/// The names that npm knows `install` by.
const NPM_INSTALL: [&str; 11] =
    ["i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add"];

/// The same command in other words.
pub(super) fn others(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let Some(first) = words.first() else { return found };
    let made = |head: &[&str], from: usize| {
        let head = head.iter().map(|text| Word::text(*text, first.span.clone()));
        head.chain(words.iter().skip(from).cloned()).collect::<Vec<_>>()
    };
    let name = used.program.as_str();
    if let Some((_, twin)) = TWINS.iter().find(|(other, _)| *other == name) {
        found.push(made(twin, 1));
    }
    // On some disks a name in capitals is the same file; `mkfs.ext4` is `mkfs`.
    let lower = name.to_lowercase();
    let head = name.split_once('.').map(|(head, _)| head).filter(|head| *head == "mkfs");
    for other in [(lower != name).then_some(lower.as_str()), head].into_iter().flatten() {
        found.push(made(&[other], 1));
    }
    for program in HYPHENED {
        let sub = name.strip_prefix(program).and_then(|rest| rest.strip_prefix('-'));
        if let Some(sub) = sub.filter(|sub| !sub.is_empty()) {
            found.push(made(&[program, sub], 1));
        }
    }
    match name {
        "docker" | "podman" | "nerdctl" => {
            for mut other in docker(words, used) {
                found.push(other.clone());
                if let Some(word) = other.first_mut() {
                    *word = Word::text("docker", word.span.clone());
                    found.push(other);
                }
            }
        }
        "terraform" | "tofu" => {
            let destroys = used.options.iter().any(|given| given.names.iter().any(|name| name == "-destroy"));
            if destroys && used.subs.first().is_some_and(|sub| sub.name == "apply") {
                found.push(made(&[name, "destroy"], words.len()));
            }
        }
        "git" if used.subs.first().is_some_and(|sub| sub.name == "push") => {
            let forced = words.iter().any(|word| word.prefix().starts_with('+'));
            let from = used.subs.first().map_or(2, |sub| sub.word + 1);
            found.extend(forced.then(|| made(&["git", "push", "--force"], from)));
        }
        "ssh" => found.extend(sent_away(words, used)),
        "kubectl" | "oc" => found.extend(spelled::kinds(words, used)),
        "kill" | "pkill" | "killall" => found.extend(spelled::signals(words, used)),
        "git" if used.subs.first().is_some_and(|sub| sub.name == "branch") => {
            let has =
                |short: &str| used.options.iter().any(|given| given.names.iter().any(|name| name == short));
            for (small, large) in [("-d", "-D"), ("-m", "-M"), ("-c", "-C")] {
                if has(small) && has("-f") {
                    found.push(made(
                        &["git", "branch", large],
                        used.subs.first().map_or(2, |sub| sub.word + 1),
                    ));
                }
            }
        }
        "chmod" => {
            let modes = words.iter().enumerate().skip(1);
            let mode = modes.filter_map(|(at, word)| Some((at, octal(word.literal()?)?))).next();
            let ways = mode.iter().flat_map(|(at, mode)| {
                // It may be written with zeros before it, and in letters.
                let spelled = [mode.clone(), format!("0{mode}")].into_iter().chain(letters(mode));
                spelled.map(move |text| (*at, text))
            });
            for (at, text) in ways {
                let mut other = words.to_vec();
                if let Some(word) = other.get_mut(at) {
                    *word = Word::text(text, word.span.clone());
                    found.push(other);
                }
            }
        }
        "npm" => {
            let word = used.operands.first().map(|operand| operand.word);
            let word = used.subs.first().map(|sub| sub.word).or(word).unwrap_or(1);
            if words.get(word).and_then(Word::literal).is_some_and(|sub| NPM_INSTALL.contains(&sub)) {
                found.push(made(&["npm", "install"], word + 1));
            }
            found.extend(script(words, name, word));
        }
        "yarn" | "pnpm" | "bun" => found.extend(script(words, name, 1)),
        _ => {}
    }
    // A tool that is started by its name: `python3 -m pip`, `npx eslint`, `uv run pytest`.
    let tools = used.subs.iter().filter(|sub| is_starter(name) && programs::table_of(&sub.name).is_some());
    for tool in tools {
        found.extend(words.get(tool.word..).map(<[Word]>::to_vec));
        let twin = TWINS.iter().find(|(other, _)| *other == tool.name);
        found.extend(twin.map(|(_, twin)| made(twin, tool.word + 1)));
    }
    found
}

/// A script of the project by its other name: `npm test` is `npm run test`.
fn script(words: &[Word], program: &str, at: usize) -> Option<Vec<Word>> {
    let text = words.get(at).and_then(Word::literal)?;
    let made = |head: &[&str], from: usize| {
        let head = head.iter().map(|text| Word::text(*text, 0..0));
        head.chain(words.iter().skip(from).cloned()).collect::<Vec<_>>()
    };
    match text {
        "run" | "run-script" | "rum" | "urn" => {
            let name = words.get(at + 1).and_then(Word::literal).filter(|name| !name.starts_with('-'))?;
            Some(made(&[program, name], at + 2))
        }
        "t" | "tst" => Some(made(&[program, "test"], at + 1)),
        name if !name.starts_with('-') => Some(made(&[program, "run", name], at + 1)),
        _ => None,
    }
}

/// What `ssh` has the other machine run: its words, and the commands that stand in one of them.
fn sent_away(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let sent = used.operands.get(1).and_then(|operand| words.get(operand.word..)).unwrap_or_default();
    let text = sent.iter().filter_map(Word::literal).collect::<Vec<_>>().join(" ");
    let commands = text.split([';', '&', '|', '\n', '(', ')', '`']);
    let plain = |word: &str| Word::text(word.trim_matches(['"', '\'', '$', '{', '}']), 0..0);
    let commands = commands.map(|command| command.split_whitespace().map(plain).collect::<Vec<_>>());
    commands.filter(|command| !command.is_empty()).collect()
}

/// A mode of `chmod` in digits, where it sets all that it names: `0777`, `a+rwx`, `u=rwx,go=rx`.
fn octal(text: &str) -> Option<String> {
    let digits = text.strip_prefix(['+', '=']).unwrap_or(text);
    if digits.len() >= 3 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return Some(digits.trim_start_matches('0').to_owned());
    }
    let mut mode = [0_u8; 3];
    for clause in text.split(',') {
        let (who, what) = clause.split_at(clause.find(['+', '='])?);
        let bits = what.get(1..)?.chars().try_fold(0_u8, |bits, letter| match letter {
            'r' => Some(bits | 4),
            'w' => Some(bits | 2),
            'x' | 'X' => Some(bits | 1),
            _ => None,
        })?;
        for (place, letter) in mode.iter_mut().zip(['u', 'g', 'o']) {
            if who.is_empty() || who.contains(['a', letter]) {
                *place |= bits;
            }
        }
        if !who.chars().all(|letter| matches!(letter, 'u' | 'g' | 'o' | 'a')) {
            return None;
        }
    }
    Some(
        mode.iter()
            .map(|bits| char::from(b'0' + bits))
            .collect::<String>()
            .trim_start_matches('0')
            .to_owned(),
    )
}

/// How people write modes that are denied in letters.
fn letters(mode: &str) -> Vec<String> {
    let ways: &[&str] = match mode {
        "777" => &["a+rwx", "a=rwx", "+rwx", "ugo+rwx", "ugo=rwx"],
        "666" => &["a+rw", "a=rw", "ugo+rw", "ugo=rw"],
        _ => &[],
    };
    ways.iter().map(|way| (*way).to_owned()).collect()
}

/// Programs that start others which the project has.
fn is_starter(name: &str) -> bool {
    let version = |c: char| c.is_ascii_digit() || c == '.';
    matches!(
        name.trim_end_matches(version),
        "python"
            | "pypy"
            | "npx"
            | "bunx"
            | "pnpx"
            | "npm"
            | "pnpm"
            | "yarn"
            | "bun"
            | "uv"
            | "uvx"
            | "poetry"
            | "pipenv"
            | "pipx"
            | "hatch"
            | "pdm"
            | "rye"
            | "bundle"
            | "mise"
            | "nix"
    )
}

fn docker(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    // The noun is the first word that is no option; what stands before it belongs to docker itself.
    let subs: Vec<usize> = used.subs.iter().map(|sub| sub.word).collect();
    let operands = used.operands.iter().map(|operand| operand.word);
    let mut places: Vec<usize> = subs.into_iter().chain(operands).collect();
    places.sort_unstable();
    let text = |at: usize| places.get(at).and_then(|at| words.get(*at)).and_then(Word::literal);
    let mut found = Vec::new();
    for (short, long) in DOCKER {
        for (given, meant) in [(short, long), (long, short)] {
            let same = given.iter().enumerate().all(|(at, word)| text(at) == Some(word));
            let (Some(from), Some(last)) = (places.first(), places.get(given.len().saturating_sub(1))) else {
                continue;
            };
            if same {
                let mut other: Vec<Word> = words.get(..*from).unwrap_or_default().to_vec();
                other.extend(meant.iter().map(|text| Word::text(*text, 0..0)));
                other.extend(words.iter().skip(last + 1).cloned());
                found.push(other);
            }
        }
    }
    found
}
