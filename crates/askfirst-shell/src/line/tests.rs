//! What lines come to: words, folders, streams, gaps. Each table row is a line and the commands that bash would start.

use super::tree::{Line, Piece, Shape, Stdin, Word};
use super::{argv, confirm, read};
use super::{shuck, walk};

mod gaps;
mod properties;
mod scripts;
mod started;
mod tables;

/// Commands as short text: words joined by `|`, unknown parts as `<…>`, wildcards as `[glob …]`.
fn shown(line: &Line) -> Vec<String> {
    let commands = line.commands.iter().filter(|command| !command.is_dropped());
    commands.map(|command| command.words.iter().map(word).collect::<Vec<_>>().join("|")).collect()
}

fn word(word: &Word) -> String {
    word.pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Glob(text) => format!("[glob {text}]"),
            Piece::Home => "[home]".to_owned(),
            Piece::Unknown(unknown) => {
                format!("<{}{}>", unknown.text, if unknown.splits { " …" } else { "" })
            }
        })
        .collect()
}

/// Folders of the last command: each as its `cd` words.
fn folders(text: &str) -> Option<Vec<String>> {
    let line = read(text);
    let folders = line.commands.last().unwrap().folders.clone()?;
    Some(folders.iter().map(|folder| folder.0.iter().map(word).collect::<Vec<_>>().join(" ")).collect())
}

fn clean(text: &str) -> Line {
    let line = read(text);
    assert!(line.gaps.is_empty(), "{text:?}: {:?}", line.gaps);
    line
}

#[test]
fn plain_words_need_no_parser() {
    let rows = [
        ("ls -la src", "ls|-la|src"),
        (
            "git commit -m 'it is; done | (really)' --no-edit",
            "git|commit|-m|it is; done | (really)|--no-edit",
        ),
        ("echo \"a \\\"b\\\" \\$c \\d\" e\\ f ''", "echo|a \"b\" $c \\d|e f|"),
        ("  git   diff HEAD~1 HEAD^ \n", "git|diff|HEAD~1|HEAD^"),
        ("npm run test:unit -- --watch=false", "npm|run|test:unit|--|--watch=false"),
        ("r\"m\" -rf build", "rm|-rf|build"),
        ("\\rm x", "rm|x"),
        ("grep -n 'a\nb' x#y a!b", "grep|-n|a\nb|x#y|a!b"),
        ("git log --oneline | head -n 20", "git|log|--oneline; head|-n|20"),
        ("cd src && git log 2>/dev/null | head > out.txt 2>&1", "cd|src; git|log; head"),
        ("ls;git diff&&cargo test --lib||echo no ; ", "ls; git|diff; cargo|test|--lib; echo|no"),
    ];
    for (text, expected) in rows {
        let line = clean(text);
        assert_eq!(line.shape, Shape::Plain, "{text:?}");
        assert_eq!(shown(&line).join("; "), expected, "{text:?}");
        assert!(confirm(text, &line));
    }
}

/// Every line of the cases, as the fast way reads it and as the parser does.
#[test]
fn fast_path_agrees_with_the_parser_on_every_case() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/shell"));
    let entries = ["dangerous", "ordinary"].map(|name| std::fs::read_dir(folder.join(name)).unwrap());
    let mut plain = 0;
    for entry in entries.into_iter().flatten() {
        let path = entry.unwrap().path();
        for row in std::fs::read_to_string(path).unwrap().lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            let Some(text) = row["command"].as_str() else { continue };
            let line = read(text);
            if line.shape == Shape::Plain {
                plain += 1;
                let (commands, gaps) = walk::walk(text, &shuck::Shuck);
                assert!(commands == line.commands || !gaps.is_empty(), "{text:?}: {line:?}\n{commands:?}");
            }
        }
    }
    assert!(plain > 500, "{plain}");
}

#[test]
fn text_with_a_shell_meaning_is_never_plain() {
    for text in [
        "a b='c':~/d",
        "a&",
        "a&b",
        "a|&b",
        "a;;b",
        "a|",
        "a &&",
        "a || ;",
        ";a",
        "a && cd x",
        "cd x",
        "cd x; a",
        "cd x || a",
        "cd x && a; b",
        "cd x && a || b",
        "cd -P x && a",
        "cd && a",
        "cd x | a",
        "a >&3",
        "a >| b",
        "a > ",
        "> a",
        "a > !b",
        "a >]=",
        "a >b>c",
        "a 12>b",
        "a; if b",
        "a | A=1 b",
        "a | ! b",
        "a>b",
        "a<b",
        "a (b)",
        "a $b",
        "a `b`",
        "a *",
        "a ?",
        "a [b]",
        "a {b,c}",
        "a ~",
        "a #b",
        "A=1 b",
        "! a",
        "if a",
        "a \"$b\"",
        "a\nb",
        "a \\\nb",
        "time a",
        "cd x",
        "test -v x",
        "export A=1",
        "a =b",
        "é",
        "a é",
        "a A=~/x",
        "[ -f x ]",
        "a \u{b} b",
        "a\rb",
        "'if' a; b",
    ] {
        assert_eq!(read(text).shape, Shape::Parsed, "{text:?}");
    }
}

