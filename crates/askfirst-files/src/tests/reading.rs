//! Tests of reading, listing, searching and inspecting.

use serde_json::json;

use super::*;

#[test]
fn file_is_read_by_rooted_and_by_plain_path() {
    let world = World::with_w().put("w/a.txt", "hello");
    for path in ["w:a.txt", "w/a.txt", "./w/../w/a.txt", "w:x/../a.txt"] {
        assert_eq!(world.call("read_file", json!({"path": path})).unwrap()["content"], "hello", "{path}");
    }
    let whole = world.path("w/a.txt");
    assert_eq!(world.call("read_file", json!({"path": whole})).unwrap()["path"], "w:a.txt");
}

#[test]
fn partial_read_returns_the_next_offset() {
    let world = World::with_w().put("w/a", "aäöb");
    let part = |offset: u64, limit: u64| {
        world.call("read_file", json!({"path": "w:a", "offset": offset, "limit": limit})).unwrap()
    };
    assert_eq!(
        part(0, 2),
        json!({"path": "w:a", "content": "a", "offset": 0, "size": 6, "next_offset": 1, "left_out": 5})
    );
    assert_eq!(part(1, 4)["content"], "äö");
    assert_eq!(part(2, 4)["content"], "öb");
    assert_eq!(part(99, 4)["content"], "");
    let all = world.call("read_file", json!({"path": "w:a"})).unwrap();
    assert_eq!((all["content"].as_str(), all.get("next_offset")), (Some("aäöb"), None));
}

#[test]
fn binary_file_is_read_only_as_base64() {
    let world = World::with_w().put("w/a", [0, 255, 1]).put("w/nul", "a\0b");
    let error = world.call("read_file", json!({"path": "w:a"})).unwrap_err().to_string();
    assert_eq!(error, "`w:a` is not UTF-8 text; hint: set `encoding` to `base64`");
    world.call("read_file", json!({"path": "w:nul"})).unwrap_err();
    let read = world.call("read_file", json!({"path": "w:a", "encoding": "base64"})).unwrap();
    assert_eq!(read["content"], "AP8B");
}

#[test]
fn reading_a_missing_file_or_folder_fails_when_run() {
    let world = World::with_w().put("w/d/a", "");
    assert_eq!(world.needs("read_file", json!({"path": "w:no"})), Approval::None);
    let error = world.call("read_file", json!({"path": "w:no"})).unwrap_err().to_string();
    assert_eq!(error, "the file `w:no` does not exist");
    let error = world.call("read_file", json!({"path": "w:d"})).unwrap_err().to_string();
    assert_eq!(error, "`w:d` is a folder, not a file");
    world.call("list_files", json!({"path": "w:d/a"})).unwrap_err();
}

#[test]
fn list_beyond_the_limit_is_counted() {
    let mut world = World::with_w().put("w/sub/deep/x.rs", "").put("w/sub/y.txt", "");
    for n in 0..10 {
        world = world.put(&format!("w/{n}.txt"), "");
    }
    let list = |args: Value| world.call("list_files", args).unwrap();
    let paths = |list: &Value| -> Vec<String> {
        let names = ["files", "folders"].into_iter().flat_map(|kind| list[kind].as_array().unwrap());
        names.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let all = list(json!({"path": "w:"}));
    assert_eq!((paths(&all).len(), all["left_out"].as_u64()), (11, Some(0)));
    let some = list(json!({"path": "w:", "limit": 4}));
    assert_eq!((paths(&some).len(), some["left_out"].as_u64()), (4, Some(7)));
    assert_eq!(paths(&list(json!({"path": "w:", "depth": 9, "glob": "*.rs"}))), ["sub/deep/x.rs"]);
    assert_eq!(paths(&list(json!({"path": "w:", "depth": 9, "glob": "sub/*"}))), ["sub/y.txt", "sub/deep"]);
    assert!(matches!(
        world.call("list_files", json!({"path": "w:", "glob": "[a"})),
        Err(ToolError::BadArgs(_))
    ));
}

#[test]
fn list_groups_names_by_kind_in_order() {
    let world = World::with_w().put("w/d/b", "").put("w/d/a", "").put("w/d/c/x", "").link("a", "w/d/l");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("w/d/s")).unwrap();
    assert_eq!(
        world.call("list_files", json!({"path": "w:d", "depth": 2})).unwrap(),
        json!({
            "path": "w:d", "files": ["a", "b", "c/x"], "folders": ["c"], "links": ["l"], "others": ["s"],
            "left_out": 0
        })
    );
}

