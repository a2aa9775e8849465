//! Finds and ends every process of an attempt.
//!
//! A process belongs to an attempt if it is in the session in which the attempt was started, has the attempt's variable
//! in its environment (agents give their tools separate sessions, and launchers exit before the processes that they
//! started), or descends from git-ralph and is younger than the attempt. On Linux orphans become children of git-ralph:
//! an attempt has ended when git-ralph has no child any more. On other systems a process escapes if it left the
//! session, its parent and the variable. If no process is visible, only the session's process group can be reached. As
//! process 1 of a container, which gets all its orphans, git-ralph ends only processes of the session or with the
//! variable. It never touches foreign processes, nor a child that git-ralph started for itself meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use crate::processes::{Stat, Table, children, has_variable, have_children, own, started_at};

/// The variable that marks every process of an attempt.
pub const VARIABLE: &str = "GIT_RALPH_RUN";

/// Time for processes to exit after TERM.
const GRACE: Duration = Duration::from_secs(5);
/// Time for killed processes to disappear after the last one was found; and the maximum for all of them.
const LAST: Duration = Duration::from_secs(5);
const LAST_OF_ALL: Duration = Duration::from_secs(30);
/// Minimum and maximum pause between two checks.
const POLLS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// Number of times that children are killed in a row before other tasks get their turn.
const STRIKES: usize = 50;

/// The processes of one attempt, and how to identify them.
#[derive(Clone, Debug, Default)]
pub struct AttemptProcesses {
    /// The session (and process group) of the attempt.
    session: Option<i32>,
    /// The child of git-ralph among them that its owner waits for.
    awaited: Option<i32>,
    /// The value of [`VARIABLE`].
    run: String,
    /// The start of the attempt's first process, in clock ticks.
    since: Option<u64>,
    /// The children of git-ralph from before the attempt; `None` if another git-ralph started it.
    others: Option<Vec<(i32, u64)>>,
    /// True if foreign orphans become children of git-ralph too: it is process 1 of a container, where `docker exec`
    /// starts others.
    adopts_foreign: bool,
}

/// Makes orphaned descendants children of this process from now on (prctl(2), `PR_SET_CHILD_SUBREAPER`), so that they
/// can be found. Does nothing on systems without subreapers.
pub fn adopt_orphans() {
    #[cfg(all(target_os = "linux", not(feature = "without-proc")))]
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        tracing::debug!("orphans of an attempt do not become children of git-ralph: {error}");
    }
}

/// Returns whether orphaned descendants become children of this process.
fn adopts_orphans() -> bool {
    #[cfg(all(target_os = "linux", not(feature = "without-proc")))]
    return nix::sys::prctl::get_child_subreaper() == Ok(true);
    #[cfg(any(not(target_os = "linux"), feature = "without-proc"))]
    return false;
}

/// Lists the children of this process, none of which belongs to the next attempt.
pub fn others() -> Vec<(i32, u64)> {
    let named = |(pid, stat): (i32, Stat)| (pid, stat.started);
    children().into_iter().map(named).collect()
}

/// The outcome of ending the processes of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Processes that are still alive.
    pub alive: usize,
    /// Highest number of processes that were seen at one time and had to be ended.
    pub ended: usize,
}

impl AttemptProcesses {
    /// Returns the processes of an attempt whose first process git-ralph has just started; `others` are older children.
    pub fn started(leader: Option<i32>, run: String, others: Vec<(i32, u64)>) -> Self {
        Self {
            session: leader,
            awaited: leader,
            run,
            since: leader.and_then(started_at),
            others: Some(others),
            adopts_foreign: std::process::id() == 1,
        }
    }

    /// Records the first process, which a runner has started: it becomes a child of git-ralph only if the runner ends.
    pub fn begin(&mut self, leader: Option<i32>) {
        self.session = leader;
        self.since = leader.and_then(started_at);
    }

    /// Returns the processes of an attempt whose git-ralph has died. Its orphans are children of another process.
    pub fn orphaned(session: Option<i32>, run: String, since: Option<u64>) -> Self {
        Self {
            session,
            run,
            since,
            ..Self::default()
        }
    }

    /// Lists the living processes, except this one.
    fn alive(&self) -> Vec<i32> {
        let (Some(table), own) = own::look(|own| (Table::read(), own.clone())) else {
            return self.alive_unseen();
        };
        let variable = format!("{VARIABLE}={}", self.run);
        table
            .living()
            .filter(|(pid, stat)| {
                Some(stat.session) == self.session
                    || self.descends(*pid, stat, &table, &own)
                    || (self.is_young_enough(stat) && has_variable(*pid, variable.as_bytes()))
            })
            .map(|(pid, _)| pid)
            .collect()
    }

    fn alive_unseen(&self) -> Vec<i32> {
        self.session
            .filter(|session| killpg(Pid::from_raw(*session), None).is_ok())
            .into_iter()
            .collect()
    }

    fn is_young_enough(&self, stat: &Stat) -> bool {
        self.since.is_none_or(|since| stat.started >= since)
    }

    fn descends(&self, pid: i32, stat: &Stat, table: &Table, own: &BTreeSet<i32>) -> bool {
        let (Some(others), Some(since)) = (&self.others, self.since) else {
            return false;
        };
        !self.adopts_foreign
            && stat.started >= since
            && table.ancestor_among_children(pid).is_some_and(|(child, stat)| {
                !own.contains(&child) && !others.contains(&(child, stat.started))
            })
    }

