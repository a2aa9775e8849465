//! The box (`ralph.box`): that all but what cannot be reached is as without it.

use std::fs;
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Sandbox, wait_until, write_program};

#[test]
fn work_learnings_output_and_exit_codes_pass() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.configure("ralph.box", "require");
    sandbox.start();
    let agent = sandbox.agent("echo tried >work; echo spoken; echo complained >&2; exit 7");
    sandbox
        .step("next", &agent)
        .exits(3)
        .says("exit code 7")
        .says("complained");
    let agent = sandbox.completing(
        "echo done >work; mkdir new; echo x >new/file; chmod +x new/file; ln -s new link2
        echo noted >>\"$RALPH_LEARNINGS\"; test -s \"$RALPH_PROMPT_FILE\" || exit 9
        git log -1 --format=%s >subject; (setsid sleep 1000 &)
        for dir in /tmp /var/tmp /run /dev/shm \"$HOME\"; do echo x >\"$dir/x\" || exit 9; done",
    );
    sandbox
        .ralph(&[
            "retry",
            "--verify",
            "test -x new/file && ! test -e $HOME/x",
            "--",
            &agent,
        ])
        .exits(0)
        .says("the agent left a process running; it was ended");
    sandbox.nothing_is_alive();
    assert_eq!(sandbox.read("work"), "done\n");
    assert_eq!(sandbox.read("subject"), "initial state\n");
    assert!(sandbox.ralph(&["prompt"]).exits(0).stdout.contains("noted"));
}

#[test]
fn a_signal_gives_the_agent_its_time_and_a_kill_leaves_nothing_running() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.start();
    let agent =
        sandbox.agent("trap 'echo bye >bye; exit 1' TERM; echo begun >begun; while :; do sleep 0.05; done");
    let running = sandbox.direct(&["next", "--box", "--", &agent]).start();
    wait_until("the agent has begun", || sandbox.top.join("begun").exists());
    running.signal(Signal::SIGTERM);
    assert_eq!(running.end().code, 143);
    sandbox.nothing_is_alive();
    sandbox.is_at_checkpoint();
    let kept = format!("refs/ralph/{CHANGE}/attempts/1/1:bye");
    assert_eq!(sandbox.git(&["show", &kept]), "bye");
    let agent =
        sandbox.agent("trap '' TERM; echo again >again; (setsid sleep 1000 &); while :; do sleep 0.05; done");
    let running = sandbox.direct(&["next", "--box", "--", &agent]).start();
    wait_until("the agent works again", || sandbox.top.join("again").exists());
    running.signal(Signal::SIGKILL);
    running.end();
    let agent = sandbox.completing("test ! -e again && echo x >x");
    sandbox.step("next", &agent).exits(0);
    sandbox.nothing_is_alive();
}

#[test]
fn broken_bwrap_stops_box_require_but_not_box_on() {
    let sandbox = Sandbox::new();
    sandbox.start();
    sandbox.install(
        "bwrap",
        "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
    );
    let agent = sandbox.completing("echo x >x");
    sandbox
        .ralph(&["next", "--box", "--", &agent])
        .exits(1)
        .says("a box is required (ralph.box), and there is none: bwrap cannot make it: setting up uid map")
        .says("hint: let it make user namespaces");
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.status()["phase"], "ready");
    sandbox
        .ralph(&["next", "--box=on", "--", &agent])
        .exits(0)
        .says("warning: this attempt is made without a box (ralph.box): bwrap cannot make it");
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains("Ralph-Box: none (bwrap cannot make it"),
        "{message}"
    );
    let attempt = &sandbox.attempts()[0];
    assert!(attempt["box"].as_str().unwrap().starts_with("none ("));
    let page = sandbox.outside("page.html");
    let to_page = format!("--output={}", page.display());
    sandbox.ralph(&["report", &to_page]).exits(0);
    assert!(fs::read_to_string(page).unwrap().contains("without a box"));
}

#[test]
fn a_work_tree_around_the_home_directory_has_no_box() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.start();
    let agent = sandbox.completing("echo x >x");
    sandbox.write("me/.keep", "");
    sandbox
        .ralph_cmd(&["next", "--box", "--", &agent])
        .env("HOME", sandbox.top.join("me"))
        .run()
        .exits(1)
        .says("the work tree holds the home directory");
}

