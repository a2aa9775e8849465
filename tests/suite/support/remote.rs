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
        let sandbox = Sandbox::new();
        let bare = sandbox.outside("remote.git");
        let clone = ["clone", "-q", "--bare", ".", bare.to_str().unwrap()];
        sandbox.git(&[args, &clone[..]].concat());
        Self { sandbox, bare }
    }

    pub fn clone(&self, name: &str, args: &[&str]) -> Clone<'_> {
        let dir = self.sandbox.outside(name);
        let url = format!("file://{}", self.bare.display());
        self.sandbox
            .git(&[&["clone", "-q", &url, dir.to_str().unwrap()], args].concat());
        let clone = Clone { remote: self, dir };
        clone.git(&["config", "user.name", "A User"]);
        clone.git(&["config", "user.email", "user@example.org"]);
        clone.git(&["config", "ralph.remote", "origin"]);
        clone
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
