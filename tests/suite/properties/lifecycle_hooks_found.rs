//! Which hooks run: those that git finds and that were there before the attempt.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use git_ralph::tables::LIFECYCLE_HOOKS;
use nix::sys::signal::Signal;

use super::lifecycle_hooks::{noted, noting, ran};
use crate::support::{Sandbox, git, wait_for, write_program};

#[test]
fn planted_hooks_never_run() {
    let plants = [
        "mkdir -p .git/hooks; for h in $hooks; do printf '#!/bin/sh\\ntouch %s/planted\\n' \"$notes\" >.git/hooks/$h; chmod +x .git/hooks/$h; done",
        "mkdir \"$notes/evil\"; for h in $hooks; do printf '#!/bin/sh\\ntouch %s/planted\\n' \"$notes\" >\"$notes/evil/$h\"; chmod +x \"$notes/evil/$h\"; done; git config core.hooksPath \"$notes/evil\"",
        "for h in $hooks; do git config --add hook.evil.event $h; done; git config hook.evil.command \"touch $notes/planted\"",
    ];
    let names: Vec<&str> = LIFECYCLE_HOOKS.iter().map(|row| row.hook.name()).collect();
    for plant in plants {
        for own in [false, true] {
            let sandbox = if own { noted() } else { Sandbox::new() };
            sandbox.start();
            let head = format!(
                "hooks='{}'\ncd '{}'\n{plant}",
                names.join(" "),
                sandbox.top.display()
            );
            sandbox.step("next", &sandbox.failing(&head)).exits(3);
            sandbox
                .step(
                    "retry",
                    &sandbox.completing(&format!("rm -rf \"$notes/evil\"; {head}; echo x >x")),
                )
                .exits(0);
            sandbox.ralph(&["finish", "--cleanup"]).exits(0);
            assert!(!sandbox.notes.join("planted").exists(), "{plant}");
            let wanted = if own { 9 } else { 0 };
            assert_eq!(ran(&sandbox).len(), wanted, "{plant}");
        }
    }
}

#[test]
fn hooks_planted_by_a_killed_attempt_never_run() {
    let sandbox = noted();
    sandbox.start();
    let there = sandbox.notes.join("there");
    let agent = sandbox.agent(
        "git config core.hooksPath /nowhere; printf '#!/bin/sh\\ntouch %s/planted\\n' \"$notes\" >.git/hooks/ralph-pre-attempt; echo >\"$notes/there\"; sleep 1000",
    );
    let running = sandbox.direct(&["next", "--", &agent]).start();
    wait_for(&there);
    running.signal(Signal::SIGKILL);
    running.wait_for_its_end();
    ran(&sandbox);
    // The configuration was read before it was put back: it must not decide. Nor does the recorded hook, which the
    // attempt could have written, before a person has looked.
    let refused = sandbox.step("next", &sandbox.failing("true")).exits(7);
    let (_, choice) = refused.stderr.split_once("to take the recorded one: ").unwrap();
    let (choice, _) = choice.split_once("; ").unwrap();
    sandbox.cmd("sh").args(["-c", choice]).run().exits(0);
    sandbox.step("next", &sandbox.failing("true")).exits(3);
    assert!(!sandbox.notes.join("planted").exists());
    // Nobody is told of what the killed attempt came to.
    let wanted = [
        "ralph-pre-attempt add-login 1",
        "ralph-post-attempt add-login 1",
        "ralph-post-revert add-login 1",
    ];
    assert_eq!(ran(&sandbox), wanted);
}

#[test]
fn hooks_are_found_where_git_finds_them() {
    let sandbox = Sandbox::new();
    let script = format!("#!/bin/sh\n{}", noting(&sandbox));
    let dirs = [
        (".husky", ".husky".to_owned()),
        (".git/own", sandbox.top.join(".git/own").display().to_string()),
        ("../home/my hooks", "~/my hooks".to_owned()),
    ];
    sandbox.start();
    for (dir, setting) in &dirs {
        let file = sandbox.top.join(dir).join("ralph-pre-attempt");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        sandbox.configure("core.hooksPath", setting);
        sandbox.ralph(&["revert"]).exits(0);
        let agent = sandbox.agent("exit 1");
        sandbox
            .ralph(&["next", "--max-retries", "9", "--", &agent])
            .exits(3);
        assert_eq!(
            ran(&sandbox),
            if *dir == ".husky" {
                vec![]
            } else {
                vec!["ralph-pre-attempt add-login 1".to_owned()]
            }
        );
        sandbox.ralph(&["abort"]).exits(0);
        sandbox.start();
    }
}

#[test]
fn a_setting_of_the_command_line_holds_for_hooks_too() {
    let sandbox = noted();
    let own = sandbox.outside("own");
    fs::rename(sandbox.top.join(".git/hooks"), &own).unwrap();
    sandbox.start();
    let agent = sandbox.failing("true");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(ran(&sandbox), [""; 0]);
    let setting = format!("core.hooksPath={}", own.display());
    let set = ["-c", &setting, "ralph", "retry", "--", &agent];
    sandbox.git_cmd(&set).run().exits(3);
    assert_eq!(ran(&sandbox).len(), 3);
    // The same by the environment.
    sandbox
        .ralph_cmd(&["retry", "--", &agent])
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.hooksPath")
        .env("GIT_CONFIG_VALUE_0", &own)
        .run()
        .exits(3);
    assert_eq!(ran(&sandbox).len(), 3);
}

