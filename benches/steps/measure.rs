//! Running commands against the clock, and counting what they do.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The program under test: the one just built, or another one that `RALPH` names.
pub static RALPH: LazyLock<String> =
    LazyLock::new(|| env::var("RALPH").unwrap_or_else(|_| env!("CARGO_BIN_EXE_git-ralph").to_owned()));

/// Another build of git-ralph: the one that `EARLIER` names, else the one that is installed.
pub static EARLIER: LazyLock<String> =
    LazyLock::new(|| env::var("EARLIER").unwrap_or_else(|_| "git-ralph".to_owned()));

/// A command line, and the exit code it has to have.
pub struct Line {
    pub argv: Vec<String>,
    pub code: i32,
}

impl Line {
    pub fn new(argv: &[&str]) -> Self {
        Self {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            code: 0,
        }
    }

    pub fn exits(mut self, code: i32) -> Self {
        self.code = code;
        self
    }
}

/// What a step did, counted.
pub struct Counts {
    /// Git processes, children of git included.
    pub processes: usize,
    /// Looks at a file (`lstat` and its kin), and syncs; `None` without strace.
    pub calls: Option<(usize, usize)>,
}

/// A command in a repository, with an environment of its own.
#[expect(
    clippy::disallowed_methods,
    reason = "both sides must be started in the same way"
)]
pub fn command(program: &str, dir: &Path) -> Command {
    let home = dir.parent().unwrap();
    let mut command = Command::new(program);
    command
        .current_dir(dir)
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap())
        .env("HOME", home)
        .env("GIT_CONFIG_GLOBAL", home.join("gitconfig"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Runs the lines one after the other and gives the time of all of them.
pub fn timed(dir: &Path, lines: &[Line]) -> Duration {
    let begun = Instant::now();
    for line in lines {
        finish(command(&line.argv[0], dir).args(&line.argv[1..]), line.code);
    }
    begun.elapsed()
}

fn finish(command: &mut Command, code: i32) {
    let output = command.output().unwrap();
    assert!(
        output.status.code() == Some(code),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs git-ralph, and returns the time in which it waited for at least one git process.
pub fn in_git(dir: &Path, line: &Line) -> Duration {
    let mut command = command(&line.argv[0], dir);
    let mut child = command.arg("-v").args(&line.argv[1..]).spawn().unwrap();
    let told = BufReader::new(child.stderr.take().unwrap()).lines();
    // `git add -A (3.1 ms)` is told when it ends.
    let mut spans: Vec<(Instant, Instant)> = told
        .map_while(Result::ok)
        .filter(|line| line.starts_with("git "))
        .filter_map(|line| {
            let (now, took) = (Instant::now(), line.strip_suffix(" ms)")?.rsplit_once('(')?.1);
            let took = Duration::from_secs_f64(took.parse::<f64>().ok()? / 1e3);
            Some((now.checked_sub(took)?, now))
        })
        .collect();
    let status = child.wait().unwrap();
    assert!(status.code() == Some(line.code), "{command:?}: {status}");
    spans.sort_unstable();
    let mut covered = Duration::ZERO;
    let mut until = None;
    for (from, to) in spans {
        covered += to.saturating_duration_since(until.map_or(from, |until| from.max(until)));
        until = until.max(Some(to));
    }
    covered
}

/// Runs the lines once more, counting.
pub fn counted(dir: &Path, lines: &[Line]) -> Counts {
    let home = dir.parent().unwrap();
    let (events, calls) = (home.join("trace2"), home.join("calls"));
    fs::create_dir_all(&events).unwrap();
    let has_strace = ["/usr/bin/strace", "/bin/strace"]
        .iter()
        .any(|path| Path::new(path).exists());
    let (mut looks, mut syncs) = (0, 0);
    for line in lines {
        let mut traced = if has_strace {
            let mut strace = command("strace", dir);
            strace
                .args([
                    "-f",
                    "-qq",
                    "-e",
                    "trace=lstat,newfstatat,statx,fsync,fdatasync",
                    "-o",
                ])
                .arg(&calls)
                .args(&line.argv);
            strace
        } else {
            let mut plain = command(&line.argv[0], dir);
            plain.args(&line.argv[1..]);
            plain
        };
        finish(traced.env("GIT_TRACE2_EVENT", &events), line.code);
        let listed = fs::read(&calls).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let is_look = |call: &&str| call.contains("AT_SYMLINK_NOFOLLOW") || call.contains(" lstat(");
        let is_sync = |call: &&str| call.contains("sync(");
        looks += listed.lines().filter(is_look).count();
        syncs += listed.lines().filter(is_sync).count();
    }
    let processes = fs::read_dir(&events).unwrap().count();
    fs::remove_dir_all(&events).unwrap();
    Counts {
        processes,
        calls: has_strace.then_some((looks, syncs)),
    }
}

pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Returns the median of the ratios of pairs.
pub fn median_ratio(pairs: &[(Duration, Duration)]) -> f64 {
    let mut ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ratio(*ours, *theirs)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN)
}

pub fn ratio(ours: Duration, theirs: Duration) -> f64 {
    ours.as_secs_f64() / theirs.as_secs_f64()
}
