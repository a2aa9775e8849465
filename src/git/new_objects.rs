//! Makes new objects without a process: commits, and trees of a few files. Writes them as git writes loose objects
//! (gitformat-loose(5)): complete, synced, and renamed into place.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::command::Git;
use super::discover::Repo;
use super::error::GitError;
use super::identity::Signers;
use super::sharing::Sharing;
use crate::fs::{Below, read};
use crate::names::{Oid, hex};

/// An object that may not exist yet.
struct NewObject<'a> {
    kind: &'static str,
    content: &'a [u8],
    compression: Compression,
}

impl Repo {
    /// Makes a commit object, without a ref, a hook or a signature.
    pub async fn commit_tree(&self, tree: &Oid, parents: &[&Oid], message: &str) -> Result<Oid, GitError> {
        let who = match self.signers.lines() {
            Some(lines) => lines,
            None => self.git.signer_lines().await?,
        };
        self.commit(tree, parents.iter().copied(), &who, message).await
    }

    /// Makes a commit with git-ralph as its author, independent of the user's identity.
    pub async fn own_commit(&self, tree: &Oid, parents: &[&Oid], message: &str) -> Result<Oid, GitError> {
        let who = Signers::own().lines().unwrap_or_else(git_ralph);
        self.commit(tree, parents.iter().copied(), &who, message).await
    }

    /// Makes a commit that keeps a tree and any number of other commits alive, even if an attempt deletes their refs.
    /// The same commits give the same object.
    pub async fn anchor(&self, tree: &Oid, commits: &[Oid]) -> Result<Oid, GitError> {
        let message = "everything that was named when the loop began";
        self.commit(tree, commits, &git_ralph(), message).await
    }

    /// Makes a temporary commit for a merge.
    pub(super) async fn made_up(&self, tree: &Oid, parents: &[Oid]) -> Result<Oid, GitError> {
        self.commit(tree, parents, &git_ralph(), "made up for a merge")
            .await
    }

    async fn commit(
        &self,
        tree: &Oid,
        parents: impl IntoIterator<Item = &Oid>,
        who: &str,
        message: &str,
    ) -> Result<Oid, GitError> {
        let mut text = format!("tree {tree}\n");
        for parent in parents {
            text.push_str(&format!("parent {parent}\n"));
        }
        let end = if message.is_empty() || message.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        text.push_str(&format!("{who}\n{message}{end}"));
        self.write_object("commit", text.as_bytes(), Compression::fast())
            .await
    }

    /// Writes the tree without entries.
    pub async fn empty_tree(&self) -> Result<Oid, GitError> {
        self.write_object("tree", &[], Compression::fast()).await
    }

    /// Returns the tree of a commit, or the empty tree if there is no commit.
    pub async fn tree_at(&self, head: Option<&Oid>) -> Result<Oid, GitError> {
        match head {
            Some(head) => self.git.tree_of(head).await,
            None => self.empty_tree().await,
        }
    }

    /// Stores a file unchanged in a new tree, under `name`.
    pub async fn store_file(&self, file: &Path, name: &str) -> Result<Oid, GitError> {
        let bytes = read(file)?;
        // Object ids do not compress, and trying is slow for a large index.
        self.store(&[(name, &bytes)], Compression::none()).await
    }

    /// Stores texts in a tree; the names must be in tree order.
    pub async fn store_files(&self, files: &[(&str, &[u8])]) -> Result<Oid, GitError> {
        self.store(files, Compression::fast()).await
    }

    /// Stores a text.
    pub async fn store_text(&self, text: &[u8]) -> Result<Oid, GitError> {
        self.write_object("blob", text, Compression::fast()).await
    }

    async fn store(&self, files: &[(&str, &[u8])], compression: Compression) -> Result<Oid, GitError> {
        let mut entries = Vec::new();
        for (name, bytes) in files {
            let blob = self.write_object("blob", bytes, compression).await?;
            entries.extend(format!("100644 {name}\0").into_bytes());
            entries.extend(bytes_of(&blob));
        }
        self.write_object("tree", &entries, Compression::fast()).await
    }

