//! Tests that put the gateway into clients' configs and remove it again.

use super::{Direction, WrapError, rewrite};

const CLIENT: &str = r#"{
  // no
}"#;

const CONFIG: &str = r#"{
    "theme":   "dark",
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "server, \"files\"", "/tmp"], "env": {"A": "1"} },
    "git":   {"command": "/opt/git-mcp"},
    "web":   { "url": "http://127.0.0.1/mcp" }
  },
  "last": [1,  2]
}
"#;

#[test]
fn wrapped_server_changes_nothing_else_in_the_file() {
    let wrapped = rewrite(CONFIG, "/bin/askfirst", Direction::Wrap).unwrap();
    assert_eq!(wrapped.changed, ["files", "git"]);
    assert_eq!(wrapped.left[0].0, "web");
    let wanted = CONFIG
        .replace(
            r#""npx", "args": ["#,
            r#""/bin/askfirst", "args": ["mcp", "--name", "files", "--command", "npx", "#,
        )
        .replace(
            r#""/opt/git-mcp""#,
            r#""/bin/askfirst", "args": ["mcp", "--name", "git", "--command", "/opt/git-mcp"]"#,
        );
    assert_eq!(wrapped.text, wanted);
    let again = rewrite(&wrapped.text, "/bin/askfirst", Direction::Wrap).unwrap();
    assert_eq!((again.text, again.changed), (wrapped.text.clone(), vec![]));
    let back = rewrite(&wrapped.text, "/bin/askfirst", Direction::Unwrap).unwrap();
    assert_eq!(back.changed, ["files", "git"]);
    assert_eq!(
        back.text,
        CONFIG.replace(r#""/opt/git-mcp""#, r#""/opt/git-mcp", "args": []"#).replace("[],}", "[]}")
    );
}

#[test]
fn config_keys_of_other_clients_are_known() {
    for config in [
        r#"{"servers": {"a": {"type": "stdio", "command": "x", "args": []}}}"#,
        r#"{"mcp": {"servers": {"a": {"command": "x"}}}}"#,
    ] {
        assert_eq!(rewrite(config, "askfirst", Direction::Wrap).unwrap().changed, ["a"], "{config}");
    }
}

#[test]
fn invalid_client_config_is_refused_whole() {
    assert!(matches!(rewrite(CLIENT, "askfirst", Direction::Wrap), Err(WrapError::Syntax(_))));
    assert_eq!(rewrite("{}", "askfirst", Direction::Wrap), Err(WrapError::NoServers));
    assert!(matches!(
        rewrite(r#"{"mcpServers":{},"mcpServers":{"a":{"command":"x"}}}"#, "askfirst", Direction::Wrap),
        Err(WrapError::Syntax(_))
    ));
    let bad = r#"{"mcpServers":{"a__b":{"command":"x"}}}"#;
    assert_eq!(rewrite(bad, "askfirst", Direction::Wrap), Err(WrapError::Name("a__b".to_owned())));
    let odd = r#"{"mcpServers":{"a":{"command":["x"]},"b":{"command":"x","args":"y"}}}"#;
    assert_eq!(rewrite(odd, "askfirst", Direction::Wrap).unwrap().left.len(), 2);
}

#[test]
fn gateway_under_another_name_is_recognized() {
    let text = r#"{"mcpServers": {"a": {"command": "run", "args": ["x"]}}}"#;
    let wrapped = rewrite(text, "/opt/askfirst-0.2", Direction::Wrap).unwrap().text;
    for gateway in ["/opt/askfirst-0.2", "/elsewhere/askfirst-0.2"] {
        assert!(rewrite(&wrapped, gateway, Direction::Wrap).unwrap().changed.is_empty(), "{gateway}");
        assert_eq!(rewrite(&wrapped, gateway, Direction::Unwrap).unwrap().text, text);
    }
    let other = rewrite(text, "/usr/bin/askfirst", Direction::Wrap).unwrap().text;
    assert_eq!(rewrite(&other, "/opt/askfirst-0.2", Direction::Unwrap).unwrap().text, text);
}

#[test]
fn large_client_config_is_rewritten() {
    let much = vec!["{}"; askfirst::json::MAX_VALUES / 16].join(",");
    let text = format!(r#"{{"history":[{much}],"mcpServers":{{"a":{{"command":"b"}}}}}}"#);
    assert!(rewrite(&text, "askfirst", Direction::Wrap).is_ok());
}

#[test]
fn gateway_written_with_two_hyphens_is_recognized() {
    let text =
        |args: &str| format!(r#"{{"mcpServers": {{"a": {{"command": "askfirst", "args": [{args}]}}}}}}"#);
    for (args, own) in [
        (r#""mcp", "--name", "a", "--", "run", "--command", "x""#, r#""--command", "x""#),
        (r#""mcp", "--name", "a", "--command", "run", "--", "x""#, r#""--", "x""#),
    ] {
        let text = text(args);
        assert!(rewrite(&text, "askfirst", Direction::Wrap).unwrap().changed.is_empty(), "{args}");
        let own = format!(r#"{{"mcpServers": {{"a": {{"command": "run", "args": [{own}]}}}}}}"#);
        assert_eq!(rewrite(&text, "askfirst", Direction::Unwrap).unwrap().text, own);
    }
}
