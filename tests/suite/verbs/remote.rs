//! `git ralph push`, `pull`, `queue` and `run --remote`: one remote, and clones of it.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;

use crate::support::{CHANGE, Cmd, Output, Sandbox, wait_for};

/// A remote with the standard repository, and clones of it.
struct Remote {
    sandbox: Sandbox,
    bare: PathBuf,
}

impl Remote {
    fn new() -> Self {
        Self::with(&[])
    }

    /// A remote that is made with these arguments of `git clone`.
    fn with(args: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        let bare = sandbox.outside("remote.git");
        let clone = ["clone", "-q", "--bare", ".", bare.to_str().unwrap()];
        sandbox.git(&[args, &clone[..]].concat());
        Self { sandbox, bare }
    }

    fn clone(&self, name: &str, args: &[&str]) -> Clone<'_> {
        let dir = self.sandbox.outside(name);
        let url = format!("file://{}", self.bare.display());
        self.sandbox
            .git(&[&["clone", "-q", &url, dir.to_str().unwrap()], args].concat());
        let clone = Clone { remote: self, dir };
        clone.git(&["config", "user.name", "A User"]);
        clone.git(&["config", "user.email", "user@example.org"]);
        clone.git(&["config", "ralph.remote", "origin"]);
        clone
    }

    fn git(&self, args: &[&str]) -> String {
        self.sandbox.git_cmd(args).dir(&self.bare).run().exits(0).stdout
    }

    /// Has the remote refuse each push that this condition of sh is true for; `$ref` is the ref.
    fn refuse(&self, condition: &str) {
        let hook = format!(
            "#!/bin/sh\nref=$1\nif {condition}; then echo 'refusing to allow this without workflows permission' >&2; exit 1; fi\n"
        );
        crate::support::write_program(&self.bare.join("hooks/update"), &hook);
    }
}

/// A clone with `ralph.remote` set.
struct Clone<'r> {
    remote: &'r Remote,
    dir: PathBuf,
}

impl Clone<'_> {
    fn cmd(&self, args: &[&str]) -> Cmd {
        self.remote.sandbox.git_cmd(args).dir(&self.dir)
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        self.cmd(args).run().exits(0).stdout
    }

    fn ralph(&self, args: &[&str]) -> Output {
        self.cmd(&[&["ralph"], args].concat()).run()
    }

    /// The attempts: story, number, verdict, reason.
    fn attempts(&self) -> Vec<String> {
        let log = self.ralph(&["log", CHANGE, "--json"]).exits(0).json();
        let of = |entry: &serde_json::Value| {
            let keys = ["story", "attempt", "verdict", "reason"];
            keys.map(|key| entry[key].to_string()).join(" ")
        };
        log["attempts"].as_array().unwrap().iter().map(of).collect()
    }
}

fn fails_once(sandbox: &Sandbox) -> String {
    sandbox.agent(
        "echo \"$RALPH_STORY\" >>done; case $RALPH_STORY.$(count; cat \"$notes/count\") in 2.2) failed 'not yet' ;; *) complete ;; esac",
    )
}

#[test]
fn a_loop_goes_on_elsewhere_as_if_it_had_stayed() {
    let together = Sandbox::new();
    together
        .ralph(&["run", CHANGE, "--keep", "--", &fails_once(&together)])
        .exits(0);
    let wanted = together.git(&["rev-parse", "HEAD^{tree}"]);

    let remote = Remote::new();
    let agent = fails_once(&remote.sandbox);
    let one = remote.clone("one", &[]);
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    one.ralph(&["next", CHANGE, "--", &agent]).exits(3);
    let pushed = one.ralph(&["push", CHANGE]).exits(0);
    assert!(
        pushed.stderr.contains("add-login is on origin, at checkpoint"),
        "{}",
        pushed.stderr
    );
    let again = one.ralph(&["push", CHANGE]).exits(0);
    assert_eq!(again.stderr, "origin has everything of add-login\n");

    let other = remote.clone("other", &["--depth=1"]);
    other.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(other.git(&["status", "--porcelain"]), "");
    assert_eq!(other.attempts(), one.attempts());
    let status = other.ralph(&["status", CHANGE, "--json"]).exits(0).json();
    assert_eq!(status["current"]["reason"], "not yet");
    assert_eq!(status["next"], "retry");
    assert!(
        other
            .ralph(&["prompt", CHANGE])
            .exits(0)
            .stdout
            .contains("not yet")
    );
    let kept = other.git(&["show", "refs/ralph/add-login/attempts/2/1:done"]);
    assert_eq!(kept, "1\n2\n");
    other.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    assert_eq!(other.git(&["rev-parse", "HEAD^{tree}"]).trim(), wanted);
    let numbers = ["\"2\" 2 \"complete\" null", "\"3\" 1 \"complete\" null"];
    assert_eq!(other.attempts()[2..], numbers);

    // Back where it began, with all that was done elsewhere.
    one.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(one.attempts(), other.attempts());
    assert_eq!(one.git(&["rev-parse", "HEAD^{tree}"]).trim(), wanted);
    let again = other.ralph(&["pull", CHANGE]).exits(0);
    assert!(
        again.stderr.contains("is here as it is on origin"),
        "{}",
        again.stderr
    );
}

