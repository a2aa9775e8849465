//! Tests a savepoint without a loop: with a repository, a directory and a receiver of notices.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tempfile::TempDir;

use super::moment::Moment;
use super::savepoint::Savepoint;
use super::stat_changes::tracked_paths;
use super::submodules;
use crate::git::worktree::{Count, Whose};
use crate::git::{Git, Repo, discover};
use crate::protect::Site;
use crate::slot::Slot;

/// A repository with a commit, in which nothing was recorded yet.
struct Place {
    home: TempDir,
    repo: Repo,
    slot: Slot,
    notices: RefCell<Vec<String>>,
}

impl Place {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let git = Git::at(home.path()).with_own_identity(true);
        git.cmd("init", ["-q"]).done().await.unwrap();
        let write = |name: &str, text: &str| {
            let file = home.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write(".gitignore", "build/\n*.key\n");
        write("src/a", "one\n");
        write("src/b", "two\n");
        git.cmd("add", ["-A"]).done().await.unwrap();
        git.cmd("commit", ["-q", "-m", "first"]).done().await.unwrap();
        write("src/a", "edited before the loop\n");
        write("untracked", "mine\n");
        write("secret.key", "a key\n");
        write("build/cache/object", "built\n");
        symlink("src/a", home.path().join("link")).unwrap();
        fs::create_dir(home.path().join("empty")).unwrap();
        fs::set_permissions(home.path().join("src/b"), Permissions::from_mode(0o600)).unwrap();
        let (repo, _) = discover(home.path()).await.unwrap();
        let slot = Slot::of(&repo.common_dir.join("ralph/change"));
        slot.make().unwrap();
        Self {
            home,
            repo,
            slot,
            notices: RefCell::default(),
        }
    }

    fn site(&self) -> Site<'_> {
        Site {
            repo: &self.repo,
            slot: &self.slot,
            notices: &self.notices,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Records the work tree as it is now.
    async fn savepoint(&self) -> Savepoint<'_> {
        let (repo, site) = (&self.repo, self.site());
        let work = site.work_index();
        let head = repo.head().await.unwrap().oid.unwrap();
        let made = repo.private_index(&work, Some(&head)).await.unwrap();
        site.begin_records(&repo.index(), &made.entries).await.unwrap();
        let reading = repo.read_work_tree(&work, &head, None, Whose::Users, Count::Nothing);
        let reading = reading.await.unwrap();
        site.begin_exact_bytes(&work).await.unwrap();
        let commit = repo.commit_tree(&reading.tree, &[&head], "start").await.unwrap();
        let args = ["HEAD", commit.as_str()];
        repo.git.cmd("update-ref", args).done().await.unwrap();
        let savepoint = Savepoint {
            site,
            tree: reading.tree,
            commit,
            moment: Moment::Checkpoint,
            nested: Vec::new(),
            gate_files: std::collections::BTreeMap::new(),
            since: Timestamp::now(),
            has_own_inventory: false,
        };
        Savepoint::install_working_index(site).await.unwrap();
        savepoint.record_start().await.unwrap();
        savepoint
    }

    /// Returns the content of the work tree: kinds, permissions and contents by path.
    fn print(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        print_below(self.home.path(), &mut found);
        found
    }
}

fn print_below(dir: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with(".git") {
            continue;
        }
        let metadata = path.symlink_metadata().unwrap();
        let content = if metadata.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap().display())
        } else if metadata.is_dir() {
            print_below(&path, found);
            format!("directory {:o}", metadata.permissions().mode())
        } else {
            let text = fs::read_to_string(&path).unwrap();
            format!("{:o} {text}", metadata.permissions().mode())
        };
        found.insert(path, content);
    }
}

/// Changes a work tree in the given way and goes back; everything must be as before.
fn comes_back(spoil: impl FnOnce(&Place)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(async {
        let place = Place::new().await;
        let savepoint = place.savepoint().await;
        let before = place.print();
        spoil(&place);
        assert_ne!(place.print(), before);
        let trash = place.site().trash().join("attempt");
        let now = savepoint.read(Count::Nothing).await.unwrap();
        let kept = "refs/ralph/change/attempts/1/1";
        let back = savepoint.go_to(Some(now), &trash, kept).await.unwrap();
        assert_eq!(place.print(), before, "{:?}", place.notices);
        assert!(back.lost.is_empty(), "{:?}", back.lost);
        let again = savepoint.read(Count::Nothing).await.unwrap();
        assert_eq!(again.tree, savepoint.tree);
    });
}

#[test]
fn edited_new_and_deleted_files_come_back() {
    comes_back(|place| {
        fs::write(place.path("src/a"), "spoiled\n").unwrap();
        fs::write(place.path("untracked"), "spoiled\n").unwrap();
        fs::write(place.path("src/new"), "").unwrap();
        fs::create_dir_all(place.path("new/dir")).unwrap();
        fs::write(place.path("new/dir/file"), "").unwrap();
        fs::remove_file(place.path("src/b")).unwrap();
        fs::remove_dir(place.path("empty")).unwrap();
    });
}

#[test]
fn kinds_and_permissions_come_back() {
    comes_back(|place| {
        fs::remove_file(place.path("link")).unwrap();
        fs::write(place.path("link"), "no link\n").unwrap();
        fs::remove_file(place.path("src/a")).unwrap();
        symlink("b", place.path("src/a")).unwrap();
        fs::set_permissions(place.path("src/b"), Permissions::from_mode(0o755)).unwrap();
        fs::remove_dir_all(place.path("src")).unwrap();
        fs::write(place.path("src"), "a file in the place of a directory\n").unwrap();
    });
}

#[test]
fn added_rule_hides_nothing_and_ignored_files_of_the_user_stay() {
    comes_back(|place| {
        fs::write(place.path(".gitignore"), "*\n").unwrap();
        fs::write(place.path("src/hidden"), "").unwrap();
        fs::write(place.path("untracked"), "spoiled\n").unwrap();
    });
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_not_an_empty_one() {
    let place = Place::new().await;
    assert!(!submodules::is_any(place.site()).unwrap());
    fs::create_dir(place.slot.file("submodules.toml")).unwrap();
    submodules::is_any(place.site()).unwrap_err();
    // The operating system rejects such a name: the present entry may be tracked, or whole.
    let refused = place.slot.file(&"n".repeat(256));
    tracked_paths(&place.repo, &refused).unwrap_err();
    place.repo.is_intact(&refused).unwrap_err();
    // A directory is no index, whatever an attempt has created.
    assert!(tracked_paths(&place.repo, place.slot.dir()).unwrap().is_empty());
    assert!(!place.repo.is_intact(place.slot.dir()).unwrap());
}

#[tokio::test]
async fn in_the_way_fails_for_an_unreadable_path() {
    let place = Place::new().await;
    let in_the_way = |path: &[u8]| place.repo.in_the_way(&[(b'A', path.to_vec())]);
    assert!(in_the_way(b"none").unwrap().is_empty());
    assert_eq!(in_the_way(b"src").unwrap(), [b"src".to_vec()]);
    in_the_way(&[b'n'; 256]).unwrap_err();
}
