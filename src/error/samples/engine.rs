//! Samples of the errors that the engine raises.

use jiff::SignedDuration;

use super::{branch, change, list, path, story, words};
use crate::error::{
    AttemptRefusal, FinishRefusal, LandRefusal, OpenRefusal, RepositoryRefusal, StoryRefusal,
};
use crate::sandbox::Trouble;
use crate::state::Verdict;
use crate::stories::Adapter;

pub(super) fn open() -> Vec<OpenRefusal> {
    vec![
        OpenRefusal::Damaged {
            git_dir: path("/r/.git"),
            words: "fatal: not a git repository".to_owned(),
        },
        OpenRefusal::NoWorkTree("fatal: not a git repository".to_owned()),
        OpenRefusal::LeadsNowhere {
            file: path("/w/.git"),
            place: path("/r/.git/worktrees/w"),
        },
        OpenRefusal::LedAway(path("/r/.git/commondir")),
        OpenRefusal::TreeApart {
            top: path("/home/me"),
            git_dir: path("/home/me dots/.git"),
        },
        OpenRefusal::OtherGitDir {
            named: path("/other/.git"),
            found: path("/r/.git"),
        },
        OpenRefusal::Bare,
        OpenRefusal::BeginningGone("add-login".to_owned()),
        OpenRefusal::InsideGitDir(path("/r/.git")),
        OpenRefusal::NoWorkTreeHere(path("/r/.git")),
        OpenRefusal::Device(path("/r/.git/commondir")),
        OpenRefusal::InsideAttempt,
        OpenRefusal::UnknownLoop {
            name: "add-logn".to_owned(),
            known: words(&["add-login"]),
            changes: words(&["add-login"]),
            checklist: None,
        },
        OpenRefusal::UnknownLoop {
            name: "tidy-up".to_owned(),
            known: words(&["add-login"]),
            changes: words(&["add-login", "tidy-up"]),
            checklist: None,
        },
        OpenRefusal::UnknownLoop {
            name: "1".to_owned(),
            known: words(&["add-login"]),
            changes: words(&["add-login"]),
            checklist: None,
        },
        OpenRefusal::UnknownLoop {
            name: "1".to_owned(),
            known: Vec::new(),
            changes: words(&["add-login"]),
            checklist: None,
        },
        OpenRefusal::LostState {
            change: change(),
            is_in_place: false,
            is_here: false,
        },
        OpenRefusal::LostState {
            change: change(),
            is_in_place: true,
            is_here: true,
        },
        OpenRefusal::NoLoop {
            finished: Vec::new(),
            changes: words(&["add-login"]),
            checklist: None,
        },
        OpenRefusal::NoLoop {
            finished: Vec::new(),
            changes: Vec::new(),
            checklist: Some("docs/TODO.md".to_owned()),
        },
        OpenRefusal::NoLoop {
            finished: words(&["add-login"]),
            changes: words(&["add-login", "tidy-up", "sort"]),
            checklist: None,
        },
        OpenRefusal::NoOpenStories(words(&["add-login", "tidy-up"])),
        OpenRefusal::SeveralChanges {
            changes: words(&["add-login", "tidy-up"]),
            verb: "run",
        },
        OpenRefusal::SeveralLoops(words(&["add-login", "tidy-up"])),
        OpenRefusal::OtherWorkTree {
            change: change(),
            path: "/other".to_owned(),
        },
        OpenRefusal::WorkTreeGone {
            change: change(),
            path: path("/r.ralph/add-login"),
            is_gone: true,
        },
        OpenRefusal::WorkTreeGone {
            change: change(),
            path: path("/r.ralph/add-login"),
            is_gone: false,
        },
        OpenRefusal::WorkTreeMoved {
            change: change(),
            path: path("/r.ralph/add-login"),
            to: path("/other"),
        },
        OpenRefusal::WorkTreeCutOff {
            change: change(),
            path: path("/r.ralph/add-login"),
        },
        OpenRefusal::WorkTreeHalfMade {
            change: change(),
            path: path("/r.ralph/add-login"),
        },
        OpenRefusal::UnknownAttempt {
            change: change(),
            attempt: "2@9".to_owned(),
        },
        OpenRefusal::Pruned(change()),
        OpenRefusal::NoAttempts(change()),
        OpenRefusal::NoAttempt("2@x".to_owned()),
        OpenRefusal::SeveralStories {
            change: change(),
            word: "add".to_owned(),
            stories: words(&["add-a-form", "add-a-page"]),
        },
        OpenRefusal::WhichToSkip {
            change: change(),
            running: words(&["2", "3"]),
        },
        OpenRefusal::NoStoryOrChange {
            change: change(),
            word: "foo".to_owned(),
        },
    ]
}