#[test]
fn the_work_of_another_machine_comes_back_uncommitted() {
    let remote = Remote::new();
    let agent = remote.sandbox.completing("echo \"$RALPH_STORY\" >>done");
    let one = remote.clone("one", &[]);
    one.ralph(&["run", CHANGE, "--", &agent]).exits(0);
    let other = remote.clone("other", &[]);
    other.ralph(&["pull", CHANGE]).exits(0);
    other.ralph(&["finish", CHANGE, "--cleanup"]).exits(0);
    assert_eq!(other.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
    assert_eq!(fs::read_to_string(other.dir.join("done")).unwrap(), "1\n2\n3\n");
    let third = remote.clone("third", &[]);
    third.ralph(&["pull", CHANGE]).exits(0);
    third.ralph(&["abort", CHANGE]).exits(0);
    assert_eq!(third.git(&["status", "--porcelain"]), "");
    assert_eq!(third.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
}

#[test]
fn nothing_is_pushed_that_was_not_asked_for() {
    let remote = Remote::new();
    let agent = remote.sandbox.completing("echo x >>done");
    let clone = remote.clone("one", &[]);
    clone.git(&["config", "--unset", "ralph.remote"]);
    let before = remote.git(&["for-each-ref"]);
    clone.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(1).says("no remote is named");
    assert_eq!(remote.git(&["for-each-ref"]), before);
    fs::write(clone.dir.join("mine"), "mine\n").unwrap();
    clone.git(&["stash", "push", "-q", "-u"]);
    clone.ralph(&["push", CHANGE, "--remote", "origin"]).exits(0);
    // The stash, other branches and the snapshot before the loop stay.
    let theirs = remote.git(&["rev-list", "--objects", "--all"]);
    for own in [
        "refs/stash",
        "refs/ralph/add-login/start",
        "refs/ralph/add-login/anchor",
    ] {
        let oid = clone.git(&["rev-parse", own]);
        assert!(!theirs.contains(oid.trim()), "{own}");
    }
}

#[test]
fn what_was_not_committed_is_named_when_it_is_pushed() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    fs::write(clone.dir.join("mine"), "mine\n").unwrap();
    clone.ralph(&["start", CHANGE]).exits(0);
    let pushed = clone.ralph(&["push", CHANGE]).exits(0);
    let wanted = "with what you had not committed when it began: mine\n";
    assert!(pushed.stderr.contains(wanted), "{}", pushed.stderr);
}

#[test]
fn two_who_go_on_do_not_overwrite_each_other() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    other.ralph(&["pull", CHANGE]).exits(0);
    one.ralph(&["next", CHANGE, "--", &sandbox.completing("echo one >f")])
        .exits(0);
    other
        .ralph(&["next", CHANGE, "--", &sandbox.completing("echo other >f")])
        .exits(0);
    other.ralph(&["push", CHANGE]).exits(0);
    let before = remote.git(&["for-each-ref"]);
    one.ralph(&["push", CHANGE])
        .exits(7)
        .says("has gone on elsewhere");
    assert_eq!(remote.git(&["for-each-ref"]), before);
    let tip = one.git(&["rev-parse", "ralph/add-login"]);
    one.ralph(&["pull", CHANGE]).exits(0);
    assert_eq!(one.git(&["show", "HEAD:f"]), "other\n");
    assert_eq!(one.git(&["rev-parse", "refs/ralph/add-login/replaced/1"]), tip);
    // A loop that began on its own is another one.
    let third = remote.clone("third", &[]);
    third.ralph(&["start", CHANGE]).exits(0);
    third
        .ralph(&["pull", CHANGE])
        .exits(7)
        .says("another loop 'add-login' is active here");
    third.ralph(&["push", CHANGE]).exits(7);
}

