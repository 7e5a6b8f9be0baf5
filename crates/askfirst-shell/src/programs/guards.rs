//! What rows cannot say: values that name code, tools that are none of a project, and words that are further goals.

use super::files::family;
use super::used::Role;
use crate::line::tree::Word;

/// Parts of the names of options whose value may be a module that is loaded, or a program that is started.
const LOADING: [&str; 7] =
    ["reporter", "environment", "parser", "browser", "formatter", "runner", "resolver"];
const LOADING_WHOLE: [&str; 5] = ["--pool", "--python", "--report", "--standard", "--ui"];
/// How the names of files with code end.
const CODE: [&str; 9] = [".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".php", ".sh"];
/// Tables of programs that no project runs as a tool of its own.
const OTHERS: [&str; 14] = [
    "archive.txt",
    "builtins.txt",
    "change.txt",
    "clouds.txt",
    "database.txt",
    "forges.txt",
    "git.txt",
    "media.txt",
    "network.txt",
    "packages.txt",
    "process.txt",
    "shells.txt",
    "system.txt",
    "wrappers.txt",
];
/// Programs whose operands are goals, each like a sub-command.
const GOALS: [&str; 14] = [
    "ant",
    "gradle",
    "gradlew",
    "lein",
    "mvn",
    "mvnd",
    "mvnw",
    "ninja",
    "ninja-build",
    "rails",
    "rake",
    "samu",
    "sbt",
    "scons",
];
/// Programs that print what each of their sub-commands is for.
const EXPLAINING: [&str; 9] =
    ["cargo", "docker", "gh", "git", "go", "helm", "kubectl", "podman", "terraform"];
/// Names of programs that projects give their scripts too.
const SCRIPTS: [&str; 12] =
    ["check", "clean", "dev", "env", "format", "install", "link", "start", "stop", "test", "time", "watch"];
/// What a package manager does in one workspace, beside running its scripts.
const IN_WORKSPACE: [&str; 10] =
    ["config", "create", "dlx", "exec", "node", "npm", "patch", "plugin", "publish", "set"];

/// What of a name ends so is data; letters behind it make no name of another meaning.
const DATA: [&str; 10] =
    [".bin", ".chunk", ".csv", ".dump", ".gz", ".log", ".part", ".piece", ".sql", ".txt"];
/// How names of parts of a file begin.
const PARTS: [&str; 5] = ["chunk", "part", "piece", "segment", "split"];
/// Words of the filters of `ss`, beside addresses and ports.
const FILTER: [&str; 45] = [
    "all",
    "and",
    "autobound",
    "big",
    "bucket",
    "close",
    "close-wait",
    "closed",
    "closing",
    "connected",
    "dport",
    "dst",
    "eq",
    "established",
    "exclude",
    "fin-wait-1",
    "fin-wait-2",
    "geq",
    "ge",
    "gt",
    "inet",
    "inet6",
    "last-ack",
    "leq",
    "le",
    "listen",
    "listening",
    "lt",
    "mptcp",
    "ne",
    "neq",
    "not",
    "or",
    "sport",
    "src",
    "state",
    "syn-recv",
    "syn-sent",
    "synchronized",
    "tcp",
    "time-wait",
    "udp",
    "unconnected",
    "unix",
    "raw",
];

/// What means a whole working tree to git.
const WHOLE: [&str; 8] = [".", "./", "*", "./*", ":", ":/", ":/*", ":(top)"];
/// How the names of operations in a cloud begin that only read.
const READING: [&str; 19] = [
    "check", "describe", "estimate", "filter", "get", "head", "help", "list", "lookup", "ls", "preview",
    "query", "scan", "search", "simulate", "tail", "test", "validate", "wait",
];
/// How the names of those begin that take something away or give rights to it.
const REMOVING: [&str; 9] =
    ["add-iam", "delete", "destroy", "purge", "remove", "reset", "set-iam", "stop", "terminate"];
/// Orders of Django's `manage.py` by which code on the line runs, or a database is emptied.
const MANAGING: [&str; 7] =
    ["changepassword", "dbshell", "flush", "reset_db", "runscript", "shell", "shell_plus"];
/// Where machines in a cloud are handed their keys.
const METADATA: [&str; 8] = [
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "metadata.google.internal",
    "fd00:ec2::254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
];

/// Words of a compiler that start a program or load one.
const COMPILING: [&str; 7] = ["-fplugin", "-wrapper", "-specs", "-Xclang", "-load", "-fuse-ld", "-B"];

/// Whether an option's value names code.
pub(super) fn loads(program: &str, names: &[String], value: &str) -> bool {
    let named = |any: &[&str]| names.iter().any(|name| any.contains(&name.as_str()));
    let code_file = CODE.iter().any(|suffix| value.ends_with(suffix));
    let own = match program {
        "meson" => named(&["-D"]) && value.contains("args="),
        "bazel" | "bazelisk" => COMPILING.iter().any(|word| value.starts_with(word)),
        // A class of warnings is loaded from its module.
        "pytest" => {
            named(&["-W", "--pythonwarnings"])
                && value.rsplit(':').next().is_some_and(|kind| kind.contains('.'))
        }
        "jupyter" | "jupyter-nbconvert" => named(&["--to"]) && value.contains('.'),
        // The file's content stands in the value's place.
        "az" => value.starts_with('@'),
        "clang-format" => value.starts_with("file:"),
        // `-flp:logfile=x`, `-outputResultsCache:x`: a word of one dash, not a letter with its value.
        "dotnet" => {
            let leads = value.starts_with(':') && (named(&["-o"]) || value.contains(['/', '\\', '~']));
            leads || names.iter().any(|name| name.len() == 2) && value.find(':').is_some_and(|at| at > 0)
        }
        "docker" | "docker-compose" | "podman" => named(&["-f", "--file"]) && value == "-",
        _ if program.starts_with("ansible") => {
            named(&["-i", "--inventory"]) && (code_file || value.ends_with(','))
        }
        _ => false,
    };
    own || loads_by_name(names, value)
}

/// Whether an option names code in its own word, as `-Dname=value` does.
pub(super) fn tells_code(program: &str, written: &str) -> bool {
    let java = ["jvmArguments", "agents", "argLine", "javaagent"];
    match program {
        "mvn" | "mvnd" | "mvnw" => java.iter().any(|word| written.contains(word)),
        "vitest" => written.contains("execArgv"),
        // Tools of Rust in a folder.
        "cargo" | "rustc" | "rustfmt" => written.starts_with('+') && written.contains('/'),
        _ => false,
    }
}

fn loads_by_name(names: &[String], value: &str) -> bool {
    let loading = |name: &String| {
        let lower = name.to_lowercase();
        LOADING.iter().any(|part| lower.contains(part)) || LOADING_WHOLE.contains(&name.as_str())
    };
    let addressed = value.starts_with(['.', '/', '~']) || value.contains("..") || value.contains(":/");
    let code = value.starts_with("data:")
        || value.starts_with("file:")
        || CODE.iter().any(|suffix| value.ends_with(suffix));
    let target = names.iter().any(|name| name == "--target") && value.ends_with(".json");
    let environment = names.iter().any(|name| name == "--jq") && value.to_lowercase().contains("env");
    // The program puts the file's content in the value's place.
    let file = value.starts_with("file://") || value.starts_with("fileb://");
    ((addressed || code) && names.iter().any(loading)) || target || environment || file
}

/// Whether an operand asks a cluster for its secrets.
pub(super) fn names_secrets(program: &str, word: &str) -> bool {
    ["kubectl", "oc"].contains(&program) && word.to_lowercase().contains("secret")
}

/// Whether a value climbs to another folder.
pub(super) fn climbs(value: &str) -> bool {
    value.split('/').any(|part| part == "..")
}

/// Whether an option asks what a sub-command is for.
pub(super) fn explains(program: &str, option: &str) -> bool {
    matches!(option, "--help" | "-h" | "-help") && EXPLAINING.contains(&program)
}

/// Whether a builtin without names prints all variables that there are.
pub(super) fn prints_all(program: &str, operands: &[&str], options: usize) -> bool {
    match program {
        "set" => matches!(operands, [] | ["+"]) && options == 0,
        "export" | "declare" | "typeset" | "readonly" | "local" => operands.is_empty(),
        _ => false,
    }
}

/// Whether an operand of a program that copies names a place on another machine: `host:path`, `rsync://host/path`.
pub(super) fn is_elsewhere(program: &str, word: &str) -> bool {
    let host = word.split('/').next().unwrap_or_default();
    matches!(program, "rsync" | "scp") && host.contains(':')
}

/// Whether an address surely is one of this machine.
pub(super) fn is_loopback(address: &Word) -> bool {
    let text = address.prefix();
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']);
    if end.is_none() && address.literal().is_none() {
        return false;
    }
    let (authority, _) = rest.split_at(end.unwrap_or(rest.len()));
    let host = match authority.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or(inner),
        None => authority.split(':').next().unwrap_or(authority),
    };
    let is_number =
        |part: &str| !part.is_empty() && part.len() <= 3 && part.bytes().all(|c| c.is_ascii_digit());
    let is_v4 = host.starts_with("127.") && host.split('.').count() == 4 && host.split('.').all(is_number);
    let plain = !authority.contains(['@', '\\', '{', '%']);
    plain && (is_v4 || host == "localhost" || host == "::1")
}

