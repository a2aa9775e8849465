//! `git ralph start`.

use super::dry_run;
use super::pick::change_to_run;
use super::setup::{Console, here, put_stories_in, tell_adapter, tell_ignored, tell_strategy, typed_options};
use crate::cli;
use crate::cli::complete::{changes, names_of, offer, offer_anywhere};
use crate::engine::{Context, StartOptions, agent_of, resume, start};
use crate::error::Error;
use crate::events::{Event, What};
use crate::exit::Exit;
use crate::fs::target_of;
use crate::inspect::next_steps::Driver;
use crate::inspect::status::Status;
use crate::names::Change;
use crate::settings::{Choice, Strategy};
use crate::state::Store;
use crate::ui::{self};
use std::ffi::OsString;
use std::io::{self, IsTerminal};

/// The arguments of `git ralph start`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed")]
pub struct Args {
    /// The change: a name that can be part of a branch name; defaults to the only one with open stories
    #[arg(add = offer(changes))]
    pub change: Option<String>,
    /// Settings.
    #[command(flatten)]
    pub settings: cli::Settings,
    /// The story list.
    #[command(flatten)]
    pub stories: cli::StoriesFrom,
    /// Make checkpoints on a branch of their own, or leave HEAD and the index in place: branch or stash (ralph.strategy)
    #[arg(long, value_name = "WHERE", value_parser = Strategy::parse, add = offer_anywhere(names_of::<Strategy>))]
    pub strategy: Option<Strategy>,
    /// A work tree of its own.
    #[command(flatten)]
    pub worktree: cli::OwnWorkTree,
    /// If the loop is active, abort it first, and begin again
    #[arg(long, conflicts_with = "resume")]
    pub restart: bool,
    /// If the loop's state is lost, rebuild it from the branch and the refs
    #[arg(long)]
    pub resume: bool,
    /// Start even if a gate fails before any work; no story is complete until it passes
    #[arg(long)]
    pub allow_red: bool,
    /// Show the stories, settings, agent and gates of the loop; change nothing
    #[arg(long, conflicts_with_all = ["restart", "resume"])]
    pub dry_run: bool,
    /// Print events as JSON, one per line (git ralph help events); with --dry-run one document
    #[arg(long)]
    pub json: bool,
    /// The agent's command, for the whole loop; it reads the prompt from standard input
    #[arg(last = true, value_name = "AGENT", conflicts_with = "agent_line")]
    pub agent: Vec<OsString>,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let (context, refs) = Context::open_beside(&here()?, &console.narrator, true).await?;
    console.settle_colours(context.configuration.colour);
    let mut settings = context.configuration.settings.clone();
    let typed = typed_options(&args.settings, &args.agent);
    typed.apply(&mut settings);
    settings.strategy = args.strategy.unwrap_or(settings.strategy);
    put_stories_in(&mut settings, &context, &args.stories)?;
    let change = match &args.change {
        Some(name) => Change::new(name)?,
        None => change_to_run(console.screen, &context, &settings, "start").await?,
    };
    ui::set_subject(&change);
    tell_ignored(&context, &change);
    let options = StartOptions {
        settings,
        typed,
        restart: args.restart,
        allow_red: args.allow_red,
        own_work_tree: args.worktree.place(),
        ..StartOptions::default()
    };
    if args.dry_run {
        if !dry_run::of_new_loop(console.screen, &context, &change, &options, refs).await? {
            console.say("the loop is already active; nothing would be changed\n");
        }
        return Ok(Exit::Done);
    }
    let lost =
        args.resume && target_of(&Store::new(&context.repo.common_dir, &change).state_file())?.is_none();
    let (open, already) = if lost {
        (resume(context, &change, &options).await?, false)
    } else {
        let started = Box::pin(start(context, &change, &options, refs, async |_| {})).await?;
        (started.open, started.already)
    };
    if already {
        tell_adapter(&open, args.stories.adapter.as_deref());
        tell_strategy(&open, args.strategy);
        let message = "the loop is already active; nothing was changed".to_owned();
        console.say(&format!("{message}\n"));
        if console.json {
            console.json(&Event::now(change.as_str(), What::Notice { message }).line());
        }
    } else if agent_of(&[], &open.settings(), &open.repo().top).is_none() {
        console.say(
            "no agent is configured, and none that git ralph doctor lists is installed: git ralph next -- <agent command>, or work on the story yourself: git ralph complete\n",
        );
    }
    if !console.json {
        let status = if already {
            Status::seen_from(&open.context, &open.state).await?
        } else {
            Status::of(&open.state, &open.repo().top).await
        };
        let is_told = !already && !console.quiet && io::stdout().is_terminal();
        console.answer(&if is_told {
            ui::summary::next(&status.next_steps(Driver::Steps))
        } else {
            ui::status::table(&status, console.columns())
        });
    }
    // A signal during the gates ends the command, but the loop has begun.
    let signal = open.context.stop.signal();
    Ok(signal.map_or(Exit::Done, Exit::Signal))
}
