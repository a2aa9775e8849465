//! Finds new tests that an attempt hides by its own ignore rules: no reading of the work tree includes them.

use std::collections::BTreeSet;

use crate::engine::Loop;
use crate::error::Error;
use crate::git::GitError;
use crate::git::worktree::Reading;
use crate::names::Oid;
use crate::paths::first_few;

/// A work tree together with the new tests that it hides.
#[derive(Debug)]
pub(crate) struct Seen {
    pub reading: Reading,
    /// The paths of these tests, which are in the tree of the reading.
    pub hidden: BTreeSet<Vec<u8>>,
    /// Git's words if it cannot read them.
    pub trouble: Option<String>,
}

impl Seen {
    /// Returns the tree including these tests.
    pub fn tree(&self) -> &Oid {
        &self.reading.tree
    }
}

/// Adds hidden new tests to a reading, and to the working index that was just read: the ignore rules from before the
/// attempt decide. `tests` has the pathspecs of tests; does nothing if it is empty.
pub(crate) async fn see(open: &Loop<'_>, tests: &[String], mut reading: Reading) -> Result<Seen, Error> {
    let (mut hidden, mut trouble) = (Vec::new(), None);
    if !tests.is_empty() {
        hidden = open
            .site()
            .hidden_by_new(open.state.checkpoint_tree(), tests)
            .await?;
    }
    if !hidden.is_empty() {
        let (repo, work) = (open.repo(), open.site().work_index());
        match repo.update_index(&work, &["--add"], &hidden).await {
            Ok(()) => {}
            Err(GitError::Failed { words, .. }) => {
                let names = first_few(&hidden).join(", ");
                trouble = Some(format!("{names}: {}", words.trim()));
            }
            Err(error) => return Err(error.into()),
        }
        reading.tree = repo.git.write_tree(&work).await?;
        if let Some(changes) = &mut reading.changes {
            changes.extend(hidden.iter().map(|path| (b'A', path.clone())));
        }
    }
    Ok(Seen {
        reading,
        hidden: hidden.into_iter().collect(),
        trouble,
    })
}
