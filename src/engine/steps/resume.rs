//! `start --resume`: rebuilds a loop whose state file is lost from its branch and refs. The message of the start
//! snapshot names the original branch.

use jiff::Timestamp;

use super::preflight::StartOptions;
use super::snapshot::{kept_from_before, linked_in, names};
use crate::engine::checkpoint_message::{ATTEMPT_TRAILER, CHECKPOINT};
use crate::engine::numbers::take_numbers;
use crate::engine::story_source::wanted;
use crate::engine::transition::restore_original_index;
use crate::engine::work_tree_place::OwnTree;
use crate::engine::{Context, Loop, judged};
use crate::error::Error;
use crate::git::{Described, RefInfo, Repo, oid_of};
use crate::names::{Change, Oid};
use crate::paths::{WorkTreePath, percent_decode};
use crate::protect::Site;
use crate::settings::Strategy;
use crate::state::{
    Accepted, Before, Common, Completed, DotGit, Here, Linked, ListNotes, Progress, SavePoint, State, Store,
};
use crate::stories;

/// Rebuilds the state of a loop from the repository. HEAD must be on the loop's branch; a loop that leaves HEAD in
/// place is found by the ref of its checkpoints.
///
/// # Errors
/// If the branch or the snapshot is missing, or HEAD is on another branch; nothing is changed then.
pub async fn resume<'o>(
    mut context: Context<'o>,
    change: &Change,
    options: &StartOptions,
) -> Result<Loop<'o>, Error> {
    let mut set_up = Vec::new();
    if let Some(place) = &options.own_work_tree {
        let _alone = Store::new(&context.repo.common_dir, change).lock_making()?;
        let own = OwnTree {
            context: &context,
            change,
            place,
            settings: &options.settings,
        };
        let made = own.on_branch().await?;
        set_up = made.set_up;
        context = context.at(&made.top).await?;
    }
    let repo = &context.repo;
    let remains = Remains::find(&context, change).await?;
    let begun = Begun::read(repo, &remains.snapshot).await?;
    let (strategy, tip) = (remains.strategy, &remains.tip);
    let history = repo
        .git
        .history_since(begun.original_head.as_ref(), tip, ATTEMPT_TRAILER)
        .await?;
    let initial = history
        .iter()
        .find(|commit| commit.subject == "initial state")
        .map(|commit| commit.oid.clone());
    let Some(initial) = initial else {
        return Err(context.nothing_to_resume(change).await.into());
    };
    let wanted = wanted(&options.settings, change, &context.below_top);
    let source = stories::resolve_typed(&repo.top, change.as_str(), &wanted)?;
    let listing = source.list(&repo.top).await?;
    let mut completed: Vec<Completed> = Vec::new();
    let mut from = initial.clone();
    for commit in history
        .iter()
        .filter(|commit| commit.subject.starts_with(CHECKPOINT))
    {
        let from = std::mem::replace(&mut from, commit.oid.clone());
        let Some((id, attempt)) = completed_story(commit) else {
            continue;
        };
        let found = listing.find(id);
        completed.extend(found.map(|story| Completed {
            work: attempt.map(|attempt| Accepted {
                attempt,
                from,
                to: commit.oid.clone(),
            }),
            ..Completed::of(story)
        }));
    }
    if strategy.leaves_head() && begun.original_branch.as_deref() != context.head.branch_name() {
        return Err(context.nothing_to_resume(change).await.into());
    }
    let store = Store::new(&repo.common_dir, change);
    let lock = store.lock()?;
    take_numbers(&store, change, names(&remains.refs))?;
    // The end of this loop would overwrite the result of an earlier one.
    let kept = kept_from_before(&context, change, Vec::new(), &remains.refs, &["finished"], tip).await?;
    repo.git.keep(&kept, &format!("ralph: resume {change}")).await?;
    let anchor = oid_of(&remains.refs, &change.ralph_ref("anchor"));
    rebuild_files(repo, &store, strategy, tip, anchor.as_ref()).await?;
    // Whether the command ran for these stories is unknown too; those listed as done are soon forgotten.
    let unmarked = if source.is_by_command() {
        completed.clone()
    } else {
        Vec::new()
    };
    let common = Common {
        branch: strategy.branch(change, &context.head),
        strategy,
        original_branch: begun.original_branch,
        original_head: begun.original_head,
        initial,
        checkpoint_tree: repo.git.tree_of(tip).await?,
        checkpoint: tip.clone(),
        started: Timestamp::now(),
        progress: Progress::new(options.settings.max_retries, completed),
        settings: options.kept(),
        source,
        unmarked,
        unchanged: 0,
        listed: None,
        list: ListNotes::default(),
        approved: Vec::new(),
    };
    let before = Before {
        anchor,
        ..Before::nothing_beside(remains.snapshot.clone())
    };
    let here = Here {
        linked: begun.linked,
        moved_head: context.head.oid.clone().filter(|_| strategy.leaves_head()),
        commands: options.commands(),
        save_points: save_points(repo, change, &remains.refs).await?,
        dot_git: DotGit::of(&repo.top)?,
        ..Here::new(WorkTreePath::new(&repo.top), before)
    };
    let state = State::new(change.clone(), common, here);
    store.save(&state)?;
    let open = Loop::new(context, state, store, lock);
    judged::leave_out_of_work(&open, &set_up).await?;
    open.tell("the loop's state is rebuilt from its branch and refs");
    Ok(open)
}