    /// Writes an object. Leaves it to git if the repository has its own rules for file permissions, or if the file
    /// cannot be written: git reports the reason.
    async fn write_object(
        &self,
        kind: &'static str,
        content: &[u8],
        compression: Compression,
    ) -> Result<Oid, GitError> {
        let new = NewObject {
            kind,
            content,
            compression,
        };
        if self.sharing == Sharing::Umask
            && let Ok(oid) = new.write(&Below::new(&self.common_dir), self.oid_length)
        {
            return Ok(oid);
        }
        let args = ["-t", kind, "-w", "--stdin"];
        self.git.cmd("hash-object", args).stdin(content).oid().await
    }
}

/// Returns the lines of a commit with a fixed author and time.
fn git_ralph() -> String {
    let who = "git-ralph <git-ralph@localhost> 0 +0000";
    format!("author {who}\ncommitter {who}\n")
}

impl Git {
    /// Asks git for the author and committer lines of a commit made now.
    async fn signer_lines(&self) -> Result<String, GitError> {
        let ask = |name: &'static str| self.cmd("var", [name]).bytes();
        let (author, committer) = tokio::join!(ask("GIT_AUTHOR_IDENT"), ask("GIT_COMMITTER_IDENT"));
        let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        Ok(format!(
            "author {}\ncommitter {}\n",
            line(author?),
            line(committer?)
        ))
    }
}

impl NewObject<'_> {
    /// Writes the object below git's directory unless it exists; returns its id, of `length` bytes.
    fn write(&self, door: &Below, length: usize) -> io::Result<Oid> {
        let header = header_of(self.kind, self.content);
        let hex = hash_of(&header, self.content, length);
        let oid = Oid::parse(&hex).ok_or_else(|| io::Error::other("no object id"))?;
        let (dir, name) = hex.split_at(2);
        let dir = Path::new("objects").join(dir);
        let path = dir.join(name);
        // A new time keeps `git gc` from removing an unreferenced object. An object shared by a clone is written again.
        match door.touch(&path) {
            Ok(true) => return Ok(oid),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        door.make_dir(&dir, 0o777).map_err(|error| error.source)?;
        // `git gc` removes files of this name after a crash.
        let new = dir.join(format!("tmp_obj_{:08x}", fastrand::u32(..)));
        let mut encoder = ZlibEncoder::new(door.make_file(&new, 0o444)?, self.compression);
        let written = encoder
            .write_all(header.as_bytes())
            .and_then(|()| encoder.write_all(self.content))
            .and_then(|()| encoder.finish())
            .and_then(|file| file.sync_all())
            .and_then(|()| door.rename(&new, door, &path));
        match written {
            Ok(()) => Ok(oid),
            Err(error) => {
                let _ = door.remove_file(&new);
                Err(error)
            }
        }
    }
}

fn header_of(kind: &str, content: &[u8]) -> String {
    format!("{kind} {}\0", content.len())
}

/// Returns the id of an object in a repository whose ids have this length in bytes.
fn hash_of(header: &str, content: &[u8], length: usize) -> String {
    match length {
        20 => hex(&Sha1::new().chain_update(header).chain_update(content).finalize()),
        _ => hex(&Sha256::new()
            .chain_update(header)
            .chain_update(content)
            .finalize()),
    }
}

/// Returns whether this is the commit of this id.
pub fn is_commit(oid: &Oid, content: &[u8]) -> bool {
    let header = header_of("commit", content);
    hash_of(&header, content, oid.as_str().len() / 2) == oid.as_str()
}

/// Returns whether this is the content of the blob with this id, in bytes.
pub fn is_blob(oid: &[u8], content: &[u8]) -> bool {
    let header = header_of("blob", content);
    hash_of(&header, content, oid.len()) == hex(oid)
}

