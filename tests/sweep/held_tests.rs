//! Tests held to what they were, in projects of several languages: ways of weakening them, what honest work may do, what
//! needs a person's word, and what no setting sees.

mod go;
mod javascript;
mod make;
mod pytest;
mod rust;
mod shell;
mod unittest;

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{CHANGE, Output, Sandbox, TASKS};

/// What an attempt does: its name, and a script.
type Deed = (&'static str, &'static str);

/// A project with tests.
struct Project {
    /// The program that runs its tests.
    program: &'static str,
    /// The gate.
    gate: &'static str,
    /// The pathspecs of its tests.
    tests: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    /// Every how many-th of what is tried a bounded sweep takes: some gates take a second.
    bounded: usize,
    /// The files that are programs.
    programs: &'static [&'static str],
    /// Breaks the work.
    broken: &'static str,
    /// What attempts do whose work is broken, each in another way that lets the gate pass.
    cheats: &'static [Deed],
    /// The same, but the gates pass with the tests as they were too: it is docs/judge.md that tells of these.
    unseen: &'static [Deed],
    /// What attempts do whose work is done.
    honest: &'static [Deed],
    /// What attempts do whose story is to change tests: accepted with a person's word alone.
    allowed: &'static [Deed],
}

/// The kinds of what is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cheat,
    Honest,
    Allowed,
    Unseen,
}

/// Begins the reason of an attempt that the second run refuses.
const WHY: [&str; 2] = [
    "the gates pass only with what the attempt made of",
    "the gates changed test files while they ran",
];

impl Project {
    /// Returns a selection of what is tried, or all of it.
    fn selection(&self) -> impl Iterator<Item = (Kind, &'static Deed)> {
        let stride = crate::stride(30, self.bounded);
        [
            (Kind::Cheat, self.cheats),
            (Kind::Honest, self.honest),
            (Kind::Allowed, self.allowed),
            (Kind::Unseen, self.unseen),
        ]
        .into_iter()
        .flat_map(move |(kind, deeds)| deeds.iter().step_by(stride).map(move |deed| (kind, deed)))
    }

    /// Returns a sandbox with the project; the gate has these assignments in front.
    fn sandbox(&self, env: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.write(
            TASKS,
            "## 1. Story\n- [ ] 1.1 Do it\n\n## 2. Story\n- [ ] 2.1 Do it\n",
        );
        self.write(&sandbox);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", "project"]);
        sandbox.configure("ralph.verify", &format!("{env}{}", self.gate));
        for pathspec in self.tests {
            sandbox.git(&["config", "--add", "ralph.tests", pathspec]);
        }
        sandbox.configure("ralph.maxRetries", "1000");
        sandbox.start();
        sandbox
    }

    fn write(&self, sandbox: &Sandbox) {
        for (path, text) in self.files {
            sandbox.write(path, text);
        }
        for path in self.programs {
            fs::set_permissions(sandbox.top.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Makes an attempt in the given way, and returns what came of it, with what is wrong with that.
    fn attempt(&self, sandbox: &Sandbox, step: &str, kind: Kind, script: &str) -> (Output, bool) {
        let is_broken = matches!(kind, Kind::Cheat | Kind::Unseen);
        let broken = if is_broken { self.broken } else { "" };
        let agent = sandbox.completing(&format!("set -e\n{broken}\n{script}"));
        let made = |args: &[&str]| {
            let rest = ["--", &agent];
            sandbox.ralph_cmd(&[args, &rest].concat()).patiently().run()
        };
        let output = made(&[step]);
        let is_refused = output.code == 3 && WHY.iter().any(|why| output.stderr.contains(why));
        match kind {
            Kind::Cheat => (output, is_refused),
            Kind::Honest | Kind::Unseen => {
                let is_accepted = output.code == 0;
                (output, is_accepted)
            }
            Kind::Allowed if is_refused => {
                let output = made(&["retry", "--allow-test-changes"]);
                let is_accepted = output.code == 0;
                (output, is_accepted)
            }
            Kind::Allowed => (output, false),
        }
    }
}

/// Goes through a selection of what attempts do in a project.
#[expect(clippy::print_stdout, reason = "the table is read by people")]
fn go_through(project: &Project, env: &str) {
    if !crate::installed(project.program) {
        return;
    }
    let sandbox = project.sandbox(env);
    let (mut step, mut table, mut wrong) = ("next", String::new(), Vec::new());
    for (kind, (name, script)) in project.selection() {
        let (output, is_right) = project.attempt(&sandbox, step, kind, script);
        let said = match (kind, output.code) {
            (Kind::Allowed, 0) => "accepted with --allow-test-changes",
            (Kind::Unseen, 0) => "accepted, no setting sees it",
            (_, 0) => "accepted",
            _ => "refused",
        };
        let is_cheat = matches!(kind, Kind::Cheat | Kind::Unseen);
        let word = if is_cheat { "weakening" } else { "honest" };
        let _ = writeln!(table, "{word:10} {name:60} {said}");
        if !is_right {
            wrong.push(format!("{} {word}: {name}:\n{}", project.gate, output.stderr));
        }
        step = "retry";
        if output.code == 0 {
            let changes = [
                "log",
                "--first-parent",
                "-m",
                "--format=",
                "--name-only",
                "main..",
                "--",
                ".",
                ":!openspec",
            ];
            if sandbox.git(&changes).is_empty() {
                wrong.push(format!("{}: {name}: nothing was changed", project.gate));
            }
            // Each begins with the same.
            sandbox.ralph(&["abort"]).exits(0);
            sandbox.git(&["clean", "-fdxq"]);
            project.write(&sandbox);
            sandbox.ralph(&["start", CHANGE, "--allow-red"]).exits(0);
            step = "next";
        }
    }
    println!("{}\n{table}", project.gate);
    crate::nothing_of(&wrong);
}

#[test]
fn tests_of_shell_scripts_are_held() {
    go_through(&shell::PROJECT, "");
}

#[test]
fn tests_of_unittest_are_held() {
    go_through(&unittest::PROJECT, "");
}

#[test]
fn tests_of_pytest_are_held() {
    go_through(&pytest::PROJECT, "");
}

#[test]
fn tests_of_javascript_are_held() {
    go_through(&javascript::PROJECT, "");
}

#[test]
fn tests_of_make_are_held() {
    go_through(&make::PROJECT, "");
}

#[test]
fn tests_of_rust_are_held() {
    // The home directory of a test knows of no toolchain.
    let cargo = std::path::Path::new(env!("CARGO"));
    let dir = cargo.parent().unwrap().display();
    go_through(&rust::PROJECT, &format!("PATH=\"{dir}:$PATH\" "));
}

#[test]
fn tests_of_go_are_held() {
    let cache = env!("CARGO_TARGET_TMPDIR");
    let env = format!(
        "GOCACHE='{cache}/go-build' GOPATH='{cache}/go' GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off "
    );
    go_through(&go::PROJECT, &env);
}
