//! Works on several changes in parallel: each in its own process and work tree. A change that cannot continue stops
//! none of the others.
//!
//! Such a process is an ordinary run: it holds its loop, and every command finds it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::children::{Child, Ended};
use super::command::{Command, Printed};
use super::schedule::{End, Schedule, Then, Turn, worst};
use super::worker::{standings, tell_passed_over};
use crate::engine::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::git::Head;
use crate::held::UnderWay;
use crate::names::{Change, Oid, counted};
use crate::remote::queue::read;
use crate::remote::refusal::RemoteRefusal;
use crate::remote::{Server, Watch, lease};

/// Maximum number of lines that wait to be printed.
pub(super) const MOST_LINES: usize = 64;

/// The changes of a parallel run.
pub struct Changes {
    /// The named changes that have not begun.
    named: VecDeque<Change>,
    /// The number of named changes.
    number: usize,
    /// The remaining changes, if they come from a queue.
    queue: Option<Schedule>,
}

impl Changes {
    /// Begins with the named changes, in order.
    pub fn named(changes: Vec<Change>) -> Self {
        Self {
            number: changes.len(),
            named: changes.into(),
            queue: None,
        }
    }

    /// Begins with the changes that no other run holds, locally or on a remote.
    pub fn of_queue() -> Self {
        Self {
            number: 0,
            named: VecDeque::new(),
            queue: Some(Schedule::of_queue()),
        }
    }

    /// Returns the heading for the start of a change.
    fn heading(&self, change: &Change) -> String {
        if self.queue.is_some() {
            return format!("change {change}");
        }
        format!(
            "change {} of {}: {change}",
            self.number - self.named.len(),
            self.number
        )
    }
}

/// A run of several changes at once.
struct ParallelChanges<'r, C> {
    command: &'r C,
    head: Head,
    typed: &'r [OsString],
    changes: Changes,
    watch: Watch,
    /// Pause before the queue is read again.
    pause: Duration,
    /// The free places.
    free: BTreeSet<u16>,
    running: BTreeMap<u16, Change>,
    printed: (Sender<Printed>, Receiver<Printed>),
    exit: Exit,
    /// The named changes that need the user.
    need_user: Vec<String>,
    /// True once no further change begins.
    is_over: bool,
}

/// Works on changes in parallel; returns the worst exit code. `typed` is the command line without the program. Each
/// change begins at the present HEAD; those of a queue at the tip of its branch when they begin.
///
/// # Errors
/// If the queue cannot be read, or is empty.
pub async fn beside(
    command: &impl Command,
    typed: &[OsString],
    changes: Changes,
    jobs: u16,
    context: &Context<'_>,
) -> Result<Exit, Error> {
    let _under_way = UnderWay::begin();
    let most = match &changes.queue {
        Some(_) => jobs,
        None => jobs.min(u16::try_from(changes.number).unwrap_or(u16::MAX)),
    };
    let mut run = ParallelChanges {
        command,
        head: context.head.clone(),
        typed,
        changes,
        watch: Watch::default(),
        pause: Duration::ZERO,
        free: (1..=most).collect(),
        running: BTreeMap::new(),
        printed: mpsc::channel(MOST_LINES),
        exit: Exit::Done,
        need_user: Vec::new(),
        is_over: false,
    };
    let stop = &context.stop;
    let mut children = JoinSet::new();
    let (mut failed, mut is_due) = (Ok(()), true);
    // The time at which the queue is read again, if others hold the remaining changes.
    let mut again = None;
    let mut asked = stop.clone();
    loop {
        again = again.filter(|_| !is_due && stop.signal().is_none());
        while is_due
            && stop.signal().is_none()
            && !run.is_over
            && let Some(place) = run.free.first().copied()
        {
            match Box::pin(run.next()).await {
                Ok(Turn::Work(change)) => {
                    if let Some(child) = run.begin(change, place) {
                        children.spawn(child.attend(stop.clone()));
                    }
                    continue;
                }
                Ok(Turn::Wait) => again = Some(Instant::now() + run.pause),
                // The running changes may leave work.
                Ok(_) if !run.running.is_empty() => {}
                Ok(Turn::Done(exit)) => {
                    run.is_over = true;
                    run.add(exit);
                }
                Ok(Turn::NothingLeft) => failed = Err(RemoteRefusal::NothingLeft.into()),
                Ok(Turn::AllHeld) => failed = Err(RemoteRefusal::AllHeld.into()),
                Err(error) => failed = Err(error),
            }
            run.is_over |= failed.is_err();
            break;
        }
        // A printed line is no reason to read the queue again.
        is_due = false;
        if children.is_empty() && again.is_none() {
            break;
        }
        // The output of a process is shown before its end.
        tokio::select! {
            biased;
            Some(line) = run.printed.1.recv() => command.relay(&line, None),
            Some(ended) = children.join_next() => {
                run.note_end(ended.ok());
                is_due = true;
            }
            _ = asked.asked(1), if again.is_some() => {}
            () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => is_due = true,
        }
    }
    failed?;
    match &run.changes.queue {
        Some(queue) => tell_passed_over(command, queue.number_passed_over()),
        // The last lines are those of the change that ended last.
        None if stop.signal().is_none() && run.changes.number > 1 => tell_need_user(command, &run.need_user),
        None => {}
    }
    if !run.changes.named.is_empty() {
        let left: Vec<&str> = run.changes.named.iter().map(Change::as_str).collect();
        command.say(&format!("not begun: {}", left.join(", ")));
    }
    Ok(stop.signal().map_or(run.exit, Exit::Signal))
}

