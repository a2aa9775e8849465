//! A loop that this run holds on a remote: the state that it put there last, and the pushes on top of it.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::base::Base;
use super::branch::{BranchCopy, FOREIGN, Stand};
use super::lease::patience;
use super::portable::{self, Packed, Tells, taken_along};
use super::record::{Holder, Record, random};
use super::refusal::RemoteRefusal;
use super::server::{Answer, SHORT_PATIENCE, Server, There};
use crate::engine::Loop;
use crate::error::Error;
use crate::git::{GitError, Repo};
use crate::names::{Change, Oid};
use crate::paths::first_few;
use crate::state::Phase;

/// The state that this run put on the remote last, and what goes on top of it.
#[derive(Debug)]
pub(super) struct HeldLoop {
    pub(super) server: Server,
    pub(super) repo: Repo,
    pub(super) change: Change,
    pub(super) holder: Holder,
    /// The last state commit; `None` before the first push.
    pub(super) last: Option<There>,
    /// States whose push had no answer: the remote may have them.
    pub(super) unheard: Vec<There>,
    pub(super) packed: Option<Packed>,
    pub(super) base: Base,
    /// The branch as it is on the remote.
    pub(super) branch: BranchCopy,
    pub(super) answered: Instant,
    pub(super) end: Option<End>,
}

/// The way in which a tenure ended early.
#[derive(Clone, Debug)]
pub(super) enum End {
    Lost,
    Silent,
    Refused(String),
}

