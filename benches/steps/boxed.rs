//! What a box costs: an attempt with and without it, in pairs.

use std::fs;
use std::time::Duration;

use super::measure::{Line, RALPH, median, median_ratio, timed};
use super::repository::Repository;

const PAIRS: usize = 30;

/// The agent: edits a file and promises that the story is complete.
const AGENT: &str = "echo more >>d0/e0/file-1.txt; echo '<promise>COMPLETE</promise>'\n";

pub fn table() {
    println!("\n| an attempt in a box, against one without | ratio | ms |");
    println!("|---|---:|---:|");
    row("agent", &[]);
    row("agent and gate", &["--verify", "true"]);
}

fn row(name: &str, options: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    let repository = Repository::make(home.path(), "repository", 100, 0);
    let agent = repository.dir.join(".git/agent.sh");
    fs::write(&agent, AGENT).unwrap();
    let start = Line::new(&[RALPH.as_str(), "start", "bench", "--stories", "tasks.md"]);
    let next = |mode: &str| {
        let before = [RALPH.as_str(), "next", mode];
        let after = ["--", "sh", agent.to_str().unwrap()];
        vec![Line::new(&[&before[..], options, &after].concat())]
    };
    let sides = [next("--box=require"), next("--box=off")];
    let mut pairs = Vec::new();
    for pair in 0..PAIRS {
        // The list has stories for ten pairs.
        if pair % 10 == 0 {
            repository.reset();
            timed(&repository.dir, std::slice::from_ref(&start));
        }
        let mut times = [Duration::ZERO; 2];
        for turn in 0..sides.len() {
            let side = (turn + pair) % sides.len();
            times[side] = timed(&repository.dir, &sides[side]);
        }
        pairs.push((times[0], times[1]));
    }
    // What else works on the machine meets both of a pair.
    let (with, without): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
    println!(
        "| {name} | {:.2} | {:.1} / {:.1} |",
        median_ratio(&pairs),
        median(with).as_secs_f64() * 1e3,
        median(without).as_secs_f64() * 1e3,
    );
}
