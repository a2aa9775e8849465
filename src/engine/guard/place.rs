//! The repository that git asks a hook about, as cheaply as it can be known: git has just been there, and asks
//! several times a command.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::async_cmd::{self, Command};
use crate::git::Git;
use crate::names::Oid;

/// A repository, by its directories.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Place {
    /// The git directory of the work tree: HEAD, `config.worktree`.
    pub git_dir: PathBuf,
    /// The one that all work trees share: refs, configuration, hooks.
    pub common_dir: PathBuf,
}

impl Place {
    /// Where git runs its hooks: the environment names the git directory, or it is the one of the current
    /// directory.
    pub fn here() -> Option<Self> {
        let named = env::var_os("GIT_DIR").filter(|named| !named.is_empty());
        let git_dir = named.map_or_else(|| git_dir_of(Path::new(".git")), |named| Some(named.into()))?;
        let shared = env::var_os("GIT_COMMON_DIR").filter(|named| !named.is_empty());
        let common_dir = match (shared, fs::read(git_dir.join("commondir"))) {
            (Some(shared), _) => shared.into(),
            (None, Ok(text)) => git_dir.join(path_of(&text)),
            (None, Err(_)) => git_dir.clone(),
        };
        Some(Self { git_dir, common_dir })
    }

    /// The repository around a directory, which git need not have been in: the environment names its git
    /// directory, or it is found on the way up.
    pub fn around(dir: &Path) -> Option<Self> {
        match env::var_os("GIT_DIR").filter(|named| !named.is_empty()) {
            Some(named) => Self::of(dir.join(named)),
            None => dir.ancestors().find_map(Self::of_work_tree),
        }
    }

    /// The repository whose work tree has its top at `dir`.
    pub fn of_work_tree(dir: &Path) -> Option<Self> {
        Self::of(dir.join(git_dir_of(&dir.join(".git"))?))
    }

    fn of(git_dir: PathBuf) -> Option<Self> {
        git_dir.join("HEAD").symlink_metadata().ok()?;
        let common_dir = match fs::read(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(path_of(&text)),
            Err(_) => git_dir.clone(),
        };
        Some(Self { git_dir, common_dir })
    }

    /// Whether refs are kept where only git finds them.
    pub fn has_hidden_refs(&self) -> bool {
        self.common_dir.join("reftable").is_dir()
    }

    /// What HEAD is: the full name of a branch, or an object id; from its file alone.
    pub fn head(&self) -> Option<String> {
        let text = fs::read_to_string(self.git_dir.join("HEAD")).ok()?;
        let target = text.strip_prefix("ref:").unwrap_or(&text).trim();
        // What stands there where refs are in the reftable format.
        (target != "refs/heads/.invalid").then(|| target.to_owned())
    }

    /// Whether this is the repository with that common directory.
    pub fn is(&self, common_dir: &Path) -> bool {
        match (self.common_dir.metadata(), common_dir.metadata()) {
            (Ok(this), Ok(that)) => (this.dev(), this.ino()) == (that.dev(), that.ino()),
            _ => false,
        }
    }

