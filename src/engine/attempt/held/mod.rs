//! Checks work with the original tests: gates that passed run once more with the tests and their own scripts of the
//! last checkpoint, if an attempt changed some.
//!
//! `scripts` finds the scripts in a gate's shell line, `seen` new tests that are hidden, `touched` the changed files,
//! `decision` chooses the treatment of each, and `approved_versions` finds the tests as the user approved them: if an
//! earlier attempt changed these, the gates run with them too. With `ralph.heldBy=review` the reviewers decide about
//! tests with which the gates fail. `asked_for` finds the files that a failed attempt asks for. Meanwhile `judged`
//! keeps the judged tree: if this process is killed, the next command restores it.

mod approved_versions;
mod asked_for;
mod decision;
mod scripts;
mod seen;
mod touched;

use std::collections::{BTreeMap, HashSet};

use self::decision::{FileChange, Rules, Treatment};
use self::touched::{Found, Touched, find, pathspecs, scripts};
use super::begun::Begun;
use super::gates::{GateTime, Round, run_round};
use super::refusal::AttemptRefusal;
use super::verdict::Judgement;
use crate::engine::{Loop, judged};
use crate::error::{Error, refuse};
use crate::events::{Basis, Notices};
use crate::git::{Git, StagedEntry};
use crate::names::{OUTPUT, Oid, typed};
use crate::paths::{first_few, shown};
use crate::settings::{GateScripts, Settings};
use crate::state::{JudgedTree, Verdict};
pub(crate) use asked_for::asked_for;
pub(super) use seen::{Seen, see};

/// The result of gates that passed.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// The seconds of each gate in the second run; empty without one.
    pub seconds: Vec<GateTime>,
    /// The further basis of the verdict.
    pub rests_on: Vec<Basis>,
    /// True if a gate deleted files of the work.
    pub is_on_others: bool,
    /// The changes about which the reviewers decide.
    pub for_review: ForReview,
}

/// The changes of held files about which the reviewers decide (`ralph.heldBy`).
#[derive(Debug, Default)]
pub(crate) struct ForReview {
    /// The files, each with the tree that has its original version.
    pub files: BTreeMap<Vec<u8>, Oid>,
    /// The judgement if the reviewers do not accept the changes: the gates fail with the original files.
    pub refused: Option<Judgement>,
}

impl ForReview {
    /// Returns a paragraph that explains why the gates refuse the work, if they do.
    pub fn why(&self) -> Option<&str> {
        let reason = self.refused.as_ref()?.reason.as_deref()?;
        reason.split("\n\n").next()
    }

    /// Adds the held files of a comparison with a tree.
    fn add(&mut self, found: &Found, tree: &Oid) {
        let files = found.held().filter(|file| file.change != FileChange::Hidden);
        self.files
            .extend(files.map(|file| (file.path.clone(), tree.clone())));
    }
}

/// Reports the pathspecs that no file matches, and the held scripts of gates. One process for each.
pub(crate) async fn tell_files(open: &Loop<'_>, settings: &Settings) -> Result<(), Error> {
    let inputs = ("ralph.setupInputs", settings.setup_inputs.as_slice());
    for (key, pathspecs) in settings.tests.all_pathspecs().into_iter().chain([inputs]) {
        for pathspec in pathspecs {
            if !open.git().is_any_file(pathspec).await? {
                open.tell(format!(
                    "warning: {key}: no file matches {pathspec}, so that it {} nothing",
                    if key == "ralph.tests" { "holds" } else { "releases" }
                ));
            }
        }
    }
    if let Some(why) = settings.why_unreviewed_tests() {
        open.tell(format!("warning: {why}"));
    }
    if settings.tests.gate_scripts == GateScripts::Held {
        let mut held = Vec::new();
        for script in scripts(open, settings) {
            if open.git().is_any_file(&format!(":(top,literal){script}")).await? {
                held.push(script.into_bytes());
            }
        }
        if !held.is_empty() {
            open.tell(format!(
                "gate scripts: {}; a story cannot weaken them (if they are the work itself: ralph.gateScripts)",
                first_few(&held).join(", ")
            ));
        }
    }
    Ok(())
}

