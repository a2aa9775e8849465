//! The errors of a source, each on one line.

use std::path::PathBuf;

use super::Adapter;

use crate::error::advice::hint;
use crate::error::refusals::refusals;
use crate::fs::system_words;
use crate::names::{Change, closest, typed};

/// The command that reads a list, as the user has typed it. Others read one as `start` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Reader {
    /// `git ralph start`.
    Start,
    /// `git ralph start --resume`.
    #[strum(serialize = "start --resume")]
    Resume,
    /// `git ralph run`.
    Run,
    /// `git ralph stories`.
    Stories,
}

refusals! {
/// The reason why a source was not found, not read or not edited.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// `--adapter` names none of [`Adapter::ALL`].
    #[error("unknown adapter '{name}': the adapters are {}", Adapter::ALL.map(Adapter::name).join(", "))]
    UnknownAdapter {
        name: String,
        /// The change whose list it should read, if known.
        change: Option<String>,
        /// The command that reads a list, as the user has typed it.
        verb: Reader,
    }
        => |name, change, verb| {
            let known = Adapter::ALL.map(|adapter| adapter.name().to_owned());
            let meant = closest(name, &known).unwrap_or(Adapter::Markdown.name());
            let change = change.as_ref().map_or_else(|| "<change>".to_owned(), typed);
            hint(format!("git ralph {verb} {change} --adapter {meant}, or: git config ralph.adapter {meant}"))
        };
    /// The command adapter has no command that lists stories.
    #[error("no command that lists the stories is configured")]
    NoCommand
        => "git config ralph.storiesCommand '<command that prints one JSON object per story>'";
    /// A command of the user's failed.
    #[error("{key} failed: `{command}`: {how}")]
    CommandFailed {
        /// The setting that names it.
        key: &'static str,
        command: String,
        /// The exit of the command, and its last output.
        how: String,
    }
        => "run it in the top directory, and fix what it reports";
    /// The content is not what the adapter reads.
    #[error("cannot read stories from '{path}': {cause}")]
    Malformed {
        /// The path of the source, or the command.
        path: String,
        /// The problem, with its line and column if known.
        cause: String,
    }
        => "fix it, then run the same command again";
    /// The list has the mark of UTF-16 at its beginning.
    #[error("cannot read stories from '{path}': it is not UTF-8, but UTF-16")]
    Utf16 { path: String }
        => |path| {
            let (list, new) = (typed(path), typed(format!("{path}.utf-8")));
            hint(format!("iconv -f UTF-16 -t UTF-8 {list} >{new} && mv {new} {list}"))
        };
    /// Marking a story would change more than its mark.
    #[error(
        "cannot mark the story at '{path}' line {line} as done without changing anything else in the list"
    )]
    Unmarkable {
        path: String,
        /// The 1-based line of the story.
        line: usize,
    }
        => "mark it there yourself, then run the same command again";
    /// No layout has stories for the change.
    #[error("no stories found for change '{change}'{}", searched(looked_for, passed_over))]
    NoStories {
        change: String,
        /// The missing paths, relative to the top, in the order of the search.
        looked_for: Vec<String>,
        /// The changes that have stories, sorted.
        changes: Vec<String>,
        /// Files that may be meant but name no change, each with the reason.
        passed_over: Vec<String>,
        /// The checklist that is probably meant.
        checklist: Option<Box<str>>,
        /// The command that reads a list, as the user has typed it.
        verb: Reader,
    }
        => |change, looked_for, changes, checklist, verb| {
            let known = if changes.is_empty() {
                String::new()
            } else {
                let found = listed(&changes.iter().map(typed).collect::<Vec<_>>());
                format!("; changes found: {found}")
            };
            let otherwise = match checklist {
                Some(list) => start_with(*verb, change, list),
                None => "name a list: --stories <path>".to_owned(),
            };
            hint(match (closest(change, changes), checklist) {
                (Some(meant), _) => format!("did you mean '{meant}'? Otherwise {otherwise}{known}"),
                (None, Some(_)) => otherwise + &known,
                (None, None) => {
                    let usual = format!("openspec/changes/{change}/tasks.md");
                    let usual = if looked_for.contains(&usual) { typed(usual) } else { "one of these files".to_owned() };
                    format!("write {usual}, or {otherwise}{known}")
                }
            })
        };
    /// No layout has stories for any change.
    #[error("no story list found{}", searched(looked_for, passed_over))]
    NoLists {
        /// The places that were searched, in their order.
        looked_for: Vec<String>,
        /// Files that may be meant but name no change, each with the reason.
        passed_over: Vec<String>,
        /// The checklist that is probably meant.
        checklist: Option<Box<str>>,
        /// The command that reads a list, as the user has typed it.
        verb: Reader,
    }
        => |passed_over, checklist, verb| hint(match (checklist, broken(passed_over)) {
            (Some(list), _) => start_with(*verb, Change::of_list(list).as_str(), list),
            (None, Some(file)) => format!("correct {file}, then run the same command again"),
            (None, None) => format!("write one, or name one: git ralph {verb} <change> --stories <path>"),
        });
    /// More than one layout has stories for the change.
    #[error("more than one story file found for change '{change}': {}", listed(.paths))]
    Ambiguous { change: String, paths: Vec<String> }
        => |paths| hint(format!("name one of them, such as: --stories {}", paths.first().map_or_else(|| "<path>".to_owned(), typed)));
    /// There is no such file.
    #[error("no story file at '{path}'{}", relative_to(path))]
    Missing { path: String }
        => "name another list: --stories <path>, or: git config ralph.stories <path>";
    /// The list of a loop that has begun was moved or deleted.
    #[error("the story list '{path}' of this loop is gone")]
    Gone {
        path: String,
        /// The last checkpoint, if it has the list.
        checkpoint: Option<String>,
    }
        => |path, checkpoint| hint(match checkpoint {
            Some(commit) => format!(
                "if it was moved, move it back; to have it as at the last checkpoint: git restore --source={commit} :{}",
                typed(format!("/{path}"))
            ),
            None => "move it back, or write it again; no checkpoint has it".to_owned(),
        });
    /// The path is relative to the top, but was typed in another directory.
    #[error("no story file at '{path}'{}", relative_to(path))]
    FromTop {
        /// The typed path, relative to the top.
        path: String,
        /// The path to type instead.
        from_here: String,
    }
        => "--stories is relative to the current directory: --stories {from_here}", from_here;
    /// The path names a file of JSON lines.
    #[error("cannot read stories from '{path}': it is not a checklist")]
    NoChecklist { path: String }
        => |path| {
            let print = typed(format!("cat {}", typed(path)));
            hint(format!(
                "have a command print it: git config ralph.adapter command; git config ralph.storiesCommand {print}"
            ))
        };
    /// The path is a directory.
    #[error("cannot read stories from '{path}': it is a directory")]
    Directory { path: String }
        => "name another list: --stories <path>, or: git config ralph.stories <path>";
    /// The path is a pipe, a socket or a device.
    #[error("cannot read stories from '{path}': it is not a regular file")]
    NotRegular { path: String }
        => "name another list: --stories <path>, or: git config ralph.stories <path>";
    /// The file is larger than 16 MiB.
    #[error("cannot read stories from '{path}': it is larger than {} MiB", limit >> 20)]
    TooLarge {
        path: String,
        /// The largest size that is read, in bytes.
        limit: u64,
    }
        => "name another list: --stories <path>, or: git config ralph.stories <path>";
    /// The file exists and reading it failed.
    #[error("cannot read stories from '{path}': {}", system_words(cause))]
    Unreadable { path: String, cause: std::io::Error };
    /// The path is relative, yet leads out of the repository.
    #[error("cannot edit '{path}': it leads to '{}', outside the repository", .target.display())]
    Outside {
        path: String,
        /// The path it leads to, without symlinks.
        target: PathBuf,
    }
        => "name another list: --stories <path>, or: git config ralph.stories <path>";
    /// Ticking a box would make it something else, such as a link.
    #[error("cannot tick the box at '{path}' line {line}: it would no longer be a box")]
    Untickable {
        path: String,
        /// The 1-based line of the box.
        line: usize,
    }
        => "mark it there yourself, then run the same command again";
    /// Writing the ticked file failed; the old content is still there.
    #[error("cannot write '{path}': {}", system_words(cause))]
    Unwritable { path: String, cause: std::io::Error };
    /// The file was written, and something else wrote it at the same time.
    #[error("cannot confirm the ticks in '{path}': something else changed it at the same time")]
    Overwritten { path: String }
        => "run the same command again";
}
}

