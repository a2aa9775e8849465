//! Compares many pairs of trees in one process: lists changed files, counts their lines, and makes patches.

use std::path::Path;

use super::command::Git;
use super::error::GitError;
use crate::names::Oid;

/// A file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// Git's letter for the difference: A, M, D, R, C or T.
    pub status: u8,
    /// The path, relative to the top directory.
    pub path: Vec<u8>,
    /// The path from which it was renamed or copied, if it was.
    pub old_path: Option<Vec<u8>>,
    /// Lines added and removed; `None` for a binary file.
    pub lines: Option<(u64, u64)>,
    /// The old and the new object; zeros for one that does not exist.
    pub blobs: [Oid; 2],
}

/// The size of the difference between two trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffSize {
    /// Number of changed files; a renamed file counts once.
    pub files: u64,
    /// Number of added lines.
    pub insertions: u64,
    /// Number of removed lines.
    pub deletions: u64,
}

/// Options of every comparison: it runs no program of the user's, and compares submodules by their commits.
const PLAIN: [&str; 6] = [
    "-r",
    "-M",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=none",
];

impl Git {
    /// Finds the trees of these revisions, `None` for missing ones, in one process.
    pub async fn trees_of(&self, revisions: &[String]) -> Result<Vec<Option<Oid>>, GitError> {
        let trees = revisions.iter().map(|revision| format!("{revision}^{{tree}}"));
        let how = "--batch-check=%(objecttype) %(objectname)";
        let text = self.ask_about(trees, how).text().await?;
        let tree = |line: &str| Oid::parse(line.strip_prefix("tree ")?);
        Ok(text.lines().map(tree).collect())
    }

    /// Returns the trees of these commits or trees, in one process.
    pub async fn existing_trees<const N: usize>(&self, named: [&Oid; N]) -> Result<[Oid; N], GitError> {
        let named = named.map(ToString::to_string);
        let trees: Vec<Oid> = self.trees_of(&named).await?.into_iter().flatten().collect();
        trees.try_into().map_err(|_| GitError::Answer {
            verb: "cat-file".to_owned(),
            answer: format!("{} has no tree", named.join(" or ")),
        })
    }

    /// Returns the sizes of blobs in bytes, 0 for missing ones, in one process.
    pub async fn sizes_of<'a>(&self, blobs: impl Iterator<Item = &'a Oid>) -> Result<Vec<u64>, GitError> {
        let text = self
            .ask_about(blobs, "--batch-check=%(objectsize)")
            .text()
            .await?;
        Ok(text.lines().map(|line| line.parse().unwrap_or(0)).collect())
    }

    /// Counts the files and lines that differ between two trees or commits; lines of binary files do not count.
    pub async fn diff_size(&self, from: &Oid, to: &Oid) -> Result<DiffSize, GitError> {
        if from == to {
            return Ok(DiffSize::default());
        }
        let args = ["-z", "--raw", "--numstat", from.as_str(), to.as_str()];
        let command = self.cmd("diff-tree", PLAIN.into_iter().chain(args));
        Ok(size_in(from, command.bytes().await?))
    }

    /// Counts the files and lines in which an index differs from a tree or a commit.
    pub async fn staged_size(&self, from: &Oid, index: &Path) -> Result<DiffSize, GitError> {
        let args = ["--cached", "-z", "--raw", "--numstat", from.as_str()];
        let command = self.cmd("diff-index", PLAIN.into_iter().chain(args)).index(index);
        Ok(size_in(from, command.bytes().await?))
    }

    /// Lists the files that differ in each pair of trees, in one process.
    pub async fn changed_files(&self, pairs: &[(Oid, Oid)]) -> Result<Vec<Vec<FileStat>>, GitError> {
        let args = PLAIN.into_iter().chain(["-z", "--raw", "--numstat", "--stdin"]);
        let command = self.cmd("diff-tree", args).stdin(lines_of(pairs));
        Ok(parse_stats(&command.bytes().await?, pairs.len()))
    }

    /// Returns a patch for each pair of trees, in one process.
    pub async fn patches(&self, pairs: &[(Oid, Oid)]) -> Result<Vec<Vec<u8>>, GitError> {
        let args = PLAIN.into_iter().chain(["-p", "--stdin"]);
        let command = self.cmd("diff-tree", args).stdin(lines_of(pairs));
        let bytes = command.bytes().await?;
        let mut patches = Vec::with_capacity(pairs.len());
        let mut begin = 0;
        let mut end = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // Every line of a patch begins with a sign or with a keyword of git.
            if pair_in(line).is_some() {
                if end > 0 {
                    patches.push(bytes[begin..end].to_vec());
                }
                begin = end + line.len();
            }
            end += line.len();
        }
        if end > 0 {
            patches.push(bytes[begin..end].to_vec());
        }
        patches.resize(pairs.len(), Vec::new());
        Ok(patches)
    }

    /// Returns the patch of some files of two trees.
    pub async fn patch_of(&self, pair: &(Oid, Oid), paths: &[&[u8]]) -> Result<Vec<u8>, GitError> {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let args = PLAIN
            .into_iter()
            .chain(["-p", pair.0.as_str(), pair.1.as_str(), "--"]);
        let paths = paths.iter().map(|path| OsStr::from_bytes(path));
        let args = args.map(OsStr::new).chain(paths);
        let command = self.cmd("diff-tree", args).env("GIT_LITERAL_PATHSPECS", "1");
        command.bytes().await
    }
}

