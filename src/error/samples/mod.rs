//! One sample or more of each error there is. A variant without a sample fails a test.

mod engine;
mod lists;
mod start;
mod steps;

use std::cell::RefCell;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::{attempt, finish, land, open, repository, story_list};
use lists::source;
use start::start;
use steps::step;

use super::tests::complete;
use super::{
    BadChange, Error, FileError, GitError, GitHooksRefused, GuardError, HookRefused, ProcessError,
    ProtectError, SettingsError, SettingsFileError, SourceError, StateError, TemplateError, WorkTreeError,
};
use crate::async_cmd::{CommandError, Passed};
use crate::fs::file_error;
use crate::remote::refusal::RemoteRefusal;

/// Returns every error there is, at least once.
pub fn all() -> Vec<Error> {
    let mut all: Vec<Error> = Vec::new();
    add(&mut all, git());
    add(&mut all, work_tree());
    add(&mut all, state());
    add(&mut all, settings());
    add(&mut all, source());
    add(&mut all, template());
    add(&mut all, process());
    add(&mut all, protect());
    add(&mut all, guard());
    add(&mut all, agent_settings());
    add(&mut all, open());
    add(&mut all, start());
    add(&mut all, story_list());
    add(&mut all, step());
    add(&mut all, attempt());
    add(&mut all, repository());
    add(&mut all, finish());
    add(&mut all, land());
    add(&mut all, remote());
    all.extend([
        Error::Change(BadChange {
            name: "add/login".to_owned(),
            why: "it has a '/'",
        }),
        Error::File(file("make", "/r/.git/ralph/add-login/attempts/2.1.log")),
        Error::Hook(HookRefused {
            hook: "ralph-pre-attempt",
            why: "exit code 1".to_owned(),
            file: Some(path("/r/.git/hooks/ralph-pre-attempt")),
            log: path("/r/.git/ralph/add-login/hooks.log"),
        }),
        Error::GitHooks(GitHooksRefused {
            why: "/r/.git/hooks leads outside the repository".to_owned(),
            hint: "rm /r/.git/hooks && mkdir /r/.git/hooks".to_owned(),
        }),
        Error::System {
            what: "find the current directory",
            source: io::Error::from_raw_os_error(2),
        },
        Error::Demo("no space left on device".to_owned()),
        Error::Stopped(2),
    ]);
    complete(&all);
    all
}

fn add<E: Debug + Into<Error>>(all: &mut Vec<Error>, samples: Vec<E>) {
    complete(&samples);
    all.extend(samples.into_iter().map(Into::into));
}

fn full() -> io::Error {
    io::Error::other("no space left on device")
}

thread_local! {
    /// The name that the samples have in place of their own.
    static NAME: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Returns every error there is, at least once, with this name for its changes, stories and branches.
pub fn all_named(name: &str) -> Vec<Error> {
    NAME.with_borrow_mut(|own| *own = Some(name.to_owned()));
    let all = all();
    NAME.with_borrow_mut(|own| *own = None);
    all
}

fn renamed(text: &str) -> String {
    NAME.with_borrow(|name| match name {
        Some(name) => text.replace("add-login", name),
        None => text.to_owned(),
    })
}

fn path(text: &str) -> PathBuf {
    PathBuf::from(renamed(text))
}

fn file(what: &'static str, at: &str) -> FileError {
    file_error(what, Path::new(at), full())
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| renamed(word)).collect()
}

fn change() -> String {
    renamed("add-login")
}

fn branch() -> String {
    renamed("ralph/add-login")
}

fn story() -> String {
    NAME.with_borrow(Clone::clone).unwrap_or_else(|| "2".to_owned())
}

fn list() -> String {
    renamed("openspec/changes/add-login/tasks.md")
}

fn gone(checkpoint: Option<String>) -> SourceError {
    let path = list();
    SourceError::Gone { path, checkpoint }
}

