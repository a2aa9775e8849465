//! A container that runs as root leaves files in the work tree while somebody else's attempt runs. Whatever cannot be done
//! then names what to type, `status` and `log` show the loop all the same, nothing is lost, and once that was typed, the same
//! command ends as if the files had been one's own.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

use crate::matrix::states::gives_away;
use crate::support::{CHANGE, Output, Sandbox, wait_for};
use crate::{nothing_of, stride};

/// What is left: a name, a script in the top directory, and what belongs to root then.
type Leaving = (&'static str, &'static str, &'static [&'static str]);

const LEAVINGS: &[Leaving] = &[
    (
        "a directory",
        "mkdir -p out/deep; echo x >out/deep/f; echo y >out/f",
        &["out", "out/deep", "out/deep/f", "out/f"],
    ),
    ("a file", "echo x >made", &["made"]),
    ("a closed file", "echo x >made; chmod 600 made", &["made"]),
    (
        "a closed directory",
        "mkdir out; echo x >out/f; chmod 700 out",
        &["out", "out/f"],
    ),
    ("a tracked file", "echo x >>src/lib.txt", &["src/lib.txt"]),
    (
        "a closed tracked file",
        "echo x >>src/lib.txt; chmod 600 src/lib.txt",
        &["src/lib.txt"],
    ),
    (
        "a directory of tracked files",
        "echo x >>src/lib.txt; echo n >src/new; rm src/deep/er/file.txt",
        &["src", "src/lib.txt", "src/new", "src/deep", "src/deep/er"],
    ),
    (
        "ignored files",
        "mkdir -p target/built; echo x >target/built/o; echo S >.env; rm -f a.log",
        &["target", "target/built", "target/built/o", ".env"],
    ),
    (
        "a closed ignored directory",
        "mkdir -p target/built; echo x >target/built/o; chmod 700 target target/built",
        &["target", "target/built", "target/built/o"],
    ),
    (
        "rules",
        "echo '*.tmp' >>.gitignore; chmod 600 .gitignore; echo x >x.tmp",
        &[".gitignore"],
    ),
    (
        "a repository",
        "git init -q --template= app; echo a >app/a",
        &["app", "app/a", "app/.git"],
    ),
    (
        "the place of a directory",
        "rm -r src/deep; echo f >src/deep; ln -s nowhere dangling",
        &["src/deep", "dangling"],
    ),
];

/// How the loop goes on and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The attempt fails, and the loop is aborted.
    Failed,
    /// The story is complete, and the loop is aborted.
    Abort,
    Cleanup,
    Keep,
}

struct Case {
    sandbox: Sandbox,
    what: String,
    wrong: Vec<String>,
}

impl Case {
    /// Runs a command until it ends; does what it says meanwhile, as root.
    fn through(&mut self, args: &[&str], of_root: &[&str], first: Option<Output>) -> Output {
        let mut output = first.unwrap_or_else(|| self.sandbox.ralph(args));
        for _ in 0..6 {
            if [0, 3].contains(&output.code) {
                return output;
            }
            let paths = match named(&output.stderr) {
                Some(path) => vec![path],
                // Git's words have the name.
                None if output.stderr.contains("another user") => of_root.to_vec(),
                None => break,
            };
            for verb in ["status", "log"] {
                let shown = self.sandbox.ralph(&[verb]);
                if shown.code != 0 {
                    self.say(&format!("{verb}: exit {}: {}", shown.code, shown.stderr));
                }
            }
            for path in paths {
                give_back(&self.sandbox.top.join(path), &self.sandbox);
            }
            output = self.sandbox.ralph(args);
        }
        let text = format!("{args:?}: exit {}: {}", output.code, output.stderr);
        self.say(&text);
        output
    }

    fn say(&mut self, what: &str) {
        self.wrong.push(what.to_owned());
    }

    fn same(&mut self, when: &str, was: &Print, is: &Print) {
        let paths: std::collections::BTreeSet<_> = was.keys().chain(is.keys()).collect();
        for path in paths {
            let (was, is) = (was.get(path), is.get(path));
            if was != is {
                self.say(&format!(
                    "{when}: {}: {is:.40?} instead of {was:.40?}",
                    path.display()
                ));
            }
        }
    }

