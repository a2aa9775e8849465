//! Reads the values of all refs from their files (gitrepository-layout(5), git-pack-refs(1)), without a process. Leaves
//! unusual refs to git.

use std::collections::BTreeMap;
use std::fs::DirEntry;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::discover::{Head, Repo};
use super::error::GitError;
use super::known_refs::KnownRefs;
use super::ref_file::{RefFile, is_own};
use crate::fs::{Links, entries_of, may_exist, read_regular, seen_itself};
use crate::names::Oid;

/// Maximum length of all packed refs, in bytes.
const MOST_PACKED: u64 = 1 << 30;
/// The refs among which symbolic ones are usual: `refs/remotes/<name>/HEAD`.
const REMOTES: &str = "refs/remotes/";

/// The values of refs, by full name.
pub type RefValues = BTreeMap<String, RefValue>;

/// The value of a ref.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RefValue {
    /// An object; also the object of another ref, if a symbolic ref is usual.
    Oid(Oid),
    /// The object of the ref with this full name.
    Symbolic { to: String, oid: Oid },
}

impl RefValue {
    /// Returns the object.
    pub fn oid(&self) -> &Oid {
        match self {
            Self::Oid(oid) | Self::Symbolic { oid, .. } => oid,
        }
    }
}

impl Repo {
    /// Reads the values of all refs, except per-worktree ones. Runs git only if some are not ordinary files.
    pub async fn ref_values(&self) -> Result<RefValues, GitError> {
        match read_all(self) {
            Some(values) => Ok(values),
            None => self.listed_values().await,
        }
    }

    /// Reads the values of all refs, and HEAD.
    pub async fn ref_values_and_head(&self) -> Result<(RefValues, Head), GitError> {
        if let Some(values) = read_all(self)
            && let Some(head) = head_among(&self.git_dir, &values, self.oid_length)
        {
            return Ok((values, head));
        }
        Ok((self.listed_values().await?, self.head().await?))
    }

    /// Returns whether a ref at `oid` would have the same value without its file.
    pub fn has_packed(&self, name: &str, oid: Option<&Oid>) -> bool {
        let packed = || packed(&self.common_dir, self.oid_length).and_then(|refs| refs.get(name).cloned());
        oid.is_some()
            && (RefFile::read(&self.common_dir.join(name)) == RefFile::Missing
                || packed().is_some_and(|value| Some(value.oid()) == oid))
    }

    async fn listed_values(&self) -> Result<RefValues, GitError> {
        // Without types: git then reads no object, and does not fail if one is missing.
        let args = ["--format=%(objectname) %(refname) %(symref)", "refs"];
        let listed = self.git.cmd("for-each-ref", args).text().await?;
        let value_of = |line: &str| {
            let mut words = line.split(' ');
            let (oid, name) = (Oid::parse(words.next()?)?, words.next()?);
            let value = match words.next() {
                Some(to) if !to.is_empty() && !name.starts_with(REMOTES) => RefValue::Symbolic {
                    to: to.to_owned(),
                    oid,
                },
                _ => RefValue::Oid(oid),
            };
            (!is_own(name)).then(|| (name.to_owned(), value))
        };
        Ok(listed.lines().filter_map(value_of).collect())
    }
}

/// Reads HEAD; returns `None` if only git can tell.
fn head_among(git_dir: &Path, values: &RefValues, oid_length: usize) -> Option<Head> {
    let path = git_dir.join("HEAD");
    if !seen_itself(&path)?.is_file() {
        return None;
    }
    match RefFile::read(&path) {
        RefFile::Symbolic(branch) if is_plain(&branch) && !is_own(&branch) => Some(Head {
            oid: values.get(&branch).map(|value| value.oid().clone()),
            branch: Some(branch),
        }),
        RefFile::Oid(oid) if is_oid(&oid, oid_length) => Some(Head::new(None, Some(oid))),
        _ => None,
    }
}

