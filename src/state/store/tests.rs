//! The permissions of the loops' files.

use std::fs;

use super::*;
use nix::unistd::geteuid;
use std::os::unix::fs::{chown, symlink};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn the_directory_of_all_loops_is_shared_as_the_repository_is() {
    for (repository, root) in [(0o700, 0o700), (0o755, 0o700), (0o770, 0o770), (0o775, 0o775)] {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(repository)).unwrap();
        let store = Store::new(dir.path(), &Change::new("c").unwrap());
        store.make_dirs().unwrap();
        assert_eq!(mode(&dir.path().join("ralph")), root, "{repository:o}");
        assert_eq!(mode(&store.dir()), 0o700);
    }
}

#[test]
fn clear_root_replaces_a_link_and_makes_no_missing_repository() {
    let dir = tempfile::tempdir().unwrap();
    let (root, out) = (dir.path().join("ralph"), dir.path().join("out"));
    fs::create_dir(&out).unwrap();
    symlink(&out, &root).unwrap();
    clear_root(&root).unwrap();
    assert!(!root.is_symlink() && root.is_dir());
    clear_root(&dir.path().join("gone/ralph")).unwrap();
    assert!(!dir.path().join("gone").exists());
}

#[test]
fn denied_file_of_another_user_is_a_foreign_state() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c.toml");
    fs::write(&file, "").unwrap();
    let denied = |path: &Path| {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        StateError::from(file_error("read", path, source))
    };
    assert!(matches!(denied(&file), StateError::File(_)));
    let theirs = if geteuid().is_root() {
        chown(&file, Some(65533), None).unwrap();
        file.as_path()
    } else {
        Path::new("/")
    };
    assert!(matches!(denied(theirs), StateError::Foreign { .. }));
}

#[test]
fn unreadable_list_of_loops_is_an_error_and_not_empty() {
    let dir = tempfile::tempdir().unwrap();
    assert!(changes(dir.path()).unwrap().is_empty());
    fs::write(dir.path().join("ralph"), "").unwrap();
    assert!(changes(dir.path()).is_err());
    assert!(changes(&dir.path().join("n".repeat(256))).is_err());
}

#[test]
fn a_request_to_stop_is_for_one_process_and_for_no_later_one_of_its_number() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path(), &Change::new("c").unwrap());
    store.make_dirs().unwrap();
    let own = processes::ourselves();
    store.ask_to_stop(own).unwrap();
    assert!(store.is_asked_to_stop());
    let Some(start) = processes::started_at(own) else {
        return;
    };
    let request = store.file(STOP);
    let earlier = fs::read_to_string(&request).unwrap();
    let earlier = earlier.replace(&start.to_string(), &(start - 1).to_string());
    fs::write(&request, earlier).unwrap();
    assert!(!store.is_asked_to_stop());
}
