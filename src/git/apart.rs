//! A temporary repository beside the user's, with the user's access to remotes: a fetch into it does not change the
//! user's objects, configuration or history.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::command::{Git, split_z};
use super::discover::Repo;
use super::error::GitError;
use crate::fs::{Below, Durability, FileError, file_error, may_exist, seen_in};

/// A temporary repository, removed on drop.
#[derive(Debug)]
pub struct Apart {
    /// Runs git in the user's work tree, but with this repository, and without fetching missing objects.
    pub git: Git,
    _dir: Temporary,
}

/// A temporary directory in the git directory, removed on drop.
#[derive(Debug)]
pub struct Temporary {
    dir: TempDir,
    /// Locked while this process lives.
    _alive: Option<File>,
}

impl Temporary {
    /// Returns its path.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// The prefix of temporary directories in the git directory.
const PREFIX: &str = "ralph-listing-";

/// Age beyond which an unlockable directory counts as left by a killed process: no fetch takes that long.
const LEFT: Duration = Duration::from_secs(24 * 60 * 60);

/// Settings that describe a repository, and not its access to remotes.
const OF_REPOSITORY: [&str; 4] = [
    "core.repositoryformatversion",
    "core.bare",
    "core.worktree",
    "core.sharedrepository",
];

impl Repo {
    /// Makes an empty repository in the git directory. It gets this repository's settings, such as the address of a
    /// remote, and its credentials; settings of the user and of the system apply anyway.
    pub async fn apart(&self) -> Result<Apart, GitError> {
        let args = ["-z", "--show-scope", "--list"];
        let listed = split_z(&self.git.cmd("config", args).bytes().await?);
        let dir = temporary_in(&self.git_dir)?;
        let door = Below::new(dir.path());
        for name in ["objects", "refs"] {
            door.make_dir(Path::new(name), 0o700)?;
        }
        let files = [
            ("HEAD", b"ref: refs/heads/none\n".to_vec()),
            ("config", configuration(&listed, self.oid_length)),
        ];
        for (name, bytes) in files {
            door.write(Path::new(name), &bytes, 0o600, Durability::Atomic)?;
        }
        let git = self.git.clone().with_index(None).with_repository(dir.path());
        Ok(Apart { git, _dir: dir })
    }
}

/// Makes an empty directory in the git directory.
#[expect(
    clippy::disallowed_methods,
    reason = "it is right in git's directory, with a random name"
)]
pub fn temporary_in(git_dir: &Path) -> Result<Temporary, FileError> {
    remove_left(git_dir);
    loop {
        let dir = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(git_dir)
            .map_err(|source| file_error("make a directory in", git_dir, source))?;
        // On a file system without such locks, the age decides.
        let alive = File::open(dir.path())
            .ok()
            .filter(|alive| alive.try_lock().is_ok());
        // Before the lock, another process may have removed it as stale.
        if may_exist(dir.path()) {
            return Ok(Temporary { dir, _alive: alive });
        }
    }
}

