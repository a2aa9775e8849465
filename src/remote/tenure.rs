//! The time in which this run holds a loop on a remote: it is taken, published after each step, renewed while an agent
//! works, and released. Every push moves the loop's one ref from the object that this run put there, so nothing of a run
//! that lost its loop can land (`docs/scale-out.md`).

use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::base::Base;
use super::lease::{Holding, Watch, patience, renewal};
use super::portable::{self, Packed, require_same};
use super::record::{Holder, Record, random};
use super::refusal::RemoteRefusal;
use super::server::{Answer, Server, There};
use crate::engine::stories::{listing_of, progress_of};
use crate::engine::{AttemptOptions, Context, Driver, Loop, Portable, Stopped};
use crate::error::Error;
use crate::events::What;
use crate::git::{GitError, Repo};
use crate::names::{Change, Oid};
use crate::signal::Stop;
use crate::state::{Phase, Store};

/// The result of taking a loop.
#[derive(Debug)]
pub struct Taken {
    /// The right to work on it.
    pub tenure: Tenure,
    /// The loop as the remote has it, where it has to be made here first.
    pub portable: Option<Portable>,
    /// The holder that it was taken from, who is dead.
    pub from: Option<String>,
}

/// The right to work on a loop, until another run takes it.
#[derive(Debug)]
pub struct Tenure {
    held: Arc<Mutex<Held>>,
    renewals: Option<JoinHandle<()>>,
}

/// What this run put on the remote last.
#[derive(Debug)]
struct Held {
    server: Server,
    repo: Repo,
    change: Change,
    holder: Holder,
    /// The last state commit; `None` before the first push.
    last: Option<There>,
    /// States whose push had no answer: the remote may have them.
    unheard: Vec<There>,
    packed: Option<Packed>,
    base: Base,
    /// The branch as it is on the remote, if it may be moved.
    branch: Copy,
    answered: Instant,
    end: Option<End>,
}

/// The copy of the branch on the remote.
#[derive(Debug)]
enum Copy {
    /// It is there, or it is not there.
    At(Option<Oid>),
    /// It holds something else, which stays.
    Foreign,
}

/// The way in which a tenure ended early.
#[derive(Clone, Debug)]
enum End {
    Lost,
    Silent,
    Refused(String),
}

impl Tenure {
    /// Takes a loop on a remote, or prepares to put it there. `watch` knows what was seen of its holder before.
    ///
    /// # Errors
    /// If another run holds it (exit 75), nothing is left to do there (exit 5), or the remote cannot be read.
    pub async fn take(
        context: &Context<'_>,
        server: Server,
        change: &Change,
        watch: &mut Watch,
    ) -> Result<Taken, Error> {
        let (there, branch) = server.find(change).await?;
        let repo = context.repo.clone();
        let base = Base::new(&repo, change, server.name());
        let mut from = None;
        if let Some(found) = &there {
            if found.record.phase == Phase::Finished {
                return Err(over(&server, found).into());
            }
            match watch.look(
                &found.record,
                &found.oid,
                server.lease,
                Instant::now(),
                Timestamp::now(),
            ) {
                Holding::Free => {}
                Holding::Dead => from = found.record.holder.as_ref().map(|holder| holder.name.clone()),
                // Nobody in this repository works on it, so the run that did is dead.
                Holding::Alive | Holding::Unknown if is_left_here(&base, found, &repo) => {}
                Holding::Alive | Holding::Unknown => return Err(server.held(found).into()),
            }
        }
        let is_ours = |oid: &Oid| {
            there
                .as_ref()
                .is_some_and(|there| there.record.checkpoint == *oid)
        };
        let branch = match branch {
            Some(oid) if !is_ours(&oid) && !is_contained(&repo, &oid, there.as_ref()).await => Copy::Foreign,
            other => Copy::At(other),
        };
        let is_here = there.as_ref().is_some_and(|there| base.is_at(&there.oid));
        let mut held = Held {
            holder: Holder {
                name: run_name(),
                token: random(),
            },
            server,
            repo,
            change: change.clone(),
            last: None,
            unheard: Vec::new(),
            packed: None,
            base,
            branch,
            answered: Instant::now(),
            end: None,
        };
        let mut portable = None;
        if let Some(there) = there {
            if !is_here {
                let (repo, name) = (&held.repo, held.server.name());
                let found = portable::unpack(repo, change, &there.oid, name).await?;
                require_same(context, &found)?;
                portable = Some(found);
            }
            held.take_over(&there).await?;
        }
        let tenure = Self {
            held: Arc::new(Mutex::new(held)),
            renewals: None,
        };
        Ok(Taken {
            tenure,
            portable,
            from,
        })
    }

