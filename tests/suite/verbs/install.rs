//! `git ralph install`: the pages and completions are found by man and the shells, and nobody's own file is touched.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use git_ralph::tables::bundled_files;

use crate::support::{Cmd, Output, Sandbox};

const BASH: &str = "bash-completion/completions/git-ralph";

#[test]
fn program_bundles_all_pages_and_completions_of_the_source() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wanted: Vec<String> = ["man", "completions"]
        .iter()
        .flat_map(|dir| fs::read_dir(top.join(dir)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let mut brought: Vec<String> = bundled_files()
        .into_iter()
        .map(|(_, text)| text.to_owned())
        .collect();
    wanted.sort();
    brought.sort();
    assert!(
        wanted == brought,
        "what install brings is not what is in man/ and completions/"
    );
    for (place, text) in bundled_files() {
        let name = place.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".1") || name.ends_with(".7") {
            assert_eq!(
                text,
                fs::read_to_string(top.join("man").join(name)).unwrap(),
                "{name}"
            );
        }
    }
}

#[test]
fn install_prints_each_path_once_and_writes_nothing_twice() {
    let place = Place::new();
    let output = place.install(&[]).exits(0);
    let mut told: Vec<PathBuf> = output.stdout.lines().map(PathBuf::from).collect();
    told.sort();
    let there = place.files();
    assert_eq!(told, there.keys().cloned().collect::<Vec<_>>());
    for (file, text) in bundled_files() {
        let path = place.share.join(file);
        assert_eq!(there[&path], text, "{}", path.display());
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o444, 0o444, "{} cannot be read by all", path.display());
    }
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
    let inodes: Vec<u64> = there.keys().map(|path| inode(path)).collect();
    let again = place.install(&[]).exits(0).answers_nothing();
    for path in there.keys() {
        assert!(
            again.stderr.contains(&format!("unchanged: {}\n", path.display())),
            "{}",
            again.stderr
        );
    }
    assert_eq!(inodes, there.keys().map(|path| inode(path)).collect::<Vec<_>>());
}

#[test]
fn uninstall_leaves_earlier_files() {
    let place = Place::new();
    // One directory of the way is somebody's, with a file in it; the others are made.
    fs::create_dir_all(place.share.join("man/man1")).unwrap();
    fs::write(place.share.join("man/man1/other.1"), "mine\n").unwrap();
    let before = place.everything();
    place.install(&[]).exits(0);
    let told = place.install(&["--uninstall"]).exits(0);
    assert_eq!(place.everything(), before);
    assert!(told.stdout.contains("man/man1/git-ralph.1\n"), "{}", told.stdout);
    place
        .install(&["--uninstall"])
        .exits(0)
        .says("nothing is installed")
        .answers_nothing();
    assert_eq!(place.everything(), before);
}

#[test]
fn a_prefix_is_made_and_unmade() {
    let place = Place::new();
    let prefix = place.sandbox.outside("a prefix");
    let args = ["--prefix", prefix.to_str().unwrap()];
    place.install(&args).exits(0);
    assert!(prefix.join("share").join(BASH).is_file());
    assert!(place.files().is_empty());
    // Relative to the current directory it is the same place.
    place
        .install(&["--prefix", "../a prefix"])
        .exits(0)
        .answers_nothing();
    place.install(&[&args[..], &["--uninstall"]].concat()).exits(0);
    assert!(!prefix.exists());
}

#[test]
fn install_uses_the_home_directory_without_a_data_directory() {
    let place = Place::new();
    for value in ["", "relative"] {
        place.cmd(&[]).env("XDG_DATA_HOME", value).run().exits(0);
        let share = place.sandbox.outside("home/.local/share");
        assert!(share.join(BASH).is_file());
        fs::remove_dir_all(share).unwrap();
    }
    let homeless = place.cmd(&[]).env("XDG_DATA_HOME", "").env("HOME", "");
    homeless.run().exits(1).says("HOME is not set").answers_nothing();
}

