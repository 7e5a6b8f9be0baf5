//! Tests of the layers of the settings about rehearsals: products, caches, undo and network access.

use std::fs;
use std::path::PathBuf;

use askfirst::Approval;
use serde_json::json;

use super::from_json;
use super::tests::{MANAGED, PROJECT, USER, trust_project};
use crate::settings::*;
use crate::testing::World;

#[test]
fn untrusted_project_can_only_remove_caches() {
    let world = World::new();
    let caches = |user: &str, project: &str| {
        world.write(USER, &format!("version: 1\n{user}\n"));
        world.write(PROJECT, &format!("version: 1\n{project}\n"));
        let caches = world.load().unwrap().main.sandbox.caches;
        caches.iter().map(|path| world.redact(&path.display().to_string())).collect::<Vec<_>>().join(" ")
    };
    let all = caches("", "");
    assert!(all.starts_with("[world]/home/.cargo/registry ") && all.ends_with("/.nuget/packages"), "{all}");
    assert_eq!(caches("", "sandbox: { never_read: [x] }"), all);
    assert_eq!(caches("", "sandbox: { caches: [] }"), "");
    assert_eq!(caches("sandbox: { caches: [] }", "sandbox: { caches: [/opt/x] }"), "");
    assert_eq!(
        caches("sandbox: { caches: [/opt/x, /opt/y/z] }", "sandbox: { caches: [/opt/x/in, /opt/y, /other] }"),
        "/opt/x/in /opt/y/z"
    );
}

#[test]
fn trusted_project_replaces_caches() {
    let world = World::new();
    world.write(USER, "version: 1\nsandbox: { caches: [/opt/x] }\n");
    world.write(PROJECT, "version: 1\nsandbox: { caches: [/opt/y] }\n");
    trust_project(&world);
    assert_eq!(world.load().unwrap().main.sandbox.caches, [PathBuf::from("/opt/y")]);
}

#[test]
fn program_without_a_file_has_the_default_caches() {
    let world = World::new();
    let count = |config: Config| config.main.sandbox.caches.len();
    assert_eq!(count(world.load().unwrap()), DEFAULT_CACHES.len());
    assert_eq!(count(from_json(&json!({}), &world.options()).unwrap()), DEFAULT_CACHES.len());
}

#[test]
fn product_folder_counts_only_if_every_layer_has_it() {
    let world = World::new();
    let products = |user: &str, project: &str, managed: &str| {
        let user = user.replace("root: .", "root: ../../../project");
        let managed = managed.replace("root: .", "root: ../project");
        for (name, text) in [(USER, user.as_str()), (PROJECT, project), (MANAGED, managed.as_str())] {
            world.write(name, &format!("version: 1\nsandbox: {{ paths: {{ {text} }} }}\n"));
        }
        let sandbox = world.load().unwrap().main.sandbox;
        let all = sandbox.paths.values().flat_map(|root| &root.products);
        all.map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
    };
    let both = "a: { root: ., mode: rw, products: [target, dist/web] }";
    assert_eq!(products(both, "", ""), "target dist/web");
    assert_eq!(products("", both, ""), "");
    assert_eq!(products("a: { root: ., mode: rw }", both, ""), "");
    assert_eq!(products(both, "b: { root: ., mode: rw, products: [dist, other] }", ""), "dist/web");
    assert_eq!(products(both, "b: { root: . }", ""), "");
    assert_eq!(products(both, "b: { root: ./notes }", ""), "target dist/web");
    assert_eq!(products(both, "", "m: { root: ., mode: rw, products: [target] }"), "target");
    assert_eq!(products(both, "", "m: { root: ., mode: ro, products: [target] }"), "");
    assert_eq!(products("a: { root: ., products: [target] }", "", ""), "");
    let notes = "a: { root: ., mode: rw, products: [notes/out, cache] }";
    assert_eq!(products(notes, "b: { root: ./notes, mode: rw, products: [out] }", ""), "notes/out cache");
    assert_eq!(products(notes, "b: { root: ./notes }", ""), "cache");
    fs::create_dir(world.path("project/cache/in")).unwrap();
    assert_eq!(products(notes, "b: { root: ./cache/in }", ""), "notes/out");
}