    /// Renews the lease in the background from now on, and ends the attempt if it is lost.
    pub fn keep(&mut self, stop: &Stop) {
        self.renewals = Some(tokio::spawn(renew(Arc::clone(&self.held), stop.clone())));
    }

    /// Puts the loop as it is now on the remote, and the checkpoint on its branch there.
    ///
    /// # Errors
    /// If this run no longer holds the loop (exit 75), or the host refuses the work (exit 7).
    pub async fn publish(&self, open: &mut Loop<'_>) -> Result<(), Error> {
        let mut held = self.held.lock().await;
        held.require()?;
        held.publish(open, true).await
    }

    /// Puts the last state on the remote, and lets other runs have the loop. An end that was told before is not told
    /// again.
    ///
    /// # Errors
    /// As [`Tenure::publish`].
    pub async fn release(mut self, open: &mut Loop<'_>) -> Result<(), Error> {
        if let Some(renewals) = self.renewals.take() {
            renewals.abort();
        }
        let mut held = self.held.lock().await;
        if held.end.is_some() {
            return Ok(());
        }
        held.publish(open, false).await
    }

    /// Lets other runs have the loop as it was taken, if it was on the remote at all.
    ///
    /// # Errors
    /// If git cannot be run.
    pub async fn give_back(self) -> Result<(), Error> {
        let mut held = self.held.lock().await;
        if let (None, Some(last), Some(packed)) = (&held.end, held.last.clone(), held.packed.clone()) {
            let free = Record {
                holder: None,
                ..last.record
            };
            held.push(free, &packed).await?;
        }
        Ok(())
    }

    /// Returns whether the remote ever had the loop from this run.
    pub async fn has_published(&self) -> bool {
        self.held.lock().await.last.is_some()
    }

    /// Returns the reason why this run no longer holds the loop.
    ///
    /// # Errors
    /// That reason.
    pub async fn require(&self) -> Result<(), Error> {
        self.held.lock().await.require()
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        if let Some(renewals) = &self.renewals {
            renewals.abort();
        }
    }
}

/// Drives a loop that is held on a remote until it stops; each step is published before the next begins.
///
/// # Errors
/// The error of the step that failed, or of the tenure.
pub async fn drive(open: &mut Loop<'_>, options: &AttemptOptions, tenure: &Tenure) -> Result<Stopped, Error> {
    let mut driver = Driver::new(open, options)?;
    loop {
        tenure.publish(open).await?;
        let end = driver.turn(open).await;
        // An attempt that was ended for it failed for no other reason.
        tenure.require().await?;
        if let Some(stopped) = end? {
            return Ok(stopped);
        }
    }
}

async fn renew(held: Arc<Mutex<Held>>, stop: Stop) {
    let pause = renewal(held.lock().await.server.lease);
    loop {
        sleep(pause.min(std::time::Duration::from_secs(300))).await;
        let mut held = held.lock().await;
        if held.answered.elapsed() < pause {
            continue;
        }
        if held.renew().await.is_err() || held.end.is_some() {
            stop.lose_lease();
            return;
        }
    }
}

impl Held {
    fn require(&self) -> Result<(), Error> {
        let (change, remote) = (self.change.to_string(), self.server.name().to_owned());
        match &self.end {
            None => Ok(()),
            Some(End::Lost) => Err(RemoteRefusal::Lost { change, remote }.into()),
            Some(End::Silent) => Err(RemoteRefusal::Silent {
                change,
                remote,
                silent: patience(self.server.lease),
            }
            .into()),
            Some(End::Refused(words)) => Err(RemoteRefusal::Refused {
                change,
                remote,
                words: words.clone(),
            }
            .into()),
        }
    }

