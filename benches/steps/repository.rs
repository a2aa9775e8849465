//! A repository of a given size, and the work of a story in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::measure::{Line, command, timed};

/// Tracked files in one directory.
const WIDTH: usize = 10;
/// Stories that one round may work on.
pub const STORIES: usize = 9;
/// Files that a story touches: ten edited, one deleted.
const TOUCHED: usize = 11;

/// A work tree with its files, made anew for one benchmark.
pub struct Repository {
    pub dir: PathBuf,
    files: usize,
}

impl Repository {
    pub fn make(home: &Path, name: &str, files: usize, ignored: usize) -> Self {
        let dir = home.join(name);
        let this = Self { dir, files };
        for index in 0..files {
            write(&this.path(index), &content(index, "as it was"));
        }
        for index in 0..ignored {
            let path = format!("ignored/{}/{index}.o", index / 100);
            write(&this.dir.join(path), "object\n");
        }
        write(&this.dir.join(".gitignore"), "/ignored/\n");
        this.keep_stories(40);
        let config = "[user]\n\tname = Bench\n\temail = bench@localhost\n[init]\n\tdefaultBranch = main\n";
        write(&home.join("gitconfig"), config);
        this.git(&["init", "-q"]);
        this.git(&["add", "-A"]);
        this.git(&[
            "-c",
            "gc.auto=0",
            "-c",
            "maintenance.auto=false",
            "commit",
            "-q",
            "-m",
            "base",
        ]);
        this.git(&["tag", "base"]);
        this.git(&["gc", "-q"]);
        // Files of the same second as the index would be read again and again.
        thread::sleep(Duration::from_millis(1100));
        this.git(&["update-index", "-q", "--refresh", "--force-write-index"]);
        this
    }

    /// Writes a list of this many stories; it is not committed.
    pub fn keep_stories(&self, stories: u32) {
        let stories: Vec<String> = (1..=stories)
            .map(|story| format!("## {story}. Story\n- [ ] {story}.1 do it\n"))
            .collect();
        write(&self.dir.join("tasks.md"), &stories.join("\n"));
    }

    /// Makes this repository's git write as durably as git-ralph's does.
    pub fn make_durable(&self) {
        self.git(&["config", "core.fsync", "committed,reference"]);
        self.git(&["config", "core.fsyncMethod", "batch"]);
    }

    /// Back to the state before the first loop; nothing of any loop is left.
    pub fn reset(&self) {
        self.git(&["checkout", "-q", "-f", "-B", "main", "base"]);
        self.git(&["clean", "-q", "-ffd"]);
        for dir in [
            ".git/ralph",
            ".git/refs/ralph",
            ".git/refs/heads/ralph",
            ".git/logs/refs/ralph",
        ] {
            let _ = fs::remove_dir_all(self.dir.join(dir));
        }
    }

    /// The work of a story: ten files edited, one deleted, three added, one of them in a new directory.
    pub fn work(&self, story: usize) {
        assert!(story < STORIES);
        let nth = |at: usize| self.path((story * TOUCHED + at) * self.files / 100);
        for at in 0..TOUCHED - 1 {
            write(&nth(at), &content(at, &format!("as story {story} wants it")));
        }
        fs::remove_file(nth(TOUCHED - 1)).unwrap();
        for name in ["d0/new", "d1/new", "fresh/new"] {
            write(&self.dir.join(format!("{name}-{story}")), &content(story, name));
        }
    }

    /// A commit on `main` that changes one file, while another branch is checked out.
    pub fn move_main(&self) {
        let blob = "echo moved | git hash-object -w --stdin";
        let file = self.path(self.files - 1);
        let file = file.strip_prefix(&self.dir).unwrap().display();
        let script = format!(
            "set -e; export GIT_INDEX_FILE=.git/bench.index; git read-tree main; \
             git update-index --cacheinfo 100644,$({blob}),{file}; \
             git update-ref refs/heads/main $(git commit-tree -p main -m moved $(git write-tree)); \
             rm .git/bench.index"
        );
        timed(&self.dir, &[Line::new(&["sh", "-c", &script])]);
    }

    pub fn git(&self, args: &[&str]) {
        let argv: Vec<&str> = ["git"].iter().chain(args).copied().collect();
        timed(&self.dir, &[Line::new(&argv)]);
    }

    pub fn oid(&self, name: &str) -> String {
        let output = command("git", &self.dir)
            .args(["rev-parse", name])
            .stdout(std::process::Stdio::piped())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn path(&self, index: usize) -> PathBuf {
        let dir = index / WIDTH;
        self.dir.join(format!("d{}/e{dir}/file-{index}.txt", dir / WIDTH))
    }
}

fn content(index: usize, how: &str) -> String {
    format!("file {index} {how}\n").repeat(30)
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