/// Reads all refs; returns `None` if only git can read them.
fn read_all(repo: &Repo) -> Option<RefValues> {
    let (common_dir, oid_length) = (&repo.common_dir, repo.oid_length);
    if may_exist(&common_dir.join("reftable")) {
        return None;
    }
    let mut found = Loose {
        oid_length,
        known: &repo.known_refs,
        now: SystemTime::now(),
        values: Vec::new(),
        symbolic: Vec::new(),
    };
    found.read_dir(&common_dir.join("refs"), "refs")?;
    // After the files: git packs a ref before it removes its file.
    let mut values = packed(common_dir, oid_length)?;
    let Loose {
        values: loose,
        symbolic,
        ..
    } = found;
    if values.is_empty() {
        // In bulk, as above.
        values = loose.into_iter().collect();
    } else {
        values.extend(loose);
    }
    for (name, target) in symbolic {
        // Git lists no dangling symbolic refs.
        if let Some(oid) = values.get(&target) {
            values.insert(name, oid.clone());
        }
    }
    Some(values)
}

/// Refs with their own files.
#[derive(Debug)]
struct Loose<'a> {
    /// The length of an object id, in bytes.
    oid_length: usize,
    known: &'a KnownRefs,
    /// The time of the read.
    now: SystemTime,
    values: Vec<(String, RefValue)>,
    /// Symbolic refs, with the names of their targets.
    symbolic: Vec<(String, String)>,
}

impl Loose<'_> {
    /// Adds the refs below a directory; returns `None` if one is not an ordinary ref.
    fn read_dir(&mut self, dir: &Path, prefix: &str) -> Option<()> {
        for entry in entries_of(dir).ok()? {
            let file_name = entry.file_name().into_string().ok()?;
            let name = format!("{prefix}/{file_name}");
            let kind = entry.file_type().ok()?;
            // Git ignores hidden files and locks.
            if file_name.starts_with('.') || is_lock(&file_name) || is_own(&name) {
                continue;
            }
            if kind.is_dir() {
                self.read_dir(&entry.path(), &name)?;
            } else if kind.is_file() {
                self.read_file(&entry, name)?;
            } else {
                return None;
            }
        }
        Some(())
    }

    fn read_file(&mut self, entry: &DirEntry, name: String) -> Option<()> {
        if !is_plain(&name) {
            return None;
        }
        // Relative to its directory: the full path has many components.
        let found = entry.metadata().ok();
        match self.known.read(|| entry.path(), found.as_ref(), self.now) {
            RefFile::Oid(oid) if is_oid(&oid, self.oid_length) => {
                self.values.push((name, RefValue::Oid(oid)));
            }
            RefFile::Symbolic(target) if name.starts_with(REMOTES) => self.symbolic.push((name, target)),
            // It was deleted, or packed, during the read of the directory.
            RefFile::Missing => {}
            _ => return None,
        }
        Some(())
    }
}

/// Returns the packed refs, some of which may also have a file; `None` if a line is unusual.
fn packed(common_dir: &Path, oid_length: usize) -> Option<RefValues> {
    let path = common_dir.join("packed-refs");
    let packed = match read_regular(&path, Links::Followed, MOST_PACKED) {
        Ok(packed) => String::from_utf8(packed).ok()?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(RefValues::new()),
        Err(_) => return None,
    };
    if !packed.is_empty() && !packed.ends_with('\n') {
        return None;
    }
    // A line that begins with ^ has the object of the tag in the line before.
    let is_ref = |line: &&str| !line.starts_with(['#', '^']);
    let value_of = |line: &str| {
        let (oid, name) = line.split_once(' ')?;
        let oid = Oid::parse(oid).filter(|oid| is_oid(oid, oid_length))?;
        is_plain(name).then(|| (name.to_owned(), RefValue::Oid(oid)))
    };
    // In bulk, which is much faster than single inserts. The first line of a duplicate name counts.
    let lines = packed.split_terminator('\n').rev().filter(is_ref).map(value_of);
    let mut values: RefValues = lines.collect::<Option<_>>()?;
    values.retain(|name, _| !is_own(name));
    Some(values)
}