    /// Takes the loop as it is there.
    async fn take_over(&mut self, there: &There) -> Result<(), Error> {
        let git = &self.repo.git;
        let packed = Packed {
            tree: git.tree_of(&there.oid).await?,
            parents: git.parents_of(&there.oid).await?,
        };
        let previous = super::previous(&there.oid, git).await?;
        let parents = packed
            .parents
            .iter()
            .filter(|parent| Some(*parent) != previous.as_ref());
        let packed = Packed {
            parents: parents.cloned().collect(),
            ..packed
        };
        let is_base = self.base.is_at(&there.oid);
        self.last = Some(there.clone());
        let record = Record {
            holder: Some(self.holder.clone()),
            blocked: None,
            ..there.record.clone()
        };
        let answer = self.push(record, &packed).await?;
        self.packed = Some(packed);
        match answer {
            Answer::Ours if is_base => self.note_base(),
            Answer::Ours => self.base.note_token(&self.holder.token),
            Answer::Theirs(_) => Err(self.held_now().await.into()),
            Answer::Refused(words) => Err(RemoteRefusal::Refused {
                change: self.change.to_string(),
                remote: self.server.name().to_owned(),
                words,
            }
            .into()),
            Answer::Unknown(words) => Err(RemoteRefusal::Unreadable {
                remote: self.server.name().to_owned(),
                words,
            }
            .into()),
        }
    }

    /// Returns the error about the run that was faster.
    async fn held_now(&self) -> RemoteRefusal {
        match self.server.find(&self.change).await {
            Ok((Some(there), _)) => self.server.held(&there),
            _ => RemoteRefusal::Held {
                change: self.change.to_string(),
                remote: self.server.name().to_owned(),
                holder: "another run".to_owned(),
                renewed: "this moment".to_owned(),
            },
        }
    }

    /// Publishes the loop as it is now.
    async fn publish(&mut self, open: &mut Loop<'_>, holds: bool) -> Result<(), Error> {
        let packed = portable::pack(open).await?;
        let listing = listing_of(&open.state, &open.context.repo.top).await?;
        let (done, total) = progress_of(&listing);
        let record = Record {
            change: self.change.clone(),
            generation: 0,
            holder: holds.then(|| self.holder.clone()),
            lease: SignedDuration::ZERO,
            renewed: Timestamp::now(),
            phase: open.state.progress.phase,
            done,
            total,
            checkpoint: open.state.checkpoint.clone(),
            blocked: None,
        };
        let begun = Instant::now();
        loop {
            match self.push(record.clone(), &packed).await? {
                Answer::Ours => break,
                Answer::Theirs(_) => self.end = Some(End::Lost),
                Answer::Refused(words) => self.refused(record.clone(), words).await?,
                Answer::Unknown(_) if begun.elapsed() < patience(self.server.lease) => {
                    // What cannot be heard is not lost.
                    sleep(renewal(self.server.lease) / 10).await;
                    continue;
                }
                Answer::Unknown(_) => self.end = Some(End::Silent),
            }
            return self.require();
        }
        self.packed = Some(packed);
        self.note_base()?;
        self.copy_branch(open, &record.checkpoint).await;
        Ok(())
    }

    /// Pushes the state before the work that the host does not take, so that everybody can see the reason.
    async fn refused(&mut self, record: Record, words: String) -> Result<(), Error> {
        if let Some(last) = &self.last
            && let Some(packed) = self.packed.clone()
        {
            let told = Record {
                holder: None,
                blocked: Some(words.clone()),
                checkpoint: last.record.checkpoint.clone(),
                ..record
            };
            if self.push(told, &packed).await? == Answer::Ours {
                self.note_base()?;
            }
        }
        self.end = Some(End::Refused(words));
        Ok(())
    }

    /// Renews the lease; the loop itself stays as it was published.
    async fn renew(&mut self) -> Result<(), Error> {
        let (Some(last), Some(packed)) = (&self.last, self.packed.clone()) else {
            return Ok(());
        };
        let record = Record {
            holder: Some(self.holder.clone()),
            ..last.record.clone()
        };
        match self.push(record, &packed).await? {
            Answer::Ours => self.note_base()?,
            Answer::Theirs(_) => self.end = Some(End::Lost),
            Answer::Refused(words) => self.end = Some(End::Refused(words)),
            Answer::Unknown(_) if self.answered.elapsed() < patience(self.server.lease) => {}
            Answer::Unknown(_) => self.end = Some(End::Silent),
        }
        Ok(())
    }

