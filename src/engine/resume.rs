//! `start --resume`: a loop whose state file is lost, rebuilt from its branch and refs. The original
//! branch is in the message of the start snapshot.

use jiff::Timestamp;

use super::session::path_text;
use super::start::StartOptions;
use super::unversioned::Unversioned;
use super::{Engine, Session};
use crate::adapters::Source;
use crate::error::Error;
use crate::names::{Change, Oid};
use crate::state::{Before, Completed, Phase, Progress, State, Store, VERSION};

/// Rebuilds the state of a loop from the repository. HEAD must be on the loop's branch.
///
/// # Errors
/// When branch or snapshot are not there, or HEAD is elsewhere; nothing is changed then.
pub async fn resume<'o>(
    engine: Engine<'o>,
    change: &Change,
    options: &StartOptions,
) -> Result<Session<'o>, Error> {
    let repo = &engine.repo;
    let git = &repo.git;
    let branch = change.branch_ref();
    if engine.head.branch.as_deref() != Some(&branch) {
        return Err(Error::NothingToResume(change.to_string()));
    }
    let start_ref = change.ralph_ref("start");
    let refs = git.refs(&[&start_ref]).await?;
    let (Some(snapshot), Some(tip)) = (refs.into_iter().next(), engine.head.oid.clone()) else {
        return Err(Error::NothingToResume(change.to_string()));
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
        .ok_or_else(|| Error::NothingToResume(change.to_string()))?;
    let source = Source::resolve(
        &repo.top,
        change.as_str(),
        options.settings.stories.as_deref(),
        options.settings.adapter.as_deref(),
    )?;
    let listing = source.list(&repo.top)?;
    let completed = history
        .iter()
        .filter_map(|(_, subject)| subject.strip_prefix("checkpoint: "))
        .filter_map(|id| listing.stories.iter().find(|story| story.id == id))
        .map(|story| Completed {
            id: story.id.clone(),
            title: story.title.clone(),
        })
        .collect();
    let store = Store::new(&repo.common_dir, change);
    let lock = store.lock()?;
    let work = store.file("work.index");
    let made = repo.private_index(&repo.index(), &work, Some(&tip)).await?;
    Unversioned::new(store.file("unversioned"), &repo.top)
        .record_start(repo, &work, tip.as_str().len() / 2, &made.entries)
        .await?;
    crate::git::index::discard(&work)?;
    let state = State {
        version: VERSION,
        change: change.clone(),
        branch: change.branch(),
        original_branch,
        original_head,
        checkpoint_tree: git.tree_of(&tip).await?,
        checkpoint: tip,
        worktree: path_text(&repo.top),
        started: Timestamp::now(),
        progress: Progress {
            phase: Phase::Ready,
            max_retries: options.settings.max_retries,
            skipped: Vec::new(),
            story: None,
            completed,
        },
        settings: options.settings.clone(),
        source,
        before: Before {
            snapshot: snapshot.oid,
            initial,
            anchor: None,
            index: true,
            nested: Vec::new(),
        },
        running: None,
        intent: None,
    };
    store.save(&state)?;
    let mut session = Session {
        engine,
        state,
        store,
        _lock: lock,
        settled: false,
        head_is_known: false,
        refs: None,
    };
    session.tell("the loop's state is rebuilt from its branch and refs");
    Ok(session)
}
