//! Works on the changes of a schedule, one after another. Names a change that needs the user once, and passes over it.

use std::time::Duration;

use tokio::time::sleep;

use super::command::Command;
use super::end::end_of;
use super::one::{Ended, one};
use super::schedule::{End, Schedule, Standing, Then, Turn};
use crate::engine::{self, Context, place_before, return_to_base, return_to_loop};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::{Head, oid_of};
use crate::names::{Change, counted, typed};
use crate::remote::handover::{base_of_same, has_another, is_shared};
use crate::remote::queue::{Entry, Queue, read};
use crate::remote::refusal::RemoteRefusal;
use crate::remote::{Server, Watch, lease};
use crate::state::{State, live_in};

/// Works until no change is left, or until an error that does not concern only one change.
pub async fn work(command: &impl Command, schedule: Schedule) -> Result<Exit, Error> {
    let mut worker = Worker {
        command,
        schedule,
        watch: Watch::default(),
        base: None,
        is_waiting: false,
        pause: Duration::ZERO,
    };
    let ended = Box::pin(worker.work()).await;
    tell_passed_over(command, worker.schedule.number_passed_over());
    ended
}

/// Reports how many changes were passed over, if any.
pub(super) fn tell_passed_over(command: &impl Command, number: usize) {
    if number > 0 {
        let what = counted(number, "change needs", "changes need");
        command.say(&format!("{what} attention: git ralph queue"));
    }
}

/// The state of a run between its changes.
struct Worker<'c, C> {
    command: &'c C,
    schedule: Schedule,
    watch: Watch,
    /// The place of HEAD before the first change.
    base: Option<Head>,
    /// True after it has reported that it waits, until it works again.
    is_waiting: bool,
    /// Pause before the remote is listed again.
    pause: Duration,
}

