//! `git ralph run --any`: works on one change after another that nobody else holds on a remote.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::sleep;

use super::choose::by_flag;
use super::run::{Args, one};
use super::setup::context;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::{self, Context, Finish, refuse_inside_attempt};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::Head;
use crate::names::{Change, short_branch};
use crate::remote::queue::{Queue, UNREADABLE, read};
use crate::remote::refusal::RemoteRefusal;
use crate::remote::{Server, Watch, lease};
use crate::settings::{FinishChoice, Settings};
use crate::state::{Store, changes};
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
    let mut watch = Watch::default();
    let mut passed = Passed::default();
    let mut base = None;
    let mut exit = None;
    loop {
        match Box::pin(next(screen, &args, &mut watch, &mut passed, &mut base)).await {
            Ok(Turn::Wait(pause)) => {
                sleep(pause).await;
                // Whoever was faster may be gone by now.
                passed.tried.clear();
            }
            Ok(Turn::Work(change)) => {
                screen.say(&format!("change {change}\n"));
                match Box::pin(one(screen, &args, Some(change.as_str()), &mut watch)).await {
                    Ok(ended) if ended.may_go_on => {
                        passed.tried.clear();
                        exit = exit.filter(|exit| *exit != Exit::Done).or(Some(ended.exit));
                    }
                    Ok(ended) => return Ok(ended.exit),
                    // Another run was faster, or this one was too slow.
                    Err(Error::Remote(
                        refusal @ (RemoteRefusal::Held { .. }
                        | RemoteRefusal::Lost { .. }
                        | RemoteRefusal::Over { .. }),
                    )) => {
                        screen.say(&format!("{refusal}\n"));
                        passed.tried.insert(change);
                    }
                    Err(error) if is_about_one(&error) && has_no_loop(screen).await? => {
                        passed.over(screen, change, &error.to_string());
                    }
                    Err(error) => return Err(error),
                }
            }
            Err(Error::Remote(RemoteRefusal::NothingLeft | RemoteRefusal::AllHeld))
                if !passed.sick.is_empty() =>
            {
                return Ok(Exit::Person);
            }
            Err(Error::Remote(RemoteRefusal::NothingLeft)) if exit.is_some() => {
                return Ok(exit.unwrap_or(Exit::Done));
            }
            Err(error) => return Err(error),
        }
    }
}

/// The changes that are not taken now.
#[derive(Default)]
struct Passed {
    /// Another run was faster.
    tried: BTreeSet<Change>,
    /// Nobody can go on with them until a person has looked.
    sick: BTreeSet<Change>,
}

impl Passed {
    fn has(&self, change: &Change) -> bool {
        self.tried.contains(change) || self.sick.contains(change)
    }

    /// Passes over a change from now on; says why, once.
    fn over(&mut self, screen: Screen, change: Change, why: &str) {
        if !self.sick.contains(&change) {
            screen.say(&format!("passed over {change}: {why}\n"));
            self.sick.insert(change);
        }
    }
}

/// Returns whether an error is about the loop of one change: the others can go on.
fn is_about_one(error: &Error) -> bool {
    matches!(
        error,
        Error::Remote(
            RemoteRefusal::Unintelligible { .. } | RemoteRefusal::Another(_) | RemoteRefusal::Behind { .. }
        ) | Error::Start(_)
            | Error::Story(_)
    )
}

/// Returns whether no loop is active in this work tree.
async fn has_no_loop(screen: Screen) -> Result<bool, Error> {
    let mut narrator = Narrator::new(screen);
    Ok(live_here(&context(&mut narrator).await?)?.is_none())
}

/// Finds what to do next. The work tree is first put back to where it was before the changes so far.
async fn next(
    screen: Screen,
    args: &Args,
    watch: &mut Watch,
    passed: &mut Passed,
    base: &mut Option<Head>,
) -> Result<Turn, Error> {
    let mut narrator = Narrator::new(screen);
    let context = context(&mut narrator).await?;
    let settings = context.configuration.settings.clone();
    require_choice(args, &settings)?;
    let server = Server::new(&context.repo, &settings, args.remote.as_deref())?;
    let pause = (lease::renewal(server.lease) / 4).max(Duration::from_millis(100));
    let base = base.get_or_insert(place_before(&context)?).clone();
    let live = live_here(&context)?;
    if let Some(change) = live.as_ref().filter(|change| !passed.has(change)) {
        return Ok(Turn::Work(change.clone()));
    }
    let context = match live {
        Some(change) => leave(context, &change).await?,
        None => context,
    };
    return_to(&context, &base).await?;
    let queue = read(&context, &settings, Some(&server), watch).await?;
    for entry in queue.changes.iter().filter(|entry| entry.phase == UNREADABLE) {
        passed.over(screen, entry.change.clone(), &entry.why);
    }
    let free: Vec<_> = queue.free().filter(|entry| !passed.has(&entry.change)).collect();
    if let Some(first) = free.first() {
        // Workers that begin at the same time shall not all want the same one.
        let alike = free
            .iter()
            .take_while(|entry| (entry.phase == "new") == (first.phase == "new"));
        let alike = alike.count();
        return Ok(Turn::Work(free[fastrand::usize(..alike)].change.clone()));
    }
    if queue.free().any(|entry| !passed.sick.contains(&entry.change)) {
        return Ok(Turn::Wait(pause));
    }
    wait_for(&queue, watch, pause)
}

/// Waits for holders that may be dead; a holder that was seen to renew its lease is at work.
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

/// Returns the change of the loop that is active in this work tree.
fn live_here(context: &Context<'_>) -> Result<Option<Change>, Error> {
    for change in changes(&context.repo.common_dir)? {
        let state = Store::new(&context.repo.common_dir, &change).load_live()?;
        if state.is_some_and(|state| state.worktree.as_path() == context.repo.top) {
            return Ok(Some(change));
        }
    }
    Ok(None)
}

/// Returns the place of HEAD before the first change. On the branch of a loop, which a run that was cut off has left there,
/// that is where this loop began.
fn place_before(context: &Context<'_>) -> Result<Head, Error> {
    let state = match context.change_of_branch() {
        Some(change) => Store::new(&context.repo.common_dir, &change).load()?,
        None => None,
    };
    Ok(state.map_or_else(|| context.head.clone(), |state| state.original_place()))
}

/// Closes a loop here that another run has gone on with; its commits stay on its branch.
async fn leave<'o>(context: Context<'o>, change: &Change) -> Result<Context<'o>, Error> {
    let mut open = engine::open(context, change).await?;
    // A step that was cut off may have closed it.
    if open.state.is_live() {
        engine::finish(&mut open, Finish::Keep).await?;
    }
    Ok(open.context)
}

/// Goes back to where HEAD was before the first change.
async fn return_to(context: &Context<'_>, base: &Head) -> Result<(), Error> {
    let repo = &context.repo;
    let head = repo.head().await?;
    if head == *base || head.branch == base.branch && base.branch.is_some() {
        return Ok(());
    }
    let args: Vec<&str> = match (&base.branch, &base.oid) {
        (Some(branch), _) => vec!["--quiet", short_branch(branch), "--"],
        (None, Some(oid)) => vec!["--quiet", "--detach", oid.as_str(), "--"],
        (None, None) => return Ok(()),
    };
    Ok(repo.git.cmd("checkout", args).done().await?)
}
