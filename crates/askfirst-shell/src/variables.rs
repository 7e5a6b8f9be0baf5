//! Variables that a command may be given. A program can be made to run anything by its environment, so only names that
//! are known to be harmless pass; some never do, whatever a rule names.

use super::line::tree::Word;
use super::programs::used::{Class, PathUse, Used};
use super::start::Start;

/// Names that only say how much or in which form something is printed, or which of a project's settings hold.
const HARMLESS: [&str; 133] = [
    "ANALYZE",
    "APP_ENV",
    "ASPNETCORE_ENVIRONMENT",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_REGION",
    "BABEL_ENV",
    "BLESS",
    "BROWSERSLIST_IGNORE_OLD_DATA",
    "BUILDKIT_PROGRESS",
    "BUILD_ENV",
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_PROFILE_DEV_DEBUG",
    "CARGO_PROFILE_RELEASE_LTO",
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "CARGO_TERM_VERBOSE",
    "CGO_ENABLED",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "COVERAGE",
    "CUDA_VISIBLE_DEVICES",
    "DEBIAN_FRONTEND",
    "DEBUG",
    "DISABLE_SPRING",
    "DOCKER_BUILDKIT",
    "DOTNET_CLI_TELEMETRY_OPTOUT",
    "DOTNET_ENVIRONMENT",
    "DO_NOT_TRACK",
    "ENVIRONMENT",
    "ESLINT_USE_FLAT_CONFIG",
    "FLASK_DEBUG",
    "FLASK_ENV",
    "FORCE_COLOR",
    "GENERATE_SOURCEMAP",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GO111MODULE",
    "GOARCH",
    "GOGC",
    "GOMAXPROCS",
    "GOOS",
    "GOTRACEBACK",
    "HEADLESS",
    "HF_HUB_OFFLINE",
    "HOST",
    "HUSKY",
    "HYPOTHESIS_PROFILE",
    "INSTA_UPDATE",
    "JEST_WORKERS",
    "JOBS",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOGLEVEL",
    "LOG_LEVEL",
    "LOOM_MAX_PREEMPTIONS",
    "MIX_ENV",
    "MKL_NUM_THREADS",
    "MOCK",
    "MODE",
    "NEXTEST_PROFILE",
    "NEXT_TELEMETRY_DISABLED",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "NO_COLOR",
    "NUMBA_DISABLE_JIT",
    "OMP_NUM_THREADS",
    "PARALLEL_WORKERS",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_INPUT",
    "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD",
    "PORT",
    "PROPTEST_CASES",
    "PUPPETEER_SKIP_DOWNLOAD",
    "PWDEBUG",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTHONASYNCIODEBUG",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONTRACEMALLOC",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PY_COLORS",
    "QUICKCHECK_TESTS",
    "RACK_ENV",
    "RAILS_ENV",
    "REGENERATE",
    "RETRIES",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "RUST_MIN_STACK",
    "RUST_TEST_THREADS",
    "SEED",
    "SKIP_ENV_VALIDATION",
    "SNAPSHOTS",
    "SOURCE_DATE_EPOCH",
    "SQLX_OFFLINE",
    "STAGE",
    "TERM",
    "TEST",
    "TESTING",
    "TEST_ENV",
    "TF_CPP_MIN_LOG_LEVEL",
    "TF_IN_AUTOMATION",
    "TF_LOG",
    "TIMEOUT",
    "TOKENIZERS_PARALLELISM",
    "TRYBUILD",
    "TS_NODE_TRANSPILE_ONLY",
    "TURBO_TELEMETRY_DISABLED",
    "TZ",
    "UPDATE_EXPECT",
    "UPDATE_GOLDEN",
    "UPDATE_SNAPSHOTS",
    "USE_MOCKS",
    "UV_NO_PROGRESS",
    "UV_THREADPOOL_SIZE",
    "VERBOSE",
    "WANDB_MODE",
    "WATCH",
];

/// How names begin that are harmless: of languages, and of what a page is built with.
const HEADS: [&str; 4] = ["LC_", "NEXT_PUBLIC_", "REACT_APP_", "VITE_"];