/// Refuses pathspecs that git does not understand. One process for each setting that has any.
pub(crate) async fn require_pathspecs(git: &Git, settings: &Settings) -> Result<(), Error> {
    for (key, pathspecs) in settings.tests.all_pathspecs() {
        if !pathspecs.is_empty()
            && let Some(words) = git.refused_pathspecs(pathspecs).await?
        {
            return refuse(AttemptRefusal::BadPathspecs {
                key: key.to_owned(),
                words,
            });
        }
    }
    Ok(())
}

/// Judges the tests of a work tree with which all gates have passed: `before` is the work tree before the gates,
/// `after` the one after them, just read into the working index. `of_agent` is true if the work is not the user's.
pub(super) async fn judge(
    open: &Loop<'_>,
    begun: &Begun,
    before: &Seen,
    after: &Seen,
    of_agent: bool,
) -> Result<Result<Proof, Judgement>, Error> {
    let settings = &begun.settings;
    if let Some(words) = before.trouble.as_ref().or(after.trouble.as_ref()) {
        let reason = format!("rules that were not there ignore new tests, and git cannot read them: {words}");
        return Ok(Err(Judgement::new(Verdict::GateFailed, reason)));
    }
    let rules = Rules::of(&settings.tests);
    let checkpoint = open.state.checkpoint_tree().clone();
    let found = find(open, &checkpoint, settings, rules, before, after).await?;
    open.tell_few(
        "submodules among the tests changed, and submodules are not held to what they were",
        &found.submodules,
    );
    if !found.has_none(Treatment::Refused) {
        let reason = format!(
            "these tests must stay as they were (ralph.testChanges): {}",
            named(found.with(Treatment::Refused))
        );
        tell_leave(open);
        return Ok(Err(Judgement::new(Verdict::GateFailed, reason)));
    }
    let mut approved = approved_versions::trees(open, &pathspecs(open, settings)).await?;
    approved.retain(|group| !group.contains(&checkpoint));
    let mut by_person = Vec::new();
    for group in approved {
        let mut compared = Vec::new();
        for tree in group {
            let found = find(open, &tree, settings, rules.lenient(), before, after).await?;
            compared.push((tree, found));
        }
        by_person.push(compared);
    }
    // Reviewers do not see files that no checkpoint takes in.
    let is_hidden = |file: &Touched| file.change == FileChange::Hidden;
    let of_person = || by_person.iter().flatten();
    let mut all = of_person().map(|(_, found)| found).chain([&found]);
    let is_seen = !all.any(|found| found.files.iter().any(is_hidden));
    let reviewers_decide = of_agent && settings.has_tests_reviewed();
    let mut proof = Proof::default();
    if reviewers_decide {
        proof.for_review.add(&found, &checkpoint);
    }
    let mut has_run = false;
    let ran = run_held(
        open,
        begun,
        (&found, Since::Checkpoint),
        (after, &mut has_run),
        &mut proof,
    )
    .await?;
    let mut failed = ran.map(|refused| (&found, Since::Checkpoint, refused));
    let mut refused = None;
    for group in &by_person {
        for (_, person) in group.iter().take_while(|_| failed.is_none()) {
            let since = (person, Since::Person);
            let ran = run_held(open, begun, since, (after, &mut has_run), &mut proof).await?;
            refused = ran.map(|refused| (person, Since::Person, refused));
            if !matches!(refused, Some((.., Refused::ByGates(_)))) {
                break;
            }
        }
        failed = failed.or(refused.take());
    }
    match failed {
        None => {}
        Some((found, since, Refused::ByGates(judgement))) if reviewers_decide && is_seen => {
            open.tell(format!(
                "the gates fail with these tests {}, and the reviewer decides: {}",
                since.words(),
                named(found.held())
            ));
            for (tree, person) in of_person() {
                proof.for_review.add(person, tree);
            }
            proof.for_review.refused = Some(judgement);
            proof.seconds.clear();
        }
        Some((found, _, Refused::ByGates(judgement))) => {
            tell_leave(open);
            tell_product(open, found);
            return Ok(Err(judgement));
        }
        Some((.., Refused::Otherwise(judgement))) => return Ok(Err(judgement)),
    }
    let compared: Vec<&Found> = of_person().map(|(_, found)| found).chain([&found]).collect();
    proof.rests_on = rests_on(open, settings, &checkpoint, &compared).await?;
    if proof.for_review.refused.is_some() {
        proof.rests_on.retain(|basis| *basis == Basis::TestChangesAllowed);
    }
    if !found.has_none(Treatment::Allowed) {
        open.tell(format!(
            "these tests changed, which is allowed: {}",
            named(found.with(Treatment::Allowed))
        ));
    }
    Ok(Ok(proof))
}

