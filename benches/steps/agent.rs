//! What the guard costs the agent's own git: commands in an attempt, against the same with an empty
//! `reference-transaction` hook, which is the limit.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::measure::{Line, RALPH, command, median, ratio, timed};
use super::repository::Repository;

const PAIRS: usize = 40;

/// Commits of a rebase.
const COMMITS: usize = 10;

pub fn table() {
    let home = tempfile::tempdir().unwrap();
    let repository = Repository::make(home.path(), "repository", 100, 0);
    let start = Line::new(&[RALPH.as_str(), "start", "bench", "--stories", "tasks.md"]);
    timed(&repository.dir, &[start]);
    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let hook = empty.join("reference-transaction");
    fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    // The agent writes down its environment, and waits until everything is measured.
    let (variables, done) = (home.path().join("variables"), home.path().join("done"));
    let agent = format!(
        "env -0 >'{0}.new' && mv '{0}.new' '{0}'; while [ ! -e '{1}' ]; do sleep 0.05; done",
        variables.display(),
        done.display()
    );
    let mut attempt = command(&RALPH, &repository.dir)
        .args(["next", "--", "sh", "-c", &agent])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !variables.exists() {
        thread::sleep(Duration::from_millis(5));
    }
    let guarded = settings(&fs::read_to_string(&variables).unwrap());
    let limit = vec![
        ("GIT_CONFIG_COUNT".to_owned(), "1".to_owned()),
        ("GIT_CONFIG_KEY_0".to_owned(), "core.hooksPath".to_owned()),
        ("GIT_CONFIG_VALUE_0".to_owned(), empty.display().to_string()),
    ];
    println!("\n| the agent's git, in an attempt | ratio | ms |");
    println!("|---|---:|---:|");
    let commit: &[&[&str]] = &[&["git", "commit", "-q", "--allow-empty", "-m", "more"]];
    row("git commit", &repository, [&guarded, &limit], PAIRS, &[], commit);
    for number in 0..COMMITS {
        fs::write(repository.dir.join(format!("piece-{number}")), "piece\n").unwrap();
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-q", "-m", "piece"]);
    }
    repository.git(&["branch", "pieces"]);
    repository.git(&["checkout", "-q", "-b", "other", &format!("HEAD~{COMMITS}")]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "other"]);
    let before: &[&[&str]] = &[&["git", "checkout", "-q", "-B", "mine", "pieces"]];
    let rebase: &[&[&str]] = &[&["git", "rebase", "-q", "other"]];
    let name = format!("git rebase of {COMMITS} commits");
    row(&name, &repository, [&guarded, &limit], PAIRS / 5, before, rebase);
    repository.git(&["checkout", "-q", "ralph/bench"]);
    fs::write(done, "").unwrap();
    attempt.wait().unwrap();
}

type Variables = Vec<(String, String)>;

/// Returns the settings of git in an environment.
fn settings(text: &str) -> Variables {
    text.split('\0')
        .filter_map(|variable| variable.split_once('='))
        .filter(|(name, _)| {
            name.starts_with("GIT_CONFIG_") && !name.ends_with("GLOBAL") && !name.ends_with("NOSYSTEM")
        })
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn row(
    name: &str,
    repository: &Repository,
    sides: [&Variables; 2],
    pairs: usize,
    before: &[&[&str]],
    measured: &[&[&str]],
) {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..pairs {
        for (variables, times) in sides.iter().zip(&mut times) {
            run(repository, &Vec::new(), before);
            let begun = Instant::now();
            run(repository, variables, measured);
            times.push(begun.elapsed());
        }
    }
    let [ours, limit] = times.map(median);
    println!(
        "| {name} | {:.2} | {:.1} / {:.1} |",
        ratio(ours, limit),
        ours.as_secs_f64() * 1e3,
        limit.as_secs_f64() * 1e3,
    );
}

fn run(repository: &Repository, variables: &Variables, lines: &[&[&str]]) {
    for line in lines {
        let mut git = command(line[0], &repository.dir);
        git.args(&line[1..]).envs(variables.iter().cloned());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{git:?}: {output:?}");
    }
}
