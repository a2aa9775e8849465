//! The content of a loop's ref on a remote: the message of a state commit, and the list of the objects that travel with it.
//! `docs/scale-out.md` describes both. Pure.

use std::collections::BTreeSet;
use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};

use super::validation::{is_attempt, is_time};
use crate::names::{Change, Oid};
use crate::refs::KeptRef;
use crate::state::Phase;

/// The holder of a loop: one run, never a machine or a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// A description of the run, with the URL of its CI job if there is one.
    pub name: String,
    /// Random digits of this acquisition.
    pub token: String,
}

/// The message of a state commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The change.
    pub change: Change,
    /// The number of the commit in its ref.
    pub generation: u64,
    /// The holder; `None` if the loop is free.
    pub holder: Option<Holder>,
    /// The holder's lease. A reader uses its own, if longer.
    pub lease: SignedDuration,
    /// The time of this commit by the clock of its writer.
    pub renewed: Timestamp,
    /// The phase of the loop, as written: earlier versions wrote `complete` for a loop with skipped stories.
    pub phase: Phase,
    /// Complete stories.
    pub done: usize,
    /// Stories that are neither complete nor left to do: the loop skips them.
    pub skipped: usize,
    /// All stories.
    pub total: usize,
    /// The last checkpoint.
    pub checkpoint: Oid,
    /// The host's message, if it refused the last work.
    pub blocked: Option<String>,
}

impl Record {
    /// Returns the commit message. `previous` is the previous state commit; with the nonce it makes two commits of the
    /// same second different objects.
    pub fn message(&self, previous: Option<&Oid>, nonce: &str) -> String {
        let phase = self.phase.into();
        let mut text = format!("ralph: {} #{} {phase}\n\n", self.change, self.generation);
        let holder = self.holder.as_ref();
        let previous = previous.map_or("none", Oid::as_str);
        let lines = [
            ("Change", self.change.as_str()),
            ("Generation", &self.generation.to_string()),
            ("Holder", holder.map_or("", |holder| &holder.name)),
            ("Token", holder.map_or("", |holder| &holder.token)),
            ("Nonce", nonce),
            ("Previous", previous),
            ("Lease", &self.lease.as_secs().to_string()),
            ("Renewed", &self.renewed.to_string()),
            ("Phase", phase),
            ("Stories", &format!("{}/{}", self.done, self.total)),
            (
                "Skipped",
                &Some(self.skipped)
                    .filter(|number| *number > 0)
                    .map_or_else(String::new, |number| number.to_string()),
            ),
            ("Checkpoint", self.checkpoint.as_str()),
            ("Blocked", &one_line(self.blocked.as_deref().unwrap_or_default())),
        ];
        for (name, value) in lines {
            if !value.is_empty() {
                let _ = writeln!(text, "Ralph-{name}: {}", one_line(value));
            }
        }
        text
    }

    /// Reads a commit message; returns `None` if it does not belong to a state commit of this change.
    pub fn parse(change: &Change, message: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = message.lines().filter_map(|line| line.strip_prefix("Ralph-"));
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.map(str::trim).filter(|value| !value.is_empty())
        };
        if field("Change")? != change.as_str() {
            return None;
        }
        let (done, total) = field("Stories")?.split_once('/')?;
        let renewed = field("Renewed")?.parse().ok()?;
        Some(Self {
            change: change.clone(),
            // Later commits need larger numbers.
            generation: field("Generation")?
                .parse()
                .ok()
                .filter(|number| *number < u64::MAX >> 1)?,
            holder: field("Holder").map(|name| Holder {
                name: name.to_owned(),
                token: field("Token").unwrap_or_default().to_owned(),
            }),
            lease: SignedDuration::from_secs(field("Lease")?.parse().ok()?),
            renewed: Some(renewed).filter(|time| is_time(*time))?,
            phase: field("Phase")?.parse().ok()?,
            done: done.parse().ok()?,
            total: total.parse().ok()?,
            skipped: field("Skipped").map_or(Some(0), |number| number.parse().ok())?,
            checkpoint: Oid::parse(field("Checkpoint")?)?,
            blocked: field("Blocked").map(ToOwned::to_owned),
        })
    }

    /// Returns the phase as programs and users see it: with incomplete stories, it is never `complete`.
    pub fn shown_phase(&self) -> Phase {
        match self.phase {
            Phase::Complete if self.done < self.total => Phase::Exhausted,
            phase => phase,
        }
    }

    /// Returns whether all stories of an active loop are complete or skipped.
    pub fn has_nothing_left(&self) -> bool {
        match self.phase {
            Phase::Complete => true,
            Phase::Exhausted => self.done.saturating_add(self.skipped) >= self.total,
            _ => false,
        }
    }

    /// Returns whether a run has nothing left to do, or cannot do anything. A held loop is over only when it is
    /// finished: its run finishes it, or the run that takes it from a dead one.
    pub fn is_over(&self) -> bool {
        let ends = match self.phase {
            Phase::Finished => true,
            Phase::Complete | Phase::Exhausted => self.holder.is_none(),
            Phase::Ready | Phase::Running | Phase::Failed => false,
        };
        ends || self.blocked.is_some()
    }
}

/// Returns 16 random hexadecimal digits, for a token or a nonce.
pub fn random() -> String {
    format!("{:016x}", fastrand::u64(..))
}