#[test]
fn a_pull_refuses_to_take_anything_along() {
    let remote = Remote::new();
    let one = remote.clone("one", &[]);
    one.ralph(&["start", CHANGE]).exits(0);
    one.ralph(&["push", CHANGE]).exits(0);
    let other = remote.clone("other", &[]);
    let before = other.git(&["for-each-ref"]);
    for (path, text) in [("new", "new\n"), ("README.md", "edited\n")] {
        fs::write(other.dir.join(path), text).unwrap();
        other
            .ralph(&["pull", CHANGE])
            .exits(1)
            .says("uncommitted changes");
        assert_eq!(fs::read_to_string(other.dir.join(path)).unwrap(), text);
        other.git(&["stash", "push", "-q", "-u"]);
        other.git(&["stash", "drop", "-q"]);
    }
    assert_eq!(other.git(&["for-each-ref"]), before);
    other
        .ralph(&["pull", "nothing"])
        .exits(1)
        .says("origin has no loop 'nothing'");
    other
        .ralph(&["pull", CHANGE, "--remote", "/nowhere"])
        .exits(1)
        .says("cannot read the remote");
}

/// Replaces a file of the state on the remote.
fn forge(remote: &Remote, file: &str, change: impl Fn(&str) -> String) {
    let reference = "refs/ralph/add-login/state";
    let text = remote.git(&["show", &format!("{reference}:{file}")]);
    let path = remote.sandbox.outside("forged");
    fs::write(&path, change(&text)).unwrap();
    let blob = remote.git(&["hash-object", "-w", path.to_str().unwrap()]);
    let tree = remote.git(&["ls-tree", reference]);
    let lines = tree.lines().map(|line| match line.rsplit_once('\t') {
        Some((_, name)) if name == file => format!("100644 blob {}\t{name}\n", blob.trim()),
        _ => format!("{line}\n"),
    });
    let mktree = remote.sandbox.git_cmd(&["mktree"]).dir(&remote.bare);
    let tree = mktree.reading(lines.collect::<String>()).run().exits(0).stdout;
    let body = remote.git(&["log", "-1", "--format=%B", reference]);
    let message = remote.sandbox.outside("message");
    fs::write(&message, body).unwrap();
    let parents = remote.git(&["log", "-1", "--format=%P", reference]);
    let mut args = vec![
        "-c",
        "user.name=E",
        "-c",
        "user.email=e@e",
        "commit-tree",
        tree.trim(),
        "-F",
    ];
    args.push(message.to_str().unwrap());
    for parent in parents.split_whitespace() {
        args.extend(["-p", parent]);
    }
    let commit = remote.git(&args);
    remote.git(&["update-ref", reference, commit.trim()]);
}

