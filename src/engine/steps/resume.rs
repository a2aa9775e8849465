//! `start --resume`: rebuilds a loop whose state file is lost from its branch and refs. The message of the start
//! snapshot names the original branch.

use jiff::Timestamp;

use super::preflight::StartOptions;
use super::snapshot::{kept_from_before, linked_in, names};
use crate::engine::checkpoint_message::{ATTEMPT_TRAILER, CHECKPOINT};
use crate::engine::numbers::take_numbers;
use crate::engine::own_work_tree::go_to_branch;
use crate::engine::steps::start_refusal::StartRefusal;
use crate::engine::story_source::wanted;
use crate::engine::transition::restore_original_index;
use crate::engine::{Context, Loop};
use crate::error::Error;
use crate::git::{Described, Head, RefInfo, Repo};
use crate::names::{Change, Oid};
use crate::paths::{WorkTreePath, percent_decode};
use crate::protect::{Savepoint, Site};
use crate::settings::Strategy;
use crate::state::{Before, Completed, Progress, SavePoint, State, Store};
use crate::stories;

/// Rebuilds the state of a loop from the repository. HEAD must be on the loop's branch; a loop that leaves HEAD in its
/// place is known by the ref of its checkpoints.
///
/// # Errors
/// If the branch or the snapshot is missing, or HEAD is elsewhere; nothing is changed then.
pub async fn resume<'o>(
    mut context: Context<'o>,
    change: &Change,
    options: &StartOptions,
) -> Result<Loop<'o>, Error> {
    if let Some(place) = &options.own_work_tree {
        let _alone = Store::new(&context.repo.common_dir, change).lock_making()?;
        context = go_to_branch(context, change, place, &options.settings).await?;
    }
    let repo = &context.repo;
    let git = &repo.git;
    let start_ref = change.ralph_ref("start");
    let anchor_ref = change.ralph_ref("anchor");
    let refs = git.refs(&[&change.ralph_ref("")]).await?;
    let at = |name: &str| refs.iter().find(|found| found.name == name);
    let is_on_branch = context.head.branch.as_deref() == Some(&change.branch_ref());
    let (strategy, tip) = match at(&Strategy::Stash.tip_ref(change)) {
        Some(tip) if !is_on_branch => (Strategy::Stash, Some(tip.oid.clone())),
        _ => (
            Strategy::Branch,
            context.head.oid.clone().filter(|_| is_on_branch),
        ),
    };
    let (Some(snapshot), Some(tip)) = (at(&start_ref), tip) else {
        return Err(StartRefusal::NothingToResume(change.to_string()).into());
    };
    let message = git.message(&snapshot.oid).await?;
    let field = |name: &str| {
        let line = message.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let original_branch =
        field("original-branch:").and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned));
    let linked = linked_in(&message);
    let original_head = field("original-head:").and_then(|oid| Oid::parse(&oid));
    let history = git
        .history_since(original_head.as_ref(), &tip, ATTEMPT_TRAILER)
        .await?;
    let initial = history
        .iter()
        .find(|commit| commit.subject == "initial state")
        .map(|commit| commit.oid.clone())
        .ok_or_else(|| StartRefusal::NothingToResume(change.to_string()))?;
    let wanted = wanted(&options.settings, change, &context.below_top);
    let source = stories::resolve(&repo.top, change.as_str(), &wanted)?;
    let listing = source.list(&repo.top).await?;
    let completed: Vec<Completed> = history
        .iter()
        .filter_map(completed_story)
        .filter_map(|id| listing.stories.iter().find(|story| story.id == id))
        .map(Completed::of)
        .collect();
    if strategy == Strategy::Stash && original_branch.as_deref() != branch_of(&context.head) {
        return Err(StartRefusal::NothingToResume(change.to_string()).into());
    }
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
    repo.discard_index(&work)?;
    // Where the loop's own index is missing, it is made anew from the checkpoint.
    strategy
        .loop_index(&dir)
        .map_or(Ok(()), |own| repo.discard_index(&own))?;
    // It is not known either whether a command was run for them; those that are listed as done are soon forgotten.
    let unmarked = if source.is_by_command() {
        completed.clone()
    } else {
        Vec::new()
    };
    let state = State {
        version: strategy.version(),
        change: change.clone(),
        branch: strategy.branch(change, &context.head),
        strategy,
        moved_head: context.head.oid.clone().filter(|_| strategy == Strategy::Stash),
        original_branch,
        original_head,
        checkpoint_tree: git.tree_of(&tip).await?,
        checkpoint: tip,
        worktree: WorkTreePath::new(&repo.top),
        linked,
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
        awaiting_choice: None,
        stopped: None,
        closed: None,
        noted: None,
        save_points: save_points(repo, change, &refs).await?,
        restored: None,
        intent: None,
    };
    store.save(&state)?;
    let mut open = Loop::new(context, state, store, lock);
    open.tell("the loop's state is rebuilt from its branch and refs");
    Ok(open)
}

/// Returns the id of the story whose checkpoint this commit is. An agent's own commits may have any subject.
fn completed_story(commit: &Described) -> Option<&str> {
    let attempt = commit.trailer.as_deref()?;
    let (id, _) = attempt.rsplit_once('@')?;
    commit.subject.starts_with(CHECKPOINT).then_some(id)
}

/// Returns the short name of the branch of HEAD.
fn branch_of(head: &Head) -> Option<&str> {
    head.branch
        .as_deref()
        .and_then(|branch| branch.strip_prefix("refs/heads/"))
}

/// Returns the stash entries that refs of the loop keep.
async fn save_points(repo: &Repo, change: &Change, refs: &[RefInfo]) -> Result<Vec<SavePoint>, Error> {
    let mut points = Vec::new();
    let prefix = change.ralph_ref("saved/");
    for found in refs {
        let Some(story) = found.name.strip_prefix(&prefix) else {
            continue;
        };
        let entry = &found.oid;
        points.push(SavePoint {
            story: String::from_utf8_lossy(&percent_decode(story)).into_owned(),
            entry: entry.clone(),
            tree: repo.git.tree_of(entry).await?,
            staged: repo.git.tree_of_name(&format!("{entry}^2")).await?,
            head: repo.git.commit_of_name(&format!("{entry}^1")).await?,
        });
    }
    Ok(points)
}
