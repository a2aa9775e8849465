//! The reports of the loops on a remote, for `git ralph report --all --remote`. Creates no local loop.

use std::path::Path;

use super::report_of::report_of;
use crate::engine::Context;
use crate::engine::stories::listing_at;
use crate::error::Error;
use crate::exit::Exit;
use crate::fs::{Below, Durability};
use crate::git::{Repo, Temporary, temporary_in};
use crate::names::{Change, counted};
use crate::remote::queue::{Entry, entry_of};
use crate::remote::{Server, There, Watch};
use crate::report::{Outcome, OutcomeKind, Report, Wanted, of_loop};
use crate::state::Store;
use crate::ui::Screen;
use crate::ui::report::Progress;

/// Makes the reports of the loops on a remote; prints the errors of unreadable ones, which set the exit code.
pub(super) async fn reports(
    screen: Screen,
    context: &Context<'_>,
    remote: &str,
    wanted: &Wanted,
    progress: &mut Progress,
) -> Result<(Vec<Report>, Exit), Error> {
    let named = Some(remote).filter(|name| !name.is_empty());
    let server = Server::new(&context.repo, &context.configuration.settings, named)?;
    progress.doing("fetching the loops", true);
    let listed = server.list().await?;
    let there = listed.iter();
    let there = there.filter_map(|(change, found)| Some((change.clone(), found.as_ref().ok()?.oid.clone())));
    let mut failed = server.fetch(&there.collect()).await?;
    let (mut reports, mut exit) = (Vec::new(), Exit::Done);
    for (change, found) in listed {
        let made = match (found, failed.remove(&change)) {
            (Err(error), _) | (Ok(_), Some(error)) => Err(error.into()),
            (Ok(there), None) => one(context, &server, there, wanted, progress).await,
        };
        match made {
            Ok(report) => reports.push(report),
            // An unreadable loop must not hide the others.
            Err(error) => {
                screen.fail(change.as_str(), &error);
                exit = Exit::Error;
            }
        }
    }
    Ok((reports, exit))
}

async fn one(
    context: &Context<'_>,
    server: &Server,
    there: There,
    wanted: &Wanted,
    progress: &mut Progress,
) -> Result<Report, Error> {
    let repo = &context.repo;
    let change = there.record.change.clone();
    let here = Store::new(&repo.common_dir, &change);
    if server.is_here(&there)
        && let Some(state) = here.load()?
    {
        // The local loop has the logs too.
        return report_of(context, &state, wanted, progress).await;
    }
    let portable = server.portable(&there).await?;
    let entry = entry_of(server, change, Ok(there), &mut Watch::default());
    let kept = portable.attempts.into_iter().map(|kept| (kept.name, kept.oid));
    let wanted = Wanted {
        kept: kept.collect(),
        ..wanted.clone()
    };
    let files = Files::new(repo, &entry.change, &portable.events)?;
    let mut show = |done, total| progress.differences(done, total);
    // No work tree has a later list.
    let listing = listing_at(&repo.git, &portable.state, portable.state.checkpoint()).await;
    let mut report = of_loop(&files.repo, &portable.state, listing.as_ref(), &wanted, &mut show).await?;
    if let Some(mut outcome) = outcome_of(server.name(), &entry) {
        wanted.redaction.apply(&mut outcome.text);
        report.outcome = outcome;
    }
    Ok(report)
}

/// Returns the outcome of a loop known only from the remote: its state shows neither a run that works on it nor a host
/// that refuses its work.
fn outcome_of(remote: &str, entry: &Entry) -> Option<Outcome> {
    if matches!(entry.phase, "finished") {
        return None;
    }
    let total = entry.total.unwrap_or_default() as u64;
    let far = format!("{} of {}", entry.done, counted(total, "story", "stories"));
    let line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let (kind, text) = match (entry.phase, &entry.holder) {
        ("blocked", _) => (OutcomeKind::Stopped, format!("stopped: {}", line(&entry.why))),
        (_, Some(holder)) if entry.free => (
            OutcomeKind::Stopped,
            format!("stopped: {far}; {holder} held it on {remote}, and gives no sign any more"),
        ),
        (_, Some(holder)) => (
            OutcomeKind::Running,
            format!("running: {far}; {holder} holds it on {remote}"),
        ),
        (_, None) => return None,
    };
    Some(Outcome { kind, text })
}

/// The files of a remote loop, while they are read.
struct Files {
    /// The repository, with these files instead of its loops.
    repo: Repo,
    _dir: Temporary,
}

impl Files {
    fn new(repo: &Repo, change: &Change, events: &[u8]) -> Result<Self, Error> {
        let dir = temporary_in(&repo.git_dir)?;
        let mut repo = repo.clone();
        dir.path().clone_into(&mut repo.common_dir);
        let file = Store::new(dir.path(), change).file("events.jsonl");
        let door = Below::new(dir.path());
        door.make_dir(file.parent().unwrap_or(Path::new("ralph")), 0o700)?;
        door.write(&file, events, 0o600, Durability::Atomic)?;
        Ok(Self { repo, _dir: dir })
    }
}
