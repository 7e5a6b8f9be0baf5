//! Tests of the `cwd` in the metadata of a call.

use serde_json::json;

use super::*;

fn world() -> World {
    World::with_w().put("w/a", "above").put("w/d/a", "inner").put("a", "config's").put("out/a", "outside")
}

fn read(world: &World, cwd: Value, path: &str) -> Result<Value, String> {
    let tools = world.tools();
    let call = context("read_file", json!({"path": path})).with_metadata("cwd", cwd);
    match tools.check_approval(&call).view {
        View::Blocked(why) => {
            tools.run(&call, None, "").result.unwrap_err();
            Err(why)
        }
        _ => Ok(tools.run(&call, None, "").result.unwrap()["path"].clone()),
    }
}

#[test]
fn plain_path_starts_in_the_cwd_of_the_call() {
    let world = world();
    let whole = world.path("w/d").to_str().unwrap().to_owned();
    for cwd in [whole.as_str(), "w:d", "w/d", "w/./d/../d"] {
        assert_eq!(read(&world, json!(cwd), "a"), Ok(json!("w:d/a")), "{cwd}");
        assert_eq!(read(&world, json!(cwd), "../a"), Ok(json!("w:a")), "{cwd}");
        assert_eq!(read(&world, json!(cwd), "w:a"), Ok(json!("w:a")), "{cwd}");
        assert_eq!(read(&world, json!(cwd), world.path("w/a").to_str().unwrap()), Ok(json!("w:a")), "{cwd}");
    }
    assert_eq!(read(&world, Value::Null, "w/a"), Ok(json!("w:a")));
}

#[test]
fn plain_path_cannot_leave_the_root_through_the_cwd() {
    let world = world();
    for path in ["../../a", "../../out/a", "/etc/passwd"] {
        let why = read(&world, json!("w:d"), path).unwrap_err();
        assert!(why.contains("outside every root"), "{why}");
    }
}

#[test]
fn cwd_outside_every_root_blocks_only_plain_paths() {
    let world = world();
    let out = world.path("out").to_str().unwrap().to_owned();
    for cwd in [
        json!(out),
        json!("/"),
        json!("out"),
        json!("../w"),
        json!("nope:x"),
        json!(""),
        json!(7),
        json!(["w:d"]),
    ] {
        let why = read(&world, cwd.clone(), "a").unwrap_err();
        assert!(why.starts_with("the call's `cwd` is "), "{why}");
        assert!(!why.contains(&out), "a host path leaks: {why}");
        assert_eq!(read(&world, cwd, "w:a"), Ok(json!("w:a")));
    }
    let why = read(&world, json!("/"), "a").unwrap_err();
    assert!(why.ends_with("roots: `w:`; hint: write paths as `root:path`"), "{why}");
}

#[test]
fn link_in_the_cwd_follows_the_usual_rules() {
    let world = world().link("../out", "w/to_out").link("d", "w/to_d");
    assert_eq!(read(&world, json!("w:to_d"), "a"), Ok(json!("w:d/a")));
    let why = read(&world, json!("w:to_out"), "a").unwrap_err();
    assert_eq!(why, "`w:to_out/a` leads outside its root");
}

#[test]
fn equal_calls_with_different_cwd_stay_separate() {
    let world = World::new().root("w", "w", asking()).put("w/d/a", "1").put("w/e/a", "2");
    let tools = world.tools();
    let calls =
        ["w:d", "w:e"].map(|cwd| context("delete_file", json!({"path": "a"})).with_metadata("cwd", cwd));
    calls.iter().for_each(|call| drop(tools.check_approval(call)));
    for call in calls {
        tools.run(&call, None, "").result.unwrap();
    }
    assert!(!world.exists("w/d/a") && !world.exists("w/e/a"));
}
