//! The table of all errors: each with its message, its hint and its exit code, as people and scripts get them.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use snapbox::data::DataFormat;
use snapbox::{Data, assert_data_eq};

use super::Error;
use crate::agent::process::ProcessError;
use crate::async_cmd::CommandError;
use crate::fs::FileError;
use crate::git::{GitError, worktree::WorkTreeError};
use crate::guard::GuardError;
use crate::install::agent_settings::SettingsFileError;
use crate::names::BadChange;
use crate::prompt::TemplateError;
use crate::protect::ProtectError;
use crate::settings::SettingsError;
use crate::state::{StateError, Verdict};
use crate::stories::{Adapter, SourceError};

fn full() -> io::Error {
    io::Error::other("no space left on device")
}

fn path(text: &str) -> PathBuf {
    PathBuf::from(text)
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}

fn command() -> Vec<CommandError> {
    let program = || "git".to_owned();
    vec![
        CommandError::Spawn {
            program: program(),
            source: io::ErrorKind::NotFound.into(),
        },
        CommandError::TimedOut {
            command: "git add -A".to_owned(),
            limit: Duration::from_secs(600),
        },
        CommandError::Read {
            program: program(),
            source: full(),
        },
    ]
}

fn git() -> Vec<GitError> {
    let mut all = vec![
        GitError::Failed {
            verb: "commit-tree".to_owned(),
            code: 128,
            words: "fatal: unable to write\nfatal: no space left on device\n".to_owned(),
        },
        GitError::Answer {
            verb: "rev-parse".to_owned(),
            answer: "?".to_owned(),
        },
        GitError::File(FileError {
            what: "write",
            path: path("/r/.git/index"),
            source: full(),
        }),
        GitError::Locked(path("/r/.git/index.lock")),
    ];
    all.extend(command().into_iter().map(GitError::Run));
    all
}

fn work_tree() -> Vec<WorkTreeError> {
    let git = git().into_iter().take(1).map(WorkTreeError::Git);
    git.chain([
        WorkTreeError::Unreadable("  secret.txt".to_owned()),
        WorkTreeError::Unstorable("  pipe".to_owned()),
    ])
    .collect()
}

fn state() -> Vec<StateError> {
    vec![
        StateError::Busy {
            change: "add-login".to_owned(),
            holder: Some("process 4711".to_owned()),
        },
        StateError::Outlived {
            change: "add-login".to_owned(),
            holder: "process 4711".to_owned(),
        },
        StateError::Foreign {
            path: path("/r/.git/ralph/add-login.toml"),
            owner: "ann".to_owned(),
        },
        StateError::Newer {
            path: path("/r/.git/ralph/add-login.toml"),
            found: 9,
        },
        StateError::Damaged {
            path: path("/r/.git/ralph/add-login.toml"),
            why: "line 3: expected a value".to_owned(),
        },
        StateError::File(FileError {
            what: "save",
            path: path("/r/.git/ralph/add-login.toml"),
            source: full(),
        }),
    ]
}

fn settings() -> Vec<SettingsError> {
    let git = git().into_iter().take(1).map(SettingsError::Git);
    git.chain([SettingsError::Value {
        key: "ralph.maxretries".to_owned(),
        value: "many".to_owned(),
        wanted: "a whole number, 0 or more",
    }])
    .collect()
}

fn source() -> Vec<SourceError> {
    let list = || "openspec/changes/add-login/tasks.md".to_owned();
    vec![
        SourceError::UnknownAdapter {
            name: "markdwon".to_owned(),
        },
        SourceError::NoCommand,
        SourceError::CommandFailed {
            key: "ralph.storiesCommand",
            command: "bd list --json".to_owned(),
            how: "exit code 1\n  no database".to_owned(),
        },
        SourceError::Malformed {
            path: "prd.json".to_owned(),
            cause: "line 3 column 5: expected a comma".to_owned(),
        },
        SourceError::Unmarkable {
            path: "prd.json".to_owned(),
            line: 3,
        },
        SourceError::NoStories {
            change: "add-logn".to_owned(),
            looked_for: words(&["openspec/changes/add-logn/tasks.md", "prd.json"]),
            changes: words(&["add-login"]),
            passed_over: Vec::new(),
        },
        SourceError::Ambiguous {
            change: "add-login".to_owned(),
            paths: words(&["specs/add-login/tasks.md", "prd.json"]),
        },
        SourceError::Missing { path: list() },
        SourceError::Directory { path: list() },
        SourceError::NotRegular { path: list() },
        SourceError::TooLarge {
            path: list(),
            limit: 16_777_216,
        },
        SourceError::Unreadable {
            path: list(),
            cause: io::ErrorKind::PermissionDenied.into(),
        },
        SourceError::Outside {
            path: list(),
            target: path("/elsewhere/tasks.md"),
        },
        SourceError::Untickable {
            path: list(),
            line: 3,
        },
        SourceError::Unwritable {
            path: list(),
            cause: full(),
        },
        SourceError::Overwritten { path: list() },
    ]
}

