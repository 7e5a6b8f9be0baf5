//! Draws the pictures in `docs/screens` and checks that they are up to date.
//!
//! To update them, run `UPDATE_SCREENS=1 cargo test -p askfirst-terminal --test it pictures`.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use askfirst_terminal::headless::HeadlessPrompt;
use askfirst_terminal::{Options, Style};

use crate::fixtures::{self, NOW};

const COLUMNS: u16 = 80;
const ROWS: u16 = 34;
const WIDE: f32 = 8.4;
const HIGH: f32 = 18.0;

fn color(cell: &vt100::Cell) -> &'static str {
    match cell.fgcolor() {
        _ if cell.dim() => "#6b7394",
        vt100::Color::Idx(1) => "#f7768e",
        vt100::Color::Idx(2) => "#9ece6a",
        vt100::Color::Idx(3) => "#e0af68",
        vt100::Color::Idx(4) => "#7aa2f7",
        vt100::Color::Idx(5) => "#bb9af7",
        vt100::Color::Idx(6) => "#7dcfff",
        vt100::Color::Idx(_) | vt100::Color::Default | vt100::Color::Rgb(..) => "#c0caf5",
    }
}

fn picture(parser: &vt100::Parser) -> String {
    let screen = parser.screen();
    let rows: Vec<String> = screen.rows(0, COLUMNS).collect();
    let used = rows.iter().rposition(|row| !row.trim().is_empty()).map_or(0, |at| at + 1);
    let (width, height) = (f32::from(COLUMNS) * WIDE + 24.0, used as f32 * HIGH + 24.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1a1b26\"/>\n"
    );
    for row in 0..u16::try_from(used).unwrap() {
        let y = f32::from(row) * HIGH + 26.0;
        let mut column = 0;
        while column < COLUMNS {
            let start = column;
            let first = screen.cell(row, start).unwrap();
            let look = |cell: &vt100::Cell| (cell.fgcolor(), cell.bold(), cell.underline(), cell.dim());
            let mut text = String::new();
            while column < COLUMNS {
                let cell = screen.cell(row, column).unwrap();
                if look(cell) != look(first) {
                    break;
                }
                if !cell.is_wide_continuation() {
                    text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                }
                column += 1;
            }
            if text.trim().is_empty() {
                continue;
            }
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let bold = if first.bold() { " font-weight=\"bold\"" } else { "" };
            let line = if first.underline() { " text-decoration=\"underline\"" } else { "" };
            let (x, length) = (f32::from(start) * WIDE + 12.0, f32::from(column - start) * WIDE);
            writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y}\" fill=\"{}\"{bold}{line} textLength=\"{length:.1}\" xml:space=\"preserve\">{text}</text>",
                color(first)
            )
            .unwrap();
        }
    }
    svg.push_str("</svg>\n");
    svg
}

#[test]
fn pictures_in_the_docs_are_up_to_date() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/screens");
    for (name, question) in fixtures::all() {
        let options = Options { style: Style::Colored, ..Options::default() };
        let mut prompt = HeadlessPrompt::new(question, &options, (COLUMNS, ROWS), NOW);
        prompt.wait(Duration::from_secs(2));
        let mut parser = vt100::Parser::new(ROWS.try_into().unwrap(), COLUMNS.try_into().unwrap(), 0);
        parser.process(String::from_utf8_lossy(prompt.drawn()).replace('\n', "\r\n").as_bytes());
        let (file, svg) = (folder.join(format!("{name}.svg")), picture(&parser));
        if std::env::var_os("UPDATE_SCREENS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &svg).unwrap();
        }
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            there == svg,
            "`{}` is out of date\nhint: run the test with UPDATE_SCREENS=1",
            file.display()
        );
    }
}
