//! Reads commits from loose objects (gitformat-loose(5)), for a question of the hooks at each commit.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::ZlibDecoder;

use crate::fs::{Links, open_regular};
use crate::names::Oid;

/// Maximum number of commits that are read before git is asked.
const MOST_COMMITS: usize = 64;
/// Maximum number of bytes of a commit that are read; its parents are at the beginning.
const MOST_BYTES: u64 = 64 << 10;

/// Returns whether the history of `new` contains one of `olds`, as far as it is in loose commits; `false` also means
/// unknown. Follows first parents.
pub(super) fn is_known_to_contain(objects: &Path, new: &Oid, olds: &[&Oid]) -> bool {
    let mut commit = new.clone();
    for _ in 0..MOST_COMMITS {
        let Some((_, parents)) = tree_and_parents(objects, &commit) else {
            return false;
        };
        if parents.iter().any(|parent| olds.contains(&parent)) {
            return true;
        }
        let Some(first) = parents.into_iter().next() else {
            return false;
        };
        commit = first;
    }
    false
}

/// Returns the tree of a loose commit; `None` if there is none.
pub(super) fn tree(objects: &Path, commit: &Oid) -> Option<Oid> {
    tree_and_parents(objects, commit)?.0
}

fn tree_and_parents(objects: &Path, commit: &Oid) -> Option<(Option<Oid>, Vec<Oid>)> {
    let (dir, name) = commit.as_str().split_at(2);
    let path = objects.join(dir).join(name);
    let file = open_regular(&path, Links::Followed).ok()?;
    let mut object = BufReader::new(ZlibDecoder::new(BufReader::new(file)).take(MOST_BYTES));
    let mut kind = Vec::new();
    object.read_until(0, &mut kind).ok()?;
    if !kind.starts_with(b"commit ") {
        return None;
    }
    let (mut tree, mut parents) = (None, Vec::new());
    let mut line = String::new();
    loop {
        line.clear();
        object.read_line(&mut line).ok()?;
        match line.trim_end().split_once(' ') {
            Some(("tree", oid)) => tree = Oid::parse(oid),
            Some(("parent", parent)) => parents.push(Oid::parse(parent)?),
            _ => return Some((tree, parents)),
        }
    }
}
