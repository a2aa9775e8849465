//! What to type next, for every error where there is something to type.

use std::path::Path;

use super::Error;
use crate::agent::presets;
use crate::agent::process::ProcessError;
use crate::async_cmd::{CommandError, quoted};
use crate::git::{GitError, RefFile, worktree::WorkTreeError};
use crate::install::agent_settings::SettingsFileError;
use crate::protect::ProtectError;
use crate::settings::SettingsError;
use crate::state::StateError;
use crate::stories::{Adapter, SourceError};

impl Error {
    /// Returns what to type next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Damaged { git_dir, .. } => damaged_hint(git_dir),
            Self::NoWorkTree(_) => "cd into a repository, or begin one with: git init".to_owned(),
            Self::OtherGitDir { .. } => {
                "cd into the work tree of that repository, or: unset GIT_DIR".to_owned()
            }
            Self::InsideAttempt => "end the attempt with its promise; the loop goes on by itself".to_owned(),
            Self::UnknownLoop { name, known } => match closest(name, known) {
                Some(meant) => format!("did you mean '{meant}'? To begin a loop: git ralph start {name}"),
                None => format!("git ralph start {name}"),
            },
            Self::NoLoop(_) => "git ralph start <change>".to_owned(),
            Self::SeveralLoops(_) => "name one of them, or see: git ralph status".to_owned(),
            Self::OperationInProgress(what) => operation_hint(what),
            Self::Unmerged(_) => "resolve them, then: git add <path>".to_owned(),
            Self::DirtySubmodule(path) => format!("commit or stash them: git -C {} stash -u", quoted(path)),
            Self::OnFinishedBranch(_) => {
                "git checkout <another branch>, then the same command again".to_owned()
            }
            Self::OnLoopBranch(branch) => {
                let change = branch.trim_start_matches("ralph/");
                format!("git ralph start {change} --resume, or: git checkout <another branch>")
            }
            Self::CheckedOutElsewhere { path, .. } | Self::OriginalElsewhere { path, .. } => {
                format!("git -C {} checkout --detach", quoted(path))
            }
            Self::OtherLoop(change) | Self::LoopLive(change) | Self::OriginalMoved { change, .. } => {
                format!("git ralph finish {change}")
            }
            Self::BranchInTheWay { branch, .. } => format!("git branch -m {branch} <another name>"),
            Self::TooMuch(_) => "use a repository in a directory of its own".to_owned(),
            Self::OddHead(_) => "git checkout <branch>".to_owned(),
            Self::NoStories { adapter, .. } => no_stories_hint(*adapter).to_owned(),
            Self::NothingLeft {
                live: true, change, ..
            } => {
                format!("git ralph finish --cleanup {change}")
            }
            Self::RetryFirst { change, .. } => format!("git ralph retry {change}"),
            Self::RetriesSpent { change, story } => {
                format!(
                    "git ralph finish {change}, or: git ralph skip {change} {}",
                    quoted(story)
                )
            }
            Self::NothingFailed(change) => format!("git ralph next {change}"),
            Self::LoopFinished(change) => format!("git ralph start {change}"),
            Self::Blocked(_) => {
                "mend what they wait for in the list; in a loop that goes on: git ralph skip <change> <story>"
                    .to_owned()
            }
            Self::UnknownStory { id, known, .. } => match closest(id, known) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None => "git ralph stories".to_owned(),
            },
            Self::StillOpen {
                change,
                story,
                by_command,
                ..
            } => {
                let mend = if *by_command {
                    "mend ralph.doneCommand"
                } else {
                    "mark it as done there"
                };
                format!(
                    "{mend}, then the same command again; or: git ralph skip {change} {}",
                    quoted(story)
                )
            }
            Self::NothingChanged { change, .. } => format!(
                "see whether the agent may write files (git ralph log {change}), then the same command again"
            ),
            Self::NoAgent(command) => {
                format!(
                    "git ralph {command} -- <agent command>, or: git config ralph.agent <name>; names: git ralph doctor"
                )
            }
            Self::AgentMissing(name) => {
                let known: Vec<String> = presets::ALL.iter().map(|preset| preset.name.to_owned()).collect();
                match closest(name, &known) {
                    Some(meant) => format!("did you mean '{meant}'? Names: git ralph doctor"),
                    None => "install it, or name another after --".to_owned(),
                }
            }
            Self::AgentUnable { log, advice, .. } => {
                let advice = advice.unwrap_or("mend that");
                let log = log.display();
                format!("{advice}, then the same command again; what the agent printed: {log}")
            }
            Self::HookRefused { file, log, .. } => {
                let place = match file {
                    Some(file) => file.display().to_string(),
                    None => {
                        r"in the configuration (git config --show-origin --get-regexp ^hook\.)".to_owned()
                    }
                };
                format!("the hook is {place}; what it printed: {}", log.display())
            }
            Self::AgentSettings(SettingsFileError::Text { path, .. }) => {
                format!(
                    "mend {}, then the same command again",
                    quoted(&path.to_string_lossy())
                )
            }
            Self::GitHooks { hint, .. } => hint.clone(),
            Self::HeadElsewhere { branch, .. } => format!("git checkout {branch}"),
            Self::OtherWorkTree { path, .. } => format!("cd {}", quoted(path)),
            Self::CheckpointGone { branch, checkpoint } => {
                format!("git branch rescued {branch} && git reset --soft {checkpoint}")
            }
            Self::Unfit { change, file, .. } => {
                let file = quoted(&file.to_string_lossy());
                format!("mv {file} {file}.damaged && git ralph start {change} --resume")
            }
            Self::Protect(error) => return protect_hint(error),
            Self::NoChoice(change) => format!("git ralph finish --cleanup {change}")
                .trim_end()
                .to_owned(),
            Self::NotAtCheckpoint(change) => {
                format!("git ralph complete {change}, or: git ralph revert {change}")
            }
            Self::UnknownAttempt { change, .. } => format!("git ralph log {change}"),
            Self::NoAttempt(_) => "git ralph log".to_owned(),
            Self::NothingToResume(change) => {
                format!("git checkout ralph/{change}, or begin anew: git ralph start {change}")
            }
            Self::OriginalGone { branch, oid, .. } => format!("git branch {branch} {oid}"),
            Self::OriginalBorn { change, .. } | Self::Conflict { change, .. } => {
                format!("git ralph finish --keep {change}, then: git rebase or git merge by hand")
            }
            Self::InTheWay { .. } => "move them elsewhere, then the same command again".to_owned(),
            Self::WorkTree(WorkTreeError::Unreadable(_)) => {
                "make it readable with chmod, or have git ignore it".to_owned()
            }
            Self::State(StateError::Foreign { path, owner }) => {
                format!(
                    "sudo -u {owner} git ralph status, or, if it is yours: sudo chown -R \"$USER\" {}",
                    quoted(&path.to_string_lossy())
                )
            }
            Self::State(StateError::Newer { .. }) => "install a newer git-ralph".to_owned(),
            Self::State(StateError::Damaged { path, .. }) => {
                let change = path.file_stem().unwrap_or_default().to_string_lossy();
                format!("move the file away, then: git ralph start {change} --resume")
            }
            Self::Change(_) => {
                "use letters, digits, '-', '_' and single dots: git ralph start add-login".to_owned()
            }
            Self::State(StateError::Busy { .. } | StateError::Outlived { .. }) => {
                "wait for it, then the same command again".to_owned()
            }
            Self::Prompt(_) => "git ralph prompt --template shows the built-in template".to_owned(),
            Self::Source(SourceError::NoCommand) => {
                "git config ralph.storiesCommand '<command that prints one JSON object a story>'".to_owned()
            }
            Self::Source(SourceError::Ambiguous { .. }) => "name one of them: --stories <path>".to_owned(),
            Self::Source(SourceError::NoStories { change, changes, .. }) => match closest(change, changes) {
                Some(meant) => format!("did you mean '{meant}'? Or name a list: --stories <path>"),
                None => format!("write openspec/changes/{change}/tasks.md, or name a list: --stories <path>"),
            },
            Self::Source(SourceError::UnknownAdapter { name }) => {
                let known = Adapter::ALL.map(|adapter| adapter.name().to_owned());
                format!("--adapter {}", closest(name, &known).unwrap_or("<name>"))
            }
            Self::Source(SourceError::CommandFailed { .. }) => {
                "run it by hand in the top directory, and mend what it says".to_owned()
            }
            Self::Source(SourceError::Malformed { .. }) => {
                "mend it there, then see: git ralph stories".to_owned()
            }
            Self::Source(
                SourceError::Missing { .. }
                | SourceError::Directory { .. }
                | SourceError::NotRegular { .. }
                | SourceError::TooLarge { .. }
                | SourceError::Outside { .. },
            ) => "name another list: --stories <path>".to_owned(),
            Self::Source(SourceError::Unmarkable { .. } | SourceError::Untickable { .. }) => {
                "mark it there by hand, then the same command again".to_owned()
            }
            Self::Source(SourceError::Overwritten { .. }) => "the same command again".to_owned(),
            Self::NothingLeft { change, .. } => format!("git ralph stories {change}"),
            Self::NothingSkipped => "git ralph stories".to_owned(),
            Self::Settings(SettingsError::Value { key, .. }) => {
                format!("git config --show-origin --get-all {key}")
            }
            Self::Process(ProcessError::Immortal(_)) => "end them by hand, then: git ralph status".to_owned(),
            Self::WorkTree(WorkTreeError::Unstorable(_)) => "move it away, or have git ignore it".to_owned(),
            Self::Git(error)
            | Self::WorkTree(WorkTreeError::Git(error))
            | Self::Settings(SettingsError::Git(error)) => {
                return git_hint(error);
            }
            Self::Stopped(_) => "the same command again goes on".to_owned(),
            Self::WrongPhase(change) => format!("git ralph status {change}"),
            // The system's own reason says what to repair.
            Self::Source(SourceError::Unreadable { .. } | SourceError::Unwritable { .. })
            | Self::File(_)
            | Self::Guard(_)
            | Self::System { .. }
            | Self::Process(_)
            | Self::AgentSettings(_)
            | Self::State(_)
            | Self::Demo(_) => {
                return None;
            }
        };
        Some(hint)
    }
}

