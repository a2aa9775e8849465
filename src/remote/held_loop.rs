//! A loop that this run holds on a remote: the last state that it pushed, and the pushes on top of it.

use std::time::{Duration, Instant};

use super::base::Base;
use super::branch::{BranchCopy, FOREIGN, Stand};
use super::lease::patience;
use super::patience::{Patience, SHORT_PATIENCE};
use super::portable::{self, Packed, Tells, taken_along, tell_withheld};
use super::record::{Holder, Record};
use super::refusal::RemoteRefusal;
use super::server::{Answer, Server, There};
use crate::engine::Loop;
use crate::error::{Error, refuse};
use crate::events::Notices;
use crate::git::{GitError, Repo};
use crate::names::{Change, Oid, counted};
use crate::signal::Stop;
use crate::state::Phase;

/// Time after which the user is informed that a push has no answer.
const SOON: Duration = Duration::from_secs(5);

/// The last state that this run pushed, and the data for its next push.
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
    /// Stop requests, which shorten the time for which a push is retried.
    pub(super) stop: Stop,
    pub(super) end: Option<End>,
}

/// The way in which a tenure ended early.
#[derive(Clone, Debug)]
pub(super) enum End {
    Lost,
    /// The ref no longer exists on the remote.
    Gone,
    /// The lease could not be renewed, for this reason.
    Silent(String),
    Refused(String),
}

impl HeldLoop {
    pub(super) fn require(&self) -> Result<(), Error> {
        let (change, remote) = (self.change.to_string(), self.server.name().to_owned());
        match &self.end {
            None => Ok(()),
            Some(End::Lost) => Err(RemoteRefusal::Lost { change, remote }.into()),
            Some(End::Gone) => refuse(RemoteRefusal::Gone {
                name: self.server.state_ref(&self.change),
                change,
                remote,
            }),
            Some(End::Silent(words)) => refuse(RemoteRefusal::Silent {
                change,
                remote,
                words: words.clone(),
                // A user's stop request ends it earlier.
                silent: self.answered.elapsed().min(patience(self.server.lease)),
            }),
            Some(End::Refused(words)) => Err(self.server.refused(&self.change, words.clone()).into()),
        }
    }

    /// Takes over the loop in the state on the remote.
    pub(super) async fn take_over(&mut self, there: &There) -> Result<(), Error> {
        let packed = portable::packed_in(&self.repo.git, &there.oid).await?;
        let is_base = self.base.follows(&self.repo.git, &there.oid).await;
        self.last = Some(there.clone());
        let record = Record {
            holder: Some(self.holder.clone()),
            blocked: None,
            ..there.record.clone()
        };
        self.base.note_next_token(&self.holder.token)?;
        let answer = self
            .push(record, &packed, patience(self.server.lease).min(SHORT_PATIENCE))
            .await?;
        self.packed = Some(packed);
        match answer {
            Answer::Ours if is_base => self.note_base(),
            Answer::Ours => self.base.note_token(&self.holder.token),
            Answer::Theirs(_) => Err(self.held_now().await.into()),
            Answer::Refused(words) => Err(self.server.refused(&self.change, words).into()),
            Answer::Unknown(words) => Err(self.server.not_pushed(&self.change, words).into()),
        }
    }

    /// Returns the error that names the run which took the loop first.
    pub(super) async fn held_now(&self) -> RemoteRefusal {
        match self.server.find(&self.change).await {
            Ok((Some(there), _)) => self.server.held(&there),
            _ => RemoteRefusal::Held {
                change: self.change.to_string(),
                remote: self.server.name().to_owned(),
                holder: "another run".to_owned(),
                renewed: "this moment".to_owned(),
                until: "its lease ends".to_owned(),
            },
        }
    }

    /// Publishes the present loop, and holds it: pushes the state, which moves only from this run's last one, together
    /// with the branch; to a remote without atomic pushes, first the state, then the branch.
    pub(super) async fn publish(&mut self, open: &Loop<'_>) -> Result<(), Error> {
        let record = portable::record_of(open, Some(self.holder.clone()), Tells::NoEnd).await?;
        self.put(open, record, Tells::NoEnd).await
    }

