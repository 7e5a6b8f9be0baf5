//! Programs that start others: what would start, with what, and what cannot be told.

use super::{asks, of, reading, reads, started};
use crate::programs::used::{Fed, Nested};

#[track_caller]
fn starts(command: &str, expected: &[&str]) {
    let used = of(command);
    assert_eq!(started(&used), expected, "{command}: {}", reading(&used));
}

#[test]
fn wrappers_start_what_follows() {
    starts("env FOO=1 touch x", &["touch x"]);
    starts("env -u HOME -i - A=1 sh -c 'touch x'", &["sh -c touch x"]);
    starts("env -iS 'rm -rf' build", &["env rm -rf build"]);
    starts("env --split-s='rm -rf build'", &["env rm -rf build"]);
    starts("timeout -k 5 30 rm -rf x", &["rm -rf x"]);
    starts("timeout --signal KILL 30 rm x", &["rm x"]);
    starts("nice -n 5 rm x", &["rm x"]);
    starts("nice -5 rm x", &["rm x"]);
    starts("nohup rm x", &["rm x"]);
    starts("perf stat -e cycles -- rm x", &["rm x"]);
    starts("aws-vault exec dev -- rm x", &["rm x"]);
    starts("sops exec-env x.yaml 'rm x'", &["script: rm x"]);
    starts("setsid -w rm x", &["rm x"]);
    starts("stdbuf -oL rm x", &["rm x"]);
    starts("time -p rm x", &["rm x"]);
    starts("command -p rm x", &["rm x"]);
    starts("command -v rm", &[]);
    starts("exec rm x", &["rm x"]);
    starts("builtin eval ls", &["eval ls"]);
    starts("sudo -u root A=1 rm x", &["rm x"]);
    starts("sudo -S rm x", &["rm x"]);
    starts("busybox rm -rf x", &["rm -rf x"]);
    starts("flock lock rm x", &["rm x"]);
    starts("flock lock -c 'rm x'", &["script: rm x"]);
    starts("watch -n1 rm x", &["script: rm x"]);
    starts("strace -f -o out rm x", &["rm x"]);
    starts("parallel touch ::: x", &["script: touch ::: x"]);
}

#[test]
fn variables_of_env_are_handed_on() {
    let used = of("env LC_ALL=C PATH=/x ls");
    let Some(Nested::Words { assignments, .. }) = used.nested.first() else { panic!("{}", reading(&used)) };
    let names: Vec<&str> = assignments.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["LC_ALL", "PATH"]);
    asks("env");
    asks("env A=1");
    asks("env $X ls");
    asks("env A=$X ls");
    asks("env 'A B=1' ls");
    asks("env -S 'ls ${X}'");
}

#[test]
fn xargs_adds_words_or_fills_a_place() {
    let used = of("xargs rm");
    assert!(matches!(used.nested.first(), Some(Nested::Words { fed: Fed::FromInput, .. })));
    starts("xargs -0 -n 1 rm -f", &["rm -f"]);
    starts("xargs", &["echo"]);
    let used = of("xargs -I% mv % dir/%.bak");
    let Some(Nested::Words { words, fed: Fed::No, .. }) = used.nested.first() else {
        panic!("{}", reading(&used))
    };
    assert!(words.iter().skip(1).all(|word| word.is_unknown()), "{words:?}");
    asks("xargs -I \"$X\" rm");
    asks("xargs --frob rm");
}

#[test]
fn find_starts_its_commands_on_what_it_finds() {
    starts("find build -maxdepth 0 -exec rm -rf {} +", &["rm -rf build/**"]);
    starts("find . -exec env rm {} \\; -exec cat {} \\;", &["env rm ./**", "cat ./**"]);
    starts("find a b -exec rm {}.bak ';'", &["rm a/**.bak", "rm b/**.bak"]);
    starts("find -exec sh -c 'rm x' _ {} ';'", &["sh -c rm x _ ./**"]);
    starts("find . -ok rm {} ';'", &["rm ./**"]);
    asks("find . -exec rm {}");
    asks("find . -exec ';'");
    asks("find . -exec rm $X ';'");
    asks("find \"$X\" -name y");
    asks("find * -name y");
    asks("find . -del*");
    asks("find . -name *.rs");
    asks("find . -name y src");
    asks("find . -ex\"$X\" rm ';'");
    asks("find . -newer");
    reads("find src -name \"$X\"");
    reads("find src/* -name x");
    asks("find ( -name a ) src");
}

