//! Programs and sub-commands that have several names.

use crate::line::tree::Word;
use crate::programs::used::Used;

/// Programs by other names, which read their words alike. A denial of one is not about what it is named after.
pub(super) const TWINS: &[(&str, &[&str])] = &[
    ("com.docker.cli", &["docker"]),
    ("nerdctl", &["docker"]),
    ("podman", &["docker"]),
    ("podman-compose", &["docker", "compose"]),
    ("kubecolor", &["kubectl"]),
    ("microk8s.kubectl", &["kubectl"]),
    ("oc", &["kubectl"]),
    ("sudoedit", &["sudo", "-e"]),
    ("terragrunt", &["terraform"]),
    ("tofu", &["terraform"]),
    ("hub", &["git"]),
    ("ipython", &["python"]),
    ("py", &["python"]),
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
    ("colima", &[]),
    ("corepack", &[]),
    ("lima", &[]),
    ("egrep", &["grep", "-E"]),
    ("fgrep", &["grep", "-F"]),
    ("rgrep", &["grep", "-r"]),
    ("cross", &["cargo"]),
    ("autossh", &["ssh"]),
    ("dcfldd", &["dd"]),
    ("gdd", &["dd"]),
    ("poweroff", &["shutdown", "-h"]),
    ("halt", &["shutdown", "-H"]),
    ("mke2fs", &["mkfs"]),
    ("mkdosfs", &["mkfs"]),
    ("mkntfs", &["mkfs"]),
];

/// Names of one program: each is all the others.
const GROUPS: &[&[&str]] = &[
    &["apt", "apt-get", "aptitude"],
    &["awk", "gawk", "mawk", "nawk", "original-awk"],
    &["bat", "batcat"],
    &["dnf", "yum", "microdnf", "dnf5"],
    &["fd", "fdfind"],
    &["gradle", "gradlew"],
    &["make", "gmake", "bmake", "remake", "colormake"],
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
    (&["yarn", "publish"], &["yarn", "npm", "publish"]),
    (&["npm", "install"], &["npm", "install-test"]),
    (&["npm", "install"], &["npm", "it"]),
    (&["npm", "ci"], &["npm", "install-ci-test"]),
    (&["npm", "ci"], &["npm", "cit"]),
    (&["reboot"], &["shutdown", "-r"]),
    (&["systemctl", "reboot"], &["reboot"]),
    (&["systemctl", "poweroff"], &["poweroff"]),
    (&["systemctl", "halt"], &["halt"]),
    (&["minikube", "kubectl"], &["kubectl"]),
    (&["microk8s", "kubectl"], &["kubectl"]),
    (&["k3s", "kubectl"], &["kubectl"]),
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

/// Programs and sub-commands of theirs that start what they are given, somewhere behind words of their own.
const STARTERS: &[(&str, &[&str])] = &[
    ("aa-exec", &[]),
    ("cgexec", &[]),
    ("choom", &[]),
    ("chpst", &[]),
    ("composer", &["exec"]),
    ("conda", &["run"]),
    ("cpulimit", &[]),
    ("daemonize", &[]),
    ("devbox", &["run"]),
    ("env-cmd", &[]),
    ("envdir", &[]),
    ("fnm", &["exec"]),
    ("gdb", &[]),
    ("lerna", &["exec"]),
    ("mamba", &["run"]),
    ("micromamba", &["run"]),
    ("mise", &["exec", "x"]),
    ("multitime", &[]),
    ("nix", &["develop", "run", "shell"]),
    ("numactl", &[]),
    ("nvm", &["exec", "run"]),
    ("nx", &["exec"]),
    ("opam", &["exec"]),
    ("pixi", &["exec", "run"]),
    ("prlimit", &[]),
    ("rtx", &["exec", "x"]),
    ("runcon", &[]),
    ("rye", &["run"]),
    ("setpriv", &[]),
    ("softlimit", &[]),
    ("uclampset", &[]),
    ("volta", &["run"]),
    ("yarn", &["exec"]),
];

/// So many words of its own may stand before what is started.
const BEFORE: usize = 8;

/// What a program may start: the words from each on that is no option.
fn started(words: &[Word], name: &str) -> Vec<Vec<Word>> {
    let Some((_, subs)) = STARTERS.iter().find(|(starter, _)| *starter == name) else { return Vec::new() };
    let plain = |at: &usize| words.get(*at).is_some_and(|word| !word.prefix().starts_with('-'));
    let mut places = (1..words.len()).filter(plain);
    if !subs.is_empty() {
        let is_sub = |word: &Word| word.literal().is_some_and(|text| subs.contains(&text));
        if !places.any(|at| words.get(at).is_some_and(is_sub)) {
            return Vec::new();
        }
    }
    places.take(BEFORE).filter_map(|at| words.get(at..)).map(<[Word]>::to_vec).collect()
}

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
    found.extend(started(words, name));
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
