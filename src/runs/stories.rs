//! Works on several stories of one change in parallel: each attempt in its own process and work tree. Takes in the
//! promised work of one after another, in the order in which they end.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;
use tokio::time::interval;

use super::beside::MOST_LINES;
use super::children::{Child, Ended};
use super::command::{Command, Printed};
use super::drive::drive;
use crate::engine::step_refusal::StepRefusal;
use crate::engine::{
    self, AttemptOptions, Driver, Loop, Made, Shared, StepEnd, Stopped, Taken, free_places, hold_list,
    is_accepted, made_by, may_begin, open_side, release_list, remove_left, remove_lost, remove_side,
    require_judges, require_own_list, take_in, take_skips, was_taken_in,
};
use crate::error::Error;
use crate::error::advice::Advise;
use crate::events::{News, Observer, Silent, StoryBeside};
use crate::exit::Exit;
use crate::held::UnderWay;
use crate::names::Change;
use crate::processes::STORY;
use crate::remote::Tenure;
use crate::state::{Verdict, sides};

/// Interval at which the line about running stories is redrawn.
const SECOND: Duration = Duration::from_secs(1);

/// The beginning of the line with the error of a process.
const ERROR: &str = "error: ";

/// The reason why no other story begins.
enum End {
    Stopped(Stopped),
    Failed(Error),
}

/// The state of a side whose process has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Settled {
    /// Its work is taken in, and its place is free.
    Free,
    /// The side stays: the next run judges it.
    Left,
    /// The side had made no attempt.
    NotBegun,
}

/// The story that began.
enum Begun {
    /// A process works on the story.
    Parallel(Box<Child<String>>),
    /// The story was attempted alone, and its attempt has ended.
    Alone,
    Nothing,
}

/// A run of several stories at once.
struct ParallelStories<'r, C> {
    command: &'r C,
    options: AttemptOptions,
    tenure: Option<&'r Tenure>,
    driver: Driver,
    shared: Shared,
    /// The free places.
    free: BTreeSet<u16>,
    /// The running stories, with their places.
    running: BTreeMap<u16, StoryBeside>,
    /// What the process of a story has said last of why it cannot begin.
    refused: BTreeMap<String, String>,
    /// The places in which a side could not begin once: another attempt may have written to the list at that moment.
    doubtful: BTreeSet<u16>,
    /// The stories whose last attempt was ended by something other than its agent.
    broken: BTreeSet<String>,
    printed: (Sender<Printed>, Receiver<Printed>),
    end: Option<End>,
}

/// Drives a loop until it stops, with parallel attempts at stories. `typed` is the command line without the program.
///
/// # Errors
/// The error of the step that failed; the same command resumes the loop.
pub async fn abreast(
    command: &impl Command,
    open: &mut Loop<'_>,
    (options, jobs): (&AttemptOptions, u16),
    tenure: Option<&Tenure>,
    typed: &[OsString],
) -> Result<Stopped, Error> {
    let _under_way = UnderWay::begin();
    require_own_list(open).await?;
    // Before what a killed run has left is put into the work tree.
    require_judges(open, options).await?;
    let mut run = ParallelStories {
        command,
        options: options.clone(),
        tenure,
        driver: Driver::new(open, options)?,
        shared: Shared::read(open).await?,
        free: free_places(open, jobs).await?.into_iter().collect(),
        running: BTreeMap::new(),
        refused: BTreeMap::new(),
        doubtful: BTreeSet::new(),
        broken: BTreeSet::new(),
        printed: mpsc::channel(MOST_LINES),
        end: None,
    };
    run.publish(open).await?;
    // Unreviewed work in the work tree is judged first.
    if open.state.unreviewed().is_some()
        && let Some(stopped) = Box::pin(run.driver.turn(open)).await?
    {
        return Ok(stopped);
    }
    for side in sides(&open.repo().common_dir, open.change())? {
        if Box::pin(run.settle(open, &side)).await == Settled::Left
            && let Some((_, place)) = side.side_of()
        {
            run.free.remove(&place);
        }
    }
    let mut children = JoinSet::new();
    let mut seconds = interval(SECOND);
    let mut may_begin = true;
    loop {
        run.look_for_end(open);
        while may_begin
            && run.end.is_none()
            && let Some(place) = run.free.first().copied()
        {
            match run.begin(open, place, typed).await {
                Ok(Begun::Parallel(child)) => {
                    children.spawn(child.attend(open.context.stop.of_run()));
                }
                Ok(Begun::Alone) => run.look_for_end(open),
                Ok(Begun::Nothing) => break,
                Err(error) => run.end = Some(End::Failed(error)),
            }
        }
        // Only the end of an attempt changes which stories may begin.
        may_begin = false;
        // The output of a process is shown before its end.
        tokio::select! {
            biased;
            Some(line) = run.printed.1.recv() => run.relay(&line, open.context.observer),
            _ = seconds.tick() => run.show(open.context.observer),
            ended = children.join_next() => match ended {
                Some(Ok((story, place, ended))) => {
                    may_begin = true;
                    Box::pin(run.note_end(open, story, place, ended)).await;
                    if run.running.is_empty()
                        && let Err(error) = release_list(open).await
                    {
                        run.stop_with(End::Failed(error));
                    }
                }
                Some(Err(_)) => {}
                None => break,
            },
        }
    }
    run.show(open.context.observer);
    if let Err(error) = Box::pin(remove_left(open)).await {
        run.stop_with(End::Failed(error));
    }
    if let Some(tenure) = tenure {
        // Attempts that were ended because of a lost lease have no other error.
        tenure.require().await?;
    }
    match run.end {
        Some(End::Failed(error)) => Err(error),
        Some(End::Stopped(stopped)) => Ok(engine::note_end_of_run(open, stopped, &run.options)),
        // The remaining stories can only be done one after another, or there are none.
        None => drive(open, &run.options, tenure).await,
    }
}

