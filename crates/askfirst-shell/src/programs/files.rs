//! Which file has the table of which program, so that only that file is read, and only once.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::table::{Table, tables};

/// A file of tables.
pub(super) struct File {
    /// Its name in `tables/`.
    pub(super) name: &'static str,
    /// Its text.
    pub(super) text: &'static str,
    /// The programs in it, by all their names.
    pub(super) programs: &'static [&'static str],
    /// The tables, and where each program's is by its name.
    parsed: OnceLock<(Vec<Table>, HashMap<String, usize>)>,
}

macro_rules! files {
    ($($name:literal: $($program:literal)+;)+) => {
        /// Every file in `tables/`.
        pub(super) static FILES: [File; [$($name),+].len()] = [$(File {
            name: $name,
            text: include_str!(concat!("tables/", $name)),
            programs: &[$($program),+],
            parsed: OnceLock::new(),
        }),+];
    };
}

files! {
    "archive.txt": "tar" "gtar" "bsdtar" "gzip" "gunzip" "zcat" "gzcat" "bzip2" "bunzip2" "bzcat" "xzcat"
        "lzcat" "zstdcat" "lz4cat" "xz" "unxz" "lzma" "unlzma" "zstd" "unzstd" "zstdmt" "lz4" "unlz4" "zip"
        "unzip" "zipinfo" "7z" "7za" "7zr" "7zz" "ar" "unrar" "rar";
    "awk.txt": "awk" "gawk" "mawk" "nawk" "original-awk";
    "build.txt": "make" "gmake" "cmake" "ctest" "cpack" "ninja" "ninja-build" "samu" "meson" "bazel"
        "bazelisk" "gradle" "gradlew" "mvn" "mvnw" "mvnd" "ant" "sbt" "gcc" "g++" "cc" "c++" "clang"
        "clang++" "gcc-12" "g++-12" "gcc-13" "g++-13" "clang-15" "clang-16" "clang-17" "clang-18"
        "x86_64-linux-gnu-gcc" "ld" "ld.lld" "lld" "mold" "emcc" "em++" "swiftc" "csc" "mcs" "clang-tidy" "cppcheck" "gcov" "lcov" "genhtml"
        "autoreconf" "autoconf" "automake" "aclocal" "libtoolize" "protoc" "just" "task" "go-task"
        "hadolint" "yamllint" "actionlint" "hyperfine" "watchexec" "act" "direnv" "asdf" "mise" "rtx"
        "nvm" "fnm" "n" "volta" "pyenv" "rbenv" "nodenv" "goenv" "taplo" "dotenv-linter" "gitleaks" "air" "guard"
        "scons" "earthly" "adb";
    "builtins.txt": "cd" "chdir" "pushd" "popd" "dirs" "pwd" "echo" "true" "false" ":" "yes" "printf"
        "test" "[" "[[" "read" "export" "readonly" "declare" "typeset" "local" "unset" "set" "shopt"
        "alias" "unalias" "hash" "type" "which" "whence" "eval" "source" "." "trap" "exit" "return" "break"
        "continue" "wait" "jobs" "bg" "fg" "disown" "shift" "times" "suspend" "logout" "kill" "ulimit"
        "umask" "getopts" "mapfile" "readarray" "let" "enable" "bind" "complete" "compgen" "compopt" "fc"
        "history" "help";
    "change.txt": "touch" "mkdir" "rmdir" "rm" "unlink" "shred" "cp" "mv" "ln" "link" "install" "mktemp"
        "mkfifo" "mknod" "chmod" "chown" "chgrp" "truncate" "dd" "tee" "sync" "split" "csplit" "rename" "prename"
        "file-rename" "perl-rename" "mmv" "dos2unix"
        "unix2dos" "mac2unix" "unix2mac" "tidy" "sponge";
    "clouds.txt": "docker" "podman" "nerdctl" "docker-compose" "podman-compose" "kubectl" "oc" "kustomize"
        "helm" "minikube" "kind" "k3d" "k9s" "stern" "terraform" "tofu" "terragrunt" "tflint" "tfsec"
        "checkov" "trivy" "pulumi" "ansible-playbook" "ansible-lint" "ansible" "ansible-inventory"
        "ansible-galaxy" "vagrant" "packer" "aws" "gcloud" "az" "fly" "flyctl" "heroku" "vercel" "netlify"
        "wrangler" "railway" "firebase" "supabase" "doctl" "gsutil" "crane" "skopeo";
    "compare.txt": "diff" "colordiff" "diff3" "sdiff" "cmp" "wdiff" "patch";
    "database.txt": "sqlite3" "duckdb" "psql" "mysql" "mariadb" "mongosh" "mongo" "pg_restore" "mysqldump"
        "pg_dump" "createdb" "dropdb" "pg_isready" "redis-cli" "sqlplus" "isql" "sqlcmd" "beeline" "spark-sql" "spark-shell" "pyspark" "spark-submit" "hive" "cqlsh" "clickhouse-client" "cypher-shell" "lftp" "ncftp" "bpftrace" "stap";
    "find.txt": "find" "gfind";
    "forges.txt": "gh" "hub" "glab" "svn" "hg";
    "git.txt": "git" "git-lfs";
    "go.txt": "go" "gofmt" "goimports" "gofumpt" "golangci-lint" "staticcheck" "errcheck" "revive"
        "govulncheck" "gotestsum" "dlv" "buf" "swag";
    "javascript.txt": "node" "nodejs" "deno" "tsx" "ts-node" "bun-node" "tsc" "tsup" "eslint" "prettier"
        "biome" "jest" "vitest" "mocha" "playwright" "cypress" "webpack" "webpack-cli" "vite" "rollup"
        "esbuild" "next" "turbo" "nx" "lerna" "stylelint" "oxlint" "markdownlint" "markdownlint-cli2"
        "cspell" "knip" "depcheck" "madge" "concurrently" "nodemon" "c8" "nyc" "rimraf" "tsc-watch" "prisma"
        "drizzle-kit" "storybook" "svelte-check" "vue-tsc" "ng" "expo" "astro" "tailwindcss";
    "json.txt": "jq" "yq" "xmllint" "mlr" "fx" "vd" "visidata" "calc" "amm" "goawk" "frawk" "csvlook" "csvstat" "csvcut" "csvgrep";
    "languages.txt": "java" "javac" "jar" "kotlinc" "kotlin" "scalac" "scala" "ktlint" "detekt" "ruby"
        "bundle" "bundler" "gem" "rake" "rails" "rspec" "rubocop" "standardrb" "brakeman" "php" "artisan"
        "composer" "phpunit" "pest" "paratest" "phpstan" "psalm" "pint" "php-cs-fixer" "phpcs" "phpcbf"
        "ecs" "perl" "prove" "lua" "luajit" "lua5.4" "lua5.3" "luacheck" "stylua" "busted" "R" "Rscript"
        "mix" "elixir" "iex" "rebar3" "dotnet" "swift" "swiftlint" "swiftformat" "xcodebuild" "zig" "ghc"
        "cabal" "stack" "hlint" "ormolu" "fourmolu" "stylish-haskell" "dart" "flutter" "gleam" "nim"
        "crystal" "julia" "opam" "dune" "clj" "clojure" "bb" "lein" "forge" "elm" "tclsh" "wish" "guile" "racket" "ocaml" "runghc" "runhaskell" "runhugs" "escript" "swipl" "gforth" "clisp" "csi" "janet" "fennel" "moon" "pike" "hy" "qjs" "kscript" "jshell" "groovy" "octave" "octave-cli" "sbcl" "ecl" "scheme" "gp" "sage" "rhino" "bpython" "ptpython" "utop" "psysh" "pry" "maxima" "scilab" "matlab" "gnuplot";
    "list.txt": "ls" "dir" "vdir" "stat" "df" "du" "tree" "exa" "eza" "lsd" "fd" "fdfind" "locate"
        "plocate" "mlocate" "whereis" "realpath" "readlink" "basename" "dirname" "pathchk";
    "media.txt": "ffprobe" "ffmpeg" "convert" "magick" "mogrify" "identify" "montage" "composite" "animate"
        "display" "import" "exiftool" "vim" "vi" "nvim" "view" "ex" "ed" "nano" "pico" "emacs"
        "emacsclient" "joe" "micro" "hx" "kak" "code" "codium" "cursor" "subl" "open" "xdg-open" "gedit" "gvim" "mvim" "vimdiff" "rvim"
        "tmux" "screen" "zellij" "expect" "fzf" "clear" "reset" "tput" "pbcopy" "sw_vers" "vm_stat"
        "shellcheck" "shfmt" "clang-format" "pv" "pandoc" "dot" "neato" "fdp" "pdfinfo" "latexmk" "hugo";
    "network.txt": "curl" "wget" "wget2" "http" "https" "xh" "xhs" "ssh" "slogin" "rsh" "remsh" "pdsh" "scp" "sftp" "ftp" "telnet"
        "socat" "mosh" "rsync" "nc" "ncat" "netcat" "ping" "ping6" "traceroute" "tracepath" "mtr" "dig"
        "host" "nslookup" "whois" "ss" "netstat" "ifconfig" "ip" "openssl" "grpcurl";
    "node.txt": "npm" "npx" "pnpm" "yarn" "yarnpkg" "bun" "bunx";
    "packages.txt": "brew" "apt-cache" "apt" "apt-get" "dpkg" "dpkg-query" "rpm" "dnf" "yum" "microdnf"
        "pacman" "apk" "snap" "flatpak" "nix";
    "process.txt": "ps" "top" "pgrep" "pidof" "pkill" "killall" "lsof" "pstree" "fuser" "pwdx" "pmap"
        "htop" "btop";
    "python.txt": "python3" "python" "python2" "python3.8" "python3.9" "python3.10" "python3.11"
        "python3.12" "python3.13" "python3.14" "py" "pypy3" "pytest" "py.test" "pip" "pip3" "pip3.11"
        "pip3.12" "pipx" "uv" "uvx" "poetry" "pdm" "pipenv" "hatch" "conda" "mamba" "micromamba" "tox" "nox" "mypy"
        "dmypy" "pyright" "basedpyright" "ruff" "black" "isort" "flake8" "pylint" "bandit" "vulture"
        "radon" "coverage" "sphinx-build" "mkdocs" "jupyter" "django-admin" "manage.py" "alembic" "flask"
        "uvicorn" "celery" "ipython" "pre-commit" "venv" "virtualenv" "unittest" "json.tool" "py_compile"
        "compileall" "build" "twine" "http.server" "timeit" "cProfile" "doctest" "pip-audit" "pip-compile" "gunicorn" "autopep8" "maturin" "dbt";
    "rust.txt": "cargo" "rustc" "rustfmt" "rustup" "wasm-pack" "trunk" "cross";
    "search.txt": "grep" "egrep" "fgrep" "rgrep" "ugrep" "ug" "pcregrep" "pcre2grep"
        "zgrep" "zegrep" "zfgrep" "rg" "ag" "ack" "ack-grep" "cloc" "scc" "tokei" "ast-grep";
    "sed.txt": "sed" "gsed";
    "shells.txt": "sh" "bash" "dash" "ash" "rbash" "zsh" "ksh" "mksh" "ksh93" "yash" "fish" "csh" "tcsh"
        "nu" "xonsh" "pwsh" "powershell" "elvish" "rc" "es" "busybox" "toybox";
    "show.txt": "cat" "tac" "head" "tail" "nl" "od" "wc" "sort" "uniq" "cut" "paste" "join" "comm" "tr"
        "fold" "fmt" "expand" "unexpand" "shuf" "seq" "numfmt" "factor" "base64" "base32" "basenc" "md5sum"
        "sha1sum" "sha224sum" "sha256sum" "sha384sum" "sha512sum" "b2sum" "cksum" "shasum" "sum" "tsort"
        "pr" "dircolors" "rev" "look" "column" "strings" "hexdump" "hd" "xxd" "bat" "batcat" "more" "less"
        "man" "apropos" "whatis" "info" "iconv" "envsubst" "expr" "bc" "dc" "m4" "gron" "diffstat" "cal"
        "ncal" "md5" "col";
    "system.txt": "lsb_release" "getconf" "date" "uname" "hostname" "whoami" "arch" "logname" "id" "groups" "users" "who" "w"
        "last" "lastlog" "uptime" "nproc" "tty" "printenv" "file" "sleep" "stty" "free" "vmstat" "iostat"
        "mpstat" "lscpu" "lsblk" "lsusb" "lspci" "lsmod" "modinfo" "dmesg" "journalctl" "systemctl"
        "service" "mount" "umount" "findmnt" "getent" "locale" "timedatectl" "hostnamectl" "localectl"
        "loginctl" "atq" "nvidia-smi" "sensors" "sysctl" "readelf" "objdump" "size" "nm" "ldd" "strip"
        "c++filt" "gpg" "gpg2" "reboot" "shutdown" "halt" "poweroff" "mkfs" "fdisk" "parted" "useradd" "userdel"
        "usermod" "passwd" "iptables" "nft" "insmod" "rmmod" "modprobe" "swapoff" "swapon";
    "wrappers.txt": "env" "timeout" "gtimeout" "nice" "nohup" "unbuffer" "setsid" "stdbuf" "ionice" "chrt"
        "taskset" "time" "gtime" "command" "builtin" "exec" "xargs" "gxargs" "parallel" "sem" "watch" "sudo"
        "doas" "run0" "pkexec" "su" "runuser" "chroot" "unshare" "nsenter" "setpriv" "capsh" "firejail" "bwrap"
        "systemd-run" "at" "batch" "crontab" "flock" "script" "strace" "ltrace" "perf" "rr" "uftrace"
        "systemd-inhibit" "systemd-cat" "chronic" "gdb" "lldb" "valgrind" "dtrace" "entr" "caffeinate" "rlwrap"
        "dbus-run-session" "ssh-agent" "fakeroot" "fakechroot" "faketime" "xvfb-run" "setarch" "linux32"
        "linux64" "i386" "x86_64" "proot" "run-parts" "torsocks" "torify" "tsocks" "proxychains" "proxychains4"
        "eatmydata" "dumb-init" "tini" "catchsegv" "ccache" "sccache" "distcc" "heaptrack" "winpty" "cross-env"
        "cross-env-shell" "sshpass" "gosu" "su-exec" "setuidgid" "doppler" "op" "infisical" "dotenvx" "honcho"
        "foreman" "aws-vault" "chamber" "sops" "envchain" "consul" "fab" "byobu" "dtach" "abduco" "newgrp" "sg"
        "login" "dotenv" "devbox" "pm2" "forever" "mpirun" "mpiexec" "guix" "lxc" "machinectl" "multipass"
        "toolbox" "distrobox" "sbatch" "srun" "qsub" "nix-shell" "start-stop-daemon" "prlimit" "numactl" "choom"
        "ifne" "trickle" "timelimit" "gamemoderun" "mangohud" "primusrun" "optirun" "pgrphack" "softlimit"
        "chpst" "xcrun" "ledit" "lckdo" "setlock" "envdir" "s6-envdir" "s6-setlock" "wait-for-it"
        "wait-for-it.sh" "pee" "mispipe" "zrun" "s6-setuidgid" "execlineb" "nq" "tsp" "daemonize" "cgexec"
        "cpulimit" "criu" "dbus-launch" "asciinema" "reflex" "when-changed" "watchman-make" "rush" "rootlesskit"
        "pasta" "slirp4netns" "with-contenv" "samply" "austin" "nsys" "ncu" "nvprof" "ttyrec" "autoexpect"
        "qemu-x86_64" "qemu-aarch64" "qemu-arm" "box64" "box86" "wine" "wine64" "retry" "kstart" "flatpak-spawn"
        "apptainer" "singularity" "systemd-nspawn" "lxc-attach" "lxc-execute" "runc" "crun" "ctr" "buildah"
        "cmd" "cmd.exe" "powershell.exe" "wsl" "wsl.exe" "xe" "jexec" "incus" "umoci" "py-spy" "rbspy" "vipe"
        "vidir" "sudoedit" "openvt" "xinit" "startx" "xterm" "gnome-terminal" "konsole" "alacritty" "kitty"
        "wezterm" "ttyd" "gotty";
}

/// The file that has the table of a program.
fn file_of(name: &str) -> Option<&'static File> {
    static INDEX: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let places = FILES.iter().enumerate();
        places.flat_map(|(place, file)| file.programs.iter().map(move |program| (*program, place))).collect()
    });
    FILES.get(*index.get(name)?)
}

/// The name of that file.
pub(super) fn family(name: &str) -> Option<&'static str> {
    file_of(name).map(|file| file.name)
}

/// The table of a program.
pub(crate) fn table_of(name: &str) -> Option<&'static Table> {
    let file = file_of(name)?;
    let (tables, by_name) = file.parsed.get_or_init(|| {
        let tables = tables(file.text);
        let mut by_name = HashMap::new();
        for (at, table) in tables.iter().enumerate() {
            for name in &table.names {
                by_name.entry(name.clone()).or_insert(at);
            }
        }
        (tables, by_name)
    });
    tables.get(*by_name.get(name)?)
}