impl<C: Command> Worker<'_, C> {
    async fn work(&mut self) -> Result<Exit, Error> {
        loop {
            match Box::pin(self.turn()).await? {
                Turn::Work(change) => {
                    self.is_waiting = false;
                    if let Some(heading) = self.schedule.heading(&change) {
                        self.command.say(&heading);
                    }
                    let ended = Box::pin(one(self.command, Some(change.as_str()), &mut self.watch)).await;
                    if let Some(exit) = Box::pin(self.note(&change, ended)).await? {
                        return Ok(exit);
                    }
                }
                Turn::Wait => {
                    if !self.is_waiting {
                        self.command
                            .say("waiting: other runs hold what is left, and one may be dead");
                    }
                    self.is_waiting = true;
                    sleep(self.pause).await;
                }
                Turn::Done(exit) => return Ok(exit),
                Turn::NothingLeft => return Err(RemoteRefusal::NothingLeft.into()),
                Turn::AllHeld => return Err(RemoteRefusal::AllHeld.into()),
            }
        }
    }

    /// Finds the next turn. Before reading the queue, returns the work tree to its place before the changes so far.
    async fn turn(&mut self) -> Result<Turn, Error> {
        self.watch.refs = None;
        if let Some(turn) = self.schedule.next_named() {
            return Ok(turn);
        }
        let narrator = self.command.narrator();
        let context = self.command.open(&narrator).await?;
        let settings = context.configuration.settings.clone();
        let server = Server::new(&context.repo, &settings, self.command.remote())?;
        self.command.require_choice(&settings)?;
        self.pause = (lease::renewal(server.lease) / 4).max(Duration::from_millis(100));
        let base = self.base.get_or_insert(place_before(&context)?).clone();
        let context = self.give_way(context, &server).await?;
        let active = live_in(&context.repo.common_dir, &context.repo.top)?;
        let context = match active {
            Some(state) if self.schedule.may_take(&state.change) => {
                return_to_loop(&context, &state).await?;
                return Ok(Turn::Work(state.change));
            }
            Some(state) => Box::pin(leave(context, &state.change, &server)).await?,
            None => context,
        };
        return_to_base(&context, &base).await?;
        let queue = read(&context, &settings, Some(&server), &mut self.watch).await?;
        for entry in queue.need_person() {
            self.pass_over(&entry.change, &entry.why, entry.exit());
        }
        let queue = standings(&queue, &self.watch);
        Ok(self.schedule.choose(&queue, fastrand::usize(..)))
    }

    /// Aborts an active local loop without a complete story, if it was never on the remote, which has another one of
    /// its name: this run was killed between its start and its first push.
    async fn give_way<'o>(&self, context: Context<'o>, server: &Server) -> Result<Context<'o>, Error> {
        let Some(state) = live_in(&context.repo.common_dir, &context.repo.top)? else {
            return Ok(context);
        };
        let is_without_work = |state: &State| state.progress().completed.is_empty();
        let is_ours = is_without_work(&state) && self.schedule.may_take(&state.change);
        if !is_ours || !has_another(&context, &state.change, server).await? {
            return Ok(context);
        }
        let mut open = Box::pin(engine::open(context, &state.change)).await?;
        // An interrupted step is completed now: it may have been this abort, or a checkpoint.
        if !is_without_work(&open.state) {
            return open.into_context().await;
        }
        if open.state.is_live() {
            Box::pin(engine::abort(&mut open)).await?;
        }
        let finished = state.change.ralph_ref("finished");
        let made = oid_of(&open.git().refs(&[&finished]).await?, &finished);
        let made = made.map_or_else(String::new, |made| {
            format!("; what it had: git log {}", made.short())
        });
        self.command.say(&format!(
            "another loop {} is on the remote, and this one has no complete story: it is aborted{made}",
            state.change
        ));
        open.into_context().await
    }

    /// Notes the end of one change; returns the exit code if the run ends with it.
    async fn note(&mut self, change: &Change, ended: Result<Ended, Error>) -> Result<Option<Exit>, Error> {
        // Another loop has begun on the remote since the last listing.
        if matches!(&ended, Err(Error::Remote(RemoteRefusal::Another(_))))
            && Box::pin(self.gives_way()).await?
        {
            return Ok(None);
        }
        let (end, why) = end_of(&ended, self.command.can_ask());
        let exit = ended.as_ref().map_or_else(Error::exit, |ended| ended.exit);
        let exit = match self.schedule.note(change, end, exit) {
            Then::GoOn => {
                match end {
                    End::Taken | End::Over => self.command.say(&why),
                    End::WasComplete => self.command.say(&format!("{change}: {why}")),
                    _ => {}
                }
                return Ok(None);
            }
            Then::PassOver(exit) => {
                if self.can_leave(change).await {
                    self.pass_over(change, &why, exit);
                    return Ok(None);
                }
                exit
            }
            Then::Stop(exit) => exit,
        };
        let left = self.schedule.left();
        if !left.is_empty() {
            self.command.say(&format!("not begun: {}", left.join(", ")));
        }
        ended.map(|_| Some(exit))
    }

    /// Aborts the active local loop if it may give way; returns whether it did.
    async fn gives_way(&self) -> Result<bool, Error> {
        let narrator = self.command.narrator();
        let context = self.command.open(&narrator).await?;
        let settings = context.configuration.settings.clone();
        let server = Server::new(&context.repo, &settings, self.command.remote())?;
        let context = self.give_way(context, &server).await?;
        Ok(live_in(&context.repo.common_dir, &context.repo.top)?.is_none())
    }

    /// Passes over a change from now on; reports the reason once, on one line.
    fn pass_over(&mut self, change: &Change, why: &str, exit: Exit) {
        if self.schedule.pass_over(change, exit) {
            let lines = why
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
            let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
            let why = lines.join("; ");
            self.command.say(&format!("passed over {change}: {why}"));
        }
    }

    /// Returns whether another change can begin in this work tree; if not, reports why.
    async fn can_leave(&self, change: &Change) -> bool {
        let room = Box::pin(self.make_room(change)).await;
        room.unwrap_or_else(|error| {
            self.command.say(&format!("{change} stays active here: {error}"));
            false
        })
    }

    /// Makes room for another change in this work tree: sets the active loop aside if the remote has all of it. Returns
    /// false if the remote does not.
    async fn make_room(&self, change: &Change) -> Result<bool, Error> {
        let narrator = self.command.narrator();
        let context = self.command.open(&narrator).await?;
        match live_in(&context.repo.common_dir, &context.repo.top)? {
            None => return Ok(true),
            Some(state) if state.change != *change => return Ok(false),
            Some(_) => {}
        }
        let settings = context.configuration.settings.clone();
        let server = Server::new(&context.repo, &settings, self.command.remote())?;
        let mut open = engine::open(context, change).await?;
        let Some(mut base) = base_of_same(&open, &server).await? else {
            let remote = server.name();
            self.command.say(&format!(
                "{change} stays active here: {remote} does not have all of it"
            ));
            return Ok(false);
        };
        engine::set_aside(&mut open).await?;
        base.forget()?;
        Ok(true)
    }
}

/// Closes a local loop that another run has continued; its commits stay on its branch, which is named if the remote may
/// lack them.
async fn leave<'o>(context: Context<'o>, change: &Change, server: &Server) -> Result<Context<'o>, Error> {
    let mut open = engine::open(context, change).await?;
    // An interrupted step may have closed it.
    if open.state.is_live() {
        let is_shared = is_shared(&open, server).await;
        engine::set_aside(&mut open).await?;
        if !is_shared {
            let (remote, branch) = (server.name(), typed(change.branch()));
            open.tell(format!(
                "what {change} has here, and {remote} may not have, stays on its branch: git log {branch}"
            ));
        }
    }
    open.into_context().await
}

/// Returns the changes in a queue that are free or held.
pub(super) fn standings(queue: &Queue, watch: &Watch) -> Vec<(Change, Standing)> {
    let standing = |entry: &Entry| match entry.phase {
        "new" if entry.free => Standing::New,
        _ if entry.free => Standing::Begun,
        // Its holder renewed the lease meanwhile.
        _ if watch.is_alive(&entry.change) => Standing::HeldByLiving,
        _ => Standing::Held,
    };
    let left = queue.free().chain(queue.held());
    left.map(|entry| (entry.change.clone(), standing(entry)))
        .collect()
}
