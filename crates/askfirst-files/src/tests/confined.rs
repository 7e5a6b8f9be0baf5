//! Tests that no path leads outside its root.

use askfirst::CallId;
use serde_json::json;

use super::*;

fn world() -> World {
    World::with_w().put("w/d/in.txt", "inside").put("out/secret.txt", "outside")
}

const ESCAPES: [&str; 10] = [
    "w:../out/secret.txt",
    "w:d/../../out/secret.txt",
    "out/secret.txt",
    "../out/secret.txt",
    "/etc/passwd",
    "w:link-out",
    "w:link-abs",
    "w:folder-out/secret.txt",
    "w:proc/self/environ",
    "w:root/etc/passwd",
];

fn with_links() -> World {
    let world = world();
    let absolute = world.path("out/secret.txt");
    world
        .link("../out/secret.txt", "w/link-out")
        .link(absolute.to_str().unwrap(), "w/link-abs")
        .link("../out", "w/folder-out")
        .link("/proc", "w/proc")
        .link("/proc/self/root", "w/root")
}

#[test]
fn no_path_escapes_its_root() {
    let world = with_links();
    let before = world.all();
    for way in ESCAPES {
        for (tool, args) in [
            ("read_file", json!({"path": way})),
            ("attach_file", json!({"path": way, "receiver": "x"})),
            ("find_in_files", json!({"path": way, "pattern": "o"})),
            ("write_file", json!({"path": way, "content": "x"})),
            ("edit_file", json!({"path": way, "old": "outside", "new": "x"})),
            ("copy_file", json!({"path": way, "to": "w:copy"})),
            ("copy_file", json!({"path": "w:d/in.txt", "to": way, "overwrite": true})),
        ] {
            world.blocked(tool, args);
        }
    }
    for way in ["w:folder-out/secret.txt", "w:../out/secret.txt", "out/secret.txt", "w:folder-out/new"] {
        world.blocked("delete_file", json!({"path": way}));
        world.blocked("move_file", json!({"path": way, "to": "w:x"}));
        world.blocked("move_file", json!({"path": "w:d/in.txt", "to": way, "overwrite": true}));
        world.blocked("make_folder", json!({"path": way}));
    }
    assert_eq!(world.all(), before);
}

#[test]
fn proc_links_are_not_followed_even_under_a_root_of_all() {
    let world = World::new().root("all", "/", read_only());
    let ways = ["all:proc/self/root", "all:proc/self/cwd", "all:proc/self/fd/0", "all:proc/self/exe"];
    for way in ways {
        world.blocked("read_file", json!({"path": way}));
        world.blocked("read_file", json!({"path": format!("{way}/etc/passwd")}));
        world.blocked("list_files", json!({"path": way}));
    }
    world.call("read_file", json!({"path": "all:etc/passwd"})).unwrap();
}

#[test]
fn reason_names_the_roots_but_no_host_path() {
    let world = world().root("r", "r", read_only());
    assert_eq!(
        world.blocked("read_file", json!({"path": "out/secret.txt"})),
        "`out/secret.txt` is outside every root; roots: `r:` (read-only), `w:`"
    );
    let why = world.blocked("read_file", json!({"path": "nope:a"}));
    assert!(why.starts_with("unknown root `nope`; roots: `r:` (read-only), `w:`"), "{why}");
    assert_eq!(world.blocked("read_file", json!({"path": "w:../r/a"})), "`w:../r/a` leads outside its root");
    let why = world.blocked("write_file", json!({"path": "r:a", "content": ""}));
    assert_eq!(why, "`r:a` is read-only; roots: `r:` (read-only), `w:`");
}

#[test]
fn link_inside_a_root_is_followed_and_reported() {
    let world = World::new()
        .root("w", "w", asking())
        .put("w/real/a.txt", "old")
        .link("real/a.txt", "w/link.txt")
        .link("real", "w/folder");
    assert_eq!(world.call("read_file", json!({"path": "w:link.txt"})).unwrap()["path"], "w:real/a.txt");
    let assessment = world.check("write_file", json!({"path": "w:link.txt", "content": "new"}));
    let View::NeedsApproval(request) = &assessment.view else { panic!() };
    assert_eq!(request.payload, json!({"root": "w", "path": "real/a.txt"}));
    assert!(assessment.facts.iter().any(|fact| fact.text == "w:link.txt leads to w:real/a.txt"));
    world.call("write_file", json!({"path": "w:link.txt", "content": "new"})).unwrap();
    world.call("write_file", json!({"path": "w:folder/b.txt", "content": "b"})).unwrap();
    assert_eq!((world.read("w/real/a.txt"), world.read("w/real/b.txt")), ("new".to_owned(), "b".to_owned()));
    assert!(world.path("w/link.txt").is_symlink());
}