/// Whether what a program changes lies on other machines.
pub(crate) fn is_remote(program: &str) -> bool {
    matches!(family(program), Some("clouds.txt" | "forges.txt"))
}

/// Whether a program that runs scripts of a project takes a name for one: no program goes by these, or a harmless one.
pub(super) fn is_script(program: &str, name: &str) -> bool {
    let usual = ["check", "cov", "docs", "format", "lint", "test", "tests", "typecheck", "types"];
    matches!(program, "hatch" | "pdm" | "pipenv") && usual.contains(&name)
}

/// Whether a program that runs tools of a project takes a word for a file of the project.
pub(super) fn is_file(program: &str, subs: &[&str], word: &str) -> bool {
    program == "uv" && subs == ["run"] && word.ends_with(".py") && word != "manage.py"
}

/// Whether a program that is given no command runs what it reads, by a shell or itself.
pub(super) fn runs_its_input(program: &str, subs: &[&str], words: &[Option<&str>], operands: usize) -> bool {
    let only = |fine: fn(&str) -> bool| words.iter().all(|word| word.is_some_and(fine));
    match (program, subs, operands) {
        ("clj" | "clojure" | "bb", [], 0) => only(|word| word == "-M" || word.starts_with("-A")),
        ("fakeroot" | "fakechroot" | "npx", [], 0) | ("npm", ["exec"], 0) => true,
        // The operand is a package, or a tool with its version.
        ("npm", ["explore"], _) | ("mise" | "rtx", ["exec"], _) => true,
        _ => false,
    }
}

