//! Tests of spellings that a file system may treat as one name.

use super::*;

#[test]
fn equivalent_names_fold_to_one_text() {
    for text in [
        ".ENV",
        ".\u{ff45}nv",
        ".\u{ff25}NV",
        "\u{ff0e}env",
        ".e\u{200c}nv",
        ".en\u{fe0f}v",
        "\u{feff}.env",
        ".\u{24d4}nv",
        ".e\u{ad}nv",
    ] {
        assert_eq!(fold_text(text), ".env", "{}", text.escape_unicode());
    }
    assert_eq!(fold_text("caf\u{e9}"), fold_text("CAFE\u{301}"));
    assert_eq!(fold_text("Stra\u{df}e"), fold_text("STRASSE"));
    assert_eq!(fold_text(".\u{17f}\u{17f}h"), ".ssh");
    assert_eq!(fold_text("\u{212a}ey"), "key");
    assert_eq!(fold_text("ma\u{fb01}a"), "mafia");
    assert_eq!(fold_text("\u{3a3}\u{3c2}"), fold_text("\u{3c3}\u{3c3}"));
}

#[test]
fn folding_twice_equals_folding_once() {
    for c in (0..=0x10ffff_u32).filter_map(char::from_u32) {
        let once = fold_text(&format!("a{c}b"));
        assert_eq!(fold_text(&once), once, "{}", c.escape_unicode());
    }
}

#[test]
fn different_names_fold_to_different_texts() {
    for (a, b) in [("env", "\u{435}nv"), ("a", "b"), ("\u{e9}", "e"), ("1", "2")] {
        assert_ne!(fold_text(a), fold_text(b));
    }
}

#[test]
fn trailing_dot_or_space_gives_two_folded_paths() {
    assert_eq!(fold_path(Path::new("A/.Env")), FoldedPath::Single("a/.env".into()));
    assert_eq!(
        fold_path(Path::new(".Env./x ")),
        FoldedPath::Both(".env./x ".to_owned(), ".env/x".to_owned())
    );
}
