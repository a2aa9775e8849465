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
fn nothing_is_changed_behind_a_link_or_out_of_the_directory() {
    let (dir, below, out) = laid_out();
    let before = print(&out);
    let own = dir.path().join("top/own");
    for link in ["link", "in/link", "in/../../out", "../out", out.to_str().unwrap()] {
        for name in ["file", "new", "deep", "deep/er", "deep/new"] {
            let path = Path::new(link).join(name);
            assert!(
                !below.exists(&path) && !below.is_dir(&path) && !below.is_free(&path),
                "{path:?}"
            );
            below.write(&path, b"x", 0o777, Durability::Synced).unwrap_err();
            below.append(&path, b"x").unwrap_err();
            below.copy(&own, &path).unwrap_err();
            below.make_dir(&path, 0o777).unwrap_err();
            below.link(&own, &path).unwrap_err();
            below.set_mode(&path, 0o777).unwrap_err();
            below.open_or_make(&path).unwrap_err();
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
fn a_file_with_another_name_is_replaced_and_never_changed() {
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
    assert!(below.is_dir(Path::new("a/b")) && below.is_free(Path::new("a/none/x")));
    below.remove_empty_dir(Path::new("a")).unwrap_err();
    below.remove(Path::new("a")).unwrap();
    below.remove(Path::new("a")).unwrap();
    assert!(!dir.path().join("top/a").exists());
    let later = Below::new(&dir.path().join("later"));
    later.make_dir(Path::new("x/y"), 0o700).unwrap();
    assert!(later.is_dir(Path::new("x/y")));
    assert_eq!(print(&out), before);
}
