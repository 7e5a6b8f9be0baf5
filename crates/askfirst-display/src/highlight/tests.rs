//! Tests of syntax highlighting.

use super::*;

fn toned(language: &str, text: &str, at: usize) -> Vec<(String, Tone)> {
    let indexed = IndexedText::new(text.to_owned());
    let highlight = Highlight::new(language).unwrap();
    highlight.until(Instant::now() + Duration::from_secs(60));
    let raw = indexed.slot(at).unwrap().raw.to_owned();
    let tones = highlight.tones(&indexed, at);
    tones
        .into_iter()
        .map(|(range, tone)| (raw.get(range.start..range.end.min(raw.len())).unwrap().to_owned(), tone))
        .collect()
}

#[test]
fn rust_words_get_their_syntax_class() {
    let found = toned("rust", "// a\nfn main() { let x = \"y\"; }\n", 1);
    let of = |word: &str| found.iter().find(|(text, _)| text.contains(word)).map(|(_, tone)| *tone);
    assert_eq!(of("fn"), Some(Tone::Code(Token::Keyword)));
    assert_eq!(of("main"), Some(Tone::Code(Token::Function)));
    assert_eq!(of("\"y\""), Some(Tone::Code(Token::Quoted)));
}

#[test]
fn line_inside_a_comment_block_is_a_comment() {
    let text = format!("/*\n{}\nfn a() {{}}\n*/\n", "x\n".repeat(200));
    let found = toned("rust", &text, 202);
    assert_eq!(found.first().map(|(_, tone)| *tone), Some(Tone::Code(Token::Comment)));
}

#[test]
fn line_past_the_time_budget_stays_plain() {
    let indexed = IndexedText::new("fn a() {}\n".repeat(1_000));
    let highlight = Highlight::new("rust").unwrap();
    let past = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
    highlight.until(past);
    assert!(highlight.tones(&indexed, 900).is_empty());
    highlight.until(Instant::now() + Duration::from_secs(60));
    assert!(!highlight.tones(&indexed, 900).is_empty());
}

#[test]
fn unknown_language_has_no_highlighting() {
    assert!(Highlight::new("\u{1b}[8m").is_none());
}
