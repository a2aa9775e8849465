//! Gates (`ralph.verify`): shell commands that must succeed between COMPLETE and the checkpoint.

use super::Session;
use super::baseline::Baseline;
use super::gate::Passed;
use super::others::Others;
use super::run_agent::{Begun, Outcome};
use super::verdict::Judgement;
use crate::agent::process::ProcessError;
use crate::error::Error;
use crate::guard::GitSettings;
use crate::names::Oid;
use crate::settings::{Settings, VerifyBaseline};
use crate::state::Verdict;
use crate::stories::Story;

/// Paths that are named when a gate has changed some.
const NAMED: usize = 5;

impl Session<'_> {
    /// Runs the gates; gives the judgement of the first that says no.
    pub(super) async fn gates(
        &mut self,
        story: &Story,
        settings: &Settings,
        begun: &Begun,
        outcome: &mut Outcome,
    ) -> Result<Option<Judgement>, Error> {
        if settings.verify.is_empty() {
            return Ok(None);
        }
        let before = self.read_work_tree().await?.tree;
        let watched = self.watch(Others::Gates).await?;
        let guard = self.set_up_guard(settings).await;
        let refused = self.run_gates(story, settings, begun, outcome, &guard).await;
        self.take_guard_away(None, Others::Gates.name());
        self.end_watch(watched).await?;
        let refused = refused?;
        if refused.is_none() {
            self.tell_changed_by_gates(&before).await?;
        }
        Ok(refused)
    }

    async fn run_gates(
        &mut self,
        story: &Story,
        settings: &Settings,
        begun: &Begun,
        outcome: &mut Outcome,
        guard: &GitSettings,
    ) -> Result<Option<Judgement>, Error> {
        let known = match settings.verify_baseline {
            VerifyBaseline::Same => self.baseline(),
            VerifyBaseline::Strict => Baseline::default(),
        };
        for gate in &settings.verify {
            let job = self.job(story, begun, guard.clone());
            let log = begun.log.try_clone().map_err(ProcessError::Log)?;
            match self.run_gate(gate, job, log, settings).await? {
                Passed::Yes => {}
                Passed::Interrupted(signal) => {
                    outcome.signal = Some(signal);
                    let why = format!("stopped by signal {signal}");
                    return Ok(Some(Judgement::new(Verdict::Interrupted, why)));
                }
                Passed::No(why, tail) if known.is_same(gate, &why, &tail) => self.tell(format!(
                    "the gate `{gate}` is red ({why}), in the same way as before the loop; that is not held against the story"
                )),
                Passed::No(why, tail) => {
                    let reason = format!(
                        "the gate `{gate}` failed ({why}); the end of its output:\n\n{}",
                        tail.text()
                    );
                    return Ok(Some(Judgement::new(Verdict::GateFailed, reason.trim_end())));
                }
            }
        }
        Ok(None)
    }

    /// What gates change is part of the story; a person shall know that the agent did not do it.
    async fn tell_changed_by_gates(&mut self, before: &Oid) -> Result<(), Error> {
        if let Some(names) = self.changed_since(before).await? {
            self.tell(format!(
                "the gates changed files, which goes into the checkpoint: {names}"
            ));
        }
        Ok(())
    }

    /// The files that are not as they are in this tree, in words; `None` when all are.
    pub(super) async fn changed_since(&mut self, before: &Oid) -> Result<Option<String>, Error> {
        let after = self.read_work_tree().await?.tree;
        let changes = self.engine.repo.git.diff_trees(before, &after).await?;
        if changes.is_empty() {
            return Ok(None);
        }
        let names = changes.iter().take(NAMED);
        let mut names: Vec<_> = names
            .map(|(_, path)| String::from_utf8_lossy(path).into_owned())
            .collect();
        if changes.len() > NAMED {
            names.push(format!("{} more", changes.len() - NAMED));
        }
        Ok(Some(names.join(", ")))
    }
}