/// Returns the bytes of an object id.
fn bytes_of(oid: &Oid) -> Vec<u8> {
    let digits = oid.as_str().as_bytes().chunks_exact(2);
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default();
    let byte = |pair: &[u8]| u8::try_from(value(pair[0]) << 4 | value(pair[1])).unwrap_or_default();
    digits.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::git::discover;

    async fn repository(dir: &Path, format: &str) -> Repo {
        let git = Git::at(dir);
        let args = ["-q", "--object-format", format];
        git.cmd("init", args).done().await.unwrap();
        let (mut repo, _) = discover(dir).await.unwrap();
        repo.sharing = Sharing::Umask;
        repo
    }

    /// Runs a test on one thread.
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(future)
    }

    #[test]
    fn writer_makes_the_same_objects_as_git() {
        for format in ["sha1", "sha256"] {
            block_on(async {
                let dir = tempfile::tempdir().unwrap();
                let repo = repository(dir.path(), format).await;
                let file = dir.path().join("file");
                fs::write(&file, "content\n").unwrap();
                let tree = repo.store_file(&file, "name").await.unwrap();
                let kept = repo.anchor(&tree, &[]).await.unwrap();
                let text = repo.git.cmd("cat-file", ["commit", kept.as_str()]).bytes().await;
                let again = repo.git.cmd("hash-object", ["-t", "commit", "--stdin"]);
                assert_eq!(again.stdin(text.unwrap()).oid().await.unwrap(), kept);
                let listed = repo
                    .git
                    .cmd("ls-tree", [tree.as_str()])
                    .stdin("")
                    .bytes()
                    .await
                    .unwrap();
                let written = repo.git.cmd("mktree", [""; 0]).stdin(listed).oid().await;
                assert_eq!(written.unwrap(), tree);
                let empty = repo.empty_tree().await.unwrap();
                assert_eq!(repo.git.cmd("mktree", [""; 0]).oid().await.unwrap(), empty);
                let commit = repo
                    .commit_tree(&tree, &[&kept], "subject\n\nbody")
                    .await
                    .unwrap();
                let format = ["-s", "--format=%an <%ae>,%cn,%P,%T,%B", commit.as_str()];
                let shown = repo.git.cmd("show", format).bytes().await.unwrap();
                let wanted =
                    format!("git-ralph <git-ralph@localhost>,git-ralph,{kept},{tree},subject\n\nbody\n\n");
                assert_eq!(String::from_utf8_lossy(&shown), wanted);
                repo.git
                    .cmd("fsck", ["--strict", commit.as_str()])
                    .done()
                    .await
                    .unwrap();
            });
        }
    }

    #[test]
    fn an_object_has_the_permissions_that_git_gives_it_and_is_written_once() {
        block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let repo = repository(dir.path(), "sha1").await;
            let file_of = |oid: &Oid| {
                let (dir, name) = oid.as_str().split_at(2);
                repo.common_dir.join("objects").join(dir).join(name)
            };
            let mode = |oid: &Oid| file_of(oid).metadata().unwrap().permissions().mode();
            let stdin = ["-w", "--stdin"];
            let gits = repo.git.cmd("hash-object", stdin).stdin("x").oid().await.unwrap();
            let ours = repo.empty_tree().await.unwrap();
            assert_eq!(mode(&ours), mode(&gits));
            let before = std::time::UNIX_EPOCH;
            let file = File::open(file_of(&ours)).unwrap();
            file.set_modified(before).unwrap();
            assert_eq!(repo.empty_tree().await.unwrap(), ours);
            assert_ne!(file.metadata().unwrap().modified().unwrap(), before);
            let left = fs::read_dir(file_of(&ours).parent().unwrap()).unwrap();
            assert_eq!(left.count(), 1);
        });
    }

    #[test]
    fn git_writes_objects_that_the_writer_cannot_write() {
        block_on(async {
            let dir = tempfile::tempdir().unwrap();
            let mut repo = repository(dir.path(), "sha1").await;
            let made = repo.empty_tree().await.unwrap();
            repo.sharing = Sharing::Unknown;
            fs::remove_dir_all(repo.common_dir.join("objects").join(&made.as_str()[..2])).unwrap();
            assert_eq!(repo.empty_tree().await.unwrap(), made);
            let (top, objects) = (repo.common_dir.join("objects"), dir.path().join("moved"));
            fs::rename(&top, &objects).unwrap();
            fs::write(&top, "").unwrap();
            repo.sharing = Sharing::Umask;
            repo.empty_tree().await.unwrap_err();
        });
    }
}
