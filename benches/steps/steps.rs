//! The table of the steps, for one size of repository.

use std::time::{Duration, Instant};

use super::measure::{Counts, EARLIER, Line, RALPH, counted, in_git, median, ratio, timed};
use super::repository::Repository;

/// No new round begins after this.
const ENOUGH: Duration = Duration::from_secs(150);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Start,
    Checkpoint,
    Revert,
    Finish,
    FinishMoved,
}

pub const STEPS: [(Step, &str); 5] = [
    (Step::Start, "start"),
    (Step::Checkpoint, "checkpoint"),
    (Step::Revert, "revert, attempt kept"),
    (Step::Finish, "finish --cleanup"),
    (Step::FinishMoved, "finish --cleanup, moved"),
];

/// Who does the steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The plain commands, as people type them.
    Plain,
    /// Plain commands that do the same work as durably: the revert keeps the attempt, too.
    Same,
    /// git-ralph.
    Ralph,
    /// Another build of git-ralph.
    Earlier,
}

const SIDES: [Side; 3] = [Side::Plain, Side::Same, Side::Ralph];

struct Taken {
    step: Step,
    times: [Duration; 3],
}

pub fn table(files: usize, ignored: usize) {
    let home = tempfile::tempdir().unwrap();
    let repositories =
        ["plain", "same", "ralph"].map(|name| Repository::make(home.path(), name, files, ignored));
    repositories[Side::Same as usize].make_durable();
    let (rounds, watched) = match files {
        ..1_000 => (15, 5),
        1_000..50_000 => (7, 5),
        _ => (3, 1),
    };
    let begun = Instant::now();
    let mut taken = Vec::new();
    let mut done = 0;
    while done < rounds && begun.elapsed() < ENOUGH {
        round(&repositories, SIDES, |step| {
            let mut times = [Duration::ZERO; 3];
            for turn in 0..SIDES.len() {
                let side = SIDES[(turn + done) % SIDES.len()];
                let repository = &repositories[side as usize];
                times[side as usize] = timed(&repository.dir, &lines(repository, side, step));
            }
            taken.push(Taken { step, times });
        });
        done += 1;
    }
    let mut counts: Vec<(Step, [Counts; 3])> = Vec::new();
    round(&repositories, SIDES, |step| {
        let of_side = |side: Side| {
            let repository = &repositories[side as usize];
            counted(&repository.dir, &lines(repository, side, step))
        };
        counts.push((step, SIDES.map(of_side)));
    });
    let mut waits = Vec::new();
    // Rounds in which the git processes of git-ralph are watched.
    for _ in 0..watched {
        round(&repositories, SIDES, |step| {
            for (repository, side) in repositories.iter().zip(SIDES) {
                let lines = lines(repository, side, step);
                if side == Side::Ralph {
                    waits.push((step, in_git(&repository.dir, &lines[0])));
                } else {
                    timed(&repository.dir, &lines);
                }
            }
        });
    }
    print(files, ignored, done, &taken, &waits, &counts);
}

/// One loop in all repositories, then a short one whose original branch moves on.
pub fn round<const N: usize>(repositories: &[Repository; N], sides: [Side; N], mut step: impl FnMut(Step)) {
    let all = |what: &dyn Fn(&Repository)| repositories.iter().for_each(what);
    all(&|repository| {
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
        all(&|repository| repository.work(story));
        step(kind);
    }
    step(Step::Finish);
    for (repository, side) in repositories.iter().zip(sides) {
        repository.reset();
        timed(&repository.dir, &lines(repository, side, Step::Start));
        repository.work(5);
        timed(&repository.dir, &lines(repository, side, Step::Checkpoint));
        repository.move_main();
    }
    step(Step::FinishMoved);
}

pub fn lines(repository: &Repository, side: Side, step: Step) -> Vec<Line> {
    let checkpoint = repository.oid("HEAD");
    let plain: &[&[&str]] = match step {
        Step::Start => &[
            &["git", "checkout", "-B", "ralph/bench"],
            &["git", "add", "-A"],
            &["git", "commit", "--allow-empty", "-m", "initial state"],
        ],
        Step::Checkpoint => &[&["git", "add", "-A"], &["git", "commit", "-m", "checkpoint: 1"]],
        Step::Revert if side == Side::Same => &[
            &["git", "add", "-A"],
            &["git", "commit", "-m", "attempt"],
            &["git", "update-ref", "refs/kept/attempt", "HEAD"],
            &["git", "reset", "--hard", &checkpoint],
            &["git", "clean", "-fd"],
        ],
        Step::Revert => &[&["git", "reset", "--hard", &checkpoint], &["git", "clean", "-fd"]],
        Step::Finish | Step::FinishMoved => &[
            &["git", "checkout", "main"],
            &["git", "merge", "--squash", "ralph/bench"],
            &["git", "reset", "HEAD"],
            &["git", "branch", "-D", "ralph/bench"],
        ],
    };
    let program = match side {
        Side::Plain | Side::Same => return plain.iter().map(|argv| Line::new(argv)).collect(),
        Side::Ralph => RALPH.as_str(),
        Side::Earlier => EARLIER.as_str(),
    };
    let ralph = match step {
        Step::Start => Line::new(&[program, "start", "bench", "--stories", "tasks.md"]),
        Step::Checkpoint => Line::new(&[program, "complete"]),
        Step::Revert => Line::new(&[program, "fail", "it does not work"]).exits(3),
        Step::Finish | Step::FinishMoved => Line::new(&[program, "finish", "--cleanup"]),
    };
    vec![ralph]
}

fn print(
    files: usize,
    ignored: usize,
    rounds: usize,
    taken: &[Taken],
    waits: &[(Step, Duration)],
    counts: &[(Step, [Counts; 3])],
) {
    println!("\n{files} files, {ignored} ignored; medians of {rounds} rounds; git-ralph / plain commands");
    println!(
        "| step | same work, as durably | its git alone | as people type them | ms | git processes | looks at a file | syncs |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for (step, name) in STEPS {
        let of = |side: Side| {
            let taken = taken.iter().filter(|taken| taken.step == step);
            median(taken.map(|taken| taken.times[side as usize]).collect())
        };
        let [plain, same, ours] = SIDES.map(of);
        let waits = waits.iter().filter(|(waited, _)| *waited == step);
        let wait = median(waits.map(|(_, wait)| *wait).collect());
        let Some((_, counts)) = counts.iter().find(|(counted, ..)| *counted == step) else {
            continue;
        };
        let [_, same_counts, our_counts] = counts;
        let (looks, syncs) = match (our_counts.calls, same_counts.calls) {
            (Some(ours), Some(theirs)) => (
                format!("{} / {}", ours.0, theirs.0),
                format!("{} / {}", ours.1, theirs.1),
            ),
            _ => ("?".to_owned(), "?".to_owned()),
        };
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.1} / {:.1} / {:.1} | {} / {} | {looks} | {syncs} |",
            ratio(ours, same),
            ratio(wait, same),
            ratio(ours, plain),
            ours.as_secs_f64() * 1e3,
            same.as_secs_f64() * 1e3,
            plain.as_secs_f64() * 1e3,
            our_counts.processes,
            same_counts.processes,
        );
    }
}
