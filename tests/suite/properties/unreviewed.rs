//! Work whose review had no end: it stays in the work tree, and is judged again without another process of an agent.

use std::fs;

use nix::sys::signal::Signal;

use super::review::{asked, attempt, review_by, reviewed_by};
use crate::support::{CHANGE, Sandbox, TASKS, wait_for};

#[test]
fn work_that_was_not_reviewed_can_be_taken_as_it_is() {
    let sandbox = reviewed_by("exit 3");
    attempt(&sandbox, "next")
        .exits(7)
        .says("the work of 1@1 is in the work tree again; no reviewer has judged it");
    let status = sandbox.ralph(&["status"]).exits(0).stdout;
    for words in [
        "the work of 1@1 is in the work tree; no reviewer has judged it",
        "git ralph next add-login\" to have it judged again",
        "git ralph complete add-login",
        "git ralph revert add-login",
    ] {
        assert!(status.contains(words), "{words}: {status}");
    }
    sandbox.ralph(&["complete", CHANGE]).exits(0);
    assert_eq!(sandbox.read("new"), "x\n");
    assert_eq!(asked(&sandbox), 2);
    assert_eq!(sandbox.status()["unreviewed"], serde_json::Value::Null);
}

#[test]
fn work_that_was_not_reviewed_is_judged_again_without_an_agent() {
    for (answer, step, code) in [("accept", "next", 0), ("accept", "run", 0), ("reject", "next", 3)] {
        let sandbox = reviewed_by("exit 3");
        sandbox.configure("ralph.verify", "echo gate >>\"$HOME/gates\"");
        attempt(&sandbox, "next").exits(7);
        fs::remove_file(sandbox.notes.join("prompt")).unwrap();
        // The user adds to it.
        sandbox.write("more", "mine\n");
        review_by(&sandbox, answer);
        let limit = if step == "run" {
            &["--max-attempts", "1"][..]
        } else {
            &[]
        };
        let agent = sandbox.completing("touch \"$notes/prompt\"");
        let line = [&[step, CHANGE][..], limit, &["--", &agent]].concat();
        let code = if step == "run" { 6 } else { code };
        sandbox
            .ralph(&line)
            .exits(code)
            .says("no reviewer has judged 1@1: its work is judged again");
        assert_eq!(sandbox.noted("review").matches("more").count(), 1);
        let gates = fs::read_to_string(sandbox.outside("home/gates")).unwrap();
        assert!(gates.lines().count() >= 2, "{gates}");
        if answer == "accept" {
            assert_eq!(sandbox.git(&["show", "HEAD:more"]), "mine");
            let rests_on = &sandbox.attempts()[1]["rests_on"];
            assert_eq!(*rests_on, serde_json::json!(["promise", "gates", "review"]));
        } else {
            assert_eq!(sandbox.verdict(), "review_rejected");
            sandbox.is_at_checkpoint();
            assert_eq!(sandbox.status()["next"], "retry");
            let diff = sandbox.ralph(&["diff", "1@2"]).exits(0).stdout;
            assert!(diff.contains("+mine"), "{diff}");
        }
        if step != "run" {
            assert!(!sandbox.notes.join("prompt").exists(), "an agent ran");
        }
    }
}

#[test]
fn work_that_was_not_reviewed_is_not_accepted_without_a_reviewer() {
    let sandbox = reviewed_by("exit 3");
    attempt(&sandbox, "next").exits(7);
    sandbox.git(&["config", "--unset", "ralph.review"]);
    for step in [&["next", CHANGE][..], &["run", CHANGE], &["retry", CHANGE]] {
        let output = sandbox.ralph(&[step, &["--", "false"]].concat()).exits(7);
        output
            .says("no reviewer has judged the work of 1@1, and none is configured")
            .says("git config ralph.review <name>")
            .says("git ralph complete add-login")
            .says("git ralph revert add-login");
        assert_eq!(sandbox.status()["unreviewed"], "1@1");
        assert_eq!(sandbox.status()["stories_done"], 0);
    }
    assert_eq!(sandbox.read("new"), "x\n");
    sandbox.ralph(&["complete", CHANGE]).exits(0);
}

