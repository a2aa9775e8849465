//! What the steps of a loop cost against the plain git commands that they stand for: `cargo bench --bench
//! steps -- [what …]`. Not a test: it prints ratios of medians, measured in turns on this machine.
//!
//! What can be asked for: a number of files (`100`), with ignored ones (`10000+100000`), `agent` (the agent's own git),
//! `run` (a story of the driver), `box` (an attempt in a box), `startup` and `stream`. Without anything: all of these but the
//! ignored files. `builds` compares this build with another one of git-ralph, whose path is in `EARLIER`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark makes its files, prints, and stops if it cannot go on"
)]

mod agent;
mod boxed;
mod builds;
mod driver;
mod measure;
mod repository;
mod small;
mod steps;

use std::env;

const DEFAULT: [&str; 7] = ["100", "10000", "run", "agent", "box", "startup", "stream"];

fn main() {
    // Cargo itself adds `--bench`.
    let mut wanted: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if wanted.is_empty() {
        wanted = DEFAULT.map(str::to_owned).into();
    }
    for word in wanted {
        let (files, ignored) = word.split_once('+').unwrap_or((&word, "0"));
        match (word.as_str(), files.parse(), ignored.parse()) {
            ("startup", ..) => small::startup(),
            ("stream", ..) => small::stream(),
            ("agent", ..) => agent::table(),
            ("box", ..) => boxed::table(),
            ("builds", ..) => builds::table(),
            ("run", ..) => driver::table(),
            (_, Ok(files), Ok(ignored)) if files >= 100 => steps::table(files, ignored),
            _ => println!(
                "not known here: {word} (a number of files from 100 on, run, agent, box, builds, startup, stream)"
            ),
        }
    }
}
