//! Linked work trees that an attempt leaves inside the work tree, as agents make them for their subagents.

use crate::support::{COMPLETE, Sandbox};

/// Makes one, with a commit, something staged, and a new file.
const MAKE: &str = "git worktree add -q .claude/worktrees/agent-1 -b worktree-agent-1 || exit 9
    (cd .claude/worktrees/agent-1 && echo sub >sub.txt && git add sub.txt && git commit -qm sub
     echo staged >sub.txt && git add sub.txt && echo edited >sub.txt && echo dirty >only-here.txt) || exit 9
    echo $RALPH_ATTEMPT >work";

#[test]
fn a_linked_work_tree_is_no_part_of_the_work_and_a_retry_can_make_it_again() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "test ! -e .claude/worktrees/agent-1");
    sandbox.start();
    let agent = sandbox.agent(&format!("{MAKE}; failed 'it is red'"));
    let output = sandbox
        .step("next", &agent)
        .exits(3)
        .says("the attempt left a linked work tree in .claude/worktrees/agent-1");
    assert!(
        !output.stderr.contains("was made during the attempt"),
        "{}",
        output.stderr
    );
    let is_there = |name: &str| sandbox.git_cmd(&["rev-parse", "-q", "--verify", name]).run().code == 0;
    assert!(!is_there("refs/heads/worktree-agent-1"));
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    sandbox.is_at_checkpoint();
    let agent = sandbox.agent(&format!("{MAKE}; echo '{COMPLETE}'"));
    sandbox.step("retry", &agent).exits(0);
    assert!(!is_there("refs/heads/worktree-agent-1"));
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(!files.contains(".claude"), "{files}");
    assert_eq!(sandbox.read("work"), "2\n");
    sandbox.is_at_checkpoint();
    for attempt in [1, 2] {
        let kept = format!("refs/ralph/add-login/subagents/1/{attempt}");
        let of = |rest: &str| sandbox.git(&["show", &format!("{kept}/{rest}")]);
        assert_eq!(of("worktrees/agent-1:only-here.txt"), "dirty");
        assert_eq!(of("worktrees/agent-1:sub.txt"), "edited");
        assert_eq!(of("worktrees/agent-1^2:sub.txt"), "staged");
        assert_eq!(of("branches/worktree-agent-1:sub.txt"), "sub");
    }
    let trash = sandbox.top.join(".git/ralph/add-login/trash");
    assert!(
        trash
            .join("1.2.work-trees/.claude/worktrees/agent-1/only-here.txt")
            .exists()
    );
}

#[test]
fn earlier_work_tree_and_new_one_on_an_earlier_branch_lose_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "/mine\n");
    sandbox.git(&["worktree", "add", "-q", "mine"]);
    sandbox.git(&["branch", "old"]);
    sandbox.start();
    let agent =
        sandbox.completing("echo x >x; echo y >mine/y; git worktree add -q other old; echo z >other/z");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("the attempt left a linked work tree in other");
    assert_eq!(sandbox.read("mine/y"), "y\n");
    sandbox.git(&["rev-parse", "refs/heads/old"]);
    assert_eq!(
        sandbox.git(&["show", "refs/ralph/add-login/subagents/1/1/worktrees/other:z"]),
        "z"
    );
    assert!(!sandbox.top.join("other").exists());
}

#[test]
fn a_linked_work_tree_of_a_killed_attempt_is_taken_out_too() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(&format!("{MAKE}; kill -9 $(ps -o ppid= -p $PPID)"));
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    sandbox
        .ralph(&["status"])
        .exits(0)
        .says("the attempt left a linked work tree in .claude/worktrees/agent-1");
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
    let kept = "refs/ralph/add-login/subagents/1/1/worktrees/agent-1:only-here.txt";
    assert_eq!(sandbox.git(&["show", kept]), "dirty");
    sandbox.is_at_checkpoint();
    let agent = sandbox.agent(&format!("{MAKE}; echo '{COMPLETE}'"));
    sandbox.step("next", &agent).exits(0);
}

#[test]
fn the_next_attempt_cannot_delete_what_an_earlier_subagent_did() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(&format!("{MAKE}; failed 'it is red'"));
    sandbox.step("next", &agent).exits(3);
    let kept = || sandbox.git(&["for-each-ref", "refs/ralph/add-login/subagents"]);
    let before = kept();
    let agent = sandbox.completing("echo x >x; rm -r .git/refs/ralph/add-login/subagents");
    sandbox.step("retry", &agent).exits(0);
    assert_eq!(kept(), before);
}

#[test]
fn a_retry_can_make_a_work_tree_again_that_was_half_taken_out() {
    let made_again = |sandbox: &Sandbox| {
        sandbox.ralph(&["status"]).exits(0);
        let agent = sandbox.agent(&format!("{MAKE}; echo '{COMPLETE}'"));
        sandbox.step("next", &agent).exits(0);
        assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 1);
        let names = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
        assert!(!names.contains("worktree-agent-1"), "{names}");
    };
    // Git-ralph is killed before it keeps the work, or right after that.
    for keeps in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.start();
        let agent = sandbox.agent(&format!("{MAKE}; echo '{COMPLETE}'"));
        let (git, armed) = (sandbox.git_program(), sandbox.notes.join("armed"));
        std::fs::write(&armed, "").unwrap();
        let body = format!(
            "case \"$*\" in *'a work tree inside an attempt'*) if rm {armed} 2>/dev/null; then\n\
             {keeps} && {git} \"$@\"; kill -9 $PPID; exit 1; fi;; esac\nexec {git} \"$@\"",
            armed = armed.display(),
            git = git.display(),
        );
        sandbox.install("git", &body);
        sandbox.direct(&["next", "--", &agent]).run().exits(137);
        std::fs::remove_file(sandbox.outside("programs/git")).unwrap();
        made_again(&sandbox);
    }
    // It is killed between the files and what git knows of them.
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(&format!("{MAKE}; kill -9 $(ps -o ppid= -p $PPID)"));
    sandbox.direct(&["next", "--", &agent]).run().exits(137);
    let trash = sandbox
        .top
        .join(".git/ralph/add-login/trash/1.1.work-trees/.claude/worktrees");
    std::fs::create_dir_all(&trash).unwrap();
    std::fs::rename(
        sandbox.top.join(".claude/worktrees/agent-1"),
        trash.join("agent-1"),
    )
    .unwrap();
    sandbox.git(&["update-ref", "-d", "refs/heads/worktree-agent-1"]);
    made_again(&sandbox);
}