/// Names the changes that need the user, if any.
fn tell_need_user(command: &impl Command, changes: &[String]) {
    if !changes.is_empty() {
        let what = counted(changes.len(), "change needs", "changes need");
        command.say(&format!(
            "{what} attention: {} (git ralph status)",
            changes.join(", ")
        ));
    }
}

impl<C: Command> ParallelChanges<'_, C> {
    /// Finds the change that begins next.
    async fn next(&mut self) -> Result<Turn, Error> {
        let Some(schedule) = &mut self.changes.queue else {
            let next = self.changes.named.pop_front();
            return Ok(next.map_or(Turn::Done(self.exit), Turn::Work));
        };
        self.watch.refs = None;
        let narrator = self.command.narrator();
        let context = self.command.open(&narrator).await?;
        // The list of a new change was committed meanwhile.
        if context.head.branch == self.head.branch {
            self.head = context.head.clone();
        }
        let settings = context.configuration.settings.clone();
        let has_remote = self.command.remote().is_some() || settings.remote.is_some();
        let server = has_remote.then(|| Server::new(&context.repo, &settings, self.command.remote()));
        let server = server.transpose()?;
        if let Some(server) = &server {
            self.pause = lease::renewal(server.lease) / 4;
        }
        self.pause = self.pause.max(Duration::from_secs(1));
        let queue = read(&context, &settings, server.as_ref(), &mut self.watch).await?;
        let is_ours = |change: &Change| self.running.values().any(|running| running == change);
        for entry in queue.need_person().filter(|entry| !is_ours(&entry.change)) {
            if schedule.pass_over(&entry.change, entry.exit()) {
                self.command
                    .say(&format!("passed over {}: {}", entry.change, entry.why));
            }
        }
        let mut left = standings(&queue, &self.watch);
        left.retain(|(change, _)| !is_ours(change));
        Ok(schedule.choose(&left, fastrand::usize(..)))
    }

    /// Begins a change in this place.
    fn begin(&mut self, change: Change, place: u16) -> Option<Child<Change>> {
        self.command.say(&self.changes.heading(&change));
        let name = change.clone();
        let words = [
            name.as_str(),
            self.head.oid.as_ref().map_or("", Oid::as_str),
            self.head.branch.as_deref().unwrap_or_default(),
        ];
        let begun = Child::start((change, name.as_str()), words, self.typed, place, &self.printed.0);
        match begun {
            Ok(child) => {
                self.free.remove(&place);
                self.running.insert(place, name);
                Some(child)
            }
            Err(error) => {
                let why = format!("{name} cannot begin: git-ralph cannot be started: {error}");
                self.command.warn(&why);
                self.note(&name, Exit::Error);
                None
            }
        }
    }

    /// Notes the end of a process; does nothing if it is unknown.
    fn note_end(&mut self, ended: Option<(Change, u16, Ended)>) {
        let Some((change, place, ended)) = ended else {
            self.command
                .warn("the end of a change is not known: git ralph status");
            self.add(Exit::Error);
            return;
        };
        self.free.insert(place);
        self.running.remove(&place);
        if let Some(why) = ended.why {
            self.command.warn(&format!("{change} {why}"));
        }
        self.note(&change, ended.exit);
    }

    /// Notes the exit code of a change: one that cannot continue is omitted from then on.
    fn note(&mut self, change: &Change, exit: Exit) {
        let end = match exit {
            Exit::Done => End::Closed,
            Exit::NoStory => End::Over,
            Exit::Busy => End::Taken,
            // A limit of the service or of the user's applies to all of them.
            Exit::Limit => End::Stopped,
            _ => End::NeedsUser,
        };
        let Some(schedule) = &mut self.changes.queue else {
            if end == End::NeedsUser {
                self.need_user.push(change.to_string());
            }
            self.add(exit);
            return;
        };
        match schedule.note(change, end, exit) {
            Then::GoOn => {}
            Then::PassOver(_) => {
                schedule.pass_over(change, exit);
                self.add(exit);
            }
            Then::Stop(exit) => {
                self.is_over = true;
                self.add(exit);
            }
        }
    }

    fn add(&mut self, exit: Exit) {
        self.exit = worst([self.exit, exit].into_iter()).unwrap_or(exit);
    }
}