impl HeldLoop {
    pub(super) fn require(&self) -> Result<(), Error> {
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
    pub(super) async fn take_over(&mut self, there: &There) -> Result<(), Error> {
        let packed = portable::packed_in(&self.repo.git, &there.oid).await?;
        let is_base = self.base.is_at(&there.oid);
        self.last = Some(there.clone());
        let record = Record {
            holder: Some(self.holder.clone()),
            blocked: None,
            ..there.record.clone()
        };
        let answer = self
            .push(record, &packed, patience(self.server.lease).min(SHORT_PATIENCE))
            .await?;
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
    pub(super) async fn held_now(&self) -> RemoteRefusal {
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

    /// Publishes the loop as it is now, and holds it. First the state, which only moves from what this run has put there,
    /// then the branch.
    pub(super) async fn publish(&mut self, open: &mut Loop<'_>) -> Result<(), Error> {
        let record = portable::record_of(open, Some(self.holder.clone()), Tells::NoEnd).await?;
        self.put(open, record, Tells::NoEnd).await
    }

    /// Publishes the loop as it is now, and lets others have it. The remote does not say that all of it is done before the
    /// branch there has its last checkpoint.
    pub(super) async fn publish_end(&mut self, open: &mut Loop<'_>) -> Result<(), Error> {
        let checkpoint = open.state.checkpoint.clone();
        let stand = async |held: &Self| held.branch.stand(&held.server, &held.change, &checkpoint).await;
        if stand(self).await? == Stand::Behind {
            self.publish(open).await?;
        }
        let is_there = stand(self).await? == Stand::Has;
        let is_done = matches!(open.state.progress.phase, Phase::Finished | Phase::Complete);
        if is_there || !is_done {
            let record = portable::record_of(open, None, Tells::All).await?;
            return self.put(open, record, Tells::All).await;
        }
        let why = self.branch.kept.clone().unwrap_or_else(|| FOREIGN.to_owned());
        let (branch, remote) = (self.change.branch(), self.server.name().to_owned());
        let record = Record {
            blocked: Some(format!(
                "branch {branch} does not have the last checkpoint: {why}"
            )),
            ..portable::record_of(open, None, Tells::NoEnd).await?
        };
        self.put(open, record, Tells::NoEnd).await?;
        let change = self.change.to_string();
        Err(RemoteRefusal::NoBranch {
            change,
            branch,
            remote,
            why,
        }
        .into())
    }

    async fn put(&mut self, open: &mut Loop<'_>, record: Record, tells: Tells) -> Result<(), Error> {
        let packed = portable::pack(open, tells).await?;
        let is_first = self.last.is_none();
        let patience = self.patience();
        match self.push(record.clone(), &packed, patience).await? {
            Answer::Ours => {}
            Answer::Theirs(_) => self.end = Some(End::Lost),
            Answer::Refused(words) => self.refused(words).await?,
            // What cannot be heard is not lost, as long as nobody takes the loop.
            Answer::Unknown(words) if is_first => {
                let remote = self.server.name().to_owned();
                return Err(RemoteRefusal::Unreadable { remote, words }.into());
            }
            Answer::Unknown(_) => self.end = Some(End::Silent),
        }
        self.require()?;
        if is_first {
            let mine = taken_along(open).await?;
            if !mine.is_empty() {
                let files = first_few(&mine).join(", ");
                open.tell(format!(
                    "pushed with what you had not committed when the loop began: {files}"
                ));
            }
        }
        self.packed = Some(packed);
        self.note_base()?;
        let put = self
            .branch
            .put(&self.server, &self.change, &record.checkpoint)
            .await?;
        if let Err(Some(why)) = put {
            let (branch, remote) = (self.change.branch(), self.server.name());
            let why = why.lines().next().unwrap_or_default();
            open.tell(format!("branch {branch} on {remote} stays as it is: {why}"));
        }
        Ok(())
    }

    /// Returns the time for which a push is tried again.
    fn patience(&self) -> Duration {
        let patience = patience(self.server.lease);
        match self.last {
            Some(_) => patience,
            None => patience.min(SHORT_PATIENCE),
        }
    }

    /// Pushes the state before the work that the host does not take, so that everybody can see the reason.
    pub(super) async fn refused(&mut self, words: String) -> Result<(), Error> {
        if let Some(last) = &self.last
            && let Some(packed) = self.packed.clone()
        {
            let told = Record {
                holder: None,
                blocked: Some(words.clone()),
                ..last.record.clone()
            };
            if self.push(told, &packed, self.patience()).await? == Answer::Ours {
                self.note_base()?;
            }
        }
        self.end = Some(End::Refused(words));
        Ok(())
    }

    /// Renews the lease; the loop itself stays as it was published.
    pub(super) async fn renew(&mut self) -> Result<(), Error> {
        let (Some(last), Some(packed)) = (&self.last, self.packed.clone()) else {
            return Ok(());
        };
        let record = Record {
            holder: Some(self.holder.clone()),
            ..last.record.clone()
        };
        let left = patience(self.server.lease).saturating_sub(self.answered.elapsed());
        match self.push(record, &packed, left).await? {
            Answer::Ours => self.note_base()?,
            Answer::Theirs(_) => self.end = Some(End::Lost),
            Answer::Refused(words) => self.end = Some(End::Refused(words)),
            Answer::Unknown(_) if self.answered.elapsed() < patience(self.server.lease) => {}
            Answer::Unknown(_) => self.end = Some(End::Silent),
        }
        Ok(())
    }

    /// Pushes a state on top of the last one.
    pub(super) async fn push(
        &mut self,
        record: Record,
        packed: &Packed,
        patience: Duration,
    ) -> Result<Answer, GitError> {
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
            let answer = self
                .server
                .swap(&self.change, previous.as_ref(), &oid, patience)
                .await;
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
    pub(super) fn note_base(&mut self) -> Result<(), Error> {
        match &self.last {
            Some(last) => self.base.note(&last.oid, Some(&self.holder.token)),
            None => Ok(()),
        }
    }
}

/// Returns a description of this run for people: its CI job if it has one, else its process.
pub(super) fn run_name() -> String {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let host = crate::processes::host();
    let process = format!(
        "process {} on {}",
        std::process::id(),
        host.as_deref().unwrap_or("a machine without a name")
    );
    let github = var("GITHUB_SERVER_URL")
        .zip(var("GITHUB_REPOSITORY"))
        .zip(var("GITHUB_RUN_ID"))
        .map(|((server, repository), run)| format!("{server}/{repository}/actions/runs/{run}"));
    let url = github.or_else(|| var("CI_JOB_URL")).or_else(|| var("BUILD_URL"));
    // An address can have a password or a token in it.
    match url.filter(|url| !url.contains(['@', '?'])) {
        Some(url) => format!("{process} ({url})"),
        None => process,
    }
}
