//! Tests of the rules that the file tools derive from a config.

use askfirst::Risk;
use serde_json::json;

use super::super::NarrowerRoot;
use super::*;

fn write(path: &str) -> Value {
    json!({"path": path, "content": "four"})
}

#[test]
fn call_needs_the_approval_of_its_root() {
    for approval in Approval::ALL {
        let all = PathApproval { read: approval, write: approval, attach: approval };
        let world = World::new().root("w", "w", PathConfig { approval: all, ..free() }).put("w/a", "x");
        for (tool, args) in [
            ("read_file", json!({"path": "w:a"})),
            ("find_in_files", json!({"path": "w:", "pattern": "x"})),
            ("attach_file", json!({"path": "w:a", "receiver": "x"})),
            ("write_file", write("w:a")),
            ("edit_file", json!({"path": "w:a", "old": "x", "new": "y"})),
            ("make_folder", json!({"path": "w:d"})),
            ("move_file", json!({"path": "w:a", "to": "w:b"})),
            ("copy_file", json!({"path": "w:a", "to": "w:b"})),
            ("delete_file", json!({"path": "w:a"})),
        ] {
            assert_eq!(world.needs(tool, args), approval, "{tool}");
        }
        assert_eq!(world.needs("stat_file", json!({"path": "w:a"})), Approval::None);
        let View::NeedsApproval(_) = world.check("write_file", write("w:a")).view else { continue };
        assert!(world.check("write_file", write("w:a")).firm);
    }
}

#[test]
fn suffix_and_size_limits_are_enforced() {
    let config = PathConfig { suffixes: vec![".md".to_owned()], max_file_bytes: Some(4), ..free() };
    let world =
        World::new().root("w", "w", config).put("w/a.md", "12345").put("w/b.txt", "1").put("w/c.md", "1234");
    let why = world.blocked("read_file", json!({"path": "w:b.txt"}));
    assert_eq!(why, "the suffix of `w:b.txt` is not allowed; allowed suffixes: .md");
    let why = world.blocked("read_file", json!({"path": "w:a.md"}));
    assert_eq!(why, "`w:a.md` is too large: 5 bytes, at most 4 are allowed");
    world.blocked("write_file", json!({"path": "w:n.md", "content": "12345"}));
    world.blocked("write_file", json!({"path": "w:n.MD", "content": ""}));
    world.blocked("delete_file", json!({"path": "w:b.txt"}));
    world.blocked("edit_file", json!({"path": "w:a.md", "old": "1", "new": "2"}));
    world.call("write_file", write("w:n.md")).unwrap();
    world.call("edit_file", json!({"path": "w:c.md", "old": "1", "new": "11"})).unwrap_err();
    world.call("make_folder", json!({"path": "w:folder"})).unwrap();
    assert_eq!(world.read("w/c.md"), "1234");
}

#[test]
fn never_rule_covers_the_requested_and_the_real_path() {
    let world = World::with_w()
        .never_read("*.pem")
        .put("w/deep/a.PEM", "key")
        .put("w/plain", "x")
        .link("deep/a.PEM", "w/innocent")
        .link("plain", "w/named.pem")
        .link("deep", "w/.vscode");
    for path in ["w:deep/a.PEM", "w:innocent", "w:named.pem", "w:deep/new.pem"] {
        world.blocked("read_file", json!({"path": path}));
        world.blocked("stat_file", json!({"path": path}));
        world.blocked("write_file", write(path));
        world.blocked("copy_file", json!({"path": path, "to": "w:z"}));
        world.blocked("copy_file", json!({"path": "w:plain", "to": path, "overwrite": true}));
    }
    for path in ["w:deep/a.PEM", "w:named.pem", "w:.vscode"] {
        world.blocked("delete_file", json!({"path": path}));
    }
    for path in
        ["w:.git/config", "w:askfirst.yaml", "w:.vscode/tasks.json", "w:sub/.Git/HOOKS/x", "w:.bashrc"]
    {
        world.blocked("write_file", write(path));
        world.blocked("make_folder", json!({"path": path}));
    }
    let list = world.call("list_files", json!({"path": "w:deep"})).unwrap();
    assert_eq!((&list["files"], &list["never_read"]), (&json!(["a.PEM"]), &json!(["a.PEM"])));
}

#[test]
fn rule_with_leading_slash_applies_in_every_root() {
    let world = World::new()
        .root("all", "all", free())
        .root("inner", "all/inner", free())
        .never_read("/secret")
        .put("all/inner/secret", "needle")
        .put("all/other/secret", "needle");
    world.blocked("read_file", json!({"path": "inner:secret"}));
    world.blocked("read_file", json!({"path": "all:inner/secret"}));
    let found = world.call("find_in_files", json!({"path": "all:", "pattern": "needle"})).unwrap();
    assert_eq!(found["lines"], json!([{"path": "all:other/secret", "line": 1, "text": "needle"}]));
}

