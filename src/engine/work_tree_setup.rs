//! Runs the command that prepares a new work tree of a loop (`ralph.worktreeSetup`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::output_tail::OutputTail;
use super::run_command::{CommandListener, failure_of, met_a_lock, of_work_trees, run_name, variable};
use super::work_tree_place::OwnTree;
use crate::agent::job::Job;
use crate::agent::orphans::Orphaned;
use crate::agent::process::{self, Ending};
use crate::engine::boxed::{self, Inside};
use crate::engine::steps::start_refusal::StartRefusal;
use crate::error::{Error, refuse};
use crate::events::News;
use crate::fs::{Below, read_if_there};
use crate::git::{Head, REPOSITORY_VARIABLES, Repo, RepoLayout};
use crate::refs::Update;
use crate::settings::to_std;
use crate::slot;

/// File in the work tree's git directory with the output of the command that prepares it.
const LOG: &str = "setup.log";
/// File there with the mark of the processes of that command.
const RUN: &str = "setup.run";

/// Runs the command, if the settings have one.
///
/// # Errors
/// If it fails, or moves HEAD.
pub(super) async fn set_up(own: OwnTree<'_>, made: &Repo) -> Result<(), Error> {
    let Some(command) = &own.settings.worktree_setup else {
        return Ok(());
    };
    let before = made.head().await?;
    run(own, command, &made.top).await?;
    require_same_head(command, made, &before).await
}

/// Refuses a preparation that has moved HEAD: the loop would begin at its commits. Restores the branch of a loop that
/// is resumed.
async fn require_same_head(command: &str, made: &Repo, before: &Head) -> Result<(), Error> {
    if made.head().await? == *before {
        return Ok(());
    }
    if let (Some(name), Some(new)) = (before.branch.clone(), before.oid.clone()) {
        let back = [Update::Set { name, new }];
        made.git.update_refs(&back, "ralph: start").await?;
    }
    refuse(StartRefusal::SetupFailed {
        command: command.to_owned(),
        why: "it moved HEAD".to_owned(),
        output: String::new(),
    })
}

/// Runs the command to its end; once more if the configuration was locked.
async fn run(own: OwnTree<'_>, command: &str, top: &Path) -> Result<(), Error> {
    let (context, settings) = (own.context, own.settings);
    let git_dir = RepoLayout::of_work_tree(top).map(|layout| layout.git_dir);
    let door = Below::new(git_dir.as_deref().unwrap_or(top));
    let dir = git_dir.as_ref().map_or_else(PathBuf::new, |_| "ralph".into());
    door.make_dir(&dir, 0o700)?;
    let from = &context.repo.top;
    let inside = Inside::Setup { top, from };
    let confined = boxed::confine(context, settings, inside, Vec::new()).await?;
    let run = run_name(Timestamp::now());
    // If this process dies, the next command ends the processes that the setup command has started.
    door.write_private(&dir.join(RUN), &run)?;
    let path = door.path(&dir.join(LOG));
    let log = door.begin_file(&path)?;
    let job = Job {
        argv: ["sh", "-c", command].map(OsString::from).into(),
        dir: top.to_owned(),
        env: [
            variable("RALPH_CHANGE", own.change.as_str()),
            variable(slot::SLOT, &slot::number()),
        ]
        .into_iter()
        .chain(of_work_trees(top, from))
        .collect(),
        env_remove: REPOSITORY_VARIABLES
            .iter()
            .copied()
            .chain(["GIT_CONFIG_PARAMETERS"])
            .collect(),
        run,
        timeout: settings.verify_timeout.map(to_std),
        idle_timeout: settings.idle_timeout.map(to_std),
        walls: confined.walls,
        ..Job::default()
    };
    context
        .observer
        .hear(News::Doing(&format!("setting up the work tree: {command}")));
    let mut stop = context.stop.clone();
    let listener = || CommandListener {
        change: own.change.to_string(),
        observer: context.observer,
        tail: OutputTail::default(),
    };
    let mut heard = listener();
    let mut ended = process::run(job.clone(), &log, &mut stop, &mut heard).await?;
    if !matches!(ended.ending, Ending::Exited(0) | Ending::Interrupted(_)) && met_a_lock(&heard.tail) {
        heard = listener();
        ended = process::run(job, &log, &mut stop, &mut heard).await?;
    }
    let output = heard.tail.text();
    match ended.ending {
        Ending::Interrupted(signal) => Err(Error::Stopped(signal)),
        ending => match failure_of(ending) {
            None => Ok(()),
            Some(why) => refuse(StartRefusal::SetupFailed {
                command: command.to_owned(),
                why,
                output,
            }),
        },
    }
}

/// Ends the processes of a setup command whose git-ralph was killed while it prepared this work tree.
pub(super) async fn end_setup(top: &Path) -> Result<(), Error> {
    let dir = RepoLayout::of_work_tree(top).map(|layout| layout.git_dir.join("ralph"));
    let run = dir.map(|dir| read_if_there(&dir.join(RUN))).transpose()?;
    let run = run.flatten().and_then(|run| String::from_utf8(run).ok());
    let Some(run) = run.filter(|run| !run.is_empty()) else {
        return Ok(());
    };
    let setup = Orphaned {
        run,
        pid: None,
        started: None,
        since: Timestamp::now(),
        work_tree: top,
    };
    setup.end(std::future::pending()).await?;
    Ok(())
}
