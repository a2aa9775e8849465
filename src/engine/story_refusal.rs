//! Errors of choosing a story from the list.

use crate::error::advice::{hint, list};
use crate::error::refusals::refusals;
use crate::exit::Exit;
use crate::names::{closest, counted, stories_option, typed};
use crate::stories::{Adapter, Source};

refusals! {
/// The reason why no story of the list can be worked on.
#[derive(Debug, thiserror::Error)]
pub enum StoryRefusal {
    #[error("{}", no_stories_in(source_file, *adapter))]
    NoStories {
        /// The story list, or the command that prints it.
        source_file: String,
        adapter: Adapter,
    }
        => |source_file, adapter| hint(no_stories_hint(source_file, *adapter));
    #[error("nothing left to do: {done} of {} complete{}{}", counted(*total, "story is", "stories are"), list("; skipped: ", skipped, ""), list("; failed: ", put_off, ""))]
    NothingLeft {
        change: String,
        done: usize,
        total: usize,
        /// Ids of the stories that the loop skips.
        skipped: Vec<String>,
        /// Ids of those that failed, and that only `run` tries again.
        put_off: Vec<String>,
        /// True if a loop is live.
        live: bool,
        /// The story list, if a command has to name it.
        stories: Option<String>,
    }
        => |change, live, put_off, stories| {
            let next = match live {
                true if !put_off.is_empty() => "run",
                true => "finish --cleanup",
                false => "stories",
            };
            let stories = stories_option(stories.as_deref());
            hint(format!("git ralph {next} {}{stories}", typed(change))).exit(Exit::NoStory)
        };
    #[error("{source_file} has no story '{id}'{}", list(" (stories: ", known, ")"))]
    UnknownStory {
        id: String,
        /// The story list.
        source_file: String,
        known: Vec<String>,
    }
        => |id, known| match closest(id, known) {
            Some(meant) => hint(format!("did you mean '{meant}'?")),
            None => hint("git ralph stories"),
        };
    #[error("attempt {story}@{attempt} is complete: its work is in a checkpoint")]
    InCheckpoint {
        change: String,
        story: String,
        attempt: u32,
    }
        => |change, story| hint(format!("to do the story again: git ralph redo {} {}", typed(change), typed(story)));
    /// `skip --undo` was called, but no story is skipped.
    #[error("no story is skipped")]
    NothingSkipped
        => "git ralph stories";
    /// `skip --undo` was called for another story.
    #[error("story {0} is not skipped")]
    NotSkipped(String)
        => "git ralph stories";
    /// The work of an attempt at such a story would be taken for the next story.
    #[error("story {story} is skipped or put off, and its work would count for the next story")]
    LeftOut { change: String, story: String }
        => |change, story| hint(format!("git ralph skip --undo {} {}", typed(change), typed(story)));
    /// `redo` was called for a story that this loop has not completed.
    #[error("story {story} has no checkpoint in this loop")]
    NoCheckpoint { change: String, story: String }
        => "git ralph log {change}", change;
    #[error("other stories were completed after story {story}, and would be undone with it: {}", later.join(", "))]
    BuiltOn {
        change: String,
        story: String,
        /// The user's reason.
        words: Option<String>,
        later: Vec<String>,
    }
        => |change, story, words| {
            let words = words.as_ref().map(|words| format!(" {}", typed(words)));
            hint(format!(
                "git ralph redo --force {} {}{}",
                typed(change),
                typed(story),
                words.unwrap_or_default()
            ))
            .exit(Exit::Person)
        };
    /// After `redo` the list would not ask for the story.
    #[error("{source_file} would still list story {story} as done; nothing was changed")]
    StillDone {
        change: String,
        story: String,
        /// The story list, or the command that prints it.
        source_file: String,
    }
        => Person, "mark it as open there, then: git ralph redo {change} {story}", change, story;
    /// `list --take` has nothing to take, or cannot merge it.
    #[error("{}; nothing was changed", if *is_conflict {
        format!("{source_file} has other changes in the same lines as what {attempt} made of it")
    } else {
        format!("git has no other version of {source_file} from {attempt}")
    })]
    ListNotTaken {
        attempt: String,
        /// The story list, or the command that prints it.
        source_file: String,
        is_conflict: bool,
        /// The commits between which the attempt changed it.
        range: (String, String),
    }
        => |source_file, range| hint(format!(
            "to see what it made: git diff {} {} -- {}",
            typed(&range.0),
            typed(&range.1),
            typed(source_file)
        ))
        .exit(Exit::Person);
    #[error("story {0} is already complete")]
    AlreadyComplete(String)
        => "git ralph stories";
    #[error("every remaining story waits for another{}", list(": ", .0, ""))]
    Blocked(Vec<String>)
        => Person, "fix their dependencies in the list; in an active loop: git ralph skip <change> <story>";
    /// The dependencies of a list whose stories are to be attempted side by side cannot be relied on.
    #[error("{list}: {why}: which stories may be attempted side by side is not known")]
    Order {
        change: String,
        list: String,
        /// The fault, in words.
        why: String,
    }
        => Person, "correct {list}, or attempt them one after another: git ralph run {change} --jobs 1", list, change;
    /// Attempts have added more stories than they may.
    #[error("attempts have added {} to {source_file}; the next of them is {story}", counted(*added, "story", "stories"))]
    Grown {
        change: String,
        added: usize,
        story: String,
        /// The story list, or the command that prints it.
        source_file: String,
    }
        => Person, "look at them: git ralph stories {change}; to go on: git ralph run {change} (it stops again after as many more)", change;
    #[error("story {story} is complete, but {} still lists it as open", source_name(source_file, *by_command))]
    StillOpen {
        change: String,
        story: String,
        /// The story list, or the command that prints it.
        source_file: String,
        /// True if a command of the user's has to mark it.
        by_command: bool,
    }
        => |change, story, by_command| {
            let mark = if *by_command {
                "fix ralph.doneCommand"
            } else {
                "mark it as done there"
            };
            let story = typed(story);
            hint(format!(
                "{mark}, then run the same command again; or: git ralph skip {change} {story}",
                change = typed(change)
            ))
        };
}
}

impl StoryRefusal {
    /// Refuses a list without a story.
    pub fn of_none(source: Source) -> Self {
        Self::NoStories {
            source_file: source.path,
            adapter: source.adapter,
        }
    }
}

/// Returns the name of a story list for messages.
fn source_name(source_file: &str, by_command: bool) -> String {
    if by_command {
        format!("ralph.storiesCommand (`{source_file}`)")
    } else {
        source_file.to_owned()
    }
}

fn no_stories_in(source_file: &str, adapter: Adapter) -> String {
    match adapter {
        Adapter::Command => format!("{} printed no stories", source_name(source_file, true)),
        _ => format!("{source_file} has no stories"),
    }
}

fn no_stories_hint(source_file: &str, adapter: Adapter) -> String {
    let hint = match adapter {
        Adapter::Command => {
            "run it in the top directory; it must print one JSON object per story, such as: {\"id\": \"1\", \"title\": \"Describe the work\"}"
        }
        Adapter::Prd => "add a story such as: {\"id\": \"1\", \"title\": \"Describe the work\"}",
        Adapter::Openspec | Adapter::Markdown => {
            let list = typed(source_file);
            return format!(
                "add a task such as: - [ ] 1.1 Describe the work; or take the whole text as one story: --stories {list}#whole"
            );
        }
    };
    hint.to_owned()
}
