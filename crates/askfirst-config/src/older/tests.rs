//! Tests that every older spelling keeps its meaning and never becomes looser.

use askfirst::{Approval, Case};

use crate::settings::Settings;
use crate::testing::World;

fn read(yaml: &str) -> Settings {
    World::new().settings(&format!("version: 1\n{yaml}"))
}

fn case<'a>(settings: &'a Settings, name: &str) -> &'a Case {
    &settings.rules.exact(name).unwrap().cases()[0]
}

fn approval(yaml: &str) -> Option<Approval> {
    case(&read(&format!("tools: {{ a: {yaml} }}\n")), "a").approval
}

#[test]
fn booleans_and_actions_become_approvals() {
    for (old, new) in [
        ("{ approval: true }", Approval::Required),
        ("{ approval: false }", Approval::None),
        ("{ approval_required: true }", Approval::Required),
        ("{ approval_required: false }", Approval::None),
        ("{ allowed: false }", Approval::Deny),
        ("{ action: deny }", Approval::Deny),
        ("{ action: approve }", Approval::Required),
        ("{ pre_approved: true }", Approval::None),
        ("{ pre_approved: false }", Approval::Required),
    ] {
        assert_eq!(approval(old), Some(new), "{old}");
    }
    assert_eq!(approval("{ allowed: true }"), None);
}

#[test]
fn stricter_of_two_spellings_wins() {
    for (both, strictest) in [
        ("{ allowed: false, approval: none }", Approval::Deny),
        ("{ allowed: false, pre_approved: true }", Approval::Deny),
        ("{ action: deny, approval: human }", Approval::Deny),
        ("{ action: approve, approval: none }", Approval::Required),
        ("{ pre_approved: true, approval: required }", Approval::Required),
        ("{ pre_approved: true, approval: once_per_session }", Approval::OncePerSession),
        ("{ approval_required: false, approval: human }", Approval::Human),
        ("{ approval_required: true, pre_approved: true }", Approval::Required),
        ("{ allowed: true, approval: true }", Approval::Required),
        ("{ approval: null, allowed: false }", Approval::Deny),
        ("{ approval: null, approval_required: true }", Approval::Required),
    ] {
        assert_eq!(approval(both), Some(strictest), "{both}");
    }
    assert_eq!(approval("{ approval: null, pre_approved: true }"), None);
}

#[test]
fn each_case_of_a_list_is_rewritten() {
    let settings = read("tools: { a: [ { approval: false, when: { x: 1 } }, { allowed: false } ] }\n");
    let cases = settings.rules.exact("a").unwrap().cases();
    assert_eq!((cases[0].approval, cases[1].approval), (Some(Approval::None), Some(Approval::Deny)));
}

#[test]
fn boolean_approvals_of_roots_are_rewritten() {
    let root = |yaml: &str| {
        let settings = read(&format!("sandbox: {{ paths: {{ n: {{ root: ., mode: rw, {yaml} }} }} }}\n"));
        let approval = settings.sandbox.paths["n"].approval;
        (approval.read, approval.write)
    };
    use Approval::{Deny, Human, None, Required};
    assert_eq!(root("write_approval: false"), (None, None));
    assert_eq!(root("write_approval: true, read_approval: true"), (Required, Required));
    assert_eq!(root("read_approval: false"), (None, Required));
    assert_eq!(root("require_read_approval: true"), (Required, Required));
    assert_eq!(root("approval: true"), (Required, Required));
    assert_eq!(root("approval: { read: true, write: false }"), (Required, None));
    assert_eq!(root("write_approval: false, approval: { write: human }"), (None, Human));
    assert_eq!(root("write_approval: true, approval: { write: none }"), (None, Required));
    assert_eq!(root("read_approval: false, approval: { read: deny }"), (Deny, Required));
}

