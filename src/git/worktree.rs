//! Reads the work tree as a git tree: `git add -A` on a private index, so that filters, line endings and ignore rules
//! are exactly the user's.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::command::{failure, joined_z, split_z};
use super::discover::Repo;
use super::error::{GitError, SEE_FILTERS, is_of_filter};
use super::new_entries::{New, compared, has_no_links};
use super::objects::added_in;
use super::patches::DiffSize;
use super::too_deep::{are_all_too_long, too_deep};
use crate::error::advice::hint;
use crate::error::refusals::refusals;
use crate::fs::{Below, is_file_or_link, kind_of, may_be_there, path_below, those_where};
use crate::names::Oid;
use crate::paths::first_few;

/// The owner of the work tree that is read: before the loop, content that git cannot store is an error for the user;
/// after an attempt it must not stop the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    /// The user, before the loop. Nested repositories are omitted; content that can be neither read nor stored is an
    /// error.
    Users,
    /// The loop. The files of nested repositories are read, without their history, except for repositories from before
    /// the loop; unreadable files are made readable; content that cannot be stored is omitted and reported.
    Loops {
        /// The user's nested repositories.
        nested: &'a [Vec<u8>],
    },
}

/// Selects what is counted while a tree is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The files and lines in which it differs from the base.
    Lines,
    /// Nothing.
    Nothing,
}

/// A work tree read into a tree object.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Everything that is tracked or untracked, but not ignored.
    pub tree: Oid,
    /// The tree (or commit) with which it was compared.
    pub base: Oid,
    /// Nested repositories found on the way, relative to the top.
    pub nested: Vec<Vec<u8>>,
    /// The differences from `base`, as `Git::diff_trees` lists them; `None` if git must be asked.
    pub changes: Option<Vec<(u8, Vec<u8>)>>,
    /// Paths that git cannot store (pipes, sockets, names it refuses), relative to the top.
    pub unstorable: Vec<Vec<u8>>,
    /// Files that git cannot convert according to their attributes, such as to another encoding; the tree has their
    /// unconverted bytes.
    pub unconverted: Vec<Vec<u8>>,
    /// The size of the differences between `base` and this tree.
    counted: Option<(Oid, DiffSize)>,
}

impl Reading {
    /// Returns the paths that `base` lacks.
    pub fn added(&self) -> impl Iterator<Item = &Vec<u8>> {
        added_in(self.changes.as_deref().unwrap_or_default())
    }

    /// Returns the size of the differences from the base, if they were counted.
    pub fn size(&self) -> Option<DiffSize> {
        let (tree, size) = self.counted.as_ref()?;
        (*tree == self.tree).then_some(*size)
    }

    /// Refuses to make this a checkpoint if git could not restore a file of it unchanged.
    ///
    /// # Errors
    /// [`WorkTreeError::Unconverted`] with the names.
    pub fn require_converted(&self) -> Result<(), WorkTreeError> {
        if self.unconverted.is_empty() {
            return Ok(());
        }
        Err(WorkTreeError::Unconverted(
            first_few(&self.unconverted).join(", "),
        ))
    }
}

refusals! {
/// The reason why a work tree could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    /// Git's own failure.
    Git(#[from] GitError) = transparent;
    /// Files or directories without read permission.
    #[error("cannot read part of the work tree:\n{0}")]
    Unreadable(String)
        => "make it readable (chmod, or sudo chown if it belongs to another user), or add it to .gitignore";
    /// A path that git cannot store.
    #[error("git cannot store part of the work tree:\n{0}")]
    Unstorable(String)
        => |(words)| hint(if is_of_filter(words) { SEE_FILTERS } else { "move it away, or add it to .gitignore" });
    /// Files whose attributes do not fit their content.
    #[error("git cannot convert these files as their attributes say: {0}")]
    Unconverted(String)
        => "correct .gitattributes; to see what it says of a file: git check-attr -a <file>";
}
}

