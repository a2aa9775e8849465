//! Finds the versions of tests and gate scripts that the user approved: the versions at the start of the loop, or after
//! edits and changes that the user made or allowed since. Changes by attempts do not count; a file that an attempt
//! added counts in its first version, and as absent.

use std::collections::BTreeMap;

use crate::engine::Loop;
use crate::error::Error;
use crate::git::{PathChange, StagedEntry};
use crate::names::Oid;
use crate::state::ApprovedRange;

/// The version of a path that the user approved, and the one at the last checkpoint.
#[derive(Debug, Default, PartialEq, Eq)]
struct Version {
    approved: Option<StagedEntry>,
    /// The version that an attempt added, if the user approved none since.
    added: Option<StagedEntry>,
    last: Option<StagedEntry>,
    /// True if an attempt has moved the file here from another path.
    is_moved: bool,
}

/// Returns trees of the last checkpoint with the approved versions of these files. The gates have to pass with one tree
/// of each group:
///
/// - with the first versions of files that attempts added; and either with the moved files at their new path too, or
///   without these, which may be in the way of the files at the old path;
/// - without all of them: with files that an attempt added, the user's own tests may not run.
///
/// Two git processes if there was a checkpoint before; more only if files differ.
pub(super) async fn trees(open: &Loop<'_>, pathspecs: &[String]) -> Result<Vec<Vec<Oid>>, Error> {
    let state = &open.state;
    if pathspecs.is_empty() {
        return Ok(Vec::new());
    }
    let (repo, initial, last) = (open.repo(), state.initial(), state.checkpoint_tree());
    let history = repo
        .git
        .history_among(initial, state.checkpoint(), pathspecs)
        .await?;
    let versions = versions(initial, history, &state.common.approved);
    let changes = versions.iter().filter_map(|(path, version)| {
        let is = version.approved.as_ref().or(version.added.as_ref());
        let is_other = !version.is_moved && is != version.last.as_ref();
        is_other.then(|| PathChange {
            path: path.clone(),
            was: None,
            is: is.cloned(),
        })
    });
    let scratch = open.site().file("held.index");
    let whole = repo.tree_changed(&scratch, last, changes.collect()).await?;
    let paths = |is_one: fn(&Version) -> bool| -> Vec<Vec<u8>> {
        let those = versions.iter().filter(|(_, version)| is_one(version));
        those.map(|(path, _)| path.clone()).collect()
    };
    let (moved, added) = (
        paths(|version| version.is_moved),
        paths(|version| version.added.is_some()),
    );
    let unmoved = if moved.is_empty() {
        whole.clone()
    } else {
        repo.tree_with(&scratch, &whole, &[], &moved).await?
    };
    if added.is_empty() {
        return Ok(vec![vec![unmoved]]);
    }
    let without = repo.tree_with(&scratch, &unmoved, &[], &added).await?;
    let mut of_added = vec![whole, unmoved];
    of_added.dedup();
    Ok(vec![of_added, vec![without]])
}

/// Returns the versions of the paths that changed since the commit `start`: `history` has the changes of each commit, the
/// oldest first.
fn versions(
    start: &Oid,
    history: Vec<(Oid, Vec<PathChange>)>,
    approved: &[ApprovedRange],
) -> BTreeMap<Vec<u8>, Version> {
    let mut versions: BTreeMap<Vec<u8>, Version> = BTreeMap::new();
    let mut last = start.clone();
    let mut until = None;
    for (commit, changes) in history {
        until = until.or_else(|| {
            let range = approved.iter().rfind(|range| range.from == last)?;
            Some(range.to.clone())
        });
        for change in changes {
            note(&mut versions, change, until.is_some());
        }
        until = until.filter(|until| *until != commit);
        last = commit;
    }
    versions
}

