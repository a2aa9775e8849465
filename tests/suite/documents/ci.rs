//! What docs/ci.md shows for jobs, workflows and cron.

use std::fs;
use std::path::Path;

use crate::support::Sandbox;
use crate::support::document::block;

#[test]
fn a_job_goes_on_where_another_one_stopped() {
    let sandbox = Sandbox::new();
    let remote = sandbox.outside("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", "--initial-branch=main", remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let script = sandbox.outside("ralph-ci.sh");
    fs::write(&script, block("run: the job")).unwrap();
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
        let list = sandbox.cmd("tar").args(["-tzf", "ralph-log.tgz"]).dir(&clone);
        let packed = list.run().exits(0).stdout;
        assert!(packed.contains("events.jsonl\n"), "{packed}");
        let is_log = |name: &str| {
            matches!(name, "events.jsonl" | "attempts/")
                || Path::new(name).extension() == Some("log".as_ref())
        };
        assert!(packed.lines().all(is_log), "{packed}");
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
        let text = block(&format!("yaml: {file}"));
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
    let line = block("run: the crontab");
    let mut fields = line.splitn(6, ' ');
    let command = fields.by_ref().nth(5).unwrap();
    sandbox.cmd("sh").args(["-c", command]).run().exits(0);
    assert_eq!(sandbox.status()["phase"], "finished");
    let log = fs::read_to_string(home.join("ralph.log")).unwrap();
    assert!(log.contains("nothing is left to do"), "{log}");
}