#[test]
fn deepest_root_governs_every_spelling_of_a_path() {
    let world = World::new()
        .root("project", ".", read_only())
        .root("notes", "notes", free())
        .root("private", "notes/private", asking())
        .put("notes/a", "")
        .put("notes/private/b", "")
        .link("private/b", "notes/link");
    let write = |path: &str| world.needs("write_file", json!({"path": path, "content": "x"}));
    assert_eq!(write("project:c"), Approval::Deny);
    for path in ["project:notes/a", "notes:a", "notes/a"] {
        assert_eq!(write(path), Approval::None, "{path}");
    }
    for path in ["project:notes/private/b", "notes:private/b", "private:b", "notes:link", "notes/link"] {
        assert_eq!(write(path), Approval::Required, "{path}");
        let check = world.check("write_file", json!({"path": path, "content": "x"}));
        let View::NeedsApproval(request) = check.view else { panic!() };
        assert_eq!(request.payload, json!({"root": "private", "path": "b"}), "{path}");
    }
}

#[test]
fn root_cannot_be_moved_or_deleted() {
    let world = World::new().root("all", ".", free()).root("inner", "a/b", free()).put("a/b/c", "x");
    for path in ["all:", "inner:", "all:a", "all:a/b"] {
        world.blocked("delete_file", json!({"path": path, "recursive": true}));
        world.blocked("move_file", json!({"path": path, "to": "all:z"}));
    }
    assert_eq!(world.read("a/b/c"), "x");
}

#[test]
fn missing_root_is_a_clear_error() {
    let world = World::with_w();
    std::fs::remove_dir(world.path("w")).unwrap();
    let error = open(&Config::alone(world.main.clone(), world.path(""))).err().unwrap();
    assert_eq!(error.to_string(), "cannot open the root `w`: no such file or folder");
    let world = World::with_w();
    let tools = world.tools();
    std::fs::remove_dir(world.path("w")).unwrap();
    call(&tools, "write_file", json!({"path": "w:a", "content": ""})).unwrap_err();
    assert!(!world.exists("w"));
}

#[test]
fn renamed_root_stays_the_same_root() {
    let world = World::with_w().put("w/a", "1");
    let tools = world.tools();
    std::fs::rename(world.path("w"), world.path("v")).unwrap();
    std::fs::create_dir(world.path("w")).unwrap();
    call(&tools, "write_file", json!({"path": "w:a", "content": "2"})).unwrap();
    assert_eq!(world.read("v/a"), "2");
    assert!(!world.exists("w/a"));
}

#[test]
fn swapped_root_keeps_its_rules_at_both_paths() {
    let world = World::new().root("notes", "notes", free()).root("private", "notes/private", asking());
    let tools = world.tools();
    std::fs::rename(world.path("notes/private"), world.path("notes/moved")).unwrap();
    std::fs::create_dir(world.path("notes/private")).unwrap();
    for path in ["private:a", "notes:private/a", "notes:moved/a"] {
        let needed = needs(&tools, "write_file", json!({"path": path, "content": ""}));
        assert_eq!(needed, Approval::Required, "{path}");
    }
    std::fs::remove_dir(world.path("notes/moved")).unwrap();
    assert_eq!(
        needs(&tools, "write_file", json!({"path": "notes:private/a", "content": ""})),
        Approval::Required
    );
}

#[test]
fn remembered_approval_does_not_follow_a_swapped_link() {
    let world =
        World::new().root("w", "w", asking()).put("w/one/a", "1").put("w/two/a", "2").link("one", "w/now");
    let tools = world.tools();
    let args = json!({"path": "w:now/a", "content": "x"});
    let call = ApprovalContext { id: CallId::new(7), ..context("write_file", args) };
    let judge = || assert!(matches!(tools.check_approval(&call).view, View::NeedsApproval(_)));
    judge();
    std::fs::remove_file(world.path("w/now")).unwrap();
    let world = world.link("two", "w/now");
    assert!(matches!(tools.run(&call, None, "").result, Err(ToolError::Stale(_))));
    assert_eq!(world.read("w/two/a"), "2");
    judge();
    tools.run(&call, None, "").result.unwrap();
    assert_eq!(world.read("w/two/a"), "x");
}