fn template() -> Vec<TemplateError> {
    vec![
        TemplateError::Unreadable {
            path: "prompt.md".to_owned(),
            cause: io::ErrorKind::NotFound.into(),
        },
        TemplateError::Mistake {
            name: "prompt.md".to_owned(),
            line: 3,
            column: 7,
            problem: "unknown variable 'stroy'".to_owned(),
        },
    ]
}

fn process() -> Vec<ProcessError> {
    vec![ProcessError::Immortal(2), ProcessError::Log(full())]
}

/// Returns every error there is, at least once.
fn all() -> Vec<Error> {
    let change = || "add-login".to_owned();
    let branch = || "ralph/add-login".to_owned();
    let story = || "2".to_owned();
    let list = || "openspec/changes/add-login/tasks.md".to_owned();
    let mut all: Vec<Error> = Vec::new();
    all.extend(git().into_iter().map(Error::from));
    all.extend(work_tree().into_iter().map(Error::from));
    all.extend(state().into_iter().map(Error::from));
    all.extend(settings().into_iter().map(Error::from));
    all.extend(source().into_iter().map(Error::from));
    all.extend(template().into_iter().map(Error::from));
    all.extend(process().into_iter().map(Error::from));
    all.extend([
        Error::Change(BadChange {
            name: "add/login".to_owned(),
            why: "it has a '/'",
        }),
        Error::File(FileError {
            what: "make",
            path: path("/r/.git/ralph/add-login/attempts/2.1.log"),
            source: full(),
        }),
        Error::Guard(GuardError::File(FileError {
            what: "make",
            path: path("/r/.git/ralph/add-login/hooks"),
            source: full(),
        })),
        Error::System {
            what: "find the current directory",
            source: io::ErrorKind::NotFound.into(),
        },
        Error::Damaged {
            git_dir: path("/r/.git"),
            words: "fatal: not a git repository".to_owned(),
        },
        Error::Unfit {
            change: "add-login".to_owned(),
            checkpoint: "0123456789".to_owned(),
            file: path("/r/.git/ralph/add-login.toml"),
        },
        Error::NoWorkTree("fatal: not a git repository".to_owned()),
        Error::OtherGitDir {
            named: path("/other/.git"),
            found: path("/r/.git"),
        },
        Error::InsideAttempt,
        Error::AgentSettings(SettingsFileError::NoHome),
        Error::AgentSettings(SettingsFileError::Text {
            path: path("/home/u/.claude/settings.json"),
            why: "its hooks is no object".to_owned(),
        }),
        Error::AgentSettings(SettingsFileError::File {
            what: "write",
            path: path("/home/u/.claude/settings.json"),
            source: full(),
        }),
        Error::GitHooks {
            why: "/r/.git/hooks leads out of the repository".to_owned(),
            hint: "rm /r/.git/hooks && mkdir /r/.git/hooks".to_owned(),
        },
        Error::UnknownLoop {
            name: "add-logn".to_owned(),
            known: words(&["add-login"]),
        },
        Error::UnknownLoop {
            name: "tidy-up".to_owned(),
            known: words(&["add-login"]),
        },
        Error::NoLoop(Vec::new()),
        Error::SeveralLoops(words(&["add-login", "tidy-up"])),
        Error::OperationInProgress("merge".to_owned()),
        Error::OperationInProgress("bisect".to_owned()),
        Error::OperationInProgress("cherry-pick or revert".to_owned()),
        Error::Unmerged(words(&["a.txt"])),
        Error::DirtySubmodule("lib".to_owned()),
        Error::OnLoopBranch(branch()),
        Error::OnFinishedBranch(branch()),
        Error::CheckedOutElsewhere {
            branch: branch(),
            path: "/other".to_owned(),
        },
        Error::OtherLoop("tidy-up".to_owned()),
        Error::BranchInTheWay {
            branch: "ralph".to_owned(),
            wanted: branch(),
        },
        Error::TooMuch(path("/home/ada")),
        Error::OddHead("refs/tags/v1".to_owned()),
    ]);
    for adapter in Adapter::ALL {
        let source_file = match adapter {
            Adapter::Command => "bd list --json".to_owned(),
            _ => list(),
        };
        all.push(Error::NoStories { source_file, adapter });
    }
    for live in [true, false] {
        all.push(Error::NothingLeft {
            change: change(),
            done: 3,
            total: 3,
            live,
        });
    }
    all.extend([
        Error::RetryFirst {
            change: change(),
            story: story(),
            left: 2,
        },
        Error::RetriesSpent {
            change: change(),
            story: story(),
        },
        Error::NothingFailed(change()),
        Error::LoopFinished(change()),
        Error::WrongPhase(change()),
        Error::UnknownStory {
            id: "lgin".to_owned(),
            source_file: list(),
            known: words(&["login", "logout"]),
        },
        Error::NothingSkipped,
        Error::Blocked(words(&["2 waits for 3", "3 waits for 2"])),
        Error::NothingChanged {
            change: change(),
            stories: 3,
        },
        Error::NoAgent("next".to_owned()),
        Error::AgentMissing("cluade".to_owned()),
        Error::AgentMissing("./agent.sh".to_owned()),
        Error::AgentUnable {
            log: path("/r/.git/ralph/add-login/attempts/2.1.log"),
            story: story(),
            verdict: Verdict::Auth,
            reason: Some("401 invalid key".to_owned()),
            advice: Some("sign in"),
        },
        Error::HeadElsewhere {
            head: "main".to_owned(),
            branch: branch(),
        },
        Error::OtherWorkTree {
            change: change(),
            path: "/other".to_owned(),
        },
        Error::CheckpointGone {
            branch: branch(),
            checkpoint: "6db9417f5d".to_owned(),
        },
        Error::Protect(ProtectError::RepositoryGone(path("/r/.git"))),
        Error::Protect(ProtectError::Restless(words(&["a.txt"]))),
        Error::NoChoice(change()),
        Error::OriginalGone {
            change: change(),
            branch: "main".to_owned(),
            oid: "bbebf10cdf".to_owned(),
        },
        Error::OriginalMoved {
            change: change(),
            branch: "main".to_owned(),
        },
        Error::NotAtCheckpoint(change()),
        Error::UnknownAttempt {
            change: change(),
            attempt: "2@9".to_owned(),
        },
        Error::NoAttempt("2@x".to_owned()),
        Error::LoopLive(change()),
        Error::NothingToResume(change()),
        Error::OriginalElsewhere {
            branch: "main".to_owned(),
            path: "/other".to_owned(),
        },
        Error::OriginalBorn {
            change: change(),
            branch: "main".to_owned(),
        },
        Error::Conflict {
            change: change(),
            branch: "main".to_owned(),
            paths: words(&["a.txt", "b.txt"]),
        },
        Error::InTheWay {
            of: "the attempt 2@1".to_owned(),
            paths: words(&["a.txt"]),
        },
        Error::Demo("no space left on device".to_owned()),
        Error::HookRefused {
            hook: "ralph-pre-attempt",
            why: "exit code 1".to_owned(),
            file: Some(path("/r/.git/hooks/ralph-pre-attempt")),
            log: path("/r/.git/ralph/add-login/hooks.log"),
        },
        Error::Stopped(2),
    ]);
    for by_command in [true, false] {
        all.push(Error::StillOpen {
            change: change(),
            story: story(),
            source_file: list(),
            by_command,
        });
    }
    all
}

