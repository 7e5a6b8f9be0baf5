//! Rules about the configs and commands in documents.

use super::{root, sources, wrong};

/// A newcomer copies what a page shows.
#[test]
fn page_that_accepts_a_missing_sandbox_says_why() {
    let key = "require_os_sandbox: false";
    let pages = sources(&root().join("docs/guide"), ".md").into_iter().chain([root().join("README.md")]);
    let mut places = Vec::new();
    for path in pages {
        let page = std::fs::read_to_string(&path).unwrap();
        for (number, line) in page.lines().enumerate() {
            // In a sentence, the key is in backticks.
            let is_config = line.contains(key) && !line.contains('`');
            let says_why = line.split_once(key).is_some_and(|(_, rest)| rest.contains("# "));
            if is_config && !says_why {
                places.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    wrong("configs that accept a missing sandbox without a comment on that line", places);
}

#[test]
fn readme_installs_the_program_before_it_uses_it() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let code: String = page.split("```").skip(1).step_by(2).collect();
    let install = code.find("\ncargo install --locked --path crates/askfirst-cli\n").unwrap();
    let first = code.find("askfirst serve").into_iter().chain(code.find("\naskfirst ")).min().unwrap();
    assert!(install < first);
}

/// A newcomer sees what it is, how to try it and how to check it, and then the block for people like them.
#[test]
fn readme_has_a_block_for_each_kind_of_user() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (start, rest) = page.split_once("\n## ").unwrap();
    assert_eq!(start.matches("![").count(), 1, "one picture");
    let commands: Vec<&str> = start.split("```").skip(1).step_by(2).collect();
    assert_eq!(commands, ["sh\ncargo run --release -- demo\n", "sh\n./test\n"]);
    let blocks: Vec<(&str, &str)> = rest.split("\n## ").filter_map(|block| block.split_once('\n')).collect();
    for (heading, code) in [
        ("You use a coding agent", "askfirst hook install claude"),
        ("You use MCP servers", "askfirst mcp wrap"),
        ("You write an agent in Python", "askfirst.session("),
        ("You answer for what an agent did", "askfirst log verify"),
    ] {
        let (_, block) =
            blocks.iter().find(|(name, _)| *name == heading).unwrap_or_else(|| panic!("{heading}"));
        assert!(block.contains("```") && block.contains(code), "{heading}: {block}");
        assert!(block.lines().count() <= 30, "a short block: {heading}");
    }
}