/// Names that start a program, and the values with which they start none that matters.
const FIXED: [(&str, &[&str]); 28] = [
    ("AWS_PAGER", &["cat", ""]),
    ("BROWSER", &["none"]),
    ("DATABASE_URL", &["sqlite::memory:", "sqlite://:memory:", "sqlite:///:memory:"]),
    ("EDITOR", &["true", ":"]),
    ("GH_PAGER", &["cat", ""]),
    ("GIT_CONFIG_NOSYSTEM", &["0", "1", "true"]),
    ("GIT_EDITOR", &["true", ":"]),
    ("GIT_OPTIONAL_LOCKS", &["0", "1"]),
    ("GIT_PAGER", &["cat", ""]),
    ("GIT_SEQUENCE_EDITOR", &["true", ":"]),
    ("GIT_TERMINAL_PROMPT", &["0", "1"]),
    // Any other value of it is a file that is written.
    ("GIT_TRACE", &["0", "1", "2"]),
    ("GOFLAGS", &["", "-count=1", "-mod=mod", "-mod=readonly", "-mod=vendor"]),
    ("GOPROXY", &["off"]),
    ("GOTOOLCHAIN", &["local"]),
    ("GOWORK", &["off"]),
    ("MANPAGER", &["cat", ""]),
    // Any other value of it may be a module that is loaded.
    ("MPLBACKEND", &["Agg", "agg", "pdf", "svg"]),
    ("PAGER", &["cat", ""]),
    ("PYTHONBREAKPOINT", &["0"]),
    ("PYTHONWARNINGS", &["always", "default", "error", "ignore", "once"]),
    ("QT_QPA_PLATFORM", &["minimal", "offscreen"]),
    ("RUSTC_WRAPPER", &[""]),
    ("RUSTDOCFLAGS", LINTS),
    ("RUSTFLAGS", LINTS),
    ("V", &["0", "1"]),
    ("VISUAL", &["true", ":"]),
    ("XDEBUG_MODE", &["coverage", "off"]),
];

/// Flags of the compiler that only say what it complains about, or for which machine it builds.
const LINTS: &[&str] = &[
    "",
    "--cfg tokio_unstable",
    "-A warnings",
    "-Awarnings",
    "-C target-cpu=native",
    "-Ctarget-cpu=native",
    "-D warnings",
    "-Dwarnings",
];

/// Options of Node.js that load nothing and open nothing.
const NODE: [&str; 8] = [
    "--enable-source-maps",
    "--experimental-vm-modules",
    "--no-deprecation",
    "--no-warnings",
    "--openssl-legacy-provider",
    "--trace-deprecation",
    "--trace-warnings",
    "--unhandled-rejections=strict",
];

/// Names that make programs or the shell run something else. No rule lifts them.
const NEVER: [&str; 47] = [
    "BASHOPTS",
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BROWSER",
    "CDPATH",
    "COMSPEC",
    "DISPLAY",
    "EDITOR",
    "ENV",
    "EXECIGNORE",
    "FPATH",
    "GLOBIGNORE",
    "GOFLAGS",
    "HISTFILE",
    "HOME",
    "IFS",
    "INPUTRC",
    "JAVA_TOOL_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "MAKEFLAGS",
    "MANPAGER",
    "MFLAGS",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "PAGER",
    "PATH",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "TERMINFO",
    "VISUAL",
    "XDG_CONFIG_HOME",
];

/// How names begin that no rule lifts.
const NEVER_HEADS: [&str; 14] = [
    "BASH_FUNC_",
    "DYLD_",
    "GIT_",
    "GCONV_",
    "LD_",
    "LUA_",
    "MALLOC_",
    "NPM_CONFIG_",
    "PERL5",
    "PERLLIB",
    "PIP_CONFIG",
    "PYTHON",
    "RUBY",
    "npm_config_",
];

/// What may be made of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Whatever the rule, it changes nothing that matters.
    Harmless,
    /// A rule's pattern must name it.
    Named,
    /// No rule lifts it.
    Never,
}

/// What a name that a program gets to see stands for. `value` is nothing where it is not known.
pub(super) fn exported(name: &str, value: Option<&str>) -> Standing {
    if let Some((_, values)) = FIXED.iter().find(|(known, _)| *known == name)
        && value.is_some_and(|value| values.contains(&value))
    {
        return Standing::Harmless;
    }
    if name == "NODE_OPTIONS" && value.is_some_and(|value| value.split(' ').all(is_tame_for_node)) {
        return Standing::Harmless;
    }
    if value.is_some_and(|value| is_in_place(name, value)) {
        return Standing::Harmless;
    }
    let harmless = HARMLESS.binary_search(&name).is_ok() || HEADS.iter().any(|head| name.starts_with(head));
    if harmless && value.is_none_or(is_tame) {
        return Standing::Harmless;
    }
    if harmless || !is_never(name) { Standing::Named } else { Standing::Never }
}

/// Whether a command sets, exports or removes nothing but variables that may stand before any command.
pub(super) fn sets_harmless(start: &Start, used: &Used) -> bool {
    let declares = matches!(used.program.as_str(), "declare" | "typeset" | "local");
    let words = start.words.iter().skip(1).map(Word::literal);
    let mut words = words.skip_while(|word| declares && *word == Some("-x")).peekable();
    let harmless = |word: Option<&str>| {
        word.is_some_and(|text| {
            let (name, value) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            exported(name, value) == Standing::Harmless
        })
    };
    let sets = declares || matches!(used.program.as_str(), "export" | "unset");
    sets && words.peek().is_some() && words.all(harmless)
}