/// Runs the gates with these files restored, if any differs, and notes their result if they pass. `has_run` is true
/// from the first such run on.
async fn run_held(
    open: &Loop<'_>,
    begun: &Begun,
    (found, since): (&Found, Since),
    (after, has_run): (&Seen, &mut bool),
    proof: &mut Proof,
) -> Result<Option<Refused>, Error> {
    if found.has_none(Treatment::Restored) && found.has_none(Treatment::Removed) {
        return Ok(None);
    }
    if std::mem::replace(has_run, true) {
        // Restoring the work tree after the previous run has changed the working index.
        let hidden = if after.hidden.is_empty() {
            &[]
        } else {
            begun.settings.tests.pathspecs.as_slice()
        };
        let reading = open.read_work_tree().await?;
        see(open, hidden, reading).await?;
    }
    Ok(match second_run(open, begun, found, since, after.tree()).await? {
        Ok(seconds) => {
            proof.is_on_others |= seconds.iter().any(|time| time.is_on_others());
            proof.seconds = seconds;
            None
        }
        Err(refused) => Some(refused),
    })
}

/// Returns the basis that gates give which passed with the original files in each of these comparisons.
async fn rests_on(
    open: &Loop<'_>,
    settings: &Settings,
    base: &Oid,
    found: &[&Found],
) -> Result<Vec<Basis>, Error> {
    let pathspecs = &settings.tests.pathspecs;
    let files = || found.iter().flat_map(|found| &found.files);
    let are_held = !files().any(|file| file.is_test && file.treatment == Treatment::Allowed);
    let mut rests_on = Vec::new();
    if !pathspecs.is_empty()
        && are_held
        && (files().any(|file| file.is_test) || open.repo().has_file_of(base, pathspecs).await?)
    {
        rests_on.push(Basis::Tests);
    }
    if files().any(|file| !file.is_test && file.treatment == Treatment::Restored) {
        rests_on.push(Basis::GateScript);
    }
    if files().any(|file| file.treatment == Treatment::Allowed) {
        rests_on.push(Basis::TestChangesAllowed);
    }
    Ok(rests_on)
}

/// The version that files are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// The last checkpoint.
    Checkpoint,
    /// The last version that the user made or allowed.
    Person,
}

impl Since {
    /// Returns the version in words.
    fn words(self) -> &'static str {
        match self {
            Self::Checkpoint => "as they were",
            Self::Person => "as you last approved them",
        }
    }
}

/// Names files, each with the change made to it.
fn named<'t>(files: impl Iterator<Item = &'t Touched>) -> String {
    let names: Vec<Vec<u8>> = files
        .map(|file| [file.path.as_slice(), b" (", file.change.name().as_bytes(), b")"].concat())
        .collect();
    first_few(&names).join(", ")
}

/// Tells the user how to let a story change tests. The agent need not know.
pub(crate) fn tell_leave(open: &Loop<'_>) {
    open.tell(
        "if the story is to change tests, let it: --allow-test-changes (next, retry, complete, and run for the first story that it attempts)",
    );
}

/// Tells the user what to do if a gate runs the work itself.
fn tell_product(open: &Loop<'_>, found: &Found) {
    if let Some(script) = found.with(Treatment::Restored).find(|file| !file.is_test) {
        open.tell(format!(
            "if {} is the work, which the gate runs, and no script of the gate: git config --add ralph.gateScripts {}",
            shown(&script.path),
            typed(String::from_utf8_lossy(&script.path))
        ));
    }
}