#[test]
fn no_command_and_no_path_comes_from_a_remote() {
    let remote = Remote::new();
    let one = remote.clone("one", &[]);
    let marker = remote.sandbox.outside("marker");
    let verify = format!("touch {}", marker.display());
    one.ralph(&["start", CHANGE, "--verify", &verify, "--agent", "true"])
        .exits(0);
    fs::remove_file(&marker).unwrap();
    one.ralph(&["push", CHANGE]).exits(0);
    let state = remote.git(&["show", "refs/ralph/add-login/state:state.toml"]);
    assert!(!state.contains("agent = "), "{state}");
    let other = remote.clone("other", &[]);
    other.ralph(&["pull", CHANGE]).exits(0);
    let agent = remote.sandbox.completing("echo x >>f");
    other.ralph(&["next", CHANGE, "--", &agent]).exits(0);
    assert!(!marker.exists());

    let with = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        move |text: &str| {
            assert!(text.contains(&from), "{from}: {text}");
            text.replacen(&from, &to, 1)
        }
    };
    let list = "openspec/changes/add-login/tasks.md";
    let third = remote.clone("third", &[]);
    let before = third.git(&["for-each-ref"]);
    for (file, from, to, says) in [
        (
            "state.toml",
            list,
            "/etc/passwd",
            "is not in the repository: /etc/passwd",
        ),
        ("state.toml", list, "../../x", "is not in the repository: ../../x"),
        ("state.toml", "\"main\"", "\"../../x\"", "cannot read the state"),
        ("state.toml", "ralph/add-login", "main", "cannot read the state"),
        ("state.toml", "version = 1", "version = 99", "newer git-ralph"),
        ("state.toml", "checkpoint = ", "no = ", "cannot read the state"),
    ] {
        let reference = "refs/ralph/add-login/state";
        let good = remote.git(&["rev-parse", reference]);
        forge(&remote, file, with(from, to));
        third.ralph(&["pull", CHANGE]).exits(1).says(says);
        assert_eq!(third.git(&["for-each-ref"]), before, "{to}");
        remote.git(&["update-ref", reference, good.trim()]);
    }
    third.ralph(&["pull", CHANGE]).exits(0);
}

#[test]
fn a_run_holds_its_loop_and_a_killed_one_goes_on_at_once() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let (one, other) = (remote.clone("one", &[]), remote.clone("other", &[]));
    let slow = sandbox
        .completing("touch \"$notes/there\"; until test -e \"$notes/go\"; do sleep 0.05; done; echo x >>f");
    let run = ["ralph", "run", CHANGE, "--keep", "--", &slow];
    let running = one.cmd(&run).start();
    wait_for(&sandbox.notes.join("there"));
    let held = other.cmd(&run).run().exits(75);
    assert!(
        held.stderr.contains("holds 'add-login' on origin"),
        "{}",
        held.stderr
    );
    other.ralph(&["push", CHANGE]).exits(1);
    let queue = other.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["changes"][0]["free"], false);
    assert!(
        queue["changes"][0]["holder"]
            .as_str()
            .unwrap()
            .starts_with("process ")
    );
    other
        .cmd(&["-c", "ralph.lease=1s", "ralph", "run", CHANGE, "--", "true"])
        .run();
    running.signal_group(Signal::SIGKILL);
    running.wait_for_its_end();
    fs::write(sandbox.notes.join("go"), "").unwrap();
    one.cmd(&run).run().exits(0);
    let subjects = remote.git(&["log", "--format=%s", "ralph/add-login"]);
    assert!(
        subjects.starts_with("checkpoint: 3\ncheckpoint: 2\ncheckpoint: 1\ninitial state\n"),
        "{subjects}"
    );
    other
        .cmd(&run)
        .run()
        .exits(5)
        .says("is finished: nothing is left to do");
    other.ralph(&["run", "--any", "--keep", "--", &slow]).exits(5);
}

#[test]
fn a_host_that_refuses_the_work_says_so_to_everybody() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let one = remote.clone("one", &[]);
    // As hosts do that look into what is pushed.
    remote.refuse(
        "case $ref in *state) git ls-tree -r --name-only \"$3^2\" | grep -q workflow ;; *) false ;; esac",
    );
    let agent = sandbox.completing("test $RALPH_STORY = 1 || echo x >workflow.yml; echo x >>f");
    let run = ["run", CHANGE, "--keep", "--", &agent];
    let refused = one.ralph(&run).exits(7);
    assert!(
        refused.stderr.contains("without workflows permission"),
        "{}",
        refused.stderr
    );
    assert_eq!(one.git(&["show", "ralph/add-login:workflow.yml"]), "x\n");
    let other = remote.clone("other", &[]);
    let queue = other.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["changes"][0]["phase"], "blocked");
    assert!(
        queue["changes"][0]["why"]
            .as_str()
            .unwrap()
            .contains("workflows permission")
    );
    other.ralph(&["run", "--any", "--keep", "--", &agent]).exits(5);
    fs::remove_file(remote.bare.join("hooks/update")).unwrap();
    one.ralph(&["push", CHANGE]).exits(0);
    one.ralph(&run).exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}

