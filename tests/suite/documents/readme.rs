//! README.md says what the code says, and the driver in it is the one that is tested.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::CommandFactory;
use git_ralph::cli::Cli;
use git_ralph::{exit, settings};
use snapbox::assert_data_eq;

use crate::support::{Sandbox, console};

#[test]
fn every_setting_is_listed() {
    let readme = readme();
    for (key, default, meaning) in settings::TABLE {
        let row = format!("| `{key}` | {default} | {meaning} |");
        assert!(readme.contains(&row), "README.md has no line\n{row}");
    }
}

#[test]
fn every_exit_code_is_listed() {
    let readme = readme();
    for (code, meaning, then) in exit::TABLE {
        let row = format!("| {code} | {meaning} | {then} |");
        assert!(readme.contains(&row), "README.md has no line\n{row}");
    }
}

#[test]
fn every_command_is_listed() {
    let readme = readme();
    for command in Cli::command().get_subcommands().filter(|c| !c.is_hide_set()) {
        let row = format!("| `git ralph {}", command.get_name());
        assert!(
            readme.contains(&row),
            "README.md has no line that begins with\n{row}"
        );
    }
}

#[test]
fn the_driver_is_the_tested_one() {
    let driver = fs::read_to_string(driver_file()).unwrap();
    let block = readme()
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block.to_owned()))
        .find(|block| block.contains("git ralph $step"));
    assert_data_eq!(block.unwrap_or_default(), driver);
}

#[test]
fn the_driver_is_plain_sh() {
    for shell in ["sh", "dash"] {
        if crate::installed(shell) {
            let output = syntax_check(shell);
            assert!(output.is_empty(), "{shell} -n: {output}");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test runs a shell as it likes")]
fn syntax_check(shell: &str) -> String {
    let output = Command::new(shell)
        .arg("-n")
        .arg(driver_file())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => words,
        code => format!("{code:?} {words}"),
    }
}

#[test]
fn the_quick_start_works_as_it_is_typed() {
    let sandbox = Sandbox::new();
    sandbox.git(&["rm", "-rq", "openspec"]);
    sandbox.git(&["commit", "-qm", "no stories"]);
    let result =
        r#"{"type":"result","subtype":"success","is_error":false,"result":"<promise>COMPLETE</promise>"}"#;
    sandbox.install(
        "claude",
        &format!("echo \"$RALPH_STORY\" >>done.txt; echo '{result}'"),
    );
    sandbox.install("cargo", "test \"$*\" = test && echo gate >>$notes/gates");
    for name in ["the stories", "the settings"] {
        let typed = block(name);
        sandbox.cmd("sh").args(["-ec", &typed]).run().exits(0);
    }
    assert_eq!(sandbox.read("done.txt"), "1\n2\n");
    // One of them before the loop, and one a story.
    assert_eq!(sandbox.noted("gates").lines().count(), 3);
}

#[test]
fn the_run_that_is_shown_is_one() {
    let sandbox = Sandbox::new();
    sandbox.git(&["rm", "-rq", "--cached", "openspec"]);
    std::fs::remove_dir_all(sandbox.top.join("openspec")).unwrap();
    sandbox
        .cmd("sh")
        .args(["-ec", &block("the stories")])
        .run()
        .exits(0);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "stories"]);
    let agent = sandbox.agent(
        "count; case $n in
        1) echo 'The form is there.'; echo form >login.html; complete ;;
        2) echo wrong >wrong; failed 'no password file' ;;
        *) echo check >check.sh; complete ;; esac",
    );
    // Beside the repository, so that it is no part of the work.
    let shown = block("the console").replace("./agent.sh", &agent);
    console::follow(&sandbox, &sandbox.top, &shown);
}

