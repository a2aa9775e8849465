//! Gates, hooks and the commands of trackers: what they run may have been written by the agent, and none of it
//! runs in the attempt. So git's own files and the refs are compared after them as after an attempt: the files
//! and what keeps the loop's work are put back, the rest is told. Gates, and the commands that list and mark
//! stories, run inside the guard too; a hook is the user's, and may push.

use super::Session;
use super::other_refs::OtherRefs;
use super::run_agent::git_settings;
use crate::error::Error;
use crate::git::OwnFiles;
use crate::settings::Settings;

/// Whose processes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// `ralph.verify`.
    Gates,
    /// A lifecycle hook.
    Hook,
    /// What lists and marks stories.
    Tracker,
}

impl Others {
    /// Names them, as the subject of a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gates => "a gate",
            Self::Hook => "a hook",
            Self::Tracker => "a command of the tracker",
        }
    }
}

/// The repository before they ran. It is not written down: who kills one that hangs may mend it, or the
/// configuration, before the next command.
pub(super) struct Watched {
    files: OwnFiles,
    refs: OtherRefs,
    others: Others,
}

impl Session<'_> {
    /// Looks at the repository before such processes run.
    pub(super) async fn watch(&mut self, others: Others) -> Result<Watched, Error> {
        let files = OwnFiles::read(&self.engine.repo)?;
        let refs = self.other_refs_now().await?;
        Ok(Watched { files, refs, others })
    }

    /// Compares the repository with what it was, once nothing of them is alive. Nothing that was known of
    /// HEAD and the refs is relied upon after that.
    pub(super) async fn end_watch(&mut self, watched: Watched) -> Result<(), Error> {
        let Watched { files, refs, others } = watched;
        self.head_is_known = false;
        self.refs = None;
        self.restore_own_files(&files, others.name()).await?;
        self.standing().await?;
        let now = self.other_refs_now().await?;
        // A hook that pushes moves what is known of the remote.
        let is_expected = |name: &str| others == Others::Hook && name.starts_with("refs/remotes/");
        let mut moved = now.moved_since(&refs);
        moved.retain(|moved| !is_expected(moved.name()));
        self.put_back_of_loop(&moved, others.name()).await?;
        for moved in moved.iter().filter(|moved| !moved.is_put_back()) {
            self.tell(moved.told(others.name()));
        }
        Ok(())
    }

    /// Has the commands of a tracker run inside the guard, until [`Session::end_tracker`]; `None` where the
    /// stories come from no command.
    pub(super) async fn begin_tracker(&mut self) -> Result<Option<Watched>, Error> {
        if self.state.source.commands.is_none() {
            return Ok(None);
        }
        let watched = self.watch(Others::Tracker).await?;
        let settings: Settings = self.engine.configuration.settings.clone();
        let guard = self.set_up_guard(&settings).await;
        if let Some(commands) = &mut self.state.source.commands {
            commands.env = git_settings(guard.into_iter()).collect();
        }
        Ok(Some(watched))
    }

    /// Ends what [`Session::begin_tracker`] began.
    pub(super) async fn end_tracker(&mut self, watched: Option<Watched>) -> Result<(), Error> {
        let Some(watched) = watched else { return Ok(()) };
        if let Some(commands) = &mut self.state.source.commands {
            commands.env = Vec::new();
        }
        self.take_guard_away(None, watched.others.name());
        self.end_watch(watched).await
    }
}
