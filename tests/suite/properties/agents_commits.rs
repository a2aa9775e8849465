//! Commits of the agent with files that git ignored when the loop began: the branch of the loop has none of them.

use crate::support::Sandbox;

const COMMITS: &str = ": >.gitignore; echo x >$RALPH_STORY; git add -A; git commit -qm agent";

fn with_secret() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "rules"]);
    sandbox.write(".env", "SECRET\n");
    sandbox
}

#[test]
fn checkpoint_is_not_made_on_commits_with_what_git_ignored() {
    for commits in [
        COMMITS,
        "git add -f .env; git commit -qm secret; git rm -q --cached .env; echo x >1; git add 1; git commit -qm work",
        "git checkout -q -b side; git add -f .env; git commit -qm secret; git rm -q --cached .env
         echo x >1; git add 1; git commit -qm work; git checkout -q -; git merge -q --no-ff side -m merge",
    ] {
        let sandbox = with_secret();
        sandbox.start();
        let agent = sandbox.completing(commits);
        sandbox.step("next", &agent).exits(0).says(
            "so its commits are not below the checkpoint: .env (kept: git log refs/ralph/add-login/replaced/",
        );
        assert_eq!(
            sandbox.git(&["log", "--format=%h", "-m", "ralph/add-login", "--", ".env"]),
            ""
        );
        assert_eq!(sandbox.subjects("HEAD")[..2], ["checkpoint: 1", "initial state"]);
        assert_eq!(
            (sandbox.read("1"), sandbox.read(".env")),
            ("x\n".into(), "SECRET\n".into())
        );
        let kept = sandbox.git(&[
            "for-each-ref",
            "--format=%(refname)",
            "refs/ralph/add-login/replaced/",
        ]);
        let secret = sandbox.git(&[
            "log",
            "--format=%s",
            "-m",
            "--diff-filter=A",
            kept.trim(),
            "--",
            ".env",
        ]);
        assert!(
            ["agent", "secret", "merge\nsecret"].contains(&secret.trim()),
            "{secret}"
        );
    }
}

#[test]
fn other_commits_of_the_agent_stay_below_the_checkpoint() {
    let sandbox = with_secret();
    sandbox.start();
    let agent = sandbox.completing("echo x >one; git add one; git commit -qm agent");
    sandbox.step("next", &agent).exits(0);
    assert_eq!(sandbox.subjects("HEAD")[..2], ["checkpoint: 1", "agent"]);
}
