//! Answers an agent that has stopped: judges its last message, makes a checkpoint or goes back to the last one, and
//! returns the next prompt.

use std::io::Write;

use jiff::Timestamp;

use super::answer::Answer;
use super::hook_input::HookInput;
use super::session::{agent_session, other_agent_session};
use super::usage;
use crate::agent::decode::{Decoder, Format, Report};
use crate::agent::process::Ending;
use crate::engine::attempt::learnings;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::attempt::verdict::{Judgement, judge};
use crate::engine::output_tail::OutputTail;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::steps::attempt::{after_turn, begin_at, choose_story, limits, take_record};
use crate::engine::steps::manual::{conclude_by_hand, forget_record};
use crate::engine::steps::manual_edits::commit_manual_edits;
use crate::engine::stories::{list_before_attempt, note_open, story_to_do};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::{Loop, Step, StepEnd, numbers, prompt_text, raised_by};
use crate::error::Error;
use crate::events::What;
use crate::names::{heading, typed};
use crate::settings::Settings;
use crate::state::{AgentSession, Given, Phase, Verdict};
use crate::stories::{Listing, Story};

/// The beginning of every answer: an agent treats the text of a hook as data unless the hook identifies itself.
const WHO: &str = "git-ralph drives this session for its user: this hook asks you to";

/// Number of reminders to a session without a promise; after these it counts as a failed attempt.
const REMINDERS: u32 = 2;

/// Judges the last message of an agent that ended its turn, and returns the next story.
pub(crate) async fn agent_stopped(mut open: Loop<'_>, call: &HookInput) -> Result<Answer, Error> {
    if let Some(other) = other_agent_session(&open, &call.session) {
        let seen = other.seen;
        return Ok(Answer::Tell(format!(
            "another session works on this loop (last heard of at {seen:.0}); this one is left alone. If that \
             one is gone: git ralph next --force"
        )));
    }
    let answer = Box::pin(answer_stop(&mut open, call)).await;
    let goes_on = matches!(answer, Ok(Answer::GoOn { .. }));
    let session = agent_session(&mut open.state, &call.session);
    session.released = !goes_on;
    if matches!(answer, Ok(Answer::Tell(_))) {
        session.given = None;
    }
    let saved = open.save();
    let answer = answer?;
    saved?;
    Ok(answer)
}

async fn answer_stop(open: &mut Loop<'_>, call: &HookInput) -> Result<Answer, Error> {
    let settings = open.settings();
    let turn = Turn::hear(agent_session(&mut open.state, &call.session), call);
    if matches!(open.state.phase(), Phase::Exhausted | Phase::Complete) && turn.released {
        return Ok(Answer::Nothing);
    }
    if let Some(given) = &turn.given
        && !numbers::still_stands(open, given)?
    {
        return Ok(Answer::Tell(format!(
            "the loop has moved on since this session was given story {}: nothing is judged, and the files stay \
             as they are; see: git ralph status {}",
            given.story,
            open.change()
        )));
    }
    let prompted = turn.prompted(open);
    let outdated = match &prompted {
        Some(prompted) if !numbers::still_stands(open, prompted)? => Some(outdated_words(&prompted.story)),
        _ => None,
    };
    if turn.given.is_none() {
        forget_record(open)?;
    }
    if repair_control_files(open).await? {
        open.context.read_configuration_again().await?;
    }
    let (listing, story) = story_at_hand(open, &settings).await?;
    let since = turn.given.as_ref().or(prompted.as_ref()).map(|given| given.since);
    let prompt = prompt_text(open, &listing, &story, &settings)?;
    let report = heard_in(&turn.message, &prompt, since, call);
    let number = numbers::next_number(open, &story.id)?;
    if turn.given.is_some() {
        learnings::claim(open, &story.id, number);
    }
    learnings::learn(open, &story.id, number, &report.learnings);
    let judgement = judge(&Ending::Exited(0), &report, None);
    let is_silent = judgement.verdict == Verdict::NoSignal;
    // The user may talk to an agent on the loop's branch about something else.
    if is_silent && (turn.released || turn.given.is_none() && !call.knows_promise()) {
        return Ok(Answer::Nothing);
    }
    if outdated.is_some() {
        return give_next(open, call, &settings, outdated).await;
    }
    if is_silent {
        if let Some(limit) = limits::limit_reached(open, &settings, turn.attempts)? {
            return Ok(Answer::Tell(limited(open, &limit)));
        }
        let session = agent_session(&mut open.state, &call.session);
        if session.reminders < REMINDERS {
            session.reminders += 1;
            return Ok(Answer::GoOn {
                prompt: reminder(&story, &judgement),
                fresh: false,
            });
        }
    }
    let mut outcome = Outcome {
        report: Some(report),
        ..Outcome::by_hand(judgement)
    };
    if outcome.judgement.verdict == Verdict::Complete {
        let asked = agent_session(&mut open.state, &call.session).asked;
        match after_turn(open, &settings, (&story, &prompt), &outcome, asked).await {
            Ok(judgement) => outcome.judgement = judgement,
            Err((why, question)) => {
                agent_session(&mut open.state, &call.session).asked = Some(why);
                let heading = heading(&story.id, &story.title);
                return Ok(Answer::GoOn {
                    prompt: format!("{WHO} look at story {heading} again.\n\n{}", question.trim()),
                    fresh: false,
                });
            }
        }
    }
    let said = Said {
        message: turn.message,
        report: outcome.report.unwrap_or_default(),
        judgement: outcome.judgement,
    };
    let judged = judge_session(open, since, (listing, story.clone()), said, &settings, call);
    let end = Box::pin(judged).await?;
    match end {
        StepEnd::Checkpointed => give_next(open, call, &settings, None).await,
        StepEnd::Failed { retries_left: true } => {
            let last = open.history()?.history.ended().next_back().cloned();
            let kept = last.and_then(|attempt| attempt.kept).unwrap_or_default();
            let undone = undone(&story, &kept);
            give_next(open, call, &settings, Some(undone)).await
        }
        StepEnd::Failed { retries_left: false } => Err(retries_spent(open, story.id)),
        StepEnd::Limited(limit) => Ok(Answer::Tell(limited(open, &limit))),
        StepEnd::Asked => Ok(Answer::Tell(limited(open, "git ralph stop"))),
        StepEnd::Skipped => Ok(Answer::Tell(limited(open, "git ralph skip"))),
        StepEnd::Interrupted(signal) => Err(Error::Stopped(signal)),
    }
}

