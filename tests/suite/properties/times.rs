//! Times of files that a revert writes: a build must see that they changed.

use std::os::unix::fs::MetadataExt;

use jiff::{SignedDuration, Timestamp};

use crate::support::Sandbox;

#[test]
fn file_restored_in_the_second_of_its_change_gets_another_time() {
    // Bytecode of Python knows whole seconds and the size.
    for setting in ["core.autocrlf=false", "core.autocrlf=true"] {
        let sandbox = Sandbox::new();
        let (name, value) = setting.split_once('=').unwrap();
        sandbox.configure(name, value);
        sandbox.write("edited.txt", "mine\n");
        sandbox.start();
        let files = "README.md edited.txt old.txt";
        let script = format!(
            "echo '# Standart' >README.md; echo miny >edited.txt; stat -c %Y {files} >\"$notes/seconds\""
        );
        sandbox.step("next", &sandbox.failing(&script)).exits(3);
        let noted = sandbox.noted("seconds");
        let seconds: Vec<i64> = noted.lines().map(|line| line.parse().unwrap()).collect();
        let now = |path: &str| sandbox.top.join(path).metadata().unwrap().mtime();
        assert!(now("README.md") > seconds[0], "{setting}");
        assert!(now("edited.txt") > seconds[1], "{setting}");
        assert_eq!(now("old.txt"), seconds[2], "{setting}");
        assert!(now("README.md") <= seconds[0] + 60);
        sandbox.is_at_checkpoint();
    }
}

/// Writes other bytes of the same length with an old time, in the second in which git looked at the file: the stat data
/// in the index of a git that compares whole seconds says nothing of it.
const UNSEEN: &str = r#"cp README.md "$notes/was"
while :; do
    cat "$notes/was" >README.md; touch -d 2001-01-01 README.md; git update-index -q --refresh
    seconds=$(stat -c %Z README.md)
    tr a-z b-za <"$notes/was" >README.md; touch -d 2001-01-01 README.md
    [ "$(stat -c %Z README.md)" != "$seconds" ] || break
done"#;

#[test]
fn checkpoint_includes_changes_that_git_misses_in_the_same_second() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing(UNSEEN)).exits(0);
    assert_eq!(
        sandbox.git(&["show", "HEAD:README.md"]),
        sandbox.read("README.md").trim_end()
    );
    assert_ne!(sandbox.noted("was"), sandbox.read("README.md"));
}

#[test]
fn a_file_that_was_written_in_the_second_of_its_checkpoint_is_put_back() {
    // Whether all of it falls into one second is chance, and none on a machine that has much else to do.
    for _ in 0..10 {
        let sandbox = Sandbox::new();
        let was = sandbox.read("README.md");
        let old = ["-d", "2001-01-01", "README.md"];
        sandbox.cmd("touch").args(old).run().exits(0);
        let touched = sandbox.top.join("README.md").metadata().unwrap().ctime();
        sandbox.start();
        let agent = sandbox.failing(
            "tr a-z b-za <README.md >\"$notes/new\"; cat \"$notes/new\" >README.md; touch -d 2001-01-01 README.md
             stat -c %Z README.md >\"$notes/seconds\"",
        );
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.read("README.md"), was);
        if sandbox.noted("seconds").trim() == touched.to_string() {
            return;
        }
    }
}

#[test]
fn failed_attempt_undoes_and_keeps_changes_that_git_misses() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.failing(UNSEEN)).exits(3);
    assert_eq!(sandbox.noted("was"), sandbox.read("README.md"));
    let kept = sandbox.git(&["show", "refs/ralph/add-login/attempts/1/1:README.md"]);
    assert_ne!(kept, sandbox.read("README.md").trim_end());
    sandbox.is_at_checkpoint();
}

#[test]
fn failed_attempt_undoes_and_keeps_submodule_changes_that_git_misses() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.start();
    let unseen = UNSEEN.replace("README.md", "a");
    let agent = sandbox.failing(&format!("cd lib; {unseen}"));
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read("lib/a"), "a\n");
    assert_eq!(
        sandbox.git(&["-C", "lib", "show", "refs/ralph/add-login/attempts/1/1:a"]),
        "b"
    );
}

#[test]
fn duration_is_not_negative_after_the_clock_was_set_back() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent("kill -9 $(ps -o ppid= -p $PPID)");
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    let file = sandbox.state_file();
    let mut state = sandbox.state();
    let running = state["slots"][0].as_table_mut().unwrap();
    running.insert("since".to_owned(), "2999-01-01T00:00:00Z".into());
    std::fs::write(&file, state.to_string()).unwrap();
    sandbox.ralph(&["status"]).exits(0);
    let attempt = &sandbox.attempts()[0];
    assert_eq!(attempt["verdict"], "interrupted");
    assert_eq!(attempt["duration"], 0.0);
}

#[test]
fn killed_attempt_lasts_until_its_last_output() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent(
        "echo at work; until grep -q 'at work' .git/ralph/add-login/attempts/1.1.log; do sleep 0.02; done
        kill -9 $(ps -o ppid= -p $PPID)",
    );
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    let since = Timestamp::now() - SignedDuration::from_hours(3);
    let mut state = sandbox.state();
    let running = state["slots"][0].as_table_mut().unwrap();
    running.insert("since".to_owned(), since.to_string().into());
    std::fs::write(sandbox.state_file(), state.to_string()).unwrap();
    let log = sandbox.top.join(".git/ralph/add-login/attempts/1.1.log");
    let log = std::fs::File::options().write(true).open(log).unwrap();
    log.set_modified((since + SignedDuration::from_secs(70)).into())
        .unwrap();
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("interrupted after 1m 10s: git-ralph was cut off during the attempt; the time is up to its last output");
    let duration = sandbox.attempts()[0]["duration"].as_f64().unwrap();
    assert!((duration - 70.0).abs() < 0.001, "{duration}");
}
