//! What docs/ci.md shows for jobs, workflows and cron.

use std::fs;
use std::path::Path;

use crate::support::document::block;
use crate::support::remote::{Clone, Remote};
use crate::support::{CHANGE, Sandbox, TASKS};

#[test]
fn job_continues_where_another_job_stopped() {
    let sandbox = Sandbox::new();
    let remote = sandbox.outside("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", "--initial-branch=main", remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    let script = sandbox.outside("ralph-ci.sh");
    fs::write(&script, block("run: the job")).unwrap();
    let (go, second) = (sandbox.outside("go"), sandbox.notes.join("second"));
    let agent = sandbox.agent(&format!(
        "if test $RALPH_STORY = 2 && ! test -e '{}'; then echo >\"$notes/second\"; sleep 1000; fi
         echo $RALPH_STORY >>f; complete",
        go.display()
    ));
    let job = |name: &str, limit: &str| {
        let clone = sandbox.outside(name);
        let url = format!("file://{remote}");
        sandbox.git(&["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]);
        let agent = ["config", "ralph.agent", &agent];
        sandbox.git_cmd(&agent).dir(&clone).run().exits(0);
        let cmd = sandbox.cmd("sh").args([script.to_str().unwrap(), limit]);
        let output = cmd.dir(&clone).patiently().run().exits(0).stdout;
        let last = output.lines().last().unwrap_or_default().to_owned();
        (last, clone)
    };
    // On a busy machine one of so few seconds comes to no story.
    let mut limit = 3;
    let clone = loop {
        let (first, clone) = job(&format!("first-{limit}"), &format!("{limit}s"));
        assert_eq!(first, "there is more to do: the next job continues");
        if second.exists() {
            break clone;
        }
        limit *= 2;
    };
    assert!(clone.join("ralph.html").is_file());
    fs::write(&go, "").unwrap();
    let done = "every change is done: see the branches ralph/<change>";
    assert_eq!(job("second", "1h").0, done);
    let log = ["log", "--format=%s", "ralph/add-login"];
    let subjects = sandbox.git_cmd(&log).dir(Path::new(remote)).run().exits(0).stdout;
    let wanted = "checkpoint: 3\ncheckpoint: 2\ncheckpoint: 1\ninitial state\n";
    assert!(subjects.starts_with(wanted), "{subjects}");
    // A third one has nothing to do, and that is no error.
    assert_eq!(job("third", "1h").0, done);
}

#[test]
fn the_workflows_are_yaml_and_call_the_script() {
    for (file, steps, limit) in [
        (".github/workflows/ralph.yml", "/jobs/loop/steps", "330m"),
        (".gitlab-ci.yml", "/ralph/script", "330m"),
        ("job.yaml", "/spec/template/spec/containers/0/args", "5h"),
    ] {
        let text = block(&format!("yaml: {file}"));
        let parsed: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        let lines = parsed
            .pointer(steps)
            .and_then(serde_json::Value::as_array)
            .unwrap();
        let call = format!("sh ralph-ci.sh {limit}");
        let calls = |line: &&serde_json::Value| line.to_string().contains(&call);
        assert_eq!(lines.iter().filter(calls).count(), 1, "{file}: {lines:?}");
    }
}

#[test]
fn each_change_that_is_done_gets_one_pull_request() {
    if !crate::installed("jq") {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/other/tasks.md", "## 1. One\n- [ ] 1.1 do it\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "another"]);
    let agent = sandbox.completing("echo x >>\"$RALPH_CHANGE\"");
    sandbox.ralph(&["run", "other", "--keep", "--", &agent]).exits(0);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.start();
    let made = sandbox.outside("made");
    let gh = "case $2 in view) test -e '{}/'\"${3#*/}\" ;; create) shift 2; echo \"$@\"; tee '{}/'\"${2#*/}\" ;; esac";
    fs::create_dir(&made).unwrap();
    sandbox.install("gh", &gh.replace("{}", made.to_str().unwrap()));
    let script = block("run: the pull requests");
    let open = || sandbox.cmd("sh").args(["-ec", &script]).run().exits(0).stdout;
    let opened = open();
    assert!(
        opened.starts_with("--head ralph/other --title other --body-file -\n### git ralph: other\n"),
        "{opened}"
    );
    // It is open now, and the other change is not done.
    assert_eq!(open(), "");
}

#[test]
fn clone_continues_unpushed_work_from_a_bundle() {
    let sandbox = Sandbox::started();
    sandbox.step("next", &sandbox.completing("echo x >one")).exits(0);
    sandbox.step("next", &sandbox.failing("echo x >two")).exits(3);
    let run = |name: &str, dir: &Path| {
        let cmd = sandbox.cmd("sh").args(["-ec", &block(name)]).dir(dir);
        cmd.env("change", CHANGE).run().exits(0)
    };
    run("run: the bundle", &sandbox.top);
    let clone = sandbox.outside("clone");
    let from = format!("file://{}", sandbox.top.display());
    sandbox.git(&["clone", "-q", "--branch=main", &from, clone.to_str().unwrap()]);
    fs::rename(
        sandbox.top.join("ralph.bundle"),
        clone.parent().unwrap().join("ralph.bundle"),
    )
    .unwrap();
    run("run: out of the bundle", &clone);
    let status = sandbox
        .direct(&["status", CHANGE, "--json"])
        .dir(&clone)
        .run()
        .exits(0)
        .json();
    assert_eq!(
        (&status["phase"], &status["stories_done"]),
        (&"ready".into(), &1.into())
    );
    let kept = ["show", "refs/ralph/add-login/attempts/2/1:two"];
    assert_eq!(sandbox.git_cmd(&kept).dir(&clone).run().exits(0).stdout, "x\n");
}

#[test]
fn loop_of_a_bundle_goes_back_to_the_remote() {
    for (by_run, refused) in [(false, 2), (true, 2), (false, 1)] {
        let remote = Remote::new();
        let sandbox = &remote.sandbox;
        let (job, own) = (remote.clone("job", &[]), remote.clone("own", &[]));
        let run = |name: &str, clone: &Clone<'_>| {
            let cmd = sandbox.cmd("sh").args(["-ec", &block(name)]).dir(&clone.dir);
            cmd.env("change", CHANGE).run().exits(0)
        };
        remote.refuse(
            "case $ref in *state) git ls-tree -r --name-only \"$3^2\" | grep -q workflow ;; *) false ;; esac",
        );
        let agent = sandbox.completing(&format!(
            "echo x >>f; test $RALPH_STORY -lt {refused} || echo x >workflow.yml"
        ));
        job.ralph(&["run", "--any", "--keep", "--", &agent]).exits(7);
        run("run: the bundle", &job);
        let beside = own.dir.parent().unwrap().join("ralph.bundle");
        fs::rename(job.dir.join("ralph.bundle"), &beside).unwrap();
        fs::remove_file(remote.bare.join("hooks/update")).unwrap();
        run("run: out of the bundle", &own);
        fs::remove_file(beside).unwrap();
        if !by_run {
            run("run: back to the remote", &own);
            assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\n".repeat(refused));
        }
        own.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
        let subjects = remote.git(&["log", "--format=%s", "ralph/add-login"]);
        assert!(
            subjects.starts_with("checkpoint: 3\ncheckpoint: 2\ncheckpoint: 1\ninitial state\n"),
            "{subjects}"
        );
        assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
        own.ralph(&["push", CHANGE]).exits(0);
    }
}

#[test]
fn line_for_cron_continues_the_loop_each_time() {
    let sandbox = Sandbox::new();
    let home = sandbox.outside("home");
    std::os::unix::fs::symlink(&sandbox.top, home.join("project")).unwrap();
    let line = block("run: the crontab");
    let command = line.splitn(6, ' ').nth(5).unwrap().to_owned();
    let night = |code: i32| {
        let end = sandbox.cmd("sh").args(["-c", &command]).run();
        let log = fs::read_to_string(home.join("ralph.log")).unwrap();
        assert_eq!(end.code, code, "{log}");
        a_day_passes(&sandbox);
        fs::remove_file(home.join("ralph.log")).unwrap();
        log
    };
    let works = |script: &str| sandbox.configure("ralph.agent", &sandbox.agent(script));
    sandbox.configure("ralph.maxRetries", "0");
    sandbox.configure("ralph.maxWait", "0");

    works(
        "echo x >>f; case $RALPH_STORY in 1) complete ;; 2) failed no ;; *) echo 'error 429: rate limit reached, try again later' >&2; exit 1 ;; esac",
    );
    let log = night(6);
    assert!(
        log.contains("1 of 3 stories are complete, 1 put off (2)"),
        "{log}"
    );
    // The third story fails, and then the second one again.
    works("failed 'no again'");
    assert!(night(4).contains("1 of 3 stories are complete, 1 put off (3)"));
    // A raised limit has both tried again.
    sandbox.configure("ralph.maxRetries", "1");
    works("echo y >>f; complete");
    assert!(night(0).contains("3 of 3 stories are complete"));
    sandbox.configure("ralph.maxRetries", "0");
    // The list gets longer, and the machine goes down in the middle of the night.
    let list = sandbox.read(TASKS);
    sandbox.write(TASKS, &format!("{list}\n## 4. More\n- [ ] 4.1 Do it\n"));
    works("echo z >>f; kill -9 $(sed 's|process ||' .git/ralph/add-login.lock); sleep 100");
    night(137);
    // Who changes the configuration before that is ended has to say so.
    sandbox.ralph(&["status"]).exits(0).says("was interrupted");
    works("echo z >>f; complete");
    assert!(night(0).contains("4 of 4 stories are complete"));
    assert!(night(0).contains("nothing is left to do"));
    assert_eq!(sandbox.status()["phase"], "complete");
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
}

/// Has the loop be a day older.
fn a_day_passes(sandbox: &Sandbox) {
    let file = sandbox.state_file();
    let state = fs::read_to_string(&file).unwrap();
    let older: Vec<String> = state
        .lines()
        .map(|line| match line.strip_prefix("started = \"") {
            Some(rest) => {
                let then: jiff::Timestamp = rest.trim_end_matches('"').parse().unwrap();
                format!("started = \"{}\"", then - jiff::SignedDuration::from_hours(24))
            }
            None => line.to_owned(),
        })
        .collect();
    assert_ne!(older.join("\n"), state.trim_end());
    fs::write(file, older.join("\n") + "\n").unwrap();
}
