//! Runs the agent of an attempt in one round, or in more if it asks for another process or must be asked. The
//! repository is repaired after each.

use std::io::Write;

use jiff::Timestamp;

use super::agent::{AttemptOptions, Which, require_agent, tell_fallback};
use super::limits::limit_of_loop;
use super::list;
use super::repair::after_agent;
use super::stop_request::BY_REQUEST;
use crate::agent::Agent;
use crate::agent::decode::Report;
use crate::agent::promise::Evidence;
use crate::engine::attempt::agent_run::run_agent;
use crate::engine::attempt::backoff::{Backoff, Unanswered, Unavailable, wait_for_service};
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::facts::Facts;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::attempt::rounds::{Left, Next, RoundMessage, Rounds, Uncounted, WhyUnchanged};
use crate::engine::attempt::verdict::{Judgement, Unjudged};
use crate::engine::attempt::with_messages;
use crate::engine::boxed::{self, Confinement, Inside};
use crate::engine::{Loop, Step, messages, shared_stash};
use crate::error::Error;
use crate::events::{Basis, Further, What, seconds_between};
use crate::git::FileStat;
use crate::names::Oid;
use crate::paths::shown;
use crate::prompt::{Begins, further};
use crate::settings::Settings;
use crate::state::Verdict;
use crate::stories::Story;

/// Maximum number of commit ids that are checked in an agent's message.
const MOST_IDS: usize = 20;

/// The agent of a round, its box and its prompt.
pub(super) struct Round {
    pub agent: Agent,
    pub confined: Confinement,
    pub text: String,
    /// The usual agent, or the fallback.
    pub which: Which,
}

/// Runs the rounds of an attempt; returns the outcome of the last one, with the total use of all.
pub(super) async fn run(
    open: &mut Loop<'_>,
    begun: &mut Begun,
    mut round: Round,
    options: &AttemptOptions,
) -> Result<Outcome, Error> {
    let mut rounds = Rounds::of(&begun.settings);
    let shown = open.state.here.messages.len();
    let (prompt, checkpoint) = (round.text.clone(), open.state.checkpoint_tree().clone());
    let mut work = Work {
        tree: checkpoint,
        files: Vec::new(),
    };
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
        outcome.left.clone_from(&all_left);
        earlier.add(&used);
        let doubt = doubt(open, &begun.story, &outcome);
        outcome.is_closed = is_closed || doubt.is_some();
        let facts = Some(&begun.facts);
        let next = what_follows(open, &mut rounds, (&outcome, facts), (text, doubt), &mut work).await;
        let (why, judgement) = match next {
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
            prepare(open, begun).await?;
        } else if let Some(why) = why {
            open.emit(What::RoundEnded {
                story: begun.story.id.clone(),
                attempt: begun.number,
                round: number,
                exit_code: outcome.exit_code,
                duration: seconds_between(since, outcome.ended),
                cost_usd: used.cost_usd,
            });
            // Silence in the next round does not revoke the message of an earlier one.
            is_closed |= !outcome.is_left_open();
            number += 1;
            all_left.extend(outcome.judgement.left.clone());
            prepare(open, begun).await?;
            messages::take(open, Some((&begun.story.id, begun.number)))?;
            open.state.show_messages(&begun.story.id);
            open.state.note_running(|running| {
                running.rounds = Some(number);
                running.cost_usd = earlier.cost_usd;
            });
            open.save()?;
            let left = outcome.judgement.left.take();
            let words = open.state.here.messages.iter().skip(shown);
            let is_last = begun.settings.offers_to_continue() && !rounds.may_continue();
            let left_words = left.as_deref().unwrap_or_default();
            let text = next_prompt(open, &prompt, why, (left_words, is_last), &work.files);
            round.text = with_messages(text, words);
            open.emit(What::RoundStarted {
                story: begun.story.id.clone(),
                attempt: begun.number,
                round: number,
                why,
                left,
            });
        }
    }
}

/// Decides how the promise of an agent's own session continues: it is judged, or the session is asked about it, as a
/// new process would be. `asked` is the reason for which the session was asked in this attempt.
pub(crate) async fn after_turn(
    open: &Loop<'_>,
    settings: &Settings,
    (story, prompt): (&Story, &str),
    outcome: &Outcome,
    asked: Option<Further>,
) -> Result<Judgement, (Further, String)> {
    let mut rounds = Rounds::of_session(settings, asked);
    let mut work = Work {
        tree: open.state.checkpoint_tree().clone(),
        files: Vec::new(),
    };
    let doubt = doubt(open, story, outcome);
    match what_follows(open, &mut rounds, (outcome, None), (prompt, doubt), &mut work).await {
        Next::Judge(judgement) => Ok(judgement),
        Next::Round(why, judgement) => {
            let text = next_prompt(
                open,
                "",
                why,
                (judgement.left.as_deref().unwrap_or_default(), false),
                &work.files,
            );
            Err((why, text.replacen("An earlier process of this attempt", "You", 1)))
        }
    }
}

