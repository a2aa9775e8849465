//! `git ralph watch --remote`: lists a remote's loops repeatedly, and prints changes with the time of the listing.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::engine::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::names::Change;
use crate::remote::queue::{Entry, Standing, lists, on_remote};
use crate::remote::refusal::RemoteRefusal;
use crate::remote::{Server, Watch};
use crate::ui::{self, Screen};

/// Interval between two listings.
const INTERVAL: Duration = Duration::from_secs(10);

/// Watches until no run works on a loop and none can take one; returns whether any loop then needs attention.
pub(super) async fn run(
    screen: Screen,
    context: &Context<'_>,
    remote: &str,
    interval: Option<Duration>,
    json: bool,
) -> Result<Exit, Error> {
    let named = Some(remote).filter(|name| !name.is_empty());
    let server = Server::new(&context.repo, &context.configuration.settings, named)?;
    let mut watching = Watching {
        screen,
        json,
        remote: server.name().to_owned(),
        known: BTreeMap::new(),
        seen: None,
        is_silent: false,
    };
    let (mut holders, mut stop) = (Watch::default(), context.stop.clone());
    loop {
        let looked = tokio::select! {
            signal = stop.asked(1) => return Ok(Exit::Signal(signal)),
            looked = look(context, &server, &mut holders) => looked,
        };
        match looked {
            Ok(entries) if entries.is_empty() && watching.seen.is_none() => {
                let remote = watching.remote;
                return Err(RemoteRefusal::NoLoops { remote }.into());
            }
            Ok(entries) => {
                let exit = exit_of(&entries);
                watching.tell(entries, Timestamp::now());
                if let Some(exit) = exit {
                    return Ok(exit);
                }
            }
            Err(Error::Remote(RemoteRefusal::Unreadable { words, .. })) if watching.seen.is_some() => {
                watching.tell_silence(&words, Timestamp::now());
            }
            Err(error) => return Err(error),
        }
        tokio::select! {
            signal = stop.asked(1) => return Ok(Exit::Signal(signal)),
            () = sleep(interval.unwrap_or(INTERVAL)) => {}
        }
    }
}

/// Lists the loops on the remote. A finished one counts as open if its local list has grown, as for a run.
async fn look(context: &Context<'_>, server: &Server, holders: &mut Watch) -> Result<Vec<Entry>, Error> {
    let lists = lists(context, &context.configuration.settings).await;
    on_remote(server, &lists, holders).await
}

/// Returns the exit code if no run works on any of the loops, or can.
fn exit_of(entries: &[Entry]) -> Option<Exit> {
    let standings: Vec<Standing> = entries.iter().map(Entry::standing).collect();
    if standings
        .iter()
        .any(|one| matches!(one, Standing::Runs | Standing::Waits))
    {
        return None;
    }
    let needs = standings.contains(&Standing::NeedsPerson);
    Some(if needs { Exit::Person } else { Exit::Done })
}

/// The lines that were printed so far.
struct Watching {
    screen: Screen,
    json: bool,
    remote: String,
    known: BTreeMap<Change, Entry>,
    /// The time of the last successful listing.
    seen: Option<Timestamp>,
    /// True if the remote did not answer the last listing.
    is_silent: bool,
}

impl Watching {
    /// Prints the changes since the last listing.
    fn tell(&mut self, entries: Vec<Entry>, now: Timestamp) {
        if self.is_silent && !self.json {
            self.screen
                .answer(&format!("{}  {} answers again\n", clock(now), self.remote));
        }
        if self.seen.is_none() && !self.json && entries.iter().any(|entry| entry.claimed) {
            let claim = ui::queue::claim(&self.remote);
            self.screen.answer(&format!("{}  {claim}\n", clock(now)));
        }
        (self.seen, self.is_silent) = (Some(now), false);
        let mut before = std::mem::take(&mut self.known);
        for entry in entries {
            let is_told = before
                .remove(&entry.change)
                .is_some_and(|old| is_same(&old, &entry));
            if !is_told {
                self.tell_one(&entry, now);
            }
            self.known.insert(entry.change.clone(), entry);
        }
        for change in before.keys() {
            if self.json {
                self.line(&json!({"v": 1, "t": now, "remote": self.remote, "change": change, "gone": true}));
            } else {
                let line = format!("{}  {change}  gone from {}\n", clock(now), self.remote);
                self.screen.answer(&line);
            }
        }
    }

    fn tell_one(&self, entry: &Entry, now: Timestamp) {
        if !self.json {
            return self.screen.answer(&ui::queue::seen(&clock(now), entry));
        }
        let mut document = json!(entry);
        if let Some(fields) = document.as_object_mut() {
            fields.insert("v".to_owned(), json!(1));
            fields.insert("t".to_owned(), json!(now));
            fields.insert("remote".to_owned(), json!(self.remote));
        }
        self.line(&document);
    }

    /// Prints once that the remote does not answer, and the time of its last answer.
    fn tell_silence(&mut self, words: &str, now: Timestamp) {
        if std::mem::replace(&mut self.is_silent, true) {
            return;
        }
        let words = words.trim().lines().next().unwrap_or_default();
        let seen = clock(self.seen.unwrap_or(now));
        self.screen.say(&format!(
            "{}  cannot read the remote {}: {words}; all of this was seen at {seen}\n",
            clock(now),
            self.remote
        ));
    }

    fn line(&self, document: &Value) {
        self.screen.json(&format!("{document}\n"));
    }
}

/// Returns whether there is nothing to print: a renewed lease is the usual case.
fn is_same(old: &Entry, new: &Entry) -> bool {
    let of = |entry: &Entry| Entry {
        renewed: None,
        generation: 0,
        there: None,
        ..entry.clone()
    };
    of(old) == of(new)
}

fn clock(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}