#[test]
fn box_shows_the_program_of_an_agent_that_is_set_by_its_path() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    let dir = sandbox.outside("home/my tools");
    fs::create_dir_all(&dir).unwrap();
    let program = sandbox.outside("home/agent");
    for (file, text) in [
        (
            &program,
            "#!/bin/sh\necho x >work; echo '<promise>COMPLETE</promise>'\n",
        ),
        (&dir.join("key"), "key\n"),
    ] {
        write_program(file, text);
    }
    sandbox.configure("ralph.box", "require");
    sandbox.configure("ralph.agent", &format!("{} --fast", program.display()));
    sandbox.start();
    sandbox.ralph(&["next"]).exits(0);
    let look = format!("test ! -e '{}'; {}", dir.join("key").display(), program.display());
    sandbox.configure("ralph.agent", &look);
    // A shell's own line names no program.
    sandbox.ralph(&["next"]).exits(1);
}

#[test]
fn box_gives_an_agent_its_own_files_and_those_that_the_user_adds() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    let home = sandbox.outside("home");
    fs::create_dir_all(home.join(".claude/projects")).unwrap();
    fs::create_dir_all(home.join("shared")).unwrap();
    fs::create_dir_all(home.join("seen")).unwrap();
    for name in [
        ".claude/settings.json",
        ".claude/.credentials.json",
        ".claude.json",
        "seen/file",
    ] {
        fs::write(home.join(name), "own\n").unwrap();
    }
    sandbox.install(
        "claude",
        "cat $HOME/.claude.json $HOME/.claude/settings.json >read; echo $ANTHROPIC_API_KEY $MY_TOKEN $IS_SANDBOX >keys
        for name in .claude/settings.json .claude/.credentials.json .claude/new .claude.json shared/x seen/file; do
            (echo changed >$HOME/$name) 2>/dev/null; done
        mv $HOME/.claude/.credentials.json $HOME/moved 2>/dev/null
        echo '{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"<promise>COMPLETE</promise>\"}'",
    );
    for (key, value) in [
        ("ralph.box", "require"),
        ("ralph.agent", "claude"),
        ("ralph.boxAllow", "write:~/shared"),
        ("ralph.boxAllow", "read:~/seen"),
        ("ralph.boxAllow", "env:MY_TOKEN"),
        (
            "ralph.verify",
            "test -z \"$ANTHROPIC_API_KEY\" && test ! -e $HOME/.claude",
        ),
    ] {
        sandbox.git(&["config", "--add", key, value]);
    }
    sandbox.start();
    sandbox
        .ralph_cmd(&["next"])
        .env("ANTHROPIC_API_KEY", "key")
        .env("MY_TOKEN", "token")
        .run()
        .exits(0);
    assert_eq!(sandbox.read("read"), "own\nown\n");
    assert_eq!(sandbox.read("keys"), "key token 1\n");
    let text = |name: &str| fs::read_to_string(home.join(name)).ok();
    for (name, wanted) in [
        (".claude/settings.json", Some("own\n")),
        (".claude/.credentials.json", Some("changed\n")),
        (".claude/new", None),
        (".claude.json", Some("own\n")),
        ("shared/x", Some("changed\n")),
        ("seen/file", Some("own\n")),
    ] {
        assert_eq!(text(name).as_deref(), wanted, "{name}");
    }
    sandbox.git(&["config", "--add", "ralph.boxAllow", "write:~/typo"]);
    sandbox.git(&["config", "--add", "ralph.boxAllow", "env:UNSET_TOKEN"]);
    let doctor = sandbox.ralph(&["doctor"]).stdout;
    for named in ["names ~/typo", "names the variable UNSET_TOKEN"] {
        assert!(doctor.contains(&format!("ralph.boxAllow {named}")), "{doctor}");
    }
    assert!(
        doctor.contains("box (ralph.box): required; it works here"),
        "{doctor}"
    );
    assert!(doctor.contains(".claude/projects"), "{doctor}");
}

