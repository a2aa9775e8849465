//! A remote with the standard repository, and clones of it, for loops that move from machine to machine.

use std::path::PathBuf;

use super::{CHANGE, Cmd, Output, Sandbox, write_program};

/// A remote with the standard repository, and clones of it.
pub struct Remote {
    pub sandbox: Sandbox,
    pub bare: PathBuf,
}

impl Remote {
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// A remote that is made with these arguments of `git clone`.
    pub fn with(args: &[&str]) -> Self {
        Self::of(Sandbox::new(), args)
    }

    /// A remote with the content of this repository.
    pub fn of(sandbox: Sandbox, args: &[&str]) -> Self {
        let bare = sandbox.outside("remote.git");
        let clone = ["clone", "-q", "--bare", ".", bare.to_str().unwrap()];
        sandbox.git(&[args, &clone[..]].concat());
        Self { sandbox, bare }
    }

    pub fn clone(&self, name: &str, args: &[&str]) -> Clone<'_> {
        let dir = self.sandbox.outside(name);
        let url = format!("file://{}", self.bare.display());
        let own = [
            "user.name=A User",
            "user.email=user@example.org",
            "ralph.remote=origin",
        ];
        let own = own.iter().flat_map(|value| ["-c", *value]);
        let mut clone = vec!["clone", "-q", url.as_str(), dir.to_str().unwrap()];
        clone.extend(own.chain(args.iter().copied()));
        self.sandbox.git(&clone);
        Clone { remote: self, dir }
    }

    pub fn git(&self, args: &[&str]) -> String {
        self.sandbox.git_cmd(args).dir(&self.bare).run().exits(0).stdout
    }

    /// Has the remote refuse each push that this condition of sh is true for; `$ref` is the ref.
    pub fn refuse(&self, condition: &str) {
        let hook = format!(
            "#!/bin/sh\nref=$1\nif {condition}; then echo 'refusing to allow this without workflows permission' >&2; exit 1; fi\n"
        );
        write_program(&self.bare.join("hooks/update"), &hook);
    }
}

/// A state commit, taken apart.
#[derive(Clone)]
pub struct StateCommit {
    /// The lines of its tree: mode, kind and object, and a name.
    pub tree: Vec<(String, String)>,
    pub message: String,
    pub parents: Vec<String>,
    /// Contents that are not objects yet, by their names.
    new: Vec<(String, Vec<u8>)>,
    texts: Vec<(String, String)>,
}

impl StateCommit {
    /// Returns the text of a file as it was read.
    pub fn text(&self, file: &str) -> &str {
        let found = self.texts.iter().find(|(name, _)| name == file);
        &found.unwrap().1
    }

    /// Replaces the text of a file.
    pub fn edit(&mut self, file: &str, change: impl Fn(&str) -> String) {
        let text = change(self.text(file));
        self.set(file, text);
    }

    pub fn set(&mut self, file: &str, content: impl Into<Vec<u8>>) {
        self.new.push((file.to_owned(), content.into()));
    }
}

impl Remote {
    fn reading(&self, args: &[&str], input: impl Into<Vec<u8>>) -> String {
        let git = self.sandbox.git_cmd(args).dir(&self.bare);
        git.reading(input).run().exits(0).stdout.trim().to_owned()
    }

    /// Makes an object that may be none that git would make.
    pub fn object(&self, kind: &str, content: impl Into<Vec<u8>>) -> String {
        self.reading(
            &["hash-object", "-w", "--literally", "-t", kind, "--stdin"],
            content,
        )
    }

    /// Reads the state of a loop.
    pub fn state(&self, change: &str) -> StateCommit {
        let reference = format!("refs/ralph/{change}/state");
        let listed = self.git(&["ls-tree", &reference]);
        let tree = listed.lines().filter_map(|line| line.split_once('\t'));
        let tree: Vec<(String, String)> = tree
            .map(|(object, name)| (object.to_owned(), name.to_owned()))
            .collect();
        let text = |name: &String| self.git(&["show", &format!("{reference}:{name}")]);
        StateCommit {
            texts: tree.iter().map(|(_, name)| (name.clone(), text(name))).collect(),
            tree,
            message: self.git(&["log", "-1", "--format=%B", &reference]),
            parents: self
                .git(&["log", "-1", "--format=%P", &reference])
                .split_whitespace()
                .map(ToOwned::to_owned)
                .collect(),
            new: Vec::new(),
        }
    }

    /// Puts such a commit in the place of a loop's state; it may have parents that are not there.
    pub fn put_state(&self, change: &str, state: &StateCommit) {
        let mut lines = String::new();
        for (object, name) in &state.tree {
            let new = state.new.iter().rev().find(|(file, _)| file == name);
            match new {
                Some((_, content)) => {
                    lines.push_str(&format!(
                        "100644 blob {}\t{name}\n",
                        self.object("blob", content.clone())
                    ));
                }
                None => lines.push_str(&format!("{object}\t{name}\n")),
            }
        }
        let tree = self.reading(&["mktree"], lines);
        let who = "E <e@e> 0 +0000";
        let parents: String = state
            .parents
            .iter()
            .map(|oid| format!("parent {oid}\n"))
            .collect();
        let text = format!(
            "tree {tree}\n{parents}author {who}\ncommitter {who}\n\n{}",
            state.message
        );
        let commit = self.object("commit", text);
        self.point(change, &commit);
    }

    /// Has a loop's state name any object.
    pub fn point(&self, change: &str, oid: &str) {
        self.git(&["update-ref", &format!("refs/ralph/{change}/state"), oid]);
    }
}

/// A clone with `ralph.remote` set.
pub struct Clone<'r> {
    pub remote: &'r Remote,
    pub dir: PathBuf,
}

impl Clone<'_> {
    pub fn cmd(&self, args: &[&str]) -> Cmd {
        self.remote.sandbox.git_cmd(args).dir(&self.dir)
    }

    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.cmd(args).run().exits(0).stdout
    }

    pub fn ralph(&self, args: &[&str]) -> Output {
        self.cmd(&[&["ralph"], args].concat()).run()
    }

    /// The attempts: story, number, verdict, reason.
    pub fn attempts(&self) -> Vec<String> {
        let log = self.ralph(&["log", CHANGE, "--json"]).exits(0).json();
        let of = |entry: &serde_json::Value| {
            let keys = ["story", "attempt", "verdict", "reason"];
            keys.map(|key| entry[key].to_string()).join(" ")
        };
        log["attempts"].as_array().unwrap().iter().map(of).collect()
    }
}