#[test]
fn review_judges_unreviewed_work_without_an_agent() {
    for words in [&["review"][..], &["review", CHANGE], &["review", "1"]] {
        let sandbox = reviewed_by("exit 3");
        sandbox.configure("ralph.verify", "test -z \"$RALPH_STORY\" || test -e new");
        attempt(&sandbox, "next").exits(7);
        // The reviewer cannot be asked again: nothing is lost.
        sandbox.ralph(words).exits(7).says("gave no verdict");
        assert_eq!(
            sandbox.status()["unreviewed"].as_str().unwrap().split('@').next(),
            Some("1")
        );
        assert_eq!(sandbox.read("new"), "x\n");
        // An attempt that is named can be looked at.
        review_by(&sandbox, "accept");
        sandbox.ralph(&["review", "1@1"]).exits(0);
        assert_eq!(sandbox.status()["stories_done"], 0);
        sandbox
            .ralph(words)
            .exits(0)
            .says("its work is judged again")
            .says("git ralph next add-login");
        assert_eq!(sandbox.status()["stories_done"], 1);
        assert_eq!(sandbox.git(&["show", "HEAD:new"]), "x");
        let rests_on = &sandbox.attempts().pop().unwrap()["rests_on"];
        assert_eq!(*rests_on, serde_json::json!(["promise", "gates", "review"]));
        // From then on it is a checkpoint like any other.
        let said = sandbox.ralph(words).exits(0).stdout;
        assert!(said.contains("accepted story 1"), "{said}");
    }
}

#[test]
fn review_undoes_unreviewed_work_that_is_rejected() {
    let sandbox = reviewed_by("exit 3");
    attempt(&sandbox, "next").exits(7);
    review_by(&sandbox, "echo It is not enough.; reject");
    let before = sandbox.git(&["rev-parse", "HEAD"]);
    let shown = sandbox.ralph(&["review", "--json"]).exits(3).json();
    assert_eq!(
        (&shown["verdict"], &shown["words"], &shown["from"]),
        (&"rejected".into(), &"It is not enough.".into(), &before.into())
    );
    sandbox.is_at_checkpoint();
    assert_eq!(sandbox.verdict(), "review_rejected");
    assert_eq!(sandbox.status()["next"], "retry");
    // A gate that fails refuses it before the reviewer is asked.
    sandbox.configure("ralph.verify", "test -z \"$RALPH_STORY\" || test -e new");
    review_by(&sandbox, "exit 3");
    attempt(&sandbox, "retry").exits(7);
    sandbox.configure("ralph.verify", "false");
    review_by(&sandbox, "accept");
    let shown = sandbox.ralph(&["review", "--json"]).exits(3).json();
    assert_eq!(shown["verdict"], "none");
    assert_eq!(sandbox.verdict(), "gate_failed");
    sandbox.is_at_checkpoint();
}

#[test]
fn review_that_is_killed_loses_no_unreviewed_work() {
    let sandbox = reviewed_by(". \"$HOME/answer\"");
    let answer = |script: &str| fs::write(sandbox.outside("home/answer"), script).unwrap();
    answer("exit 3");
    attempt(&sandbox, "next").exits(7);
    answer("touch \"$notes/begun\"; exec sleep 1000");
    let running = sandbox.direct(&["review", CHANGE]).start();
    wait_for(&sandbox.notes.join("begun"));
    running.signal(Signal::SIGKILL);
    running.wait_for_its_end();
    answer("accept");
    sandbox.ralph(&["review", CHANGE]).exits(0);
    assert_eq!(sandbox.status()["stories_done"], 1);
    assert_eq!(sandbox.git(&["show", "HEAD:new"]), "x");
    // Without a reviewer it refuses, and says so.
    review_by(&sandbox, "exit 3");
    sandbox.step("next", &sandbox.completing("echo z >z")).exits(7);
    sandbox.git(&["config", "--unset", "ralph.review"]);
    sandbox.ralph(&["review"]).exits(7).says("and none is configured");
    // What the user has taken out is not judged: the last checkpoint is.
    fs::remove_file(sandbox.top.join("z")).unwrap();
    review_by(&sandbox, "accept");
    let said = sandbox.ralph(&["review"]).exits(0).stdout;
    assert!(said.contains("accepted story 1"), "{said}");
    assert_eq!(sandbox.status()["stories_done"], 1);
}

