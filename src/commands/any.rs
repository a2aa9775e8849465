//! `git ralph run --any`: works on one change after another that no other run holds on a remote. A change that needs the
//! user is named once and skipped.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::sleep;

use super::choose::by_flag;
use super::run::{Args, Typed};
use super::setup::context;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::{self, Context, place_before, refuse_inside_attempt, return_to_base, return_to_loop};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::Head;
use crate::names::{Change, counted};
use crate::remote::handover::set_aside;
use crate::remote::queue::{Queue, read};
use crate::remote::refusal::RemoteRefusal;
use crate::remote::{Server, Watch, lease};
use crate::runs::{Ended, one};
use crate::settings::{FinishChoice, Settings};
use crate::state::live_in;
use crate::ui::{Narrator, Screen};

/// The next thing to do.
enum Turn {
    /// Work on this change.
    Work(Change),
    /// Look again after this time.
    Wait(Duration),
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let mut worker = Worker::default();
    let ended = Box::pin(worker.work(screen, &args)).await;
    worker.passed.tell(screen);
    ended
}

/// Keeps what a worker knows of the changes, from one to the next.
#[derive(Default)]
struct Worker {
    watch: Watch,
    passed: Passed,
    /// The place of HEAD before the first change.
    base: Option<Head>,
    /// The worst exit code of the changes that it has finished; `None` if there were none.
    exit: Option<Exit>,
}

