//! `git ralph diff`.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use super::setup::{Console, change_and_word};
use super::story_word::story_and_attempt;
use crate::cli::complete::{loops_and_attempts, offer_titled};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::{look, range_of};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::{Git, GitError};
use crate::inspect::changed_files::{DIFF, WithNewFiles, diff_of_commits, not_shown};
use crate::names::{Change, Oid, typed};
use crate::state::{Current, State, Store};
use crate::ui::{Screen, github};
use serde_json::json;

/// The arguments of `git ralph diff`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "git ralph diff [--stat | --json] [<change>] [<story>[@<attempt>]]")]
pub struct Args {
    /// The change, the story or story@attempt, or both; a single word that names no loop is the story
    #[arg(
        num_args = 0..=2,
        value_names = ["CHANGE", "STORY[@ATTEMPT]"],
        add = offer_titled(loops_and_attempts)
    )]
    pub words: Vec<String>,
    /// Show only which files changed, and by how much
    #[arg(long)]
    pub stat: bool,
    /// Print one JSON document: the two commits (null: the work tree), and the files that differ
    #[arg(long, conflicts_with = "stat")]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let (change, attempt) = change_and_word(&context, &args.words)?;
    let (context, state) = look(context, &change).await?;
    let store = Store::new(&context.repo.common_dir, &change);
    let (from, to) = match attempt {
        None if state.attempted().is_some() => {
            return until_now(console, &store, &state, state.initial(), &args).await;
        }
        None => (state.initial().to_string(), state.checkpoint().to_string()),
        Some(word) => {
            let (story, number) = story_and_attempt(&context, &state, &word).await?;
            let is_it = |running: &Current| {
                running.id == story && number.is_none_or(|number| number == running.attempt)
            };
            if state.attempted().is_some_and(is_it) {
                return until_now(console, &store, &state, state.checkpoint(), &args).await;
            }
            let (git, is_exact) = (&context.repo.git, number.is_some());
            let range = range_of(git, &store, &state, &story, number, is_exact).await?;
            range.ok_or_else(|| OpenRefusal::of_attempt(&change, word))?
        }
    };
    if args.json {
        let git = &context.repo.git;
        let here = |found: Result<Oid, GitError>| found.map_err(|error| gone(&change, error));
        let from = here(git.commit_of_name(&from).await)?;
        let to = here(git.commit_of_name(&to).await)?;
        let files = git
            .diff_trees(&git.tree_of(&from).await?, &git.tree_of(&to).await?)
            .await?;
        let files = of_json(&files);
        console.document(&json!({ "change": change, "from": from, "to": to, "files": files }));
        return Ok(Exit::Done);
    }
    let mode = state.settings_in(&context.configuration).boxing.mode;
    let mut git_args = diff_of_commits(&store, mode)?;
    if args.stat {
        git_args.push("--stat");
    }
    git_args.extend([from.as_str(), to.as_str(), "--"]);
    tell_empty(console.screen, &context.repo.git, &change, [&from, &to]).await?;
    if let Some(pause) = pause() {
        console.screen.answer_exactly(&pause.begin());
        let code = context.repo.git.show(&git_args).await?;
        console.screen.answer_exactly(&pause.end());
        return Ok(if code == Some(0) { Exit::Done } else { Exit::Error });
    }
    // Replaces this process by git, with the user's pager and colours.
    Err(context.repo.git.take_over(&git_args).into())
}

/// Returns a guard that keeps a workflow's log from interpreting lines of a diff as commands; `None` if the output goes
/// into a file, or to no such log.
fn pause() -> Option<github::Pause> {
    let open = io::stdout().as_fd().try_clone_to_owned().ok()?;
    let goes_to_file = File::from(open).metadata().is_ok_and(|found| found.is_file());
    (github::is_there() && !goes_to_file).then(github::Pause::default)
}

/// Compares a commit with the work tree of a running attempt.
async fn until_now(
    console: &Console,
    store: &Store,
    state: &State,
    from: &Oid,
    args: &Args,
) -> Result<Exit, Error> {
    let shown = WithNewFiles::make(store, state).await?;
    let git = Git::at_top(state.work_tree()).with_index(Some(shown.index()));
    let has_nested = !shown.nested.is_empty();
    if has_nested {
        console.say(&format!("{}\n", not_shown(&shown.nested)));
    }
    if args.json {
        let files = of_json(&git.changed_since(from).await?);
        console.document(&json!({ "change": state.change, "from": from, "to": null, "files": files }));
        return Ok(Exit::Done);
    }
    let mut git_args = [&DIFF[..], &["--exit-code"]].concat();
    git_args.extend(args.stat.then_some("--stat"));
    git_args.extend([from.as_str(), "--"]);
    let pause = pause();
    if let Some(pause) = &pause {
        console.screen.answer_exactly(&pause.begin());
    }
    let code = git.show(&git_args).await?;
    if let Some(pause) = &pause {
        console.screen.answer_exactly(&pause.end());
    }
    if code == Some(0) && !has_nested {
        console.say("no file has changed yet\n");
    }
    Ok(Exit::Done)
}

/// Returns files in the form of `--json`.
fn of_json(files: &[(u8, Vec<u8>)]) -> Vec<serde_json::Value> {
    let files = files.iter().map(|(kind, path)| {
        json!({ "path": String::from_utf8_lossy(path), "status": char::from(*kind).to_string() })
    });
    files.collect()
}

/// Reports that there is nothing to show, if git would print nothing.
async fn tell_empty(screen: Screen, git: &Git, change: &Change, sides: [&str; 2]) -> Result<(), Error> {
    let [from, to] = sides;
    let here = |found: Result<Oid, GitError>| found.map_err(|error| gone(change, error));
    if here(git.tree_of_name(from).await)? == here(git.tree_of_name(to).await)? {
        let log = format!("git ralph log {}", typed(change.as_str()));
        screen.say(&format!("git sees no change; the attempts: {log}\n"));
    }
    Ok(())
}

/// Returns the error about commits that git can no longer find.
fn gone(change: &Change, error: GitError) -> Error {
    match error {
        GitError::Failed { .. } => OpenRefusal::Pruned(change.to_string()).into(),
        other => other.into(),
    }
}