#[test]
fn older_shell_sections_are_rewritten() {
    let text = "shell_default:\n  allowed: false\n  approval_required: true\nshell_rules:\n  - pattern: git status\n    allowed: true\n    approval_required: false\n  - { pattern: rm, allowed: false }\n";
    let shell = read(text).shell.unwrap();
    assert_eq!(shell.default, Approval::Deny);
    let rules: Vec<_> = shell.rules.iter().map(|rule| (rule.pattern.as_str(), rule.approval)).collect();
    assert_eq!(rules, [("git status", Approval::None), ("rm", Approval::Deny)]);
    let both = "shell_default: { approval_required: true }\nshell: { default: { approval: none } }\n";
    assert_eq!(read(both).shell.unwrap().default, Approval::Required);
    let both = "shell_default: { approval: false }\nshell: { default: { approval: human } }\n";
    assert_eq!(read(both).shell.unwrap().default, Approval::Human);
    let seed =
        "shell: { default: { allowed: true, approval: true }, rules: [ { pattern: rm, allowed: false } ] }\n";
    let shell = read(seed).shell.unwrap();
    assert_eq!((shell.default, shell.rules[0].approval), (Approval::Required, Approval::Deny));
}

#[test]
fn custom_tools_list_becomes_only_tools() {
    let settings = read("custom_tools: [calculate, patch_file]\n");
    assert_eq!(settings.only_tools, Some(vec!["calculate".to_owned(), "edit_file".to_owned()]));
    assert_eq!(settings.rules.entries().count(), 0);
}

#[test]
fn older_tool_maps_are_merged_into_tools() {
    let settings = read(
        "custom_tools: { a: { approval: required } }\ntool_configs: { b: { approval: none }, a: { approval: none } }\ntools: { c: {}, b: { approval: human } }\n",
    );
    assert_eq!(case(&settings, "a").approval, Some(Approval::Required));
    assert_eq!(case(&settings, "b").approval, Some(Approval::Human));
    assert_eq!(case(&settings, "c").approval, None);
}

#[test]
fn older_tool_names_are_renamed() {
    let settings = read(
        "tools: { shell_exec: { approval: human }, patch_file: { approval: none }, edit_file: { approval: required } }\npre_approved: [shell_exec]\n",
    );
    assert_eq!(case(&settings, "shell").approval, Some(Approval::Human));
    assert_eq!(case(&settings, "edit_file").approval, Some(Approval::Required));
    assert!(settings.rules.exact("shell_exec").is_none() && settings.rules.exact("patch_file").is_none());
}

#[test]
fn pre_approved_list_loosens_no_explicit_approval() {
    let settings = read(
        "pre_approved: [a, b, c, d, e]\ntools:\n  b: { approval: required }\n  c: { risk: high }\n  d: [ { approval: human } ]\n  e: { approval: null }\n",
    );
    assert_eq!(case(&settings, "a").approval, Some(Approval::None));
    assert_eq!(case(&settings, "b").approval, Some(Approval::Required));
    assert_eq!(case(&settings, "c").approval, Some(Approval::None));
    assert_eq!(case(&settings, "d").approval, Some(Approval::Human));
    assert_eq!(case(&settings, "e").approval, None);
}

#[test]
fn sandbox_tool_rules_become_root_approvals() {
    let text = "sandbox: { paths: { a: { root: ., mode: rw }, b: { root: ./notes, approval: { write: human } } } }\ntool_rules:\n  sandbox.write: { allowed: true, approval_required: false }\n  sandbox.read: { allowed: false }\n  worker_call: { approval_required: true }\n";
    let settings = read(text);
    let [a, b] = ["a", "b"].map(|name| settings.sandbox.paths[name].approval);
    assert_eq!((a.read, a.write), (Approval::Deny, Approval::None));
    assert_eq!((b.read, b.write), (Approval::Deny, Approval::Human));
    assert_eq!(case(&settings, "worker_call").approval, Some(Approval::Required));
}