    fn judge(mut self, (_, script, of_root): &Leaving, end: End) -> Option<String> {
        self.sandbox.write("mine", "untracked\n");
        self.sandbox.write("README.md", "edited\n");
        let before = self.sandbox.files();
        self.sandbox.start();
        let promise = if end == End::Failed {
            "failed red"
        } else {
            "complete"
        };
        let agent = self.sandbox.agent(&format!(
            "echo work >work; echo more >>README.md; {script}; touch \"$notes/made\"
             until test -e \"$notes/go\"; do sleep 0.02; done; {promise}"
        ));
        let attempt = self.sandbox.direct(&["next", "--", &agent]).start();
        wait_for(&self.sandbox.notes.join("made"));
        for path in *of_root {
            lchown(self.sandbox.top.join(path), Some(0), Some(0)).unwrap();
        }
        fs::write(self.sandbox.notes.join("go"), "").unwrap();
        let ended = attempt.end();
        if ended.stderr.contains("another user") {
            // What an attempt left is kept by the next command, and the attempt is undone.
            self.through(&["revert"], of_root, Some(ended));
        } else if ![0, 3].contains(&ended.code) {
            self.say(&format!("next: exit {}: {}", ended.code, ended.stderr));
        }
        self.is_kept();
        let close = match end {
            End::Failed | End::Abort => &["abort", CHANGE][..],
            End::Cleanup => &["finish", "--cleanup", CHANGE],
            End::Keep => &["finish", "--keep", CHANGE],
        };
        let found = self.sandbox.files();
        self.through(close, of_root, None);
        match end {
            End::Failed | End::Abort => {
                let now = self.sandbox.files();
                self.same("abort", &is_of_git(before), &is_of_git(now));
            }
            End::Cleanup | End::Keep => self.same("finish", &found, &self.sandbox.files()),
        }
        let what = self.what;
        (!self.wrong.is_empty()).then(|| format!("{what}:\n{}", self.wrong.join("\n")))
    }

    /// The agent's file is in a commit that a ref keeps.
    fn is_kept(&mut self) {
        let work = self
            .sandbox
            .cmd("sh")
            .args(["-c", "echo work | git hash-object --stdin"])
            .run()
            .stdout;
        let kept = self.sandbox.git(&["rev-list", "--objects", "--all"]);
        if !kept.lines().any(|line| line.starts_with(work.trim())) {
            self.say("the agent's work is not kept");
        }
    }
}

type Print = std::collections::BTreeMap<PathBuf, String>;

/// What is not ignored.
fn is_of_git(mut files: Print) -> Print {
    files.retain(|path, _| !path.starts_with("target") && !path.starts_with(".env"));
    files
}

/// The path that a message says to give to oneself.
fn named(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("sudo chown -R \"$(id -u)\" ")?;
    rest.split(';').next()
}

/// Gives a path to whoever owns the repository, as `chown -R` does.
fn give_back(path: &Path, sandbox: &Sandbox) {
    let owner = sandbox.outside("notes").metadata().unwrap();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let found = path.symlink_metadata().unwrap();
        if found.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        lchown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
}

#[test]
fn what_a_container_leaves_stops_nothing_for_good() {
    let mut found = Vec::new();
    let ends = [End::Failed, End::Abort, End::Cleanup, End::Keep];
    let step = stride(6, 2);
    for (place, leaving) in LEAVINGS.iter().enumerate() {
        for (number, end) in ends.into_iter().enumerate() {
            if (place + number) % step != 0 {
                continue;
            }
            let Some(sandbox) = Sandbox::unprivileged().filter(|_| gives_away()) else {
                return;
            };
            let what = format!("{} x {end:?}", leaving.0);
            let case = Case {
                sandbox,
                what,
                wrong: Vec::new(),
            };
            found.extend(case.judge(leaving, end));
        }
    }
    nothing_of(&found);
}