#[test]
fn list_sorts_names_with_a_common_prefix() {
    let mut names: Vec<String> = ["", "1", "10", "2", "12345678", "123456789", "12345678a", "ä", "z/", "z0"]
        .iter()
        .map(|end| format!("a file of a name that is quite long {}", end.replace('/', "\u{1}")))
        .collect();
    let world = names.iter().fold(World::with_w(), |world, name| world.put(&format!("w/{name}"), ""));
    names.sort();
    let list = || world.call("list_files", json!({"path": "w:"})).unwrap()["files"].clone();
    assert_eq!(list(), json!(names));
    world.write("w/b", "");
    names.push("b".to_owned());
    assert_eq!(list(), json!(names));
}

#[test]
fn list_without_a_path_lists_the_roots() {
    let world = World::with_w().root("r", "r", read_only());
    let roots = world.call("list_files", json!({})).unwrap();
    assert_eq!(roots, json!({"roots": [{"path": "r:", "mode": "ro"}, {"path": "w:", "mode": "rw"}]}));
}

#[test]
fn search_finds_literal_text_and_regexes() {
    let world = World::with_w()
        .put("w/a.txt", "one\ntwo a.b\nthree axb\n")
        .put("w/sub/b.md", "a.b a.b")
        .put("w/binary", "a.b\0");
    let find = |args: Value| world.call("find_in_files", args).unwrap();
    let found = find(json!({"path": "w:", "pattern": "a.b"}));
    assert_eq!(
        found["lines"],
        json!([{"path": "w:a.txt", "line": 2, "text": "two a.b"}, {"path": "w:sub/b.md", "line": 1, "text": "a.b a.b"}])
    );
    assert_eq!((found["files_searched"].as_u64(), found["files_skipped"].as_u64()), (Some(2), Some(1)));
    let found = find(json!({"path": "w:", "pattern": "^t.*a.b$", "regex": true, "limit": 1}));
    assert_eq!((found["lines"].as_array().unwrap().len(), found["left_out"].as_u64()), (1, Some(1)));
    assert_eq!(find(json!({"path": "w:a.txt", "pattern": "one"}))["lines"][0]["line"], 1);
    assert_eq!(find(json!({"path": "w:", "pattern": "a.b", "glob": "*.md"}))["files_searched"], 1);
    let bad = world.call("find_in_files", json!({"path": "w:", "pattern": "(", "regex": true}));
    assert!(matches!(bad, Err(ToolError::BadArgs(_))));
}

#[test]
fn search_skips_files_that_need_approval() {
    let strict = PathConfig {
        approval: PathApproval { read: Approval::Required, ..PathApproval::default() },
        ..read_only()
    };
    let world = World::new()
        .root(
            "all",
            ".",
            PathConfig { suffixes: vec![".txt".to_owned()], max_file_bytes: Some(20), ..free() },
        )
        .root("strict", "strict", strict)
        .never_read("secret.txt")
        .put("a.txt", "needle")
        .put("secret.txt", "needle")
        .put("other.md", "needle")
        .put("big.txt", "needle".repeat(9))
        .put("strict/s.txt", "needle")
        .put("outside-link.txt", "needle");
    std::fs::hard_link(world.path("outside-link.txt"), world.path("second.md")).unwrap();
    let found = world.call("find_in_files", json!({"path": "all:", "pattern": "needle"})).unwrap();
    assert_eq!(found["lines"], json!([{"path": "all:a.txt", "line": 1, "text": "needle"}]));
    assert_eq!(found["files_skipped"], 6);
    assert_eq!(world.needs("find_in_files", json!({"path": "strict:", "pattern": "x"})), Approval::Required);
    let found = world.call("find_in_files", json!({"path": "strict:", "pattern": "needle"})).unwrap();
    assert_eq!(found["lines"][0]["path"], "strict:s.txt");
}

