//! Stories that the user's own commands list and mark: any tracker becomes a source.
//!
//! `ralph.storiesCommand` prints one JSON object per story; `ralph.doneCommand` marks one as done, and gets it as a
//! JSON object on standard input. They run as shell lines in the top directory, in a sandbox if wanted.
//!
//! This module does not know where the commands come from: they are never read from a file of the repository.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::value::RawValue;

use super::records::{Records, wrong_json};
use super::{SourceError, Story};
use crate::async_cmd::{self, Command};
use crate::git::{REPOSITORY_VARIABLES, RepoLayout};
use crate::sandbox::{self, Belongings, Site, Trouble, Walls, Wish};

/// Maximum number of lines of a command's output in an error.
const LINES: usize = 10;

/// The commands of a source, as shell lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// The change, for their environment.
    pub change: String,
    /// Lists the stories.
    pub stories: String,
    /// Marks a story as done, before its checkpoint is made.
    pub done: Option<String>,
    /// Runs after the checkpoint of a story.
    pub closed: Option<String>,
    /// The time limit of each, in seconds.
    pub limit: u64,
    /// Additional variables of their environment.
    pub env: RefCell<Vec<(OsString, OsString)>>,
    /// The sandbox in which they run; `None` if none is wanted.
    pub boxing: Option<Wish>,
}

/// An event of a story that a command receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The story is to be marked as done.
    Done,
    /// The story has its checkpoint.
    Closed,
}

impl Commands {
    /// Runs the command for this event of `story`, if there is one; `env` is added to its environment.
    pub async fn tell(
        &self,
        top: &Path,
        news: News,
        story: &Story,
        env: &[(&str, String)],
    ) -> Result<(), SourceError> {
        let line = match news {
            News::Done => &self.done,
            News::Closed => &self.closed,
        };
        let Some(line) = line else { return Ok(()) };
        let object = serde_json::json!({
            "id": story.id,
            "title": story.title,
            "body": story.body,
            "done": story.done,
            "depends_on": story.depends_on.as_deref().unwrap_or_default(),
        });
        let stdin = format!("{object}\n").into_bytes();
        run(top, self, ("ralph.doneCommand", line), env, stdin)
            .await
            .map(drop)
    }
}

/// Lists the stories with the commands, in the order of their execution.
pub(super) async fn list(top: &Path, commands: &Commands) -> Result<Records, SourceError> {
    let key = "ralph.storiesCommand";
    let bytes = run(top, commands, (key, &commands.stories), &[], Vec::new()).await?;
    let malformed = |cause: String| SourceError::Malformed {
        path: commands.stories.clone(),
        cause,
    };
    let text = String::from_utf8(bytes).map_err(|_| malformed("what it prints is not UTF-8".to_owned()))?;
    let mut values: Vec<&RawValue> = Vec::new();
    for value in serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>() {
        let value = value.map_err(|error| malformed(wrong_json(&error)))?;
        match serde_json::from_str::<Vec<&RawValue>>(value.get()) {
            Ok(list) => values.extend(list),
            Err(_) => values.push(value),
        }
    }
    Records::read(&text, &values).map_err(malformed)
}

async fn run(
    top: &Path,
    commands: &Commands,
    (key, line): (&'static str, &str),
    env: &[(&str, String)],
    stdin: Vec<u8>,
) -> Result<Vec<u8>, SourceError> {
    let failed = |how: String| SourceError::CommandFailed {
        key,
        command: line.to_owned(),
        how,
    };
    let walls = walls(top, commands.boxing.as_ref()).await;
    let walls = walls.map_err(|trouble| {
        failed(format!(
            "a box is required (ralph.box), and there is none: {trouble}"
        ))
    })?;
    let words = ["sh", "-c", line].map(OsString::from);
    let mut words = match &walls {
        Some(walls) => walls.around(top, &words),
        None => words.into(),
    }
    .into_iter();
    let mut command = Command::new(words.next().unwrap_or_default()).args(words);
    for name in walls.iter().flat_map(|walls| &walls.hidden) {
        command = command.env_remove(name);
    }
    command = command
        .dir(top)
        .env("RALPH_CHANGE", &commands.change)
        .stdin(stdin)
        .limit(Duration::from_secs(commands.limit));
    for (name, value) in env {
        command = command.env(name, value);
    }
    for (name, value) in commands.env.borrow().iter() {
        command = command.env(name, value);
    }
    for name in REPOSITORY_VARIABLES {
        command = command.env_remove(name);
    }
    let output = async_cmd::run(command)
        .await
        .map_err(|error| failed(error.to_string()))?;
    if output.code == Some(0) {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.trim_end().lines().collect();
    let end = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    let code = match (output.code, output.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("ended by signal {}", signal.unwrap_or_default()),
    };
    Err(failed([&[code.as_str()], end].concat().join("\n  ")))
}

/// Makes the sandbox of a command; returns `None` if none is wanted, or none works and none is required.
async fn walls(top: &Path, wish: Option<&Wish>) -> Result<Option<Walls>, Trouble> {
    let Some(wish) = wish else {
        return Ok(None);
    };
    let layout = RepoLayout::of_work_tree(top);
    let git_dirs = layout.as_ref().map_or([top; 2], |layout| {
        [layout.git_dir.as_path(), layout.common_dir.as_path()]
    });
    let made = sandbox::made(&Site {
        top,
        git_dirs,
        written: Vec::new(),
        allowed: &wish.allowed,
        read: None,
        belongings: Belongings::default(),
    })
    .await;
    match made {
        Ok(walls) => Ok(Some(walls)),
        Err(trouble) if wish.is_required => Err(trouble),
        Err(_) => Ok(None),
    }
}
