//! From an agent's last message to the answer: judged, checkpoint or back to it, and the next prompt.

use std::io::Write;

use jiff::Timestamp;

use super::{Answer, HookInput};
use crate::agent::decode::{Decoder, Format, Report};
use crate::agent::process::Ending;
use crate::engine::Session;
use crate::engine::conclude::StepEnd;
use crate::engine::output_tail::OutputTail;
use crate::engine::progress::Step;
use crate::engine::run_agent::Outcome;
use crate::engine::verdict::{Judgement, judge};
use crate::error::Error;
use crate::events::What;
use crate::events::log;
use crate::names::heading;
use crate::settings::{Configuration, Settings};
use crate::state::{Given, Phase, Verdict};
use crate::stories::{Listing, Story};

/// How often a session that promises nothing is reminded before that counts as an attempt.
const REMINDERS: u32 = 2;

impl Session<'_> {
    /// The agent has ended its turn: judges its last message, and gives it the next story.
    pub(super) async fn agent_stopped(&mut self, call: &HookInput) -> Result<Answer, Error> {
        if let Some(other) = self.other_agent_session(&call.session) {
            let seen = other.seen;
            return Ok(Answer::Tell(format!(
                "another session works on this loop (last heard of at {seen:.0}); this one is left alone. If that \
                 one is gone: git ralph next"
            )));
        }
        let answer = self.answer_stop(call).await;
        let goes_on = matches!(answer, Ok(Answer::GoOn { .. }));
        let session = self.agent_session(&call.session);
        session.released = !goes_on;
        if matches!(answer, Ok(Answer::Tell(_))) {
            session.given = None;
        }
        let saved = self.save();
        let answer = answer?;
        saved?;
        Ok(answer)
    }

    async fn answer_stop(&mut self, call: &HookInput) -> Result<Answer, Error> {
        let settings = self.engine.configuration.for_step(&self.state.settings)?;
        let session = self.agent_session(&call.session);
        let (message, heard) = call.heard(session.heard.as_ref());
        session.heard = heard;
        session.seen = Timestamp::now();
        (session.ended, session.error) = (None, None);
        let (given, released) = (session.given.clone(), session.released);
        if matches!(self.state.progress.phase, Phase::Exhausted | Phase::Complete) && released {
            return Ok(Answer::Nothing);
        }
        if let Some(given) = &given
            && !self.still_stands(given)
        {
            return Ok(Answer::Tell(format!(
                "the loop has moved on since this session was given story {}: nothing is judged, and the files stay \
                 as they are; see: git ralph status {}",
                given.story,
                self.change()
            )));
        }
        let was_given = given.is_some();
        if !was_given {
            self.forget_records()?;
        }
        self.take_back_own_files().await?;
        let (listing, story) = match self.listing_before().await? {
            Some(listing) => {
                self.note_open(&listing)?;
                let story = self.story_to_do(&listing)?;
                (listing, story)
            }
            None => self.begin_story(Step::Manual, &settings).await?,
        };
        if self.state.progress.phase == Phase::Exhausted {
            return Err(Error::RetriesSpent {
                change: self.change().to_string(),
                story: story.id,
            });
        }
        let report = heard_in(&message, &self.prompt_text(&story, &settings)?);
        self.learn(&report.learnings);
        let judgement = judge(&Ending::Exited(0), &report);
        if judgement.verdict == Verdict::NoSignal {
            // A person may talk to an agent on the loop's branch about something else.
            if released || !was_given && !call.knows_promise() {
                return Ok(Answer::Nothing);
            }
            let session = self.agent_session(&call.session);
            let (attempts, reminders) = (session.attempts, session.reminders);
            if let Some(limit) = self.limit_reached(&settings, attempts)? {
                return Ok(Answer::Tell(self.limited(&limit)));
            }
            if reminders < REMINDERS {
                self.agent_session(&call.session).reminders += 1;
                return Ok(Answer::GoOn {
                    prompt: reminder(&story, &judgement),
                    fresh: false,
                });
            }
        }
        let said = Said {
            message,
            report,
            judgement,
        };
        let since = given.map(|given| given.since);
        let end = self
            .judge_session(since, &story, &listing, said, &settings, call)
            .await?;
        match end {
            StepEnd::Checkpointed => self.give_next(call, &settings, None).await,
            StepEnd::Failed { retries_left: true } => {
                let kept = log::attempts(&self.file("events.jsonl"))?.pop();
                let kept = kept.and_then(|attempt| attempt.kept).unwrap_or_default();
                let undone = undone(&story, &kept);
                self.give_next(call, &settings, Some(undone)).await
            }
            StepEnd::Failed { retries_left: false } => Err(Error::RetriesSpent {
                change: self.change().to_string(),
                story: story.id,
            }),
            StepEnd::Limited(limit) => Ok(Answer::Tell(self.limited(&limit))),
            StepEnd::Interrupted(signal) => Err(Error::Stopped(signal)),
        }
    }

    /// Judges what the session says of the story, as `complete` and `fail` do.
    async fn judge_session(
        &mut self,
        since: Option<Timestamp>,
        story: &Story,
        listing: &Listing,
        said: Said,
        settings: &Settings,
        call: &HookInput,
    ) -> Result<StepEnd, Error> {
        self.copy_judged_source()?;
        let since = since.unwrap_or_else(Timestamp::now);
        let mut begun = self.begin_at(since, Step::Manual, story, listing)?;
        let session = self.agent_session(&call.session);
        session.attempts = session.attempts.saturating_add(1);
        session.reminders = 0;
        let written = begun.log.write_all(said.message.as_bytes());
        if let Err(error) = written.and_then(|()| begun.log.write_all(b"\n")) {
            self.tell(format!("cannot write the log of the attempt: {error}"));
        }
        let mut tail = OutputTail::default();
        tail.push(said.message.as_bytes());
        let outcome = Outcome::said(said.judgement, said.report, tail.text());
        let end = self
            .conclude_by_hand(story, listing, outcome, settings, begun)
            .await?;
        self.agent_session(&call.session).given = None;
        Ok(end)
    }

    /// Records what is there before another attempt of the session, and gives its prompt.
    async fn give_next(
        &mut self,
        call: &HookInput,
        settings: &Settings,
        undone: Option<String>,
    ) -> Result<Answer, Error> {
        let step = match self.state.progress.phase {
            Phase::Failed => Step::Retry,
            _ => Step::Next,
        };
        let story = match self.begin_story(step, settings).await {
            Ok((_, story)) => story,
            Err(error) => {
                if let Error::NothingLeft { done, total, .. } = error {
                    self.emit(What::Complete { done, total });
                }
                return Err(error);
            }
        };
        let attempts = self.agent_session(&call.session).attempts;
        if let Some(limit) = self.limit_reached(settings, attempts)? {
            return Ok(Answer::Tell(self.limited(&limit)));
        }
        self.settle(&story.id).await?;
        let text = self.prompt_text(&story, settings)?;
        self.copy_source()?;
        self.copy_ignored().await?;
        self.save_own_files()?;
        self.record_refs().await?;
        let given = Given {
            attempt: self.next_attempt_number(&story.id),
            story: story.id,
            checkpoint: self.state.checkpoint.clone(),
            since: Timestamp::now(),
        };
        self.agent_session(&call.session).given = Some(given);
        Ok(Answer::GoOn {
            prompt: match undone {
                Some(undone) => format!("{undone}\n\n{text}"),
                None => text,
            },
            fresh: true,
        })
    }

    /// What the agent made of git's own files must not decide how it is judged.
    async fn take_back_own_files(&mut self) -> Result<(), Error> {
        if !self.put_back_own_files().await? {
            return Ok(());
        }
        self.widen_sparse().await?;
        self.engine.configuration = Configuration::read(&self.engine.repo.git).await?;
        self.engine.repo.converts = self.engine.configuration.converts;
        Ok(())
    }

    fn limited(&self, limit: &str) -> String {
        let change = self.change();
        format!(
            "stopped at a limit: {limit}. To go on later: git ralph next {change}; to end: git ralph finish {change}"
        )
    }
}