/// Whether a program with these words only tells about itself or its project.
pub(super) fn only_tells(program: &str, words: &[Option<&str>]) -> bool {
    match (program, words) {
        ("gcc" | "g++" | "cc" | "c++" | "clang" | "clang++", [Some("-v")]) => true,
        // The names of the scripts.
        ("npm", [Some("run" | "run-script")]) => true,
        _ => false,
    }
}

/// Whether a name to which `split` adds letters could come to mean something else.
fn may_become_another(prefix: &str) -> bool {
    let name = prefix.rsplit('/').next().unwrap_or_default();
    let stem = name.strip_suffix('.').unwrap_or(name);
    let part = name.ends_with(['-', '_'])
        || DATA.iter().any(|end| stem.ends_with(end))
        || PARTS.iter().any(|start| name.starts_with(start));
    name.starts_with('.') || !part
}

/// Whether an operand must be known before it can be said what it means.
pub(super) fn must_be_known(program: &str) -> bool {
    program == "ss"
}

/// Whether a filter of `ss` may hold a name that is looked up.
fn looks_up(filter: &str) -> bool {
    let token = |token: &str| {
        let number = token.chars().all(|c| c.is_ascii_digit() || ".:/*[]".contains(c));
        let address = token.matches(':').count() > 1
            && token.chars().all(|c| c.is_ascii_hexdigit() || ".:/*[]".contains(c));
        let port = token.strip_prefix(':').is_some_and(|port| port.chars().all(char::is_alphanumeric));
        number || address || port || FILTER.contains(&token)
    };
    let signs = |c: char| c.is_whitespace() || "()=!<>&|".contains(c);
    !filter.split(signs).all(token)
}

