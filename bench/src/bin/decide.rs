//! Compares `judge()` with Cedar and regorus on the same rules.
//!
//! The clock includes neither reading JSON nor building the requests of the other engines.

use std::hint::black_box;

use askfirst::{ApprovalContext, Assessment, Verdict, judge};
use askfirst_bench::engines::{Cedar, How, Regorus};
use askfirst_bench::rules::{self, Shape};
use askfirst_bench::{Contestant, Failure, print_race};

fn main() -> Result<(), Failure> {
    let alone = std::env::args().any(|arg| arg == "--alone");
    let against = if alone { Against::Nobody } else { Against::Peers };
    for shape in Shape::ALL {
        println!("{}", shape.as_str());
        for count in [10, 100, 1_000, 10_000] {
            row(shape, count, against)?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Against {
    Peers,
    Nobody,
}

fn row(shape: Shape, count: usize, against: Against) -> Result<(), Failure> {
    let (calls, wanted): (Vec<ApprovalContext>, Vec<Verdict>) =
        rules::calls(shape, count).into_iter().unzip();
    let policy = rules::ours(shape, count)?;
    let silent = Assessment::silent();
    let ours = |at: usize| calls.get(at).map(|call| judge(call, &silent, &policy));
    agree("askfirst", &wanted, |at| ours(at).map_or(Verdict::Deny, |judgement| judgement.verdict()))?;
    let asked: Vec<usize> = (0..calls.len()).filter(|at| wanted.get(*at) == Some(&Verdict::Ask)).collect();
    let mut peers = match against {
        Against::Nobody => Vec::new(),
        Against::Peers => peers(shape, count, &calls)?,
    };
    for (name, decide) in &mut peers {
        agree(name, &wanted, decide)?;
    }
    let turn = |at: usize| at % calls.len();
    let mut contestants = vec![
        Contestant::new("judge", |at| {
            black_box(ours(turn(at)).map(|judgement| judgement.verdict()));
        }),
        Contestant::new("asking, with request()", |at| {
            let at = asked.get(at % asked.len()).copied().unwrap_or_default();
            black_box(ours(at).map(|judgement| judgement.request()));
        }),
    ];
    contestants.extend(peers.iter_mut().map(|(name, decide)| {
        Contestant::new(name, move |at| {
            black_box(decide(turn(at)));
        })
    }));
    print_race(&format!("  {count} rules"), &mut contestants);
    Ok(())
}

type Peer = (&'static str, Box<dyn FnMut(usize) -> Verdict>);

fn peers(shape: Shape, count: usize, calls: &[ApprovalContext]) -> Result<Vec<Peer>, Failure> {
    let cedar = Cedar::new(&rules::cedar(shape, count), calls)?;
    let mut peers: Vec<Peer> = vec![("Cedar", Box::new(move |at| cedar.decide(at)))];
    let rego = rules::rego(shape, count);
    let mut interpreted = Regorus::new(&rego, None, calls, How::Interpreted)?;
    peers.push(("regorus", Box::new(move |at| interpreted.decide(at))));
    match Regorus::new(&rego, None, calls, How::Compiled) {
        Ok(mut compiled) => {
            peers.push(("regorus, compiled", Box::new(move |at| compiled.decide(at))));
        }
        Err(e) => println!("  {count} rules: regorus does not compile them: {e}"),
    }
    if let Some((text, data)) = rules::rego_table(shape, count) {
        let mut table = Regorus::new(&text, Some(&data), calls, How::Compiled)?;
        peers.push(("regorus, table in data", Box::new(move |at| table.decide(at))));
    }
    Ok(peers)
}

/// Checks that all engines return the same verdicts; otherwise their times could not be compared.
fn agree(name: &str, wanted: &[Verdict], mut decide: impl FnMut(usize) -> Verdict) -> Result<(), Failure> {
    match wanted.iter().enumerate().find(|(at, wanted)| decide(*at) != **wanted) {
        Some((at, wanted)) => {
            Err(format!("{name} says otherwise than {} on call {at}", wanted.as_str()).into())
        }
        None => Ok(()),
    }
}
