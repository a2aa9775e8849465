//! One sample or more of each error there is. A variant without a sample fails a test.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::SignedDuration;

use super::tests::complete;
use super::{
    AttemptRefusal, BadChange, Error, FileError, FinishRefusal, GitError, GitHooksRefused, GuardError,
    HookRefused, OpenRefusal, ProcessError, ProtectError, RepositoryRefusal, SettingsError,
    SettingsFileError, SourceError, StartRefusal, StateError, StepRefusal, StoryRefusal, TemplateError,
    WorkTreeError,
};
use crate::async_cmd::CommandError;
use crate::fs::file_error;
use crate::state::Verdict;
use crate::stories::Adapter;

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

fn path(text: &str) -> PathBuf {
    PathBuf::from(text)
}

fn file(what: &'static str, at: &str) -> FileError {
    file_error(what, Path::new(at), full())
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}

fn change() -> String {
    "add-login".to_owned()
}

fn branch() -> String {
    "ralph/add-login".to_owned()
}

fn story() -> String {
    "2".to_owned()
}

fn list() -> String {
    "openspec/changes/add-login/tasks.md".to_owned()
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
            change: "add-login".to_owned(),
            holder: Some("process 4711".to_owned()),
        },
        StateError::Outlived {
            change: "add-login".to_owned(),
            holder: "process 4711".to_owned(),
        },
        StateError::Newer {
            path: path("/r/.git/ralph/add-login.toml"),
            found: 9,
        },
        StateError::Foreign {
            path: path("/r/.git/ralph/add-login.toml"),
            owner: "ann".to_owned(),
        },
        StateError::Damaged {
            path: path("/r/.git/ralph/add-login.toml"),
            why: "line 3: expected a value".to_owned(),
        },
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
        },
    ]
}

fn source() -> Vec<SourceError> {
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
        SourceError::FromTop {
            path: "docs/TODO.md".to_owned(),
            from_here: "../TODO.md#item".to_owned(),
        },
        SourceError::NoChecklist {
            path: "issues.jsonl".to_owned(),
        },
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
        ProtectError::Blocked(
            "git checkout-index failed: unable to unlink old 'a': Operation not permitted".to_owned(),
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
        SettingsFileError::File {
            what: "write",
            path: path("/home/u/.claude/settings.json"),
            source: full(),
        },
    ]
}

fn open() -> Vec<OpenRefusal> {
    vec![
        OpenRefusal::Damaged {
            git_dir: path("/r/.git"),
            words: "fatal: not a git repository".to_owned(),
        },
        OpenRefusal::NoWorkTree("fatal: not a git repository".to_owned()),
        OpenRefusal::OtherGitDir {
            named: path("/other/.git"),
            found: path("/r/.git"),
        },
        OpenRefusal::Bare,
        OpenRefusal::InsideGitDir(path("/r/.git")),
        OpenRefusal::InsideAttempt,
        OpenRefusal::UnknownLoop {
            name: "add-logn".to_owned(),
            known: words(&["add-login"]),
            changes: words(&["add-login"]),
        },
        OpenRefusal::UnknownLoop {
            name: "tidy-up".to_owned(),
            known: words(&["add-login"]),
            changes: words(&["add-login", "tidy-up"]),
        },
        OpenRefusal::UnknownLoop {
            name: "1".to_owned(),
            known: words(&["add-login"]),
            changes: words(&["add-login"]),
        },
        OpenRefusal::UnknownLoop {
            name: "1".to_owned(),
            known: Vec::new(),
            changes: words(&["add-login"]),
        },
        OpenRefusal::NoLoop {
            finished: Vec::new(),
            changes: words(&["add-login"]),
        },
        OpenRefusal::NoLoop {
            finished: words(&["add-login"]),
            changes: words(&["add-login", "tidy-up"]),
        },
        OpenRefusal::SeveralChanges(words(&["add-login", "tidy-up"])),
        OpenRefusal::SeveralLoops(words(&["add-login", "tidy-up"])),
        OpenRefusal::OtherWorkTree {
            change: change(),
            path: "/other".to_owned(),
        },
        OpenRefusal::UnknownAttempt {
            change: change(),
            attempt: "2@9".to_owned(),
        },
        OpenRefusal::NoAttempt("2@x".to_owned()),
        OpenRefusal::NoStoryOrChange {
            change: change(),
            word: "foo".to_owned(),
        },
    ]
}

fn repository() -> Vec<RepositoryRefusal> {
    vec![
        RepositoryRefusal::OperationInProgress("merge".to_owned()),
        RepositoryRefusal::OperationInProgress("bisect".to_owned()),
        RepositoryRefusal::OperationInProgress("cherry-pick or revert".to_owned()),
        RepositoryRefusal::DirtySubmodule("lib".to_owned()),
        RepositoryRefusal::HeadElsewhere {
            head: "main".to_owned(),
            branch: branch(),
        },
        RepositoryRefusal::BranchGone {
            branch: branch(),
            checkpoint: "6db9417f5d".to_owned(),
        },
        RepositoryRefusal::CheckpointGone {
            branch: branch(),
            checkpoint: "6db9417f5d".to_owned(),
        },
        RepositoryRefusal::NotAtCheckpoint(change()),
        RepositoryRefusal::InTheWay {
            of: "attempt 2@1".to_owned(),
            paths: words(&["a.txt"]),
        },
    ]
}