/// Returns whether an object id has this length, in bytes, and git's form, and is not zero.
fn is_oid(oid: &Oid, length: usize) -> bool {
    let oid = oid.as_str().as_bytes();
    oid.len() == 2 * length
        && !oid.iter().any(u8::is_ascii_uppercase)
        && oid.iter().any(|digit| *digit != b'0')
}

/// Returns whether git treats a component of a name as a lock.
fn is_lock(part: &str) -> bool {
    part.strip_suffix(".lock").is_some()
}

/// Returns whether git certainly accepts a full name (git-check-ref-format(1)).
fn is_plain(name: &str) -> bool {
    let is_simple = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/');
    if name.bytes().all(is_simple) {
        return name.starts_with("refs/") && !name.contains("//") && !name.ends_with('/');
    }
    let is_refused = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !is_lock(part);
    name.starts_with("refs/")
        && !name.contains(is_refused)
        && !name.contains("..")
        && !name.contains("@{")
        && name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::{Git, discover};

    /// A repository with a commit, and refs of every ordinary kind, some of them packed.
    async fn repository(dir: &Path, format: &str) -> Repo {
        let git = Git::at(dir);
        let git = &git;
        let run = |verb: &'static str, args: &'static [&'static str]| async move {
            git.cmd(verb, args).done().await.unwrap();
        };
        git.cmd("init", ["-q", "-b", "main", "--object-format", format])
            .done()
            .await
            .unwrap();
        run("config", &["user.name", "a"]).await;
        run("config", &["user.email", "a@b"]).await;
        run("commit", &["-q", "--allow-empty", "-m", "one"]).await;
        run("branch", &["deep/er/one"]).await;
        run("branch", &["goes"]).await;
        run("tag", &["-a", "-m", "annotated", "v1"]).await;
        run("update-ref", &["refs/remotes/origin/main", "HEAD"]).await;
        run(
            "symbolic-ref",
            &["refs/remotes/origin/HEAD", "refs/remotes/origin/main"],
        )
        .await;
        run(
            "symbolic-ref",
            &["refs/remotes/gone/HEAD", "refs/remotes/gone/main"],
        )
        .await;
        run("pack-refs", &["--all"]).await;
        run("commit", &["-q", "--allow-empty", "-m", "two"]).await;
        run("branch", &["-q", "-D", "goes"]).await;
        run("branch", &["zwölf"]).await;
        run("update-ref", &["refs/bisect/bad", "HEAD"]).await;
        run("update-ref", &["refs/ralph/c/attempts/1%2E1/1", "HEAD"]).await;
        let (repo, _) = discover(dir).await.unwrap();
        let refs = repo.common_dir.join("refs/heads");
        fs::write(refs.join("held.lock"), "").unwrap();
        fs::create_dir(refs.join("empty")).unwrap();
        repo
    }

    #[tokio::test]
    async fn ref_values_from_files_agree_with_git() {
        for format in ["sha1", "sha256"] {
            let dir = tempfile::tempdir().unwrap();
            let repo = repository(dir.path(), format).await;
            let read = read_all(&repo).unwrap();
            assert_eq!(read, repo.listed_values().await.unwrap());
            assert_eq!(read.len(), 7, "{read:?}");
            for head in ["refs/heads/main", "refs/heads/unborn"] {
                repo.git.cmd("symbolic-ref", ["HEAD", head]).done().await.unwrap();
                let found = head_among(&repo.git_dir, &read, repo.oid_length);
                assert_eq!(found, Some(repo.head().await.unwrap()));
            }
            let args = ["--no-deref", "HEAD", read["refs/heads/main"].oid().as_str()];
            repo.git.cmd("update-ref", args).done().await.unwrap();
            let found = head_among(&repo.git_dir, &read, repo.oid_length);
            assert_eq!(found, Some(repo.head().await.unwrap()));
        }
    }

    #[tokio::test]
    async fn many_refs_are_listed_as_few_are() {
        let dir = tempfile::tempdir().unwrap();
        let repo = repository(dir.path(), "sha1").await;
        for args in [["again", "v1"], ["of-a-tree", "main^{tree}"]] {
            let args = ["-a", "-m", "annotated"].into_iter().chain(args);
            repo.git.cmd("tag", args).done().await.unwrap();
        }
        let tree = ["refs/odd/tree", "main^{tree}"];
        repo.git.cmd("update-ref", tree).done().await.unwrap();
        let listed = repo.git.all_refs(true).await.unwrap();
        assert_eq!(listed, repo.git.all_refs(false).await.unwrap());
        assert_eq!(listed.iter().filter(|found| found.commit.is_none()).count(), 2);
        fs::write(repo.common_dir.join("refs/heads/lost"), "1".repeat(40) + "\n").unwrap();
        for many in [true, false] {
            repo.git.all_refs(many).await.unwrap_err();
        }
    }

    #[tokio::test]
    async fn linked_work_tree_reads_the_refs_of_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let main = repository(dir.path(), "sha1").await;
        let linked = dir.path().join("linked");
        let args = ["add", "-q", "-b", "linked"].map(std::ffi::OsString::from);
        let args = args.into_iter().chain([linked.clone().into_os_string()]);
        main.git.cmd("worktree", args).done().await.unwrap();
        let (repo, head) = discover(&linked).await.unwrap();
        let (values, found) = repo.ref_values_and_head().await.unwrap();
        assert_eq!((found, &values), (head, &main.ref_values().await.unwrap()));
        assert!(values.contains_key("refs/heads/linked"));
    }

    #[tokio::test]
    async fn ref_reader_leaves_unusual_files_to_git() {
        let dir = tempfile::tempdir().unwrap();
        let repo = repository(dir.path(), "sha1").await;
        let read = || read_all(&repo);
        let values = read().unwrap();
        let oid = values["refs/heads/main"].oid();
        let heads = repo.common_dir.join("refs/heads");
        let contents = [
            String::new(),
            "\n".to_owned(),
            format!("{oid}0\n"),
            format!("{}\n", oid.as_str().to_uppercase()),
            "0".repeat(40),
            "ref: refs/heads/main\n".to_owned(),
        ];
        for content in contents {
            fs::write(heads.join("odd"), &content).unwrap();
            assert_eq!(read(), None, "{content:?}");
        }
        fs::remove_file(heads.join("odd")).unwrap();
        for name in ["a b", "a..b", "a@{b", "end."] {
            fs::write(heads.join(name), format!("{oid}\n")).unwrap();
            assert_eq!(read(), None, "{name:?}");
            fs::remove_file(heads.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("main", heads.join("link")).unwrap();
        assert_eq!(read(), None);
        fs::remove_file(heads.join("link")).unwrap();
        let packed = repo.common_dir.join("packed-refs");
        let text = fs::read_to_string(&packed).unwrap();
        for odd in ["half a line", "line\n", &format!("{oid} refs/heads/a b\n")] {
            fs::write(&packed, format!("{text}{odd}")).unwrap();
            assert_eq!(read(), None, "{odd:?}");
        }
        // Of two lines the first counts.
        let twice = format!("{text}{} refs/heads/deep/er/one\n", "1".repeat(40));
        fs::write(&packed, twice).unwrap();
        assert_eq!(read(), Some(values.clone()));
        fs::write(&packed, &text).unwrap();
        assert_eq!(read(), Some(values));
        fs::create_dir(repo.common_dir.join("reftable")).unwrap();
        assert_eq!(read(), None);
    }
}