#[test]
fn an_answer_that_is_lost_is_looked_up() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let git = std::env::split_paths(&sandbox.search_path())
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file());
    let git = git.unwrap();
    let script = format!(
        "case \" $* \" in *' push '*) '{0}' \"$@\"; exit 128 ;; *) exec '{0}' \"$@\" ;; esac",
        git.display()
    );
    sandbox.install("git", &script);
    let agent = sandbox.completing("echo x >>f");
    let direct = sandbox
        .direct(&["run", CHANGE, "--keep", "--", &agent])
        .dir(&clone.dir);
    direct.run().exits(0);
    let queue = clone.ralph(&["queue", "--json"]).exits(0).json();
    assert_eq!(queue["changes"][0]["phase"], "finished");
}

#[test]
fn a_remote_that_falls_silent_is_waited_for() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    let git = std::env::split_paths(&sandbox.search_path())
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file());
    let git = git.unwrap();
    // The second push of the state arrives, but neither its answer nor any other comes back for a while.
    let script = format!(
        "case \" $* \" in
         *' push '*) n=$(cat \"$notes/pushes\" 2>/dev/null || echo 0); echo $((n + 1)) >\"$notes/pushes\"
             test $n = 2 || exec '{0}' \"$@\"; '{0}' \"$@\"; touch \"$notes/silent\"; exit 128 ;;
         *' ls-remote '*) test ! -e \"$notes/silent\" || {{ echo x >>\"$notes/silent\"
             test $(wc -l <\"$notes/silent\") -gt 2 && rm \"$notes/silent\"; exit 128; }} ;;
         esac; exec '{0}' \"$@\"",
        git.display()
    );
    sandbox.install("git", &script);
    clone.git(&["config", "ralph.lease", "12s"]);
    let agent = sandbox.completing("echo x >>f");
    let args = ["run", CHANGE, "--keep", "--", &agent];
    sandbox.direct(&args).dir(&clone.dir).run().exits(0);
    assert!(!sandbox.notes.join("silent").exists());
    let states = remote.git(&[
        "log",
        "--first-parent",
        "--format=%s",
        "refs/ralph/add-login/state",
    ]);
    let numbers = states
        .lines()
        .filter_map(|line| line.split('#').nth(1)?.split(' ').next());
    let numbers: Vec<usize> = numbers.map(|number| number.parse().unwrap()).collect();
    let wanted: Vec<usize> = (1..=numbers.len()).rev().collect();
    assert_eq!(numbers, wanted);
}

#[test]
fn a_run_that_cannot_reach_its_remote_gives_up_and_keeps_the_work() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    clone.git(&["config", "ralph.lease", "2s"]);
    let agent = sandbox.agent(
        "test -e \"$notes/again\" && { echo x >>f; complete; exit; }; echo mine >mine; touch \"$notes/there\"; while :; do sleep 0.05; done",
    );
    let run = ["ralph", "run", CHANGE, "--keep", "--", &agent];
    let running = clone.cmd(&run).start();
    wait_for(&sandbox.notes.join("there"));
    let away = sandbox.outside("away.git");
    fs::rename(&remote.bare, &away).unwrap();
    let output = running.end().exits(75);
    assert!(
        output.stderr.contains("origin did not answer for"),
        "{}",
        output.stderr
    );
    assert_eq!(
        clone.git(&["show", "refs/ralph/add-login/attempts/1/1:mine"]),
        "mine\n"
    );
    assert!(clone.attempts()[0].contains("interrupted"));
    clone
        .cmd(&run)
        .run()
        .exits(1)
        .says("cannot read the remote origin");
    fs::rename(&away, &remote.bare).unwrap();
    fs::write(sandbox.notes.join("again"), "").unwrap();
    clone.cmd(&run).run().exits(0);
    assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n");
}