impl<C: Command> ParallelStories<'_, C> {
    /// Notes the reason to end the run: a signal, or a request.
    fn look_for_end(&mut self, open: &Loop<'_>) {
        if let Some(signal) = open.context.stop.signal() {
            self.end.get_or_insert(End::Stopped(Stopped::Signal(signal)));
        }
        if open.is_asked_to_stop() {
            self.end.get_or_insert(End::Stopped(Stopped::Asked));
        }
    }

    /// Begins the next story that may begin, if there is one.
    async fn begin(&mut self, open: &mut Loop<'_>, place: u16, typed: &[OsString]) -> Result<Begun, Error> {
        self.shared.put_back(open).await?;
        let running = self.stories();
        let story = match may_begin(open, &self.options, &running).await? {
            engine::Beginning::Story(story) => story,
            engine::Beginning::Limited(limit) => {
                self.end = Some(End::Stopped(Stopped::Limit(limit)));
                return Ok(Begun::Nothing);
            }
            engine::Beginning::Alone(story) => {
                Box::pin(self.attempt_alone(open, &story)).await?;
                return Ok(Begun::Alone);
            }
            engine::Beginning::Nothing => return Ok(Begun::Nothing),
        };
        let side = open.change().side(place)?;
        open.tell(format!("story {story} begins in {side}"));
        let words = [side.as_str(), STORY, &story];
        hold_list(open)?;
        self.refused.remove(&story);
        let child = Child::start((story.clone(), &story), words, typed, place, &self.printed.0)
            .map_err(Error::system("start git-ralph"))?;
        self.options.started += 1;
        self.free.remove(&place);
        let now = Instant::now();
        let begun = StoryBeside {
            story,
            since: now,
            printed: now,
        };
        self.running.insert(place, begun);
        Ok(Begun::Parallel(Box::new(child)))
    }

    /// Attempts a story in the loop's own work tree, while nothing else runs.
    async fn attempt_alone(&mut self, open: &mut Loop<'_>, story: &str) -> Result<(), Error> {
        open.tell(format!(
            "story {story} is attempted in the loop's own work tree, with nothing beside it"
        ));
        release_list(open).await?;
        let stopped = Driver::new(open, &self.options)?.turn(open).await;
        self.options.started += 1;
        self.shared = Shared::read(open).await?;
        self.publish(open).await?;
        if let Some(stopped) = stopped? {
            self.stop_with(End::Stopped(stopped));
        }
        Ok(())
    }

    /// Notes the end of a process: takes in the results of its side, while the others continue.
    async fn note_end(&mut self, open: &mut Loop<'_>, story: String, place: u16, ended: Ended) {
        self.running.remove(&place);
        // Minutes have passed since the repository was last read.
        open.drop_cache();
        self.look_for_end(open);
        let Ok(side) = open.change().side(place) else {
            return;
        };
        match Box::pin(self.settle(open, &side)).await {
            Settled::Free => {
                self.free.insert(place);
                return;
            }
            Settled::Left => return,
            Settled::NotBegun => {}
        }
        if self.doubtful.insert(place) && self.end.is_none() {
            self.options.started = self.options.started.saturating_sub(1);
            self.free.insert(place);
            return;
        }
        // Its place is no longer used: another one may work.
        self.options.started = self.options.started.saturating_sub(1);
        let end = || {
            format!(
                "its process {}",
                ended.why.as_deref().unwrap_or("made no attempt")
            )
        };
        let refusal = StepRefusal::NotBegunBeside {
            change: open.change().to_string(),
            why: self.refused.remove(&story).unwrap_or_else(end),
            side: side.to_string(),
            story,
        };
        if self.free.is_empty() && self.running.is_empty() && self.end.is_none() {
            self.end = Some(End::Failed(refusal.into()));
        } else {
            open.tell(format!("{refusal}; the run continues without {side}"));
        }
    }

    /// Returns the running stories.
    fn stories(&self) -> Vec<String> {
        let running = self.running.values();
        running.map(|running| running.story.clone()).collect()
    }

    /// Shows a line that a process has printed.
    fn relay(&mut self, line: &Printed, observer: &dyn Observer) {
        let (Printed::Answer(part, _) | Printed::Narration(part, _)) = line;
        let mut running = self.running.values_mut();
        if let Some(running) = running.find(|running| running.story == *part) {
            running.printed = Instant::now();
        }
        if let Printed::Narration(part, text) = line
            && let Some(error) = text.strip_prefix(ERROR)
        {
            self.refused.insert(part.clone(), error.to_owned());
        }
        self.command.relay(line, Some(observer));
    }

    /// Shows the running stories.
    fn show(&self, observer: &dyn Observer) {
        let running: Vec<StoryBeside> = self.running.values().cloned().collect();
        observer.hear(News::Beside(&running));
    }

    /// Takes in the results of a side, and removes the side.
    async fn settle(&mut self, open: &mut Loop<'_>, side: &Change) -> Settled {
        let settled = match Box::pin(self.try_to_settle(open, side)).await {
            Ok(settled) => settled,
            Err(error) => {
                self.stop_with(End::Failed(error));
                Settled::Left
            }
        };
        if let Err(error) = self.publish(open).await {
            self.stop_with(End::Failed(error));
        }
        settled
    }

    fn stop_with(&mut self, end: End) {
        // A signal is the reason for its consequences.
        if !matches!(self.end, Some(End::Failed(_) | End::Stopped(Stopped::Signal(_)))) {
            self.end = Some(end);
        }
    }

    async fn try_to_settle(&mut self, open: &mut Loop<'_>, name: &Change) -> Result<Settled, Error> {
        self.shared.put_back(open).await?;
        let side = match open_side(open, name, &Silent).await {
            Err(Error::Open(refusal)) if refusal.is_of_lost_work_tree() => {
                remove_lost(open, name).await?;
                return Ok(Settled::Free);
            }
            // The other places are unaffected; its results are taken in when it can be opened.
            Err(error) if !matches!(error.advice().exit, Exit::Busy | Exit::Signal(_)) => {
                open.tell(format!("{name} is not used any more: {error}"));
                return Ok(Settled::Left);
            }
            side => side?,
        };
        let Some(side) = side else {
            return Ok(Settled::NotBegun);
        };
        let made = made_by(&side).await?;
        let mut settled = Settled::NotBegun;
        if let Some((made, repeated)) = made.split_last()
            && !was_taken_in(open, made)?
        {
            for made in repeated {
                self.note_repeated(open, made).await?;
                // The side has repeated a crash of the agent as often as allowed.
                if made.attempt.verdict == Verdict::Interrupted {
                    self.broken.insert(made.attempt.story.clone());
                }
            }
            settled = Settled::Free;
            let is_promised = made.attempt.verdict == Verdict::Complete;
            if is_promised && open.context.stop.signal().is_some() || self.judge(open, made).await? {
                let story = &made.attempt.story;
                open.tell(format!(
                    "story {story} is promised, and not judged: the next run judges it"
                ));
                return Ok(Settled::Left);
            }
        }
        // A new work tree would lack only its preparation.
        let is_prepared = self.options.settings.worktree_setup.is_some();
        let is_used_again = is_prepared && self.end.is_none() && is_accepted(open, &made)?;
        match Box::pin(remove_side(open, side, &made, is_used_again)).await {
            Ok(true) => Ok(settled),
            Ok(false) => Ok(Settled::Left),
            Err(error) => {
                open.tell(format!("{name} stays: {error}"));
                Ok(Settled::Left)
            }
        }
    }

    /// Takes in an attempt that its side has repeated: its end has no other consequence.
    async fn note_repeated(&mut self, open: &mut Loop<'_>, made: &Made) -> Result<(), Error> {
        if was_taken_in(open, made)? {
            return Ok(());
        }
        match self.take_in(open, made.clone()).await {
            Err(error) if !was_taken_in(open, made)? => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes in an attempt, once more if something other than its agent ended it. Returns true if it has a promise, but
    /// no verdict was possible.
    async fn judge(&mut self, open: &mut Loop<'_>, made: &Made) -> Result<bool, Error> {
        let is_promised = made.attempt.verdict == Verdict::Complete;
        loop {
            let (is_needless, is_broken) = match self.take_in(open, made.clone()).await {
                Ok(Taken::End(StepEnd::Skipped)) => {
                    take_skips(open, &self.stories()).await?;
                    if is_promised {
                        continue;
                    }
                    return Ok(false);
                }
                Ok(taken) => {
                    let is = (
                        matches!(taken, Taken::Obsolete),
                        matches!(taken, Taken::Broken(_)),
                    );
                    if let Err(error) = self.note_taken(open, made, taken).await {
                        self.stop_with(End::Failed(error));
                        return Ok(is_promised && !was_taken_in(open, made)?);
                    }
                    is
                }
                // The loop already has the attempt, despite the error.
                Err(error) if was_taken_in(open, made)? => {
                    self.stop_with(End::Failed(error));
                    return Ok(false);
                }
                Err(error) => return Err(error),
            };
            if !is_promised || is_needless || was_taken_in(open, made)? {
                return Ok(false);
            }
            if !is_broken {
                return Ok(true);
            }
        }
    }

    /// Takes in an attempt, and shows the output of the others meanwhile.
    async fn take_in(&mut self, open: &mut Loop<'_>, made: Made) -> Result<Taken, Error> {
        let (observer, options) = (open.context.observer, self.options.clone());
        let mut taking = Box::pin(take_in(open, made, &options));
        let mut seconds = interval(SECOND);
        loop {
            tokio::select! {
                taken = &mut taking => return taken,
                Some(line) = self.printed.1.recv() => self.relay(&line, observer),
                _ = seconds.tick() => self.show(observer),
            }
        }
    }

    /// Applies the consequences of the end of an attempt.
    async fn note_taken(&mut self, open: &mut Loop<'_>, made: &Made, taken: Taken) -> Result<(), Error> {
        let story = &made.attempt.story;
        let was_broken = self.broken.remove(story);
        let stopped = match taken {
            Taken::Obsolete
            | Taken::End(StepEnd::Checkpointed | StepEnd::Skipped | StepEnd::Failed { retries_left: true }) => {
                None
            }
            Taken::End(StepEnd::Failed { retries_left: false }) => self.driver.give_way(open).await?,
            Taken::End(StepEnd::Limited(limit)) => Some(Stopped::Limit(limit)),
            Taken::End(StepEnd::Asked) => Some(Stopped::Asked),
            Taken::End(StepEnd::Interrupted(signal)) => Some(Stopped::Signal(signal)),
            Taken::Broken(refusal) if was_broken => return Err(refusal.into()),
            Taken::Broken(refusal) => {
                open.tell(format!(
                    "{refusal}; the attempt does not count, and is made again"
                ));
                self.broken.insert(story.clone());
                None
            }
        };
        if let Some(stopped) = stopped {
            self.stop_with(End::Stopped(stopped));
        }
        Ok(())
    }

    async fn publish(&self, open: &Loop<'_>) -> Result<(), Error> {
        match self.tenure {
            Some(tenure) => tenure.publish(open).await,
            None => Ok(()),
        }
    }
}
