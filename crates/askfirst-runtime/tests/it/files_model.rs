//! Random trees and paths: the tools agree with a slow model that follows each link by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use askfirst::{Approval, Invocation, Toolset};
use askfirst_runtime::block_on;
use askfirst_runtime::tools::filesystem::FileToolset;
use proptest::prelude::*;
use serde_json::json;

use crate::files::config;
use crate::fixture::call;

#[derive(Debug, Clone)]
enum Node {
    File,
    Folder,
    Link(String),
}

/// The entry at each path, from the folder that contains the root `w`.
type Tree = BTreeMap<Vec<String>, Node>;

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn target() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "c", "..", ".", "w"]);
    (prop::bool::weighted(0.1), prop::collection::vec(part, 1..4))
        .prop_map(|(absolute, parts)| format!("{}{}", if absolute { "/" } else { "" }, parts.join("/")))
}

fn tree() -> impl Strategy<Value = Tree> {
    let node = prop_oneof![
        3 => Just(Node::File),
        3 => Just(Node::Folder),
        3 => target().prop_map(Node::Link),
    ];
    let place = (prop::bool::weighted(0.8), prop::collection::vec(name(), 1..4));
    prop::collection::vec((place, node), 0..14).prop_map(|things| {
        let mut tree = Tree::from([(vec!["w".to_owned()], Node::Folder)]);
        for ((inside, path), node) in things {
            let path: Vec<String> = inside.then(|| "w".to_owned()).into_iter().chain(path).collect();
            let parent = path.get(..path.len() - 1).unwrap();
            let in_folder = parent.is_empty() || matches!(tree.get(parent), Some(Node::Folder));
            if in_folder && !tree.contains_key(&path) {
                tree.insert(path, node);
            }
        }
        tree
    })
}

fn asked() -> impl Strategy<Value = Vec<String>> {
    let part = prop::sample::select(vec!["a", "b", "c", "a", "b", "c", "..", "."]);
    prop::collection::vec(part.prop_map(str::to_owned), 1..6)
}

/// Follows a path one name at a time. Returns `None` if it leaves `w`, loops, or ends where nothing exists.
fn resolve(tree: &Tree, asked: &[String]) -> Option<Vec<String>> {
    let mut clean: Vec<String> = Vec::new();
    for part in asked {
        match part.as_str() {
            "." => {}
            ".." => drop(clean.pop()?),
            name => clean.push(name.to_owned()),
        }
    }
    let mut here = vec!["w".to_owned()];
    let mut rest: Vec<String> = clean.into_iter().rev().collect();
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if !matches!(tree.get(&here), Some(Node::Folder)) {
            return None;
        }
        match part.as_str() {
            "." => continue,
            ".." => {
                here.pop();
                if here.is_empty() {
                    return None;
                }
                continue;
            }
            name => here.push(name.to_owned()),
        }
        if let Some(Node::Link(target)) = tree.get(&here) {
            links += 1;
            if links > 40 || target.starts_with('/') {
                return None;
            }
            here.pop();
            rest.extend(target.split('/').rev().map(str::to_owned));
        }
    }
    tree.contains_key(&here).then_some(here)
}

fn build(tree: &Tree, folder: &Path) {
    let at = |path: &[String]| folder.join(path.join("/"));
    for (path, node) in tree {
        match node {
            Node::Folder => std::fs::create_dir(at(path)).unwrap(),
            Node::File => std::fs::write(at(path), path.join("/")).unwrap(),
            Node::Link(target) => std::os::unix::fs::symlink(target, at(path)).unwrap(),
        }
    }
}

fn files(tree: &Tree, folder: &Path) -> BTreeMap<Vec<String>, String> {
    let files = tree.iter().filter(|(_, node)| matches!(node, Node::File));
    files
        .map(|(path, _)| (path.clone(), std::fs::read_to_string(folder.join(path.join("/"))).unwrap()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn tools_agree_with_a_model_that_follows_each_link(
        tree in tree(), ways in prop::collection::vec(asked(), 1..8),
    ) {
        let folder = tempfile::tempdir().unwrap();
        build(&tree, folder.path());
        let tools = FileToolset::with_state(&config(folder.path(), &[("w", "w", Approval::None)]), &folder.path().join("state")).unwrap();
        let run = |tool: &str, args| block_on(tools.call(Invocation::new(call(tool, args))));
        let mut expected = files(&tree, folder.path());
        for way in ways {
            for spelled in [format!("w:{}", way.join("/")), format!("w/{}", way.join("/"))] {
                // A plain path may climb out of `w` and back in by its name; then it means another way.
                if spelled.starts_with("w/") && climbs(&way) {
                    continue;
                }
                let found = resolve(&tree, &way);
                let file = found.as_ref().filter(|path| matches!(tree.get(*path), Some(Node::File)));
                let read = run("read_file", json!({"path": spelled}));
                prop_assert_eq!(
                    read.as_ref().ok().and_then(|read| read["content"].as_str()),
                    file.and_then(|path| expected.get(path)).map(String::as_str),
                    "{} {:?}", spelled, read
                );
                let listed = run("list_files", json!({"path": spelled, "limit": 100}));
                let below: Option<BTreeSet<String>> = found
                    .as_ref()
                    .filter(|path| matches!(tree.get(*path), Some(Node::Folder)))
                    .map(|path| tree.keys().filter(|key| key.len() == path.len() + 1 && key.starts_with(path)))
                    .map(|keys| keys.map(|key| key.last().unwrap().clone()).collect());
                let listed: Option<BTreeSet<String>> = listed.ok().map(|listed| {
                    let kinds = ["files", "folders", "links"].into_iter();
                    let names = kinds.flat_map(|kind| listed[kind].as_array().into_iter().flatten());
                    names.map(|name| name.as_str().unwrap().to_owned()).collect()
                });
                prop_assert_eq!(listed, below, "{}", spelled);
                if let Some(file) = file {
                    run("write_file", json!({"path": spelled, "content": spelled})).unwrap();
                    expected.insert(file.clone(), spelled);
                    prop_assert_eq!(&files(&tree, folder.path()), &expected);
                }
            }
        }
        prop_assert_eq!(files(&tree, folder.path()), expected);
    }
}

fn climbs(way: &[String]) -> bool {
    let mut depth = 0_i32;
    way.iter().any(|part| {
        depth += match part.as_str() {
            "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth < 0
    })
}
