//! `git ralph watch`.

use std::io;
use std::time::Duration;

use super::choose::{AT_THE_END, Question, closes};
use super::queue::interval;
use super::run_end::AFTER_A_FAILURE;
use super::setup::{Console, resolve};
use super::view;
use super::watch_remote;
use crate::cli::complete::{loops, offer};
use crate::engine::question::Over;
use crate::engine::{self, Context};
use crate::error::Error;
use crate::exit::Exit;
use crate::inspect::follow::LoopFollower;
use crate::inspect::next_steps::Driver;
use crate::inspect::summary::Summary;
use crate::names::{Change, typed};
use crate::state::{self, Phase, Store};
use crate::ui::choice::Choice;
use crate::ui::view::plain::PlainLoop;
use crate::ui::view::{Closing, Left};
use crate::ui::{self, Screen};

/// Time between two reads of the files.
const POLL: Duration = Duration::from_millis(200);

/// The arguments of `git ralph watch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to all active loops of the repository
    #[arg(add = offer(loops))]
    pub change: Option<String>,
    /// Print lines, one below the other, instead of using the whole screen
    #[arg(long)]
    pub plain: bool,
    /// Print the events from now on as JSON, one per line (git ralph help events)
    #[arg(long, conflicts_with = "plain")]
    pub json: bool,
    /// Replay what has happened, at its own pace or SPEED times as fast; pauses last two seconds at most
    #[arg(long, value_name = "SPEED", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = speed, conflicts_with = "json")]
    pub replay: Option<f64>,
    /// Watch the loops on this git remote instead, a line for each change; without a name from ralph.remote
    #[arg(long, value_name = "REMOTE", num_args = 0..=1, default_missing_value = "",
        conflicts_with_all = ["change", "replay"])]
    pub remote: Option<String>,
    /// Look at the remote again after this time, such as 1m; 10s without it
    #[arg(long, value_name = "TIME", value_parser = interval, requires = "remote")]
    pub interval: Option<Duration>,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok();
    speed
        .filter(|speed| (0.01..=1e6).contains(speed))
        .ok_or_else(|| "a speed is a number from 0.01 to 1000000".to_owned())
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    if let Some(remote) = &args.remote {
        return watch_remote::run(console.screen, &context, remote, args.interval, args.json).await;
    }
    let changes = watched(&context, args.change.as_deref())?;
    if args.plain || args.json || !view::can_be_shown(console.screen, false) {
        return plain(console.screen, &context, &changes, &args).await;
    }
    let mut setup = view::setup(&context, &changes, false).await;
    if let Some(speed) = args.replay {
        setup.replay(speed);
    }
    let closing = Closing::default();
    let asked = closing.clone();
    let mut viewing = tokio::task::spawn_blocking(move || ui::view::run(setup, &asked));
    let mut stop = context.stop.clone();
    let left = tokio::select! {
        left = &mut viewing => left,
        signal = stop.asked(1) => {
            // The view closes first, and restores the screen.
            closing.ask();
            let _ = viewing.await;
            return Ok(Exit::Signal(signal));
        }
    };
    let left = left.map_err(io::Error::other).flatten();
    let left = left.map_err(Error::system("show the view"))?;
    match (left, changes.as_slice()) {
        (Left::AtEnd(at), _) => {
            let change = &changes[at];
            let (choice, summary) = Box::pin(ask(console.screen, context, change)).await?;
            if choice == Choice::Quit {
                console.say(&ui::summary::next(&summary.status.next_steps(Driver::Run)));
            } else {
                Box::pin(act(console, change, choice)).await?;
            }
        }
        (_, [change]) => {
            let common_dir = &context.repo.common_dir;
            view::tell(console.screen, common_dir, change, "to see it again");
        }
        (_, several) => {
            console.say(&format!(
                "{} loops (use \"git ralph watch\" to see them again)\n",
                several.len()
            ));
        }
    }
    Ok(Exit::Done)
}

/// Asks how to finish a loop that has ended. Locks the loop only to read it: meanwhile others may continue it.
async fn ask(screen: Screen, context: Context<'_>, change: &Change) -> Result<(Choice, Summary), Error> {
    ui::set_subject(change);
    let open = engine::open(context, change).await?;
    let summary = Summary::of(&open).await?;
    let possible: &[Choice] = match open.state.phase() {
        Phase::Exhausted => &AFTER_A_FAILURE[1..],
        _ => &AT_THE_END,
    };
    let text = ui::summary::of(&summary, None);
    screen.say(&text);
    let question = Question::of(&open, possible, text).await?;
    let stop = open.context.stop.clone();
    drop(open);
    let chosen = question.ask(&stop, &Over::default()).await?;
    Ok((chosen.unwrap_or(Choice::Quit), summary))
}

/// Executes the choice for a loop, as git ralph finish and git ralph skip do.
async fn act(console: &Console, change: &Change, choice: Choice) -> Result<(), Error> {
    let mut open = console.open(Some(change.as_str())).await?;
    match closes(choice) {
        Some(close) => engine::finish(&mut open, close, None).await,
        None => {
            let id = engine::skip(&mut open, None, false).await?;
            console.say(&format!(
                "story {id} is skipped\n  (use \"git ralph run {change}\" to continue)\n",
                change = typed(change)
            ));
            Ok(())
        }
    }
}

/// Returns the changes to watch: the named one, else all live ones, else the only one.
fn watched(context: &Context<'_>, name: Option<&str>) -> Result<Vec<Change>, Error> {
    if name.is_none() {
        let common_dir = &context.repo.common_dir;
        let mut live = state::loops(common_dir)?;
        live.retain(|change| matches!(Store::new(common_dir, change).load_live(), Ok(Some(_))));
        if !live.is_empty() {
            return Ok(live);
        }
    }
    Ok(vec![resolve(context, name)?])
}

/// Prints events until every loop has stopped; returns the exit code of the first that did not end well.
async fn plain(
    screen: Screen,
    context: &Context<'_>,
    changes: &[Change],
    args: &Args,
) -> Result<Exit, Error> {
    let idle = context.configuration.settings.idle_timeout;
    let follow = |change| {
        let mut follower = LoopFollower::new(&context.repo.common_dir, change);
        if let Some(speed) = args.replay {
            follower.replay(speed);
        }
        PlainLoop::new(follower, idle)
    };
    let mut loops: Vec<_> = changes
        .iter()
        .map(|change| (change, follow(change), None))
        .collect();
    loop {
        for (change, followed, exit) in loops.iter_mut().filter(|(_, _, exit)| exit.is_none()) {
            let label = if changes.len() > 1 {
                format!("{change}: ")
            } else {
                String::new()
            };
            let columns = screen.columns();
            let new =
                followed.poll(columns.map(|columns| columns.saturating_sub(label.chars().count()).max(20)));
            *exit = new.exit;
            if args.json {
                screen.json(&new.json);
            } else {
                let lines = new.words.lines();
                screen.answer(&lines.map(|line| format!("{label}{line}\n")).collect::<String>());
            }
        }
        let exits: Option<Vec<Exit>> = loops.iter().map(|(_, _, exit)| *exit).collect();
        if let Some(exits) = exits {
            let failed = exits.into_iter().find(|exit| *exit != Exit::Done);
            return Ok(failed.unwrap_or(Exit::Done));
        }
        let mut stop = context.stop.clone();
        tokio::select! {
            signal = stop.asked(1) => return Ok(Exit::Signal(signal)),
            () = tokio::time::sleep(POLL) => {}
        }
    }
}