/// The work tree between two rounds.
struct Work {
    tree: Oid,
    /// The files that differ from the checkpoint, except the story list.
    files: Vec<FileStat>,
}

/// Decides what follows a round, by its changes to the work tree if these matter. `work` is the work tree before the
/// round, and is updated to the one after it. The story list does not count: forbidden changes to it are undone.
/// `facts` has what git had before the attempt, for a promise that is not asked about if it put the work into the stash.
/// The prompt of the round comes with the reason why its promise is doubtful.
async fn what_follows(
    open: &Loop<'_>,
    rounds: &mut Rounds,
    (outcome, facts): (&Outcome, Option<&Facts>),
    (prompt, doubt): (&str, Option<String>),
    work: &mut Work,
) -> Next {
    let is_doubtful = doubt.is_some();
    match decide(open, rounds, (outcome, facts), (prompt, doubt), work).await {
        Next::Judge(mut judgement) => {
            // The promise stays doubtful, which the basis of the verdict records.
            if is_doubtful && judgement.verdict == Verdict::Complete {
                judgement.also.get_or_insert(Basis::Doubtful);
            }
            Next::Judge(judgement)
        }
        next @ Next::Round(..) => next,
    }
}

async fn decide(
    open: &Loop<'_>,
    rounds: &mut Rounds,
    (outcome, facts): (&Outcome, Option<&Facts>),
    (prompt, doubt): (&str, Option<String>),
    work: &mut Work,
) -> Next {
    let judgement = outcome.judgement.clone();
    let said = RoundMessage {
        is_unsaid: outcome.is_unsaid(),
        is_undone: outcome.says_undone(),
        uncounted: outcome.uncounted(),
        is_doubtful: doubt.is_some(),
        why_unchanged: if outcome.denied().is_empty() {
            outcome.says_unchanged().then_some(WhyUnchanged::DoneBefore)
        } else {
            Some(WhyUnchanged::Denied)
        },
    };
    if !rounds.need_work_tree(&judgement, said) {
        return Next::Judge(judgement);
    }
    let list = open.state.source().path.as_bytes();
    let checkpoint = open.checkpoint();
    // Changes only inside a submodule are work, and are judged.
    if judgement.verdict == Verdict::Complete
        && !rounds.doubts(said)
        && (checkpoint.certainly_differs(list).await
            || !matches!(checkpoint.unclean_submodule().await, Ok(None)))
    {
        return Next::Judge(judgement);
    }
    // An unreadable work tree is an error of the attempt's conclusion.
    let Ok(reading) = open.read_work_tree().await else {
        return Next::Judge(judgement);
    };
    let by_round = (work.tree.clone(), reading.tree.clone());
    let by_attempt = (open.state.checkpoint_tree().clone(), reading.tree.clone());
    let Ok(changes) = open.git().changed_files(&[by_round, by_attempt]).await else {
        return Next::Judge(judgement);
    };
    let mut beside_list = changes.into_iter().map(|mut files| {
        files.retain(|file| file.path != list);
        files
    });
    let changed = beside_list.next().is_some_and(|files| !files.is_empty());
    *work = Work {
        tree: reading.tree,
        files: beside_list.next().unwrap_or_default(),
    };
    let differs = !work.files.is_empty();
    let promises_nothing = !differs && judgement.verdict == Verdict::Complete;
    if promises_nothing
        && let Some(facts) = facts
        && !matches!(shared_stash::hidden_work(open, facts).await, Ok(None))
    {
        return Next::Judge(judgement);
    }
    let is_weighed = promises_nothing && rounds.weigh_evidence(said);
    let shows = is_weighed && shows_evidence(open, outcome, prompt).await;
    let left = Left {
        changed,
        differs,
        shows,
    };
    match rounds.after(judgement, left, said) {
        Next::Round(Further::Continue, judgement) => Next::Round(Further::Continue, judgement),
        Next::Round(why, mut judgement) => {
            judgement.left = doubt;
            Next::Round(why, judgement)
        }
        next @ Next::Judge(_) => next,
    }
}

/// Returns whether the agent names a file of the last checkpoint other than the story list, or a commit that it contains.
async fn shows_evidence(open: &Loop<'_>, outcome: &Outcome, prompt: &str) -> bool {
    let Some(report) = &outcome.report else {
        return false;
    };
    let (git, list) = (&open.context.repo.git, open.state.source().path.as_bytes());
    let evidence = Evidence::of(&report.message.text, prompt);
    let top = open.repo().top.to_string_lossy();
    let files = git
        .files_of(open.state.checkpoint_tree())
        .await
        .unwrap_or_default();
    let names = |path: &Vec<u8>| path != list && evidence.names_file(&String::from_utf8_lossy(path), &top);
    if files.iter().any(names) {
        return true;
    }
    for id in evidence.ids().take(MOST_IDS) {
        if let Ok(commit) = git.commit_of_name(id).await
            && commit.as_str().starts_with(&id.to_ascii_lowercase())
            && matches!(git.is_ancestor(&commit, open.state.checkpoint()).await, Ok(true))
        {
            return true;
        }
    }
    false
}

