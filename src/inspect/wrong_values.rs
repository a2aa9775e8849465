//! Finds values of settings that would stop a run, or have no effect, by the kinds in the table of settings. Runs no
//! command of the user's.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use jiff::SignedDuration;

use crate::agent::plain_first_word;
use crate::async_cmd::{self, Command, find_program};
use crate::engine::unusable_place;
use crate::fs::may_exist;
use crate::git::{Git, Repo};
use crate::prompt::Template;
use crate::sandbox;
use crate::settings::Settings;
use crate::stories::Adapter;

/// A lease below this is hardly meant: a busy machine, or a slow remote, is silent for longer.
const SHORT_LEASE: SignedDuration = SignedDuration::from_mins(1);

/// A value that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The setting, and what is wrong with it.
    pub message: String,
    /// The command to type.
    pub hint: String,
    /// True if the value only has no effect.
    pub is_harmless: bool,
}

impl Wrong {
    /// Returns it as a value that only has no effect.
    fn harmless(self) -> Self {
        Self {
            is_harmless: true,
            ..self
        }
    }
}

/// Lists the wrong values of the settings of a repository.
pub async fn wrong_values(settings: &Settings, repo: &Repo) -> Vec<Wrong> {
    let (mut found, top) = (Vec::new(), repo.top.as_path());
    for (key, kind, text) in settings.texts_of_kinds() {
        let why = match kind {
            "Command" => match unreadable(text, top).await {
                None => missing(text, top).await,
                why => why,
            },
            // Its program may be named differently, and is checked with the agents.
            "Agent" => unreadable(text, top).await,
            "Template" => match Template::load(top, Some(text)) {
                Ok(template) if template.has_variable() => None,
                Ok(_) => Some(format!(
                    "'{text}' has no variable, so the agent does not learn its story"
                )),
                Err(error) => Some(error.to_string()),
            },
            "Remote" => unknown_remote(text, top).await,
            _ => None,
        };
        found.extend(why.map(|why| wrong(key, &why)));
    }
    for (name, pieces) in &settings.agents {
        let command = pieces.command.as_deref();
        let args = pieces.args.as_ref().map(|args| format!("{name} {args}"));
        for (part, line) in [("command", command), ("args", args.as_deref())] {
            let Some(line) = line else { continue };
            let why = match unreadable(line, top).await {
                None if part == "command" => missing(line, top).await,
                why => why,
            };
            found.extend(why.map(|why| wrong(&format!("ralph.agent.{name}.{part}"), &why)));
        }
    }
    found.extend(pathspecs(settings, repo).await);
    let main = repo.main_top().await.ok().flatten();
    let why = unusable_place(main.as_deref().unwrap_or(top), settings);
    found.extend(why.map(|why| wrong("ralph.worktreeDir", &why)));
    found.extend(without_adapter(settings));
    found.extend(odd_times(settings));
    found.extend(not_in_box(settings));
    found
}

/// Returns the words about times that are allowed, and hardly meant.
fn odd_times(settings: &Settings) -> Vec<Wrong> {
    let mut found = Vec::new();
    let mut note = |message: &str, hint: &str| {
        found.push(Wrong {
            message: message.to_owned(),
            hint: hint.to_owned(),
            is_harmless: true,
        });
    };
    if settings.command_timeout == SignedDuration::MAX {
        note(
            "ralph.commandTimeout is no limit: a git or adapter command that hangs stops the loop for ever",
            "git config ralph.commandTimeout 10m",
        );
    }
    if settings.lease < SHORT_LEASE {
        note(
            &format!(
                "ralph.lease is {:#}: if a run is held up for longer, another run takes its loop",
                settings.lease
            ),
            "git config ralph.lease 15m",
        );
    }
    found
}

