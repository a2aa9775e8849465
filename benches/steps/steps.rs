//! The table of the steps, for one size of repository.

use std::time::{Duration, Instant};

use super::measure::{Counts, Line, RALPH, counted, median, ratio, timed};
use super::repository::Repository;

/// No new round begins after this.
const ENOUGH: Duration = Duration::from_secs(150);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Start,
    Checkpoint,
    Revert,
    Finish,
    FinishMoved,
}

const STEPS: [(Step, &str); 5] = [
    (Step::Start, "start"),
    (Step::Checkpoint, "checkpoint"),
    (Step::Revert, "revert, attempt kept"),
    (Step::Finish, "finish --cleanup"),
    (Step::FinishMoved, "finish --cleanup, moved"),
];

/// Who does the steps: the plain commands, or git-ralph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Plain,
    Ralph,
}

struct Taken {
    step: Step,
    plain: Duration,
    ralph: Duration,
}

pub fn table(files: usize, ignored: usize) {
    let home = tempfile::tempdir().unwrap();
    let plain = Repository::make(home.path(), "plain", files, ignored);
    let ralph = Repository::make(home.path(), "ralph", files, ignored);
    let rounds = match files {
        ..1_000 => 15,
        1_000..50_000 => 7,
        _ => 3,
    };
    let begun = Instant::now();
    let mut taken = Vec::new();
    let mut done = 0;
    while done < rounds && begun.elapsed() < ENOUGH {
        round(&plain, &ralph, |step| {
            let first = done % 2 == 0;
            let mut times = [Duration::ZERO; 2];
            for turn in [first, !first] {
                let (repository, side) = if turn {
                    (&plain, Side::Plain)
                } else {
                    (&ralph, Side::Ralph)
                };
                times[usize::from(turn)] = timed(&repository.dir, &lines(repository, side, step));
            }
            taken.push(Taken {
                step,
                plain: times[1],
                ralph: times[0],
            });
        });
        done += 1;
    }
    let mut counts: Vec<(Step, Counts, Counts)> = Vec::new();
    round(&plain, &ralph, |step| {
        let of_plain = counted(&plain.dir, &lines(&plain, Side::Plain, step));
        let of_ralph = counted(&ralph.dir, &lines(&ralph, Side::Ralph, step));
        counts.push((step, of_plain, of_ralph));
    });
    print(files, ignored, done, &taken, &counts);
}

/// One loop in both repositories, then a short one whose original branch moves on.
fn round(plain: &Repository, ralph: &Repository, mut step: impl FnMut(Step)) {
    let both = |what: &dyn Fn(&Repository)| [plain, ralph].into_iter().for_each(what);
    both(&|repository| {
        repository.reset();
        repository.work(0);
    });
    step(Step::Start);
    for (story, kind) in [
        (1, Step::Checkpoint),
        (2, Step::Checkpoint),
        (3, Step::Revert),
        (4, Step::Revert),
    ] {
        both(&|repository| repository.work(story));
        step(kind);
    }
    step(Step::Finish);
    both(&|repository| {
        repository.reset();
        let side = if std::ptr::eq(repository, plain) {
            Side::Plain
        } else {
            Side::Ralph
        };
        timed(&repository.dir, &lines(repository, side, Step::Start));
        repository.work(5);
        timed(&repository.dir, &lines(repository, side, Step::Checkpoint));
        repository.move_main();
    });
    step(Step::FinishMoved);
}

fn lines(repository: &Repository, side: Side, step: Step) -> Vec<Line> {
    let checkpoint = repository.oid("HEAD");
    let plain: &[&[&str]] = match step {
        Step::Start => &[
            &["git", "checkout", "-B", "ralph/bench"],
            &["git", "add", "-A"],
            &["git", "commit", "--allow-empty", "-m", "initial state"],
        ],
        Step::Checkpoint => &[&["git", "add", "-A"], &["git", "commit", "-m", "checkpoint: 1"]],
        Step::Revert => &[&["git", "reset", "--hard", &checkpoint], &["git", "clean", "-fd"]],
        Step::Finish | Step::FinishMoved => &[
            &["git", "checkout", "main"],
            &["git", "merge", "--squash", "ralph/bench"],
            &["git", "reset", "HEAD"],
            &["git", "branch", "-D", "ralph/bench"],
        ],
    };
    if side == Side::Plain {
        return plain.iter().map(|argv| Line::new(argv)).collect();
    }
    let ralph = match step {
        Step::Start => Line::new(&[RALPH.as_str(), "start", "bench", "--stories", "tasks.md"]),
        Step::Checkpoint => Line::new(&[RALPH.as_str(), "complete"]),
        Step::Revert => Line::new(&[RALPH.as_str(), "fail", "it does not work"]).exits(3),
        Step::Finish | Step::FinishMoved => Line::new(&[RALPH.as_str(), "finish", "--cleanup"]),
    };
    vec![ralph]
}

fn print(files: usize, ignored: usize, rounds: usize, taken: &[Taken], counts: &[(Step, Counts, Counts)]) {
    println!("\n{files} files, {ignored} ignored; medians of {rounds} rounds; git-ralph / plain commands");
    println!("| step | ratio | ms | git processes | looks at a file |");
    println!("|---|---:|---:|---:|---:|");
    for (step, name) in STEPS {
        let all = |of: fn(&Taken) -> Duration| {
            median(taken.iter().filter(|taken| taken.step == step).map(of).collect())
        };
        let (ours, theirs) = (all(|taken| taken.ralph), all(|taken| taken.plain));
        let Some((_, plain, ralph)) = counts.iter().find(|(counted, ..)| *counted == step) else {
            continue;
        };
        let looks = match (ralph.looks, plain.looks) {
            (Some(ours), Some(theirs)) => format!("{ours} / {theirs}"),
            _ => "?".to_owned(),
        };
        println!(
            "| {name} | {:.2} | {:.1} / {:.1} | {} / {} | {looks} |",
            ratio(ours, theirs),
            ours.as_secs_f64() * 1e3,
            theirs.as_secs_f64() * 1e3,
            ralph.processes,
            plain.processes,
        );
    }
}