fn command() -> Vec<CommandError> {
    let program = || "git".to_owned();
    vec![
        CommandError::Spawn {
            program: program(),
            source: io::ErrorKind::NotFound.into(),
        },
        CommandError::Waits {
            command: "git add -A".to_owned(),
            path: path("/r/.gitignore"),
        },
        CommandError::Stopped {
            command: "git status".to_owned(),
            signal: 15,
        },
        CommandError::TimedOut {
            command: "git add -A".to_owned(),
            limit: Duration::from_secs(600),
        },
        CommandError::TooMuch {
            command: "git ls-remote origin".to_owned(),
            passed: Passed::sample(),
        },
        CommandError::Read {
            program: program(),
            source: full(),
        },
    ]
}

fn git() -> Vec<GitError> {
    complete(&command());
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
        GitError::File(file("write", "/r/.git/index")),
        GitError::Locked(path("/r/.git/index.lock")),
        GitError::OfNothing(vec![b"refs/tags/v1".to_vec(), b"refs/heads/it's".to_vec()]),
    ];
    all.extend(command().into_iter().map(GitError::Run));
    all
}

fn work_tree() -> Vec<WorkTreeError> {
    vec![
        WorkTreeError::Git(git().remove(0)),
        WorkTreeError::Unreadable("  secret.txt".to_owned()),
        WorkTreeError::Unstorable("  pipe".to_owned()),
        WorkTreeError::Unconverted("b.txt".to_owned()),
    ]
}

fn state() -> Vec<StateError> {
    vec![
        StateError::Busy {
            change: change(),
            holder: Some("process 4711".to_owned()),
        },
        StateError::Outlived {
            change: change(),
            holder: "process 4711".to_owned(),
        },
        StateError::Newer {
            path: path("/r/.git/ralph/add-login.toml"),
            found: 9,
        },
        StateError::NoDirectory(path("/r/.git/ralph")),
        StateError::Foreign {
            path: path("/r/.git/ralph/add-login.toml"),
            owner: "ann".to_owned(),
        },
        StateError::Damaged {
            path: path("/r/.git/ralph/add-login.toml"),
            why: "line 3: expected a value".to_owned(),
        },
        StateError::NoWords(change()),
        StateError::TooManyWords,
        StateError::File(file("save", "/r/.git/ralph/add-login.toml")),
    ]
}

fn settings() -> Vec<SettingsError> {
    vec![
        SettingsError::Git(git().remove(0)),
        SettingsError::Value {
            key: "ralph.maxretries".to_owned(),
            value: "many".to_owned(),
            wanted: "a whole number, 0 or more",
            more: vec!["ralph.order=up".to_owned()],
        },
    ]
}