#[test]
fn command_lists_move_to_the_shell_section() {
    let text = "tool_configs:\n  shell_exec:\n    safe_commands: [ls, git log]\n    dangerous_patterns: ['\\brm\\b', '>']\nshell: { rules: [ { pattern: ls, approval: human } ] }\n";
    let settings = read(text);
    let shell = settings.shell.unwrap();
    let rules: Vec<_> = shell.rules.iter().map(|rule| (rule.pattern.as_str(), rule.approval)).collect();
    assert_eq!(rules, [("ls", Approval::Human), ("ls", Approval::None), ("git log", Approval::None)]);
    assert_eq!(shell.dangerous_patterns[0].0, "\\brm\\b");
    assert_eq!(&*shell.dangerous_patterns[1].1.rule, "shell.dangerous_patterns[1]");
    assert_eq!(shell.default, Approval::Required);
    assert!(settings.rules.exact("shell").is_none());
}

#[test]
fn safe_paths_become_path_conditions() {
    use askfirst::when::Test;
    let settings = read("tools: { write_file: { safe_paths: [./cache/, notes], risk: high } }\n");
    let cases = settings.rules.exact("write_file").unwrap().cases();
    assert_eq!((cases[0].approval, cases[1].approval), (Some(Approval::None), Some(Approval::Required)));
    assert!(cases.iter().all(|case| case.risk == Some(askfirst::Risk::High)));
    let condition = &cases[0].when[0];
    assert_eq!((condition.field.as_str(), condition.any_of.len()), ("path", 3));
    assert!(condition.any_of.iter().all(|test| matches!(test, Test::Path(_))));
    for beside in ["approval: required", "allowed: false", "approval: null", "approval_required: true"] {
        let settings = read(&format!("tools: {{ a: {{ safe_paths: [x], {beside} }} }}\n"));
        let cases = settings.rules.exact("a").unwrap().cases();
        assert!(cases.iter().all(|case| case.approval != Some(Approval::None)), "{beside}");
    }
    let none = read("tools: { a: { safe_paths: [] } }\n");
    assert_eq!(case(&none, "a").approval, Some(Approval::Required));
}

#[test]
fn require_read_approval_becomes_root_approval() {
    for text in [
        "tools: { read_file: { require_read_approval: true } }\nsandbox: { paths: { a: { root: . } } }\n",
        "sandbox: { require_read_approval: true, paths: { a: { root: . } } }\n",
    ] {
        assert_eq!(read(text).sandbox.paths["a"].approval.read, Approval::Required, "{text}");
    }
}

#[test]
fn ambiguous_older_spelling_is_an_error() {
    let world = World::new();
    let cases = [
        "tools: { a: { action: ask } }\n",
        "tools: { a: { allowed: no } }\n",
        "tools: { a: { pre_approved: [x] } }\n",
        "pre_approved: true\n",
        "pre_approved: [[a]]\n",
        "custom_tools: a\n",
        "custom_tools: [a]\nonly_tools: [b]\n",
        "shell_rules: [ { pattern: ls } ]\nshell: { rules: [ { pattern: ls, approval: none } ] }\n",
        "tools: { a: [ { approval: none } ] }\ntool_configs: { a: { approval: human } }\n",
        "tools: { a: { risk: low } }\ntool_configs: { a: { risk: high } }\n",
        "tool_rules: [a]\n",
        "tool_rules: { sandbox.write: { allowed: false } }\n",
        "tool_rules: { sandbox.list: { allowed: false } }\n",
        "tools: { a: { safe_paths: [\"a*\"] } }\n",
        "tools: { a: { safe_paths: x } }\n",
        "safe_commands: ls\n",
        "safe_commands: [\"ls | sh\"]\n",
        "sandbox: { paths: { a: { root: ., write_approval: yes } } }\n",
        "tools: { read_file: { require_read_approval: true } }\n",
    ];
    let report =
        |case: &&str| format!("{}\n{}", case.trim_end(), world.faults(&format!("version: 1\n{case}")));
    let report = cases.iter().map(report).collect::<Vec<_>>().join("\n\n");
    insta::assert_snapshot!(report);
}

#[test]
fn older_spelling_warns_with_the_new_one() {
    let world = World::new();
    assert_eq!(
        world.warnings("version: 1\ntools: { a: { allowed: false } }\n"),
        "askfirst.yaml:2:15: `allowed: false` is an older spelling\nhint: write `approval: deny`"
    );
}