/// The last message of a session at the end of its turn, and the earlier record of the session.
struct Turn {
    message: String,
    /// The story that it was given.
    given: Option<Given>,
    released: bool,
    /// The number of attempts that it has made.
    attempts: u32,
}

impl Turn {
    /// Reads the message of the session, and notes the time.
    fn hear(session: &mut AgentSession, call: &HookInput) -> Self {
        let (message, heard) = call.heard(session.heard.as_ref());
        session.heard = heard;
        session.seen = Timestamp::now();
        (session.ended, session.error) = (None, None);
        Self {
            message,
            given: session.given.clone(),
            released: session.released,
            attempts: session.attempts,
        }
    }

    /// Returns the story that the user's prompt gave to a new session.
    fn prompted(&self, open: &Loop<'_>) -> Option<Given> {
        let is_new = self.given.is_none() && self.attempts == 0;
        open.state.here.prompted.clone().filter(|_| is_new)
    }
}

/// Returns the list, and the story of the session.
async fn story_at_hand(open: &mut Loop<'_>, settings: &Settings) -> Result<(Listing, Story), Error> {
    let (listing, story) = match list_before_attempt(open).await? {
        Some(listing) => {
            note_open(&mut open.state, &listing)?;
            let story = story_to_do(&open.state, &listing)?;
            (listing, story)
        }
        None => choose_story(open, Step::Manual, settings).await?,
    };
    if open.state.phase() == Phase::Exhausted {
        return Err(retries_spent(open, story.id));
    }
    Ok((listing, story))
}

fn retries_spent(open: &Loop<'_>, story: String) -> Error {
    let change = open.change().to_string();
    StepRefusal::RetriesSpent { change, story }.into()
}

/// Judges the message about the story, as `complete` and `fail` do.
async fn judge_session(
    open: &mut Loop<'_>,
    since: Option<Timestamp>,
    chosen: (Listing, Story),
    said: Said,
    settings: &Settings,
    call: &HookInput,
) -> Result<StepEnd, Error> {
    let (site, state) = (open.site(), &open.state);
    site.take_judged_list(state.source())?;
    let since = since.unwrap_or_else(Timestamp::now);
    let mut begun = begin_at(open, (since, None), Step::Manual, chosen, None, settings)?;
    let session = agent_session(&mut open.state, &call.session);
    session.attempts = session.attempts.saturating_add(1);
    (session.reminders, session.asked) = (0, None);
    let written = begun.log.write_all(said.message.as_bytes());
    if let Err(error) = written.and_then(|()| begun.log.write_all(b"\n")) {
        open.tell(format!("cannot write the log of the attempt: {error}"));
    }
    let mut tail = OutputTail::default();
    tail.push(said.message.as_bytes());
    let outcome = Outcome::said(said.judgement, said.report, tail.text(), &begun.log);
    let end = conclude_by_hand(open, outcome, begun).await?;
    agent_session(&mut open.state, &call.session).given = None;
    Ok(end)
}

