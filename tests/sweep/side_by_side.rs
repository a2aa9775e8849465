//! Changes side by side (`git ralph run --jobs`), whose first process, or any other of the run, is killed or asked to stop
//! again and again: the same command takes each story to one checkpoint, and leaves nothing else.

use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::storm::Dice;
use crate::support::{Sandbox, wait_until};
use crate::{nothing_of, whole};

const CHANGES: [&str; 4] = ["one", "two", "three", "four"];
const STORIES: usize = 6;
const ACCIDENTS: usize = 10;

#[test]
fn killed_runs_side_by_side_do_each_story_once() {
    let seeds = if whole() { 1..=2 } else { 1..=1 };
    let found: Vec<String> = seeds.filter_map(|seed| storm(seed).err()).collect();
    nothing_of(&found);
}

fn storm(seed: u64) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let list: String = (1..=STORIES)
        .map(|story| format!("## {story}. Story\n- [ ] {story}.1 do it\n\n"))
        .collect();
    for change in CHANGES {
        sandbox.write(&format!("openspec/changes/{change}/tasks.md"), &list);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "lists"]);
    sandbox.write("edit", "of the user's\n");
    let agent = sandbox.completing("sleep 0.$((2 + $$ % 3)); echo \"$RALPH_STORY\" >>work");
    let run = [
        "run", "one", "two", "three", "four", "--jobs=3", "--keep", "--", &agent,
    ];
    endure(&sandbox, &run, seed)?;
    for change in CHANGES {
        let branch = format!("ralph/{change}");
        let subjects = sandbox.subjects(&branch);
        let mut wanted: Vec<String> = (1..=STORIES)
            .rev()
            .map(|story| format!("checkpoint: {story}"))
            .collect();
        wanted.extend(["initial state", "lists"].map(str::to_owned));
        if subjects[..wanted.len()] != wanted {
            return Err(format!("seed {seed}: {branch} has {subjects:?}"));
        }
        let work = sandbox.git(&["show", &format!("{branch}:work")]);
        let stories: Vec<String> = (1..=STORIES).map(|story| story.to_string()).collect();
        if work != stories.join("\n") {
            return Err(format!("seed {seed}: {branch} has the work {work:?}"));
        }
    }
    let state = (sandbox.git(&["branch", "--show-current"]), sandbox.read("edit"));
    assert_eq!(state, ("main".to_owned(), "of the user's\n".to_owned()));
    Ok(())
}

/// Makes a run again and again until it ends well; kills it, or any process of it, or asks it to stop, so many times.
pub fn endure(sandbox: &Sandbox, run: &[&str], seed: u64) -> Result<(), String> {
    let mut dice = Dice::of(seed);
    let (mut accidents, mut rounds) = (0, 0);
    loop {
        rounds += 1;
        let running = sandbox.direct(run).start();
        let first = running.pid.to_string();
        while accidents < ACCIDENTS {
            thread::sleep(Duration::from_millis(30 + dice.roll(250)));
            let alive = sandbox.alive();
            if !alive.contains(&first) {
                break;
            }
            // The first process, or any: one of a change, a runner, a git, an agent.
            let at = usize::try_from(dice.roll(alive.len() as u64)).unwrap();
            let (victim, signal) = match dice.roll(5) {
                0 => (&first, Signal::SIGKILL),
                1 => (&first, Signal::SIGTERM),
                _ => (&alive[at], Signal::SIGKILL),
            };
            let _ = kill(Pid::from_raw(victim.parse().unwrap()), signal);
            accidents += 1;
        }
        let output = running.end();
        wait_until("the others have stopped", || sandbox.alive().is_empty());
        match output.code {
            0 => break,
            _ if rounds > 3 * ACCIDENTS => {
                return Err(format!("seed {seed}: it comes to no end:\n{}", output.stderr));
            }
            _ if accidents < ACCIDENTS => {}
            // The last accident has hit this one.
            1 | 75 | 129.. => {}
            other => {
                return Err(format!(
                    "seed {seed}: the run ended with {other}:\n{}",
                    output.stderr
                ));
            }
        }
    }
    assert_eq!(accidents, ACCIDENTS, "the run ended too early");
    Ok(())
}
