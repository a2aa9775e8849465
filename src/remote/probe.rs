//! Tests what a remote accepts, with a ref that is deleted again.

use jiff::Timestamp;
use serde::Serialize;

use super::prefixes::BRANCHES;
use super::reason::reason;
use super::record::random;
use super::server::Server;
use crate::error::Error;
use crate::git::remote::Pushed;
use crate::git::{GitError, Repo};
use crate::names::Oid;

/// The test results of a remote.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// The remote.
    pub remote: String,
    /// The prefix of the tested refs.
    pub refs: String,
    /// The tests, in order; none follows a failed one.
    pub trials: Vec<Trial>,
}

/// One test.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The tested operation.
    pub what: &'static str,
    /// True if the remote supports it.
    pub passed: bool,
    /// Git's message, if it does not.
    pub words: String,
    /// The command to type in this case.
    pub hint: Option<String>,
}

impl Findings {
    /// Returns whether the remote can keep loops.
    pub fn are_good(&self) -> bool {
        self.trials.iter().all(|trial| trial.passed)
    }
}

/// The beginning of the names of tested refs, after the prefix: no change has a name that begins with a dash. The time in
/// seconds follows.
const TRIAL: &str = "-doctor-";

/// The time in seconds after which a test has certainly ended.
const LONGEST: i64 = 3600;

/// Tries to create a ref, to move it, to move it from a wrong value, and to delete it. Deletes what killed tests left.
pub async fn probe(repo: &Repo, server: &Server) -> Result<Findings, Error> {
    let refs = server.refs_of_all().await?;
    let trials = format!("{}{TRIAL}", server.prefix());
    for (name, oid) in refs.iter().filter(|(name, _)| is_left_over(name, &trials)) {
        // Nothing depends on it; the next one tries again.
        let _ = server.push(name, Some(oid), None).await;
    }
    let tree = repo.empty_tree().await?;
    let one = repo
        .own_commit(&tree, &[], &format!("a trial {}", random()))
        .await?;
    let two = repo.own_commit(&tree, &[&one], "another").await?;
    let now = Timestamp::now().as_second();
    let name = format!("{trials}{now}-{}/state", random());
    let mut findings = Findings {
        remote: server.name().to_owned(),
        refs: server.prefix().to_owned(),
        trials: Vec::new(),
    };
    let push = async |old: Option<&Oid>, new: Option<&Oid>| server.push(&name, old, new).await;
    let own_branches =
        (server.prefix() != BRANCHES).then(|| format!("git config ralph.remoteRefs {BRANCHES}"));
    let refused = |pushed: Result<Pushed, GitError>| match pushed {
        Ok(Pushed::Done) => None,
        Ok(Pushed::Elsewhere(words) | Pushed::Refused(words) | Pushed::Unknown(words)) => Some(words),
        Err(error) => Some(reason(&error)),
    };
    let mut note = |what, words: Option<String>, hint: Option<String>| {
        let passed = words.is_none();
        findings.trials.push(Trial {
            what,
            passed,
            hint: hint.filter(|_| !passed),
            words: words.unwrap_or_default(),
        });
        passed
    };
    if !note(
        "it takes refs of loops",
        refused(push(None, Some(&one)).await),
        own_branches.clone(),
    ) {
        return Ok(findings);
    }
    note("it moves them", refused(push(Some(&one), Some(&two)).await), None);
    let is_unfenced = matches!(push(Some(&one), Some(&one)).await, Ok(Pushed::Done));
    let unfenced = is_unfenced.then(|| "it moved a ref that had another value".to_owned());
    note("it moves none with another value", unfenced, None);
    let at = server.at(&name).await?;
    let hidden = at.is_none().then(|| {
        "it does not list a ref that it has taken (uploadpack.hideRefs or transfer.hideRefs there)".to_owned()
    });
    note("it lists them", hidden, own_branches);
    let left = refused(push(Some(at.as_ref().unwrap_or(&two)), None).await);
    let by_hand = format!("git push {} :{name}", server.name());
    note("it deletes them", left, Some(by_hand));
    Ok(findings)
}

/// Returns whether the name begins so and its test has ended. An earlier version wrote no time.
fn is_left_over(name: &str, trials: &str) -> bool {
    let seconds = name.strip_prefix(trials).map(|rest| {
        let seconds = rest.split_once('-').and_then(|(seconds, _)| seconds.parse().ok());
        seconds.unwrap_or(0_i64)
    });
    seconds.is_some_and(|begun| Timestamp::now().as_second().saturating_sub(begun) > LONGEST)
}