#[test]
fn an_agent_can_replace_its_files_and_only_its_sign_in_stays() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    let home = sandbox.outside("home");
    for name in [".gemini/projects.json", ".codex/auth.json", ".codex/state.sqlite"] {
        let file = home.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "own\n").unwrap();
    }
    let replace =
        "replace() { cat $HOME/$1 >>read; echo new >$HOME/$1.tmp && mv $HOME/$1.tmp $HOME/$1 || exit 9; }";
    sandbox.install(
        "gemini",
        &format!(
            r#"{replace}
replace .gemini/projects.json
echo '{{"type":"init","session_id":"s"}}'
echo '{{"type":"message","role":"assistant","content":"<promise>COMPLETE</promise>","delta":true}}'
echo '{{"type":"result","status":"success","stats":{{}}}}'"#
        ),
    );
    sandbox.install(
        "codex",
        &format!(
            r#"{replace}
test -e $HOME/.codex/state.sqlite && exit 9
case "$*" in *--dangerously-bypass-approvals-and-sandbox*) ;; *) exit 8 ;; esac
replace .codex/auth.json
kill -TERM $PPID; exit 7"#
        ),
    );
    sandbox.configure("ralph.box", "require");
    sandbox.start();
    sandbox.ralph(&["next", "--agent", "gemini"]).exits(0);
    assert_eq!(sandbox.read("read"), "own\n");
    // Its exit code passes, and a signal does not keep what it has renewed from its place. Only its first
    // repeat needs no delay.
    sandbox.configure("ralph.maxWait", "1s");
    sandbox
        .ralph(&["next", "--agent", "codex"])
        .exits(1)
        .says("exit code 7");
    let text = |name: &str| fs::read_to_string(home.join(name)).unwrap();
    assert_eq!(text(".gemini/projects.json"), "own\n");
    assert_eq!(text(".codex/auth.json"), "new\n");
    assert_eq!(text(".codex/state.sqlite"), "own\n");
}

#[test]
fn odd_paths_and_work_trees_of_their_own_have_a_box_too() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    let odd = sandbox.outside("it's a \"d\u{e9}j\u{e0}\" $x");
    fs::rename(&sandbox.top, &odd).unwrap();
    let ralph = |args: &[&str]| sandbox.direct(args).dir(&odd).run();
    let agent = sandbox.completing("echo x >x; (echo evil >.git/evil) 2>/dev/null; pwd >where");
    ralph(&["start", CHANGE]).exits(0);
    ralph(&["next", "--box", "--", &agent]).exits(0);
    assert_eq!(fs::read_to_string(odd.join("x")).unwrap(), "x\n");
    assert!(!odd.join(".git/evil").exists());
    ralph(&["abort"]).exits(0);
    let own = sandbox.outside("own tree");
    let place = format!("--worktree={}", own.display());
    let agent = sandbox.completing("git status >/dev/null && echo x >x; echo gitdir: /evil >.git");
    ralph(&["start", &place, CHANGE]).exits(0);
    sandbox
        .direct(&["next", "--box", "--", &agent])
        .dir(&own)
        .run()
        .exits(0);
    assert_eq!(fs::read_to_string(own.join("x")).unwrap(), "x\n");
    assert!(!fs::read_to_string(own.join(".git")).unwrap().contains("evil"));
}

#[test]
fn setup_command_writes_only_its_own_work_tree() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    let own = sandbox.outside("own");
    sandbox.configure("ralph.box", "require");
    let setup = r#"cp "$RALPH_MAIN_WORKTREE/.env" . && git log -1 --format=%s >subject
        for place in "$RALPH_MAIN_WORKTREE" "$(git rev-parse --git-dir)" "$HOME"; do echo evil >"$place/evil"; done
        mv .git moved; test -s .env"#;
    sandbox.configure("ralph.worktreeSetup", setup);
    let place = format!("--worktree={}", own.display());
    sandbox.ralph(&["start", &place, CHANGE]).exits(0);
    let text = |name: &str| fs::read_to_string(own.join(name)).unwrap();
    assert_eq!(
        (text(".env"), text("subject")),
        ("SECRET=1\n".to_owned(), "first\n".to_owned())
    );
    assert!(own.join(".git").is_file());
    let places = [
        sandbox.top.clone(),
        sandbox.top.join(".git/worktrees/own"),
        sandbox.outside("home"),
    ];
    for place in places {
        assert!(
            place.is_dir() && !place.join("evil").exists(),
            "{}",
            place.display()
        );
    }
}

