//! Decides whether a process of the loop runs in a box (`ralph.box`), and makes the box.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Context, Loop};
use crate::agent::Agent;
use crate::async_cmd::find_program;
use crate::engine::attempt::learnings;
use crate::engine::attempt::refusal::AttemptRefusal;
use crate::error::Error;
use crate::git::RepoLayout;
use crate::sandbox::{self, Belongings, Site, Trouble, Walls};
use crate::settings::{BoxMode, Settings};

/// The kind of process in the box.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inside<'a> {
    /// The agent of an attempt.
    Agent(&'a Agent),
    /// The agent that reviews its work.
    Reviewer(&'a Agent),
    /// Gates, and other commands of the user's.
    Commands,
    /// The command that prepares the work tree `top`, and copies from the one in which the user typed the command.
    Setup { top: &'a Path, from: &'a Path },
}

/// The decision for a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Confinement {
    /// The box; `None` if there is none.
    pub walls: Option<Arc<Walls>>,
    /// The reason why the process has no box although the settings want one.
    pub trouble: Option<Trouble>,
}

impl Confinement {
    /// Returns a description of the box for the checkpoint and the events; `None` if the settings want none.
    pub fn words(&self) -> Option<String> {
        match (&self.walls, &self.trouble) {
            (Some(_), _) => Some("bubblewrap".to_owned()),
            (None, Some(trouble)) => Some(format!("none ({trouble})")),
            (None, None) => None,
        }
    }
}

/// Makes the box of a process of a loop.
///
/// # Errors
/// [`AttemptRefusal::NoBox`] if one is required and cannot be made.
pub(crate) async fn of_loop(
    open: &Loop<'_>,
    settings: &Settings,
    inside: Inside<'_>,
) -> Result<Confinement, Error> {
    if settings.boxing.mode == BoxMode::Off {
        return Ok(Confinement::default());
    }
    // The box can make only existing files writable.
    learnings::make_file(open)?;
    let written = vec![learnings::file(open)];
    let made = confine(&open.context, settings, inside, written).await?;
    if let (Inside::Agent(_), Some(trouble)) = (inside, &made.trouble) {
        open.tell(format!(
            "warning: this attempt is made without a box (ralph.box): {trouble}"
        ));
    }
    Ok(made)
}

/// Makes the box of a process in the work tree of a context. Files of git's directory in `written` can be written.
///
/// # Errors
/// [`AttemptRefusal::NoBox`] if one is required and cannot be made.
pub(crate) async fn confine(
    context: &Context<'_>,
    settings: &Settings,
    inside: Inside<'_>,
    written: Vec<PathBuf>,
) -> Result<Confinement, Error> {
    if settings.boxing.mode == BoxMode::Off {
        return Ok(Confinement::default());
    }
    let repo = &context.repo;
    let (belongings, read) = match inside {
        Inside::Agent(agent) | Inside::Reviewer(agent) => (agent.belongings, program_of(agent, context)),
        Inside::Commands => (Belongings::default(), None),
        Inside::Setup { from, .. } => (Belongings::default(), Some(from.to_owned())),
    };
    let (top, git_dir) = match inside {
        Inside::Setup { top, .. } => (top, RepoLayout::of_work_tree(top).map(|layout| layout.git_dir)),
        _ => (repo.top.as_path(), None),
    };
    let made = sandbox::made(&Site {
        top,
        git_dirs: [git_dir.as_ref().unwrap_or(&repo.git_dir), &repo.common_dir],
        written,
        allowed: &settings.boxing.allowed,
        read,
        belongings,
    })
    .await;
    match made {
        Ok(walls) => Ok(Confinement {
            walls: Some(Arc::new(walls)),
            trouble: None,
        }),
        Err(trouble) if settings.boxing.mode.is_required() => Err(AttemptRefusal::NoBox(trouble).into()),
        Err(trouble) => Ok(Confinement {
            walls: None,
            trouble: Some(trouble),
        }),
    }
}

/// Returns the path of an agent's program, if its command names it.
fn program_of(agent: &Agent, context: &Context<'_>) -> Option<PathBuf> {
    let program = agent.command.first_word()?;
    find_program(&program, &context.repo.top)?.canonicalize().ok()
}