    /// Pushes a state on top of the last one.
    async fn push(&mut self, record: Record, packed: &Packed) -> Result<Answer, GitError> {
        loop {
            let previous = self.last.as_ref().map(|last| last.oid.clone());
            let record = Record {
                generation: self.last.as_ref().map_or(0, |last| last.record.generation) + 1,
                lease: SignedDuration::try_from(self.server.lease).unwrap_or(SignedDuration::MAX),
                renewed: Timestamp::now(),
                ..record.clone()
            };
            let message = record.message(previous.as_ref(), &random());
            let parents: Vec<&Oid> = previous.iter().chain(&packed.parents).collect();
            let oid = self.repo.own_commit(&packed.tree, &parents, &message).await?;
            let answer = self.server.swap(&self.change, previous.as_ref(), &oid).await;
            match &answer {
                Answer::Ours => {
                    self.last = Some(There { oid, record });
                    self.unheard.clear();
                    self.answered = Instant::now();
                }
                Answer::Unknown(_) => self.unheard.push(There { oid, record }),
                Answer::Theirs(Some(now)) => {
                    // An earlier push has arrived after all: this one goes on top of it.
                    if let Some(place) = self.unheard.iter().position(|there| there.oid == *now) {
                        self.last = Some(self.unheard.swap_remove(place));
                        continue;
                    }
                }
                Answer::Theirs(None) | Answer::Refused(_) => {}
            }
            return Ok(answer);
        }
    }

    /// Notes that the loop here is what the remote has.
    fn note_base(&mut self) -> Result<(), Error> {
        match &self.last {
            Some(last) => self.base.note(&last.oid, Some(&self.holder.token)),
            None => Ok(()),
        }
    }

    /// Moves the branch on the remote to the checkpoint; a branch that others moved stays.
    async fn copy_branch(&mut self, open: &mut Loop<'_>, checkpoint: &Oid) {
        let old = match &self.branch {
            Copy::At(old) if old.as_ref() != Some(checkpoint) => old.clone(),
            Copy::At(_) | Copy::Foreign => return,
        };
        match self
            .server
            .copy_branch(&self.change, old.as_ref(), checkpoint)
            .await
        {
            None => self.branch = Copy::At(Some(checkpoint.clone())),
            Some(words) => {
                self.branch = Copy::Foreign;
                open.emit(What::Notice {
                    message: format!(
                        "branch {} on {} stays as it is: {}",
                        self.change.branch(),
                        self.server.name(),
                        words.lines().next().unwrap_or_default()
                    ),
                });
            }
        }
    }
}

/// Returns whether the holder was a run in this repository that is gone.
fn is_left_here(base: &Base, found: &There, repo: &Repo) -> bool {
    let holder = found.record.holder.as_ref();
    let is_own = holder.is_some_and(|holder| base.has_token(&holder.token));
    is_own && !Store::new(&repo.common_dir, &found.record.change).is_held()
}

fn over(server: &Server, found: &There) -> RemoteRefusal {
    RemoteRefusal::Over {
        change: found.record.change.to_string(),
        remote: server.name().to_owned(),
        phase: super::record::phase_name(found.record.phase),
    }
}

/// Returns whether the branch on a remote is an earlier checkpoint; one that cannot be seen here may be anything.
async fn is_contained(repo: &Repo, branch: &Oid, there: Option<&There>) -> bool {
    let Some(there) = there else { return false };
    let git = &repo.git;
    if let Ok(earlier) = super::checkpoints_before(&there.oid, git).await
        && earlier.contains(branch)
    {
        return true;
    }
    let missing = git.missing(&[branch.to_string()]).await;
    missing.is_ok_and(|missing| missing.is_empty())
        && git
            .is_ancestor(branch, &there.record.checkpoint)
            .await
            .is_ok_and(|is| is)
}

/// Returns a description of this run for people: its CI job if it has one, else its process.
fn run_name() -> String {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let host = nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok());
    let process = format!(
        "process {} on {}",
        std::process::id(),
        host.as_deref().unwrap_or("a machine without a name")
    );
    let github = var("GITHUB_SERVER_URL")
        .zip(var("GITHUB_REPOSITORY"))
        .zip(var("GITHUB_RUN_ID"))
        .map(|((server, repository), run)| format!("{server}/{repository}/actions/runs/{run}"));
    match github.or_else(|| var("CI_JOB_URL")).or_else(|| var("BUILD_URL")) {
        Some(url) => format!("{process} ({url})"),
        None => process,
    }
}