#[test]
fn found_or_listed_names_are_no_code() {
    for command in [
        "find . -exec awk {} a.txt ';'",
        "find . -exec awk -e {} a.txt ';'",
        "find src tests -exec env timeout 5 awk -F: {} a.txt ';'",
        "find . -exec python3 {} +",
        "find . -exec sh -c {} ';'",
        "find . -exec {} ';'",
        "xargs awk",
        "xargs -I{} jq {} a.json",
        "xargs env sh",
        "xargs xargs xargs sh",
    ] {
        let used = of(command);
        assert!(
            reading(&used).contains("would run a command that is not known"),
            "{command}: {}",
            reading(&used)
        );
    }
    reads("find . -exec awk '{print}' {} ';'");
    reads("xargs awk '{print}'");
    reads("xargs bash -n");
}

#[test]
fn shells_run_a_text_a_file_or_their_input() {
    starts("bash -c 'ls; rm x' --version", &["script: ls; rm x"]);
    starts("bash -lc 'rm x'", &["script: rm x"]);
    starts("bash -ec 'rm x'", &["script: rm x"]);
    starts("bash -c -e 'rm x'", &["script: rm x"]);
    starts("bash -o pipefail -c 'rm x'", &["script: rm x"]);
    starts("bash +x -c 'rm x'", &["script: rm x"]);
    starts("sh", &["standard input"]);
    starts("sh -s x", &["standard input"]);
    starts("sh -x", &["standard input"]);
    starts("sh /dev/stdin", &["standard input"]);
    starts(". /dev/stdin", &["standard input"]);
    starts("bash --version", &[]);
    assert!(reading(&of("bash x.sh -c y")).contains("file `x.sh`"));
    starts("bash x.sh -c y", &[]);
    asks("bash --version x");
    asks("bash -c");
    asks("bash $X");
}

#[test]
fn interpreter_without_a_file_runs_its_input() {
    let table = "program py\nruns\n  -u\n  -c =text\n  --version alone\n  operands rest if -c\n  operands file rest\n";
    let started = |command: &str| started(&super::by(table, command));
    assert_eq!(started("py"), ["standard input"]);
    assert_eq!(started("py -u"), ["standard input"]);
    assert_eq!(started("py -"), ["standard input"]);
    assert!(started("py x.py").is_empty());
    assert!(started("py -c 1").is_empty());
    assert!(started("py --version").is_empty());
}

#[test]
fn builtins_that_run_texts_hand_them_on() {
    starts("eval 'r''m' -rf build", &["script: rm -rf build"]);
    starts("trap 'rm x' EXIT", &["script: rm x"]);
    starts("trap - EXIT", &[]);
    starts("trap '' INT", &[]);
    starts("trap -p EXIT", &[]);
    starts("su -c 'rm x' root", &["script: rm x"]);
    assert!(reading(&of("source x.sh a")).contains("file `x.sh`"));
    asks("trap $X EXIT");
}

#[test]
fn text_that_a_builtin_evaluates_is_asked_about() {
    asks("test -v 'a[$(touch x)]'");
    asks("[ -v \"$X\" ]");
    asks("printf -v 'a[$(touch x)]' y");
    asks("[[ 'a[$(touch x)]' -eq 0 ]]");
    asks("[[ $n -gt 5 ]]");
    asks("declare -i n='a[$(touch x)0]'");
    asks("read 'a[$(touch x)]'");
    asks("unset 'a[$(touch x)]'");
    asks("export \"$X\"");
    asks("mapfile -C 'touch x' -c 1");
    asks("hash -p ./evil ls");
    asks("shopt -s expand_aliases");
    asks("alias ls=x");
    asks("enable -f ./x.so y");
    asks("let 'a[$(x)]=1'");
    reads("[ -f Cargo.toml ]");
    reads("[[ -n \"$X\" ]]");
    reads("[ $n -gt 5 ]");
}
