//! `git ralph status --short`, and what completions show of a loop.

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Sandbox};

#[test]
fn short_line_follows_a_loop() {
    let sandbox = Sandbox::new();
    let short = || {
        let output = sandbox.direct(&["status", "--short"]).run().exits(0);
        assert_eq!(output.stderr, "");
        output.stdout
    };
    assert_eq!(short(), "");
    sandbox.start();
    assert_eq!(short(), "ralph: add-login 0/3 story 1\n");
    let failing = sandbox.failing(&format!(
        "'{}' status --short >\"$notes/running\"",
        env!("CARGO_BIN_EXE_git-ralph")
    ));
    sandbox.step("next", &failing).exits(3);
    assert_eq!(sandbox.noted("running"), "ralph: add-login 0/3 story 1 running\n");
    assert_eq!(short(), "ralph: add-login 0/3 story 1 failed\n");
    sandbox.step("retry", &failing).exits(3);
    assert_eq!(
        sandbox.noted("running"),
        "ralph: add-login 0/3 story 1 retry 1 running\n"
    );
    assert_eq!(short(), "ralph: add-login 0/3 story 1 retry 1 failed\n");
    let agent = sandbox.completing("true");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(short(), "ralph: add-login 1/3 story 2\n");
    sandbox.ralph(&["skip"]).exits(0);
    assert_eq!(short(), "ralph: add-login 1/3 (1 skipped) story 3\n");
    sandbox.ralph(&["skip", "--undo"]).exits(0);
    sandbox.git(&["checkout", "-q", "-b", "mine"]);
    assert_eq!(short(), "ralph: add-login 1/3 story 2, away on mine\n");
    sandbox.git(&["checkout", "-q", "--detach"]);
    let head = sandbox.git(&["rev-parse", "--short=12", "HEAD"]);
    assert_eq!(short(), format!("ralph: add-login 1/3 story 2, away on {head}\n"));
    sandbox.git(&["checkout", "-q", "ralph/add-login"]);
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(short(), "ralph: add-login 3/3 complete\n");
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(short(), "");
}

#[test]
fn short_line_needs_no_git_and_no_list_and_never_fails() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let path = sandbox.outside("nothing");
    let short = |dir: &std::path::Path, args: &[&str]| {
        let args = [&["status", "--short"], args].concat();
        let output = sandbox.direct(&args).dir(dir).env("PATH", &path).run().exits(0);
        assert_eq!(output.stderr, "");
        output.stdout
    };
    let line = "ralph: add-login 0/3 story 1\n";
    let list = sandbox.top.join(crate::support::TASKS);
    std::fs::remove_file(list).unwrap();
    assert_eq!(short(&sandbox.top.join("src"), &[]), line);
    let linked = sandbox.outside("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    assert_eq!(short(&linked, &[]), line);
    assert_eq!(short(&linked, &[CHANGE]), line);
    for name in ["other", "--", "no/name"] {
        assert_eq!(short(&linked, &[name]), if name == "--" { line } else { "" });
    }
    let outside = sandbox.outside("home");
    assert_eq!(short(&outside, &[]), "");
    let output = sandbox
        .direct(&["status", "--short"])
        .dir(&outside)
        .env("GIT_DIR", sandbox.top.join(".git"));
    assert_eq!(output.run().exits(0).stdout, line);
    // A state of an older version says less; one of a newer version nothing but that.
    let state = std::fs::read_to_string(sandbox.state_file()).unwrap();
    let without: String = state.split("[loop.listed]").next().unwrap().to_owned() + {
        let rest = state.split("[loop.listed]").nth(1).unwrap();
        rest.find("\n[").map_or("", |at| &rest[at..])
    };
    std::fs::write(sandbox.state_file(), &without).unwrap();
    assert_eq!(short(&sandbox.top, &[]), "ralph: add-login\n");
    std::fs::write(
        sandbox.state_file(),
        state.replace("version = 4", "version = 9999"),
    )
    .unwrap();
    assert_eq!(short(&sandbox.top, &[]), "ralph: add-login cannot be read\n");
}