    /// Publishes the present loop, and releases it. The state on the remote does not say that all is done before the
    /// branch there has the last checkpoint.
    pub(super) async fn publish_end(&mut self, open: &Loop<'_>) -> Result<(), Error> {
        let checkpoint = open.state.checkpoint().clone();
        let stand = async |held: &Self| held.branch.stand(&held.server, &held.change, &checkpoint).await;
        if stand(self).await? == Stand::Behind {
            if self.put_end_along(open).await? {
                return Ok(());
            }
            self.publish(open).await?;
        }
        let is_there = stand(self).await? == Stand::Has;
        let is_done = matches!(open.state.phase(), Phase::Finished | Phase::Complete);
        if is_there || !is_done {
            let record = portable::record_of(open, None, Tells::All).await?;
            return self.put(open, record, Tells::All).await;
        }
        let why = self.branch.kept.clone().unwrap_or_else(|| FOREIGN.to_owned());
        let record = Record {
            blocked: Some(lacks_end(&self.change, &why)),
            ..portable::record_of(open, None, Tells::NoEnd).await?
        };
        self.put(open, record, Tells::NoEnd).await?;
        Err(self.server.no_branch(&self.change, why).into())
    }

    async fn put(&mut self, open: &Loop<'_>, record: Record, tells: Tells) -> Result<(), Error> {
        let packed = portable::pack(open, tells).await?;
        let is_first = self.last.is_none();
        if is_first {
            self.base.note_next_token(&self.holder.token)?;
        }
        let (begun, patience) = (Instant::now(), self.patience());
        let answer = if self.push_along(record.clone(), &packed).await? {
            Answer::Ours
        } else {
            let left = patience.saturating_sub(begun.elapsed());
            let time = if is_first { left } else { left.min(SOON) };
            self.push(record.clone(), &packed, time).await?
        };
        let left = patience.saturating_sub(begun.elapsed());
        let left = Patience::until_asked(left, &self.stop).left();
        let answer = match answer {
            Answer::Unknown(words) if !is_first && !left.is_zero() => {
                open.tell(format!(
                    "{} does not answer, and git-ralph tries again for {}: {}",
                    self.server.name(),
                    counted(left.as_secs(), "second", "seconds"),
                    words.trim().lines().next().unwrap_or_default()
                ));
                self.push(record.clone(), &packed, left).await?
            }
            answer => answer,
        };
        match answer {
            Answer::Ours => {}
            Answer::Theirs(now) => self.end = Some(self.lost_to(now.as_ref())),
            Answer::Refused(words) if is_first => {
                self.end = Some(End::Refused(words.clone()));
                return Err(self.server.refused_refs(&self.change, words).into());
            }
            Answer::Refused(words) => self.refused(words).await?,
            // A missing answer does not lose the loop unless another run takes it.
            Answer::Unknown(words) if is_first => {
                return Err(self.server.not_pushed(&self.change, words).into());
            }
            Answer::Unknown(words) => self.end = Some(End::Silent(words)),
        }
        self.require()?;
        self.note_published(open, packed, is_first).await?;
        let has_work = record.checkpoint != *open.state.initial() || record.phase == Phase::Complete;
        if is_first && !has_work {
            // The branch goes along with the first checkpoint: one push less.
            return Ok(());
        }
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

    /// Pushes the end of the loop together with its branch, atomically; returns whether the remote has both.
    async fn put_end_along(&mut self, open: &Loop<'_>) -> Result<bool, Error> {
        if self.last.is_none() || !self.branch.goes_along(open.state.checkpoint()) {
            return Ok(false);
        }
        let record = portable::record_of(open, None, Tells::All).await?;
        let packed = portable::pack(open, Tells::All).await?;
        let is_first = self.last.is_none();
        let is_there = self.push_along(record, &packed).await?;
        if is_there {
            self.note_published(open, packed, is_first).await?;
        }
        Ok(is_there)
    }

    /// Notes that the remote has the present loop. The first time, reports which content of the user's was pushed.
    async fn note_published(&mut self, open: &Loop<'_>, packed: Packed, is_first: bool) -> Result<(), Error> {
        if is_first {
            let what = "pushed with what you had not committed when the loop began";
            open.tell_few(what, &taken_along(open).await?);
        }
        tell_withheld(open, &packed, self.packed.as_ref());
        self.packed = Some(packed);
        self.note_base()
    }

    /// Returns the time for which a push is retried.
    fn patience(&self) -> Duration {
        let patience = patience(self.server.lease);
        match self.last {
            Some(_) => patience,
            None => patience.min(SHORT_PATIENCE),
        }
    }

    /// Pushes the state from before the refused work, so that others can see the reason.
    pub(super) async fn refused(&mut self, words: String) -> Result<(), Error> {
        if let Some(last) = &self.last
            && let Some(packed) = self.packed.clone()
        {
            let blocked = Record {
                holder: None,
                blocked: Some(words.clone()),
                ..last.record.clone()
            };
            if self.push(blocked, &packed, self.patience()).await? == Answer::Ours {
                self.note_base()?;
            }
        }
        self.end = Some(End::Refused(words));
        Ok(())
    }

    /// Renews the lease; the published loop does not change.
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
            Answer::Theirs(now) => self.end = Some(self.lost_to(now.as_ref())),
            Answer::Refused(words) => self.end = Some(End::Refused(words)),
            Answer::Unknown(_) if self.answered.elapsed() < patience(self.server.lease) => {}
            Answer::Unknown(words) => self.end = Some(End::Silent(words)),
        }
        Ok(())
    }

    /// Returns how a loop was lost whose ref now is `now`.
    fn lost_to(&self, now: Option<&Oid>) -> End {
        match now {
            None if self.last.is_some() => End::Gone,
            _ => End::Lost,
        }
    }

    /// Pushes a state on top of the last one.
    pub(super) async fn push(
        &mut self,
        record: Record,
        packed: &Packed,
        patience: Duration,
    ) -> Result<Answer, GitError> {
        loop {
            let there = self.next(record.clone(), packed).await?;
            let previous = self.last.as_ref().map(|last| &last.oid);
            let patience = Patience::until_asked(patience, &self.stop);
            let answer = self
                .server
                .swap(&self.change, previous, &there.oid, patience)
                .await;
            match &answer {
                Answer::Ours => self.note_pushed(there),
                Answer::Unknown(_) => self.unheard.push(there),
                Answer::Theirs(Some(now)) => {
                    // An earlier push has arrived after all: it is the parent of this one.
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

    /// Pushes a state on top of the last one together with the branch, atomically; returns whether the remote has both.
    /// If not, it may still get them: the next push checks that.
    async fn push_along(&mut self, record: Record, packed: &Packed) -> Result<bool, GitError> {
        // A host that hides the ref of the state may take the branch alone, and with it the user's files.
        if self.last.is_none() || !self.branch.goes_along(&record.checkpoint) {
            return Ok(false);
        }
        let there = self.next(record, packed).await?;
        let previous = self.last.as_ref().map(|last| &last.oid);
        let checkpoint = there.record.checkpoint.clone();
        let state = (previous, &there.oid);
        let is_there = self
            .branch
            .put_along(&self.server, &self.change, state, &checkpoint)
            .await;
        if is_there {
            self.note_pushed(there);
        } else {
            self.unheard.push(there);
        }
        Ok(is_there)
    }

    /// Makes the state whose parent is the last one.
    async fn next(&self, record: Record, packed: &Packed) -> Result<There, GitError> {
        let lease = self.server.shown_lease();
        let record = Record { lease, ..record };
        let last = self.last.as_ref();
        let (git, at) = (&self.repo.git, last.map(|last| &last.oid));
        let top = self.base.top(git, &self.change, at).await;
        let top = top.map(|(oid, record)| There { oid, record });
        portable::on_top(&self.repo, top.as_ref().or(last), record, packed).await
    }

    /// Notes that the remote has this state.
    fn note_pushed(&mut self, there: There) {
        self.last = Some(there);
        self.unheard.clear();
        self.answered = Instant::now();
    }

    /// Notes the remote's last state as the base of the local loop.
    pub(super) fn note_base(&mut self) -> Result<(), Error> {
        match &self.last {
            Some(last) => {
                let generation = last.record.generation;
                self.base.note(&last.oid, generation, Some(&self.holder.token))
            }
            None => Ok(()),
        }
    }
}

/// Returns why a loop is not done on the remote: its branch lacks the last checkpoint.
pub(super) fn lacks_end(change: &Change, why: &str) -> String {
    let branch = change.branch();
    format!("branch {branch} does not have the last checkpoint: {why}")
}

/// Returns a description of this run for display: its CI job if there is one, else its process.
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
    // A URL can contain a password or a token.
    match url.filter(|url| !url.contains(['@', '?'])) {
        Some(url) => format!("{process} ({url})"),
        None => process,
    }
}
