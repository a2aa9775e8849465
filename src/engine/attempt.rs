//! One attempt at a story, from its prompt to its verdict and what follows from that.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;

use super::checkpoint::Saving;
use super::gates::Tail;
use super::machine::{Event, Step};
use super::revert::Undoing;
use super::verdict::{Judgement, judge};
use super::{Session, agent_command, progress_of, wall};
use crate::adapters::{Adapter, Listing, Story};
use crate::agent::AgentCommand;
use crate::agent::decode::{Decoder, Format, Report};
use crate::agent::process::{self, Ended, Ending, Job, Listener};
use crate::agent::survivors;
use crate::error::Error;
use crate::events::{Attempt, Observer, Stream, What};
use crate::git::{OwnFiles, REPOSITORY_VARIABLES};
use crate::prompt::{self, Template};
use crate::settings::Settings;
use crate::state::{Phase, Running, State, Store, Verdict};

/// The copy of git's own files, in the loop's directory.
const OWN_FILES: &str = "git-files";

/// What may be said on the command line of a step.
#[derive(Clone, Debug, Default)]
pub struct AttemptOptions {
    /// The agent given after `--`.
    pub agent: Vec<OsString>,
    /// Settings that hold for this step; `None`: the frozen ones.
    pub settings: Option<Settings>,
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// The story has its checkpoint.
    Checkpointed,
    /// The attempt failed; whether retries are left.
    Failed {
        /// Retries are left.
        retries_left: bool,
    },
    /// The agent's service limits us; the attempt does not count.
    Limited,
    /// We were asked to stop by this signal; the attempt does not count.
    Interrupted(i32),
}