fn lines_of(pairs: &[(Oid, Oid)]) -> String {
    pairs.iter().map(|(from, to)| format!("{from} {to}\n")).collect()
}

/// Reads the line that git prints before each pair; returns its length.
fn pair_in(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().take(140).position(|byte| *byte == b'\n')?;
    let (from, to) = str::from_utf8(&bytes[..end]).ok()?.split_once(' ')?;
    (Oid::parse(from).is_some() && Oid::parse(to).is_some()).then_some(end + 1)
}

/// Sums up git's output about the differences from one tree.
fn size_in(from: &Oid, printed: Vec<u8>) -> DiffSize {
    // As the header of the first of many pairs.
    let named = format!("{from} {from}\n").into_bytes();
    let mut size = DiffSize::default();
    for file in parse_stats(&[named, printed].concat(), 1).into_iter().flatten() {
        let (insertions, deletions) = file.lines.unwrap_or_default();
        size.files += 1;
        size.insertions += insertions;
        size.deletions += deletions;
    }
    size
}

fn parse_stats(bytes: &[u8], pairs: usize) -> Vec<Vec<FileStat>> {
    let mut all: Vec<Vec<FileStat>> = Vec::with_capacity(pairs);
    let mut counted = 0;
    let mut fields = bytes.split(|byte| *byte == 0);
    while let Some(mut field) = fields.next() {
        while let Some(length) = pair_in(field) {
            field = &field[length..];
            all.push(Vec::new());
            counted = 0;
        }
        let Some(files) = all.last_mut().filter(|_| !field.is_empty()) else {
            continue;
        };
        if let Some(meta) = field.strip_prefix(b":") {
            files.extend(parse_raw(meta, &mut fields));
            continue;
        }
        // "<added>\t<removed>\t<path>", or with an empty path before the two of a rename.
        let mut columns = field.splitn(3, |byte| *byte == b'\t');
        let mut number = || str::from_utf8(columns.next()?).ok()?.parse().ok();
        let lines = (number(), number());
        if columns.next().is_none_or(<[u8]>::is_empty) {
            fields.next();
            fields.next();
        }
        if let Some(file) = files.get_mut(counted) {
            file.lines = lines.0.zip(lines.1);
        }
        counted += 1;
    }
    all.resize(pairs, Vec::new());
    all
}

