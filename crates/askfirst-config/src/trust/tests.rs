//! Tests that trust is stored safely, and that everything it loosens is reported.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use askfirst::Digest;

use super::{
    TrustError, is_trusted, load_as_if_trusted, loosens, read_text, record, record_text, revoke, trusted_text,
};
use crate::layers::{ProjectTrust, load_with};
use crate::testing::World;

const USER: &str = "home/.config/askfirst/askfirst.yaml";
const PROJECT: &str = "project/askfirst.yaml";

fn mode(path: std::path::PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn trust_file_is_private_to_the_user() {
    let world = World::new();
    let path = world.write(PROJECT, "version: 1\n");
    let digest = Digest::of("version: 1\n");
    record(&world.places(), &path, digest).unwrap();
    assert_eq!(mode(world.path("state/askfirst")), 0o700);
    assert_eq!(mode(world.path("state/askfirst/trust.json")), 0o600);
    assert!(is_trusted(&world.places(), &path, digest));
    assert!(!is_trusted(&world.places(), &path, Digest::of("version: 2\n")));
    assert!(!is_trusted(&world.places(), &world.path("project"), digest));
    assert!(!world.path("state/askfirst/trust.json.new").exists());
}

#[test]
fn trust_is_stored_for_the_real_path() {
    let world = World::new();
    let path = world.write(PROJECT, "version: 1\n");
    std::os::unix::fs::symlink(world.path("project"), world.path("link")).unwrap();
    record(&world.places(), &world.path("link/askfirst.yaml"), Digest::of("x")).unwrap();
    assert!(is_trusted(&world.places(), &path, Digest::of("x")));
}

#[test]
fn invalid_or_exposed_trust_file_trusts_nothing() {
    let world = World::new();
    let path = world.write(PROJECT, "version: 1\n");
    let digest = Digest::of("version: 1\n");
    record(&world.places(), &path, digest).unwrap();
    let store = world.path("state/askfirst/trust.json");
    let good = fs::read_to_string(&store).unwrap();
    let key = path.display();
    for bad in [
        "".to_owned(),
        "{".to_owned(),
        good.replace("\"version\": 1", "\"version\": 2"),
        format!("{{\"version\":1,\"trusted\":{{\"{key}\":\"{digest}\",\"{key}\":\"{digest}\"}}}}"),
        format!("{{\"version\":1,\"trusted\":{{\"{key}\":\"{digest}\"}},\"more\":1}}"),
    ] {
        fs::write(&store, &bad).unwrap();
        assert!(!is_trusted(&world.places(), &path, digest), "{bad}");
        assert!(
            matches!(record(&world.places(), &path, digest), Err(TrustError::Unreadable { .. })),
            "{bad}"
        );
        assert_eq!(fs::read_to_string(&store).unwrap(), bad);
    }
    fs::write(&store, &good).unwrap();
    assert!(is_trusted(&world.places(), &path, digest));
    fs::set_permissions(&store, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!is_trusted(&world.places(), &path, digest));
}

#[test]
fn loosened_settings_are_reported_in_sentences() {
    let world = World::new();
    world.write(USER, "version: 1\napproval_timeout: 1m\non_denial: stop\nledger: { sync: always }\nsandbox: { require_os_sandbox: true, os_profile: { network: false }, paths: { notes: { root: ../../../project/notes, suffixes: [.md] } } }\nshell: { rules: [ { pattern: ls, approval: none } ] }\ntools: { a: { approval: deny }, b: { approval: none }, c: { approval: human } }\nonly_tools: [a]\n");
    world.write(PROJECT, "version: 1\ndefault_approval: none\napproval_timeout: 5m\nmemory: { expire: 1d }\non_denial: return\nledger: { sync: asked, path: ./l }\nsandbox: { require_os_sandbox: false, os_sandbox_min: content-only, os_profile: { network: true }, paths: { here: { root: ., mode: rw, approval: { write: none } }, n: { root: ./notes, mode: rw } } }\nshell: { default: { approval: none }, known_read_only: none, network: true, env: { pass: [PATH, AWS_KEY] }, limits: { memory: 8GiB }, rules: [ { pattern: curl, approval: none }, { pattern: git push } ] }\ntools: { a: { approval: none, exclude_keys: [x] }, b: { approval: human }, c: {}, wc: { command: [wc, -w], approval: none }, \"d*\": [ { approval: none, when: { x: 1 } } ] }\nmcp: { m: { command: [m, x] }, u: { url: \"http://u\" } }\nonly_tools: [a, wc]\n");
    let [without, with] = [ProjectTrust::Withheld, ProjectTrust::Assumed]
        .map(|trust| load_with(&world.options(), trust).unwrap());
    let lines = world.redact(&loosens(&without, &with).join("\n"));
    insta::assert_snapshot!(lines);
    assert!(loosens(&with, &with).is_empty());
}

#[test]
fn exact_name_under_a_stricter_glob_is_reported() {
    let world = World::new();
    world.write(USER, "version: 1\ntools: { \"x*\": { approval: human } }\n");
    world.write(PROJECT, "version: 1\ntools: { xy: { approval: required } }\n");
    let [without, with] = [ProjectTrust::Withheld, ProjectTrust::Assumed]
        .map(|trust| load_with(&world.options(), trust).unwrap());
    assert_eq!(loosens(&without, &with), ["the tool `xy`: `required`"]);
}

#[test]
fn conditions_and_lower_risks_are_reported() {
    let reported = |user: &str, project: &str| {
        let world = World::new();
        world.write(USER, &format!("version: 1\ndefault_approval: none\ntools: {user}\n"));
        world.write(PROJECT, &format!("version: 1\ntools: {project}\n"));
        let [without, with] = [ProjectTrust::Withheld, ProjectTrust::Assumed]
            .map(|trust| load_with(&world.options(), trust).unwrap());
        loosens(&without, &with)
    };
    assert_eq!(
        reported("{ a: { approval: deny } }", "{ a: [{ approval: deny, when: { to: x } }] }"),
        ["the tool `a`: if no condition matches, less specific rules or its own assessment apply"]
    );
    assert_eq!(
        reported("{ a: { approval: human, risk: irreversible } }", "{ a: { approval: human } }"),
        ["the tool `a`: its risk is no longer `irreversible`"]
    );
}

#[test]
fn stricter_project_loosens_nothing() {
    let world = World::new();
    world.write(USER, "version: 1\ntools: { b: { approval: none } }\n");
    world.write(PROJECT, "version: 1\ndefault_approval: human\napproval_timeout: 1m\ntools: { a: { approval: deny }, b: { approval: human } }\nsandbox: { never_read: [x] }\n");
    let [without, with] = [ProjectTrust::Withheld, ProjectTrust::Assumed]
        .map(|trust| load_with(&world.options(), trust).unwrap());
    assert_eq!(loosens(&without, &with), Vec::<String>::new());
}

#[test]
fn only_the_shown_content_can_be_trusted() {
    let world = World::new();
    let path = world.write(PROJECT, "version: 1\n");
    assert!(load_as_if_trusted(&world.options(), Digest::of("version: 1\n")).is_ok());
    let changed = load_as_if_trusted(&world.options(), Digest::of("version: 2\n")).unwrap_err();
    assert!(changed.to_string().contains("has changed since it was shown"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let open = load_as_if_trusted(&world.options(), Digest::of("version: 1\n")).unwrap_err();
    assert!(open.to_string().contains("other users can write it"));
    fs::remove_file(&path).unwrap();
    assert!(load_as_if_trusted(&world.options(), Digest::of("")).is_err());
}

#[test]
fn trusted_text_is_private_and_can_be_read_later() {
    let world = World::new();
    let (places, path) = (world.places(), world.write(PROJECT, "version: 1\n"));
    assert_eq!(trusted_text(&places, &path), None);
    record_text(&places, &path, "version: 1\n").unwrap();
    world.write(PROJECT, "version: 1\ndefault_approval: none\n");
    assert_eq!(trusted_text(&places, &path).as_deref(), Some("version: 1\n"));
    let copy = world.path("state/askfirst/trusted").join(Digest::of("version: 1\n").to_string());
    assert_eq!((mode(world.path("state/askfirst/trusted")), mode(copy.clone())), (0o700, 0o600));
    // A copy with another text, a link and a pipe are no copies.
    fs::write(&copy, "version: 1 # changed\n").unwrap();
    assert_eq!(trusted_text(&places, &path), None);
    fs::remove_file(&copy).unwrap();
    assert_eq!(trusted_text(&places, &path), None);
    rustix::fs::mkfifoat(rustix::fs::CWD, &copy, 0o600.into()).unwrap();
    assert_eq!(trusted_text(&places, &path), None);
    assert!(is_trusted(&places, &path, Digest::of("version: 1\n")), "the trust needs no copy");
}

#[test]
fn only_copies_of_trusted_texts_are_kept() {
    let world = World::new();
    let (places, path) = (world.places(), world.write(PROJECT, "version: 1\n"));
    let other = world.write("project/notes/askfirst.yaml", "version: 1\n");
    let copies = || {
        let mut names: Vec<_> = fs::read_dir(world.path("state/askfirst/trusted"))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let name = |text: &str| Digest::of(text).to_string();
    record_text(&places, &path, "one").unwrap();
    record_text(&places, &other, "one").unwrap();
    record_text(&places, &path, "two").unwrap();
    let mut both = vec![name("one"), name("two")];
    both.sort();
    assert_eq!(copies(), both);
    revoke(&places, &other).unwrap();
    assert_eq!(copies(), [name("two")]);
    // A trust without a copy, as older versions recorded it.
    record(&places, &path, Digest::of("three")).unwrap();
    assert_eq!((copies(), trusted_text(&places, &path)), (Vec::new(), None));
}

#[test]
fn text_is_read_only_if_it_was_not_changed() {
    let world = World::new();
    let path = world.write(PROJECT, "version: 1\n");
    assert_eq!(read_text(&path, Digest::of("version: 1\n")).unwrap(), "version: 1\n");
    let changed = read_text(&path, Digest::of("version: 2\n")).unwrap_err();
    assert!(changed.to_string().contains("it changed after askfirst had read it"), "{changed}");
}