#[test]
fn the_table_is_as_it_was_agreed() {
    let rows = all().into_iter().map(|error| {
        let hint = error.hint().unwrap_or_else(|| "-".to_owned());
        let kind = kind(&format!("{error:?}"));
        format!(
            "{kind} (exit {})\nerror: {error}\nhint: {hint}\n",
            error.exit().code()
        )
    });
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/error/table.txt");
    let text = rows.collect::<Vec<_>>().join("\n");
    assert_data_eq!(text, Data::read_from(&file, Some(DataFormat::Text)).raw());
}

#[test]
fn no_error_is_left_out_of_the_table() {
    complete(&all(), include_str!("mod.rs"), "Error");
    complete(&git(), include_str!("../git/command.rs"), "GitError");
    complete(&work_tree(), include_str!("../git/worktree.rs"), "WorkTreeError");
    complete(&state(), include_str!("../state/store.rs"), "StateError");
    complete(&settings(), include_str!("../settings/mod.rs"), "SettingsError");
    complete(&source(), include_str!("../stories/error.rs"), "SourceError");
    complete(
        &template(),
        include_str!("../prompt/template.rs"),
        "TemplateError",
    );
    complete(&process(), include_str!("../agent/process.rs"), "ProcessError");
    complete(&command(), include_str!("../async_cmd.rs"), "CommandError");
}

#[track_caller]
fn complete<E: Debug>(samples: &[E], source: &str, name: &str) {
    let shown: BTreeSet<String> = samples.iter().map(|error| kind(&format!("{error:?}"))).collect();
    assert_eq!(shown, variants(source, name), "{name}");
}

/// Returns the variant's name, which a shown value and a line of the source begin with.
fn kind(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// Reads the names of an enumeration's variants from its source.
fn variants(source: &str, name: &str) -> BTreeSet<String> {
    let (_, rest) = source.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let (body, _) = rest.split_once("\n}\n").unwrap();
    let names = body.lines().filter_map(|line| {
        let line = line.strip_prefix("    ")?;
        line.starts_with(|c: char| c.is_ascii_uppercase()).then(|| {
            line.split(|c: char| !c.is_alphanumeric())
                .next()
                .map(str::to_owned)
        })?
    });
    names.collect()
}

#[test]
fn messages_are_lower_case_and_end_without_a_stop() {
    for error in all() {
        let text = error.to_string();
        let first = text.chars().next().unwrap();
        assert!(
            !first.is_uppercase() || text.starts_with("GIT_DIR") || text.starts_with("HEAD"),
            "{text}"
        );
        assert!(!text.ends_with('.') && !text.trim_end().is_empty(), "{text}");
    }
}
