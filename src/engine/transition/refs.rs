//! Moves refs and HEAD in one transaction, and keeps commits under free names.

use crate::engine::Loop;
use crate::engine::numbers::take_numbers;
use crate::error::Error;
use crate::git::Head;
use crate::protect::UserRefs;
use crate::refs::{KeptRef, Update, free_names};

/// The moves of refs in a step.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// Commits that are kept, each under its name or a free one that follows it.
    pub kept: Vec<KeptRef>,
    /// The refs that move.
    pub updates: Vec<Update>,
    /// The refs of the user's that are put back, unless they have moved again.
    pub put_back: Vec<Update>,
    /// The refs that a kept commit could collide with, if they are known.
    pub known: Option<UserRefs>,
    /// The place of HEAD, if it moves with them.
    pub head: Option<Head>,
}

impl Refs {
    /// Makes the moves; returns the names under which commits are kept.
    pub async fn make(self, open: &Loop<'_>, from: &Head, why: &str) -> Result<Vec<KeptRef>, Error> {
        let mut moves = self.updates;
        if !self.put_back.is_empty() {
            moves.extend(open.read_user_refs().await?.still_possible(self.put_back));
        }
        let to = self.head.as_ref().unwrap_or(from);
        if self.kept.is_empty() {
            if !moves.is_empty() || to != from {
                open.move_refs(&moves, from, to, why).await?;
            }
            return Ok(Vec::new());
        }
        let mut refs = match self.known {
            Some(known) => known,
            None => open.read_user_refs().await?,
        };
        loop {
            let (mut updates, kept) = free_names(&self.kept, |name| refs.at(name));
            updates.extend_from_slice(&moves);
            match open.move_refs(&updates, from, to, why).await {
                Ok(()) => {
                    tell_other_names(open, &self.kept, &kept);
                    let names = kept.iter().map(|kept| kept.name.as_str());
                    take_numbers(&open.store, &open.state.change, names)?;
                    return Ok(kept);
                }
                Err(error) => {
                    refs = open.read_user_refs().await?;
                    // Another process may have created a ref of such a name.
                    if free_names(&self.kept, |name| refs.at(name)).1 == kept {
                        return Err(error);
                    }
                }
            }
        }
    }
}

fn tell_other_names(open: &Loop<'_>, wanted: &[KeptRef], kept: &[KeptRef]) {
    for (wanted, kept) in wanted.iter().zip(kept) {
        if wanted.name != kept.name {
            open.tell(format!(
                "{} is another commit already, and stays; this one is kept as {}",
                wanted.name, kept.name
            ));
        }
    }
}