#[test]
fn step_restores_git_directories_of_submodules_and_inner_repositories() {
    for mode in ["require", "off"] {
        let sandbox = Sandbox::new();
        if mode != "off" && !sandbox.has_boxes() {
            continue;
        }
        sandbox.add_submodule();
        sandbox.git(&["init", "-q", "inner"]);
        // Linked work trees that git ignores; one is reached over what the attempt can change later.
        sandbox.write(".git/info/exclude", "/linked*\n");
        for linked in ["linked", "linked2"] {
            sandbox.git(&["worktree", "add", "-q", linked]);
        }
        let links = ["linked/.git", "linked2/.git"].map(|link| sandbox.read(link));
        sandbox.start();
        let agent = sandbox.completing(
            "echo x >x; git -C inner config core.editor evil; echo evil >inner/.git/hooks/post-checkout
            (echo evil >.git/modules/lib/hooks/evil; git -C lib config core.editor evil) 2>/dev/null
            rm lib/.git; git init -q lib; git -C lib config core.editor evil
            rm linked/.git; git init -q linked; git -C linked config core.editor evil
            ln -s .git/worktrees way; echo \"gitdir: $PWD/way/linked2\" >linked2/.git",
        );
        let mode = format!("--box={mode}");
        sandbox
            .ralph(&["next", &mode, "--", &agent])
            .exits(0)
            .says("the .git of lib was replaced during the attempt; it is put back")
            .says("the .git of linked was replaced during the attempt; it is put back")
            .says("the .git of linked2 was replaced during the attempt; it is put back")
            .says(
                "inner/.git/config of the repository in inner was changed during the attempt; it is put back",
            );
        assert!(sandbox.top.join("lib/.git").is_file(), "{mode}");
        assert_eq!(
            ["linked/.git", "linked2/.git"].map(|link| sandbox.read(link)),
            links
        );
        for dir in ["lib", "inner", "linked"] {
            sandbox
                .git_cmd(&["-C", dir, "config", "core.editor"])
                .run()
                .exits(1);
        }
        for hook in ["inner/.git/hooks/post-checkout", ".git/modules/lib/hooks/evil"] {
            assert!(!sandbox.top.join(hook).exists(), "{mode}: {hook}");
        }
    }
}

#[test]
fn status_in_the_box_shows_the_running_attempt() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.start();
    let agent = sandbox.completing("git ralph status --short >short");
    sandbox.ralph(&["next", "--box", "--", &agent]).exits(0);
    assert_eq!(sandbox.read("short"), "ralph: add-login 0/3 story 1 running\n");
}

#[test]
fn attempt_in_a_box_cannot_commit_in_a_submodule_and_gets_the_reason() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.add_submodule();
    sandbox.start();
    let agent = sandbox.completing("echo x >lib/a; git -C lib commit -qam x");
    sandbox
        .ralph(&["next", "--box", "--", &agent])
        .exits(3)
        .says("the submodule lib was left with uncommitted changes; in a box nothing can be committed in it");
}

#[test]
fn box_opens_the_network_and_reads_alternate_objects() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    let (objects, store) = (sandbox.top.join(".git/objects"), sandbox.outside("store"));
    fs::rename(&objects, &store).unwrap();
    fs::create_dir_all(objects.join("info")).unwrap();
    fs::write(objects.join("info/alternates"), format!("{}\n", store.display())).unwrap();
    sandbox.start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (hears, heard) = mpsc::channel();
    thread::spawn(move || {
        let caller = listener.accept();
        hears.send(caller.is_ok())
    });
    let agent = sandbox.completing(&format!(
        "git show main:src/lib.txt >shown && git diff --quiet HEAD
        git ls-remote git://127.0.0.1:{port}/x 2>&1 || :"
    ));
    sandbox.ralph(&["next", "--box", "--", &agent]).exits(0);
    assert_eq!(sandbox.read("shown"), "one\ntwo\nthree\n");
    assert_eq!(heard.try_recv(), Ok(true), "nobody has called");
}

#[test]
fn a_git_directory_behind_a_link_can_only_be_read() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    let elsewhere = sandbox.outside("elsewhere");
    fs::rename(sandbox.top.join(".git"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.top.join(".git")).unwrap();
    sandbox.start();
    let agent = sandbox.completing("(echo evil >.git/evil) 2>/dev/null; git log -1 >log && echo x >x");
    sandbox.ralph(&["next", "--box", "--", &agent]).exits(0);
    assert_eq!(sandbox.read("x"), "x\n");
    assert!(!elsewhere.join("evil").exists());
}
