//! Starts or resumes the loop of one change, works through it, and releases it.

use super::command::Command;
use super::hold::hold;
use crate::engine::{self, Loop, start};
use crate::error::Error;
use crate::events::What;
use crate::exit::Exit;
use crate::remote::Watch;
use crate::remote::refusal::RemoteRefusal;
use crate::settings::OnFailure;

/// The end of the loop of one change.
pub struct Ended {
    /// The exit code of a run of this change alone.
    pub exit: Exit,
    /// True if the loop was closed, and every story is complete or no failure was to stop the run.
    pub may_go_on: bool,
}

impl Ended {
    /// A run that had nothing to do.
    const NOTHING_DONE: Self = Self {
        exit: Exit::Done,
        may_go_on: true,
    };
}

/// Starts or resumes the loop of one change, and works through it. If a remote was typed or configured, the loop is held
/// there meanwhile; `watch` knows what was seen of the loops' holders.
pub async fn one(command: &impl Command, change: Option<&str>, watch: &mut Watch) -> Result<Ended, Error> {
    let narrator = command.narrator();
    let context = command.open(&narrator).await?;
    let Some((context, change, options)) = command.prepare(context, change).await? else {
        return Ok(Ended::NOTHING_DONE);
    };
    let held = Box::pin(hold(context, &change, &options, command.remote(), watch)).await?;
    let Some((context, mut tenure)) = held else {
        return Ok(Ended::NOTHING_DONE);
    };
    let started = match Box::pin(start(
        context,
        &change,
        &options,
        None,
        async |open: &Loop<'_>| {
            command.show(open).await;
        },
    ))
    .await
    {
        Ok(started) => started,
        Err(error) => {
            command.hide();
            if let Some(tenure) = tenure {
                tenure.give_back().await?;
            }
            return Err(error);
        }
    };
    let mut open = started.open;
    if let Some(tenure) = &mut tenure {
        tenure.keep(&open.context.stop);
    }
    let step = command.begin(&open, started.already);
    let exit = command.work(&mut open, &step, tenure.as_ref()).await;
    if !open.is_held() {
        // The process that holds the loop prints the summary.
        return exit.map(|exit| Ended {
            exit,
            may_go_on: false,
        });
    }
    let code = exit.as_ref().map_or_else(Error::exit, |exit| *exit).code();
    open.emit(What::RunEnded { exit: code });
    command.report(&open).await;
    let was_faster = matches!(exit, Err(Error::Remote(RemoteRefusal::Lost { .. })));
    let released = match tenure {
        // Another run was faster, before any work was done here.
        Some(tenure) if !started.already && was_faster && !tenure.has_published().await => {
            engine::abort(&mut open).await
        }
        Some(tenure) => tenure.release(&open).await,
        None => Ok(()),
    };
    let exit = exit?;
    released?;
    let ended_well =
        matches!(exit, Exit::Done | Exit::NoStory) || step.settings.on_failure != OnFailure::Stop;
    Ok(Ended {
        exit,
        may_go_on: ended_well && !open.state.is_live(),
    })
}
