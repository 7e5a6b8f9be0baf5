//! Programs and sub-commands that have several names.

use crate::tools::shell::line::tree::Word;
use crate::tools::shell::programs::used::Used;

/// Programs by other names, which read their words alike. A denial of one is not about what it is named after.
pub(super) const TWINS: &[(&str, &[&str])] = &[
    ("nerdctl", &["docker"]),
    ("podman", &["docker"]),
    ("podman-compose", &["docker", "compose"]),
    ("oc", &["kubectl"]),
    ("sudoedit", &["sudo", "-e"]),
    ("terragrunt", &["terraform"]),
    ("tofu", &["terraform"]),
    ("hub", &["git"]),
    ("python", &["python3"]),
    ("view", &["vim"]),
    ("rvim", &["vim"]),
    ("rview", &["vim"]),
    ("vimdiff", &["vim", "-d"]),
    ("vim.basic", &["vim"]),
    ("vim.tiny", &["vim"]),
    ("rbash", &["bash"]),
    ("sudo-rs", &["sudo"]),
    ("pypy3", &["python3"]),
    ("python3-dbg", &["python3"]),
    ("corepack", &[]),
    ("egrep", &["grep", "-E"]),
    ("fgrep", &["grep", "-F"]),
    ("rgrep", &["grep", "-r"]),
    ("cross", &["cargo"]),
    ("poweroff", &["shutdown", "-h"]),
];

/// Names of one program: each is all the others.
const GROUPS: &[&[&str]] = &[
    &["apt", "apt-get", "aptitude"],
    &["awk", "gawk", "mawk", "nawk", "original-awk"],
    &["bat", "batcat"],
    &["dnf", "yum", "microdnf", "dnf5"],
    &["fd", "fdfind"],
    &["gradle", "gradlew"],
    &["make", "gmake"],
    &["mvn", "mvnw"],
    &["nc", "netcat", "ncat", "nc.openbsd", "nc.traditional"],
    &["node", "nodejs"],
    &["pip", "pip3"],
    &["sed", "gsed"],
    &["ssh", "slogin"],
    &["tar", "gtar", "bsdtar"],
    &["vercel", "vc"],
    &["vi", "vim", "nvim"],
    &["wget", "wget2"],
    &["yarn", "yarnpkg"],
];

/// Two ways to write the beginning of a command, each for the other.
const HEADS: &[(&[&str], &[&str])] = &[
    (&["docker-compose"], &["docker", "compose"]),
    (&["npx"], &["npm", "exec"]),
    (&["npx"], &["npm", "x"]),
    (&["pnpx"], &["pnpm", "dlx"]),
    (&["bunx"], &["bun", "x"]),
    (&["terraform", "destroy"], &["terraform", "apply", "-destroy"]),
    (&["tofu", "destroy"], &["tofu", "apply", "-destroy"]),
    (&["git", "stage"], &["git", "add"]),
    (&["gh", "cs"], &["gh", "codespace"]),
];

/// Names of one sub-command, by program.
const SUBS: &[(&str, &[&str])] = &[
    (
        "npm",
        &[
            "install", "i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall",
            "add",
        ],
    ),
    ("npm", &["uninstall", "un", "unlink", "remove", "rm", "r"]),
    ("npm", &["ci", "clean-install", "ic", "install-clean", "isntall-clean"]),
    ("npm", &["run", "run-script", "rum", "urn"]),
    ("npm", &["test", "t", "tst"]),
    ("npm", &["update", "up", "upgrade", "udpate"]),
    ("npm", &["link", "ln"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["install", "i"]),
    ("pnpm", &["remove", "rm", "un", "uninstall"]),
    ("pnpm", &["run", "run-script"]),
    ("pnpm", &["test", "t"]),
    ("pnpm", &["update", "up", "upgrade"]),
    ("yarn", &["up", "upgrade"]),
    ("bun", &["install", "i"]),
    ("bun", &["add", "a"]),
    ("bun", &["remove", "rm"]),
    ("cargo", &["build", "b"]),
    ("cargo", &["check", "c"]),
    ("cargo", &["test", "t"]),
    ("cargo", &["run", "r"]),
    ("cargo", &["doc", "d"]),
    ("cargo", &["remove", "rm"]),
    ("helm", &["uninstall", "del", "delete", "un"]),
    ("brew", &["uninstall", "remove", "rm"]),
    ("gem", &["install", "i"]),
];

/// The same command by other names of its program and its sub-command.
pub(super) fn others(words: &[Word], used: &Used) -> Vec<Vec<Word>> {
    let name = used.program.as_str();
    let places = super::places(used);
    let text = |at: usize| places.get(at).and_then(|at| words.get(*at)).and_then(Word::literal);
    let mut found: Vec<Vec<Word>> = TWINS
        .iter()
        .filter(|(other, _)| *other == name)
        .map(|(_, twin)| super::made(words, twin, 1))
        .collect();
    let group = GROUPS.iter().filter(|group| group.contains(&name)).flat_map(|group| group.iter());
    found.extend(group.filter(|other| **other != name).map(|other| super::made(words, &[other], 1)));
    for (one, two) in HEADS {
        for (given, meant) in [(one, two), (two, one)] {
            let (subs, options): (Vec<&str>, Vec<&str>) =
                given.iter().skip(1).partition(|word| !word.starts_with('-'));
            let has = |option: &&str| super::has(used, option);
            let same = given.first() == Some(&name)
                && subs.iter().enumerate().all(|(at, sub)| text(at) == Some(sub))
                && options.iter().all(has);
            if same {
                let last = subs.len().checked_sub(1).map_or(Some(0), |at| places.get(at).copied());
                // What stands before the sub-command belongs to the program itself.
                let before = last.and_then(|last| words.get(1..last)).unwrap_or_default();
                let own = before.iter().filter(|word| word.prefix().starts_with('-'));
                let mut other = super::made(&[], meant, 0);
                other.extend(own.cloned());
                other.extend(words.iter().skip(last.unwrap_or(0) + 1).cloned());
                found.push(other);
            }
        }
    }
    let sub = |names: &&(&str, &[&str])| names.0 == name && text(0).is_some_and(|sub| names.1.contains(&sub));
    let at = places.first().copied().unwrap_or(1);
    for other in SUBS.iter().filter(sub).flat_map(|(_, names)| names.iter()) {
        found.push(super::replaced(words, at, Word::text(*other, 0..0)));
    }
    found
}