#[test]
fn every_step_judges_unreviewed_work() {
    let sandbox = reviewed_by("exit 3");
    attempt(&sandbox, "next").exits(7);
    review_by(&sandbox, "accept");
    sandbox
        .ralph(&["retry", CHANGE, "--", "false"])
        .exits(0)
        .says("no reviewer has judged 1@1: its work is judged again");
    assert_eq!(sandbox.status()["stories_done"], 1);
    // After a story has failed, `next` does so as well.
    sandbox.step("next", &sandbox.failing("echo y >y")).exits(3);
    review_by(&sandbox, "exit 3");
    sandbox.step("retry", &sandbox.completing("echo z >z")).exits(7);
    sandbox.ralph(&["review", "1"]).exits(1).says("gave no verdict");
    review_by(&sandbox, "accept");
    sandbox
        .step("next", "false")
        .exits(0)
        .says("its work is judged again");
    assert_eq!(sandbox.status()["stories_done"], 2);
}

#[test]
fn a_dry_run_says_that_unreviewed_work_is_judged() {
    let sandbox = reviewed_by("exit 3");
    attempt(&sandbox, "next").exits(7);
    for step in ["next", "retry", "run"] {
        let shown = sandbox.ralph(&[step, "--dry-run", "--", "true"]).exits(0).stdout;
        let words = "no reviewer has judged the work of 1@1 at story 1. Database";
        assert!(shown.contains(words), "{step}: {shown}");
        assert!(!shown.contains("next attempt"), "{step}: {shown}");
        let line = [step, "--dry-run", "--json", "--", "true"];
        assert_eq!(sandbox.ralph(&line).exits(0).json()["next"]["unreviewed"], "1@1");
    }
    sandbox.git(&["config", "--unset", "ralph.review"]);
    sandbox
        .ralph(&["run", "--dry-run", "--", "true"])
        .exits(7)
        .says("none is configured");
    review_by(&sandbox, "accept");
    sandbox.ralph(&["skip", CHANGE, "1"]).exits(0);
    sandbox
        .ralph(&["next", "--dry-run", "--", "true"])
        .exits(7)
        .says("another story is next");
}

#[test]
fn a_finish_names_unreviewed_work() {
    for how in ["--cleanup", "--keep"] {
        let sandbox = reviewed_by("exit 3");
        attempt(&sandbox, "next").exits(7);
        sandbox
            .ralph(&["finish", how])
            .exits(0)
            .says("no reviewer has judged the work of 1@1, which is in the work tree");
        assert_eq!(sandbox.read("new"), "x\n", "{how}");
    }
}

#[test]
fn a_verdict_beside_words_that_say_the_opposite_is_none_in_any_language() {
    for words in [
        "Die Story ist nicht fertig.",
        "Die Story ist nicht fertig, die Tests fehlen.",
        "Le travail n est pas terminé, les tests échouent.",
        "工作还没有完成，测试没有通过。",
        "Работа не завершена, тесты не проходят.",
    ] {
        let sandbox = reviewed_by(&format!("echo '{words}'; echo; accept"));
        attempt(&sandbox, "next")
            .exits(7)
            .says("words around its verdict can be read as its opposite");
        assert_eq!(asked(&sandbox), 2, "{words}");
    }
    // Remarks further above are no denial.
    let sandbox = reviewed_by(
        "printf 'Notes:\\n- a name could be better, for now it is fine\\n\\nAll is well.\\n'; accept",
    );
    attempt(&sandbox, "next").exits(0);
}

