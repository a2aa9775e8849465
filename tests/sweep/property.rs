//! Whatever a user and agents do, and however it is judged: every content that was there at a settled
//! moment (the user's before a command, an agent's at its end) is still in the work tree, in a ref, or in
//! the loop's own directory. Ignored files that somebody writes over are left out: they are not kept.
//!
//! `GIT_RALPH_SEED=<number>` does the cases of that seed again; a failure names its seed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::support::print::files;
use crate::support::{CHANGE, Sandbox};

/// Where things happen: files, and directories that are files for another edit.
const PATHS: &[&str] = &[
    "a",
    "b",
    "d/x",
    "d/y",
    "d",
    "a/z",
    "sp ace",
    "README.md",
    "src/lib.txt",
    "src",
];

/// One edit; the numbers choose paths.
#[derive(Clone, Copy, Debug)]
enum Edit {
    Write(usize),
    Append(usize),
    Delete(usize),
    Executable(usize, bool),
    Private(usize),
    Link(usize, usize),
    Rename(usize, usize),
    Stage(usize),
    Unstage(usize),
    StageAll,
    Commit,
    Ignore(usize),
    ForgetRules,
    MakeIgnored,
    DeleteIgnored,
    Assume(usize),
    Wipe,
}

/// What happens between two steps of the loop.
#[derive(Clone, Debug)]
struct Round {
    user: Vec<Edit>,
    agent: Vec<Edit>,
    complete: bool,
}

#[derive(Clone, Debug)]
struct Story {
    before: Vec<Edit>,
    rounds: Vec<Round>,
    abort: bool,
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = || 0..PATHS.len();
    prop_oneof![
        6 => path().prop_map(Edit::Write),
        2 => path().prop_map(Edit::Append),
        3 => path().prop_map(Edit::Delete),
        1 => (path(), any::<bool>()).prop_map(|(path, is)| Edit::Executable(path, is)),
        1 => path().prop_map(Edit::Private),
        1 => (path(), path()).prop_map(|(path, to)| Edit::Link(path, to)),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        2 => path().prop_map(Edit::Stage),
        1 => path().prop_map(Edit::Unstage),
        1 => Just(Edit::StageAll),
        1 => Just(Edit::Commit),
        1 => path().prop_map(Edit::Ignore),
        1 => Just(Edit::ForgetRules),
        1 => Just(Edit::MakeIgnored),
        1 => Just(Edit::DeleteIgnored),
        1 => path().prop_map(Edit::Assume),
        1 => Just(Edit::Wipe),
    ]
}

fn story() -> impl Strategy<Value = Story> {
    let edits = || prop::collection::vec(edit(), 0..7);
    let users = || prop::collection::vec(edit().prop_filter("no user does it", is_kind), 0..7);
    let round = (users(), edits(), any::<bool>()).prop_map(|(user, agent, complete)| Round {
        user,
        agent,
        complete,
    });
    (users(), prop::collection::vec(round, 1..4), any::<bool>()).prop_map(|(before, rounds, abort)| Story {
        before,
        rounds,
        abort,
    })
}

/// Users do not empty their own directory.
fn is_kind(edit: &Edit) -> bool {
    !matches!(edit, Edit::Wipe | Edit::DeleteIgnored | Edit::ForgetRules)
}

