//! Samples of the errors of `start`.

use super::{branch, change, path, words};
use crate::error::StartRefusal;

pub(super) fn start() -> Vec<StartRefusal> {
    vec![
        StartRefusal::Unmerged(words(&["a.txt"])),
        StartRefusal::NoCommit,
        StartRefusal::OnLoopBranch {
            branch: branch(),
            stories: None,
        },
        StartRefusal::OnLoopBranch {
            branch: branch(),
            stories: Some("TODO.md".to_owned()),
        },
        StartRefusal::OnFinishedBranch {
            branch: branch(),
            original: "main".to_owned(),
        },
        StartRefusal::CheckedOutElsewhere {
            branch: branch(),
            path: "/other".to_owned(),
        },
        StartRefusal::OtherLoop("tidy-up".to_owned()),
        StartRefusal::ActiveBeside(change()),
        StartRefusal::OneWorkTreeForSeveral,
        StartRefusal::InPlaceBeside,
        StartRefusal::ListNotCommitted("TODO.md".to_owned()),
        StartRefusal::BranchInTheWay {
            branch: "ralph".to_owned(),
            wanted: branch(),
        },
        StartRefusal::TooMuch(path("/home/ada")),
        StartRefusal::OddHead("refs/tags/v1".to_owned()),
        StartRefusal::RedGate {
            change: change(),
            command: "make tset".to_owned(),
            cannot_be_run: true,
            is_typed: false,
            why: "exit code 127".to_owned(),
        },
        StartRefusal::RedGate {
            change: change(),
            command: "make tset".to_owned(),
            cannot_be_run: true,
            is_typed: true,
            why: "exit code 127".to_owned(),
        },
        StartRefusal::NoListCommand(change()),
        StartRefusal::ListOutside("../tasks.md".to_owned()),
        StartRefusal::NoCommitForWorkTree,
        StartRefusal::StashInWorkTree,
        StartRefusal::NoPlaceForWorkTree {
            change: change(),
            path: path("/proc/x"),
            why: "/proc cannot be written".to_owned(),
        },
        StartRefusal::WorkTreeInTheWay {
            change: change(),
            path: path("/r.ralph/add-login"),
        },
        StartRefusal::WorkTreeInUse {
            change: change(),
            path: path("/r.ralph/add-login"),
        },
        StartRefusal::WorkTreeStays {
            change: change(),
            path: path("/r.ralph/add-login"),
            why: "git cannot read its HEAD",
        },
        StartRefusal::WorkTreeOfLostLoop {
            change: change(),
            path: path("/r.ralph/add-login"),
        },
        StartRefusal::SetupFailed {
            command: "npm ci".to_owned(),
            why: "exit code 1".to_owned(),
            output: "npm error code EUSAGE".to_owned(),
        },
        StartRefusal::SubmoduleNotCloned {
            path: "lib".to_owned(),
            words: "git submodule failed (exit 1): no space left on device".to_owned(),
        },
        StartRefusal::EnvironmentCopied("venv/pyvenv.cfg".to_owned()),
        StartRefusal::TooMuchCopied {
            files: 60_000,
            bytes: 1 << 31,
        },
        StartRefusal::NothingToResume {
            change: change(),
            has_branch: true,
            stories: None,
        },
        StartRefusal::NothingToResume {
            change: change(),
            has_branch: false,
            stories: Some("TODO.md".to_owned()),
        },
    ]
}
