//! What the gates say before any work: each is run once when the loop begins, so that a person hears of one
//! that is red already, and so that it is not held against a story for which it is red in the same way.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Session;
use super::gate::Passed;
use super::others::Others;
use super::output_tail::OutputTail;
use super::run_agent::run_name;
use crate::error::Error;
use crate::fs::{file_error, write_private};
use crate::guard::GitSettings;
use crate::settings::Settings;
use crate::state::Running;

/// In the loop's directory: the gates that were red.
const FILE: &str = "baseline.json";
/// In the loop's directory: what the gates printed then.
const LOG: &str = "baseline.log";

/// The gates that were red before any work.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Baseline {
    red: Vec<Red>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Red {
    gate: String,
    why: String,
    lines: BTreeSet<String>,
}

impl Baseline {
    /// Whether a gate is red in the same way as before: ended alike, and printed the same lines, times
    /// aside. Of one that prints nothing that cannot be known.
    pub fn is_same(&self, gate: &str, why: &str, tail: &OutputTail) -> bool {
        let lines = lines_of(&tail.all());
        !lines.is_empty()
            && self
                .red
                .iter()
                .any(|red| red.gate == gate && red.why == why && red.lines == lines)
    }
}

impl Session<'_> {
    /// Runs each gate once, and keeps which are red. The work tree is as it was afterwards.
    pub(super) async fn record_baseline(&mut self, settings: &Settings) -> Result<(), Error> {
        if settings.verify.is_empty() {
            return Ok(());
        }
        let path = self.file(LOG);
        let log = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| file_error("write", &path, error))?;
        let run = run_name(Timestamp::now());
        // Should this process die, the next command ends what the gates have started.
        self.state.running = Some(Running::gates(&run));
        self.save()?;
        let watched = self.watch(Others::Gates).await?;
        let guard = self.set_up_guard(settings).await;
        let found = self.run_first_gates(settings, &log, &run, &guard).await;
        self.take_guard_away(None, Others::Gates.name());
        self.end_watch(watched).await?;
        let text = serde_json::to_string_pretty(&found?).unwrap_or_default();
        write_private(&self.file(FILE), &text)?;
        self.state.running = None;
        self.save()?;
        if !self.is_as_left().await? && self.revert().await? {
            self.tell("the gates changed files; that is undone, and kept: git ralph log");
        }
        Ok(())
    }

    async fn run_first_gates(
        &mut self,
        settings: &Settings,
        log: &File,
        run: &str,
        guard: &GitSettings,
    ) -> Result<Baseline, Error> {
        let mut found = Baseline::default();
        for gate in &settings.verify {
            let log = log
                .try_clone()
                .map_err(|error| file_error("write", &self.file(LOG), error))?;
            let job = self.plain_job(run, guard.clone());
            match self.run_gate(gate, job, log, settings).await? {
                Passed::Yes => {}
                Passed::Interrupted(_) => break,
                Passed::No(why, tail) => {
                    self.tell(format!("the gate `{gate}` is red before any work ({why})"));
                    found.red.push(Red {
                        gate: gate.clone(),
                        why,
                        lines: lines_of(&tail.all()),
                    });
                }
            }
        }
        Ok(found)
    }

    /// The gates that were red before any work; none when that is not known.
    pub(super) fn baseline(&self) -> Baseline {
        crate::fs::read_regular(&self.file(FILE), crate::fs::Links::Refused, u64::MAX)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }
}

/// The lines of an output, without what differs from one run to the next: times, colours, order.
fn lines_of(output: &str) -> BTreeSet<String> {
    let plain = anstream::adapter::strip_str(output).to_string();
    let lines = plain.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(without_times).collect()
}

/// The line with each time in it (`0.31s`, `12 ms`, `3 seconds`) blanked.
fn without_times(line: &str) -> String {
    const UNITS: &[&str] = &[
        "s", "ms", "us", "µs", "ns", "m", "min", "sec", "secs", "second", "seconds", "minutes",
    ];
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let (number, after) = from.split_at(from.find(|c| !is_number(c)).unwrap_or(from.len()));
        let unit = after.trim_start_matches(' ');
        let unit = &unit[..unit.find(|c: char| !c.is_alphabetic()).unwrap_or(unit.len())];
        text.push_str(before);
        text.push_str(if UNITS.contains(&unit) { "#" } else { number });
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(text: &str) -> OutputTail {
        let mut tail = OutputTail::default();
        tail.push(text.as_bytes());
        tail
    }

    #[test]
    fn the_same_way_is_the_same_end_and_the_same_lines_but_for_times() {
        let baseline = Baseline {
            red: vec![Red {
                gate: "make".to_owned(),
                why: "exit code 2".to_owned(),
                lines: lines_of("\x1b[31mFAILED a\x1b[0m\nok b (0.31s)\n1 failed; 7 passed in 2 seconds\n"),
            }],
        };
        let is_same = |gate, why, text| baseline.is_same(gate, why, &tail(text));
        let same = "ok b (12.5s)\nFAILED a\n\n1 failed; 7 passed in 41 seconds";
        assert!(is_same("make", "exit code 2", same));
        assert!(!is_same("make", "exit code 1", same));
        assert!(!is_same("make check", "exit code 2", same));
        let another = same.replace("1 failed", "2 failed");
        assert!(!is_same("make", "exit code 2", &another));
        let more = format!("{same}\nFAILED c");
        assert!(!is_same("make", "exit code 2", &more));
    }

    #[test]
    fn of_a_silent_gate_nothing_is_known() {
        let baseline = Baseline {
            red: vec![Red {
                gate: "false".to_owned(),
                why: "exit code 1".to_owned(),
                lines: BTreeSet::new(),
            }],
        };
        assert!(!baseline.is_same("false", "exit code 1", &tail("")));
    }
}