#[test]
fn install_and_uninstall_leave_changed_files() {
    let place = Place::new();
    place.install(&[]).exits(0);
    let changed = place.share.join(BASH);
    let linked = place.share.join("zsh/site-functions/_git-ralph");
    let removed = place.share.join("man/man1/git-ralph.1");
    fs::write(&changed, "mine\n").unwrap();
    fs::remove_file(&linked).unwrap();
    symlink("nowhere", &linked).unwrap();
    fs::remove_file(&removed).unwrap();
    let output = place.install(&[]).exits(7);
    assert_eq!(output.stdout.lines().next(), removed.to_str());
    for path in [&changed, &linked] {
        output.clone().says(&format!("left alone: {}", path.display()));
    }
    assert_eq!(fs::read_to_string(&changed).unwrap(), "mine\n");
    assert_eq!(fs::read_link(&linked).unwrap(), Path::new("nowhere"));
    let output = place.install(&["--uninstall", "-q"]).exits(0);
    output.says(&format!("left alone: {}", changed.display()));
    assert_eq!(fs::read_to_string(&changed).unwrap(), "mine\n");
    assert_eq!(fs::read_link(&linked).unwrap(), Path::new("nowhere"));
    assert!(!removed.parent().unwrap().exists());
}

#[test]
fn install_and_uninstall_treat_files_of_another_version_as_own() {
    let place = Place::new();
    let old = |place: &Place| {
        place.install(&[]).exits(0);
        let path = place.share.join(BASH);
        fs::write(&path, "old\n").unwrap();
        // A page that this version does not have.
        fs::write(place.share.join("man/man1/git-ralph-gone.1"), "gone\n").unwrap();
        let receipt = place.share.join("git-ralph/installed.json");
        let mut noted: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&receipt).unwrap()).unwrap();
        noted["files"][BASH] = serde_json::json!(["old\n"]);
        noted["files"]["man/man1/git-ralph-gone.1"] = serde_json::json!(["gone\n"]);
        fs::write(&receipt, noted.to_string()).unwrap();
        path
    };
    let path = old(&place);
    let output = place.install(&[]).exits(0);
    assert_eq!(output.stdout.lines().next(), path.to_str());
    assert_ne!(fs::read_to_string(&path).unwrap(), "old\n");
    place.install(&[]).exits(0).answers_nothing();
    old(&place);
    place.install(&["--uninstall"]).exits(0);
    assert!(place.everything().is_empty(), "{:?}", place.everything());
}