fn template() -> Vec<TemplateError> {
    vec![
        TemplateError::Unreadable {
            path: "prompt.md".to_owned(),
            cause: io::Error::from_raw_os_error(2),
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

fn protect() -> Vec<ProtectError> {
    vec![
        ProtectError::File(file("read", "/r/.git/config")),
        ProtectError::Git(git().remove(0)),
        ProtectError::WorkTree(work_tree().remove(1)),
        ProtectError::RepositoryGone(path("/r/.git")),
        ProtectError::Unproven(vec![(
            path("/r/.git/hooks/pre-push"),
            path("/r/.git/ralph/add-login/git-files/common/hooks/pre-push"),
        )]),
        ProtectError::Blocked(
            "git checkout-index failed: unable to unlink old 'a': Operation not permitted".to_owned(),
        ),
        ProtectError::Blocked(
            "git read-tree failed (exit 128): unable to read sha1 file of w (e556b8)".to_owned(),
        ),
        ProtectError::Restless(words(&["a.txt"])),
    ]
}

fn guard() -> Vec<GuardError> {
    vec![
        GuardError::File(file("make", "/r/.git/ralph/add-login/hooks")),
        GuardError::Git(git().remove(0)),
    ]
}

fn agent_settings() -> Vec<SettingsFileError> {
    vec![
        SettingsFileError::NoHome,
        SettingsFileError::Text {
            path: path("/home/u/.claude/settings.json"),
            why: "hooks is not an object".to_owned(),
        },
        file_error("write", &path("/home/u/.claude/settings.json"), full()).into(),
    ]
}

fn remote() -> Vec<RemoteRefusal> {
    let change = || change();
    let remote = || "origin".to_owned();
    vec![
        RemoteRefusal::NoRemote(None),
        RemoteRefusal::NoRemote(Some("origin".to_owned())),
        RemoteRefusal::NotHere(Some("add-login".to_owned())),
        RemoteRefusal::Unreadable {
            remote: remote(),
            words: "fatal: '/nowhere' does not appear to be a git repository\n".to_owned(),
        },
        RemoteRefusal::NotFetched {
            change: change(),
            remote: remote(),
            words: "fatal: remote error: upload-pack: not our ref\n".to_owned(),
        },
        RemoteRefusal::SetAside {
            change: change(),
            remote: remote(),
        },
        RemoteRefusal::NoState {
            change: change(),
            branch: "ralph/add-login".to_owned(),
            remote: remote(),
        },
        RemoteRefusal::Mistaken {
            remote: remote(),
            name: "refs/heads/refs/ralph/add-login/state".to_owned(),
            meant: "refs/ralph/add-login/state".to_owned(),
        },
        RemoteRefusal::LoopBelowOtherRefs {
            change: change(),
            remote: remote(),
            here: "refs/heads/ralph-state/".to_owned(),
            there: "refs/ralph/".to_owned(),
        },
        RemoteRefusal::OtherRefs {
            remote: remote(),
            here: "refs/ralph/".to_owned(),
            there: "refs/heads/ralph-state/".to_owned(),
        },
        RemoteRefusal::NotPushed {
            change: change(),
            remote: remote(),
            words: "fatal: --mirror can't be combined with refspecs\n".to_owned(),
        },
        RemoteRefusal::Gone {
            change: change(),
            remote: remote(),
            name: "refs/ralph/add-login/state".to_owned(),
        },
        RemoteRefusal::Held {
            change: change(),
            remote: remote(),
            holder: "process 7 on runner-7".to_owned(),
            renewed: "2026-11-22 12:20:31 UTC".to_owned(),
            until: "2026-11-22 12:35:31 UTC".to_owned(),
        },
        RemoteRefusal::Lost {
            change: change(),
            remote: remote(),
        },
        RemoteRefusal::Silent {
            change: change(),
            remote: remote(),
            words: "fatal: Authentication failed for 'https://git.example.org/x/'\n".to_owned(),
            silent: Duration::from_secs(600),
        },
        RemoteRefusal::RefusedRefs {
            change: change(),
            remote: remote(),
            words: "deny updating a hidden ref".to_owned(),
        },
        RemoteRefusal::Refused {
            change: change(),
            remote: remote(),
            words: "! refs/ralph/add-login/state [remote rejected] (hook declined)".to_owned(),
        },
        RemoteRefusal::NoBranch {
            change: change(),
            branch: "ralph/add-login".to_owned(),
            remote: remote(),
            why: "it holds other commits".to_owned(),
        },
        RemoteRefusal::WentBack {
            change: change(),
            remote: remote(),
            there: 3,
            here: 7,
            name: "refs/ralph/add-login/state".to_owned(),
        },
        RemoteRefusal::Behind {
            change: change(),
            remote: "origin".to_owned(),
        },
        RemoteRefusal::Different {
            change: change(),
            remote: "origin".to_owned(),
            there: 1,
            here: 0,
        },
        RemoteRefusal::Another(change()),
        RemoteRefusal::NoLoops {
            remote: "origin".to_owned(),
        },
        RemoteRefusal::SeveralLoops {
            changes: words(&["add-login", "tidy-up"]),
            remote: "origin".to_owned(),
            is_typed: true,
        },
        RemoteRefusal::Unknown {
            change: change(),
            remote: remote(),
        },
        RemoteRefusal::Unintelligible {
            change: change(),
            remote: remote(),
            name: "refs/ralph/add-login/state".to_owned(),
            why: "it has no state.toml".to_owned(),
        },
        RemoteRefusal::InPlace(change()),
        RemoteRefusal::Over {
            change: change(),
            remote: remote(),
            phase: "finished",
            is_active_here: false,
        },
        RemoteRefusal::Over {
            change: change(),
            remote: remote(),
            phase: "finished",
            is_active_here: true,
        },
        RemoteRefusal::NotFinished {
            change: change(),
            remote: remote(),
        },
        RemoteRefusal::NothingLeft,
        RemoteRefusal::AllHeld,
        RemoteRefusal::TakeUnconfirmed(change()),
    ]
}
