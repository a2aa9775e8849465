//! This build of git-ralph against another one, step by step and in turns.

use std::time::Duration;

use super::measure::{EARLIER, Line, RALPH, median, median_ratio, timed};
use super::repository::Repository;
use super::steps::{STEPS, Side, Step, lines, round};

const SIDES: [Side; 2] = [Side::Ralph, Side::Earlier];
/// Sizes of repositories, in files, with the number of rounds.
const SIZES: [(usize, usize); 2] = [(100, 40), (10_000, 12)];
/// Starts of the program.
const STARTS: usize = 200;

pub fn table() {
    println!(
        "\nthis build / {}; medians of the ratios of pairs",
        EARLIER.as_str()
    );
    println!("| step | files | ratio | ms |");
    println!("|---|---:|---:|---:|");
    let home = tempfile::tempdir().unwrap();
    starts(&Repository::make(home.path(), "startup", 100, 0));
    for (files, rounds) in SIZES {
        let home = tempfile::tempdir().unwrap();
        let repositories = ["this", "earlier"].map(|name| Repository::make(home.path(), name, files, 0));
        let mut taken: Vec<(Step, Duration, Duration)> = Vec::new();
        for number in 0..rounds {
            round(&repositories, SIDES, |step| {
                let time =
                    |at: usize| timed(&repositories[at].dir, &lines(&repositories[at], SIDES[at], step));
                let times = in_turns(number, time);
                taken.push((step, times[0], times[1]));
            });
        }
        for (step, name) in STEPS {
            let of_step = taken.iter().filter(|(taken, ..)| *taken == step);
            let pairs: Vec<(Duration, Duration)> =
                of_step.map(|(_, ours, theirs)| (*ours, *theirs)).collect();
            row(name, files, &pairs);
        }
    }
}

/// Compares what does hardly anything: the program is loaded, and finds the repository.
fn starts(repository: &Repository) {
    for args in [&["--version"][..], &["status", "--short"]] {
        let line = |at: usize| {
            let program = [RALPH.as_str(), EARLIER.as_str()][at];
            Line::new(&[&[program], args].concat())
        };
        let pairs: Vec<(Duration, Duration)> = (0..STARTS)
            .map(|number| {
                let [ours, theirs] = in_turns(number, |at| timed(&repository.dir, &[line(at)]));
                (ours, theirs)
            })
            .collect();
        row(&args.join(" "), 100, &pairs);
    }
}

/// Measures both, in the other order in each second round.
fn in_turns(number: usize, mut time: impl FnMut(usize) -> Duration) -> [Duration; 2] {
    let mut times = [Duration::ZERO; 2];
    for turn in 0..2 {
        let at = (turn + number) % 2;
        times[at] = time(at);
    }
    times
}

fn row(name: &str, files: usize, pairs: &[(Duration, Duration)]) {
    let (ours, theirs): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
    println!(
        "| {name} | {files} | {:.3} | {:.2} / {:.2} |",
        median_ratio(pairs),
        median(ours).as_secs_f64() * 1e3,
        median(theirs).as_secs_f64() * 1e3,
    );
}