fn damaged_hint(git_dir: &Path) -> String {
    let (head, config) = (git_dir.join("HEAD"), git_dir.join("config"));
    let name = |file: &Path| quoted(&file.to_string_lossy());
    match RefFile::read(&head) {
        RefFile::Missing | RefFile::Damaged => {
            format!(
                "name the branch that you were on in it: echo 'ref: refs/heads/<branch>' >{}",
                name(&head)
            )
        }
        _ if config.is_dir() => format!(
            "make a new file there: mv {0} {0}.damaged && git init",
            name(&config)
        ),
        _ => "repair what git names, then: git ralph status".to_owned(),
    }
}

fn protect_hint(error: &ProtectError) -> Option<String> {
    let hint = match error {
        ProtectError::RepositoryGone(_) => "bring it back to that place, then: git ralph status",
        ProtectError::Restless(_) => "end what writes there, then: git ralph revert",
        // These are the errors of files and of git themselves.
        ProtectError::File(_) | ProtectError::Git(_) | ProtectError::WorkTree(_) => return None,
    };
    Some(hint.to_owned())
}

fn git_hint(error: &GitError) -> Option<String> {
    let hint = match error {
        GitError::Locked(path) => {
            format!(
                "if no other git is at work: rm {}",
                quoted(&path.to_string_lossy())
            )
        }
        GitError::Run(CommandError::Spawn { .. }) => "git ralph doctor".to_owned(),
        GitError::Run(CommandError::TimedOut { .. }) => {
            "git config ralph.commandTimeout <time>, if that is not enough".to_owned()
        }
        GitError::Failed { .. } | GitError::Answer { .. } => {
            "the same command with -v shows each git command as it runs".to_owned()
        }
        // The system's own reason says what to repair.
        GitError::Run(CommandError::Read { .. }) | GitError::File(_) => return None,
    };
    Some(hint)
}

/// Returns the name that was probably meant: one that a slip of the hand turns into this one.
fn closest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let slips = |other: &&String| strsim::damerau_levenshtein(name, other);
    let nearest = known.iter().min_by_key(slips)?;
    let most = (name.chars().count() / 3).clamp(1, 3);
    (slips(&nearest) <= most && nearest != name).then_some(nearest)
}

fn no_stories_hint(adapter: Adapter) -> &'static str {
    match adapter {
        Adapter::Command => {
            "run it by hand in the top directory; it must print one object a story, like: {\"id\": \"1\", \"title\": \"Describe the work\"}"
        }
        Adapter::Prd => "add a story like: {\"id\": \"1\", \"title\": \"Describe the work\"}",
        Adapter::Openspec | Adapter::Markdown => "add a task like: - [ ] 1.1 Describe the work",
    }
}

fn operation_hint(what: &str) -> String {
    match what {
        "bisect" => "git bisect reset".to_owned(),
        "cherry-pick or revert" => "git cherry-pick --abort, or: git revert --abort".to_owned(),
        _ => format!("git {what} --continue, or: git {what} --abort"),
    }
}