impl Session<'_> {
    /// One attempt at the next story (`next`), or one more at the story that failed (`retry`).
    ///
    /// # Errors
    /// When the loop's state does not allow it (exit 3, 4 or 5), a person is needed (exit 7), the agent
    /// cannot work at all, or git fails. After an error the work tree is at a checkpoint, or the next
    /// command brings it there.
    pub async fn attempt(&mut self, step: Step, options: &AttemptOptions) -> Result<StepEnd, Error> {
        super::refuse_inside_attempt()?;
        let settings = self.step_settings(options);
        let frozen_retries = self.state.progress.max_retries;
        self.decide(Event::Limit {
            max_retries: settings.max_retries,
        })?;
        let end = self.attempt_within(step, options, &settings).await;
        if settings.max_retries != frozen_retries && self.state.progress.phase != Phase::Running {
            self.decide(Event::Limit {
                max_retries: frozen_retries,
            })?;
            self.save()?;
        }
        end
    }

    pub(super) fn step_settings(&self, options: &AttemptOptions) -> Settings {
        options
            .settings
            .clone()
            .unwrap_or_else(|| self.state.settings.clone())
    }

    async fn attempt_within(
        &mut self,
        step: Step,
        options: &AttemptOptions,
        settings: &Settings,
    ) -> Result<StepEnd, Error> {
        let (listing, story) = self.begin_story(step).await?;
        let agent = self.require_agent(step, &options.agent, settings)?;
        self.settle(&story.id).await?;
        self.settled = false;
        // All that can fail comes before the attempt is said to run.
        let text = self.prompt_text(&story, settings)?;
        self.copy_source()?;
        self.unversioned().copy_ignored()?;
        OwnFiles::read(&self.engine.repo)?.save(&self.file(OWN_FILES))?;
        self.record_refs().await?;
        let begun = self.begin(step, &story)?;
        let judged = self.run_agent(&agent, &story, &text, settings, &begun).await?;
        self.conclude(&story, &listing, judged, settings, begun).await
    }

    /// Reads the list and finds the story that this step is about; nothing is saved yet.
    pub(super) async fn begin_story(&mut self, step: Step) -> Result<(Listing, Story), Error> {
        let listing = self.list_stories().await?;
        // Asks the machine before anything else: the phase may not allow the step at all.
        let probe = self.state.progress.story.clone();
        let before = self.state.progress.clone();
        if self.state.progress.phase != Phase::Complete {
            let id = probe.map_or_else(String::new, |story| story.id);
            self.decide(Event::Begin {
                step,
                id,
                title: String::new(),
                attempt: 0,
            })?;
            self.state.progress = before;
        }
        let story = self.story_to_do(&listing)?;
        Ok((listing, story))
    }

    fn require_agent(
        &self,
        step: Step,
        given: &[OsString],
        settings: &Settings,
    ) -> Result<AgentCommand, Error> {
        let command = if step == Step::Retry { "retry" } else { "next" };
        let agent = agent_command(given, settings.agent.as_deref())
            .ok_or_else(|| Error::NoAgent(command.to_owned()))?;
        match agent.missing_program(&self.engine.repo.top) {
            Some(missing) => Err(Error::AgentMissing(missing)),
            None => Ok(agent),
        }
    }

    /// Opens the attempt: number, log, mark; the state says `running` from here on.
    pub(super) fn begin(&mut self, step: Step, story: &Story) -> Result<Begun, Error> {
        let number = self.next_attempt_number(&story.id);
        let log_path = self.attempt_log(&story.id, number);
        let log = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&log_path)
            .map_err(|source| Error::File {
                what: "make",
                path: log_path,
                source,
            })?;
        let since = Timestamp::now();
        let begun = Begun {
            number,
            since,
            log,
            run: format!("{}-{}", std::process::id(), since.as_nanosecond()),
        };
        self.decide(Event::Begin {
            step,
            id: story.id.clone(),
            title: story.title.clone(),
            attempt: number,
        })?;
        self.state.running = Some(Running {
            run: begun.run.clone(),
            since,
            by_hand: step == Step::Hand,
            pid: None,
            started: None,
        });
        self.save()?;
        let failures = self
            .state
            .progress
            .story
            .as_ref()
            .map_or(0, |story| story.failures);
        self.emit(What::AttemptStarted {
            story: story.id.clone(),
            title: story.title.clone(),
            attempt: number,
            retries: failures,
            max_retries: self.state.progress.max_retries,
        });
        Ok(begun)
    }

    /// The prompt that the next attempt at `story` gets.
    ///
    /// # Errors
    /// When the template does not fit.
    pub fn prompt_text(&self, story: &Story, settings: &Settings) -> Result<String, Error> {
        let current = self
            .state
            .progress
            .story
            .as_ref()
            .filter(|current| current.id == story.id);
        let learnings = self.learnings();
        let running = self.state.progress.phase == Phase::Running;
        let attempt = match current {
            Some(current) if running => current.attempt,
            _ => self.next_attempt_number(&story.id),
        };
        let template = Template::load(&self.engine.repo.top, settings.prompt.as_deref())?;
        let inputs = prompt::Inputs {
            change: self.change().as_str(),
            branch: &self.state.branch,
            story,
            source: &self.state.source.path,
            adapter: self.state.source.adapter.name(),
            mark: settings.mark.name(),
            attempt,
            reason: current.and_then(|current| current.reason.as_deref()),
            context: &self.context_files(),
            learnings: &learnings,
            gates: &settings.verify,
        };
        Ok(prompt::render(&template, &inputs)?)
    }

    /// The documents beside an openspec story list that explain the change.
    fn context_files(&self) -> Vec<String> {
        let source = &self.state.source;
        if source.adapter != Adapter::Openspec {
            return Vec::new();
        }
        let Some(dir) = Path::new(&source.path).parent() else {
            return Vec::new();
        };
        ["proposal.md", "design.md", "specs"]
            .iter()
            .map(|name| dir.join(name))
            .filter(|path| self.engine.repo.top.join(path).exists())
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    async fn run_agent(
        &mut self,
        agent: &AgentCommand,
        story: &Story,
        text: &str,
        settings: &Settings,
        begun: &Begun,
    ) -> Result<Outcome, Error> {
        let prompt_file = self.file("prompt.md");
        write_private(&prompt_file, text)?;
        let (argv, from_file) = agent.argv(&prompt_file);
        let job = Job {
            argv,
            stdin: if from_file {
                Vec::new()
            } else {
                text.as_bytes().to_vec()
            },
            timeout: settings.timeout.map(wall),
            idle_timeout: settings.idle_timeout.map(wall),
            ..self.job(story, begun)
        };
        let mut decoder = Decoder::new(Format::Auto, text);
        let (ended, tail) = self.run_job(job, begun, &mut decoder).await?;
        let report = decoder.finish();
        self.learn(&report.learnings);
        let judgement = judge(&ended.ending, &report);
        if ended.left_running > 0 {
            self.tell(match ended.left_running {
                1 => "the agent left a process running; it was ended".to_owned(),
                many => format!("the agent left {many} processes running; they were ended"),
            });
        }
        Ok(Outcome {
            judgement,
            exit_code: match ended.ending {
                Ending::Exited(code) => Some(code),
                _ => None,
            },
            signal: match ended.ending {
                Ending::Interrupted(signal) => Some(signal),
                _ => None,
            },
            report: Some(report),
            tail,
        })
    }

    /// What every process of an attempt is started with.
    pub(super) fn job(&self, story: &Story, begun: &Begun) -> Job {
        let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let path = |name: &str, file: &str| (OsString::from(name), self.file(file).into_os_string());
        let mut env_remove = REPOSITORY_VARIABLES.to_vec();
        env_remove.push("GIT_CONFIG_PARAMETERS");
        Job {
            argv: Vec::new(),
            dir: self.engine.repo.top.clone(),
            env: vec![
                variable("RALPH_CHANGE", self.change().as_str()),
                variable("RALPH_STORY", &story.id),
                variable("RALPH_STORY_TITLE", &story.title),
                variable("RALPH_ATTEMPT", &begun.number.to_string()),
                variable("RALPH_BRANCH", &self.state.branch),
                // What an attempt leaves must not be packed or pruned while it is judged.
                variable("GIT_CONFIG_COUNT", "2"),
                variable("GIT_CONFIG_KEY_0", "gc.auto"),
                variable("GIT_CONFIG_VALUE_0", "0"),
                variable("GIT_CONFIG_KEY_1", "maintenance.auto"),
                variable("GIT_CONFIG_VALUE_1", "false"),
                path("RALPH_PROMPT_FILE", "prompt.md"),
                path("RALPH_LEARNINGS", "learnings.md"),
            ],
            env_remove,
            stdin: Vec::new(),
            run: begun.run.clone(),
            timeout: None,
            idle_timeout: None,
        }
    }

    /// Runs the agent; with how it ended comes the end of its output.
    async fn run_job(
        &mut self,
        job: Job,
        begun: &Begun,
        decoder: &mut Decoder,
    ) -> Result<(Ended, String), Error> {
        self.head_is_known = false;
        self.refs = None;
        let mut log = begun.log.try_clone().map_err(process::ProcessError::Log)?;
        let mut stop = self.engine.stop.clone();
        let mut ears = Ears {
            change: self.state.change.to_string(),
            observer: &mut *self.engine.observer,
            store: &self.store,
            state: &mut self.state,
            decoder,
            tail: Tail::default(),
        };
        let ended = process::run(job, &mut log, &mut stop, &mut ears).await?;
        Ok((ended, ears.tail.text()))
    }

    /// Mends what would keep git itself from working. Nothing of the attempt is alive.
    async fn repair_after_attempt(&mut self) -> Result<(), Error> {
        self.take_rights_back();
        let top = self.engine.repo.top.clone();
        if !top.exists() {
            fs::create_dir_all(&top).map_err(|source| Error::File {
                what: "make",
                path: top,
                source,
            })?;
            self.tell("the work tree was deleted; its directory is made anew");
        }
        if !self.file("attempts").exists() {
            self.store.make_dirs()?;
            self.tell("the loop's directory below .git was deleted; it is made anew");
        }
        let changed = self.put_back_own_files()?;
        let removed = self.remove_stale_locks().await?;
        if changed {
            self.widen_sparse().await?;
        }
        if removed > 0 {
            self.tell("the attempt left locks in the repository; they are removed");
        }
        Ok(())
    }

    /// Puts git's own files back to what they were before the attempt; says whether any had changed.
    pub(super) fn put_back_own_files(&mut self) -> Result<bool, Error> {
        let copy = self.file(OWN_FILES);
        if !copy.exists() {
            return Ok(false);
        }
        let trash = self.file("trash");
        let differed = OwnFiles::load(&copy)?.restore(&self.engine.repo, &trash)?;
        for path in &differed {
            self.tell(format!("the attempt changed {}; it is put back", path.display()));
        }
        self.forget_own_files()?;
        Ok(!differed.is_empty())
    }

    /// Forgets the copy of git's own files.
    pub(super) fn forget_own_files(&self) -> Result<(), Error> {
        Ok(OwnFiles::discard(&self.file(OWN_FILES))?)
    }

    /// From the verdict on: gates, mark and checkpoint, or back to the checkpoint.
    pub(super) async fn conclude(
        &mut self,
        story: &Story,
        before: &Listing,
        mut outcome: Outcome,
        settings: &Settings,
        begun: Begun,
    ) -> Result<StepEnd, Error> {
        self.repair_after_attempt().await?;
        let standing = self.standing().await?;
        let mut parent = None;
        if outcome.judgement.verdict == Verdict::Complete {
            match self.parent_for_checkpoint(&standing).await? {
                Ok(found) => parent = Some(found),
                Err(reason) => outcome.judgement = Judgement::new(Verdict::Failed, reason),
            }
        }
        if outcome.judgement.verdict == Verdict::Complete
            && let Some(reason) = self.judge_refs().await?
        {
            outcome.judgement = Judgement::new(Verdict::Failed, reason);
        }
        if outcome.judgement.verdict == Verdict::Complete
            && let Some(refused) = self.gates(story, settings, &begun, &mut outcome).await?
        {
            outcome.judgement = refused;
        }
        if outcome.judgement.verdict == Verdict::Complete
            && let Err(reason) = self.mark_done(story, before, settings, begun.number).await
        {
            outcome.judgement = Judgement::new(Verdict::Failed, reason);
        }
        let Judgement { verdict, reason } = outcome.judgement.clone();
        self.emit(What::AttemptEnded(begun.ended(story, &outcome)));
        if let (Verdict::Complete, Some(parent)) = (verdict, parent) {
            let saving = Saving {
                story: Some(story.id.clone()),
                attempt: Some(begun.number),
                parent,
                subject: format!("checkpoint: {}", story.id),
            };
            self.save_checkpoint(saving, &standing).await?;
            self.forget_refs();
            return self.after_checkpoint(story).await;
        }
        // The reason of a missing promise is about the form, not the work: the story is just repeated.
        let told = match (&reason, verdict) {
            (Some(reason), Verdict::NoSignal) if settings.retry_output => {
                Some(format!("{reason}; the end of the output:\n\n{}", outcome.tail))
            }
            (_, Verdict::NoSignal) => None,
            _ => reason.clone().filter(|_| verdict.counts()),
        };
        let undoing = Undoing {
            story: story.id.clone(),
            attempt: begun.number,
            verdict: Some(verdict),
            reason: told,
        };
        self.undo(undoing, &standing).await?;
        self.after_failure(verdict, reason, outcome.signal)
    }

    async fn after_checkpoint(&mut self, story: &Story) -> Result<StepEnd, Error> {
        let before = self.state.progress.clone();
        let listing = self.list_stories().await?;
        if self.state.progress != before {
            self.save()?;
        }
        let (done, total) = progress_of(&listing);
        self.emit(What::StoryProgress { done, total });
        let is_it = |other: &Story| other.id == story.id && other.title == story.title;
        if listing
            .stories
            .iter()
            .any(|other| is_it(other) && !other.done && !other.optional)
        {
            return Err(Error::StillOpen {
                story: story.id.clone(),
                source_file: self.state.source.path.clone(),
            });
        }
        Ok(StepEnd::Checkpointed)
    }

    fn after_failure(
        &mut self,
        verdict: Verdict,
        reason: Option<String>,
        signal: Option<i32>,
    ) -> Result<StepEnd, Error> {
        let Some(current) = self.state.progress.story.clone() else {
            return Err(Error::WrongPhase(self.change().to_string()));
        };
        match verdict {
            Verdict::RateLimited | Verdict::Overloaded => Ok(StepEnd::Limited),
            Verdict::Interrupted if signal.is_some() => Ok(StepEnd::Interrupted(signal.unwrap_or_default())),
            Verdict::Auth | Verdict::NotStarted | Verdict::Interrupted => Err(Error::AgentUnable {
                change: self.change().to_string(),
                story: current.id,
                verdict,
                reason,
            }),
            _ => {
                let retries_left = self.state.progress.phase == Phase::Failed;
                if retries_left {
                    self.emit(What::Retry {
                        story: current.id,
                        retries: current.retries,
                        max_retries: self.state.progress.max_retries,
                        reason: current.reason,
                    });
                }
                Ok(StepEnd::Failed { retries_left })
            }
        }
    }
}