#[test]
fn folders_follow_cd() {
    let rows: [(&str, Option<&[&str]>); 22] = [
        ("cd a && ls", Some(&["a"])),
        ("cd a; ls", Some(&["a", ""])),
        ("cd a || exit 1; ls", Some(&["a"])),
        ("cd a || { echo no; exit 1; }; ls", Some(&["a"])),
        ("cd a && cd ../b && ls", Some(&["a ../b"])),
        ("cd /x && ls", Some(&["/x"])),
        ("cd a && cd /x && ls", Some(&["/x"])),
        ("(cd a && pwd); ls", Some(&[""])),
        ("cd a | cat; ls", Some(&[""])),
        ("cd a & ls", Some(&[""])),
        ("x=$(cd a && pwd); ls", Some(&[""])),
        ("if true; then cd a; fi; ls", Some(&["a", ""])),
        ("cd && ls", Some(&["[home]"])),
        ("cd ~/x && ls", Some(&["[home]/x"])),
        ("cd - && ls", None),
        ("pushd a && ls", Some(&["a"])),
        ("pushd a && popd && ls", None),
        ("cd \"$(git rev-parse --show-toplevel)\" && ls", Some(&["<$(git rev-parse --show-toplevel)>"])),
        ("d=src; cd $d && ls", Some(&["src"])),
        ("for d in a b; do (cd $d && ls); done; ls", Some(&[""])),
        ("while read d; do cd \"$d\"; ls; done", None),
        ("eval 'cd /'; ls", None),
    ];
    for (text, expected) in rows {
        let found = folders(text);
        assert_eq!(found, expected.map(|all| all.iter().map(|it| (*it).to_owned()).collect()), "{text:?}");
    }
}

#[test]
fn streams_are_known() {
    let line = clean("echo x | base64 -d | sh");
    assert_eq!(line.commands[1].stdin, Stdin::Pipe(0));
    assert_eq!(line.commands[2].stdin, Stdin::Pipe(1));
    let line = clean("sh <<'EOF'\nrm -rf x\nEOF\n");
    assert!(matches!(&line.commands[0].stdin, Stdin::Text(text) if text.literal() == Some("rm -rf x\n")));
    let line = clean("bash <<< 'rm x'");
    assert!(matches!(&line.commands[0].stdin, Stdin::Text(text) if text.literal() == Some("rm x")));
    let line = clean("sh <<-E\n\t\trm x\n\tE\n");
    assert!(matches!(&line.commands[0].stdin, Stdin::Text(text) if text.literal() == Some("rm x\n")));
    let line = clean("cat <<'A' <<B\n$(x)\nA\n$(y)\nB\n");
    assert_eq!(shown(&line), ["cat", "y"]);
    assert_eq!(clean("(a; b) | sh").commands[2].stdin, Stdin::Unknown);
    let line = clean("echo 'rm x' > >(sh)");
    assert_eq!(line.commands[1].stdin, Stdin::Pipe(0));
    let line = clean("sh <<< 'rm x' < file");
    assert_eq!(line.commands[0].stdin, Stdin::Inherited);
    assert_eq!(line.commands[0].redirections.len(), 1);
}

#[test]
fn commit_message_from_a_here_document_is_text() {
    let text = "git add -A && git commit -m \"$(cat <<'EOF'\nFix: it's (really) \"done\" `now` $HOME\n\nBody.\nEOF\n)\" && git push";
    let line = clean(text);
    assert_eq!(
        shown(&line),
        ["git|add|-A", "git|commit|-m|Fix: it's (really) \"done\" `now` $HOME\n\nBody.", "cat", "git|push"]
    );
    assert!(confirm(text, &line));
}

#[test]
fn words_for_exec_are_taken_as_they_are() {
    let command = argv(&["rm".to_owned(), "*; $(x) ~".to_owned(), String::new()]);
    let words: Vec<_> = command.words.iter().map(|word| word.literal().unwrap()).collect();
    assert_eq!(words, ["rm", "*; $(x) ~", ""]);
}

#[test]
fn text_that_only_starts_like_a_sum_is_a_substitution() {
    for printed in ["$((aa 1; )\n)", "$((aa 1) )", "$((aa 1); (bb))", "$((aa 1)|(bb))"] {
        assert_eq!(super::arithmetic(printed), None);
        let line = read(&format!("v={printed}; dd ${{v}} x"));
        let last = shown(&line).pop().unwrap_or_default();
        assert!(!line.gaps.is_empty() || last.contains(" …"), "{printed}: {last}");
    }
    for (sum, inner) in [("$((1+2))", "1+2"), ("$(( (1) * (2) ))", " (1) * (2) "), ("$((v))", "v")] {
        assert_eq!(super::arithmetic(sum), Some(inner));
    }
}