/// Whether a path that is read is one in a tongue of the program's own: an address, or a pattern of git.
pub(super) fn is_no_plain_path(program: &str, role: Role, word: &str) -> bool {
    match program {
        "git" if role == Role::Tree => word.starts_with(':') || word.contains(['*', '?', '[', '\\']),
        "xmllint" => word.contains([':', '%']),
        _ => word.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:")),
    }
}

/// Whether a program may be run as a tool of a project by what runs those.
pub(super) fn is_project_tool(name: &str) -> bool {
    family(name).is_none_or(|family| !OTHERS.contains(&family))
}

/// The goals that an operand names.
pub(super) fn goals<'w>(program: &str, word: &'w str) -> impl Iterator<Item = &'w str> + use<'w> {
    // Of `db:migrate` in Ruby the first half is no goal of its own.
    let whole = matches!(program, "rails" | "rake" | "ninja" | "ninja-build" | "samu" | "scons");
    let parts = || [word].into_iter().chain(word.split([':', ' ', ',', ';', '/']).filter(move |_| !whole));
    GOALS.contains(&program).then(parts).into_iter().flatten()
}

/// Whether an operand leaves what a rule for the program and its sub-commands grants: what its place means there is
/// not said by its name.
pub(super) fn leaves(program: &str, subs: &[&str], place: usize, word: &str) -> bool {
    match (program, subs, place) {
        ("yarn" | "yarnpkg", ["workspace"], 1) => IN_WORKSPACE.contains(&word),
        // They also start programs that are no scripts.
        ("yarn" | "yarnpkg" | "bun", ["run"], 0) => {
            word == "-" || (!is_project_tool(word) && !SCRIPTS.contains(&word))
        }
        // A playbook that is sent.
        ("ansible-playbook", ..) => word.starts_with("/dev/") || word.starts_with("/proc/"),
        ("php", ["artisan"], _) => word.starts_with("--configuration") || word.starts_with("--bootstrap"),
        // It loses the `--` before it hands them on.
        ("git", ["stash", "list"], _) => word.starts_with('-'),
        // A branch that is pushed by force, behind `--`.
        ("git", ["push"], _) => word.starts_with('+'),
        // All that was changed is lost, not one file.
        ("git", ["checkout"], _) => WHOLE.contains(&word),
        // Branches of one's own are replaced; what is merged comes from no remote of the project.
        ("git", ["fetch"], _) => word.starts_with('+'),
        ("git", ["pull"], _) => word.starts_with('+') || word.contains("://") || word.contains('@'),
        ("gcloud", ..) => REMOVING.iter().any(|verb| word.starts_with(verb)),
        // A target of somebody else's.
        ("earthly", [], 0) => !word.starts_with('+') && !word.starts_with("./"),
        // `perl -n` opens `command|` and `>file` too.
        ("perl", ..) => word.contains(['|', '<', '>']),
        // A program of somebody's, with code that installs it: `ubi:evil/x`.
        ("mise" | "rtx", ["install" | "use", ..], _) => word.contains([':', '/']),
        // Code that is read.
        ("dotnet", ["run"], _) => word == "-",
        // Sockets of this machine, and other machines.
        ("adb", ["forward" | "reverse"], _) => {
            !word.strip_prefix("tcp:").is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
        }
        ("git-lfs", ["fetch" | "pull"], 0) => word.contains([':', '/', '@', '.']),
        ("aws", _, _) => !reads_cloud(subs, place, word),
        ("curl" | "wget" | "wget2" | "http" | "https" | "xh" | "xhs", ..) => hands_out_keys(word),
        // A connection in one word may lead anywhere.
        ("psql", [], _) => word.contains('=') || word.contains("://"),
        ("split", [], 1) => may_become_another(word),
        ("ss", [], _) => looks_up(word),
        // A page that is named by its path may have others read.
        ("man", [], _) => word.contains('/'),
        ("sqlite3", [], 0) => word.starts_with("file:") || word.starts_with(':'),
        // Without a version it is the program that is started.
        ("mise" | "rtx", ["exec"], 0) => !word.contains('@'),
        ("gradle" | "gradlew", ..) => word.rsplit(':').next().is_some_and(|task| {
            let sends = ["publish", "upload", "release"].iter().any(|verb| task.starts_with(verb));
            sends && task != "publishToMavenLocal"
        }),
        // What Ruby itself is told by a variable.
        ("rails" | "rake", ..) => ["RUBY", "GEM_", "BUNDLE_"].iter().any(|start| word.starts_with(start)),
        ("make" | "gmake", ..) => ["deploy", "publish", "upload"].iter().any(|verb| word.starts_with(verb)),
        // Code from elsewhere, not the project's.
        ("deno", ["run" | "test" | "bench" | "check" | "serve"], _) => {
            ["npm:", "jsr:", "http:", "https:", "data:"].iter().any(|scheme| word.starts_with(scheme))
        }
        // Its own options may follow the file too.
        ("nodemon", [], 1..) => {
            word.starts_with("-x") || ["--exec", "--config", "--cwd"].iter().any(|own| word.starts_with(own))
        }
        // What follows `--` runs in a shell elsewhere.
        ("fab", ..) => word.starts_with('-'),
        ("nix", ["build" | "run" | "shell" | "develop" | "flake" | "eval"], _) => word.contains(':'),
        ("ansible-galaxy", ..) => word.contains("://") || word.starts_with("git+"),
        // What it is told to compile with.
        ("xcodebuild", ..) => {
            ["CC=", "CXX=", "LD=", "LDPLUSPLUS=", "OTHER_"].iter().any(|set| word.starts_with(set))
        }
        // A plugin by its full name is none that the project chose; others send what was built away.
        ("mvn" | "mvnd" | "mvnw", ..) => {
            let sends = ["release:", "wagon:", "scm:", "gpg:", "nexus-staging:"];
            word.matches(':').count() >= 2 || sends.iter().any(|plugin| word.starts_with(plugin))
        }
        // What it hands to `go test`, but for places and what is harmless there.
        ("gotestsum", [], _) => {
            let harmless = ["-v", "-race", "-short", "-cover", "-failfast", "-count=1"];
            !word.starts_with("./") && !word.starts_with('/') && !harmless.contains(&word)
        }
        // What it hands to the compiler.
        ("clang-tidy", [], _) => {
            word.starts_with("-include") || COMPILING.iter().any(|own| word.starts_with(own))
        }
        // What is no file is an expression.
        ("bb", [], 0) => word.contains('('),
        // Who runs it then runs it as its owner.
        ("chmod", [], 0) => gives_owner(word),
        _ => false,
    }
}