#[test]
fn a_path_that_cannot_be_written_is_named() {
    let place = Place::new();
    let file = place.sandbox.outside("file");
    fs::write(&file, "").unwrap();
    let output = place.install(&["--prefix", file.to_str().unwrap()]).exits(1);
    output.says(file.to_str().unwrap()).answers_nothing();
    let receipt = place.share.join("git-ralph/installed.json");
    fs::create_dir_all(receipt.parent().unwrap()).unwrap();
    fs::write(&receipt, r#"{"version":2,"directories":[],"files":{}}"#).unwrap();
    let output = place.install(&[]).exits(1).says("newer git-ralph");
    output.says(receipt.to_str().unwrap());
    assert_eq!(place.files().len(), 1);
}

#[test]
fn man_finds_the_pages() {
    if !crate::installed("man") {
        return;
    }
    let place = Place::new();
    // With a search path of its own, man is asked about that.
    let elsewhere = place.sandbox.outside("notes");
    let output = place.cmd(&[]).env("MANPATH", &elsewhere).run().exits(0);
    let dir = place.share.join("man");
    output.says(&format!("man does not look in {}", dir.display()));
    let output = place.cmd(&[]).env("MANPATH", &dir).run().exits(0);
    assert!(!output.stderr.contains("man does not"), "{}", output.stderr);
    let found = place
        .sandbox
        .cmd("man")
        .args(["-w", "git-ralph-next"])
        .dir(&place.dir);
    let found = found.env("MANPATH", &dir).run().exits(0);
    let page = dir.join("man1/git-ralph-next.1");
    assert_eq!(found.stdout.trim(), page.to_str().unwrap());
}

#[test]
fn bash_loads_the_completion_automatically() {
    let loader = "/usr/share/bash-completion/bash_completion";
    if !crate::installed("bash") || !Path::new(loader).exists() {
        return;
    }
    let place = Place::new();
    let output = place.install(&[]).exits(0);
    assert!(!output.stderr.contains("bash does not"), "{}", output.stderr);
    let script = format!(
        "source {loader}; _completion_loader git\n\
         COMP_LINE='git ralph sta' COMP_POINT=13 COMP_WORDS=(git ralph sta) COMP_CWORD=2 COMP_TYPE=9\n\
         __git_wrap__git_main; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let offered = place.sandbox.cmd("bash").args(["--norc", "-c", &script]);
    let offered = offered.dir(&place.dir).run();
    let mut words: Vec<&str> = offered.stdout.split_whitespace().collect();
    words.sort_unstable();
    assert_eq!(words, ["start", "status"], "{}", offered.stderr);
}

#[test]
fn install_prints_the_source_line_for_bash_below_a_prefix() {
    if !crate::installed("bash") {
        return;
    }
    let place = Place::new();
    let prefix = place.sandbox.outside("prefix");
    let output = place.install(&["--prefix", prefix.to_str().unwrap()]).exits(0);
    output.says(&format!("source {}", prefix.join("share").join(BASH).display()));
}

#[test]
fn install_prints_the_fpath_line_for_zsh_until_it_is_set() {
    if !crate::installed("zsh") {
        return;
    }
    let place = Place::new();
    let dir = place.share.join("zsh/site-functions");
    let line = format!("fpath=({} $fpath)", dir.display());
    place.install(&[]).exits(0).says(&line);
    let zshrc = place.sandbox.outside("home/.zshrc");
    fs::write(&zshrc, format!("# {line}\n")).unwrap();
    place.install(&[]).exits(0).says(&line);
    fs::write(&zshrc, format!("{line}\n")).unwrap();
    let output = place.install(&[]).exits(0);
    assert!(!output.stderr.contains("zsh does not"), "{}", output.stderr);
}

#[test]
fn fish_loads_the_completion_automatically() {
    if !crate::installed("fish") {
        return;
    }
    let place = Place::new();
    let output = place.install(&[]).exits(0);
    assert!(!output.stderr.contains("fish does not"), "{}", output.stderr);
    // Fish makes it when it is asked.
    assert!(!place.sandbox.outside("config/fish").exists());
    let script = "complete -C 'git-ralph sta'";
    let offered = place.sandbox.cmd("fish").args(["-c", script]).dir(&place.dir);
    let offered = offered.run().exits(0);
    let words: Vec<&str> = offered.stdout.split_whitespace().collect();
    assert!(words.starts_with(&["start"]), "{}", offered.stdout);
}

/// A sandbox without a repository.
struct Place {
    sandbox: Sandbox,
    dir: PathBuf,
    share: PathBuf,
}

impl Place {
    fn new() -> Self {
        let sandbox = Sandbox::empty();
        let dir = sandbox.outside("home");
        let share = sandbox.outside("data");
        Self { sandbox, dir, share }
    }

    fn cmd(&self, args: &[&str]) -> Cmd {
        self.sandbox.ralph_cmd(&["install"]).args(args).dir(&self.dir)
    }

    #[track_caller]
    fn install(&self, args: &[&str]) -> Output {
        self.cmd(args).run()
    }

    /// Files below the data directory, with their text; for other things than files there is none.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let all = self.everything().into_iter();
        all.filter_map(|(path, text)| Some((path, text?))).collect()
    }

    /// Everything below the data directory of ours; what shells keep there is none of our business.
    fn everything(&self) -> BTreeMap<PathBuf, Option<String>> {
        let mut found = BTreeMap::new();
        let mut left = vec![self.share.clone()];
        while let Some(dir) = left.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                let path = entry.path();
                if entry.file_type().unwrap().is_dir() {
                    left.push(path.clone());
                    found.insert(path, None);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    found.insert(path, Some(text));
                }
            }
        }
        found
    }
}