/// Reads `<old mode> <new mode> <old oid> <new oid> <status>` and the paths that follow.
fn parse_raw<'a>(meta: &[u8], paths: &mut impl Iterator<Item = &'a [u8]>) -> Option<FileStat> {
    let meta = String::from_utf8_lossy(meta);
    let words: Vec<&str> = meta.split(' ').collect();
    let [_, _, old, new, status] = words[..] else {
        return None;
    };
    let status = *status.as_bytes().first()?;
    let first = paths.next()?.to_vec();
    let second = matches!(status, b'R' | b'C').then(|| paths.next()).flatten();
    let (path, old_path) = match second {
        Some(path) => (path.to_vec(), Some(first)),
        None => (first, None),
    };
    Some(FileStat {
        status,
        path,
        old_path,
        lines: None,
        blobs: [Oid::parse(old)?, Oid::parse(new)?],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn git(dir: &Path, args: &[&str]) -> String {
        #[expect(clippy::disallowed_methods, reason = "a test prepares its repository")]
        let output = std::process::Command::new("git")
            .arg("-C")
            .arg(dir)
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[tokio::test]
    async fn many_pairs_are_compared_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        let write = |name: &str, text: &str| std::fs::write(top.join(name), text).unwrap();
        git(top, &["init", "-q"]);
        write("a", "one\ntwo\nthree\n");
        write("b", "x\n");
        write("bin", "x\0y");
        git(top, &["add", "."]);
        git(top, &["commit", "-q", "-m", "1"]);
        write("c\n\"d", "one\ntwo\nthree\n");
        std::fs::remove_file(top.join("a")).unwrap();
        std::fs::remove_file(top.join("b")).unwrap();
        std::os::unix::fs::symlink("c", top.join("b")).unwrap();
        write("bin", "x\0z");
        git(top, &["add", "-A"]);
        git(top, &["commit", "-q", "-m", "2"]);
        let repo = Git::at(top);
        let names = ["HEAD~", "HEAD", "nothing"].map(str::to_owned);
        let trees = repo.trees_of(&names).await.unwrap();
        assert_eq!(trees[2], None);
        let (one, two) = (trees[0].clone().unwrap(), trees[1].clone().unwrap());
        let pairs = [
            (one.clone(), one.clone()),
            (one.clone(), two.clone()),
            (two.clone(), two.clone()),
            (two, one),
        ];
        let stats = repo.changed_files(&pairs).await.unwrap();
        assert_eq!(stats.len(), 4);
        assert!(stats[0].is_empty() && stats[2].is_empty());
        let files: Vec<_> = stats[1]
            .iter()
            .map(|file| (char::from(file.status), file.path.clone(), file.lines))
            .collect();
        assert_eq!(
            files,
            [
                ('T', b"b".to_vec(), Some((1, 1))),
                ('M', b"bin".to_vec(), None),
                ('R', b"c\n\"d".to_vec(), Some((0, 0))),
            ]
        );
        assert_eq!(stats[1][2].old_path.as_deref(), Some(&b"a"[..]));
        assert_eq!(stats[3].len(), 3);
        let sizes = repo.sizes_of(stats[1][1].blobs.iter()).await.unwrap();
        assert_eq!(sizes, [3, 3]);
        let patches = repo.patches(&pairs).await.unwrap();
        let texts: Vec<_> = patches
            .iter()
            .map(|patch| String::from_utf8_lossy(patch))
            .collect();
        assert!(texts[0].is_empty() && texts[2].is_empty());
        assert!(texts[1].contains("\n-x\n") && texts[1].contains("rename to \"c\\n\\\"d\""));
        assert!(texts[3].contains("\n+x\n"), "{}", texts[3]);
        let size = repo.diff_size(&pairs[1].0, &pairs[1].1).await.unwrap();
        assert_eq!((size.files, size.insertions, size.deletions), (3, 1, 1));
        let of_b = repo.patch_of(&pairs[1], &[b"b"]).await.unwrap();
        let of_b = String::from_utf8_lossy(&of_b);
        assert!(of_b.contains("-x") && !of_b.contains("rename"), "{of_b}");
    }
}
