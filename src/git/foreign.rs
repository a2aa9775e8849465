//! Checks objects from other people before they are read or used.

use std::collections::BTreeMap;

use super::apart::temporary_in;
use super::command::Git;
use super::discover::Repo;
use super::error::GitError;
use crate::async_cmd::{Bounds, CommandError};
use crate::names::Oid;

/// Maximum length of a file name on every file system, in bytes.
const MOST_NAME: usize = 255;

/// Maximum length of a path below a work tree that can be opened, in bytes.
const MOST_PATH: usize = 3000;

/// The bounds of a git that reads objects from other people: a few small nested trees can have more paths than any
/// memory can store.
pub(super) const FOREIGN: Bounds = Bounds {
    output: 512 << 20,
    memory: 2 << 30,
};

/// The kind of an object, and its size in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// True if it is a commit.
    pub is_commit: bool,
    /// Its size.
    pub size: u64,
}

/// A file in the top directory of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopFile {
    /// Its name.
    pub name: String,
    /// Its blob.
    pub oid: Oid,
    /// Its size in bytes.
    pub size: u64,
}

impl Git {
    /// Returns the kinds of these objects, `None` for missing ones, in one process.
    pub async fn kinds_of(&self, oids: &[Oid]) -> Result<Vec<Option<Kind>>, GitError> {
        if oids.is_empty() {
            return Ok(Vec::new());
        }
        // In a partial clone git would fetch each missing object, one by one.
        let asked = self
            .ask_about(oids, "--batch-check=%(objecttype) %(objectsize)")
            .env("GIT_NO_LAZY_FETCH", "1");
        let text = asked.within(FOREIGN).text().await?;
        let kind = |line: &str| {
            let (kind, size) = line.split_once(' ')?;
            Some(Kind {
                is_commit: kind == "commit",
                size: size.parse().ok()?,
            })
        };
        Ok(text.lines().map(kind).collect())
    }

    /// Returns the existing ones of these commits in raw form, in one process.
    pub async fn commits(&self, oids: &[Oid]) -> Result<BTreeMap<Oid, Vec<u8>>, GitError> {
        if oids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let asked = self.ask_about(oids, "--batch").env("GIT_NO_LAZY_FETCH", "1");
        let output = asked.within(FOREIGN).bytes().await?;
        Ok(batch(&output)
            .filter(|(_, kind, _)| *kind == "commit")
            .map(|(oid, _, content)| (oid, content.to_vec()))
            .collect())
    }

    /// Lists the named files in the top directory of a commit. Ignores entries that are no ordinary files.
    pub async fn top_files(&self, commit: &Oid, names: &[&str]) -> Result<Vec<TopFile>, GitError> {
        let args = ["-z", "-l", "--full-tree", commit.as_str(), "--"];
        let args = args.iter().chain(names);
        let fields = self.cmd("ls-tree", args).within(FOREIGN).fields().await?;
        let files = fields.iter().filter_map(|field| {
            let text = String::from_utf8_lossy(field);
            let (meta, name) = text.split_once('\t')?;
            let mut words = meta.split_whitespace();
            let (mode, _, oid) = (words.next()?, words.next()?, words.next()?);
            Some(TopFile {
                name: Some(name).filter(|_| mode.starts_with("100"))?.to_owned(),
                oid: Oid::parse(oid)?,
                size: words.next()?.parse().ok()?,
            })
        });
        Ok(files.collect())
    }

    /// Reads a blob.
    pub async fn blob(&self, oid: &Oid) -> Result<Vec<u8>, GitError> {
        self.cmd("cat-file", ["blob", oid.as_str()]).bytes().await
    }
}

/// Reads the output of `git cat-file --batch`: objects with their kinds and contents. Omits missing ones; ends at
/// invalid output.
pub fn batch(mut answer: &[u8]) -> impl Iterator<Item = (Oid, &str, &[u8])> {
    std::iter::from_fn(move || {
        loop {
            let end = memchr::memchr(b'\n', answer)?;
            let (line, rest) = answer.split_at_checked(end)?;
            let line = std::str::from_utf8(line).ok()?;
            let rest = rest.get(1..)?;
            if line.ends_with(" missing") {
                answer = rest;
                continue;
            }
            let mut words = line.split(' ');
            let (oid, kind) = (Oid::parse(words.next()?)?, words.next()?);
            let (content, rest) = rest.split_at_checked(words.next()?.parse().ok()?)?;
            answer = rest.strip_prefix(b"\n")?;
            return Some((oid, kind, content));
        }
    })
}

impl Repo {
    /// Returns whether all paths of a tree are accepted by git and valid on a file system. Does not touch the work tree
    /// or its index.
    pub async fn can_be_checked_out(&self, tree: &Oid) -> Result<bool, GitError> {
        let dir = temporary_in(&self.git_dir)?;
        let index = dir.path().join("index");
        let read = self
            .git
            .cmd("read-tree", [tree.as_str()])
            .index(&index)
            .within(FOREIGN);
        match read.any_exit().await {
            Ok(output) if output.code == Some(0) => {}
            Ok(_) | Err(GitError::Run(CommandError::TooMuch { .. })) => return Ok(false),
            Err(error) => return Err(error),
        }
        let paths = self
            .git
            .cmd("ls-files", ["-z"])
            .index(&index)
            .within(FOREIGN)
            .fields()
            .await?;
        let is_short = |path: &Vec<u8>| {
            let mut names = path.split(|byte| *byte == b'/');
            path.len() <= MOST_PATH && names.all(|name| name.len() <= MOST_NAME)
        };
        Ok(paths.iter().all(is_short))
    }
}