impl Repo {
    /// Reads the whole work tree into `index` and into a tree. Compares it with the tree (or commit) `base` to find
    /// nested repositories; `known` is an index that may have exactly that tree. Usually this is one scan of the work
    /// tree, by two git processes.
    ///
    /// # Errors
    /// If a path of the user's can be neither read nor stored, or git fails; the index is then unusable, and nothing
    /// else has changed.
    pub async fn read_work_tree(
        &self,
        index: &Path,
        base: &Oid,
        known: Option<&Path>,
        whose: Whose<'_>,
        count: Count,
    ) -> Result<Reading, WorkTreeError> {
        let mut outside = Vec::new();
        let (mut unstorable, mut unconverted) = (Vec::new(), Vec::new());
        if let Some(words) = self.add_readable(index, &outside, whose).await? {
            outside = self.untracked_repositories(index).await?;
            let words = if outside.is_empty() {
                Some(words)
            } else {
                self.add_readable(index, &outside, whose).await?
            };
            if let Some(words) = words {
                if whose == Whose::Users {
                    return Err(WorkTreeError::Unstorable(words));
                }
                // Git may also have failed at an unchanged file: only its time is too new.
                unconverted = self.add_one_by_one(index, &outside).await?;
                unstorable = self.leave_unstorable(index, &outside, &unconverted).await?;
                unstorable.extend(too_deep(&self.top));
            }
        }
        // Counting costs no time: git takes as long to write the tree.
        let counting = Box::pin(async {
            match count {
                Count::Lines => self.git.staged_size(base, index).await.ok(),
                Count::Nothing => None,
            }
        });
        let (tree, counted) = tokio::join!(self.git.write_tree(index), counting);
        let tree = tree?;
        let counted = counted.map(|size| (tree.clone(), size));
        let New { changes, links } = self.new_entries(index, base, &tree, known).await?;
        let mut reading = Reading {
            tree,
            base: base.clone(),
            nested: Vec::new(),
            changes,
            unstorable,
            unconverted,
            counted,
        };
        if links.is_empty() && outside.is_empty() {
            return Ok(reading);
        }
        if let Some(changes) = &mut reading.changes {
            changes.retain(|(_, path)| !links.contains(path));
        }
        self.update_index(index, &["--force-remove"], &links).await?;
        outside.extend(links);
        if let Whose::Loops { nested } = whose {
            for path in outside.iter().filter(|path| !nested.contains(path)) {
                let files = self.files_of_nested(index, path).await?;
                self.update_index(index, &["--add"], &files).await?;
                if let Some(changes) = &mut reading.changes {
                    changes.extend(files.into_iter().map(|file| (b'A', file)));
                }
            }
        }
        reading.tree = self.git.write_tree(index).await?;
        (reading.nested, reading.counted) = (outside, None);
        Ok(reading)
    }

    /// Runs `git add -A` without the given nested repositories. Returns git's message if git omitted a path that it
    /// cannot store.
    async fn add_readable(
        &self,
        index: &Path,
        without: &[Vec<u8>],
        whose: Whose<'_>,
    ) -> Result<Option<String>, WorkTreeError> {
        match self.add_all(index, without).await {
            Err(WorkTreeError::Unreadable(mut words)) if whose != Whose::Users => {
                if Below::new(&self.top).make_accessible(&self.top) > 0 {
                    match self.add_all(index, without).await {
                        Err(WorkTreeError::Unreadable(others)) => words = others,
                        other => return other,
                    }
                }
                // Permissions do not help with such a path; git has added all others.
                if are_all_too_long(&words) {
                    Ok(Some(words))
                } else {
                    Err(WorkTreeError::Unreadable(words))
                }
            }
            other => other,
        }
    }

    async fn add_all(&self, index: &Path, without: &[Vec<u8>]) -> Result<Option<String>, WorkTreeError> {
        let mut args: Vec<OsString> = ["-A", "--sparse", "--ignore-errors"].map(OsString::from).into();
        if !without.is_empty() {
            args.extend(["--", ":/"].map(OsString::from));
            args.extend(without.iter().map(|path| {
                let mut spec = b":(top,exclude,literal)".to_vec();
                spec.extend(path);
                OsString::from_vec(spec)
            }));
        }
        let output = self.git.cmd("add", args).index(index).any_exit().await?;
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        // Git omits an unreadable untracked directory, with exit code 0 and this warning.
        if words.contains("could not open directory") || words.contains("Permission denied") {
            return Err(WorkTreeError::Unreadable(words));
        }
        match output.code {
            Some(0) => Ok(None),
            Some(_) => Ok(Some(words)),
            None => Err(failure("add", &output).into()),
        }
    }