/// A script that does these edits, each as far as it can be done; every content is new.
fn script(edits: &[Edit], who: &str) -> String {
    let quoted = |path: usize| format!("'{}'", PATHS[path]);
    let mut text = String::new();
    for (number, edit) in edits.iter().enumerate() {
        text += &match *edit {
            Edit::Write(path) => format!(
                "p={}; [ ! -d \"$p\" ] || rm -rf \"$p\"; mkdir -p \"$(dirname \"$p\")\" && echo '{who} {number}' >\"$p\"",
                quoted(path)
            ),
            Edit::Append(path) => format!("[ ! -f {0} ] || echo '{who} {number}' >>{0}", quoted(path)),
            Edit::Delete(path) => format!("rm -rf {}", quoted(path)),
            Edit::Executable(path, is) => format!("chmod {}x {}", if is { '+' } else { '-' }, quoted(path)),
            Edit::Private(path) => format!("[ ! -f {0} ] || chmod 600 {0}", quoted(path)),
            Edit::Link(path, to) => format!("rm -rf {0} && ln -s {1} {0}", quoted(path), quoted(to)),
            Edit::Rename(from, to) => format!("mv {} {}", quoted(from), quoted(to)),
            Edit::Stage(path) => format!("git add -- {}", quoted(path)),
            Edit::Unstage(path) => format!("git rm -rq --cached -- {}", quoted(path)),
            Edit::StageAll => "git add -A".to_owned(),
            Edit::Commit => format!("git add -A; git commit -q -m '{who} {number}'"),
            Edit::Ignore(path) => format!("echo {} >>.gitignore", quoted(path)),
            Edit::ForgetRules => ": >.gitignore".to_owned(),
            Edit::MakeIgnored => format!("[ -e mine.log ] || echo '{who} {number}' >mine.log"),
            Edit::DeleteIgnored => "rm -f mine.log".to_owned(),
            Edit::Assume(path) => format!("git update-index --assume-unchanged {}", quoted(path)),
            Edit::Wipe => "git clean -fdxq; rm -rf ./*".to_owned(),
        };
        text.push('\n');
    }
    format!("( :\n{text}) >/dev/null 2>&1 </dev/null\n")
}

/// Copies what is there and not ignored, a file a content, into a directory.
const SEE: &str = "see() { mkdir -p \"$1\"; git ls-files -z -c -o --exclude-standard | sort -zu | xargs -0 sh -c '
    to=$0; for f; do [ ! -f \"$f\" ] || [ -L \"$f\" ] || { i=$((i + 1)); cp -- \"$f\" \"$to/$$.$i\"; }; done' \"$1\"; }\n";

/// The contents that `see` copied.
fn seen(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect()
}

struct Case {
    sandbox: Sandbox,
    /// Every content of a settled moment, and which it was.
    settled: BTreeMap<String, String>,
    /// What was ignored when the loop began.
    ignored_before: BTreeSet<PathBuf>,
}

impl Case {
    fn settle(&mut self, contents: BTreeSet<String>, when: &str) {
        for content in contents {
            self.settled.entry(content).or_insert_with(|| when.to_owned());
        }
    }

    fn user(&mut self, edits: &[Edit], who: &str) {
        let notes = self.sandbox.notes.join(who.replace(' ', "-"));
        let text = format!("{}{SEE}see '{}'", script(edits, who), notes.display());
        self.sandbox.cmd("sh").args(["-c", &text]).run().exits(0);
        self.settle(seen(&notes), who);
    }

    /// What has to come back, by path: all but what is or was ignored, and directories, which are nobody's
    /// content. An ignored file that a finished story deleted or replaced may come back as it was.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let ignored = self.ignored();
        let mut files = files(&self.sandbox.top);
        let is_in = |paths: &BTreeSet<PathBuf>, path: &Path| path.ancestors().any(|dir| paths.contains(dir));
        files.retain(|path, what| {
            !what.starts_with('4') && !is_in(&ignored, path) && !is_in(&self.ignored_before, path)
        });
        files
    }

    /// What is ignored now.
    fn ignored(&self) -> BTreeSet<PathBuf> {
        let listed = self
            .sandbox
            .git(&["ls-files", "-z", "-o", "-i", "--exclude-standard"]);
        let paths = listed.split('\0').filter(|path| !path.is_empty());
        paths.map(PathBuf::from).collect()
    }

    /// Every content that can still be had.
    fn kept(&self) -> String {
        let blobs = "git rev-list --objects --all --no-object-names |
            git cat-file --batch-check='%(objecttype) %(objectname)' | sed -n 's/^blob //p' | git cat-file --batch";
        let mut kept = self.sandbox.cmd("sh").args(["-c", blobs]).run().exits(0).stdout;
        for dir in [&self.sandbox.top, &self.sandbox.top.join(".git/ralph")] {
            for content in files(dir).values() {
                let content = content.split_once(' ').map_or("", |(_, content)| content);
                kept += &format!("\nfile blob {}\n{content}\n", content.len());
            }
        }
        kept
    }
}