pub(super) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|source| Error::File {
        what: "write",
        path: path.to_owned(),
        source,
    })
}

/// An attempt that has begun.
pub(super) struct Begun {
    pub number: u32,
    since: Timestamp,
    pub log: File,
    run: String,
}

impl Begun {
    fn ended(&self, story: &Story, outcome: &Outcome) -> Attempt {
        let report = outcome.report.as_ref();
        Attempt {
            story: story.id.clone(),
            attempt: self.number,
            verdict: outcome.judgement.verdict,
            reason: outcome.judgement.reason.clone(),
            started: self.since,
            duration: Timestamp::now().duration_since(self.since).as_secs_f64(),
            exit_code: outcome.exit_code,
            cost_usd: report.and_then(|report| report.cost_usd),
            input_tokens: report.and_then(|report| report.input_tokens),
            output_tokens: report.and_then(|report| report.output_tokens),
        }
    }
}

/// What came of the agent, before gates and git have their say.
pub(super) struct Outcome {
    pub judgement: Judgement,
    exit_code: Option<i32>,
    pub signal: Option<i32>,
    report: Option<Report>,
    /// The last lines of what the agent printed.
    tail: String,
}

impl Outcome {
    pub fn by_hand(judgement: Judgement) -> Self {
        Self {
            judgement,
            exit_code: None,
            signal: None,
            report: None,
            tail: String::new(),
        }
    }
}

