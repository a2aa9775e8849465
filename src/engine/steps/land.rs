//! `land`: merges a finished change into the checked-out branch of the user's work tree. Gates judge the merged tree in
//! a separate work tree before the branch moves.

use std::path::Path;

use super::land_refusal::LandRefusal;
use super::leave::changed_files;
use super::preflight::{BegunFor, StartOptions};
use super::side::{free_places, open_side, remove_all, remove_side};
use super::start_again::start;
use super::start_refusal::StartRefusal;
use crate::engine::position::refuse_operation;
use crate::engine::transition::target_index;
use crate::engine::work_tree_removal::TRASH;
use crate::engine::{Context, Loop, Place, submodules};
use crate::error::{Error, refuse};
use crate::events::{Observer, Silent};
use crate::fs::{entries_of, may_exist, path_below};
use crate::git::index_file::GITLINK;
use crate::git::{Head, Repo, WorkTreeInfo, discover, is_same_dir, locks};
use crate::names::{Oid, counted, short_branch, typed};
use crate::paths::{first_few, shown};
use crate::protect::KeptModes;
use crate::refs::Update;
use crate::state::{Completed, Ending, live_in};

/// Name of the directory in the trash for files of the user's that git could not restore.
const LANDED: &str = "land";

/// The result of landing a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The branch now contains the change, by this commit.
    As(Oid),
    /// The branch contained the change before.
    Before,
    /// The change was not landed, for this reason.
    LeftOut(String),
}

/// Merges a finished change, as one commit without the change's own if it `squashes`. `gates` observes the gates.
///
/// # Errors
/// If the change or the work tree is not ready; nothing is changed then.
pub async fn land(open: &Loop<'_>, squashes: bool, gates: &dyn Observer) -> Result<Landed, Error> {
    let tip = kept_tip(open).await?;
    let head = require_place(open).await?;
    let (branch, at) = (name_of(&head), head.oid.clone().unwrap_or_else(|| tip.clone()));
    let git = open.git().clone();
    // The remains of a killed landing are removed first, whatever the result of this one.
    Box::pin(remove_all(open)).await?;
    let landing = open.change().ralph_ref("landing");
    let left = git.oid_at(&landing).await?;
    let left: Vec<Update> = left
        .into_iter()
        .map(|oid| Update::delete(landing.clone(), oid))
        .collect();
    open.update_refs(&left, "ralph: land").await?;
    let finished = open.change().ralph_ref("finished");
    if let Some(kept) = git.oid_at(&finished).await?
        && !git.is_ancestor(&kept, &tip).await?
    {
        let (branch, kept) = (open.change().branch(), typed(finished));
        return Ok(Landed::LeftOut(format!(
            "{branch} no longer has what was finished ({kept})"
        )));
    }
    if git.is_ancestor(&tip, &at).await? {
        return Ok(Landed::Before);
    }
    let Some(base) = git.merge_base(&at, &tip).await? else {
        return Ok(Landed::LeftOut(format!(
            "it has no commit in common with {branch}"
        )));
    };
    let tree = match open.repo().merge(&base, &at, &tip).await? {
        Ok(tree) => tree,
        Err(paths) => {
            let paths = first_few(&paths).join(", ");
            return Ok(Landed::LeftOut(format!("it conflicts with {branch} in {paths}")));
        }
    };
    let from = git.tree_of(&at).await?;
    if tree == from {
        return Ok(Landed::Before);
    }
    require_room(open, &from, &tree).await?;
    let message = message(open, &branch, squashes);
    let parents = if squashes { vec![&at] } else { vec![&at, &tip] };
    let commit = open.repo().commit_tree(&tree, &parents, &message).await?;
    tell_open_stories(open);
    // Without a ref, a kill would leave a half-made work tree at an unkept commit.
    let keep = Update::set(landing.clone(), commit.clone());
    open.update_refs(&[keep], "ralph: land").await?;
    let judged = Box::pin(judge(open, &commit, gates)).await;
    let forget = Update::delete(landing, commit.clone());
    open.update_refs(&[forget], "ralph: land").await?;
    if let Some(why) = judged? {
        return Ok(Landed::LeftOut(why));
    }
    // The user may work in this work tree while the gates run for minutes.
    let _alone = open.store.lock_work_tree(&open.repo().git_dir)?;
    if open.repo().head().await? != head {
        let why = format!("{branch} moved while it was judged; type the same command again");
        return Ok(Landed::LeftOut(why));
    }
    require_room(open, &from, &tree).await?;
    let name = head.branch.as_deref().unwrap_or("HEAD");
    move_to(open, name, (&at, &commit), [&from, &tree]).await?;
    tell_submodules(open, &from, &tree).await?;
    Ok(Landed::As(commit))
}