#[test]
fn root_under_a_never_write_rule_is_blocked() {
    let world = World::new().root("hooks", ".git/hooks", free()).root("ssh", "elsewhere/.ssh", free());
    world.blocked("write_file", write("hooks:pre-commit"));
    world.blocked("write_file", write("ssh:authorized_keys"));
}

#[test]
fn floor_makes_roots_only_stricter() {
    let strict = PathConfig {
        approval: PathApproval { read: Approval::Required, write: Approval::Human, attach: Approval::Deny },
        suffixes: vec![".md".to_owned()],
        max_file_bytes: Some(4),
        ..free()
    };
    let world = World::with_w().put("w/top/sub/a.md", "x").put("w/b", "x").floor("w/top/sub", strict);
    assert_eq!(world.needs("write_file", write("w:b")), Approval::None);
    assert_eq!(world.needs("write_file", write("w:top/sub/a.md")), Approval::Human);
    assert_eq!(world.needs("read_file", json!({"path": "w:top/sub/a.md"})), Approval::Required);
    assert_eq!(
        world.needs("attach_file", json!({"path": "w:top/sub/a.md", "receiver": "x"})),
        Approval::Deny
    );
    assert_eq!(world.needs("write_file", write("w:top/sub/a.txt")), Approval::Deny);
    world.blocked("delete_file", json!({"path": "w:top", "recursive": true}));
    let world = World::with_w().floor("", read_only());
    world.blocked("write_file", write("w:b"));
    let world = World::new().root("w", "w", read_only()).floor("w", free());
    world.blocked("write_file", write("w:b"));
    let mut world = World::with_w().floor("w", free());
    world.floors[0].sandbox.never_read.push("b".to_owned());
    world.blocked("read_file", json!({"path": "w:b"}));
}

#[test]
fn hard_linked_file_needs_approval() {
    let world = World::with_w().root("r", "r", read_only()).put("out", "secret");
    std::fs::hard_link(world.path("out"), world.path("w/a")).unwrap();
    std::fs::hard_link(world.path("out"), world.path("r/a")).unwrap();
    for (tool, args) in [
        ("write_file", write("w:a")),
        ("read_file", json!({"path": "w:a"})),
        ("move_file", json!({"path": "w:a", "to": "w:b"})),
        ("delete_file", json!({"path": "w:a"})),
    ] {
        assert_eq!(world.needs(tool, args.clone()), Approval::Required, "{tool}");
        let facts = world.check(tool, args).facts;
        assert!(facts.iter().any(|fact| fact.text.starts_with("w:a has 3 names")), "{facts:?}");
    }
    assert_eq!(world.needs("read_file", json!({"path": "r:a"})), Approval::None);
    world.call("write_file", write("w:a")).unwrap();
    assert_eq!(world.read("out"), "secret", "the other names keep the old content");
}

#[test]
fn offered_patterns_cover_only_folder_and_root() {
    let world = World::new().root("w", "w", asking()).root("v", "v", asking());
    let request = |tool: &str, args: Value| match world.check(tool, args).view {
        View::NeedsApproval(request) => request,
        other => panic!("{other:?}"),
    };
    let first = request("write_file", write("w:d/e/a"));
    let labels: Vec<&str> = first.patterns.iter().map(|pattern| pattern.label.as_str()).collect();
    assert_eq!(labels, ["anything in w:d/e", "anything in w:"]);
    assert_eq!(world.check("write_file", write("w:d/e/a")).exclude_keys, ["content"]);
    let matches = |pattern: usize, path: &str| {
        first.patterns[pattern].matches(&request("write_file", write(path)).payload)
    };
    assert!(matches(0, "w:d/e/b") && matches(0, "w:d/e/f/g"));
    assert!(!matches(0, "w:d/b") && !matches(0, "w:d/eb") && !matches(0, "v:d/e/a"));
    assert!(matches(1, "w:z") && matches(1, "w:d/b") && !matches(1, "v:z"));
    assert_eq!(request("write_file", write("w:a")).patterns.len(), 1);
    assert_eq!(first.same.as_deref(), Some("any `write_file` of w:d/e/a"));
    let moved = request("move_file", json!({"path": "w:d/a", "to": "v:e/a"}));
    assert_eq!(moved.payload, json!({"root": "w", "path": "d/a", "to_root": "v", "to": "e/a"}));
    let labels: Vec<&str> = moved.patterns.iter().map(|pattern| pattern.label.as_str()).collect();
    assert_eq!(labels, ["anything in w:d to anything in v:e", "anything in w: to anything in v:"]);
    assert_eq!(moved.same.as_deref(), Some("any `move_file` of w:d/a to v:e/a"));
}