#[test]
fn short_line_shows_a_wait_and_a_cut_off_attempt() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(
        "printf '%s\\n' '{\"type\":\"system\",\"subtype\":\"init\"}' \
         '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":529,\"result\":\"API Error: 529 Overloaded\"}'; exit 1",
    );
    let running = sandbox.direct(&["next", "--", &agent]).start();
    crate::support::wait_until("it waits", || {
        let output = sandbox.direct(&["status", "--short"]).run();
        output.stdout == "ralph: add-login 0/3 story 1 waiting\n"
    });
    running.signal(Signal::SIGKILL);
    running.end();
    let output = sandbox.direct(&["status", "--short"]).run();
    assert_eq!(output.stdout, "ralph: add-login 0/3 story 1\n");
}

#[test]
fn the_short_line_and_completions_wait_for_nothing() {
    use nix::{sys::stat::Mode, unistd::mkfifo};
    use std::fs;

    let words = |sandbox: &Sandbox| {
        sandbox.direct(&["status", "--short"]).run();
        for verb in ["status", "start", "next"] {
            let complete = sandbox.direct(&["--", "git-ralph", verb, ""]);
            complete
                .env("COMPLETE", "bash")
                .env("_CLAP_COMPLETE_INDEX", "2")
                .run();
        }
        let agents = sandbox.direct(&["--", "git-ralph", "next", "--agent", ""]);
        agents
            .env("COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", "3")
            .run();
    };
    for name in [
        ".git/HEAD",
        ".git",
        ".git/packed-refs",
        ".git/refs/heads/ralph/add-login",
        ".git/ralph/add-login.toml",
        ".git/ralph/add-login.lock",
        ".git/ralph/add-login/events.jsonl",
    ] {
        for device in [false, true] {
            let sandbox = Sandbox::new();
            sandbox.start();
            let path = sandbox.top.join(name);
            if name == ".git" {
                fs::rename(&path, sandbox.outside("git")).unwrap();
            } else {
                let _ = fs::remove_file(&path);
            }
            if device {
                std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            } else {
                mkfifo(&path, Mode::S_IRWXU).unwrap();
            }
            // What git itself waits for is git's; nobody sits before a prompt for long.
            if name == ".git/packed-refs" || name.starts_with(".git/refs") {
                sandbox.direct(&["status", "--short"]).run();
            } else {
                words(&sandbox);
            }
        }
    }
    let sandbox = Sandbox::new();
    sandbox.start();
    let long = format!(
        "{}\n# {}",
        fs::read_to_string(sandbox.state_file()).unwrap(),
        "x".repeat(1 << 20)
    );
    fs::write(sandbox.state_file(), long).unwrap();
    let line = sandbox.direct(&["status", "--short"]).run().exits(0).stdout;
    assert_eq!(line, "ralph: add-login cannot be read\n");
}

#[test]
fn short_line_is_empty_in_a_repository_of_another_user() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return;
    };
    sandbox.start();
    let short = || sandbox.direct(&["status", "--short"]).run().exits(0).stdout;
    assert!(short().starts_with("ralph: add-login"));
    // Only root can give a directory away.
    if std::os::unix::fs::chown(&sandbox.top, Some(1), None).is_err() {
        return;
    }
    assert_eq!(short(), "");
    let config = sandbox.outside("safe");
    std::fs::write(&config, "[safe]\n\tdirectory = *\n").unwrap();
    std::os::unix::fs::chown(&config, Some(65534), None).unwrap();
    let safe = sandbox
        .direct(&["status", "--short"])
        .env("GIT_CONFIG_GLOBAL", &config);
    assert!(safe.run().exits(0).stdout.starts_with("ralph: add-login"));
}