/// Listens to the agent: decodes it, shows it, and records its process.
struct Ears<'a> {
    change: String,
    observer: &'a mut dyn Observer,
    store: &'a Store,
    state: &'a mut State,
    decoder: &'a mut Decoder,
    /// The end of what people would read of its output.
    tail: Tail,
}

impl Listener for Ears<'_> {
    fn started(&mut self, pid: i32) {
        if let Some(running) = &mut self.state.running {
            running.pid = Some(pid);
            running.started = survivors::started_at(pid);
        }
        // Without it the mark in the environment still finds the process.
        if let Err(error) = self.store.save(self.state) {
            tracing::warn!("cannot record the agent's process: {error}");
        }
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        let decoder = &mut *self.decoder;
        match stream {
            Stream::Stdout => decoder.push(bytes),
            Stream::Stderr => decoder.push_stderr(bytes),
        }
        let for_people = matches!(decoder.format(), Format::Text | Format::Auto);
        if for_people && stream == Stream::Stdout {
            self.tail.push(bytes);
        }
        if for_people || stream == Stream::Stderr {
            self.observer.output(&self.change, stream, bytes);
        }
        for line in decoder.take_activity() {
            self.tail.push(line.as_bytes());
            self.tail.push(b"\n");
            self.observer.activity(&line);
        }
    }
}