fn start() -> Vec<StartRefusal> {
    vec![
        StartRefusal::Unmerged(words(&["a.txt"])),
        StartRefusal::OnLoopBranch(branch()),
        StartRefusal::OnFinishedBranch {
            branch: branch(),
            original: "main".to_owned(),
        },
        StartRefusal::CheckedOutElsewhere {
            branch: branch(),
            path: "/other".to_owned(),
        },
        StartRefusal::OtherLoop("tidy-up".to_owned()),
        StartRefusal::BranchInTheWay {
            branch: "ralph".to_owned(),
            wanted: branch(),
        },
        StartRefusal::TooMuch(path("/home/ada")),
        StartRefusal::OddHead("refs/tags/v1".to_owned()),
        StartRefusal::RedGate {
            change: "add-login".to_owned(),
            command: "make tset".to_owned(),
            cannot_be_run: true,
            why: "exit code 127".to_owned(),
        },
        StartRefusal::NothingToResume(change()),
    ]
}

fn step() -> Vec<StepRefusal> {
    vec![
        StepRefusal::RetryFirst {
            change: change(),
            story: story(),
            left: 2,
        },
        StepRefusal::RetriesSpent {
            change: change(),
            story: story(),
        },
        StepRefusal::NothingFailed(change()),
        StepRefusal::LoopFinished(change()),
        StepRefusal::WrongPhase(change()),
        StepRefusal::LoopLive(change()),
        StepRefusal::Unfit {
            change: change(),
            checkpoint: "0123456789".to_owned(),
            file: path("/r/.git/ralph/add-login.toml"),
        },
    ]
}

fn attempt() -> Vec<AttemptRefusal> {
    vec![
        AttemptRefusal::NothingChanged {
            change: change(),
            stories: 3,
        },
        AttemptRefusal::NoAgent("next".to_owned()),
        AttemptRefusal::AgentMissing {
            name: "cluade".to_owned(),
            is_here: false,
        },
        AttemptRefusal::AgentMissing {
            name: "./agent.sh".to_owned(),
            is_here: false,
        },
        AttemptRefusal::AgentMissing {
            name: "agent.sh".to_owned(),
            is_here: true,
        },
        AttemptRefusal::AgentNotExecutable("./agent.sh".to_owned()),
        AttemptRefusal::AgentUnable {
            log: path("/r/.git/ralph/add-login/attempts/2.1.log"),
            story: story(),
            verdict: Verdict::Auth,
            reason: Some("401 invalid key".to_owned()),
            advice: Some("sign in".to_owned()),
        },
        AttemptRefusal::SessionAtWork {
            change: change(),
            story: Some(story()),
            silent: SignedDuration::from_secs(75),
        },
    ]
}

fn finish() -> Vec<FinishRefusal> {
    vec![
        FinishRefusal::NoChoice(change()),
        FinishRefusal::TwoChoices,
        FinishRefusal::NoChoiceForSeveral {
            changes: words(&["add-login", "add-search"]),
            is_agent: false,
        },
        FinishRefusal::NoChoiceForSeveral {
            changes: words(&["add-login", "sh", "agent.sh"]),
            is_agent: true,
        },
        FinishRefusal::OriginalGone {
            branch: "main".to_owned(),
            oid: "bbebf10cdf".to_owned(),
        },
        FinishRefusal::OriginalDamaged {
            branch: "main".to_owned(),
            oid: "bbebf10cdf".to_owned(),
            file: "/w/.git/refs/heads/main".into(),
        },
        FinishRefusal::OriginalMoved {
            change: change(),
            branch: "main".to_owned(),
        },
        FinishRefusal::OriginalElsewhere {
            branch: "main".to_owned(),
            path: "/other".to_owned(),
        },
        FinishRefusal::OriginalBorn {
            change: change(),
            branch: "main".to_owned(),
        },
        FinishRefusal::Conflict {
            change: change(),
            branch: "main".to_owned(),
            paths: words(&["a.txt", "b.txt"]),
        },
    ]
}

fn story_list() -> Vec<StoryRefusal> {
    let mut all = vec![
        StoryRefusal::UnknownStory {
            id: "lgin".to_owned(),
            source_file: list(),
            known: words(&["login", "logout"]),
        },
        StoryRefusal::NothingSkipped,
        StoryRefusal::NotSkipped(story()),
        StoryRefusal::AlreadyComplete(story()),
        StoryRefusal::Blocked(words(&["2 waits for 3", "3 waits for 2"])),
    ];
    for adapter in Adapter::ALL {
        let source_file = match adapter {
            Adapter::Command => "bd list --json".to_owned(),
            _ => list(),
        };
        all.push(StoryRefusal::NoStories { source_file, adapter });
    }
    for either in [true, false] {
        all.push(StoryRefusal::NothingLeft {
            change: change(),
            done: 3,
            total: 3,
            skipped: if either { Vec::new() } else { words(&["2"]) },
            live: either,
        });
        all.push(StoryRefusal::StillOpen {
            change: change(),
            story: story(),
            source_file: list(),
            by_command: either,
        });
    }
    all
}