/// What a session said, and what it comes to.
struct Said {
    message: String,
    report: Report,
    judgement: Judgement,
}

/// What a message promises; lines of the prompt that come back are not the agent's word.
fn heard_in(message: &str, prompt: &str) -> Report {
    let mut decoder = Decoder::new(Format::Text, prompt);
    decoder.push(message.as_bytes());
    decoder.finish()
}

/// What an agent is told that ended its turn without a promise.
fn reminder(story: &Story, judgement: &Judgement) -> String {
    let why = judgement
        .reason
        .as_deref()
        .unwrap_or("the agent promised nothing");
    let heading = heading(&story.id, &story.title);
    format!(
        "Story {heading} is not over ({why}). Go on with it; nobody can answer questions. When it is done and \
         checked, end your last message with a line that holds only `<promise>COMPLETE</promise>` and nothing else; \
         if it cannot be done, with a line that holds only `<promise>FAILED: ...</promise>`, with what stands in the \
         way in place of the three dots."
    )
}

/// What an agent is told whose attempt was undone.
fn undone(story: &Story, kept: &str) -> String {
    let heading = heading(&story.id, &story.title);
    format!(
        "That attempt at story {heading} does not count as done. The files are back at the last checkpoint: all that \
         you changed since is undone, and kept as {kept}. Read files again before you edit them. Now the story once \
         more, from the beginning."
    )
}
