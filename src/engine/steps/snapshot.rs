//! Takes a snapshot of the user's state at the beginning of a loop, as commits that refs keep. With the work tree as
//! its tree, and HEAD and the staged content as its parents, it has the shape of a stash entry. The refs of an earlier
//! loop of this name stay.

use crate::engine::Context;
use crate::error::Error;
use crate::git::{GitError, Head, RefInfo, Repo};
use crate::names::{Change, Oid};
use crate::paths::{WorkTreePath, path_of, percent_decode};
use crate::refs::KeptRef;
use crate::state::Linked;

/// Makes the two parents of the snapshot: HEAD (or a replacement commit), and the staged content.
pub(super) async fn staged_commit(context: &Context<'_>, staged: &Oid) -> Result<(Oid, Oid), Error> {
    let head = commit_below(&context.repo, context.head.oid.as_ref()).await?;
    let repo = &context.repo;
    let index = repo.commit_tree(staged, &[&head], "what was staged").await?;
    Ok((head, index))
}

/// Returns HEAD, or a new commit to replace it if it has none yet.
pub(super) async fn commit_below(repo: &Repo, head: Option<&Oid>) -> Result<Oid, GitError> {
    match head {
        Some(head) => Ok(head.clone()),
        None => {
            repo.commit_tree(&repo.empty_tree().await?, &[], "no commit yet")
                .await
        }
    }
}

/// Makes the commit that keeps all commits named by refs when the loop began; its tree has the index file.
pub(super) async fn anchor(context: &Context<'_>, has_index: bool, tips: &[Oid]) -> Result<Oid, Error> {
    let repo = &context.repo;
    let tree = if has_index {
        repo.store_file(&context.repo.index(), "index").await?
    } else {
        repo.empty_tree().await?
    };
    Ok(repo.anchor(&tree, tips).await?)
}

/// Returns the message of the snapshot, in which `start --resume` finds the former HEAD.
pub(super) fn snapshot_message(head: &Head, change: &Change, linked: Option<&Linked>) -> String {
    let Head { branch, oid } = head;
    let linked = linked.map_or_else(String::new, |linked| {
        let branch = linked.branch.as_deref().unwrap_or("(detached)");
        format!("begun-on: {branch}\nbegun-in: {}\n", linked.from)
    });
    format!(
        "before the loop {change}\n\noriginal-branch: {}\noriginal-head: {}\n{linked}",
        branch.as_deref().unwrap_or("(detached)"),
        oid.as_ref().map_or("(none)", Oid::as_str),
    )
}

/// Returns the origin of the loop's own work tree from the message of a snapshot, if the loop had one.
pub(super) fn linked_in(message: &str) -> Option<Linked> {
    let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
    let branch = field("begun-on: ")?;
    let from = percent_decode(field("begun-in: ")?);
    Some(Linked {
        branch: (branch != "(detached)").then(|| branch.to_owned()),
        from: WorkTreePath::new(path_of(&from)),
        leaving: false,
        emptied_before: 0,
    })
}

/// Returns the names of refs.
pub(super) fn names(refs: &[RefInfo]) -> impl Iterator<Item = &str> {
    refs.iter().map(|found| found.name.as_str())
}

/// Lists the values of an earlier loop that this one would overwrite: `old`, and the refs of these `roles`. They are
/// kept as `refs/ralph/<change>/replaced/<n>`, unless the checkpoint contains them.
pub(super) async fn kept_from_before(
    context: &Context<'_>,
    change: &Change,
    mut old: Vec<Oid>,
    earlier: &[RefInfo],
    roles: &[&str],
    checkpoint: &Oid,
) -> Result<Vec<KeptRef>, Error> {
    let replaced = change.ralph_ref("replaced/");
    let overwritten: Vec<String> = roles.iter().map(|role| change.ralph_ref(role)).collect();
    old.extend(
        earlier
            .iter()
            .filter(|earlier| overwritten.contains(&earlier.name))
            .map(|earlier| earlier.oid.clone()),
    );
    old.dedup();
    let number_of = |earlier: &RefInfo| earlier.name.strip_prefix(&replaced)?.parse::<u32>().ok();
    let mut last = earlier.iter().filter_map(number_of).max().unwrap_or(0);
    let mut kept = Vec::new();
    for oid in old {
        let is_kept = earlier
            .iter()
            .any(|earlier| earlier.name.starts_with(&replaced) && earlier.oid == oid);
        if !is_kept && !context.repo.git.is_ancestor(&oid, checkpoint).await? {
            last += 1;
            kept.push(KeptRef::new(format!("{replaced}{last}"), oid));
        }
    }
    Ok(kept)
}