#[test]
fn inner_root_of_a_trusted_project_ends_a_product() {
    let world = World::new();
    world.write(USER, "version: 1\nsandbox: { paths: { a: { root: ../../../project, mode: rw, products: [notes/out, cache] } } }\n");
    world.write(PROJECT, "version: 1\nsandbox: { paths: { b: { root: ./notes } } }\n");
    trust_project(&world);
    let sandbox = world.load().unwrap().main.sandbox;
    assert_eq!(sandbox.paths["a"].products, [PathBuf::from("cache")]);
}

#[test]
fn untrusted_project_changes_only_deletes_of_undo() {
    let world = World::new();
    world.write(USER, "version: 1\nundo: { keep: 60 }\n");
    for amounts in ["keep: 1, days: 1, size: 1", "keep: 999, days: 999, size: 1TiB"] {
        world.write(PROJECT, &format!("version: 1\nundo: {{ {amounts}, deletes: ask }}\n"));
        let undo = world.load().unwrap().main.undo;
        assert_eq!(undo, UndoConfig { keep: 60, deletes: UndoDeletes::Ask, ..UndoConfig::default() });
    }
}

#[test]
fn larger_undo_amount_of_the_managed_config_counts() {
    let world = World::new();
    world.write(USER, "version: 1\nundo: { keep: 60, days: 60, deletes: ask }\n");
    world.write(MANAGED, "version: 1\nundo: { keep: 55, days: 70, size: 2GiB, deletes: commit }\n");
    let undo = world.load().unwrap().main.undo;
    assert_eq!(undo, UndoConfig { keep: 60, days: 70, size: 2 << 30, deletes: UndoDeletes::Ask });
}

#[test]
fn trusted_project_replaces_each_undo_value() {
    let world = World::new();
    world.write(USER, "version: 1\nundo: { keep: 60, deletes: ask }\n");
    world.write(PROJECT, "version: 1\nundo: { days: 1, size: 1MiB, deletes: commit }\n");
    trust_project(&world);
    let undo = world.load().unwrap().main.undo;
    assert_eq!(undo, UndoConfig { keep: 60, days: 1, size: 1 << 20, deletes: UndoDeletes::Commit });
}

#[test]
fn stricter_network_access_of_a_floor_wins() {
    let world = World::new();
    let network = |user: &str, project: &str| {
        world.write(USER, &format!("version: 1\nshell: {{ network: {user} }}\n"));
        world.write(PROJECT, &format!("version: 1\nshell: {{ {project} }}\n"));
        world.load().unwrap().main.shell.unwrap().network
    };
    assert_eq!(network("none", "network: required"), NetworkAccess::Required);
    assert_eq!(network("required", "network: deny"), NetworkAccess::Deny);
    assert_eq!(network("required", "network: true"), NetworkAccess::Required);
    assert_eq!(network("true", "limits: { processes: 3 }"), NetworkAccess::None);
}

#[test]
fn layer_of_a_floor_has_only_the_network_that_it_sets() {
    let world = World::new();
    let layer = |text: &str, role: LayerRole| {
        let settings = world.settings(&format!("version: 1\nshell: {{ {text} }}\n"));
        settings.shell.as_ref().unwrap().layer(&settings, role).network
    };
    assert_eq!(layer("", LayerRole::Floor), None);
    assert_eq!(layer("network: required", LayerRole::Floor), Some(NetworkAccess::Required));
    assert_eq!(layer("", LayerRole::Main), Some(NetworkAccess::Deny));
}

#[test]
fn untrusted_project_cannot_rehearse_instead_of_asking() {
    let world = World::new();
    world.write(USER, "version: 1\nshell: { default: { approval: required } }\n");
    world.write(PROJECT, "version: 1\nshell: { default: { approval: rehearse } }\n");
    assert_eq!(world.load().unwrap().main.shell.unwrap().default, Approval::Required);
    world.write(USER, "version: 1\nshell: { default: { approval: none } }\n");
    assert_eq!(world.load().unwrap().main.shell.unwrap().default, Approval::Rehearse);
}
