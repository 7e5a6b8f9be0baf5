use super::read;
#[test]
fn show() {
    let Ok(path) = std::env::var("LINES_FILE") else { return };
    for t in std::fs::read_to_string(path).unwrap().split("\n%%\n") {
        let l = read(t);
        println!("\x1b[1m{t}\x1b[0m   {:?} confirm={}", l.shape, super::confirm(t, &l));
        for c in &l.commands {
            println!(
                "   {:?} {:?} A{:?} R{:?} F{:?} {:?} {:?}",
                c.span,
                c.words.iter().map(|w| &w.pieces).collect::<Vec<_>>(),
                c.assignments.iter().map(|a| (&a.name, &a.value.pieces)).collect::<Vec<_>>(),
                c.redirections.iter().map(|a| (&a.way, &a.target.pieces)).collect::<Vec<_>>(),
                c.folders.as_ref().map(|f| f
                    .iter()
                    .map(|f| f.0.iter().map(|w| &w.pieces).collect::<Vec<_>>())
                    .collect::<Vec<_>>()),
                c.stdin,
                c.reached
            );
        }
        for g in &l.gaps {
            println!("   GAP {:?} {}", g.span, g.why);
        }
    }
}