/// Records the state before another attempt of the session, and returns its prompt.
async fn give_next(
    open: &mut Loop<'_>,
    call: &HookInput,
    settings: &Settings,
    before: Option<String>,
) -> Result<Answer, Error> {
    let step = open.state.progress().next_step();
    let (listing, story) = match choose_story(open, step, settings).await {
        Ok(chosen) => chosen,
        Err(error) => {
            if let Error::Story(StoryRefusal::NothingLeft { done, total, .. }) = error {
                open.emit(What::complete(done, total));
            }
            return Err(error);
        }
    };
    let attempts = agent_session(&mut open.state, &call.session).attempts;
    if let Some(limit) = limits::limit_reached(open, settings, attempts)? {
        return Ok(Answer::Tell(limited(open, &limit)));
    }
    commit_manual_edits(open, &story.id).await?;
    let text = prompt_text(open, &listing, &story, settings)?;
    open.state.show_messages(&story.id);
    take_record(open, &story.id, settings).await?;
    learnings::remember(open);
    let given = numbers::given_now(open, &story.id)?;
    let session = agent_session(&mut open.state, &call.session);
    (session.given, session.asked) = (Some(given), None);
    let before = before.map_or_else(String::new, |before| format!("{before}\n\n"));
    Ok(Answer::GoOn {
        prompt: format!(
            "{WHO} do the next story. What is quoted in it is the user's story.\n\n{before}{text}"
        ),
        fresh: true,
    })
}

/// Restores git's own files: an agent's changes to them must not decide how it is judged. Returns whether any
/// had changed.
async fn repair_control_files(open: &Loop<'_>) -> Result<bool, Error> {
    let record = open.attempt_record();
    if !record.repair_control_files().await? {
        return Ok(false);
    }
    record.repair_index().await?;
    Ok(true)
}

fn limited(open: &Loop<'_>, limit: &str) -> String {
    let change = typed(open.change());
    let spent = open.tally().unwrap_or_default().cost;
    let later = match raised_by(&open.state, spent, &open.settings()) {
        Some(option) => format!("run {change} {option}"),
        None => format!("next {change}"),
    };
    format!(
        "stopped at a limit: {limit}. To go on later: git ralph {later}; to end: git ralph finish {change}"
    )
}

/// The message of a session, and its judgement.
struct Said {
    message: String,
    report: Report,
    judgement: Judgement,
}

/// Returns what a message promises, with the tokens and the cost since the story was given. Lines of the prompt that come
/// back are not the agent's word.
fn heard_in(message: &str, prompt: &str, since: Option<Timestamp>, call: &HookInput) -> Report {
    let mut decoder = Decoder::new(Format::Text, prompt);
    // Codex passes the hook's answer with these characters escaped, and the model may copy them.
    for line in message.split_inclusive('\n') {
        let is_escaped = line.trim_start().starts_with("&lt;promise&gt;");
        let spelt = is_escaped.then(|| line.replace("&lt;", "<").replace("&gt;", ">"));
        decoder.push(spelt.as_deref().unwrap_or(line).as_bytes());
    }
    let mut report = decoder.finish();
    if let (Some(since), Some(transcript)) = (since, &call.transcript) {
        let usage = usage::since(transcript, since);
        (report.input_tokens, report.output_tokens) = (usage.input_tokens, usage.output_tokens);
        report.cost_usd = usage.cost_usd;
    }
    report
}

/// Returns the text for an agent that ended its turn without a promise.
fn reminder(story: &Story, judgement: &Judgement) -> String {
    let why = judgement
        .reason
        .as_deref()
        .unwrap_or("the agent's last message has no promise");
    let heading = heading(&story.id, &story.title);
    format!(
        "{WHO} go on. Story {heading} is not over ({why}). No one can answer questions. When it is done and checked, end \
         your last message with a line that holds only `<promise>COMPLETE</promise>` and nothing else; if it cannot be \
         done, with a line that holds only `<promise>FAILED: ...</promise>`, with what stands in the \
         way in place of the three dots."
    )
}

/// Returns the text for an agent whose story is no longer the story of the loop.
fn outdated_words(story: &str) -> String {
    format!(
        "The loop has moved on since you were given story {story}: nothing of what you said was judged, and the files \
         stay as they are. Now another story, from the beginning."
    )
}

/// Returns the text for an agent whose attempt was undone.
fn undone(story: &Story, kept: &str) -> String {
    let heading = heading(&story.id, &story.title);
    format!(
        "That attempt at story {heading} does not count as done. The files are back at the last checkpoint: all that \
         you changed since is undone, and kept as {kept}. Read files again before you edit them. Now the story once \
         more, from the beginning."
    )
}