/// Whether an operand of `aws` does not name an operation that changes something: a service, or what is read.
fn reads_cloud(subs: &[&str], place: usize, word: &str) -> bool {
    let verb = word.split('-').next().unwrap_or(word);
    subs.len() + place != 1 || READING.contains(&verb) || word.starts_with("batch-get-")
}

/// Whether an address is one where a machine in a cloud is handed its keys.
fn hands_out_keys(address: &str) -> bool {
    let lower = address.to_lowercase();
    METADATA.iter().any(|host| lower.contains(host))
}

/// Whether what a script of a well-known name is told reaches beyond what running it grants.
pub(super) fn manages(program: &str, script: &str, word: &str) -> bool {
    let python = program.starts_with("python");
    python && script.rsplit('/').next() == Some("manage.py") && MANAGING.contains(&word)
}

/// Whether a mode of `chmod` lets a program run as its owner.
fn gives_owner(mode: &str) -> bool {
    let digits = mode.trim_start_matches(['+', '=']);
    let high = u32::from_str_radix(digits, 8).is_ok_and(|bits| bits & 0o4000 != 0);
    let letters = |part: &str| {
        let (who, given) = part.split_once(['+', '=']).unwrap_or((part, ""));
        given.contains('s') && (who.is_empty() || who.contains(['u', 'a']))
    };
    high || mode.split(',').any(letters)
}
