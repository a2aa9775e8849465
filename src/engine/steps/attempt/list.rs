//! Holds the story list: changes of an attempt beyond its own story and additions are undone before the work is judged,
//! and once more after each process that could run the attempt's code.

use crate::engine::Loop;
use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::facts::{Facts, LeftList};
use crate::engine::stories::{follow_source, list_bytes_before_attempt};
use crate::error::Error;
use crate::events::{ListPutBack, What};
use crate::names::{Oid, typed, typed_path};
use crate::protect::StoryList;
use crate::refs::{KeptRef, Update};
use crate::settings::ListEdits;
use crate::stories::{Additions, Story};

/// The list that an attempt may leave; `None` if it is not held.
#[derive(Default)]
pub(super) struct Settled(Option<Vec<u8>>);

/// The continuation of the attempt after its list is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The attempt is judged: its ref keeps its own version of the list.
    Judged,
    /// The attempt has another round, which can change the list too: a separate ref keeps this version.
    Continues,
}

/// Undoes changes to the list that an attempt may not make. Keeps the attempt's own version.
pub(super) async fn settle(open: &mut Loop<'_>, begun: &mut Begun, then: Then) -> Result<Settled, Error> {
    let (attempt, story, facts) = (begun.number, &begun.story, &mut begun.facts);
    let additions = match begun.settings.list_edits {
        ListEdits::Allow => return Ok(Settled::default()),
        ListEdits::Additions => Additions::Stay,
        ListEdits::None => Additions::ArePutBack,
    };
    follow_source(open);
    let source = open.state.source().clone();
    let before = match facts.list.take() {
        Some(before) => Some(before),
        None => list_bytes_before_attempt(open)
            .await?
            .map(|bytes| StoryList::with(bytes, &source)),
    };
    let Some(before) = before.filter(|_| !source.is_by_command()) else {
        return Ok(Settled::default());
    };
    let after = before.bytes_after(open.site(), &source)?;
    let seen = after.as_deref().map_err(String::as_str);
    let kept = source.settle(&before.bytes, seen, &story.id, additions);
    if let Some(what) = kept.put_back {
        put_back(
            open,
            &before,
            (story, attempt),
            Some(&mut facts.left_list).filter(|_| then == Then::Judged),
            after.ok().as_deref(),
            (&kept.bytes, what),
        )
        .await?;
    }
    facts.list = Some(before);
    Ok(Settled(Some(kept.bytes)))
}

impl Settled {
    /// Undoes changes to the list while processes other than the agent ran; `who` names them.
    pub async fn again(&self, open: &Loop<'_>, begun: &mut Begun, who: &str) -> Result<(), Error> {
        let (Some(wanted), Some(before)) = (&self.0, &begun.facts.list) else {
            return Ok(());
        };
        let now = before.bytes_after(open.site(), open.state.source())?;
        if now.as_ref() == Ok(wanted) {
            return Ok(());
        }
        let what = format!("changes made while {who} ran");
        put_back(
            open,
            before,
            (&begun.story, begun.number),
            Some(&mut begun.facts.left_list),
            now.ok().as_deref(),
            (wanted, what),
        )
        .await
    }
}

/// Keeps the work tree with the present list, and writes the settled list.
async fn put_back(
    open: &Loop<'_>,
    before: &StoryList,
    (story, attempt): (&Story, u32),
    left: Option<&mut Option<LeftList>>,
    now: Option<&[u8]>,
    (wanted, what): (&[u8], String),
) -> Result<(), Error> {
    let tree = open.read_work_tree().await?.tree;
    let source = open.state.source().clone();
    // An untracked list is in no tree.
    let untracked = match now {
        Some(now) if open.git().file_of(&tree, &source.path).await?.is_none() => Some(now),
        _ => None,
    };
    let mut shown = None;
    if let Some(now) = untracked {
        let place = StoryList::put_in_trash(open.site(), &open.trash_name(), now)?;
        shown = Some(typed_path(&place));
    }
    let message = "what an attempt made of the story list";
    let commit = open.commit_on_checkpoint(&tree, message).await?;
    let own = open.state.change.attempt_ref(&story.id, attempt);
    let wish = KeptRef::new(format!("{own}-list"), commit.clone());
    let found = open.keep_refs(&[wish], &format!("ralph: {message}")).await?;
    before.write(open.site(), &source, wanted)?;
    let left = left.filter(|left| left.is_none());
    let is_first = left.is_some();
    let name = found.first().map_or_else(String::new, |kept| kept.name.clone());
    let shown = shown.unwrap_or_else(|| {
        if is_first {
            let attempt = typed(format!("{}@{attempt}", story.id));
            format!("git ralph diff {} {attempt}", typed(open.change()))
        } else {
            format!("git diff {} {}", open.state.checkpoint().short(), typed(&name))
        }
    });
    if let Some(left) = left {
        *left = Some(LeftList {
            name: name.clone(),
            commit,
        });
    }
    open.emit(What::ListPutBack(ListPutBack {
        story: story.id.clone(),
        attempt,
        list: source.path,
        what,
        kept: if is_first { own } else { name },
        shown,
    }));
    Ok(())
}

/// Returns the attempt's version under the name of the attempt, and the deletion of the ref that kept it so far.
pub(super) fn take_left(open: &Loop<'_>, begun: &mut Begun) -> (Vec<KeptRef>, Option<Update>) {
    let Some(LeftList { name, commit }) = begun.facts.left_list.take() else {
        return (Vec::new(), None);
    };
    let kept = KeptRef::new(
        open.state.change.attempt_ref(&begun.story.id, begun.number),
        commit.clone(),
    );
    (vec![kept], Some(Update::Delete { name, old: commit }))
}

/// Returns the tree of a refused attempt with its own list, and the deletion of the ref that kept the list.
pub(crate) async fn with_left_list(
    open: &Loop<'_>,
    facts: &mut Facts,
    now: &Oid,
) -> Result<(Oid, Option<Update>), Error> {
    let Some(LeftList { name, commit }) = facts.left_list.take() else {
        return Ok((now.clone(), None));
    };
    let repo = open.repo();
    let list = [format!(":(top,literal){}", open.state.source().path)];
    let left = repo.git.tree_of(&commit).await?;
    let scratch = open.site().file("list.index");
    let tree = repo.tree_with_those_of(&scratch, [now, &left], &list).await?;
    let delete = Update::Delete { name, old: commit };
    Ok((tree, Some(delete)))
}
