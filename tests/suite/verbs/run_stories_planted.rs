//! `git ralph run <change> --jobs` and what an attempt plants in git's own files while another one begins.

use super::run_stories::{until, verdicts, words};
use crate::support::Sandbox;

#[test]
fn neighbour_that_began_meanwhile_puts_nothing_planted_back() {
    for (plant, remove) in [
        (
            "git config core.hooksPath planted",
            "git config --unset core.hooksPath",
        ),
        // What the run itself knows is in its memory.
        (
            "for at in config ralph/todo+1/slots/1/git-files/common/config; do git config -f \"$common/$at\" core.hooksPath planted; done",
            "git config --unset core.hooksPath",
        ),
        (
            "echo 'exit 1' >\"$common/hooks/post-merge\"; chmod +x \"$common/hooks/post-merge\"",
            "rm \"$common/hooks/post-merge\"",
        ),
    ] {
        let sandbox = Sandbox::with_free_stories(2);
        let notes = sandbox.notes.display();
        let planted = format!("until test -e '{notes}/planted'; do sleep 0.05; done");
        let setup = format!("test $RALPH_SLOT != 2 || {{ touch '{notes}/prepares'; {planted}; }}");
        sandbox.configure("ralph.worktreeSetup", &setup);
        let agent = sandbox.completing(&format!(
            "common=$(git rev-parse --git-common-dir); echo x >work$RALPH_STORY
            case $RALPH_STORY in
            1) {}; {plant}; touch \"$notes/planted\"; {}; {remove};;
            2) touch \"$notes/began\"; until git log --format=%s ralph/todo | grep -q 'checkpoint: 1'; do sleep 0.05; done;;
            esac",
            until("prepares"),
            until("began")
        ));
        let before = sandbox.read(".git/config");
        sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
        assert_eq!(verdicts(&sandbox), ["1 complete", "2 complete"]);
        assert_eq!(sandbox.read(".git/config"), before);
        assert!(!sandbox.top.join(".git/hooks/post-merge").exists());
    }
}

#[test]
fn remote_that_the_user_adds_meanwhile_stays_and_is_reported_once() {
    let sandbox = Sandbox::with_free_stories(4);
    let agent = sandbox.completing(
        "test $RALPH_STORY != 1 || git -c core.hooksPath=/dev/null remote add fork https://example.org/fork.git; echo x >work$RALPH_STORY",
    );
    let run = sandbox.ralph(&words("--jobs=2", &[], &agent)).exits(0);
    let said = run.stderr.matches("during the attempts; it is put back").count();
    assert!(said <= 1, "{}", run.stderr);
    assert_eq!(
        sandbox.git(&["config", "remote.fork.url"]),
        "https://example.org/fork.git"
    );
}

#[test]
fn loop_that_begins_beside_another_one_puts_nothing_planted_back() {
    let sandbox = Sandbox::new();
    for change in ["one", "two"] {
        sandbox.write(
            &format!("openspec/changes/{change}/tasks.md"),
            "## 1. A\n- [ ] a\n",
        );
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "lists"]);
    let notes = sandbox.notes.display();
    let planted = format!("until test -e '{notes}/planted'; do sleep 0.05; done");
    let setup = format!("test $RALPH_CHANGE != two || {{ touch '{notes}/prepares'; {planted}; }}");
    sandbox.configure("ralph.worktreeSetup", &setup);
    let agent = sandbox.completing(&format!(
        "echo x >work
        case $RALPH_CHANGE in
        one) {}; git config core.hooksPath planted; touch \"$notes/planted\"; {};;
        two) touch \"$notes/began\"; until git log --format=%s ralph/one | grep -q 'checkpoint: 1'; do sleep 0.05; done;;
        esac",
        until("prepares"),
        until("began")
    ));
    let before = sandbox.read(".git/config");
    sandbox
        .ralph(&["run", "one", "two", "--jobs=2", "--keep", "--", &agent])
        .exits(0);
    assert_eq!(sandbox.read(".git/config"), before);
}