pub(super) fn repository() -> Vec<RepositoryRefusal> {
    vec![
        RepositoryRefusal::LinkInPlace {
            link: path("/w/.git"),
            git_dir: path("/tmp/a copy"),
        },
        RepositoryRefusal::OperationInProgress {
            operation: "merge".to_owned(),
            own: None,
        },
        RepositoryRefusal::OperationInProgress {
            operation: "am".to_owned(),
            own: Some("/r.ralph/c".into()),
        },
        RepositoryRefusal::OperationInProgress {
            operation: "bisect".to_owned(),
            own: None,
        },
        RepositoryRefusal::OperationInProgress {
            operation: "cherry-pick or revert".to_owned(),
            own: None,
        },
        RepositoryRefusal::DirtySubmodule {
            path: "lib".to_owned(),
            paths: words(&["lib/a"]),
        },
        RepositoryRefusal::UnreadableSubmodule("lib".to_owned(), "fatal: bad object HEAD".to_owned()),
        RepositoryRefusal::HeadElsewhere {
            own: None,
            head: "main".to_owned(),
            branch: branch(),
        },
        RepositoryRefusal::HeadElsewhere {
            own: Some(path("/r.ralph/add-login")),
            head: "main".to_owned(),
            branch: branch(),
        },
        RepositoryRefusal::BranchGone {
            own: None,
            branch: branch(),
            checkpoint: "6db9417f5d".to_owned(),
        },
        RepositoryRefusal::PlaceGone {
            branch: "main".to_owned(),
            oid: "6db9417f5d".to_owned(),
        },
        RepositoryRefusal::CheckpointGone {
            own: None,
            branch: branch(),
            checkpoint: "6db9417f5d".to_owned(),
        },
        RepositoryRefusal::Uncommitted,
        RepositoryRefusal::Hidden {
            paths: words(&["settings.local"]),
            typed: "settings.local".to_owned(),
        },
        RepositoryRefusal::NotAtCheckpoint(change()),
        RepositoryRefusal::InTheWay {
            of: "attempt 2@1".to_owned(),
            paths: words(&["a.txt"]),
        },
        RepositoryRefusal::EditsSince {
            change: change(),
            can_stash: true,
        },
        RepositoryRefusal::EditsSince {
            change: change(),
            can_stash: false,
        },
        RepositoryRefusal::WorkAway {
            change: change(),
            paths: words(&["a.txt"]),
        },
        RepositoryRefusal::SubmoduleMoved {
            story: story(),
            path: "lib".to_owned(),
        },
        RepositoryRefusal::SubmoduleCommitMissing {
            path: "lib".to_owned(),
            commit: "1a2b3c4d5e".to_owned(),
        },
        RepositoryRefusal::SubmoduleNested {
            path: "lib".to_owned(),
        },
        RepositoryRefusal::EditsBuiltOn {
            commit: "1a2b3c4d5e".to_owned(),
            story: story(),
            paths: words(&["a.txt"]),
        },
        RepositoryRefusal::ChangedSince {
            attempt: "2@1".to_owned(),
            paths: words(&["a.txt"]),
            from: "1a2b3c4d5e".to_owned(),
            to: "2b3c4d5e6f".to_owned(),
        },
    ]
}