#[test]
fn remotes_of_every_kind_keep_loops() {
    for (name, sha, settings, client) in [
        (
            "denied",
            "sha1",
            &["receive.denyNonFastForwards", "receive.denyDeletes"][..],
            "protocol.version=2",
        ),
        (
            "plain",
            "sha1",
            &["receive.fsckObjects"][..],
            "protocol.version=0",
        ),
        ("sha256", "sha256", &[][..], "protocol.version=2"),
    ] {
        let sandbox = Sandbox::new();
        let dir = sandbox.outside("repository");
        sandbox.git(&[
            "init",
            "-q",
            "--object-format",
            sha,
            "--initial-branch=main",
            dir.to_str().unwrap(),
        ]);
        let remote = if sha == "sha1" {
            Remote::new()
        } else {
            fs::rename(dir.join(".git"), sandbox.outside("other.git")).unwrap();
            fs::remove_dir_all(sandbox.top.join(".git")).unwrap();
            fs::rename(sandbox.outside("other.git"), sandbox.top.join(".git")).unwrap();
            sandbox.configure("user.name", "U");
            sandbox.configure("user.email", "u@e");
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-q", "-m", "first"]);
            let bare = sandbox.outside("remote.git");
            sandbox.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
            Remote { sandbox, bare }
        };
        for setting in settings {
            remote.git(&["config", setting, "true"]);
        }
        remote.git(&["config", "receive.advertiseAtomic", "false"]);
        let agent = remote.sandbox.completing("echo x >>f");
        let (one, other) = (remote.clone("one", &[]), remote.clone("other", &["--depth=1"]));
        let once = [
            "-c",
            client,
            "-c",
            "ralph.maxAttempts=1",
            "ralph",
            "run",
            CHANGE,
            "--",
            &agent,
        ];
        one.cmd(&once).run().exits(6);
        other.cmd(&once).run().exits(6);
        one.cmd(&["-c", client, "ralph", "run", CHANGE, "--keep", "--", &agent])
            .run()
            .exits(0);
        assert_eq!(remote.git(&["show", "ralph/add-login:f"]), "x\nx\nx\n", "{name}");
        let events = fs::read_to_string(one.dir.join(".git/ralph/add-login/events.jsonl")).unwrap();
        let came = r#""event":"handed_over","from":null,"remote":"origin","change":"add-login"}"#;
        assert_eq!(events.matches(came).count(), 2, "{events}");
    }
}

#[test]
fn a_host_of_branches_alone_keeps_loops_below_a_branch() {
    let remote = Remote::new();
    remote.refuse("case $ref in refs/heads/*) false ;; *) true ;; esac");
    let one = remote.clone("one", &[]);
    let agent = remote.sandbox.completing("echo x >>f");
    one.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(7);
    for clone in [one, remote.clone("other", &[])] {
        clone.git(&["config", "ralph.remoteRefs", "refs/heads/ralph-state"]);
        let ended = clone.ralph(&["run", CHANGE, "--keep", "--", &agent]);
        assert!([0, 5].contains(&ended.code), "{}", ended.stderr);
    }
    assert_eq!(
        remote
            .git(&[
                "log",
                "-1",
                "--format=%s",
                "refs/heads/ralph-state/add-login/state"
            ])
            .split(' ')
            .next_back(),
        Some("finished\n")
    );
}