/// Joins lines: a trailer has only one.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes the list of objects that travel with a state: one per line, with its name below `refs/ralph/<change>/`.
pub fn list(change: &Change, refs: &[KeptRef]) -> String {
    let prefix = change.ralph_ref("");
    let lines = refs.iter().filter_map(|kept| {
        let name = kept.name.strip_prefix(&prefix)?;
        Some(format!("{} {name}\n", kept.oid))
    });
    lines.collect()
}

/// Reads such a list. Returns `None` if a line is invalid, names a ref that keeps no attempt, or repeats a name.
pub fn parse_list(change: &Change, text: &str) -> Option<Vec<KeptRef>> {
    let refs = text.lines().map(|line| {
        let (oid, name) = line.split_once(' ')?;
        let oid = Oid::parse(oid).filter(|_| name.strip_prefix("attempts/").is_some_and(is_attempt))?;
        let name = change.ralph_ref(name);
        Some(KeptRef { name, oid })
    });
    let refs: Vec<KeptRef> = refs.collect::<Option<_>>()?;
    let names: BTreeSet<&str> = refs.iter().map(|kept| kept.name.as_str()).collect();
    (names.len() == refs.len()).then_some(refs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn record() -> Record {
        Record {
            change: Change::new("add-login").unwrap(),
            generation: 17,
            holder: Some(Holder {
                name: "process 7 on runner-7 (https://ci.example/8412)".to_owned(),
                token: "9f3c41d07be2a6d8".to_owned(),
            }),
            lease: SignedDuration::from_mins(15),
            renewed: "2026-11-22T12:20:31Z".parse().unwrap(),
            phase: Phase::Failed,
            done: 3,
            total: 7,
            skipped: 0,
            checkpoint: oid('c'),
            blocked: None,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let held = record();
        let free = Record {
            holder: None,
            blocked: Some("refused:  no\n`workflows` permission\n".to_owned()),
            ..record()
        };
        let change = &held.change;
        assert_eq!(
            Record::parse(change, &held.message(Some(&oid('a')), "1")),
            Some(held.clone())
        );
        let read = Record::parse(change, &free.message(None, "1")).unwrap();
        assert_eq!(read.holder, None);
        assert_eq!(
            read.blocked.as_deref(),
            Some("refused: no `workflows` permission")
        );
        assert!(read.is_over() && !held.is_over());
        for (phase, over) in [
            (Phase::Failed, [false, false]),
            (Phase::Exhausted, [false, true]),
            (Phase::Complete, [false, true]),
            (Phase::Finished, [true, true]),
        ] {
            let of = |holder| Record {
                holder,
                phase,
                ..record()
            };
            let found = [of(held.holder.clone()), of(None)].map(|record| record.is_over());
            assert_eq!(found, over, "{phase:?}, held and free");
        }
        for wrong in [
            "",
            "ralph: add-login #1 ready\n",
            &free.message(None, "").replace("ready", "?"),
        ] {
            let other = Change::new("other").unwrap();
            assert_eq!(Record::parse(&other, wrong), None);
        }
        assert_ne!(held.message(None, "1"), held.message(None, "2"));
    }

    #[test]
    fn a_loop_with_a_skipped_story_is_never_complete() {
        let of = |phase, done, skipped| Record {
            phase,
            done,
            skipped,
            ..record()
        };
        for (record, shown, is_left) in [
            (of(Phase::Complete, 7, 0), Phase::Complete, false),
            (of(Phase::Exhausted, 6, 1), Phase::Exhausted, false),
            (of(Phase::Exhausted, 5, 1), Phase::Exhausted, true),
            // Of an earlier version.
            (of(Phase::Complete, 6, 0), Phase::Exhausted, false),
        ] {
            let read = Record::parse(&record.change, &record.message(None, "1")).unwrap();
            assert_eq!((read.shown_phase(), read.skipped), (shown, record.skipped));
            assert_eq!(!read.has_nothing_left(), is_left, "{read:?}");
        }
        let text = of(Phase::Exhausted, 6, 1).message(None, "1");
        let wrong = text.replace("Skipped: 1", "Skipped: x");
        assert_eq!(Record::parse(&record().change, &wrong), None);
    }

    #[test]
    fn a_holder_cannot_add_a_line_of_its_own() {
        let mut record = record();
        record.holder = Some(Holder {
            name: "me\nRalph-Generation: 99".to_owned(),
            token: "1".to_owned(),
        });
        let read = Record::parse(&record.change, &record.message(None, "1")).unwrap();
        assert_eq!(read.generation, 17);
    }

    #[test]
    fn only_attempts_of_the_change_are_named() {
        let change = Change::new("c").unwrap();
        let kept = |name: &str| KeptRef::new(name.to_owned(), oid('1'));
        let there = [
            kept("refs/ralph/c/attempts/2/1"),
            kept("refs/ralph/c/attempts/%2E/2"),
        ];
        let twice = [
            kept("refs/ralph/c/attempts/2/1"),
            kept("refs/ralph/c/attempts/2/1"),
        ];
        assert_eq!(parse_list(&change, &list(&change, &twice)), None);
        assert_eq!(parse_list(&change, &list(&change, &there)), Some(there.to_vec()));
        for evil in [
            "../main",
            "attempts/../../x",
            "start",
            "attempts//1",
            "attempts/.x/1",
        ] {
            let text = format!("{} {evil}\n", oid('1'));
            assert_eq!(parse_list(&change, &text), None, "{evil}");
        }
    }
}