pub(super) fn attempt() -> Vec<AttemptRefusal> {
    vec![
        AttemptRefusal::NotComplete {
            change: change(),
            story: "2".to_owned(),
            reason: "the gate `make` failed (exit code 2)\n\nIts output:\n\nx".to_owned(),
        },
        AttemptRefusal::NothingJudges,
        AttemptRefusal::NoBox(Trouble::NotInstalled),
        AttemptRefusal::NoBox(Trouble::Refused(
            "setting up uid map: Permission denied".to_owned(),
        )),
        AttemptRefusal::NoBox(Trouble::Refused(
            "No permissions to create a new namespace".to_owned(),
        )),
        AttemptRefusal::NoBox(Trouble::SwitchedOff(
            "No permissions to create a new namespace".to_owned(),
        )),
        AttemptRefusal::NoBox(Trouble::Refused("Can't mount proc on /newroot/proc".to_owned())),
        AttemptRefusal::NoBox(Trouble::HoldsHome(path("/home/u"))),
        AttemptRefusal::NothingChanged {
            change: change(),
            stories: 3,
        },
        AttemptRefusal::UnprovenGates {
            change: change(),
            gates: vec!["make test".to_owned()],
        },
        AttemptRefusal::BadPathspecs {
            key: "ralph.tests".to_owned(),
            words: "fatal: Invalid pathspec magic 'bad' in ':(bad)x'".to_owned(),
        },
        AttemptRefusal::NeedsTests {
            change: change(),
            story: story(),
            why: "and its agent asks to change files that must stay as they were: tests/login.rs".to_owned(),
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
        AttemptRefusal::NoVerdict {
            change: change(),
            attempt: "2@1".to_owned(),
            why: "the reviewer claude gave no verdict about story 2: it said none (exit code 1)".to_owned(),
            log: path("/r/.git/ralph/add-login/attempts/2.1.log"),
        },
        AttemptRefusal::NoOpinion {
            reviewer: "claude".to_owned(),
            reason: "it said none".to_owned(),
            log: path("/r/.git/ralph/add-login/review.log"),
        },
        AttemptRefusal::ReviewerMissing("claude".to_owned()),
        AttemptRefusal::NoReviewer,
        AttemptRefusal::NothingToReview(change()),
        AttemptRefusal::SessionAtWork {
            change: change(),
            story: Some(story()),
            silent: SignedDuration::from_secs(75),
        },
    ]
}

pub(super) fn land() -> Vec<LandRefusal> {
    vec![
        LandRefusal::NothingToLand("main".to_owned()),
        LandRefusal::NotFinished(change()),
        LandRefusal::NotKept(change()),
        LandRefusal::BranchGone("ralph/add-login".to_owned()),
        LandRefusal::Operation(RepositoryRefusal::OperationInProgress {
            operation: "merge".to_owned(),
            own: None,
        }),
        LandRefusal::NoBranch,
        LandRefusal::OnItsBranch {
            change: change(),
            branch: "ralph/add-login".to_owned(),
            original: "main".to_owned(),
        },
        LandRefusal::CheckedOutTwice {
            branch: "main".to_owned(),
            path: path("/second one"),
        },
        LandRefusal::LoopActive {
            other: "add-search".to_owned(),
        },
        LandRefusal::ChangesInTheWay {
            change: change(),
            path: path("/w"),
            paths: words(&["src/form.rs"]),
        },
    ]
}

pub(super) fn finish() -> Vec<FinishRefusal> {
    vec![
        FinishRefusal::NoChoice(change()),
        FinishRefusal::FinishedOtherwise {
            change: change(),
            was: "cleanup",
            commands: ["git branch a b", "git reset"].map(str::to_owned),
        },
        FinishRefusal::TwoChoices,
        FinishRefusal::NoChoiceForSeveral {
            changes: words(&["add-login", "add-search"]),
            is_agent: false,
        },
        FinishRefusal::NoChoiceForSeveral {
            changes: words(&["add-login", "sh", "agent.sh"]),
            is_agent: true,
        },
        FinishRefusal::NotKept("git ralph run add-login add-search --jobs=2 --keep".to_owned()),
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
            is_away: true,
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
        FinishRefusal::NoWorkTreeOfItsOwn(change()),
        FinishRefusal::NoWorkTreeToGoTo {
            change: change(),
            branch: Some("main".to_owned()),
        },
        FinishRefusal::NoWorkTreeToGoTo {
            change: change(),
            branch: None,
        },
        FinishRefusal::NotAWorkTree(path("/other")),
        FinishRefusal::ChangesInTheWay {
            path: path("/r"),
            paths: words(&["a.txt"]),
            show: words(&["git -C /r update-index --no-skip-worktree -- a.txt"]),
        },
        FinishRefusal::LoopInTheWay {
            other: "tidy-up".to_owned(),
            path: path("/r"),
        },
        FinishRefusal::NotWritten {
            change: change(),
            path: path("/r"),
            words: "fatal: entry 'a.txt' not uptodate".to_owned(),
        },
    ]
}

pub(super) fn story_list() -> Vec<StoryRefusal> {
    let mut all = vec![
        StoryRefusal::UnknownStory {
            id: "lgin".to_owned(),
            source_file: list(),
            known: words(&["login", "logout"]),
        },
        StoryRefusal::InCheckpoint {
            change: change(),
            story: "2".to_owned(),
            attempt: 1,
        },
        StoryRefusal::NothingSkipped,
        StoryRefusal::NotSkipped(story()),
        StoryRefusal::LeftOut {
            change: change(),
            story: story(),
        },
        StoryRefusal::NoCheckpoint {
            change: change(),
            story: story(),
        },
        StoryRefusal::BuiltOn {
            change: change(),
            story: story(),
            words: Some("with tabs".to_owned()),
            later: words(&["3", "4"]),
        },
        StoryRefusal::StillDone {
            change: change(),
            story: story(),
            source_file: list(),
        },
        StoryRefusal::ListNotTaken {
            attempt: "2@1".to_owned(),
            source_file: list(),
            is_conflict: true,
            range: (
                "1fd6a3ff78".to_owned(),
                "refs/ralph/add-login/attempts/2/1".to_owned(),
            ),
        },
        StoryRefusal::ListNotTaken {
            attempt: "2@1".to_owned(),
            source_file: list(),
            is_conflict: false,
            range: (
                "1fd6a3ff78".to_owned(),
                "refs/ralph/add-login/attempts/2/1".to_owned(),
            ),
        },
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
            put_off: if either { words(&["1"]) } else { Vec::new() },
            live: either,
            stories: (!either).then(list),
        });
        all.push(StoryRefusal::StillOpen {
            change: change(),
            story: story(),
            source_file: list(),
            by_command: either,
        });
    }
    all.push(StoryRefusal::Order {
        change: change(),
        list: list(),
        why: "story a waits for b, which waits for a".to_owned(),
    });
    all.push(StoryRefusal::Grown {
        change: change(),
        added: 11,
        story: "14".to_owned(),
        source_file: "TODO.md".to_owned(),
    });
    all
}
