//! `start --resume`: rebuilds a loop whose state file is lost from its branch and refs. The message of the start
//! snapshot names the original branch.

use jiff::Timestamp;

use super::original::restore_original_index;
use super::preflight::StartOptions;
use super::snapshot::{kept_from_before, names};
use crate::engine::numbers::take_numbers;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::stories::wanted;
use crate::engine::{Context, Loop};
use crate::error::Error;
use crate::git::index;
use crate::names::{Change, Oid};
use crate::paths::WorkTreePath;
use crate::protect::{Savepoint, Site};
use crate::settings::Strategy;
use crate::state::{Before, Completed, Progress, State, Store};
use crate::stories::Source;

/// Rebuilds the state of a loop from the repository. HEAD must be on the loop's branch.
///
/// # Errors
/// If the branch or the snapshot is missing, or HEAD is elsewhere; nothing is changed then.
pub async fn resume<'o>(
    context: Context<'o>,
    change: &Change,
    options: &StartOptions,
) -> Result<Loop<'o>, Error> {
    let repo = &context.repo;
    let git = &repo.git;
    let branch = change.branch_ref();
    if context.head.branch.as_deref() != Some(&branch) {
        return Err(StartRefusal::NothingToResume(change.to_string()).into());
    }
    let start_ref = change.ralph_ref("start");
    let anchor_ref = change.ralph_ref("anchor");
    let refs = git.refs(&[&change.ralph_ref("")]).await?;
    let snapshot = refs.iter().find(|found| found.name == start_ref);
    let (Some(snapshot), Some(tip)) = (snapshot, context.head.oid.clone()) else {
        return Err(StartRefusal::NothingToResume(change.to_string()).into());
    };
    let message = git.message(&snapshot.oid).await?;
    let field = |name: &str| {
        let line = message.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let original_branch =
        field("original-branch:").and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned));
    let original_head = field("original-head:").and_then(|oid| Oid::parse(&oid));
    let history = git.subjects_since(original_head.as_ref(), &tip).await?;
    let initial = history
        .iter()
        .find(|(_, subject)| subject == "initial state")
        .map(|(oid, _)| oid.clone())
        .ok_or_else(|| StartRefusal::NothingToResume(change.to_string()))?;
    let wanted = wanted(&options.settings, change, &context.below_top);
    let source = Source::resolve(&repo.top, change.as_str(), &wanted)?;
    let listing = source.list(&repo.top).await?;
    let completed: Vec<Completed> = history
        .iter()
        .filter_map(|(_, subject)| subject.strip_prefix("checkpoint: "))
        .filter_map(|id| listing.stories.iter().find(|story| story.id == id))
        .map(Completed::of)
        .collect();
    let store = Store::new(&repo.common_dir, change);
    let lock = store.lock()?;
    take_numbers(&store, change, names(&refs))?;
    // The end of this loop would overwrite an earlier one.
    let kept = kept_from_before(&context, change, Vec::new(), &refs, &["finished"], &tip).await?;
    git.keep(&kept, &format!("ralph: resume {change}")).await?;
    let work = store.file("work.index");
    let made = repo.private_index(&repo.index(), &work, Some(&tip)).await?;
    let dir = store.dir();
    let site = Site { repo, dir: &dir };
    Savepoint::begin_records(site, &work, &made.entries).await?;
    Savepoint::begin_exact_bytes(site, &work).await?;
    let anchor = refs.iter().find(|found| found.name == anchor_ref);
    let anchor = anchor.map(|found| found.oid.clone());
    restore_original_index(git, anchor.as_ref(), &store).await?;
    index::discard(&work)?;
    // It is not known either whether a command was run for them; those that are listed as done are soon forgotten.
    let unmarked = match &source.commands {
        Some(_) => completed.clone(),
        None => Vec::new(),
    };
    let state = State {
        version: Strategy::Branch.version(),
        change: change.clone(),
        branch: change.branch(),
        strategy: Strategy::Branch,
        moved_head: None,
        original_branch,
        original_head,
        checkpoint_tree: git.tree_of(&tip).await?,
        checkpoint: tip,
        worktree: WorkTreePath::new(&repo.top),
        started: Timestamp::now(),
        progress: Progress::new(options.settings.max_retries, completed),
        settings: options.kept(),
        source,
        unmarked,
        before: Before {
            snapshot: snapshot.oid.clone(),
            initial,
            anchor,
            index: true,
            nested: Vec::new(),
        },
        running: None,
        session: None,
        prompted: None,
        unchanged: 0,
        listed: None,
        waits_until: None,
        waits_for: None,
        stopped: None,
        noted: None,
        save_points: Vec::new(),
        restored: None,
        intent: None,
    };
    store.save(&state)?;
    let mut open = Loop::new(context, state, store, lock);
    open.tell("the loop's state is rebuilt from its branch and refs");
    Ok(open)
}
