//! Tests held to what they were: the attempt's own work is exactly there again after the gates ran with other tests, and after
//! a kill.

use nix::sys::signal::Signal;

use super::held_tests::{IS_HELD, VALUE, gate_then, project};
use crate::support::wait_for;

/// Writes down all of the work tree and the index that can be told apart. `$1` is the file.
const DUMP: &str = r"dump() {
    {
        find . -path ./.git -prune -o -path ./made -prune -o -exec stat -c '%n %a %F %N' {} + | sort
        find . -path ./.git -prune -o -path ./made -prune -o -type f -exec sha1sum {} + | sort
        sha1sum .git/index; cat .git/HEAD; git rev-parse HEAD
    } >$1
}
";

/// What is true while the tests are those of the checkpoint.
const AS_THEY_WERE: &str = r#"set -e
test -f tests/gone.sh; test ! -e tests/new; test ! -e tests/link; test ! -L tests/list
printf 'a\r\nb\r\n' | cmp - tests/eol.txt
printf 'code\noutput 1\n' | cmp - tests/y.nb
test ! -e tests/x.nb; test "$(stat -c %a tests/value.sh)" = 755; test "$(stat -c %a tests/eol.txt)" = 640
test "$(git rev-parse $RALPH_TREE:tests)" = "$(git rev-parse $RALPH_CHECKPOINT:tests)"
test "$(cat tests/cache.log)" = mine; test "$(cat loose)" = untracked
"#;

/// What gates can do to a work tree, and to the repository. What they make in a place of its own stays.
const MESS: &str = "set +e; rm app.sh; echo x >>README.md; chmod 600 README.md; printf 'code\\n' >app.nb
mkdir -p made/er; ln -s / made/lnk; echo >made/er/f; rm -rf src; echo x >tests/new; rm -f link; mkdir link; echo >link/x
git add -A; git rm -q --cached old.txt; git commit -qm mess; git checkout -q -b elsewhere
echo '*.sh' >>.gitignore; exit 0\n";

#[test]
fn second_run_leaves_the_files_of_the_attempt_unchanged() {
    let sandbox = project(2);
    sandbox.configure("core.autocrlf", "true");
    sandbox.configure("filter.strip.clean", "sed /^output/d");
    sandbox.write(".gitattributes", "*.nb filter=strip\n");
    for (path, text) in [
        ("tests/gone.sh", ""),
        ("tests/eol.txt", "a\r\nb\r\n"),
        ("tests/y.nb", "code\noutput 1\n"),
        ("app.nb", "code\noutput 0\n"),
        ("tests/cache.log", "mine"),
    ] {
        sandbox.write(path, text);
    }
    sandbox.cmd("chmod").args(["640", "tests/eol.txt"]).run().exits(0);
    let notes = sandbox.notes.display().to_string();
    let gate = sandbox.agent(&format!(
        "{DUMP}./check.sh || exit 1
if ! {IS_HELD}; then ! [ -e tests/new ] || dump '{notes}/first'; exit; fi\n{AS_THEY_WERE}{MESS}"
    ));
    sandbox.configure("ralph.verify", &gate);
    sandbox.hook("ralph-pre-checkpoint", &format!("{DUMP}dump '{notes}/after'"));
    sandbox.start();
    let agent = sandbox.completing(
        r"echo 'echo 4 # more' >app.sh; chmod 750 app.sh; printf 'a\nc\n' >tests/eol.txt; rm tests/gone.sh
        ln -s ../app.sh tests/link; mv tests/list lists; ln -s ../lists tests/list; echo '# x' >>tests/value.sh; chmod 700 tests/value.sh
        mkdir -p tests/new/deep; echo >tests/new/deep/t; chmod 600 tests/new/deep/t
        printf 'code\noutput 8\n' >tests/x.nb; printf 'more\noutput 9\n' >tests/y.nb; printf 'code\noutput 7\n' >app.nb
        git add tests/new; git update-index --assume-unchanged README.md; echo untracked >loose",
    );
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("took files of the work away, and passed on others: ");
    assert_eq!(sandbox.noted("after"), sandbox.noted("first"));
    assert_eq!(sandbox.git(&["status", "--porcelain", "--", "made"]), "?? made/");
    assert_eq!(sandbox.read("tests/x.nb"), "code\noutput 8\n");
    assert_eq!(sandbox.git(&["show", "HEAD:tests/new/deep/t"]), "");
    assert_eq!(
        sandbox.git(&["ls-tree", "HEAD", "tests/list"]).get(..6),
        Some("120000")
    );
}