/// Returns the last commit of the branch that `finish --keep` has left.
async fn kept_tip(open: &Loop<'_>) -> Result<Oid, Error> {
    let (change, state) = (open.change(), &open.state);
    if state.is_live() {
        return refuse(LandRefusal::NotFinished(change.to_string()));
    }
    if state.here.closed != Some(Ending::Keep) || !state.has_branch() {
        return refuse(LandRefusal::NotKept(change.to_string()));
    }
    let tip = open.git().oid_at(&change.branch_ref()).await?;
    Ok(tip.ok_or_else(|| LandRefusal::BranchGone(change.branch()))?)
}

/// Checks that a branch which can take a change is checked out; returns HEAD.
async fn require_place(open: &Loop<'_>) -> Result<Head, Error> {
    let (repo, change) = (open.repo(), open.change());
    match refuse_operation(repo).await {
        Err(Error::Repository(refusal)) => return refuse(LandRefusal::Operation(refusal)),
        other => other?,
    }
    locks::require_free(repo).await?;
    let head = repo.head().await?;
    if head.branch.is_none() || head.oid.is_none() {
        return refuse(LandRefusal::NoBranch);
    }
    if head.branch == Some(change.branch_ref()) {
        let original = open.state.original_place();
        return refuse(LandRefusal::OnItsBranch {
            change: change.to_string(),
            branch: change.branch(),
            original: name_of(&original),
        });
    }
    if let Some(other) = live_in(&repo.common_dir, &repo.top)? {
        return refuse(LandRefusal::LoopActive {
            other: other.change.to_string(),
        });
    }
    let has_it_too = |tree: &WorkTreeInfo| {
        tree.branch == head.branch && !tree.is_bare && !is_same_dir(&tree.top, &repo.top)
    };
    let second = repo.work_trees().await?.into_iter().find(has_it_too);
    match second.filter(|tree| may_exist(&tree.top)) {
        Some(second) => refuse(LandRefusal::CheckedOutTwice {
            branch: name_of(&head),
            path: second.top,
        }),
        None => Ok(head),
    }
}

/// Returns the unusual permissions of files that change between two trees: first from the loop's own work tree, if it
/// exists, then from this work tree, which take precedence.
async fn kept_modes(open: &Loop<'_>, from: &Oid, to: &Oid) -> Result<KeptModes, Error> {
    let changes = open.git().diff_trees(from, to).await?;
    let paths = || changes.iter().map(|(_, path)| path.as_slice());
    let mut kept = KeptModes::default();
    if let Some(own) = open.state.own_work_tree()
        && let Ok((repo, _)) = discover(&own).await
        && repo.top == own
    {
        kept = KeptModes::read(&repo, paths())?;
    }
    kept.extend(KeptModes::read(open.repo(), paths())?);
    Ok(kept)
}

fn name_of(head: &Head) -> String {
    let branch = head.branch.as_deref().map(short_branch);
    branch.unwrap_or("<branch>").to_owned()
}

/// Refuses to overwrite the user's content in files that change between two trees. Files written by an earlier `land`
/// before it was killed do not count.
async fn require_room(open: &Loop<'_>, from: &Oid, to: &Oid) -> Result<(), Error> {
    let repo = open.repo();
    open.store.slot().make()?;
    let index = target_index(open);
    let changes = repo.git.diff_trees(from, to).await?;
    let mut paths = in_touched(repo, &index, from, &changes).await?;
    if paths.is_empty() {
        return Ok(());
    }
    // A file that already has the new content loses nothing, unless other content is staged.
    let mut others = not_as_in(repo, &index, to).await?;
    let [staged, other] = [staged_since(repo, from).await?, staged_since(repo, to).await?];
    others.extend(staged.into_iter().filter(|path| other.contains(path)));
    // A file in the place of a new directory is not among the changed files.
    let is_changed = |path: &Vec<u8>| changes.iter().any(|(_, changed)| changed == path);
    paths.retain(|path| others.contains(path) || !is_changed(path));
    if paths.is_empty() {
        return Ok(());
    }
    refuse(LandRefusal::ChangesInTheWay {
        change: open.change().to_string(),
        path: repo.top.clone(),
        paths: paths.iter().map(|path| shown(path)).collect(),
    })
}