impl Worker {
    /// Works until no change is left, or something is wrong that is not about one change alone.
    async fn work(&mut self, screen: Screen, args: &Args) -> Result<Exit, Error> {
        loop {
            let next = next(screen, args, &mut self.watch, &mut self.passed, &mut self.base);
            match Box::pin(next).await {
                Ok(Turn::Wait(pause)) => {
                    sleep(pause).await;
                    // A faster run may have ended by now.
                    self.passed.tried.clear();
                }
                Ok(Turn::Work(change)) => {
                    screen.say(&format!("change {change}\n"));
                    let ended = Box::pin(one(
                        &Typed { screen, args },
                        Some(change.as_str()),
                        &mut self.watch,
                    ))
                    .await;
                    if let Some(ended) = Box::pin(self.note(screen, args, change, ended)).await {
                        return ended;
                    }
                }
                Err(Error::Remote(RemoteRefusal::NothingLeft | RemoteRefusal::AllHeld))
                    if !self.passed.sick.is_empty() =>
                {
                    let of_sick = self.passed.sick.values().copied();
                    return Ok(of_sick
                        .chain(self.exit)
                        .max_by_key(|exit| badness(*exit))
                        .unwrap_or(Exit::Person));
                }
                Err(Error::Remote(RemoteRefusal::NothingLeft)) if self.exit.is_some() => {
                    return Ok(self.exit.unwrap_or(Exit::Done));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the end of one change; returns the result of the whole run if it ends with it.
    async fn note(
        &mut self,
        screen: Screen,
        args: &Args,
        change: Change,
        ended: Result<Ended, Error>,
    ) -> Option<Result<Exit, Error>> {
        let (why, exit) = match &ended {
            Ok(ended) if ended.may_go_on => {
                self.passed.tried.clear();
                let both = self.exit.into_iter().chain([ended.exit]);
                self.exit = both.max_by_key(|exit| badness(*exit));
                return None;
            }
            // On a terminal the user was asked, and has left it so.
            Ok(ended) if ended.exit == Exit::RetriesSpent && !screen.can_ask() => {
                ("a story has no retries left".to_owned(), ended.exit)
            }
            Ok(ended) => return Some(Ok(ended.exit)),
            // Another run was faster, or this one was too slow.
            Err(Error::Remote(
                refusal @ (RemoteRefusal::Held { .. }
                | RemoteRefusal::Lost { .. }
                | RemoteRefusal::Over { .. }),
            )) => {
                screen.say(&format!("{refusal}\n"));
                self.passed.tried.insert(change);
                return None;
            }
            Err(error) if is_about_one(error) => {
                let exit = Some(error.exit()).filter(|exit| *exit == Exit::RetriesSpent);
                (error.to_string(), exit.unwrap_or(Exit::Person))
            }
            Err(_) => return Some(ended.map(|ended| ended.exit)),
        };
        match Box::pin(make_room(screen, args, &change)).await {
            Ok(true) => {
                self.passed.over(screen, change, &why, exit);
                None
            }
            Ok(false) => Some(ended.map(|ended| ended.exit)),
            Err(error) => {
                screen.say(&format!("{change} stays active here: {error}\n"));
                Some(ended.map(|ended| ended.exit))
            }
        }
    }
}

/// Returns how bad an exit code of one change is among others: the worst is that of the run.
fn badness(exit: Exit) -> u8 {
    match exit {
        Exit::Done => 0,
        Exit::RetriesSpent => 1,
        _ => 2,
    }
}

/// The changes that are not taken now.
#[derive(Default)]
struct Passed {
    /// Another run was faster.
    tried: BTreeSet<Change>,
    /// They need the user, with the exit codes that say so.
    sick: BTreeMap<Change, Exit>,
}

impl Passed {
    fn has(&self, change: &Change) -> bool {
        self.tried.contains(change) || self.sick.contains_key(change)
    }

    /// Passes over a change from now on; says why, once and on one line.
    fn over(&mut self, screen: Screen, change: Change, why: &str, exit: Exit) {
        let Entry::Vacant(new) = self.sick.entry(change) else {
            return;
        };
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        screen.say(&format!("passed over {}: {why}\n", new.key()));
        new.insert(exit);
    }

    /// Prints how many changes need attention.
    fn tell(&self, screen: Screen) {
        let number = self.sick.len() as u64;
        if number > 0 {
            let what = counted(number, "change needs", "changes need");
            screen.say(&format!("{what} attention: git ralph queue\n"));
        }
    }
}

/// Returns whether an error is about the loop of one change: the others can go on.
fn is_about_one(error: &Error) -> bool {
    match error {
        Error::Remote(refusal) => matches!(
            refusal,
            RemoteRefusal::Unintelligible { .. }
                | RemoteRefusal::NotFetched { .. }
                | RemoteRefusal::Another(_)
                | RemoteRefusal::Behind { .. }
                | RemoteRefusal::OwnWorkTree { .. }
                | RemoteRefusal::NoBranch { .. }
                | RemoteRefusal::Refused { .. }
        ),
        // A missing agent or one without credit is missing for all of them.
        Error::Attempt(refusal) => matches!(
            refusal,
            AttemptRefusal::NothingChanged { .. }
                | AttemptRefusal::UnprovenGates { .. }
                | AttemptRefusal::SessionAtWork { .. }
        ),
        Error::Start(_)
        | Error::Story(_)
        | Error::Step(_)
        | Error::Source(_)
        | Error::Finish(_)
        | Error::Hook(_) => true,
        _ => false,
    }
}

/// Makes room for another change in this work tree: a loop that is active here is set aside if the remote has all of it.
/// Returns false if it has not.
async fn make_room(screen: Screen, args: &Args, change: &Change) -> Result<bool, Error> {
    let narrator = Narrator::new(screen);
    let context = context(&narrator).await?;
    match live_in(&context.repo.common_dir, &context.repo.top)? {
        None => return Ok(true),
        Some(live) if live.change != *change => return Ok(false),
        Some(_) => {}
    }
    let settings = context.configuration.settings.clone();
    let server = Server::new(&context.repo, &settings, args.remote.as_deref())?;
    let mut open = engine::open(context, change).await?;
    let is_aside = set_aside(&mut open, &server).await?;
    if !is_aside {
        screen.say(&format!(
            "{change} stays active here: {} does not have all of it\n",
            server.name()
        ));
    }
    Ok(is_aside)
}

/// Finds what to do next. The work tree is first put back to where it was before the changes so far.
async fn next(
    screen: Screen,
    args: &Args,
    watch: &mut Watch,
    passed: &mut Passed,
    base: &mut Option<Head>,
) -> Result<Turn, Error> {
    let narrator = Narrator::new(screen);
    let context = context(&narrator).await?;
    let settings = context.configuration.settings.clone();
    require_choice(args, &settings)?;
    let server = Server::new(&context.repo, &settings, args.remote.as_deref())?;
    let pause = (lease::renewal(server.lease) / 4).max(Duration::from_millis(100));
    let base = base.get_or_insert(place_before(&context)?).clone();
    let live = live_in(&context.repo.common_dir, &context.repo.top)?;
    if let Some(state) = live.as_ref().filter(|state| !passed.has(&state.change)) {
        return_to_loop(&context, state).await?;
        return Ok(Turn::Work(state.change.clone()));
    }
    let context = match live {
        Some(state) => Box::pin(leave(context, &state.change)).await?,
        None => context,
    };
    return_to_base(&context, &base).await?;
    let queue = read(&context, &settings, Some(&server), watch).await?;
    for entry in queue.need_person() {
        let exit = match entry.phase {
            "exhausted" => Exit::RetriesSpent,
            _ => Exit::Person,
        };
        passed.over(screen, entry.change.clone(), &entry.why, exit);
    }
    let free: Vec<_> = queue.free().filter(|entry| !passed.has(&entry.change)).collect();
    if let Some(first) = free.first() {
        // A random choice, because workers that begin at the same time would all take the first one.
        let alike = free
            .iter()
            .take_while(|entry| (entry.phase == "new") == (first.phase == "new"));
        let alike = alike.count();
        return Ok(Turn::Work(free[fastrand::usize(..alike)].change.clone()));
    }
    if queue.free().any(|entry| !passed.sick.contains_key(&entry.change)) {
        return Ok(Turn::Wait(pause));
    }
    wait_for(&queue, watch, pause)
}

/// Waits for holders that may be dead; a holder that renewed its lease meanwhile is alive.
fn wait_for(queue: &Queue, watch: &Watch, pause: Duration) -> Result<Turn, Error> {
    let mut held = queue.held().peekable();
    if held.peek().is_none() {
        return Err(RemoteRefusal::NothingLeft.into());
    }
    if held.all(|entry| watch.is_alive(&entry.change)) {
        return Err(RemoteRefusal::AllHeld.into());
    }
    Ok(Turn::Wait(pause))
}

/// Refuses to begin if every change would be left open.
fn require_choice(args: &Args, settings: &Settings) -> Result<(), Error> {
    if by_flag(args.choice).is_some() || settings.finish != FinishChoice::Ask {
        return Ok(());
    }
    Err(FinishRefusal::NoChoiceForSeveral {
        is_agent: false,
        changes: vec!["--any".to_owned()],
    }
    .into())
}

/// Closes a loop here that another run has gone on with; its commits stay on its branch.
async fn leave<'o>(context: Context<'o>, change: &Change) -> Result<Context<'o>, Error> {
    let mut open = engine::open(context, change).await?;
    // A step that was cut off may have closed it.
    if open.state.is_live() {
        engine::set_aside(&mut open).await?;
    }
    open.into_context().await
}
