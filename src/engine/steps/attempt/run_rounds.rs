//! Runs the agent of an attempt: in one round, or in more if it asks for another process, or has to be asked. The repository is
//! put right after each.

use std::io::Write;

use jiff::Timestamp;

use super::agent::{AttemptOptions, Which, require_agent, tell_fallback};
use super::limits::limit_of_loop;
use super::list;
use super::put_right::after_agent;
use super::stopped::BY_REQUEST;
use crate::agent::Agent;
use crate::agent::decode::Report;
use crate::engine::attempt::agent_run::run_agent;
use crate::engine::attempt::backoff::{Backoff, Unavailable, Waited, wait_for_service};
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::attempt::rounds::{Left, Next, Rounds, Said, WhyUnchanged};
use crate::engine::attempt::verdict::{Judgement, Unjudged};
use crate::engine::boxed::{self, Confinement, Inside};
use crate::engine::stories::changes_only_the_list;
use crate::engine::{Loop, Step};
use crate::error::Error;
use crate::events::{Further, What, seconds_between};
use crate::names::Oid;
use crate::paths::shown;
use crate::prompt::{Begins, further};
use crate::settings::Settings;
use crate::state::Verdict;

/// The agent of a round, its box and its prompt.
pub(super) struct Round {
    pub agent: Agent,
    pub confined: Confinement,
    pub text: String,
    /// The agent of the settings, or that which takes its place.
    pub which: Which,
}

/// Runs the rounds of an attempt; returns the outcome of the last one, with what all of them have used.
pub(super) async fn run(
    open: &mut Loop<'_>,
    begun: &mut Begun,
    mut round: Round,
    options: &AttemptOptions,
) -> Result<Outcome, Error> {
    let mut rounds = Rounds::of(&begun.settings);
    let (prompt, mut tree) = (round.text.clone(), open.state.checkpoint_tree().clone());
    let mut backoff = Backoff::default();
    let mut earlier = Report::default();
    let (mut number, mut all_left, mut is_closed) = (1, Vec::new(), false);
    loop {
        let since = Timestamp::now();
        let Round {
            agent,
            confined,
            text,
            ..
        } = &round;
        let mut outcome = run_agent(open, agent, begun, text, confined).await?;
        after_agent(open, begun, true).await?;
        let used = outcome.report.clone().unwrap_or_default();
        if let Some(report) = &mut outcome.report {
            report.add(&earlier);
        }
        outcome.rounds = number;
        // A round that was silent, and not left open, is not judged by its successor's silence.
        is_closed |= outcome.is_unsaid() && outcome.judgement.left.is_none() && !outcome.is_left_open();
        outcome.is_closed = is_closed;
        outcome.left.clone_from(&all_left);
        earlier.add(&used);
        let (why, judgement) = match what_follows(open, &mut rounds, &outcome, &mut tree).await {
            Next::Round(why, judgement) => (Some(why), judgement),
            Next::Judge(judgement) => (None, judgement),
        };
        outcome.judgement = judgement;
        let unavailable = outcome.judgement.unavailable().filter(|_| number > 1);
        if why.is_none() && unavailable.is_none() {
            return Ok(outcome);
        }
        if let Some(judgement) = why_not(open, &begun.settings, &earlier)? {
            outcome.judgement = judgement;
            return Ok(outcome);
        }
        if let Some(unavailable) = unavailable {
            if let Some(judgement) = wait(open, begun, &mut round, unavailable, &mut backoff, options).await?
            {
                outcome.judgement = judgement;
                return Ok(outcome);
            }
        } else if let Some(why) = why {
            open.emit(What::RoundEnded {
                story: begun.story.id.clone(),
                attempt: begun.number,
                round: number,
                exit_code: outcome.exit_code,
                duration: seconds_between(since, outcome.ended),
                cost_usd: used.cost_usd,
            });
            number += 1;
            all_left.extend(outcome.judgement.left.clone());
            round.text = next_prompt(open, &prompt, why, &outcome.judgement, &tree).await?;
            open.emit(What::RoundStarted {
                story: begun.story.id.clone(),
                attempt: begun.number,
                round: number,
                why,
                left: outcome.judgement.left.take(),
            });
        }
        prepare(open, begun).await?;
    }
}