#[test]
fn a_job_goes_on_where_another_one_stopped() {
    let sandbox = Sandbox::new();
    let remote = sandbox.outside("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", "--initial-branch=main", remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let script = sandbox.outside("ralph-ci.sh");
    fs::write(&script, block("the job")).unwrap();
    let go = sandbox.outside("go");
    let agent = sandbox.agent(&format!(
        "if test $RALPH_STORY = 2 && ! test -e '{}'; then sleep 1000; fi; echo $RALPH_STORY >>f; complete",
        go.display()
    ));
    let job = |name: &str, limit: &str| {
        let clone = sandbox.outside(name);
        sandbox.git(&["clone", "-q", remote, clone.to_str().unwrap()]);
        let agent = ["config", "ralph.agent", &agent];
        sandbox.git_cmd(&agent).dir(&clone).run().exits(0);
        let cmd = sandbox
            .cmd("sh")
            .args([script.to_str().unwrap(), "add-login", limit]);
        let output = cmd.dir(&clone).patiently().run().exits(0).stdout;
        assert!(clone.join("ralph-log.tgz").is_file());
        output
    };
    assert_eq!(job("first", "3s"), "there is more to do: the next job goes on\n");
    fs::write(&go, "").unwrap();
    let second = job("second", "100s");
    assert!(
        second.ends_with("every story is complete: see the branch ralph/add-login\n"),
        "{second}"
    );
    let log = ["log", "--format=%s", "ralph/add-login"];
    let subjects = sandbox.git_cmd(&log).dir(Path::new(remote)).run().exits(0).stdout;
    let wanted = "checkpoint: 3\ncheckpoint: 2\ncheckpoint: 1\ninitial state\n";
    assert!(subjects.starts_with(wanted), "{subjects}");
    // A third one has nothing to do, and that is no error.
    assert!(job("third", "100s").contains("every story is complete"));
}

#[test]
fn the_workflows_are_yaml_and_call_the_script() {
    for file in [".github/workflows/ralph.yml", ".gitlab-ci.yml"] {
        let text = block_after(&format!("<!-- yaml: {file} -->"));
        let parsed: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let job = match file {
            ".gitlab-ci.yml" => &parsed["ralph"]["script"],
            _ => &parsed["jobs"]["loop"]["steps"],
        };
        let lines = job.as_array().unwrap();
        let calls =
            |line: &&serde_json::Value| line.to_string().contains("sh ralph-ci.sh \\\"$CHANGE\\\" 330m");
        assert_eq!(lines.iter().filter(calls).count(), 1, "{file}: {job}");
    }
}

#[test]
fn the_line_for_cron_goes_on_each_time() {
    let sandbox = Sandbox::new();
    let home = sandbox.outside("home");
    std::os::unix::fs::symlink(&sandbox.top, home.join("project")).unwrap();
    let agent = sandbox.completing("echo x >>f");
    sandbox.configure("ralph.agent", &agent);
    let line = block("the crontab");
    let mut fields = line.splitn(6, ' ');
    let command = fields.by_ref().nth(5).unwrap();
    sandbox.cmd("sh").args(["-c", command]).run().exits(0);
    assert_eq!(sandbox.status()["phase"], "finished");
    let log = fs::read_to_string(home.join("ralph.log")).unwrap();
    assert!(log.contains("nothing is left to do"), "{log}");
}

#[test]
fn every_shell_block_can_be_typed() {
    let readme = readme();
    let blocks = readme.split("\n```sh\n").skip(1);
    let blocks: Vec<_> = blocks.filter_map(|rest| rest.split_once("\n```")).collect();
    assert!(blocks.len() > 10);
    let sandbox = Sandbox::empty();
    for (block, _) in blocks {
        let check = sandbox.cmd("sh").args(["-nc", block]);
        assert_eq!(check.dir(top()).run().exits(0).stderr, "", "{block}");
    }
}

/// The block of README.md that is run under this name.
fn block(name: &str) -> String {
    block_after(&format!("<!-- run: {name} -->"))
}

fn block_after(comment: &str) -> String {
    let readme = readme();
    let (_, rest) = readme
        .split_once(comment)
        .unwrap_or_else(|| panic!("README.md has no {comment}"));
    let (_, block) = rest.split_once("```").unwrap();
    let (_, block) = block.split_once('\n').unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    fs::read_to_string(top().join("README.md")).unwrap()
}

fn driver_file() -> PathBuf {
    top().join("tests/fixtures/driver.sh")
}