/// Notes a change, which `counts` if the user approved it. A file that an attempt moves keeps its version at its old
/// path, and has none at the new one: no gate may run it under the new name.
fn note(versions: &mut BTreeMap<Vec<u8>, Version>, change: PathChange, counts: bool) {
    let PathChange { path, was, is } = change;
    let is_moved = was.as_ref().is_some_and(|was| was.path != path);
    let mut first = Version {
        added: is.clone().filter(|_| was.is_none()),
        is_moved,
        ..Version::default()
    };
    if let (true, Some(was)) = (is_moved, was.clone()) {
        let gone = versions.entry(was.path.clone()).or_insert_with(|| Version {
            approved: Some(was),
            ..Version::default()
        });
        if counts {
            (gone.approved, gone.added) = (None, None);
        }
        (gone.last, gone.is_moved) = (None, false);
    } else {
        first.approved = was;
    }
    let version = versions.entry(path).or_insert(first);
    if counts {
        (version.approved, version.added, version.is_moved) = (is.clone(), None, false);
    }
    version.last = is;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn entry(path: &str, version: char) -> Option<StagedEntry> {
        (version != '-').then(|| StagedEntry {
            mode: "100644".to_owned(),
            oid: oid(version),
            path: path.as_bytes().to_vec(),
        })
    }

    /// A change: the path, or the old and the new one; and the versions before and after.
    fn change(paths: &str, versions: &str) -> PathChange {
        let (old, new) = paths.split_once('>').unwrap_or((paths, paths));
        let mut versions = versions.chars();
        PathChange {
            path: new.as_bytes().to_vec(),
            was: entry(old, versions.next().unwrap()),
            is: entry(new, versions.next().unwrap()),
        }
    }

    /// A commit, and its changes.
    type Commit<'a> = (char, &'a [(&'a str, &'a str)]);

    /// Each path with the version that the user approved, and the version of the last checkpoint.
    fn approved_for(history: &[Commit<'_>], approved: &[(char, char)]) -> String {
        let history = history.iter().map(|(commit, changes)| {
            let changes = changes.iter().map(|(paths, versions)| change(paths, versions));
            (oid(*commit), changes.collect())
        });
        let approved: Vec<ApprovedRange> = approved
            .iter()
            .map(|(from, to)| ApprovedRange {
                from: oid(*from),
                to: oid(*to),
            })
            .collect();
        let name = |entry: &Option<StagedEntry>| {
            let entry = entry.as_ref();
            entry.map_or("-".to_owned(), |entry| entry.oid.as_str()[..1].to_owned())
        };
        let approved_for = versions(&oid('0'), history.collect(), &approved);
        let approved_for = approved_for.iter().map(|(path, version)| {
            let path = String::from_utf8_lossy(path);
            let added = version
                .added
                .as_ref()
                .map(|_| format!("+{}", name(&version.added)));
            let added = added.unwrap_or_default();
            let moved = if version.is_moved { " moved" } else { "" };
            format!(
                "{path}:{}{added}{}{moved}",
                name(&version.approved),
                name(&version.last)
            )
        });
        approved_for.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn first_version_of_a_test_holds_until_the_user_accepts_another() {
        let weakened: &[Commit<'_>] = &[('1', &[("t", "ab")]), ('2', &[("t", "bc")])];
        assert_eq!(approved_for(weakened, &[]), "t:ac");
        assert_eq!(approved_for(weakened, &[('0', '1')]), "t:bc");
        assert_eq!(approved_for(weakened, &[('1', '2')]), "t:cc");
        assert_eq!(approved_for(weakened, &[('0', '2')]), "t:cc");
        assert_eq!(
            approved_for(&[('1', &[("t", "ab")]), ('2', &[("t", "ba")])], &[]),
            "t:aa"
        );
        // A commit approves only its own changes.
        let two: &[Commit<'_>] = &[('1', &[("t", "ab")]), ('2', &[("u", "ab")])];
        assert_eq!(approved_for(two, &[('1', '2')]), "t:ab u:bb");
    }

    #[test]
    fn new_path_holds_its_first_version_and_a_moved_file_that_of_its_old_path() {
        let changed: &[Commit<'_>] = &[('1', &[("t", "-a")]), ('2', &[("t", "ab")])];
        assert_eq!(approved_for(changed, &[]), "t:-+ab");
        assert_eq!(approved_for(changed, &[('0', '1')]), "t:ab");
        assert_eq!(approved_for(changed, &[('1', '2')]), "t:bb");
        assert_eq!(
            approved_for(&[('1', &[("t", "-a")]), ('2', &[("t", "a-")])], &[]),
            "t:-+a-"
        );
        assert_eq!(approved_for(&[('1', &[("t", "a-")])], &[('0', '1')]), "t:--");
        let moved: &[Commit<'_>] = &[('1', &[("t", "ab")]), ('2', &[("t>u", "bc")])];
        assert_eq!(approved_for(moved, &[]), "t:a- u:-c moved");
        assert_eq!(approved_for(moved, &[('1', '2')]), "t:-- u:cc");
        // Moved on, and back.
        let on: &[Commit<'_>] = &[('1', &[("t>u", "aa")]), ('2', &[("u>v", "ab")])];
        assert_eq!(approved_for(on, &[]), "t:a- u:-- v:-b moved");
        let back: &[Commit<'_>] = &[('1', &[("t>u", "aa")]), ('2', &[("u>t", "ab")])];
        assert_eq!(approved_for(back, &[]), "t:ab u:--");
    }
}