    /// Adds all files that can be added: `git add` stores nothing if it fails on one file, such as one that is not in
    /// the encoding of its attributes. Halves the remaining paths until only such files are left, and adds those
    /// without conversion; returns them.
    async fn add_one_by_one(&self, index: &Path, known: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, GitError> {
        let args = ["--name-only", "-z", "--ignore-submodules=dirty"];
        let touched = self.git.cmd("diff-files", args).index(index);
        let mut left = touched.fields().await?;
        left.extend(self.others(index).await?);
        left.retain(|path| !path.ends_with(b"/") && !known.contains(path));
        left.sort();
        left.dedup();
        let mut unconverted = Vec::new();
        let mut open = vec![left.as_slice()];
        while let Some(paths) = open.pop() {
            let added = self.update_index(index, &["--add", "--remove"], paths).await;
            match (added, paths) {
                (Ok(()), _) => {}
                (Err(_), [path]) => {
                    if self.add_unconverted(index, path).await? {
                        unconverted.push(path.clone());
                    }
                }
                (Err(_), _) => {
                    let (first, second) = paths.split_at(paths.len() / 2);
                    open.extend([second, first]);
                }
            }
        }
        Ok(unconverted)
    }

    /// Adds the unconverted bytes of a file; returns whether git could store them.
    async fn add_unconverted(&self, index: &Path, path: &[u8]) -> Result<bool, GitError> {
        // Git could not write such a file either.
        if path.len() >= LONGEST {
            return Ok(false);
        }
        let name = OsStr::from_bytes(path);
        let Some(found) = kind_of(&self.top.join(name))?.filter(Metadata::is_file) else {
            return Ok(false);
        };
        let args = ["-w", "--no-filters", "--"].map(OsStr::new);
        let args = args.into_iter().chain([name]);
        let blob = self.git.cmd("hash-object", args).oid().await?;
        let is_executable = !self.ignores_modes && found.permissions().mode() & 0o100 != 0;
        let mode = if is_executable { "100755" } else { "100644" };
        let entry = [format!("{mode} {blob} 0\t").as_bytes(), path, b"\0"].concat();
        let added = self.git.cmd("update-index", ["-z", "--index-info"]).index(index);
        Ok(added.stdin(entry).done().await.is_ok())
    }

    /// Handles the paths that still differ after all storable ones were added; removes tracked ones from the index, so
    /// that the tree records their content as deleted. Returns them.
    async fn leave_unstorable(
        &self,
        index: &Path,
        known: &[Vec<u8>],
        unconverted: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, GitError> {
        let mut left = self.differences(index).await?;
        left.changed.retain(|path| !unconverted.contains(path));
        self.update_index(index, &["--force-remove"], &left.changed)
            .await?;
        let mut all = left.changed;
        // One by one: a directory name that git refuses is listed beside others that it stores.
        let untracked = self.others(index).await?.into_iter();
        all.extend(untracked.filter(|path| !path.ends_with(b"/")));
        all.retain(|path| !known.contains(path));
        all.sort();
        all.dedup();
        Ok(all)
    }

    /// Lists the nested repositories that are not tracked: git lists them as directories.
    async fn untracked_repositories(&self, index: &Path) -> Result<Vec<Vec<u8>>, GitError> {
        let listed = self.others(index).await?.into_iter();
        let nested = listed.filter_map(|path| path.strip_suffix(b"/").map(<[u8]>::to_vec));
        Ok(nested.collect())
    }

    /// Lists the paths that are neither tracked nor ignored; nested repositories as directories.
    async fn others(&self, index: &Path) -> Result<Vec<Vec<u8>>, GitError> {
        let args = ["-o", "-z", "--exclude-standard"];
        self.git.cmd("ls-files", args).index(index).fields().await
    }

    /// Finds the differences between `tree` (the tree of `index`) and `base`, and new gitlinks that are not registered
    /// submodules.
    async fn new_entries(
        &self,
        index: &Path,
        base: &Oid,
        tree: &Oid,
        known: Option<&Path>,
    ) -> Result<New, GitError> {
        if base == tree {
            return Ok(New {
                changes: Some(Vec::new()),
                links: Vec::new(),
            });
        }
        let compared = match known {
            Some(known) => compared(self, known, base, index, tree),
            None => has_no_links(self, index).then(New::default),
        };
        let mut new = match compared {
            Some(new) => new,
            None => self.compared_trees(base, tree).await?,
        };
        if !new.links.is_empty() {
            let registered = self.registered_submodules().await?;
            new.links.retain(|link| !registered.contains(link));
        }
        Ok(new)
    }

    async fn compared_trees(&self, base: &Oid, tree: &Oid) -> Result<New, GitError> {
        let args = ["-r", "-z", "--raw", "--no-renames", base.as_str(), tree.as_str()];
        let fields = self.git.cmd("diff-tree", args).fields().await?;
        let mut links = Vec::new();
        let mut changes = Vec::new();
        for pair in fields.chunks_exact(2) {
            let [meta, path] = pair else { continue };
            // ":<old mode> <new mode> <old oid> <new oid> <status>"
            if !meta.starts_with(b":160000 ") && meta.get(8..14) == Some(b"160000") {
                links.push(path.clone());
            }
            if let Some(status) = meta.last() {
                changes.push((*status, path.clone()));
            }
        }
        Ok(New {
            changes: Some(changes),
            links,
        })
    }

    async fn registered_submodules(&self) -> Result<Vec<Vec<u8>>, GitError> {
        let file = self.top.join(".gitmodules");
        let paths = self.git.config_of(&file, &["-z", "--get-regexp", r"\.path$"]);
        // A missing file means no submodules: any exit code is an answer.
        let output = paths.any_exit().await?;
        Ok(split_z(&output.stdout)
            .into_iter()
            .filter_map(|entry| {
                let at = entry.iter().position(|b| *b == b'\n')?;
                entry.get(at + 1..).map(<[u8]>::to_vec)
            })
            .collect())
    }

    /// Returns why git refuses every command that reads submodules because of `.gitmodules`: it is unreadable, or names
    /// an update command (gitmodules(5)).
    pub async fn refused_submodules(&self) -> Result<Option<String>, GitError> {
        let file = self.top.join(".gitmodules");
        if !may_be_there(&file) {
            return Ok(None);
        }
        let args = ["--get-regexp", r"^submodule\..*\.update$", "^!"];
        let output = self.git.config_of(&file, &args).any_exit().await?;
        let words = match output.code {
            Some(1) => return Ok(None),
            Some(0) => output.stdout,
            _ => output.stderr,
        };
        let words = String::from_utf8_lossy(&words).trim().to_owned();
        Ok(Some(format!("git refuses .gitmodules as it is now ({words})")))
    }

    async fn files_of_nested(&self, index: &Path, path: &[u8]) -> Result<Vec<Vec<u8>>, GitError> {
        let dir = path_below(&self.top, path);
        if !may_be_there(&dir.join(".git")) {
            // It was no repository before, either: it is still listed beside the index.
            return self.others(index).await.map(|mut others| {
                let below = [path.strip_suffix(b"/").unwrap_or(path), b"/"].concat();
                others.retain(|other| other.starts_with(&below));
                others
            });
        }
        let nested = super::Git::at_top(&dir).offline();
        let args = ["-z", "-c", "-o", "--exclude-standard"];
        let files = nested.cmd("ls-files", args).fields().await?;
        let files = files.into_iter().map(|file| [path, b"/", &file].concat());
        Ok(those_where(files, |file| {
            is_file_or_link(&path_below(&self.top, file))
        })?)
    }

    /// Applies `git update-index` with these modes to the given paths.
    pub async fn update_index(
        &self,
        index: &Path,
        modes: &[&str],
        paths: &[Vec<u8>],
    ) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut args = vec!["-z"];
        args.extend(modes);
        args.push("--stdin");
        self.git
            .cmd("update-index", args)
            .index(index)
            .stdin(joined_z(paths))
            .done()
            .await
    }

    /// Removes paths from an index, and from the reading of it.
    pub async fn leave_out(
        &self,
        index: &Path,
        reading: &mut Reading,
        paths: &[Vec<u8>],
    ) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        self.update_index(index, &["--force-remove"], paths).await?;
        reading.tree = self.git.write_tree(index).await?;
        let out: HashSet<&Vec<u8>> = paths.iter().collect();
        if let Some(changes) = &mut reading.changes {
            changes.retain(|(_, path)| !out.contains(path));
        }
        Ok(())
    }

    /// Refreshes the times and sizes of all files in `index`, so that unchanged files no longer seem to differ
    /// (git-update-index(1), `--refresh`).
    pub async fn refresh(&self, index: &Path) -> Result<(), GitError> {
        let refreshed = self.git.cmd("update-index", ["--refresh"]).index(index);
        refreshed.answer().await.map(drop)
    }

    /// Reads only the tracked files into `index` and into a tree; ignores untracked files.
    pub async fn read_tracked(&self, index: &Path) -> Result<Oid, WorkTreeError> {
        let args = ["-u", "--sparse", "--ignore-errors"];
        let output = self.git.cmd("add", args).index(index).any_exit().await?;
        if output.code != Some(0) {
            // A path that cannot be stored has replaced a file: the file counts as deleted.
            let left = self.differences(index).await?.changed;
            self.update_index(index, &["--force-remove"], &left).await?;
        }
        Ok(self.git.write_tree(index).await?)
    }
}

/// Maximum length of a path on this system, including its terminating byte.
const LONGEST: usize = nix::libc::PATH_MAX as usize;
