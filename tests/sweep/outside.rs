//! Nothing outside the repository is written, removed, renamed or made, wherever an attempt leads git-ralph: by a link in
//! the place of a directory, or by a file that is also one of the user's outside.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::print::{files as print_files, mtimes as mtimes_of};
use crate::support::{Print, Sandbox};
use crate::{nothing_of, stride};

/// Directories that an attempt replaces.
const PLACES: &[&str] = &[
    // Tracked files, ignored files, a directory that git ignores, untracked files, an empty directory.
    "src",
    "src/deep",
    "kept",
    "target",
    "notes",
    "kept/empty",
    // A nested repository, a submodule, the list of stories.
    "own",
    "own/.git",
    "lib",
    "openspec",
    "openspec/changes/add-login",
    // Git's own.
    ".git/info",
    ".git/hooks",
    ".git/modules",
    ".git/modules/lib",
    ".git/modules/lib/info",
    // git-ralph's own.
    ".git/ralph",
    ".git/ralph/.hooks",
    ".git/ralph/add-login",
    ".git/ralph/add-login/attempts",
    ".git/ralph/add-login/trash",
    ".git/ralph/add-login/slots",
    ".git/ralph/add-login/slots/1",
    ".git/ralph/add-login/slots/1/unversioned",
    ".git/ralph/add-login/slots/1/unversioned/files",
    ".git/ralph/add-login/slots/1/unversioned/files/kept",
    ".git/ralph/add-login/slots/1/git-files",
    ".git/ralph/add-login/slots/1/git-files/common",
    ".git/ralph/add-login/slots/1/guard",
];

/// Files that an attempt replaces.
const FILES: &[&str] = &[
    "openspec/changes/add-login/tasks.md",
    ".git/config",
    ".git/shallow",
    ".git/ralph/add-login.toml",
    ".git/ralph/report.html",
    ".git/ralph/add-login/events.jsonl",
    ".git/ralph/add-login/learnings.md",
    ".git/ralph/add-login/slots/1/prompt.md",
    ".git/ralph/add-login/report.html",
    ".git/ralph/add-login/attempts/1.2.log",
    ".git/ralph/add-login/slots/1/guard.log",
    ".git/ralph/add-login/slots/1/guard.rules",
    ".git/ralph/add-login/slots/1/hooks/reference-transaction",
    ".git/ralph/add-login/slots/1/stories.copy",
    ".git/ralph/add-login/slots/1/work.index",
    ".git/ralph/add-login/slots/1/unversioned/inventory",
];

/// The places after which everything is as before the loop: of the others no copy proves what they were, or none is kept.
const COMES_BACK: &[&str] = &[
    "src",
    "src/deep",
    "notes",
    "kept/empty",
    "openspec",
    "openspec/changes/add-login",
    ".git/info",
];

/// What an attempt does to the place `$p`; `$out` is a directory of the user's outside, and `$twin` a copy of it.
const MISDEEDS: &[(&str, &str)] = &[
    (
        "a link to a directory with the same names",
        "same; chmod -R a+rwX $out; twin; rm -rf $p; ln -s $out $p",
    ),
    (
        "a link to a read-only directory with the same names",
        "same; chmod -R a-w $out; twin; rm -rf $p; ln -s $out $p",
    ),
    (
        "a link to an empty directory",
        "mkdir $out; twin; rm -rf $p; ln -s $out $p",
    ),
    (
        "a link to a directory with a file",
        "mkdir $out; echo of the user >$out/mine.log; twin; rm -rf $p; ln -s $out $p",
    ),
    (
        "files that are also outside, read-only",
        "same; chmod -R a-w $out; chmod 700 $out; links; twin",
    ),
    (
        "files that are also outside, for everybody",
        "same; chmod -R a+rw $out; links; twin",
    ),
];

/// What an attempt does to the file `$p`; `$out/file` is one of the user's outside.
const MISDEEDS_WITH_FILES: &[(&str, &str)] = &[
    (
        "a link to a file",
        "user; twin; rm -rf $p; mkdir -p ${p%/*}; ln -s $out/file $p",
    ),
    (
        "a link to no file",
        "mkdir $out; twin; rm -rf $p; mkdir -p ${p%/*}; ln -s $out/none $p",
    ),
    (
        "a file that is also outside",
        "user; twin; rm -rf $p; mkdir -p ${p%/*}; ln -f $out/file $p",
    ),
    (
        "a link to a directory in the place of the one above, and git is used",
        "user; mv $out/file $out/${p##*/}; twin; rm -rf ${p%/*}; ln -s $out ${p%/*}; git commit -q --allow-empty -m one",
    ),
];

/// The words of the misdeeds.
const WORDS: &str = r#"
same() {
    cp -Rp "$p" "$out" 2>/dev/null || mkdir -p "$out"
    find "$out" -type f | while read -r f; do chmod u+rw "$f"; echo '# of the user' >>"$f"; done
}
user() {
    mkdir $out
    cp -p "$p" "$out/file" 2>/dev/null
    chmod u+rw "$out/file" 2>/dev/null
    echo '# of the user' >>"$out/file"
}
twin() { cp -Rp "$out" "$twin"; }
links() { (cd "$out" && find . -type f) | while read -r f; do mkdir -p "$p"; ln -f "$out/$f" "$p/$f"; done; }
"#;

/// What happens after the misdeed: how the attempt ends, and the commands after it.
const ENDINGS: &[(&str, &[&[&str]])] = &[
    ("failed it", &[&["status"], &["abort"]]),
    ("failed it", &[&["finish", "--cleanup"], &["prune"]]),
    ("complete", &[&["finish", "--cleanup"]]),
    ("complete", &[&["abort"]]),
    (
        "kill -9 $(ps -o ppid= -p $PPID)",
        &[&["status"], &["revert"], &["abort"]],
    ),
    (
        "kill -9 $(ps -o ppid= -p $PPID)",
        &[&["complete"], &["finish", "--cleanup"]],
    ),
];

