use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A directory `top` with a link `link` to the directory `out`, which has a file and a directory.
fn laid_out() -> (tempfile::TempDir, Below, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (top, out) = (dir.path().join("top"), dir.path().join("out"));
    fs::create_dir_all(out.join("deep")).unwrap();
    fs::create_dir_all(top.join("in")).unwrap();
    for file in [out.join("file"), out.join("deep/er"), top.join("own")] {
        fs::write(file, "of the user").unwrap();
    }
    symlink(&out, top.join("link")).unwrap();
    symlink("../../out", top.join("in/link")).unwrap();
    (dir, Below::new(&top), out)
}

fn print(out: &Path) -> Vec<(u32, u64, i64, i64, Vec<u8>)> {
    ["", "file", "deep", "deep/er"]
        .map(|name| {
            let (path, is) = (out.join(name), out.join(name).metadata().unwrap());
            let text = fs::read(&path).unwrap_or_default();
            (is.mode(), is.nlink(), is.mtime(), is.mtime_nsec(), text)
        })
        .to_vec()
}

#[test]
fn below_changes_nothing_behind_a_link_or_outside_its_directory() {
    let (dir, below, out) = laid_out();
    let before = print(&out);
    let own = dir.path().join("top/own");
    for link in ["link", "in/link", "in/../../out", "../out", out.to_str().unwrap()] {
        for name in ["file", "new", "deep", "deep/er", "deep/new"] {
            let path = Path::new(link).join(name);
            assert!(
                !below.exists(&path).unwrap_or(false)
                    && !below.is_dir(&path)
                    && !below.is_free(&path).unwrap_or(false),
                "{path:?}"
            );
            below.write(&path, b"x", 0o777, Durability::Synced).unwrap_err();
            below.append(&path, b"x").unwrap_err();
            below.copy(&own, &path).unwrap_err();
            below.make_dir(&path, 0o777).unwrap_err();
            below.link(&own, &path).unwrap_err();
            below.set_mode(&path, 0o777).unwrap_err();
            below.open_or_make(&path).unwrap_err();
            below.make_file(&path, 0o666).unwrap_err();
            below.begin_file(&path).unwrap_err();
            below.touch(&path).unwrap_err();
            below.add_name(Path::new("own"), &path).unwrap_err();
            below.add_name(&path, Path::new("stolen")).unwrap_err();
            below.move_to(&path, &below, Path::new("stolen")).unwrap_err();
            assert!(!below.give(&path, 0o7777));
            below.remove_empty_dir(&path).unwrap_err();
            below.rename(&path, &below, Path::new("stolen")).unwrap_err();
            below.rename(Path::new("own"), &below, &path).unwrap_err();
            let _ = (below.remove(&path), below.remove_file(&path));
            assert_eq!(print(&out), before, "{path:?}");
        }
    }
    for link in ["link", "in/link"].map(Path::new) {
        below.set_mode(link, 0o700).unwrap();
        below.append(link, b"x").unwrap_err();
        below.make_dir(link, 0o777).unwrap_err();
        below.rename(link, &below, Path::new("moved/link")).unwrap();
        below.remove(Path::new("moved")).unwrap();
        assert_eq!(print(&out), before);
    }
    assert!(own.exists() && !dir.path().join("top/link").is_symlink());
}

#[test]
fn below_replaces_a_hard_linked_file_and_never_changes_it() {
    let (dir, below, out) = laid_out();
    fs::hard_link(out.join("file"), dir.path().join("top/same")).unwrap();
    let before = print(&out);
    let same = Path::new("same");
    below.set_mode(same, 0o4777).unwrap();
    assert_eq!(print(&out), before);
    below.append(same, b", and more").unwrap();
    let text = fs::read_to_string(dir.path().join("top/same")).unwrap();
    assert_eq!(text, "of the user, and more");
    below.append(same, b"!").unwrap();
    below.write(same, b"x", 0o640, Durability::Whole).unwrap();
    assert_eq!(
        dir.path().join("top/same").metadata().unwrap().mode() & 0o7777,
        0o640
    );
    let others = |print: Vec<(u32, u64, i64, i64, Vec<u8>)>| {
        let without_names = print
            .into_iter()
            .map(|(mode, _, at, nanos, text)| (mode, at, nanos, text));
        without_names.collect::<Vec<_>>()
    };
    assert_eq!(others(print(&out)), others(before));
}

#[test]
fn directories_are_made_and_removed_with_all_that_is_in_them() {
    let (dir, below, out) = laid_out();
    let before = print(&out);
    below.copy(&out.join("file"), Path::new("a/b/c")).unwrap();
    symlink(&out, dir.path().join("top/a/link")).unwrap();
    below.set_mode(Path::new("a/b"), 0o500).unwrap();
    assert!(below.is_dir(Path::new("a/b")) && below.is_free(Path::new("a/none/x")).unwrap());
    below.remove_empty_dir(Path::new("a")).unwrap_err();
    below.remove(Path::new("a")).unwrap();
    below.remove(Path::new("a")).unwrap();
    assert!(!dir.path().join("top/a").exists());
    let later = Below::new(&dir.path().join("later"));
    later.make_dir(Path::new("x/y"), 0o700).unwrap();
    assert!(later.is_dir(Path::new("x/y")));
    assert_eq!(print(&out), before);
}

#[test]
fn files_begin_empty_and_only_an_own_one_gets_a_new_time() {
    let (dir, below, out) = laid_out();
    let before = print(&out);
    let at = |name: &str| dir.path().join("top").join(name);
    fs::hard_link(out.join("file"), at("same")).unwrap();
    symlink(out.join("file"), at("led")).unwrap();
    below.make_file(Path::new("own"), 0o600).unwrap_err();
    below.make_file(Path::new("led"), 0o600).unwrap_err();
    below.touch(Path::new("led")).unwrap_err();
    assert!(!below.touch(Path::new("same")).unwrap() && below.touch(Path::new("own")).unwrap());
    for name in ["same", "led", "own", "new"] {
        let mut file = below.begin_file(Path::new(name)).unwrap();
        file.write_all(b"text").unwrap();
        assert_eq!(fs::read(at(name)).unwrap(), b"text");
        assert_eq!(at(name).symlink_metadata().unwrap().mode() & 0o7777, 0o600);
    }
    below.add_name(Path::new("own"), Path::new("also")).unwrap();
    assert!(!below.give(Path::new("also"), 0o7777));
    symlink("none", at("in/dangling")).unwrap();
    assert_eq!(below.remove_specials(Path::new("in")).unwrap().len(), 2);
    assert_eq!(print(&out), before);
}

#[test]
fn the_directory_may_be_a_relative_path() {
    let below = Below::new(Path::new("a"));
    assert_eq!(below.path(Path::new("a/b")), Path::new("a/b"));
    assert_eq!(below.path(Path::new("b")), Path::new("a/b"));
    assert_eq!(
        Below::of_loop(Path::new("a/ralph/x")).path(Path::new("a/b")),
        Path::new("a/b")
    );
}