/// Whether a folder that Python is to look for modules in is one where what runs is found anyway: the own folder for a
/// module that is run, and that of the sources for the tests of this folder.
pub(super) fn is_looked_into(name: &str, value: Option<&str>, used: &Used) -> bool {
    let all = |known: &[&str]| value.is_some_and(|value| value.split(':').all(|part| known.contains(&part)));
    let has = |name: &str| used.options.iter().any(|given| given.names.iter().any(|known| known == name));
    let below = |path: &PathUse| {
        path.word.literal().is_some_and(|path| !path.starts_with(['/', '~']) && !path.contains(".."))
    };
    let python = used.program.starts_with("python");
    let tests = (python && used.subs.iter().any(|sub| sub.name == "pytest")) || used.program == "pytest";
    let here = (python && has("-m") && all(&["", ".", "./"]))
        || (tests && all(&["", ".", "./", "src", "./src", "src/"]));
    let own = used.class == Class::Runs && used.path.is_none() && used.paths.iter().all(below);
    name == "PYTHONPATH" && own && here && !has("-P")
}

/// What tools act upon, should it be in the environment already: setting it there is enough.
const ACTED_UPON: [&str; 57] = [
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "AWKPATH",
    "BAT_CONFIG_PATH",
    "BAT_PAGER",
    "BUNDLE_GEMFILE",
    "CARGO_HOME",
    "COMPOSE_FILE",
    "CURL_HOME",
    "DOCKER_CONFIG",
    "DOCKER_HOST",
    "GEM_HOME",
    "GEM_PATH",
    "GOENV",
    "GOFLAGS",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_OPTS",
    "GRADLE_USER_HOME",
    "GREP_OPTIONS",
    "JAVA_HOME",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "KUBECONFIG",
    "LESS",
    "LESSEDIT",
    "LESSHISTFILE",
    "LESSKEY",
    "LESSKEYIN",
    "LESSKEYIN_SYSTEM",
    "LESSKEY_SYSTEM",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANOPT",
    "MANPATH",
    "MAVEN_OPTS",
    "MORE",
    "NODE_OPTIONS",
    "NVM_DIR",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "RIPGREP_CONFIG_PATH",
    "RSYNC_RSH",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SBT_OPTS",
    "TAR_OPTIONS",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "_JAVA_OPTIONS",
];

/// What a name that only the shell sees stands for.
pub(super) fn kept(name: &str) -> Standing {
    let of_shell = name.starts_with("BASH") || name.starts_with("COMP_") || name == "OPTIND";
    if is_never(name) || of_shell || ACTED_UPON.contains(&name) {
        Standing::Never
    } else {
        Standing::Harmless
    }
}

fn is_never(name: &str) -> bool {
    NEVER.binary_search(&name).is_ok() || NEVER_HEADS.iter().any(|head| name.starts_with(head))
}

/// Whether a value of these stays where it belongs: a folder of what is built, settings of the project, this machine.
fn is_in_place(name: &str, value: &str) -> bool {
    match name {
        // A folder by another name may hold what was built by somebody else.
        "CARGO_TARGET_DIR" => {
            let value = value.strip_prefix("./").unwrap_or(value);
            value.starts_with("target") && is_tame(value)
        }
        "DJANGO_SETTINGS_MODULE" => {
            let plain = |part: &str| {
                part.starts_with(|c: char| c.is_ascii_alphabetic())
                    && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            };
            value.split('.').all(plain) && value.split('.').any(|part| part == "settings")
        }
        "API_BASE_URL" | "API_URL" | "BASE_URL" | "CYPRESS_BASE_URL" | "PLAYWRIGHT_BASE_URL" => {
            let address = value.strip_prefix("http://").unwrap_or_default();
            let host = address.split([':', '/']).next().unwrap_or_default();
            matches!(host, "localhost" | "127.0.0.1") && is_tame(value) && !value.contains('@')
        }
        _ => false,
    }
}

fn is_tame_for_node(option: &str) -> bool {
    let size = ["--max-old-space-size=", "--max-semi-space-size=", "--stack-trace-limit="]
        .iter()
        .find_map(|name| option.strip_prefix(name));
    NODE.contains(&option) || size.is_some_and(|size| size.bytes().all(|byte| byte.is_ascii_digit()))
}

/// No path that is absolute or climbs, and nothing that a shell would act on.
fn is_tame(value: &str) -> bool {
    let tame = |c: char| c.is_ascii_alphanumeric() || " _.,:=@%+-*/[]".contains(c);
    value.chars().all(tame) && !value.starts_with(['/', ':', '~', '.']) && !value.contains("..")
}

#[cfg(test)]
#[path = "variables/tests.rs"]
mod tests;
