//! Holds tests to what they were: gates that passed run once more with the tests of the last checkpoint, and with their own
//! scripts as they were, where an attempt changed them.
//!
//! `scripts` finds the scripts in a gate's shell line, `seen` new tests that are hidden, `touched` what changed, and `decision`
//! says what becomes of it.
//! Meanwhile `judged` keeps the tree that is judged: the next command puts it back if this one is killed.

mod decision;
mod scripts;
mod seen;
mod touched;

use std::collections::HashSet;

use self::decision::Fate;
use self::touched::{Found, Touched, find};
use super::gates::{GateTime, Round, Run, run_round};
use super::refusal::AttemptRefusal;
use super::verdict::Judgement;
use crate::engine::{Loop, judged, transition};
use crate::error::Error;
use crate::events::Basis;
use crate::git::{Git, StagedEntry};
use crate::names::{OUTPUT, Oid};
use crate::paths::first_few;
use crate::settings::Settings;
use crate::state::Verdict;
pub(super) use seen::{Seen, see};

/// What gates that passed say.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// The seconds of each gate in the second run; empty without one.
    pub seconds: Vec<GateTime>,
    /// What the verdict rests on besides.
    pub rests_on: Vec<Basis>,
}

/// Refuses `ralph.tests` that git does not understand. One process if there is any.
///
/// # Errors
/// In git's own words.
pub(crate) async fn require_pathspecs(git: &Git, settings: &Settings) -> Result<(), Error> {
    if settings.tests.pathspecs.is_empty() {
        return Ok(());
    }
    match git.refused_pathspecs(&settings.tests.pathspecs).await? {
        Some(words) => Err(AttemptRefusal::BadTests(words).into()),
        None => Ok(()),
    }
}

/// Judges the tests of a work tree with which all gates have passed: `before` is the work tree that they found, `after` the
/// one that they left, which the working index was just read from.
pub(super) async fn judge(
    open: &mut Loop<'_>,
    run: Run<'_>,
    before: &Seen,
    after: &Seen,
) -> Result<Result<Proof, Judgement>, Error> {
    let settings = run.settings;
    if let Some(words) = before.trouble.as_ref().or(after.trouble.as_ref()) {
        let reason = format!("rules that were not there ignore new tests, and git cannot read them: {words}");
        return Ok(Err(Judgement::new(Verdict::GateFailed, reason)));
    }
    let found = find(open, settings, before, after).await?;
    if !found.submodules.is_empty() {
        let names = first_few(&found.submodules).join(", ");
        open.tell(format!(
            "submodules among the tests changed, and submodules are not held to what they were: {names}"
        ));
    }
    if !found.has_none(Fate::Refused) {
        let reason = format!(
            "these tests must stay as they were (ralph.testChanges, ralph.newTests): {}",
            named(found.with(Fate::Refused))
        );
        tell_leave(open);
        return Ok(Err(Judgement::new(Verdict::GateFailed, reason)));
    }
    let mut proof = Proof::default();
    let is_held = !(found.has_none(Fate::PutBack) && found.has_none(Fate::Away));
    if is_held {
        proof.seconds = match second_run(open, run, &found, after.tree()).await? {
            Ok(seconds) => seconds,
            Err(judgement) => return Ok(Err(judgement)),
        };
    }
    if is_held || found.files.is_empty() && !settings.tests.pathspecs.is_empty() {
        proof.rests_on.push(Basis::Tests);
    }
    if !found.has_none(Fate::LetPass) {
        proof.rests_on.push(Basis::TestChangesAllowed);
        open.tell(format!(
            "these tests changed, which is allowed: {}",
            named(found.with(Fate::LetPass))
        ));
    }
    Ok(Ok(proof))
}

/// Names files, each with what was done to it.
fn named<'t>(files: impl Iterator<Item = &'t Touched>) -> String {
    let names: Vec<Vec<u8>> = files
        .map(|file| [file.path.as_slice(), b" (", file.deed.name().as_bytes(), b")"].concat())
        .collect();
    first_few(&names).join(", ")
}

