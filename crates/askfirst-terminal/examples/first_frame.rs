//! Measures the time for the first frame and for the whole page of large content.

use std::time::Instant;

use askfirst::machine::{Member, Question, QuestionId};
use askfirst::{ApprovalPresentation, ApprovalRequest, PresentationKind, Timestamp};
use askfirst_display::redact::Redactor;
use askfirst_display::{Page, PageOptions};

fn main() {
    let before: String =
        (0..125_000).map(|n| format!("line {n} of a file that is rather long, {}\n", n % 7)).collect();
    let after: String = before
        .lines()
        .enumerate()
        .map(|(n, line)| if n % 9 == 0 { format!("{line} changed\n") } else { format!("{line}\n") })
        .collect();
    let code: String =
        (0..20_000).map(|n| format!("fn f{n}() -> usize {{ let x = \"{n}\"; x.len() }}\n")).collect();
    let mut diff = ApprovalPresentation::new(PresentationKind::Diff, "file");
    diff.metadata.insert("before".to_owned(), before.into());
    diff.metadata.insert("after".to_owned(), after.into());
    let file = ApprovalPresentation::new(PresentationKind::FileContent, code).with_language("rust");
    for (name, shown) in [("diff of before and after", diff), ("file", file)] {
        let bytes = shown.content.len()
            + shown.metadata.values().filter_map(|v| v.as_str()).map(str::len).sum::<usize>();
        let request = ApprovalRequest {
            presentation: Some(shown),
            ..ApprovalRequest::new("t", "d", serde_json::json!({}))
        };
        let members = vec![Member::new(request)];
        let question = Question { id: QuestionId(1), members, position: 1, of: 1 };
        let redactor = Redactor::default();
        let options =
            PageOptions { preview_lines: 50, redactor: &redactor, now: Timestamp(0), withheld: &[] };
        let start = Instant::now();
        let head = Page::head(&question, &options);
        let rows = (0..head.len(80)).map(|at| head.rows(at, 80).len()).sum::<usize>();
        let first = start.elapsed();
        let start = Instant::now();
        let page = Page::of(&question, &options);
        let whole = start.elapsed();
        let start = Instant::now();
        (0..50).for_each(|at| drop(page.rows(at, 80)));
        let top = start.elapsed();
        let start = Instant::now();
        let len = page.len(80);
        (len.saturating_sub(50)..len).for_each(|at| drop(page.rows(at, 80)));
        println!(
            "{name}: {bytes} bytes, head {first:?} ({rows} rows), whole {whole:?}, top 50 rows {top:?}, last 50 {:?}",
            start.elapsed()
        );
    }
}