/// The parts of a loop that the repository still has without its state file.
struct Remains {
    strategy: Strategy,
    /// The start snapshot.
    snapshot: Oid,
    /// The last checkpoint.
    tip: Oid,
    /// All refs of the loop.
    refs: Vec<RefInfo>,
}

impl Remains {
    /// Finds the loop on the branch of HEAD, or by the ref of its checkpoints.
    async fn find(context: &Context<'_>, change: &Change) -> Result<Self, Error> {
        let refs = context.repo.git.refs(&[&change.ralph_ref("")]).await?;
        let is_on_branch = context.head.branch.as_deref() == Some(&change.branch_ref());
        let in_place = oid_of(&refs, &Strategy::Stash.tip_ref(change)).filter(|_| !is_on_branch);
        let on_branch = context.head.oid.clone().filter(|_| is_on_branch);
        let (strategy, tip) = match in_place {
            Some(tip) => (Strategy::Stash, Some(tip)),
            None => (Strategy::Branch, on_branch),
        };
        let snapshot = oid_of(&refs, &change.ralph_ref("start"));
        let (Some(snapshot), Some(tip)) = (snapshot, tip) else {
            return Err(context.nothing_to_resume(change).await.into());
        };
        Ok(Self {
            strategy,
            snapshot,
            tip,
            refs,
        })
    }
}

/// The fields in the message of a start snapshot.
struct Begun {
    /// The short name of the branch on which the loop was started.
    original_branch: Option<String>,
    original_head: Option<Oid>,
    linked: Option<Linked>,
}

impl Begun {
    async fn read(repo: &Repo, snapshot: &Oid) -> Result<Self, Error> {
        let message = repo.git.message(snapshot).await?;
        let field = |name: &str| {
            let line = message.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        let branch = field("original-branch:");
        Ok(Self {
            original_branch: branch.and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned)),
            original_head: field("original-head:").and_then(|oid| Oid::parse(&oid)),
            linked: linked_in(&message),
        })
    }
}

/// Recreates the loop's own files: the records of the work tree, the original index, and the loop's own index.
async fn rebuild_files(
    repo: &Repo,
    store: &Store,
    strategy: Strategy,
    tip: &Oid,
    anchor: Option<&Oid>,
) -> Result<(), Error> {
    let slot = store.slot();
    slot.make()?;
    let work = slot.file("work.index");
    let made = repo.private_index(&work, Some(tip)).await?;
    let site = Site::new(repo, &slot, &());
    site.begin_loop(&work, &made.entries).await?;
    restore_original_index(&repo.git, anchor, store).await?;
    repo.discard_index(&work)?;
    // A missing index of the loop is recreated from the checkpoint.
    if let Some(own) = strategy.loop_index(slot.loop_dir()) {
        repo.discard_index(&own)?;
    }
    Ok(())
}

/// Returns the id of the story that this checkpoint completes, and the number of the attempt. An agent's own commits
/// may have any subject.
fn completed_story(commit: &Described) -> Option<(&str, Option<u32>)> {
    let (id, attempt) = commit.trailer.as_deref()?.rsplit_once('@')?;
    Some((id, attempt.parse().ok()))
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