#[test]
fn review_without_an_end_leaves_its_work_in_each_place() {
    for place in ["--strategy=stash", "--worktree"] {
        let sandbox = Sandbox::new();
        review_by(&sandbox, ". \"$HOME/answer\"");
        let answer = |script: &str| fs::write(sandbox.outside("home/answer"), script).unwrap();
        answer("exit 3");
        sandbox.ralph(&["start", CHANGE, place]).exits(0);
        attempt(&sandbox, "next").exits(7);
        assert_eq!(sandbox.status()["unreviewed"], "1@1", "{place}");
        // A kill in the middle of another review changes nothing.
        answer("touch \"$notes/begun\"; exec sleep 1000");
        let running = sandbox.direct(&["next", CHANGE, "--", "false"]).start();
        wait_for(&sandbox.notes.join("begun"));
        running.signal(Signal::SIGKILL);
        running.wait_for_its_end();
        answer("accept");
        let judged = sandbox.ralph(&["next", CHANGE, "--", "false"]);
        judged.exits(0).says("its work is judged again");
        assert_eq!(sandbox.status()["stories_done"], 1, "{place}");
    }
}

#[test]
fn marks_of_the_agent_and_edits_of_the_list_change_no_verdict_about_unreviewed_work() {
    let sandbox = reviewed_by("exit 3");
    let ticks = format!("echo x >new; sed -i 's/\\[ \\]/[x]/' {TASKS}");
    sandbox.step("next", &sandbox.completing(&ticks)).exits(7);
    assert_eq!(sandbox.status()["stories_done"], 0);
    assert_eq!(sandbox.status()["unreviewed"], "1@1");
    // The user edits the list.
    let list = sandbox.read(TASKS).replace("3. Page", "3. The page");
    sandbox.write(TASKS, &format!("{list}\n## 4. More\n\n- [ ] 4.1 more\n"));
    review_by(&sandbox, "accept");
    sandbox.step("next", "false").exits(0);
    let kept = sandbox.read(TASKS);
    assert!(
        kept.contains("3. The page") && kept.contains("4.1 more"),
        "{kept}"
    );
    assert_eq!(sandbox.status()["stories_done"], 1);
    assert_eq!(sandbox.status()["by_list"], serde_json::json!([]));
    // Where the agent marks its story, its work is kept in its ref alone.
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.mark", "agent");
    review_by(&sandbox, "exit 3");
    sandbox.start();
    sandbox.step("next", &sandbox.completing(&ticks)).exits(7);
    assert_eq!(sandbox.status()["unreviewed"], serde_json::Value::Null);
    sandbox.is_at_checkpoint();
}

#[test]
fn unreviewed_work_of_one_story_becomes_nothing_of_another() {
    let sandbox = reviewed_by("exit 3");
    attempt(&sandbox, "next").exits(7);
    sandbox.ralph(&["skip", CHANGE, "1"]).exits(0);
    review_by(&sandbox, "accept");
    let words = "the work of 1@1 is in the work tree, no reviewer has judged it, and another story is next";
    for step in [&["next", CHANGE, "--", "false"][..], &["complete", CHANGE]] {
        sandbox.ralph(step).exits(7).says(words);
    }
    sandbox.ralph(&["revert", CHANGE]).exits(0);
    sandbox.is_at_checkpoint();
    attempt(&sandbox, "next").exits(0);
    // Work that the user has taken out is none.
    let sandbox = reviewed_by("exit 3");
    attempt(&sandbox, "next").exits(7);
    sandbox.git(&["checkout", "-q", "--", "."]);
    fs::remove_file(sandbox.top.join("new")).unwrap();
    review_by(&sandbox, "accept");
    attempt(&sandbox, "next").exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:new"]), "x");
}