/// Returns the places that were searched, and what was found there, one a line.
fn searched(places: &[String], passed_over: &[String]) -> String {
    let mut text = "\n  looked for, in this order:".to_owned();
    for place in places {
        text.push_str(&format!("\n    {place}"));
    }
    for file in passed_over {
        text.push_str(&format!("\n  {file}"));
    }
    text
}

impl SourceError {
    /// Names the change in the hint.
    pub(crate) fn for_change(mut self, of: &str) -> Self {
        if let Self::UnknownAdapter { change, .. } = &mut self {
            *change = Some(of.to_owned());
        }
        self
    }
}

/// Returns the command that reads this list.
fn start_with(verb: Reader, change: &str, list: &str) -> String {
    format!("git ralph {verb} {} --stories {}", typed(change), typed(list))
}

/// The words between the name of a file that cannot be read and the reason.
pub(super) const UNREADABLE: &str = " cannot be read (";

/// Returns the first of these files that was found, and could not be read.
fn broken(passed_over: &[String]) -> Option<&str> {
    let mut broken = passed_over
        .iter()
        .filter_map(|words| words.split_once(UNREADABLE));
    broken.next().map(|(file, _)| file)
}

fn relative_to(path: &str) -> &'static str {
    if path.starts_with('/') {
        ""
    } else {
        " (relative to the top of the repository)"
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
