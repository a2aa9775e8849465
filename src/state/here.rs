//! The part of a state that belongs to one machine and one work tree: the table `[here]`.

use std::cell::{Cell, RefCell};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AgentSession, AwaitingChoice, Ending, Given, Linked, Message, Noted, SavePoint};
use crate::fs::{FileError, is_directory};
use crate::git::StagedEntry;
use crate::names::Oid;
use crate::paths::WorkTreePath;
use crate::settings::{LoopCommands, is_default};

/// The part of a state that never leaves this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Here {
    /// The work tree's top directory.
    pub worktree: WorkTreePath,
    /// The origin of the work tree, if the loop made it for itself.
    pub linked: Option<Linked>,
    /// True for a side: the loop of one story of another change.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_side: bool,
    /// The commit of HEAD after the user's commits during a loop that leaves HEAD in its place.
    pub moved_head: Option<Oid>,
    /// The state before the loop.
    pub before: Before,
    /// The commands of the command line that began the loop.
    #[serde(default, skip_serializing_if = "is_default")]
    pub commands: LoopCommands,
    /// The agent's own session that drives the loop through its hooks, or the last one that did.
    pub session: Option<AgentSession>,
    /// The story of the last prompt that the user saw: git-ralph assumes that a new session was given it.
    pub prompted: Option<Given>,
    /// The end of the wait for an agent's service.
    pub waits_until: Cell<Option<Timestamp>>,
    /// The agent's words about that wait.
    pub waits_for: RefCell<Option<String>>,
    /// The command that closed the loop; absent while it is live, and if an earlier version closed it.
    pub closed: Option<Ending>,
    /// The time at which the loop was closed.
    pub closed_at: Option<Timestamp>,
    /// The reason why the last step or run ended early, in words, until the next attempt begins; absent if its story is
    /// the reason.
    pub stopped: Option<String>,
    /// The question that a run asks the user, or asked when it died.
    pub awaiting_choice: Option<AwaitingChoice>,
    /// The facts recorded by git's hooks since the last checkpoint.
    pub noted: Option<Noted>,
    /// The stash entries of a loop that leaves HEAD in its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub save_points: Vec<SavePoint>,
    /// The new files made only by gates: no checkpoint has them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gate_files: RefCell<Vec<StagedEntry>>,
    /// The messages of the user for the prompts, oldest first (`git ralph tell`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// The attempt whose work was restored since the last step, as `<story>@<number>`.
    pub restored: Option<String>,
    /// True if the restored work stays until a reviewer judges it: its agent promised COMPLETE, and its gates passed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_unreviewed: bool,
    /// True while attempts beside others may write to the list: only judged stories are done in it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub holds_list: bool,
    /// The kind of `.git` when the loop began in this work tree.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dot_git: DotGit,
    /// The tree for which the work tree was prepared.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prepared: RefCell<Prepared>,
}

/// The tree for which a command of the user's has prepared the work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prepared {
    /// The tree of the last checkpoint: no work of another work tree was judged in this one.
    #[default]
    AtBegin,
    /// The tree is unknown: the command failed, or its end was not seen.
    Unknown,
    /// This tree.
    For(Oid),
}

/// The kind of `.git` in a work tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DotGit {
    /// A file or a symlink that leads to the repository; or the kind is unknown.
    #[default]
    Other,
    /// The repository itself.
    Directory,
}

impl DotGit {
    /// Reads the kind of `.git` in a work tree.
    pub fn of(top: &Path) -> Result<Self, FileError> {
        let is_directory = is_directory(&top.join(".git"))?;
        Ok(if is_directory {
            Self::Directory
        } else {
            Self::Other
        })
    }
}

impl Here {
    /// Returns this part for a loop that has done nothing in this work tree yet.
    pub fn new(worktree: WorkTreePath, before: Before) -> Self {
        Self {
            worktree,
            linked: None,
            is_side: false,
            moved_head: None,
            before,
            commands: LoopCommands::default(),
            session: None,
            prompted: None,
            waits_until: Cell::default(),
            waits_for: RefCell::default(),
            closed: None,
            closed_at: None,
            stopped: None,
            awaiting_choice: None,
            noted: None,
            save_points: Vec::new(),
            gate_files: RefCell::default(),
            messages: Vec::new(),
            restored: None,
            is_unreviewed: false,
            holds_list: false,
            dot_git: DotGit::Other,
            prepared: RefCell::default(),
        }
    }
}

/// The state of this work tree before the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// The snapshot commit (`refs/ralph/<change>/start`).
    pub snapshot: Oid,
    /// The commit that keeps the former targets of branches, tags and stash entries alive
    /// (`refs/ralph/<change>/anchor`).
    pub anchor: Option<Oid>,
    /// True if there was an index file.
    pub index: bool,
    /// Nested repositories that git-ralph leaves unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<String>,
}

impl Before {
    /// Returns the state of a work tree that has nothing beyond `snapshot`.
    pub fn nothing_beside(snapshot: Oid) -> Self {
        Self {
            snapshot,
            anchor: None,
            index: true,
            nested: Vec::new(),
        }
    }
}