/// Removes the directories of killed processes. Nothing depends on it, so errors are ignored.
fn remove_left(git_dir: &Path) {
    let door = Below::new(git_dir);
    for entry in seen_in(git_dir) {
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else {
            continue;
        };
        let modified = file.metadata().and_then(|found| found.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        // The lock is held until the directory is gone.
        if file.try_lock().is_ok() || age.is_some_and(|age| age > LEFT) {
            let _ = door.remove(Path::new(&name));
        }
    }
}

/// Returns the text of a configuration file: the settings of one repository from a listing (scope, then key and value),
/// for another repository with object ids of this length in bytes.
fn configuration(listed: &[Vec<u8>], oid_length: usize) -> Vec<u8> {
    let (version, format) = match oid_length {
        32 => (1, "[extensions]\n\tobjectFormat = sha256\n"),
        _ => (0, ""),
    };
    let mut text =
        format!("[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{format}").into_bytes();
    for pair in listed.chunks_exact(2) {
        let [scope, entry] = pair else { continue };
        if !matches!(scope.as_slice(), b"local" | b"worktree") {
            continue;
        }
        let mut parts = entry.splitn(2, |byte| *byte == b'\n');
        let (key, value) = (parts.next().unwrap_or_default(), parts.next());
        text.extend(setting(&String::from_utf8_lossy(key), value).unwrap_or_default());
    }
    text
}

/// Quotes a value for a configuration file (git-config(1), "Syntax").
pub fn quoted(value: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in value {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(b"\\n"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'"');
    quoted
}

/// Returns the lines of one setting (git-config(1), "Syntax"); `None` if it is omitted.
fn setting(key: &str, value: Option<&[u8]>) -> Option<Vec<u8>> {
    let (section, rest) = key.split_once('.')?;
    let parts = rest.rsplit_once('.');
    let (subsection, name) = parts.map_or((None, rest), |(subsection, name)| (Some(subsection), name));
    let is_left_out = matches!(section, "extensions" | "include" | "includeif")
        || OF_REPOSITORY.contains(&key)
        || section == "remote" && matches!(name, "promisor" | "partialclonefilter");
    if is_left_out {
        return None;
    }
    let mut text = match subsection {
        Some(subsection) => {
            let subsection = subsection.replace('\\', "\\\\").replace('"', "\\\"");
            format!("[{section} \"{subsection}\"]\n\t{name}")
        }
        None => format!("[{section}]\n\t{name}"),
    }
    .into_bytes();
    if let Some(value) = value {
        text.extend(b" = ");
        text.extend(quoted(value));
    }
    text.push(b'\n');
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn cleanup_removes_only_directories_of_killed_processes() {
        let dir = tempfile::tempdir().unwrap();
        let alive = temporary_in(dir.path()).unwrap();
        fs::write(alive.path().join("config"), "").unwrap();
        {
            let killed = temporary_in(dir.path()).unwrap();
            fs::write(killed.path().join("index.lock"), "").unwrap();
            let _ = killed.dir.keep();
        }
        fs::create_dir(dir.path().join("ralph-listing-empty")).unwrap();
        let long_ago = std::time::SystemTime::now() - 2 * LEFT;
        for name in ["ralph-listing-old", "objects"] {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::File::open(&path).unwrap().set_modified(long_ago).unwrap();
        }
        remove_left(dir.path());
        let left = fs::read_dir(dir.path()).unwrap();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        let mut expected = vec!["objects".into()];
        expected.extend(alive.path().file_name().map(ToOwned::to_owned));
        expected.sort();
        assert_eq!(left, expected);
    }

    #[test]
    fn git_reads_the_settings_that_were_copied_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let entries = [
            ("local", "remote.o.url\n../a \"b\"\\c"),
            ("local", "http.https://h/.extraheader\nA: b\n c"),
            ("worktree", "url.git@h:x\"\\y.insteadof\nhttps://h/ # ; "),
            ("local", "core.sshcommand\n ssh\t-v "),
            ("local", "x.empty\n"),
            ("local", "x.truth"),
            ("local", "core.worktree\n/other"),
            ("local", "extensions.refstorage\nreftable"),
            ("local", "remote.o.promisor\ntrue"),
            ("local", "includeif.gitdir:/x.path\n/y"),
            ("global", "user.name\nA"),
            ("command", "user.email\na"),
        ];
        let listed = entries.map(|(scope, entry)| [scope, entry].map(|text| text.as_bytes().to_vec()));
        let file = dir.path().join("config");
        fs::write(&file, configuration(listed.as_flattened(), 32)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let args = ["-z", "--list", "--file", file.to_str().unwrap()];
        let read = runtime
            .unwrap()
            .block_on(Git::at(dir.path()).cmd("config", args).fields())
            .unwrap();
        let read: Vec<String> = read
            .into_iter()
            .map(|entry| String::from_utf8(entry).unwrap())
            .collect();
        let own = [
            "core.repositoryformatversion\n1",
            "core.bare\ntrue",
            "extensions.objectformat\nsha256",
        ];
        let copied = entries[..6].iter().map(|(_, entry)| *entry);
        assert_eq!(read, own.into_iter().chain(copied).collect::<Vec<_>>());
    }
}
