//! Tests of the config that `init` writes.

use askfirst_config::{LoadOptions, Places, load};

use super::products::Products;
use super::{Answers, Choice, ProjectFacts, text};

fn faults(yaml: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("askfirst.yaml");
    std::fs::write(&file, yaml).unwrap();
    let places = Places { state: folder.path().join("state"), ..Places::from_env() };
    let options = LoadOptions { explicit: Some(file), folder: folder.path().to_owned(), places };
    match load(&options) {
        Ok(config) => config.warnings.iter().map(ToString::to_string).collect(),
        Err(faults) => faults.0.iter().map(ToString::to_string).collect(),
    }
}

fn project(is_shown_by_git: bool) -> ProjectFacts {
    let products = Products { kinds: vec!["Node"], folders: vec!["dist", ".next", "node_modules/.cache"] };
    ProjectFacts { is_shown_by_git, products, ..ProjectFacts::default() }
}

#[test]
fn config_has_no_fault_or_old_spelling_for_any_answers() {
    let choices = [Choice::WithoutAsking, Choice::Asked, Choice::Never];
    for reads in choices {
        for writes in choices {
            for looks in choices {
                for project in [project(true), ProjectFacts::default()] {
                    let answers = Answers { reads, writes, looks, work: reads, network: writes };
                    let yaml = text(answers, &project);
                    assert_eq!(faults(&yaml), Vec::<String>::new(), "{yaml}");
                }
            }
        }
    }
}

#[test]
fn answers_of_enter_rehearse_commands_and_ask_for_network() {
    let project = project(true);
    insta::assert_snapshot!(text(Answers::of_enter(&project), &project), @r#"
    # The policy for agents in this folder. `askfirst explain` shows why a call is allowed, asked about or denied.
    # Values: none (runs without asking), rehearse (a command runs on a copy, and its changes decide), required (asks),
    # once_per_session, human (asks every time), deny.
    version: 1
    default_approval: required    # for tools without a rule below

    sandbox:
      paths:
        # This folder. The file tools cannot access files outside every root.
        project:
          root: .
          mode: rw                # ro: read only
          # askfirst asks anyway about programs, scripts, build settings, and files that git ignores.
          approval: { read: none, write: none }
          # Build output (Node). Commands write it directly, and undo does not cover it.
          products: [dist, .next, node_modules/.cache]
      never_read: [".env", ".env.*", "*.pem", "~/.ssh/**", "~/.aws/**"]
      # Built in: git hooks, shell profiles, editor config, agent config and this file are never written.
      toolchains: auto            # programs on your PATH can start in the sandbox; `askfirst doctor` lists their folders

    shell:
      # Commands run on a copy first. Where that does not work, askfirst asks.
      default: { approval: rehearse }
      known_read_only: none       # commands proven to only read allowed files
      network: required           # asks before a command gets the network
      rules:                      # checked in order; a deny always wins
        - { pattern: "sudo", approval: deny }
        - { pattern: "git push", approval: required, risk: high }
    "#);
}

#[test]
fn no_answers_let_a_command_run_project_code_unseen() {
    for is_shown_by_git in [true, false] {
        let project = project(is_shown_by_git);
        for answers in [Answers::YES, Answers::of_enter(&project)] {
            let yaml = text(answers, &project);
            assert!(yaml.contains("default: { approval: rehearse }"), "{yaml}");
            let mut rules = yaml.lines().filter(|line| line.contains("pattern:"));
            assert!(rules.all(|rule| !rule.contains("approval: none")), "{yaml}");
        }
    }
}

#[test]
fn rules_allow_changes_unless_every_command_is_rehearsed() {
    let able = project(true);
    let unable = ProjectFacts { rehearsal_obstacle: Some("no views".into()), ..project(true) };
    let asks = Answers { work: Choice::Asked, ..Answers::YES };
    for (answers, project, expected) in [
        (Answers::YES, &able, false),
        (asks, &able, true),
        (Answers::YES, &unable, true),
        (Answers { writes: Choice::Asked, ..asks }, &able, false),
        (Answers { writes: Choice::Never, ..asks }, &unable, false),
    ] {
        let yaml = text(answers, project);
        assert_eq!(yaml.contains("pattern: \"mkdir\", approval: none"), expected, "{answers:?}: {yaml}");
        assert_eq!(faults(&yaml), Vec::<String>::new(), "{yaml}");
    }
}

#[test]
fn changes_are_asked_about_where_git_does_not_show_them() {
    let written = |is_shown_by_git| {
        let project = project(is_shown_by_git);
        text(Answers::of_enter(&project), &project)
    };
    assert!(written(true).contains("read: none, write: none"));
    assert!(written(false).contains("read: none, write: required"));
}

#[test]
fn project_that_is_never_changed_has_no_products() {
    let answers = Answers { writes: Choice::Never, ..Answers::YES };
    let yaml = text(answers, &project(true));
    assert!(yaml.contains("mode: ro") && !yaml.contains("products"), "{yaml}");
}