#[test]
fn a_file_that_is_not_executable_is_no_hook() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.hook("ralph-pre-attempt", "exit 1");
    let file = sandbox.top.join(".git/hooks/ralph-pre-attempt");
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    sandbox.step("next", &sandbox.completing("echo x >x")).exits(0);
}

/// A git that does one thing with `git hook`, and everything else as git does it.
fn with_git(sandbox: &Sandbox, hook: &str) {
    let git = git();
    let git = git.display();
    let script = format!("for word do case $word in hook) {hook} ;; esac; done\nexec '{git}' \"$@\"");
    sandbox.install("git", &script);
}

#[test]
fn error_reports_a_git_that_cannot_run_hooks() {
    let sandbox = noted();
    sandbox.start();
    with_git(
        &sandbox,
        "echo \"git: 'hook' is not a git command. See 'git --help'.\" >&2; exit 1",
    );
    let agent = sandbox.completing("true");
    sandbox
        .direct(&["next", "--", &agent])
        .run()
        .exits(1)
        .says("git hook run needs git 2.36 or later");
    assert_eq!(ran(&sandbox), [""; 0]);
}

#[test]
fn git_with_known_hook_names_gets_the_option_for_unknown_ones() {
    let sandbox = noted();
    sandbox.start();
    with_git(
        &sandbox,
        "case \"$*\" in *' -h') echo 'usage: git hook run [--allow-unknown-hook-name] [--ignore-missing]'; exit 129 ;; esac; \
         echo \"$*\" >>\"$notes/asked\"; exit 0",
    );
    sandbox.configure("hook.mine.event", "ralph-pre-attempt");
    let agent = sandbox.failing("true");
    sandbox.direct(&["next", "--", &agent]).run().exits(3);
    let asked = sandbox.noted("asked");
    let wanted = "hook run --allow-unknown-hook-name --ignore-missing ralph-pre-attempt -- add-login 1";
    assert!(asked.lines().next().unwrap().ends_with(wanted), "{asked}");
}

#[test]
fn a_configured_hook_needs_a_git_that_knows_of_them() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let note = format!("echo configured >>'{}/hooks'", sandbox.notes.display());
    sandbox.configure("hook.mine.event", "ralph-pre-attempt");
    sandbox.configure("hook.mine.command", &note);
    let output = sandbox.step("next", &sandbox.failing("true")).exits(3);
    let usage = sandbox.git_cmd(&["hook", "run", "-h"]).run();
    if format!("{}{}", usage.stdout, usage.stderr).contains("allow-unknown") {
        assert_eq!(ran(&sandbox), ["configured"]);
    } else {
        output.says("ralph-pre-attempt is a hook of the configuration, which needs git 2.54");
    }
}

#[test]
fn a_hook_in_the_work_tree_is_the_one_that_the_loop_began_with() {
    let hook = |what: &str| format!("printf '#!/bin/sh\\n{what} >>%s/hooks\\n' \"$notes\"");
    let sandbox = Sandbox::new();
    let own = format!("#!/bin/sh\necho own >>'{}/hooks'\n", sandbox.notes.display());
    fs::create_dir(sandbox.top.join(".githooks")).unwrap();
    write_program(&sandbox.top.join(".githooks/ralph-post-attempt"), &own);
    write_program(&sandbox.top.join(".githooks/ralph-pre-checkpoint"), &own);
    sandbox.configure("core.hooksPath", ".githooks");
    sandbox.start();
    let plant = format!(
        "mkdir -p .githooks; {} >.githooks/ralph-pre-finish; chmod +x .githooks/*",
        hook("echo planted")
    );
    sandbox.step("next", &sandbox.completing(&plant)).exits(0);
    sandbox.ralph(&["finish", "--keep"]).exits(0).says(
        "warning: .githooks/ralph-pre-finish is not the hook that the loop began with, and was not run",
    );
    assert_eq!(ran(&sandbox), ["own", "own"]);
    for harm in [
        "echo x >>.githooks/ralph-pre-checkpoint",
        "rm .githooks/ralph-pre-checkpoint",
    ] {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.top.join(".githooks")).unwrap();
        write_program(&sandbox.top.join(".githooks/ralph-pre-checkpoint"), &own);
        sandbox.configure("core.hooksPath", ".githooks");
        sandbox.start();
        sandbox
            .step("next", &sandbox.completing(harm))
            .exits(3)
            .says("is not the hook that the loop began with");
    }
}

#[test]
fn a_loop_inside_a_hook_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.hook("ralph-pre-attempt", "git ralph next -- true");
    sandbox
        .step("next", &sandbox.completing("true"))
        .exits(1)
        .says("answer for the user, inside an attempt");
}

#[test]
fn step_runs_no_git_to_find_hooks_if_there_are_none() {
    let sandbox = Sandbox::new();
    with_git(&sandbox, "echo asked >>\"$notes/asked\"");
    sandbox.start();
    sandbox.hook("pre-commit", "true");
    let agent = sandbox.completing("echo x >x");
    sandbox.direct(&["next", "--", &agent]).run().exits(0);
    sandbox.direct(&["finish", "--cleanup"]).run().exits(0);
    assert!(!sandbox.notes.join("asked").exists());
}