/// Tells a person how a story may change tests. The agent need not know.
fn tell_leave(open: &mut Loop<'_>) {
    open.tell("if the story is to change tests, let it: --allow-test-changes (run, next, retry, complete)");
}

/// Names the files that are held.
fn held_files(found: &Found) -> String {
    let is_held = |file: &&Touched| matches!(file.fate, Fate::PutBack | Fate::Away);
    named(found.files.iter().filter(is_held))
}

/// Runs the gates with the tests as they were, and puts back the work tree.
async fn second_run(
    open: &mut Loop<'_>,
    run: Run<'_>,
    found: &Found,
    tree: &Oid,
) -> Result<Result<Vec<GateTime>, Judgement>, Error> {
    let entries: Vec<StagedEntry> = found
        .with(Fate::PutBack)
        .filter_map(|file| file.was.clone())
        .collect();
    let away: Vec<Vec<u8>> = found.with(Fate::Away).map(|file| file.path.clone()).collect();
    let put_back: Vec<Vec<u8>> = entries.iter().map(|entry| entry.path.clone()).collect();
    let scratch = open.file("held.index");
    let repo = &open.context.repo;
    let held = repo.tree_with(&scratch, tree, &entries, &away).await?;
    let record = judged::keep(open, tree, Some(&held)).await?;
    let ran = hold_and_run(open, run, [tree, &held], &put_back).await;
    // Whatever has happened, the work tree is first what it was.
    transition::put_back(open, record).await?;
    let files = held_files(found);
    Ok(match ran? {
        Held::Passed(seconds) => {
            open.tell(format!(
                "these tests changed; the gates also pass with them as they were: {files}"
            ));
            Ok(seconds)
        }
        Held::Failed(judgement) if judgement.verdict == Verdict::Interrupted => Err(judgement),
        Held::Failed(judgement) => {
            let why = judgement.reason.unwrap_or_default();
            let (failed, output) = match why.find(&format!("\n\n{OUTPUT}\n")) {
                Some(at) => why.split_at(at),
                None => (why.as_str(), ""),
            };
            let advice = "Make the work pass with these files as they were.";
            tell_leave(open);
            Err(Judgement::new(
                Verdict::GateFailed,
                format!(
                    "the gates pass only with what the attempt made of {files}; with the tests as they were at the last checkpoint, {failed}\n\n{advice}{output}"
                ).trim_end(),
            ))
        }
        Held::Blocked(words) => Err(Judgement::new(
            Verdict::GateFailed,
            format!("the tests cannot be put back to what they were ({files}): {words}"),
        )),
        Held::Written(names) => Err(Judgement::new(
            Verdict::GateFailed,
            format!(
                "the gates changed tests while these were held to what they were, so that they prove nothing: {names}. What gates write must not be in ralph.tests"
            ),
        )),
    })
}

/// The end of the second run.
enum Held {
    /// All gates passed.
    Passed(Vec<GateTime>),
    /// One failed, or was interrupted.
    Failed(Judgement),
    /// Git cannot put the tests back, in its own words.
    Blocked(String),
    /// The gates wrote to these tests.
    Written(String),
}

async fn hold_and_run(
    open: &mut Loop<'_>,
    run: Run<'_>,
    [judged, held]: [&Oid; 2],
    put_back: &[Vec<u8>],
) -> Result<Held, Error> {
    let checkpoint = open.checkpoint();
    if let Some(words) = checkpoint.hold(open.site(), [judged, held], put_back).await? {
        return Ok(Held::Blocked(words));
    }
    let round = Round {
        tree: held,
        held: true,
    };
    let seconds = match run_round(open, run, round).await? {
        Ok(seconds) => seconds,
        Err(judgement) => return Ok(Held::Failed(judgement)),
    };
    let now = open.read_work_tree().await?.tree;
    let tests: HashSet<&Vec<u8>> = put_back.iter().collect();
    let changes = open.context.repo.git.diff_trees(held, &now).await?;
    let written: Vec<Vec<u8>> = changes
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| tests.contains(path))
        .collect();
    if !written.is_empty() {
        return Ok(Held::Written(first_few(&written).join(", ")));
    }
    Ok(Held::Passed(seconds))
}