/// Returns the words about pathspecs that git cannot read, or that match nothing.
async fn pathspecs(settings: &Settings, repo: &Repo) -> Vec<Wrong> {
    let mut found = Vec::new();
    let [tests, scripts] = settings.tests.all_pathspecs();
    let copied = ("ralph.worktreeCopy", settings.worktree_copy.as_slice());
    let inputs = ("ralph.setupInputs", settings.setup_inputs.as_slice());
    for (key, pathspecs) in [tests, scripts, copied, inputs] {
        let (git, is_copied) = (&repo.git, key == "ralph.worktreeCopy");
        if let Ok(Some(words)) = git.refused_pathspecs(pathspecs).await {
            found.push(wrong(key, &format!("git cannot read it as pathspecs: {words}")));
            continue;
        }
        for pathspec in pathspecs {
            let (matches, of_kind) = if is_copied {
                (git.is_any_ignored(pathspec).await, "ignored file")
            } else {
                (git.is_any_file(pathspec).await, "file")
            };
            if matches!(matches, Ok(false)) {
                found.push(wrong(key, &format!("no {of_kind} matches {pathspec}")).harmless());
            }
        }
    }
    if !settings.tests.pathspecs.is_empty() && settings.verify.is_empty() {
        found.push(Wrong {
            message: "ralph.tests has no effect without ralph.verify: no gate runs these tests".to_owned(),
            hint: "git config --add ralph.verify '<command>'".to_owned(),
            is_harmless: true,
        });
    }
    found.extend(settings.why_unreviewed_tests().map(|why| Wrong {
        message: why.to_owned(),
        hint: "git config ralph.review <agent>".to_owned(),
        is_harmless: true,
    }));
    found
}

/// Returns messages about configured paths and variables that do not exist.
fn not_in_box(settings: &Settings) -> Vec<Wrong> {
    let allowed = &settings.boxing.allowed;
    let paths = allowed.read.iter().chain(&allowed.written);
    let missing = paths.filter(|path| !may_exist(&sandbox::given(path)));
    let missing = missing.map(|path| format!("{path}, which does not exist: it is not seen in the box"));
    let unset = allowed
        .variables
        .iter()
        .filter(|name| env::var_os(name).is_none());
    let unset = unset.map(|name| format!("the variable {name}, which is not set here"));
    let wrong = missing.chain(unset).map(|what| Wrong {
        message: format!("ralph.boxAllow names {what}"),
        // Former names of the setting are read, too.
        hint: "to see where it is set: git config --show-origin --get-regexp '^ralph\\.box'".to_owned(),
        is_harmless: true,
    });
    wrong.collect()
}

/// Returns a message about an invalid value.
fn wrong(key: &str, why: &str) -> Wrong {
    Wrong {
        message: format!("{key}: {why}"),
        hint: format!("to see where it is set: git config --show-origin --get-all {key}"),
        is_harmless: false,
    }
}

/// Returns why a shell cannot read a command line.
async fn unreadable(line: &str, top: &Path) -> Option<String> {
    let command = Command::new("sh").args(["-n", "-c", line]).dir(top);
    let output = async_cmd::run(command).await.ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("it is no shell command").trim();
    (output.code != Some(0)).then(|| format!("the shell cannot read `{line}`: {said}"))
}

/// Returns a message about a command line whose program is neither on PATH nor built into the shell.
async fn missing(line: &str, top: &Path) -> Option<String> {
    let word = plain_first_word(line)?;
    if find_program(OsStr::new(word), top).is_some() {
        return None;
    }
    let command = Command::new("sh")
        .args(["-c", "command -v \"$1\"", "sh", word])
        .dir(top);
    // A shell also finds a directory.
    let is_built_in = !word.contains('/') && async_cmd::run(command).await.ok()?.code == Some(0);
    (!is_built_in).then(|| format!("cannot find the program '{word}' of `{line}`"))
}

/// Returns a message about a remote that is no name, no URL and no path.
async fn unknown_remote(name: &str, top: &Path) -> Option<String> {
    let asked = Git::at(top)
        .cmd("ls-remote", ["--get-url", "--", name])
        .text()
        .await
        .ok()?;
    let is_known = asked.trim_end() != name || name.contains(':') || may_exist(&top.join(name));
    (!is_known).then(|| format!("there is no remote '{name}'"))
}

/// Returns messages about tracker commands that no adapter runs.
fn without_adapter(settings: &Settings) -> Vec<Wrong> {
    let is_used = settings.adapter.as_deref() == Some(Adapter::Command.name());
    let set = [
        ("ralph.storiesCommand", settings.stories_command.is_some()),
        ("ralph.doneCommand", settings.done_commands.has_lines()),
    ];
    let unused = set.into_iter().filter(|(_, is_set)| *is_set && !is_used);
    let wrong = unused.map(|(key, _)| Wrong {
        message: format!("{key} has no effect without ralph.adapter=command"),
        hint: "git config ralph.adapter command".to_owned(),
        is_harmless: true,
    });
    wrong.collect()
}