fn go_through(story: &Story) -> Result<(), TestCaseError> {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.maxRetries", "9");
    let mut case = Case {
        sandbox,
        settled: BTreeMap::new(),
        ignored_before: BTreeSet::new(),
    };
    case.user(&story.before, "user before");
    case.ignored_before = case.ignored();
    let staged =
        "git ls-files -s | while read -r mode oid rest; do git cat-file blob $oid >\"$0/$oid\"; done";
    let index = case.sandbox.notes.join("staged");
    fs::create_dir(&index).unwrap();
    let args = ["-c", staged, index.to_str().unwrap()];
    case.sandbox.cmd("sh").args(args).run().exits(0);
    case.settle(seen(&index), "staged before");
    let beginning = (case.files(), case.sandbox.git(&["ls-files", "-s", "-v"]));
    let head = case.sandbox.git(&["symbolic-ref", "HEAD"]);
    let commit = case.sandbox.git(&["rev-parse", "HEAD"]);
    let output = case.sandbox.ralph(&["start", CHANGE]);
    prop_assert_eq!(output.code, 0, "start: {}", output.stderr);
    prop_assert_eq!(&case.files(), &beginning.0, "start touched files");
    for (number, round) in story.rounds.iter().enumerate() {
        case.user(&round.user, &format!("user {number}"));
        let before = case.files();
        let promise = if round.complete { "complete" } else { "failed red" };
        let end = case.sandbox.notes.join(format!("agent-{number}"));
        let edits = script(&round.agent, &format!("agent {number}"));
        let agent = format!("{edits}{SEE}see '{}' >/dev/null 2>&1\n{promise}", end.display());
        let agent = case.sandbox.agent(&agent);
        let retry = case.sandbox.status()["next"] == "retry";
        let output = case.sandbox.step(if retry { "retry" } else { "next" }, &agent);
        case.settle(seen(&end), &format!("agent {number}"));
        prop_assert!(
            [0, 3].contains(&output.code),
            "round {}: {}",
            number,
            output.stderr
        );
        if output.code == 3 {
            prop_assert_eq!(
                case.files(),
                before,
                "round {} is not undone: {}",
                number,
                output.stderr
            );
        }
    }
    let args: &[&str] = if story.abort {
        &["abort"]
    } else {
        &["finish", "--cleanup"]
    };
    let before = files(&case.sandbox.top);
    let output = case.sandbox.ralph(args);
    prop_assert_eq!(output.code, 0, "{:?}: {}", args, output.stderr);
    prop_assert_eq!(case.sandbox.git(&["symbolic-ref", "HEAD"]), head);
    prop_assert_eq!(case.sandbox.git(&["rev-parse", "HEAD"]), commit);
    if story.abort {
        prop_assert_eq!(case.files(), beginning.0, "abort");
        prop_assert_eq!(case.sandbox.git(&["ls-files", "-s", "-v"]), beginning.1, "abort");
    } else {
        prop_assert_eq!(files(&case.sandbox.top), before, "finish touched files");
    }
    let kept = case.kept();
    for (content, when) in &case.settled {
        let wanted = format!(" blob {}\n{content}\n", content.len());
        prop_assert!(kept.contains(&wanted), "lost: {:?} of {}", content, when);
    }
    Ok(())
}

#[test]
fn no_content_is_ever_lost() {
    with_seed(story(), 4, 40, |story| go_through(&story));
}

/// Tries `quick` cases, or `many` in a large sweep, of a seed that can be given again.
#[track_caller]
pub fn with_seed<S: Strategy>(
    strategy: S,
    quick: u32,
    many: u32,
    try_one: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let given = std::env::var("GIT_RALPH_SEED")
        .ok()
        .map(|seed| seed.parse().unwrap());
    let seed: u64 = given.unwrap_or_else(|| match std::env::var_os("GIT_RALPH_SWEEP") {
        // Always the same but in the whole sweep: it must not fail for somebody else's change.
        Some(value) if value != "every" => 1,
        None => 1,
        Some(_) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.unwrap().as_secs()
        }
    });
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: if crate::whole() { many } else { quick },
        max_shrink_iters: 60,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    if let Err(error) = runner.run(&strategy, try_one) {
        panic!("GIT_RALPH_SEED={seed}: {error}");
    }
}
