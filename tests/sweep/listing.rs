//! Whatever kinds of paths a user has and whatever an agent does to them: after a failed attempt, and after `abort`, the
//! whole listing of the work tree (paths, kinds, modes, bytes, links; what git ignores included) is as before, or what
//! is gone has been named. What an agent makes that git ignores stays, and is left out.
//!
//! `GIT_RALPH_SEED=<number>` does the cases of that seed again; a failure names its seed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::property::with_seed;
use crate::support::print::files;
use crate::support::{CHANGE, Sandbox};

/// What a user may have, each made by a line of shell.
const THINGS: &[(&str, &str)] = &[
    ("notes", "echo n >notes"),
    ("sp ace", "echo s >'sp ace'"),
    ("two\nlines", "echo l >'two\nlines'"),
    ("mine.log", "echo m >mine.log"),
    ("src/deep.log", "echo d >src/deep.log"),
    ("data", "mkdir data; echo 1 >data/a.log; echo 2 >data/b.log"),
    (
        "build",
        "mkdir -p build/sub; echo o >build/x.o; echo t >build/sub/y",
    ),
    (
        "venv",
        "mkdir -p venv/bin; echo '*' >venv/.gitignore; echo p >venv/bin/p",
    ),
    ("pointer", "ln -s README.md pointer"),
    ("dangling", "ln -s nowhere dangling"),
    ("tool.sh", "echo r >tool.sh; chmod 755 tool.sh"),
    ("secret", "echo k >secret; chmod 600 secret"),
    ("mixed", "mkdir mixed; echo u >mixed/u; echo i >mixed/i.log"),
    ("empty", "mkdir empty"),
    ("closed", "mkdir closed; echo c >closed/c; chmod 500 closed"),
];

/// What git ignores: what is changed in it stays changed, so that no agent here puts anything in its place.
const IGNORED: &[&str] = &["mine.log", "src/deep.log", "data", "build", "venv"];

/// Paths of git's own and of the sandbox.
const TRACKED: &[&str] = &["README.md", "src/lib.txt", "src"];

/// One thing that an agent does; the numbers choose paths.
#[derive(Clone, Copy, Debug)]
enum Act {
    Delete(usize),
    Write(usize),
    Rename(usize, usize),
    Mode(usize, u32),
    Link(usize),
    Directory(usize),
    Git(usize),
}

/// What an agent may have git do.
const GIT: &[&str] = &[
    "git add -A",
    "git add -A; git commit -qm agent",
    "git stash -qu",
    "git clean -fdq",
    "git clean -fdXq",
    "git clean -fdxq",
    "git checkout -q -b elsewhere",
    "git rm -rq --cached .",
    "git mv src lib",
    "git reset -q --hard",
    "rm -rf ./*",
    "chmod -R a+rwX .",
    "echo notes >>.gitignore",
    ": >.gitignore",
    "git init -q src",
    "mkdir new; echo x >new/x; echo y >new/y.log",
];

fn path(number: usize) -> &'static str {
    let things = THINGS.len();
    match number.checked_sub(things) {
        None => THINGS[number].0,
        Some(tracked) => TRACKED[tracked % TRACKED.len()],
    }
}

fn is_ignored(path: &str) -> bool {
    IGNORED.contains(&path)
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let path = || 0..THINGS.len() + TRACKED.len();
    let act = prop_oneof![
        3 => path().prop_map(Act::Delete),
        3 => path().prop_map(Act::Write),
        3 => (path(), path()).prop_map(|(from, to)| Act::Rename(from, to)),
        1 => (path(), prop::sample::select(vec![0o600, 0o644, 0o755, 0o700])).prop_map(|(path, mode)| Act::Mode(path, mode)),
        1 => path().prop_map(Act::Link),
        1 => path().prop_map(Act::Directory),
        5 => (0..GIT.len()).prop_map(Act::Git),
    ];
    prop::collection::vec(act, 1..7)
}