/// The same with commands that write the files.
const ENDINGS_WITH_FILES: &[(&str, &[&[&str]])] = &[
    (
        "failed it",
        &[&["next"], &["report"], &["report", "--all"], &["abort"]],
    ),
    ("complete", &[&["next"], &["finish", "--cleanup"]]),
    (
        "kill -9 $(ps -o ppid= -p $PPID)",
        &[&["next"], &["report"], &["abort"]],
    ),
];

fn begun() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    let own = sandbox.top.join("own");
    fs::create_dir(&own).unwrap();
    sandbox.git_cmd(&["init", "-q"]).dir(&own).run().exits(0);
    for (path, text) in [
        ("own/file", "own\n"),
        ("kept/secret.log", "secret\n"),
        ("target/one", "one\n"),
        ("target/deep/two", "two\n"),
        ("notes/untracked.txt", "mine\n"),
        (".git/info/exclude", "mine\n"),
    ] {
        sandbox.write(path, text);
    }
    sandbox.hook("pre-push", "exit 0");
    fs::create_dir(sandbox.top.join("kept/empty")).unwrap();
    for path in ["src/lib.txt", "kept/secret.log", "kept/empty"] {
        fs::set_permissions(sandbox.top.join(path), Permissions::from_mode(0o700)).unwrap();
    }
    sandbox.ralph(&["hooks", "install"]);
    sandbox
}

fn check(
    place: &str,
    (misdeed, script): (&str, &str),
    (promise, after): (&str, &[&[&str]]),
) -> Option<String> {
    let sandbox = begun();
    let before = Print::of(&sandbox, &sandbox.top);
    sandbox.start();
    let (out, twin) = (sandbox.outside("out"), sandbox.outside("twin"));
    let work = if promise == "complete" {
        "echo x >x"
    } else {
        "echo y >>README.md"
    };
    let agent = sandbox.agent(&format!(
        "p={place}; out='{}'; twin='{}'\n{WORDS}\n{work}\n{script}\n{promise}",
        out.display(),
        twin.display()
    ));
    let what = |args: &[&str]| format!("{place}: {misdeed}: {promise}: {args:?}");
    let again = sandbox.agent("echo again >again; echo '<learning>one</learning>'; complete");
    let mut wrong = None;
    let mut look = |args: &[&str], output: &crate::support::Output| {
        if wrong.is_some() {
            return;
        }
        let (is, was) = (
            (print_files(&out), mtimes_of(&out)),
            (print_files(&twin), mtimes_of(&twin)),
        );
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode();
        let mut differ: Vec<String> = Vec::new();
        for name in is.0.keys().chain(was.0.keys()) {
            if is.0.get(name) != was.0.get(name) || is.1.get(name) != was.1.get(name) {
                differ.push(format!(
                    "{}: {:?} <> {:?}",
                    name.display(),
                    is.0.get(name),
                    was.0.get(name)
                ));
            }
        }
        if mode(&out) != mode(&twin) {
            differ.push(format!("mode {:o} <> {:o}", mode(&out), mode(&twin)));
        }
        if output.code == 101 || output.stderr.contains("panicked") {
            differ.push("panic".to_owned());
        }
        if !differ.is_empty() {
            wrong = Some(format!(
                "{}\n    {}\n{}",
                what(args),
                differ.join("\n    "),
                output.stderr
            ));
        }
    };
    let output = sandbox.direct(&["next", "--", &agent]).run();
    look(&["next"], &output);
    let mut last = output;
    for args in after {
        last = match args {
            ["next"] => sandbox.direct(&["next", "--", &again]).run(),
            args => sandbox.ralph(args),
        };
        look(args, &last);
    }
    if wrong.is_none() && COMES_BACK.contains(&place) && after.last() == Some(&&["abort"][..]) {
        let now = Print::of(&sandbox, &sandbox.top);
        let of = |print: &Print| (print.files.clone(), print.index.clone(), print.head.clone());
        if last.code != 0 || of(&now) != of(&before) {
            return Some(format!("{}: not as before\n{}", what(&["abort"]), last.stderr));
        }
    }
    wrong
}

/// A misdeed, what git-ralph is asked to do after it, and the place.
type Case = (
    &'static str,
    (&'static str, &'static str),
    (&'static str, &'static [&'static [&'static str]]),
);

/// All cases: each place, with each misdeed and each ending.
fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (places, misdeeds, endings) in [
        (PLACES, MISDEEDS, ENDINGS),
        (FILES, MISDEEDS_WITH_FILES, ENDINGS_WITH_FILES),
    ] {
        for place in places {
            for misdeed in misdeeds {
                all.extend(endings.iter().map(|ending| (*place, *misdeed, *ending)));
            }
        }
    }
    all
}

#[test]
fn commands_touch_nothing_outside() {
    // Neither is a multiple of a row's length, so that every misdeed and every ending has its turn.
    let cases: Vec<Case> = cases().into_iter().step_by(stride(61, 5)).collect();
    let next = AtomicUsize::new(0);
    let found = thread::scope(|scope| {
        let all: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut found = Vec::new();
                    while let Some((place, misdeed, ending)) = cases.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        found.extend(check(place, *misdeed, *ending));
                    }
                    found
                })
            })
            .collect();
        all.into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect::<Vec<_>>()
    });
    nothing_of(&found);
}