#[test]
fn stat_and_list_need_only_the_root() {
    let world = World::new()
        .root("w", "w", PathConfig { suffixes: vec![".md".to_owned()], ..asking() })
        .put("w/a.txt", "four");
    let stat = world.call("stat_file", json!({"path": "w:a.txt"})).unwrap();
    assert_eq!((stat["kind"].as_str(), stat["size"].as_u64()), (Some("file"), Some(4)));
    assert_eq!(world.call("stat_file", json!({"path": "w:no"})).unwrap()["kind"], "nothing");
    assert_eq!(world.needs("stat_file", json!({"path": "w:a.txt"})), Approval::None);
    assert_eq!(world.needs("list_files", json!({"path": "w:"})), Approval::None);
}

#[test]
fn attached_file_names_its_receiver() {
    let attach = PathApproval { attach: Approval::Required, ..free().approval };
    let world = World::new().root("w", "w", PathConfig { approval: attach, ..free() }).put("w/a", "hi");
    let args = json!({"path": "w:a", "receiver": "summarizer"});
    let (assessment, shown) = world.shown("attach_file", args.clone());
    let View::NeedsApproval(request) = assessment.view else { panic!() };
    assert_eq!(request.payload, json!({"root": "w", "path": "a", "receiver": "summarizer"}));
    assert_eq!(shown.action.unwrap().to_string(), "attach w/a for summarizer");
    assert_eq!(shown.presentation.unwrap().content, "file, 2 bytes");
    assert_eq!(world.call("attach_file", args).unwrap()["content"], "hi");
    let free = World::with_w().put("w/a", "hi");
    assert_eq!(free.needs("attach_file", json!({"path": "w:a", "receiver": "x"})), Approval::None);
}

#[test]
fn invalid_arguments_are_blocked() {
    let world = World::with_w().put("w/a", "");
    for (tool, args) in [
        ("read_file", json!({})),
        ("read_file", json!({"path": 1})),
        ("read_file", json!({"path": "w:a", "ofset": 1})),
        ("read_file", json!({"path": "w:a", "limit": 0})),
        ("read_file", json!({"path": "w:a", "limit": -1})),
        ("read_file", json!({"path": "w:a", "limit": 1.5})),
        ("read_file", json!({"path": "w:a", "encoding": "latin1"})),
        ("write_file", json!({"path": "w:a"})),
        ("write_file", json!({"path": "w:a", "content": "Zg", "encoding": "base64"})),
        ("edit_file", json!({"path": "w:a"})),
        ("edit_file", json!({"path": "w:a", "old": "", "new": "x"})),
        ("edit_file", json!({"path": "w:a", "old": "x", "new": "y", "patch": "z"})),
        ("delete_file", json!({"path": "w:a", "recursive": "yes"})),
    ] {
        world.blocked(tool, args);
    }
    assert!(world.tools().check_approval(&context("other", json!({}))).view == View::Silent);
    assert!(matches!(world.call("other", json!({})), Err(ToolError::Unknown(_))));
}

#[test]
fn definitions_match_tool_names_and_need_a_root() {
    let tools = World::with_w().tools();
    let names: Vec<String> = tools.definitions().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, crate::file_call::NAMES);
    assert!(names.iter().all(|name| tools.definition(name).is_some_and(|tool| tool.name == *name)));
    let none = World::new().tools();
    assert!(none.definitions().is_empty() && none.definition("read_file").is_none());
}

#[test]
fn growing_file_is_read_to_its_end_or_the_limit() {
    use super::super::read;
    let world = World::with_w().put("w/a", "123");
    let file = std::fs::File::open(world.path("w/a")).unwrap();
    let small = rustix::fs::fstat(&file).unwrap();
    let whole = "1234567890".repeat(100);
    world.write("w/a", &whole);
    for (limit, expected) in [(4_000, 1_000), (1_000, 1_000), (999, 999), (5, 5), (3, 3)] {
        let part =
            read::read_part(&file, &small, "w:a", 0, limit, super::super::file_call::Encoding::Utf8).unwrap();
        assert_eq!(part["content"].as_str(), whole.get(..expected), "{limit}");
    }
}
