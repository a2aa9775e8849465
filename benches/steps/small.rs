//! What does not depend on the size of a repository: starting up, looking, and the agent's output.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::measure::{Line, RALPH, command, counted, median, ratio, timed};
use super::repository::Repository;

const PAIRS: usize = 60;
const STREAMS: usize = 3;

pub fn startup() {
    let home = tempfile::tempdir().unwrap();
    let repository = Repository::make(home.path(), "repository", 100, 0);
    let start = Line::new(&[RALPH.as_str(), "start", "bench", "--stories", "tasks.md"]);
    timed(&repository.dir, &[start]);
    println!("\n| command | ratio | ms | git processes |");
    println!("|---|---:|---:|---:|");
    for (ours, theirs) in [
        (vec![RALPH.as_str(), "--version"], ["git", "--version"]),
        (vec![RALPH.as_str(), "status", "--short"], ["git", "--version"]),
    ] {
        let name = format!("git-ralph {} / {}", ours[1..].join(" "), theirs.join(" "));
        let (ours, theirs) = ([Line::new(&ours)], [Line::new(&theirs)]);
        let (mut mine, mut plain) = (Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            mine.push(timed(&repository.dir, &ours));
            plain.push(timed(&repository.dir, &theirs));
        }
        let processes = counted(&repository.dir, &ours).processes;
        let (mine, plain) = (median(mine), median(plain));
        println!(
            "| {name} | {:.2} | {:.2} / {:.2} | {processes} |",
            ratio(mine, plain),
            mine.as_secs_f64() * 1e3,
            plain.as_secs_f64() * 1e3,
        );
    }
}

pub fn stream() {
    let home = tempfile::tempdir().unwrap();
    let repository = Repository::make(home.path(), "repository", 100, 0);
    let start = Line::new(&[RALPH.as_str(), "start", "bench", "--stories", "tasks.md"]);
    timed(&repository.dir, &[start]);
    println!("\n| agent prints | speed against tee | GB/s | peak memory, MiB |");
    println!("|---|---:|---:|---:|");
    let line = "yes 'what an agent says while it works on a story' | head -c 1000000000";
    let long = "head -c 500000000 /dev/zero | tr '\\0' x";
    let random = "head -c 200000000 /dev/urandom";
    for (name, bytes, generator) in [
        ("1 GB in lines", 1e9, line),
        ("one line of 500 MB", 5e8, long),
        ("200 MB of random bytes", 2e8, random),
    ] {
        // After half a sentence a promise is doubtful, and a second round would print all of it again.
        let promise = format!("{generator}; printf '\\nDone.\\n<promise>COMPLETE</promise>\\n'");
        // Complete stories without a change would soon need a person.
        let agent = format!("echo x >>work; {promise}");
        let log = home.path().join("log");
        let tee = format!("{{ {promise}; }} | tee {} >/dev/null", log.display());
        let (mut mine, mut plain, mut peak) = (Vec::new(), Vec::new(), 0);
        for _ in 0..STREAMS {
            plain.push(timed(&repository.dir, &[Line::new(&["sh", "-c", &tee])]));
            fs::remove_file(&log).unwrap();
            let begun = Instant::now();
            let mut child = command(&RALPH, &repository.dir)
                .args(["next", "--", "sh", "-c", &agent])
                .stderr(std::process::Stdio::null())
                .spawn()
                .unwrap();
            peak = peak.max(watched(&mut child));
            mine.push(begun.elapsed());
            let attempts = repository.dir.join(".git/ralph/bench/attempts");
            for log in fs::read_dir(attempts).unwrap() {
                fs::write(log.unwrap().path(), "").unwrap();
            }
        }
        let (mine, plain) = (median(mine), median(plain));
        println!(
            "| {name} | {:.2} | {:.2} | {:.1} |",
            ratio(plain, mine),
            bytes / 1e9 / mine.as_secs_f64(),
            f64::from(peak) / 1024.0,
        );
    }
}

/// Waits for its end; gives the most memory that it had, in KiB, where the system tells.
fn watched(child: &mut Child) -> u32 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        if let Some(exit) = child.try_wait().unwrap() {
            assert!(exit.success(), "git-ralph next: {exit}");
            return peak;
        }
        peak = peak.max(high_water(Path::new(&status)));
        thread::sleep(Duration::from_millis(5));
    }
}

fn high_water(status: &Path) -> u32 {
    let text = fs::read_to_string(status).unwrap_or_default();
    text.lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .parse()
                .ok()
        })
        .unwrap_or(0)
}