/// Decides what follows a round, by what it left in the work tree if that matters. `before` is the tree before the round, and
/// becomes that after it.
async fn what_follows(open: &Loop<'_>, rounds: &mut Rounds, outcome: &Outcome, before: &mut Oid) -> Next {
    let judgement = outcome.judgement.clone();
    let said = Said {
        is_unsaid: outcome.is_unsaid(),
        in_sentence: outcome.promises_in_sentence(),
        why_unchanged: if outcome.denied().is_empty() {
            outcome.says_unchanged().then_some(WhyUnchanged::DoneBefore)
        } else {
            Some(WhyUnchanged::Denied)
        },
    };
    if !rounds.need_work_tree(&judgement, said) {
        return Next::Judge(judgement);
    }
    let (list, site) = (open.state.source().path.as_bytes(), open.site());
    if judgement.verdict == Verdict::Complete && open.checkpoint().certainly_differs(site, list).await {
        return Next::Judge(judgement);
    }
    // A work tree that cannot be read is an error of the attempt's conclusion.
    let Ok(reading) = open.read_work_tree().await else {
        return Next::Judge(judgement);
    };
    let left = Left {
        changed: reading.tree != *before,
        differs: !changes_only_the_list(open, &reading),
    };
    *before = reading.tree;
    rounds.after(judgement, left, said)
}

/// Returns the judgement that ends an attempt although another round would follow.
fn why_not(open: &Loop<'_>, settings: &Settings, used: &Report) -> Result<Option<Judgement>, Error> {
    if let Some(signal) = open.context.stop.signal() {
        return Ok(Some(Judgement::interrupted(signal)));
    }
    if open.store.is_asked_to_stop() {
        return Ok(Some(Judgement::unjudged(Unjudged::Asked, BY_REQUEST)));
    }
    let limit = limit_of_loop(open, settings, used.cost_usd.unwrap_or(0.0))?;
    Ok(limit.map(|limit| {
        let reason = format!("stopped between two rounds at a limit: {limit}");
        Judgement::unjudged(Unjudged::Limited(limit), reason)
    }))
}

/// Waits until a round can be repeated in the work tree that it began with, or gives it to the other agent; returns the
/// judgement that ends the attempt if it cannot.
async fn wait(
    open: &Loop<'_>,
    begun: &Begun,
    round: &mut Round,
    unavailable: Unavailable,
    backoff: &mut Backoff,
    options: &AttemptOptions,
) -> Result<Option<Judgement>, Error> {
    let settings = &begun.settings;
    if round.which == Which::Usual
        && settings.fallback_agent.is_some()
        && let Ok(agent) = require_agent(open, Step::Next, &begun.story, options, Which::Fallback)
    {
        tell_fallback(open, &unavailable.reason);
        round.confined = boxed::of_loop(open, settings, Inside::Agent(&agent)).await?;
        round.agent = agent;
        round.which = Which::Fallback;
        return Ok(None);
    }
    let reason = unavailable.reason.clone();
    let waited = wait_for_service(open, backoff, &unavailable, settings).await;
    open.state.end_wait();
    open.save()?;
    Ok(match waited {
        Waited::Over => None,
        Waited::TooLong(limit) => Some(Judgement::unjudged(Unjudged::Limited(limit), reason)),
        Waited::Asked => Some(Judgement::unjudged(Unjudged::Asked, BY_REQUEST)),
        Waited::Interrupted(signal) => Some(Judgement::interrupted(signal)),
    })
}

/// Returns the prompt of another round; `now` is the tree that it begins with.
async fn next_prompt(
    open: &Loop<'_>,
    prompt: &str,
    why: Further,
    judgement: &Judgement,
    now: &Oid,
) -> Result<String, Error> {
    let (git, state) = (&open.context.repo.git, &open.state);
    let pair = (state.checkpoint_tree().clone(), now.clone());
    let changed = git.changed_files(&[pair]).await?;
    let files: Vec<String> = changed
        .into_iter()
        .flatten()
        .map(|file| match file.lines {
            Some((added, removed)) => format!("{} (+{added} -{removed})", shown(&file.path)),
            None => shown(&file.path),
        })
        .collect();
    let begins = Begins {
        checkpoint: state.checkpoint().short(),
        files: &files,
        left: judgement.left.as_deref().unwrap_or_default(),
    };
    Ok(further(prompt, why, begins))
}

/// Prepares another round: the story list is what the attempt may leave, and git's own files are recorded again.
async fn prepare(open: &mut Loop<'_>, begun: &mut Begun) -> Result<(), Error> {
    list::settle(open, begun, list::Then::Continues).await?;
    let record = open.attempt_record();
    if let Some(held) = &mut begun.facts.held {
        record.before_round(held)?;
    }
    // What one process prints does not run into what the next one does.
    if let Err(error) = begun.log.write_all(b"\n") {
        open.tell(format!("cannot write the log of the attempt: {error}"));
    }
    Ok(())
}