/// Returns the reasons why a promise is doubtful, one per line: a line of the message, or boxes of its story that the
/// agent left open beside ticked ones.
fn doubt(open: &Loop<'_>, story: &Story, outcome: &Outcome) -> Option<String> {
    let is_denied = || outcome.uncounted() == Some(Uncounted::Denied);
    let denied = || is_denied().then(|| "words around the promise can be read as its opposite".to_owned());
    let words = outcome.doubt().map(|line| line.trim().to_owned()).or_else(denied);
    let doubts: Vec<String> = words.into_iter().chain(ticks(open, story)).collect();
    (!doubts.is_empty()).then(|| doubts.join("\n"))
}

/// Returns a text if the agent ticked some boxes of its story, and left others.
fn ticks(open: &Loop<'_>, begun: &Story) -> Option<String> {
    let listing = open.state.source().list_in_file(&open.repo().top).ok()?;
    let story = listing.find(&begun.id)?;
    let was_open = |text: &str| begun.tasks.iter().any(|task| task.text == text && !task.done);
    let ticked = story
        .tasks
        .iter()
        .filter(|task| task.done && was_open(&task.text))
        .count();
    let open = story
        .tasks
        .iter()
        .filter(|task| !task.done && !task.optional)
        .count();
    (ticked > 0 && open > 0)
        .then(|| format!("it ticked {ticked} of the boxes of the story, and left {open} open"))
}

/// Returns the judgement that ends an attempt instead of another round.
fn why_not(open: &Loop<'_>, settings: &Settings, used: &Report) -> Result<Option<Judgement>, Error> {
    if let Some(signal) = open.context.stop.signal() {
        return Ok(Some(Judgement::interrupted(signal)));
    }
    if open.is_asked_to_stop() {
        return Ok(Some(Judgement::unjudged(Unjudged::Asked, BY_REQUEST)));
    }
    let limit = limit_of_loop(open, settings, used.cost_usd.unwrap_or(0.0))?;
    Ok(limit.map(|limit| {
        let reason = format!("stopped between two rounds at a limit: {limit}");
        Judgement::unjudged(Unjudged::Limited(limit), reason)
    }))
}

/// Waits until a round can be repeated in its work tree, or switches to the fallback agent; returns the judgement that
/// ends the attempt if neither is possible.
async fn wait(
    open: &Loop<'_>,
    begun: &Begun,
    round: &mut Round,
    unavailable: Unavailable,
    backoff: &mut Backoff,
    options: &AttemptOptions,
) -> Result<Option<Judgement>, Error> {
    let settings = &begun.settings;
    if round.which == Which::Usual && settings.fallback_agent.is_some() {
        match require_agent(open, Step::Next, &begun.story, options, Which::Fallback) {
            Ok(agent) => {
                tell_fallback(open, &unavailable.reason);
                round.confined = boxed::of_loop(open, settings, Inside::Agent(&agent)).await?;
                round.agent = agent;
                round.which = Which::Fallback;
                return Ok(None);
            }
            Err(error) => open.tell(format!("ralph.fallbackAgent cannot be used: {error}")),
        }
    }
    let reason = unavailable.reason.clone();
    let waited = wait_for_service(open, backoff, &unavailable, settings).await;
    open.state.end_wait();
    open.save()?;
    Ok(waited.err().map(|why| match why {
        Unanswered::Limited(limit) => Judgement::unjudged(Unjudged::Limited(limit), reason),
        Unanswered::Asked => Judgement::unjudged(Unjudged::Asked, BY_REQUEST),
        Unanswered::Interrupted(signal) => Judgement::interrupted(signal),
    }))
}

/// Returns the prompt of another round, which begins with these changed files.
fn next_prompt(
    open: &Loop<'_>,
    prompt: &str,
    why: Further,
    (left, is_last): (&str, bool),
    files: &[FileStat],
) -> String {
    let files: Vec<String> = files
        .iter()
        .map(|file| match file.lines {
            Some((added, removed)) => format!("{} (+{added} -{removed})", shown(&file.path)),
            None => shown(&file.path),
        })
        .collect();
    let begins = Begins {
        checkpoint: open.state.checkpoint().short(),
        files: &files,
        left,
        is_last,
    };
    further(prompt, why, begins)
}

/// Prepares another round: settles the story list, and records git's own files again.
async fn prepare(open: &mut Loop<'_>, begun: &mut Begun) -> Result<(), Error> {
    list::settle(open, begun, list::Then::Continues).await?;
    if let Some(held) = &mut begun.facts.held {
        open.attempt_record().before_round(held)?;
    }
    // The outputs of two processes must not share a line.
    if let Err(error) = begun.log.write_all(b"\n") {
        open.tell(format!("cannot write the log of the attempt: {error}"));
    }
    Ok(())
}