fn script(acts: &[Act]) -> String {
    let quoted = |number: usize| format!("'{}'", path(number));
    let mut text = String::new();
    for act in acts {
        text += &match *act {
            Act::Delete(at) => format!("chmod -R u+w {0}; rm -rf {0}", quoted(at)),
            Act::Write(at) | Act::Directory(at) | Act::Rename(_, at) if is_ignored(path(at)) => {
                ":".to_owned()
            }
            Act::Write(at) => format!("[ -d {0} ] || echo agent >{0}", quoted(at)),
            Act::Rename(from, to) => format!(
                "mv {} {}.moved; mv {} {}",
                quoted(to),
                quoted(to),
                quoted(from),
                quoted(to)
            ),
            Act::Mode(at, mode) => format!("chmod {mode:o} {}", quoted(at)),
            Act::Link(at) => format!("rm -rf {0}; ln -s /tmp {0}", quoted(at)),
            Act::Directory(at) => format!("rm -rf {0}; mkdir {0}; echo x >{0}/x", quoted(at)),
            Act::Git(number) => GIT[number].to_owned(),
        };
        text.push('\n');
    }
    format!("( :\n{text}) >/dev/null 2>&1 </dev/null\n")
}

/// Returns what is not as it was and was not named. `said` is everything that git-ralph said.
fn untold(before: &BTreeMap<PathBuf, String>, now: &BTreeMap<PathBuf, String>, said: &str) -> Vec<String> {
    let is_named = |path: &Path| {
        path.ancestors().any(|dir| {
            let name = dir.to_string_lossy().replace('\n', "\\n");
            !name.is_empty() && said.contains(&name)
        })
    };
    // Permissions inside of an ignored directory are part of its content.
    let is_inside = |path: &Path| ["build", "venv", "data"].iter().any(|dir| path.starts_with(dir));
    let is_same = |path: &Path, was: &str, is: &str| {
        let content = |what: &str| what.split_once(' ').map(|(_, content)| content.to_owned());
        was == is || is_inside(path) && content(was) == content(is)
    };
    let gone = before.iter().filter(|(path, was)| {
        let is = now.get(*path);
        !is.is_some_and(|is| is_same(path, was, is)) && !is_named(path)
    });
    let gone = gone.map(|(path, what)| format!("{}: {what:?}, now {:?}", path.display(), now.get(path)));
    // What the agent made and git ignores stays; so does what was renamed from there.
    let is_made = |path: &Path| {
        let name = path.to_string_lossy();
        name.contains(".log")
            || name.contains("moved")
            || name.starts_with("build")
            || name.starts_with("venv")
    };
    let new = now
        .iter()
        .filter(|(path, _)| !before.contains_key(*path) && !is_made(path) && !is_named(path));
    gone.chain(new.map(|(path, what)| format!("{} is new: {what:?}", path.display())))
        .collect()
}

fn go_through(things: &[bool], acts: &[Act]) -> Result<(), TestCaseError> {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\nbuild/\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "rules"]);
    let made: Vec<&str> = THINGS
        .iter()
        .zip(things)
        .filter(|(_, is)| **is)
        .map(|((_, line), _)| *line)
        .collect();
    sandbox
        .cmd("sh")
        .args(["-c", &format!("set -e\n:\n{}", made.join("\n"))])
        .run()
        .exits(0);
    let beginning = files(&sandbox.top);
    let mut said = sandbox.ralph(&["start", CHANGE]).exits(0).stderr;
    prop_assert_eq!(&files(&sandbox.top), &beginning, "start touched files");
    let agent = sandbox.agent(&format!("{}failed red", script(acts)));
    let output = sandbox.step("next", &agent);
    said += &output.stderr;
    prop_assert_eq!(output.code, 3, "{}", output.stderr);
    let wrong = untold(&beginning, &files(&sandbox.top), &said);
    prop_assert!(wrong.is_empty(), "after the failure: {:#?}\n{}", wrong, said);
    let output = sandbox.ralph(&["abort"]);
    said += &output.stderr;
    prop_assert_eq!(output.code, 0, "{}", output.stderr);
    let wrong = untold(&beginning, &files(&sandbox.top), &said);
    prop_assert!(wrong.is_empty(), "after abort: {:#?}\n{}", wrong, said);
    Ok(())
}

#[test]
fn the_whole_listing_comes_back_or_is_named() {
    let things = prop::collection::vec(any::<bool>(), THINGS.len());
    with_seed((things, acts()), 6, 80, |(things, acts)| {
        go_through(&things, &acts)
    });
}
