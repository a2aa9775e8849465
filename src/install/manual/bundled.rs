//! The manual pages and completions in the program, as they are in man/ and completions/ of the source. A test compares
//! these tables with the folders.

use std::path::PathBuf;

/// The manual pages, by verb; the verb of the page about git-ralph itself is empty.
pub const PAGES: &[(&str, &str)] = &[
    ("", include_str!("../../../man/git-ralph.1")),
    ("abort", include_str!("../../../man/git-ralph-abort.1")),
    ("complete", include_str!("../../../man/git-ralph-complete.1")),
    ("demo", include_str!("../../../man/git-ralph-demo.1")),
    ("diff", include_str!("../../../man/git-ralph-diff.1")),
    ("doctor", include_str!("../../../man/git-ralph-doctor.1")),
    ("fail", include_str!("../../../man/git-ralph-fail.1")),
    ("finish", include_str!("../../../man/git-ralph-finish.1")),
    ("help", include_str!("../../../man/git-ralph-help.1")),
    ("hooks", include_str!("../../../man/git-ralph-hooks.1")),
    ("install", include_str!("../../../man/git-ralph-install.1")),
    ("list", include_str!("../../../man/git-ralph-list.1")),
    ("land", include_str!("../../../man/git-ralph-land.1")),
    ("log", include_str!("../../../man/git-ralph-log.1")),
    ("next", include_str!("../../../man/git-ralph-next.1")),
    ("prompt", include_str!("../../../man/git-ralph-prompt.1")),
    ("prune", include_str!("../../../man/git-ralph-prune.1")),
    ("pull", include_str!("../../../man/git-ralph-pull.1")),
    ("push", include_str!("../../../man/git-ralph-push.1")),
    ("queue", include_str!("../../../man/git-ralph-queue.1")),
    ("report", include_str!("../../../man/git-ralph-report.1")),
    ("redo", include_str!("../../../man/git-ralph-redo.1")),
    ("restore", include_str!("../../../man/git-ralph-restore.1")),
    ("retry", include_str!("../../../man/git-ralph-retry.1")),
    ("revert", include_str!("../../../man/git-ralph-revert.1")),
    ("review", include_str!("../../../man/git-ralph-review.1")),
    ("run", include_str!("../../../man/git-ralph-run.1")),
    ("skip", include_str!("../../../man/git-ralph-skip.1")),
    ("start", include_str!("../../../man/git-ralph-start.1")),
    ("status", include_str!("../../../man/git-ralph-status.1")),
    ("stop", include_str!("../../../man/git-ralph-stop.1")),
    ("stories", include_str!("../../../man/git-ralph-stories.1")),
    ("tell", include_str!("../../../man/git-ralph-tell.1")),
    ("version", include_str!("../../../man/git-ralph-version.1")),
    ("watch", include_str!("../../../man/git-ralph-watch.1")),
];

/// The manual pages of section 7, by topic.
pub const TOPICS: &[(&str, &str)] = &[
    ("events", include_str!("../../../man/git-ralph-events.7")),
    ("lifecycle", include_str!("../../../man/git-ralph-lifecycle.7")),
    ("tutorial", include_str!("../../../man/git-ralph-tutorial.7")),
];

/// The completions: the path of each below a `share` directory, and its text. The shells find them by these names: bash
/// and zsh look for `git-ralph` for `git ralph` too.
pub const COMPLETIONS: &[(&str, &str)] = &[
    (
        "bash-completion/completions/git-ralph",
        include_str!("../../../completions/git-ralph.bash"),
    ),
    (
        "zsh/site-functions/_git-ralph",
        include_str!("../../../completions/_git-ralph"),
    ),
    (
        "fish/vendor_completions.d/git-ralph.fish",
        include_str!("../../../completions/git-ralph.fish"),
    ),
];

/// Returns all files, with their paths below a `share` directory.
#[must_use]
pub fn files() -> Vec<(PathBuf, &'static str)> {
    let pages = PAGES.iter().map(|(verb, text)| {
        let name = match *verb {
            "" => "git-ralph.1".to_owned(),
            verb => format!("git-ralph-{verb}.1"),
        };
        (PathBuf::from("man/man1").join(name), *text)
    });
    let topics = TOPICS.iter().map(|(topic, text)| {
        let name = format!("git-ralph-{topic}.7");
        (PathBuf::from("man/man7").join(name), *text)
    });
    let completions = COMPLETIONS
        .iter()
        .map(|(place, text)| (PathBuf::from(place), *text));
    pages.chain(topics).chain(completions).collect()
}
