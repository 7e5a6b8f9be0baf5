//! Tests of hostile and unusual YAML: it is parsed, or rejected with the right position, and never panics.

use proptest::prelude::*;

use super::{MAX_BYTES, decode, parse};
use crate::node::{Node, Source, Value};
use crate::testing::World;

fn tree(text: &str) -> Node {
    parse(&Source::new("askfirst.yaml", text)).unwrap_or_else(|fault| panic!("{fault}")).root
}

fn fault(text: &str) -> String {
    match parse(&Source::new("askfirst.yaml", text)) {
        Ok(tree) => {
            let faults: Vec<String> = tree.faults.iter().map(ToString::to_string).collect();
            assert!(!faults.is_empty(), "accepted without errors: {text:.80}");
            faults.join("\n")
        }
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn parsed_node_has_its_position() {
    let text = "a: 1\nb:\n  - ä: [x, \"y z\"]\n    c: {}\n";
    let root = tree(text);
    let slice = |node: &Node| text.get(node.position.span.clone()).unwrap();
    assert_eq!(slice(root.get("a").unwrap()), "1");
    let item = &root.get("b").unwrap().items()[0];
    assert_eq!((item.position.line, item.position.column), (3, 5));
    let entry = item.entry("ä").unwrap();
    assert_eq!((entry.at.line, entry.at.column), (3, 5));
    assert_eq!(slice(&entry.value), "[x, \"y z\"]");
    assert_eq!((entry.value.position.line, entry.value.position.column), (3, 8));
    assert_eq!(slice(&entry.value.items()[1]), "\"y z\"");
    assert_eq!(slice(item.get("c").unwrap()), "{}");
}

#[test]
fn ambiguous_scalar_stays_text() {
    let kind = |text: &str| tree(&format!("a: {text}\n")).get("a").unwrap().kind();
    for text in ["yes", "on", "True", "1_000", "010", "0x10", "0o7", "+1", ".5", ".inf", "1:30", "2026-01-01"]
    {
        assert_eq!(kind(text), "text", "{text}");
    }
    for text in ["0", "-7", "18446744073709551615", "1.5", "1e3", "-0.5"] {
        assert_eq!(kind(text), "a number", "{text}");
    }
    assert_eq!(kind("99999999999999999999"), "text");
    assert_eq!(kind("1e999"), "text");
    assert_eq!(kind("true"), "a boolean");
    assert_eq!(kind("\"true\""), "text");
    assert_eq!(kind(""), "null");
    assert_eq!(kind("~"), "null");
}

#[test]
fn unusual_but_valid_yaml_is_parsed() {
    for text in
        ["\u{feff}a: 1\n", "a: 1\r\nb: 2\r\n", "---\na: 1\n...\n", "# only a comment\n", "", "\n\n", "a: 1"]
    {
        let root = tree(text);
        assert!(matches!(root.value, Value::Map(_) | Value::Null), "{text:?}");
    }
    let marked = "\u{feff}a: ä\n";
    assert_eq!(marked.get(tree(marked).get("a").unwrap().position.span.clone()), Some("ä"));
    let many = format!("{}a: 1\n", "# a comment\n".repeat(2_000));
    assert_eq!(tree(&many).get("a").unwrap().position.line, 2_001);
}

#[test]
fn hostile_yaml_is_rejected_with_a_position() {
    let bomb: String = std::iter::once("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned())
        .chain((1..30).map(|n| {
            let alias = format!("*a{}, ", n - 1).repeat(9);
            format!("a{n}: &a{n} [{alias}]\n")
        }))
        .collect();
    let chain: String = std::iter::once("a0: &a0 [x]\n".to_owned())
        .chain((1..200).map(|n| format!("a{n}: &a{n} [*a{}]\n", n - 1)))
        .collect();
    let cases = [
        ("alias bomb", bomb),
        ("long chain of aliases", chain),
        ("deeply nested brackets", format!("a: {}", "[".repeat(100_000))),
        ("deeply nested maps", format!("a: {}", "{a: ".repeat(1_000))),
        ("deeply nested blocks", (0..500).map(|n| format!("{}a:\n", " ".repeat(n))).collect()),
        ("deeply nested lists", "- ".repeat(5_000)),
        ("many values", format!("a: [{}]", "1,".repeat(200_000))),
        ("2 MiB", format!("a: {}\n", "x".repeat(2 << 20))),
        ("a NUL character", "a: \0\n".to_owned()),
        ("an escape character", "a: \u{1b}[2J\n".to_owned()),
        ("a tab as indentation", "a:\n\tb: 1\n".to_owned()),
        ("a duplicate key", "a: 1\nb: 2\na: 3\n".to_owned()),
        ("nested duplicate keys", "a: [{ b: { c: 1, c: 2 } }, { d: 1, d: 1 }]\n".to_owned()),
        ("a merge key", "a: &x { b: 1 }\nc: { <<: *x }\n".to_owned()),
        ("an alias to an unknown anchor", "a: *b\n".to_owned()),
        ("an alias to itself", "a: &a [*a]\n".to_owned()),
        ("a tag", "a: !!python/object:os.system x\n".to_owned()),
        ("a tagged map", "a: !x { b: 1 }\n".to_owned()),
        ("a map as a key", "? { a: 1 }\n: 2\n".to_owned()),
        ("an alias as a key", "a: &a b\n*a : 2\n".to_owned()),
        ("two documents", "a: 1\n---\na: 2\n".to_owned()),
        ("an unclosed quote", "a: \"b\n".to_owned()),
        ("an unclosed bracket", "a: [b\n".to_owned()),
        ("text after a value", "a: \"b\" c\n".to_owned()),
    ];
    let report: Vec<String> = cases.iter().map(|(name, text)| format!("{name}\n{}", fault(text))).collect();
    insta::assert_snapshot!(report.join("\n\n"));
}

#[test]
fn config_with_many_names_is_read_completely() {
    let world = World::new();
    let names: Vec<String> = (0..20_000).map(|n| format!("t{n}")).collect();
    let settings = world.settings(&format!("version: 1\npre_approved: [{}]\n", names.join(",")));
    assert_eq!(settings.rules.entries().count(), names.len());
    let keys: String = names.iter().map(|name| format!("{name}: 1\n")).collect();
    assert_eq!(world.read(&keys).unwrap_err().0.len(), names.len());
}

#[test]
fn non_utf8_or_oversized_file_is_rejected_with_a_position() {
    let fault = |bytes: &[u8]| decode("askfirst.yaml".as_ref(), bytes).unwrap_err().to_string();
    assert_eq!(fault(b"a: 1\nb: \xff\n"), "askfirst.yaml:2:4: the file is not valid UTF-8");
    assert_eq!(fault(&vec![b'a'; MAX_BYTES + 1]), "askfirst.yaml:1:1: the file is larger than 1 MiB");
}

/// Generates bytes that are often valid YAML.
fn yamlish() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("version: 1\n"),
        Just("tools:\n"),
        Just("shell_rules: "),
        Just("  a: "),
        Just("- "),
        Just("{ approval: none }"),
        Just("{ pattern: ls, allowed: false }\n"),
        Just("["),
        Just("]"),
        Just("{"),
        Just("}"),
        Just(", "),
        Just("&a "),
        Just("*a"),
        Just("\"x"),
        Just("'"),
        Just("|\n"),
        Just("> "),
        Just("# c\n"),
        Just("\n"),
        Just("  "),
        Just("\t"),
        Just("<<: "),
        Just("!!str "),
        Just("? "),
        Just("ä\u{202e}"),
        Just("\u{feff}"),
        Just("---\n"),
        Just("%YAML 1.2\n"),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), yamlish()]) {
        let world = World::new();
        if let Ok(source) = decode("askfirst.yaml".as_ref(), &bytes) {
            let read = world.read(&source.text);
            let faults = match &read {
                Ok((_, warnings)) => warnings.as_slice(),
                Err(faults) => faults.0.as_slice(),
            };
            for fault in faults {
                prop_assert!(source.text.get(fault.span.clone()).is_some(), "{fault:?}");
                prop_assert!(!fault.message.contains(['\n', '\u{1b}', '\u{202e}']), "{fault:?}");
            }
            // A migrated text has the same settings.
            if let (Ok((settings, _)), Ok(new)) = (&read, crate::migrate(&source.text, "askfirst.yaml".as_ref())) {
                let again = world.read(&new.text);
                prop_assert!(again.is_ok(), "{:?}\n{}", again, new.text);
                let (again, warnings) = again.unwrap();
                prop_assert_eq!(warnings.len(), 0);
                prop_assert_eq!(crate::testing::meaning(settings), crate::testing::meaning(&again));
            }
        }
    }
}
