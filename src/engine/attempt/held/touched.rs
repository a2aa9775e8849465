//! Finds the tests and gate scripts that an attempt changed.

use std::collections::{BTreeMap, BTreeSet};

use super::decision::{FileChange, Rules, Treatment};
use super::scripts::scripts_of;
use super::seen::Seen;
use crate::engine::Loop;
use crate::error::Error;
use crate::git::{PathChange, StagedEntry};
use crate::names::Oid;
use crate::settings::Settings;

/// A test, or the script of a gate, that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    pub path: Vec<u8>,
    /// True if `ralph.tests` names it; false if it is only the script of a gate.
    pub is_test: bool,
    pub change: FileChange,
    pub treatment: Treatment,
    /// The entry of the tree that it is compared with.
    pub was: Option<StagedEntry>,
}

/// The changed tests and scripts.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub files: Vec<Touched>,
    /// Submodules among the tests, which are not held.
    pub submodules: Vec<Vec<u8>>,
}

impl Found {
    /// Returns the files with this fate.
    pub fn with(&self, treatment: Treatment) -> impl Iterator<Item = &Touched> {
        self.files.iter().filter(move |file| file.treatment == treatment)
    }

    /// Returns the files that the second run of gates does not use as the attempt left them.
    pub fn held(&self) -> impl Iterator<Item = &Touched> {
        let is_held = |file: &&Touched| matches!(file.treatment, Treatment::Restored | Treatment::Removed);
        self.files.iter().filter(is_held)
    }

    /// Returns whether no file has this fate.
    pub fn has_none(&self, treatment: Treatment) -> bool {
        self.with(treatment).next().is_none()
    }
}

/// Finds the tests and scripts that differ from the tree `base`, in the work tree `before` the gates or in the one
/// after them. If `base` is the last checkpoint, git runs only if files changed and `ralph.tests` is set, or one of
/// them is a script.
pub(super) async fn find(
    open: &Loop<'_>,
    base: &Oid,
    settings: &Settings,
    rules: Rules,
    before: &Seen,
    after: &Seen,
) -> Result<Found, Error> {
    let git = open.git();
    let scripts = scripts(open, settings);
    let reading = &after.reading;
    let mut trees = vec![(
        &reading.tree,
        reading.changes.as_deref().filter(|_| reading.base == *base),
    )];
    if *before.tree() != reading.tree {
        trees.push((before.tree(), None));
    }
    trees.retain(|(tree, _)| *tree != base);
    let mut all: BTreeMap<Vec<u8>, (PathChange, bool, bool)> = BTreeMap::new();
    for (tree, changes) in trees {
        if !settings.tests.pathspecs.is_empty() {
            for change in git.changes_among(base, tree, &settings.tests.pathspecs).await? {
                let path = change.path.clone();
                all.entry(path).or_insert((change, true, false)).1 = true;
            }
        }
        let is_changed = |script: &&String| {
            changes.is_none_or(|changes| changes.iter().any(|(_, path)| path == script.as_bytes()))
        };
        let changed = scripts.iter().filter(is_changed);
        let literal: Vec<String> = changed.map(|script| format!(":(top,literal){script}")).collect();
        if !literal.is_empty() {
            let product = match settings.tests.product() {
                [] => Vec::new(),
                product => git.changes_among(base, tree, product).await?,
            };
            for change in git.changes_among(base, tree, &literal).await? {
                // A path below a script's path is another file.
                let is_script = scripts.iter().any(|script| script.as_bytes() == change.path);
                if is_script && !product.iter().any(|other| other.path == change.path) {
                    let path = change.path.clone();
                    all.entry(path).or_insert((change, false, true)).2 = true;
                }
            }
        }
    }
    let mut found = Found::default();
    for (path, (change, is_test, is_script)) in all {
        if change.is_of_submodule() {
            found.submodules.push(path);
            continue;
        }
        let kind = match (&change.was, &change.is) {
            (Some(_), None) => FileChange::Deleted,
            (Some(_), Some(_)) => FileChange::Changed,
            (None, _) if before.hidden.contains(&path) || after.hidden.contains(&path) => FileChange::Hidden,
            (None, _) => FileChange::New,
        };
        let treatment = rules.treatment(kind, is_test, is_script);
        if treatment != Treatment::NotATest {
            found.files.push(Touched {
                path,
                is_test,
                change: kind,
                treatment,
                was: change.was,
            });
        }
    }
    // Where no test was, no new one can weaken it, and the gates may need one to pass at all.
    let is_new = |file: &Touched| file.is_test && file.treatment == Treatment::Removed;
    let pathspecs = &settings.tests.pathspecs;
    if found.files.iter().any(is_new) && !open.repo().has_file_of(base, pathspecs).await? {
        found.files.retain(|file| !is_new(file));
    }
    Ok(found)
}

/// Returns the pathspecs of the tests and of the gates' scripts.
pub(super) fn pathspecs(open: &Loop<'_>, settings: &Settings) -> Vec<String> {
    let scripts = scripts(open, settings).into_iter();
    let scripts = scripts.map(|script| format!(":(top,literal){script}"));
    settings.tests.pathspecs.iter().cloned().chain(scripts).collect()
}

/// Returns the paths of the gates' scripts from the top directory.
pub(super) fn scripts(open: &Loop<'_>, settings: &Settings) -> BTreeSet<String> {
    let top = format!("{}/", open.repo().top.display());
    let all = settings.verify.iter().flat_map(|gate| scripts_of(gate));
    let inside = all.filter_map(|script| match script.strip_prefix(&top) {
        Some(inside) => Some(inside.to_owned()),
        None => (!script.starts_with('/')).then_some(script),
    });
    inside.filter(|script| !script.is_empty()).collect()
}
