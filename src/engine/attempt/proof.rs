//! Evidence for an attempt besides its promise: the gates, and the gates again with the original tests.

use super::begun::Begun;
use super::gates::{self, GateTime, Round, run_round};
use super::held::{self, ForReview};
use super::verdict::Judgement;
use crate::agent::program_of;
use crate::engine::{Loop, judged};
use crate::error::Error;
use crate::events::Basis;
use crate::names::Oid;

/// The result of gates that passed.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    /// A line about each, for the checkpoint.
    pub lines: Vec<String>,
    /// The basis of a verdict after these gates: whether they judged the work, and with which tests.
    pub rests_on: Vec<Basis>,
    /// The tree that passed, including files that the gates wrote; `None` without gates.
    pub tree: Option<Oid>,
    /// The changes of held files that the reviewers accept or refuse.
    pub for_review: ForReview,
}

impl Gates {
    /// Returns whether all gates have judged the work, and no other files.
    pub fn have_judged(&self) -> bool {
        self.rests_on.contains(&Basis::Gates)
    }

    /// Returns whether the gates have run, and one of them deleted files of the work.
    pub fn are_on_others(&self) -> bool {
        self.rests_on.contains(&Basis::GatesOnOtherFiles)
    }
}

/// Runs the gates, and again with the original tests if the attempt changed some; returns the judgement of the first
/// failing gate, or the result of all. `of_agent` is true if the work is not the user's.
pub(crate) async fn run(
    open: &Loop<'_>,
    begun: &Begun,
    of_agent: bool,
) -> Result<Result<Gates, Judgement>, Error> {
    let settings = &begun.settings;
    gates::require_proven(open, settings)?;
    if settings.verify.is_empty() {
        return Ok(Ok(Gates::default()));
    }
    let before = open.read_work_tree().await?;
    let tree = before.tree.clone();
    // Files that the user's own rules ignore are trusted.
    let tests = if of_agent {
        settings.tests.pathspecs.as_slice()
    } else {
        &[]
    };
    let kept = judged::keep(open, &tree, None).await?;
    let before = held::see(open, tests, before).await?;
    let round = Round {
        tree: &tree,
        record: &kept,
        held: None,
    };
    let ran = run_round(open, begun, round).await?;
    if ran.is_err() && of_agent {
        // The attempt is undone, and the judged tree is kept.
        return Ok(ran.map(|_| Gates::default()));
    }
    let last = settings.verify.last().map_or("", String::as_str);
    let who = match ran {
        Ok(_) => gates::named(last),
        // The failing gate is unknown.
        Err(_) => "the gates".to_owned(),
    };
    let (after, taken) = judged::settle(open, &kept, &who, ran.is_ok()).await?;
    let mut times = match ran {
        Ok(times) => times,
        Err(judgement) => return Ok(Err(judgement)),
    };
    if let Some(time) = times.last_mut() {
        time.note_taken(open, last, &taken);
    }
    let mut are_on_others = times.iter().any(|time| time.is_on_others());
    let tree = after.tree.clone();
    let after = held::see(open, tests, after).await?;
    let proof = held::judge(open, begun, &before, &after, of_agent).await;
    // It may contain tests that no checkpoint takes in.
    open.repo().discard_index(&open.site().work_index())?;
    let proof = match proof? {
        Ok(proof) => proof,
        Err(judgement) => {
            return Ok(Err(Judgement {
                with_held_tests: true,
                ..judgement
            }));
        }
    };
    are_on_others |= proof.is_on_others;
    let mut rests_on = proof.rests_on;
    if are_on_others {
        rests_on.retain(|basis| *basis == Basis::TestChangesAllowed);
        rests_on.insert(0, Basis::GatesOnOtherFiles);
    } else {
        rests_on.insert(0, Basis::Gates);
    }
    let mut again = proof.seconds.into_iter();
    let line = |(gate, first): (&String, GateTime)| {
        let again = again.next().map_or_else(String::new, |second| {
            format!("; {} with the tests as they were", second.words())
        });
        // The checkpoint may be published, and a command line can hold keys.
        format!("{} (passed, {}{again})", program_of(gate), first.words())
    };
    Ok(Ok(Gates {
        lines: settings.verify.iter().zip(times).map(line).collect(),
        rests_on,
        tree: Some(tree),
        for_review: proof.for_review,
    }))
}
