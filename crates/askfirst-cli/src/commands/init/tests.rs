//! Tests of the config that `init` writes.

use askfirst_config::{LoadOptions, Places, load};

use super::{Answers, Choice, KINDS, ProjectKind, text};

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

#[test]
fn config_has_no_fault_or_old_spelling_for_any_answers() {
    let choices = [Choice::WithoutAsking, Choice::Asked, Choice::Never];
    let all: Vec<&ProjectKind> = KINDS.iter().collect();
    for reads in choices {
        for writes in choices {
            for looks in choices {
                for (kinds, git) in [(&all[..], true), (&[][..], false)] {
                    let answers = Answers { reads, writes, looks, work: reads, network: writes };
                    let yaml = text(answers, kinds, git, &[]);
                    assert_eq!(faults(&yaml), Vec::<String>::new(), "{yaml}");
                }
            }
        }
    }
}

#[test]
fn default_answers_let_nothing_change_without_asking() {
    let all: Vec<&ProjectKind> = KINDS.iter().collect();
    let yaml = text(Answers::default(), &all, true, &[]);
    assert!(yaml.contains("write: required"), "{yaml}");
    assert!(yaml.contains("network: false"), "{yaml}");
    let rules = yaml.lines().filter(|line| line.contains("pattern:"));
    assert!(rules.clone().count() > 20);
    assert!(rules.into_iter().all(|rule| !rule.contains("approval: none")), "{yaml}");
}