#[test]
fn the_queue_tells_what_can_be_taken_and_what_conflicts() {
    let remote = Remote::new();
    let sandbox = &remote.sandbox;
    let clone = remote.clone("one", &[]);
    for change in ["a", "b", "c"] {
        let dir = clone.dir.join(format!("openspec/changes/{change}"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("tasks.md"), "## 1. One\n- [ ] 1.1 do it\n").unwrap();
    }
    fs::remove_dir_all(clone.dir.join("openspec/changes/add-login")).unwrap();
    clone.git(&["add", "-A"]);
    clone.git(&["commit", "-q", "-m", "changes"]);
    let listed = clone.cmd(&["ralph", "queue", "--matrix"]).run().exits(0).json();
    let names = |value: &serde_json::Value| value["include"].as_array().unwrap().len();
    assert_eq!(names(&listed), 3);
    let agent = sandbox.completing("echo \"$RALPH_CHANGE\" >\"f-$(test $RALPH_CHANGE = c && echo c)\"");
    clone.ralph(&["run", "--any", "--keep", "--", &agent]).exits(0);
    assert_eq!(clone.git(&["symbolic-ref", "--short", "HEAD"]), "main\n");
    let listed = clone.cmd(&["ralph", "queue", "--matrix"]).run().exits(0).json();
    assert_eq!(names(&listed), 0);
    let queue = clone.ralph(&["queue", "--json", "--conflicts"]).exits(0).json();
    let conflicts = |change: &str| {
        let entries = queue["changes"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["change"] == change).unwrap();
        entry["conflicts_with"].to_string()
    };
    assert_eq!(conflicts("a"), "[\"b\"]");
    assert_eq!(conflicts("b"), "[\"a\"]");
    assert_eq!(conflicts("c"), "[]");
    let shown = clone.ralph(&["queue", "--conflicts"]).exits(0).stdout;
    assert!(
        shown.starts_with("c  1/1  finished   it is finished; no conflicts\n"),
        "{shown}"
    );
}

#[test]
fn the_doctor_tries_a_remote_out_and_leaves_nothing() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    let before = remote.git(&["for-each-ref"]);
    let doctor = ["doctor", "--remote", "origin"];
    let good = clone.ralph(&doctor).exits(0).stdout;
    assert_eq!(
        good,
        "origin, refs below refs/ralph/\n  it takes refs of loops: yes\n  it moves them: yes\n  it moves none that is elsewhere: yes\n  it deletes them: yes\n"
    );
    assert_eq!(remote.git(&["for-each-ref"]), before);
    remote.refuse("case $ref in refs/heads/*) false ;; *) true ;; esac");
    let bad = clone.ralph(&doctor).exits(1).stdout;
    assert!(bad.contains("it takes refs of loops: no\n"), "{bad}");
    assert!(
        bad.ends_with("  hint: git config ralph.remoteRefs refs/heads/ralph-state/\n"),
        "{bad}"
    );
    clone.git(&["config", "ralph.remoteRefs", "refs/heads/ralph-state/"]);
    clone.ralph(&doctor).exits(0);
    assert_eq!(remote.git(&["for-each-ref"]), before);
}

#[test]
fn a_loop_that_leaves_head_in_its_place_stays() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    clone.ralph(&["start", CHANGE, "--strategy", "stash"]).exits(0);
    clone
        .ralph(&["push", CHANGE])
        .exits(1)
        .says("has the strategy stash");
    clone
        .ralph(&["run", CHANGE, "--", "true"])
        .exits(1)
        .says("has the strategy stash");
}

#[test]
fn one_look_lists_a_hundred_loops() {
    let remote = Remote::new();
    let clone = remote.clone("one", &[]);
    clone.ralph(&["start", CHANGE]).exits(0);
    clone.ralph(&["push", CHANGE]).exits(0);
    let state = remote.git(&["log", "-1", "--format=%B", "refs/ralph/add-login/state"]);
    let tree = remote.git(&["rev-parse", "refs/ralph/add-login/state^{tree}"]);
    let mut input = String::new();
    for number in 0..100 {
        let text = state.replace("add-login", &format!("c{number}"));
        input.push_str(&format!(
            "commit refs/ralph/c{number}/state\ncommitter U <u@e> 0 +0000\ndata {}\n{text}\nM 040000 {} \n\n",
            text.len(),
            tree.trim()
        ));
    }
    let import = remote
        .sandbox
        .git_cmd(&["fast-import", "--quiet"])
        .dir(&remote.bare);
    import.reading(input).run().exits(0);
    let log = remote.sandbox.outside("calls");
    let listed = clone
        .cmd(&["ralph", "queue", "--json"])
        .env("GIT_TRACE2_EVENT", &log)
        .run()
        .exits(0)
        .json();
    assert_eq!(listed["changes"].as_array().unwrap().len(), 101);
    let calls = |name: &str| {
        let text = fs::read_to_string(&log).unwrap();
        let name = format!("\"name\":\"{name}\",");
        text.lines()
            .filter(|line| line.contains("\"cmd_name\"") && line.contains(&name))
            .count()
    };
    assert_eq!((calls("ls-remote"), calls("fetch")), (1, 1));
    let _: &Path = &log;
}