/// Returns the paths among these changes at which the work tree differs from the tree `from`.
async fn in_touched(
    repo: &Repo,
    index: &Path,
    from: &Oid,
    changes: &[(u8, Vec<u8>)],
) -> Result<Vec<Vec<u8>>, Error> {
    let (mut paths, _) = changed_files(repo, index, from).await?;
    paths.retain(|path| changes.iter().any(|(_, changed)| changed == path));
    paths.extend(repo.in_the_way(changes)?);
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Returns the paths at which the work tree differs from a tree.
async fn not_as_in(repo: &Repo, index: &Path, tree: &Oid) -> Result<Vec<Vec<u8>>, Error> {
    let all = ["core.sparseCheckout=false"];
    let read = repo.git.cmd_with(&all, "read-tree", [tree.as_str()]);
    read.index(index).done().await?;
    repo.refresh(index).await?;
    let args = ["--name-only", "-z", "--ignore-submodules=all"];
    let differ = repo.git.cmd("diff-files", args).index(index).fields().await?;
    repo.discard_index(index)?;
    Ok(differ)
}

/// Returns the paths at which the user's index differs from a tree.
async fn staged_since(repo: &Repo, tree: &Oid) -> Result<Vec<Vec<u8>>, Error> {
    let args = [
        "--cached",
        "--name-only",
        "-z",
        "--no-renames",
        tree.as_str(),
        "--",
    ];
    let differ = repo.git.cmd("diff-index", args).index(&repo.users_index());
    Ok(differ.fields().await?)
}

/// Undoes the writes of a killed or failed `land` to files of the tree `to`.
async fn take_back(open: &Loop<'_>, from: &Oid, to: &Oid) -> Result<(), Error> {
    let (repo, index) = (open.repo(), target_index(open));
    let changes = repo.git.diff_trees(from, to).await?;
    let mut paths = in_touched(repo, &index, from, &changes).await?;
    let others = not_as_in(repo, &index, to).await?;
    paths.retain(|path| !others.contains(path));
    let is_new = |path: &Vec<u8>| changes.contains(&(b'A', path.clone()));
    let (new, known): (Vec<_>, Vec<_>) = paths.into_iter().partition(is_new);
    for path in new {
        repo.door(&repo.top).remove_file(&path_below(&repo.top, &path))?;
    }
    if !known.is_empty() {
        let written = repo.git.cmd("checkout-index", ["-f", "-u", "-z", "--stdin"]);
        let written = written.index(&repo.users_index()).stdin(known.join(&0));
        written.done().await?;
    }
    Ok(repo.refresh(&repo.users_index()).await?)
}

/// Reports how many stories are open, if any are.
fn tell_open_stories(open: &Loop<'_>) {
    if let Some(listed) = open.state.listed().filter(|listed| listed.done < listed.total) {
        let (change, done, total) = (open.change(), listed.done, listed.total);
        open.tell(format!("{change} has {done} of {total} stories"));
    }
}

/// Returns the message of the commit: with git's own words for a merge, and the stories.
fn message(open: &Loop<'_>, branch: &str, squashes: bool) -> String {
    let (change, stories) = (open.change(), &open.state.progress().completed);
    let line = |story: &Completed| format!("- {}\n", story.title);
    let list: String = stories.iter().map(line).collect();
    let subject = match (squashes, stories.as_slice(), branch) {
        (true, [only], _) => format!("{change}: {}", only.title),
        (true, all, _) => format!("{change}: {}", counted(all.len(), "story", "stories")),
        (false, _, "main" | "master") => format!("Merge branch '{}'", change.branch()),
        (false, ..) => format!("Merge branch '{}' into {branch}", change.branch()),
    };
    format!("{subject}\n\n{list}").trim_end().to_owned() + "\n"
}

/// Runs the gates on a commit, in a separate work tree that is removed afterwards; returns why they fail, if they do.
async fn judge(open: &Loop<'_>, commit: &Oid, gates: &dyn Observer) -> Result<Option<String>, Error> {
    let settings = open.settings();
    if settings.verify.is_empty() {
        open.tell("no gate is configured (ralph.verify): nothing but the merge was checked");
        return Ok(None);
    }
    let places = free_places(open, 1).await?;
    let side = open.change().side(places.first().copied().unwrap_or(1))?;
    let mut context = Context::open(&open.repo().top, gates).await?;
    context.head = Head::new(None, Some(commit.clone()));
    let options = StartOptions {
        settings,
        own_work_tree: Some(Place::Configured),
        begun_for: BegunFor::Landing(Box::new(open.state.source().clone())),
        ..StartOptions::default()
    };
    let begun = Box::pin(start(context, &side, &options, None, async |_: &Loop<'_>| {})).await;
    let refused = match begun {
        Ok(mut started) => {
            // The events of the temporary loop are not shown.
            started.open.context.observer = &Silent;
            let signal = started.open.context.stop.signal();
            Box::pin(remove(open, started.open)).await?;
            return signal.map_or(Ok(None), |signal| Err(Error::Stopped(signal)));
        }
        Err(refused) => refused,
    };
    if let Some(side) = open_side(open, &side, &Silent).await? {
        Box::pin(remove(open, side)).await?;
    }
    match refused {
        Error::Start(StartRefusal::RedGate { command, why, .. }) => Ok(Some(format!(
            "the gate `{command}` fails on the merged work ({why})"
        ))),
        // An obstacle to one change need not be one to the next.
        Error::Start(refusal) => Ok(Some(refusal.to_string())),
        refused => Err(refused),
    }
}

/// Removes the loop in which the gates ran, with the files that they made; files restored after them stay in its trash.
async fn remove(open: &Loop<'_>, side: Loop<'_>) -> Result<(), Error> {
    let store = side.store.clone();
    Box::pin(remove_side(open, side, &[], false)).await?;
    let trash = store.file("trash");
    store.door().remove(&trash.join(TRASH))?;
    if entries_of(&trash)?.is_empty() {
        store.remove_files()?;
    }
    Ok(())
}

/// Reports the submodules whose commit has changed: git does not update their checkouts.
async fn tell_submodules(open: &Loop<'_>, from: &Oid, to: &Oid) -> Result<(), Error> {
    let repo = open.repo();
    if submodules::has_submodules(repo) {
        let index = repo.read_index_or_none(&repo.users_index())?;
        let links = index.entries().filter(|entry| entry.mode == GITLINK);
        let links: Vec<&[u8]> = links.map(|entry| entry.path).collect();
        let mut changes = repo.git.diff_trees(from, to).await?;
        changes.retain(|(_, path)| links.contains(&path.as_slice()));
        let moved: Vec<Vec<u8>> = changes.into_iter().map(|(_, path)| path).collect();
        open.site().tell_few(
            "to check out what is new in submodules: git submodule update",
            &moved,
        );
    }
    Ok(())
}

/// Moves files, index and branch of the work tree from one commit to the other: files first, so that the same command
/// completes an interrupted move.
async fn move_to(
    open: &Loop<'_>,
    branch: &str,
    (from, to): (&Oid, &Oid),
    trees: [&Oid; 2],
) -> Result<(), Error> {
    let repo = open.repo();
    let read_tree = |one: &Oid, other: &Oid| {
        let args = ["-m", "-u", one.as_str(), other.as_str()];
        repo.git.cmd("read-tree", args).done()
    };
    let [was, tree] = trees;
    let site = open.site();
    let mut modes = kept_modes(open, was, tree).await?;
    site.note_modes(&mut modes, trees)?;
    let is_written = repo.held_tree(&repo.users_index()).as_ref() == Some(tree);
    if !is_written {
        take_back(open, was, tree).await?;
        let trash = site.trash().join(LANDED);
        site.keep_before_switch(&repo.users_index(), trees, &trash)
            .await?;
        if let Err(error) = read_tree(from, to).await {
            take_back(open, was, tree).await?;
            return Err(error.into());
        }
    }
    site.give_noted_modes(&modes)?;
    let update = Update::Move {
        name: branch.to_owned(),
        new: to.clone(),
        old: Some(from.clone()),
    };
    let why = format!("ralph: land {}", typed(open.change()));
    if let Err(error) = repo.git.update_refs(&[update], &why).await {
        read_tree(to, from).await?;
        modes.give(repo)?;
        return Err(error.into());
    }
    Ok(())
}