    /// What a ref is now: an object id, or `ref:` and a name.
    pub async fn current(&self, name: &str) -> Option<String> {
        if self.has_hidden_refs() {
            let output = self.git().cmd("rev-parse", ["--verify", "--quiet", name]).bytes();
            return Some(Oid::parse(&String::from_utf8_lossy(&output.await.ok()?))?.to_string());
        }
        let own = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];
        let is_own = !name.starts_with("refs/") || own.iter().any(|place| name.starts_with(place));
        let dir = if is_own { &self.git_dir } else { &self.common_dir };
        match fs::read_to_string(dir.join(name)) {
            Ok(text) => Some(match text.strip_prefix("ref:") {
                Some(target) => format!("ref:{}", target.trim()),
                None => Oid::parse(&text)?.to_string(),
            }),
            Err(_) => self.packed(name),
        }
    }

    /// What a branch's own file says, or the packed refs; no process is started.
    pub fn loose(&self, name: &str) -> Option<Oid> {
        match fs::read_to_string(self.common_dir.join(name)) {
            Ok(text) => Oid::parse(text.trim()),
            Err(_) => Oid::parse(&self.packed(name)?),
        }
    }

    /// What the packed refs say of a ref.
    fn packed(&self, name: &str) -> Option<String> {
        let packed = fs::read(self.common_dir.join("packed-refs")).ok()?;
        let end = memmem::find(&packed, format!(" {name}\n").as_bytes())?;
        let line = packed[..end].rsplit(|byte| *byte == b'\n').next()?;
        Some(Oid::parse(std::str::from_utf8(line).ok()?)?.to_string())
    }

    /// Whether the deletion of a ref at `old` is only that of its own file, after it was packed: then the
    /// packed refs have it and nobody is about to take it out of them.
    pub fn is_only_unpacked(&self, name: &str, old: &str) -> bool {
        self.packed(name).as_deref() == Some(old) && !self.common_dir.join("packed-refs.lock").exists()
    }

    /// Whether the history of `new` contains `old`; also when it cannot be told.
    pub async fn contains(&self, new: &str, old: &Oid) -> bool {
        let args = ["--is-ancestor", old.as_str(), new];
        let output = self.git().cmd("merge-base", args).any_exit().await;
        !output.is_ok_and(|output| output.code == Some(1))
    }

    /// The stash's log; empty where it is not a file of its own.
    pub fn stash_log(&self) -> PathBuf {
        self.common_dir.join("logs/refs/stash")
    }

    /// The subject of a commit.
    pub async fn subject(&self, commit: &str) -> Option<String> {
        let args = ["-s", "--format=%s", commit, "--"];
        let text = self.git().cmd("show", args).bytes().await.ok()?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
    }

    fn git(&self) -> Git {
        Git::at(&self.git_dir)
    }

    /// The hooks directory where no configuration can name another: nothing that git would read has the
    /// setting's name in it, or includes anything.
    fn plain_hooks(&self) -> Option<PathBuf> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        if !cfg!(target_os = "linux") || set("GIT_CONFIG_PARAMETERS").is_some() {
            return None;
        }
        let home = PathBuf::from(set("HOME")?);
        let mut files = vec![
            self.common_dir.join("config"),
            self.git_dir.join("config.worktree"),
        ];
        match set("GIT_CONFIG_GLOBAL") {
            Some(file) => files.push(file.into()),
            None => {
                let config = set("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
                files.extend([config.join("git/config"), home.join(".gitconfig")]);
            }
        }
        match set("GIT_CONFIG_SYSTEM") {
            Some(file) => files.push(file.into()),
            None => {
                let programs = PathBuf::from(set("GIT_EXEC_PATH")?);
                let prefix = ["libexec/git-core", "lib/git-core"]
                    .iter()
                    .find(|end| programs.ends_with(end))
                    .and_then(|end| programs.ancestors().nth(Path::new(end).iter().count()))?;
                files.extend([prefix.join("etc/gitconfig"), PathBuf::from("/etc/gitconfig")]);
            }
        }
        let plain = files.iter().all(|file| says_nothing_of_hooks(file));
        plain.then(|| self.common_dir.join("hooks"))
    }
}

/// The user's own hook of this name, if git would run it.
pub(super) async fn users_hook(place: Option<&Place>, name: &str, ours: &Path) -> Option<PathBuf> {
    let dir = match place.and_then(Place::plain_hooks) {
        Some(dir) => dir,
        None => asked_of_git().await?,
    };
    let same = |ours: fs::Metadata, dir: fs::Metadata| (ours.dev(), ours.ino()) == (dir.dev(), dir.ino());
    if same(ours.metadata().ok()?, dir.metadata().ok()?) {
        return None;
    }
    let hook = dir.join(name);
    let metadata = hook.metadata().ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then_some(hook)
}

/// The hooks directory as git has it without our settings.
async fn asked_of_git() -> Option<PathBuf> {
    let command = Command::new("git")
        .args(["rev-parse", "--git-path", "hooks"])
        .env("GIT_CONFIG_COUNT", "0");
    let output = async_cmd::run(command).await.ok()?;
    (output.code == Some(0)).then(|| path_of(&output.stdout))
}

fn says_nothing_of_hooks(file: &Path) -> bool {
    match fs::read(file) {
        Ok(mut text) => {
            text.make_ascii_lowercase();
            memmem::find(&text, b"hookspath").is_none() && memmem::find(&text, b"include").is_none()
        }
        Err(error) => matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        ),
    }
}

/// A git directory, or the one that a file in its place names.
fn git_dir_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let text = fs::read(path).ok()?;
    Some(path_of(text.strip_prefix(b"gitdir: ")?))
}

fn path_of(line: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(line.strip_suffix(b"\n").unwrap_or(line)))
}
