//! Ends the processes of an attempt whose git-ralph was killed, if git-ralph recognizes them.

use std::path::Path;

use jiff::Timestamp;

use super::process::ProcessError;
use super::process_tree::{self, AttemptProcesses};
use crate::processes::{self, Table, is_same};

/// The attempt, as its git-ralph recorded it.
#[derive(Clone, Debug)]
pub struct Orphaned<'a> {
    /// The value of `GIT_RALPH_RUN` in its processes.
    pub run: String,
    /// Its first process, which is also its session.
    pub pid: Option<i32>,
    /// The start of that process, in clock ticks.
    pub started: Option<u64>,
    /// The beginning of the attempt.
    pub since: Timestamp,
    /// The top of its work tree.
    pub work_tree: &'a Path,
}

impl Orphaned<'_> {
    /// Ends its processes and returns messages for the user.
    pub async fn end(&self, impatient: impl Future<Output = ()>) -> Result<Vec<String>, ProcessError> {
        let session = self
            .pid
            .filter(|pid| is_same(*pid, self.started) || self.started.is_none());
        let processes = AttemptProcesses::orphaned(session, self.run.clone(), None);
        let found = process_tree::end(&processes, impatient).await;
        if found.alive > 0 {
            return Err(ProcessError::Immortal(found.alive));
        }
        let mut notices = Vec::new();
        if found.ended > 0 {
            notices.push(
                "processes of that attempt were still running: those that git-ralph recognized were ended; \
                 others may be left"
                    .to_owned(),
            );
        }
        notices.extend(self.suspects().into_iter().map(|pid| {
            format!(
                "process {pid} works in the work tree and may be of that attempt: if you do not need it, end it by \
                 hand: kill {pid}"
            )
        }));
        Ok(notices)
    }

    /// Finds processes that may belong to the attempt: they began after it in a session of their own, their parent
    /// exited, and they run in its work tree. All of this also holds for a server that the user started meanwhile, so
    /// git-ralph does not end them.
    fn suspects(&self) -> Vec<i32> {
        let (Some(since), Some(table)) = (self.started, Table::read()) else {
            return Vec::new();
        };
        // Ticks of an earlier boot cannot be compared with the ticks of this one.
        if processes::booted().is_none_or(|booted| booted > self.since.as_second()) {
            return Vec::new();
        }
        let ours = table.lineage();
        table
            .living()
            .filter(|(_, stat)| stat.started >= since && !stat.on_terminal)
            .filter(|(_, stat)| table.is_apart_since(stat, since))
            .filter(|(pid, _)| table.ancestor_among_children(*pid).is_none() && !ours.contains(pid))
            .filter(|(pid, _)| processes::directory(*pid).is_some_and(|dir| dir.starts_with(self.work_tree)))
            .map(|(pid, _)| pid)
            .collect()
    }
}