#[test]
fn risk_grows_with_potential_loss() {
    let world = World::new().root("w", "w", asking()).put("w/a", "").put("w/b", "");
    assert_eq!(world.check("write_file", write("w:a")).risk, Risk::Low);
    assert_eq!(world.check("move_file", json!({"path": "w:a", "to": "w:b"})).risk, Risk::High);
    assert_eq!(world.check("delete_file", json!({"path": "w:a"})).risk, Risk::Irreversible);
}

fn derive(world: &World, part: NarrowerRoot) -> Result<FileTools, super::super::FilesError> {
    world.tools().derive(&BTreeMap::from([("part".to_owned(), part)]))
}

fn part(of: &str, folder: &str) -> NarrowerRoot {
    NarrowerRoot { of: of.to_owned(), folder: folder.to_owned(), ..NarrowerRoot::default() }
}

#[test]
fn derived_root_is_part_of_its_parent() {
    let world = World::with_w().root("inner", "w/d/inner", asking()).put("w/d/a", "x").put("w/b", "x");
    let tools = derive(&world, NarrowerRoot { mode: Some(PathMode::Ro), ..part("w", "d") }).unwrap();
    assert_eq!(call(&tools, "read_file", json!({"path": "part:a"})).unwrap()["content"], "x");
    assert_eq!(needs(&tools, "write_file", write("part:a")), Approval::Deny);
    for path in ["part:../b", "w:b", "w/b", "inner:x"] {
        assert_eq!(needs(&tools, "read_file", json!({"path": path})), Approval::Deny, "{path}");
    }
    let tools = derive(&world, part("w", "d")).unwrap();
    assert_eq!(needs(&tools, "write_file", write("part:a")), Approval::None);
    assert_eq!(
        needs(&tools, "write_file", write("part:inner/a")),
        Approval::Required,
        "the rules still apply"
    );
    let again = tools.derive(&BTreeMap::from([("p".to_owned(), part("part", "inner"))])).unwrap();
    assert_eq!(needs(&again, "write_file", write("p:a")), Approval::Required);
}

#[test]
fn derived_root_is_never_wider() {
    let config = PathConfig {
        mode: PathMode::Ro,
        suffixes: vec![".md".to_owned()],
        max_file_bytes: Some(9),
        ..asking()
    };
    let world = World::new().root("w", "w", config).put("out/x", "").link("../out", "w/out");
    let wider = [
        NarrowerRoot { mode: Some(PathMode::Rw), ..part("w", "") },
        NarrowerRoot { suffixes: Some(vec![".md".to_owned(), ".rs".to_owned()]), ..part("w", "") },
        NarrowerRoot { suffixes: Some(Vec::new()), ..part("w", "") },
        NarrowerRoot { max_file_bytes: Some(10), ..part("w", "") },
        NarrowerRoot { approval: Some(free().approval), ..part("w", "") },
        part("w", "out"),
        part("w", "../out"),
        part("w", "/"),
        part("no", ""),
    ];
    for part in wider {
        assert!(derive(&world, part.clone()).is_err(), "{part:?}");
    }
    let error = derive(&world, NarrowerRoot { mode: Some(PathMode::Rw), ..part("w", "") }).err().unwrap();
    assert_eq!(error.to_string(), "the derived root `part` would allow more than `w`: `w` is read-only");
}

#[test]
fn remembered_yes_covers_only_this_change_of_a_shown_file() {
    let world = World::with_w().put("w/package.json", "{}");
    let payload = |content: &str| {
        let (assessment, _) =
            world.shown("write_file", json!({"path": "w:package.json", "content": content}));
        let View::NeedsApproval(request) = assessment.view else { panic!("needs no approval") };
        assert!(request.patterns.is_empty());
        assert_eq!(request.same.as_deref(), Some("exactly this `write_file` of w:package.json"));
        request.payload
    };
    assert_eq!(payload("1"), payload("1"));
    assert_ne!(payload("1"), payload("2"));
}

#[test]
fn reason_says_why_a_file_is_always_shown() {
    let world = World::with_w();
    let (assessment, _) = world.shown("write_file", write("w:Makefile"));
    let View::NeedsApproval(request) = assessment.view else { panic!("needs no approval") };
    let text = "a change of `w:Makefile` always needs approval: it can run or control programs (the built-in \
                list has `Makefile`)";
    assert!(request.facts.iter().any(|fact| fact.text == text), "{:?}", request.facts);
}