#[test]
fn kill_during_the_second_run_loses_nothing() {
    for strategy in ["branch", "stash"] {
        let sandbox = project(2);
        sandbox.configure("ralph.strategy", strategy);
        gate_then(&sandbox, "kill -9 $(ps -o ppid= -p $PPID)");
        sandbox.start();
        let agent = sandbox.completing(
            "echo '# mine' >>tests/value.sh; chmod 700 tests/value.sh; echo 4 >tests/new; echo more >more; rm old.txt",
        );
        let killed = sandbox.direct(&["next", "--", &agent]).run();
        assert_ne!(killed.code, 0);
        assert_eq!(sandbox.read("tests/value.sh"), VALUE, "held when it was killed");
        let judged = "refs/ralph/add-login/judged";
        assert_eq!(sandbox.git(&["show", &format!("{judged}:tests/new")]), "4");
        // What it was writing when it was killed is not the gates'.
        sandbox.write("tests/.git-ralph-0c0ffee0", "half");
        sandbox.git(&["-c", "gc.pruneExpire=now", "gc", "-q", "--prune=now"]);
        sandbox
            .ralph(&["status"])
            .exits(0)
            .says("the judged work is back")
            .says("attempt 1 of story 1 was interrupted");
        sandbox.configure("ralph.verify", "./check.sh");
        let kept = |path: &str| sandbox.git(&["show", &format!("refs/ralph/add-login/attempts/1/1:{path}")]);
        assert_eq!(kept("tests/value.sh"), format!("{VALUE}# mine"), "{strategy}");
        assert_eq!(
            (kept("tests/new"), kept("more")),
            ("4".to_owned(), "more".to_owned())
        );
        assert!(sandbox.git(&["for-each-ref", judged]).is_empty());
        assert_eq!(sandbox.read("tests/value.sh"), VALUE);
        assert!(!sandbox.top.join("tests/new").exists());
        assert!(!sandbox.top.join("tests/.git-ralph-0c0ffee0").exists());
        sandbox.step("next", &agent).exits(0);
    }
}

#[test]
fn kill_during_the_second_run_keeps_work_of_the_user() {
    let sandbox = project(1);
    gate_then(&sandbox, "kill -9 $(ps -o ppid= -p $PPID)");
    sandbox.start();
    sandbox.write("tests/expected", "4\n\n");
    sandbox.write("tests/new", "new\n");
    sandbox.git(&["add", "tests/new"]);
    let before = sandbox.print();
    assert_ne!(sandbox.direct(&["complete"]).run().code, 0);
    assert_eq!(sandbox.read("tests/expected"), "4\n");
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("the work tree is as it was");
    let now = sandbox.print();
    assert_eq!(
        (now.files, now.index, now.refs),
        (before.files, before.index, before.refs)
    );
}

#[test]
fn a_stop_while_tests_are_held_is_an_interrupted_attempt() {
    let sandbox = project(1);
    let there = sandbox.notes.join("there");
    gate_then(&sandbox, &format!("echo >'{}'; sleep 1000", there.display()));
    sandbox.start();
    let agent = sandbox.completing("echo '# mine' >>tests/value.sh; echo 4 >tests/new");
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&there);
    running.signal(Signal::SIGTERM);
    running.end().exits(143);
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.verdict(), "interrupted");
    sandbox.is_at_checkpoint();
    let kept = sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:tests/value.sh"]);
    assert_eq!(kept, format!("{VALUE}# mine"));
    assert!(
        sandbox
            .git(&["for-each-ref", "refs/ralph/add-login/judged"])
            .is_empty()
    );
}