/// The judgement of a failed second run.
enum Refused {
    /// The gates fail with the original tests.
    ByGates(Judgement),
    /// It failed for another reason.
    Otherwise(Judgement),
}

/// Runs the gates with the original tests, and restores the work tree.
async fn second_run(
    open: &Loop<'_>,
    begun: &Begun,
    found: &Found,
    since: Since,
    tree: &Oid,
) -> Result<Result<Vec<GateTime>, Refused>, Error> {
    let entries: Vec<StagedEntry> = found
        .with(Treatment::Restored)
        .filter_map(|file| file.was.clone())
        .collect();
    let away: Vec<Vec<u8>> = found
        .with(Treatment::Removed)
        .map(|file| file.path.clone())
        .collect();
    let put_back: Vec<Vec<u8>> = entries.iter().map(|entry| entry.path.clone()).collect();
    let scratch = open.site().file("held.index");
    let held = open.repo().tree_with(&scratch, tree, &entries, &away).await?;
    let record = judged::keep(open, tree, Some(&held)).await?;
    let ran = hold_and_run(open, begun, &record, &put_back).await;
    // The work tree is restored first, whatever the result.
    judged::put_back(open, record).await?;
    let files = named(found.held());
    let otherwise = |reason| Refused::Otherwise(Judgement::new(Verdict::GateFailed, reason));
    Ok(match ran? {
        Held::Passed(seconds) => {
            if !seconds.iter().any(|time| time.is_on_others()) {
                open.tell(format!(
                    "these tests changed; the gates also pass with them {}: {files}",
                    since.words()
                ));
            }
            Ok(seconds)
        }
        Held::Failed(judgement) if judgement.verdict == Verdict::Interrupted => {
            Err(Refused::Otherwise(judgement))
        }
        Held::Failed(judgement) => {
            let why = judgement.reason.unwrap_or_default();
            let (failed, output) = match why.find(&format!("\n\n{OUTPUT}\n")) {
                Some(at) => why.split_at(at),
                None => (why.as_str(), ""),
            };
            let advice = "Make the work pass with these files as they were.";
            let only = match since {
                Since::Checkpoint => format!(
                    "what the attempt made of {files}; with the tests as they were at the last checkpoint"
                ),
                Since::Person => {
                    format!(
                        "what attempts have made of {files}; with these files as the user last approved them"
                    )
                }
            };
            let reason = format!("the gates pass only with {only}, {failed}\n\n{advice}{output}");
            Err(Refused::ByGates(Judgement {
                only_by_user: (since == Since::Person).then_some(files),
                ..Judgement::new(Verdict::GateFailed, reason.trim_end())
            }))
        }
        Held::Blocked(words) => Err(otherwise(format!(
            "the tests cannot be put back to what they were ({files}): {words}"
        ))),
        Held::Written(names) => Err(otherwise(format!(
            "the gates changed test files while they ran with the original tests, so their result does not count: {names}. Remove files that gates write from ralph.tests"
        ))),
    })
}

/// The end of the second run.
enum Held {
    /// All gates passed.
    Passed(Vec<GateTime>),
    /// One gate failed, or was interrupted.
    Failed(Judgement),
    /// Git cannot restore the tests, in its own words.
    Blocked(String),
    /// The gates wrote to these tests.
    Written(String),
}

async fn hold_and_run(
    open: &Loop<'_>,
    begun: &Begun,
    record: &JudgedTree,
    put_back: &[Vec<u8>],
) -> Result<Held, Error> {
    let (checkpoint, held) = (open.checkpoint(), record.present());
    if let Some(words) = checkpoint.hold([&record.tree, held], put_back).await? {
        return Ok(Held::Blocked(words));
    }
    let round = Round {
        tree: held,
        record,
        held: Some(put_back),
    };
    let seconds = match run_round(open, begun, round).await? {
        Ok(seconds) => seconds,
        Err(judgement) => return Ok(Held::Failed(judgement)),
    };
    let now = open.read_work_tree().await?.tree;
    let tests: HashSet<&Vec<u8>> = put_back.iter().collect();
    let changes = open.git().diff_trees(held, &now).await?;
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