    /// Lists the children of this process that belong to the attempt, including dead ones.
    fn children(&self) -> Vec<(i32, Stat)> {
        own::look(|own| self.children_without(own))
    }

    fn children_without(&self, own: &BTreeSet<i32>) -> Vec<(i32, Stat)> {
        let Some(others) = &self.others else {
            return Vec::new();
        };
        let mut children = children();
        children.retain(|(pid, stat)| !own.contains(pid) && !others.contains(&(*pid, stat.started)));
        children
    }

    /// Returns whether this process has no child of the attempt, dead or alive. As orphans become its children, it then
    /// has no descendant of the attempt either.
    fn has_no_child(&self) -> bool {
        own::look(|own| match &self.others {
            None => true,
            Some(_) if self.adopts_foreign => true,
            Some(others) if others.is_empty() && own.is_empty() => !have_children(),
            Some(_) => self.children_without(own).is_empty(),
        })
    }

    /// Returns whether no process is left, without reading the process table: any would be a child of this process,
    /// which has no others and adopts every orphan. True only for a runner on Linux; false if unknown.
    fn are_certainly_gone(&self) -> bool {
        let is_exact =
            adopts_orphans() && !self.adopts_foreign && self.others.as_ref().is_some_and(Vec::is_empty);
        if is_exact {
            self.reap_orphans();
        }
        is_exact && self.has_no_child()
    }

    /// Returns whether no process is left, by a second search: it finds processes born during the first.
    fn are_gone(&self) -> bool {
        self.reap_orphans();
        self.has_no_child() && self.alive().is_empty() && self.has_no_child()
    }

    /// Reaps dead orphans.
    pub fn reap_orphans(&self) {
        for (pid, stat) in self.children() {
            if stat.dead && Some(pid) != self.awaited {
                let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
            }
        }
    }

    fn send(&self, pids: &[i32], signal: Signal) {
        // ESRCH is success; a process that may not be signalled is found alive later.
        for pid in pids {
            if Some(*pid) == self.session {
                let _ = killpg(Pid::from_raw(*pid), signal);
            }
            let _ = kill(Pid::from_raw(*pid), signal);
            if signal == Signal::SIGTERM {
                // A stopped process handles TERM only after CONT.
                let _ = kill(Pid::from_raw(*pid), Signal::SIGCONT);
            }
        }
    }

    /// Kills children as fast as they are found. A process that forks and exits again and again has another process id
    /// at each reading of the whole table; as a child it can be killed between two of its steps, or together with its
    /// child, which is in its group before it makes its own.
    ///
    /// Returns the highest number of children that were alive at once.
    fn kill_children(&self, asked: &mut BTreeSet<i32>) -> usize {
        let mut most = 0;
        if self.adopts_foreign {
            return most;
        }
        for _ in 0..STRIKES {
            let children = self.children();
            // The attempt's first process, once dead, stays until its owner waits for it.
            if children
                .iter()
                .all(|(pid, stat)| stat.dead && Some(*pid) == self.awaited)
            {
                return most;
            }
            most = most.max(children.iter().filter(|(_, stat)| !stat.dead).count());
            // The id of a child, or of its group, is not reused before the child is waited for.
            for (pid, _) in children {
                asked.insert(pid);
                let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            self.reap_orphans();
        }
        most
    }
}

/// Ends every process of an attempt: TERM, a grace period that `impatient` cuts short, KILL.
pub async fn end(processes: &AttemptProcesses, impatient: impl Future<Output = ()>) -> Found {
    let mut ended = 0;
    tokio::pin!(impatient);
    for (signal, limit) in [(Signal::SIGTERM, GRACE), (Signal::SIGKILL, LAST)] {
        let begun = Instant::now();
        let mut deadline = begun + limit;
        let mut in_a_hurry = false;
        let mut asked = BTreeSet::new();
        let (mut poll, longest) = POLLS;
        loop {
            if processes.are_certainly_gone() {
                return Found { alive: 0, ended };
            }
            let living = processes.alive();
            if living.is_empty() && processes.are_gone() {
                return Found { alive: 0, ended };
            }
            ended = ended.max(living.len());
            // New processes get the signal too.
            let fresh: Vec<i32> = living.into_iter().filter(|pid| asked.insert(*pid)).collect();
            processes.send(&fresh, signal);
            if signal == Signal::SIGKILL {
                let had = asked.len();
                ended = ended.max(processes.kill_children(&mut asked));
                if !fresh.is_empty() || asked.len() > had {
                    // A process that continues in forked children is killed sooner or later.
                    deadline = (Instant::now() + LAST).min(begun + LAST_OF_ALL);
                }
            }
            processes.reap_orphans();
            if Instant::now() >= deadline || in_a_hurry {
                break;
            }
            tokio::select! {
                () = sleep(poll) => poll = longest.min(poll * 2),
                () = &mut impatient, if signal == Signal::SIGTERM => in_a_hurry = true,
            }
        }
    }
    let alive = match processes.alive().len() {
        0 if processes.are_gone() => 0,
        // A process exists but was never seen.
        seen => seen.max(1),
    };
    Found { alive, ended }
}
