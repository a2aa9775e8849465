//! Promises that the words or the ticks of the agent speak against.

use super::rounds::{DONE, confirming, last, rounds};

#[test]
fn a_promise_that_the_words_or_ticks_of_the_agent_speak_against_is_asked_about_once() {
    let list = "openspec/changes/add-login/tasks.md";
    for (first, doubt) in [
        (
            "echo 'Die Geschichte ist noch nicht fertig.'",
            "> Die Geschichte ist noch nicht fertig.",
        ),
        ("echo '- [ ] the second box'", "> - [ ] the second box"),
        (
            &*format!("sed -i '0,/- \\[ \\]/s//- [x]/' {list}"),
            "> it ticked 1 of the boxes of the story, and left 2 open",
        ),
        (
            "echo 'Rejects tokens that are not complete.'; echo",
            "> Rejects tokens that are not complete.",
        ),
        (
            "echo 'I cannot say that this is done:'",
            "> I cannot say that this is done:",
        ),
    ] {
        let sandbox = confirming();
        let text = sandbox
            .read(list)
            .replacen("- [ ] 1.1", "- [ ] 1.0 First\n- [ ] 1.1", 1);
        sandbox.write(list, &text);
        let agent = rounds(
            &sandbox,
            &[
                &format!("echo x >made; {first}; {DONE}"),
                &format!("echo y >>made; {DONE}"),
            ],
        );
        sandbox
            .step("next", &agent)
            .exits(0)
            .says("round 2: the agent promised, and this speaks against it; another process is asked: ");
        let prompt = sandbox.noted("prompt.2");
        assert!(
            prompt.contains(doubt) && prompt.contains("- made (+1 -0)"),
            "{prompt}"
        );
        let last = last(&sandbox);
        assert_eq!(last["rounds"], 2);
        // The ticks stay as they are, and words do not come again.
        let rests_on = if doubt.starts_with("> it ticked") {
            serde_json::json!(["promise", "doubtful"])
        } else {
            serde_json::json!(["promise"])
        };
        assert_eq!(last["rests_on"], rests_on);
        assert_eq!(sandbox.read("made"), "x\ny\n");
    }
    // Each reason is named.
    let sandbox = confirming();
    let text = sandbox.read(list);
    sandbox.write(list, &text.replacen("- [ ] 1.1", "- [ ] 1.0 First\n- [ ] 1.1", 1));
    let first = format!(
        "echo x >made; sed -i '0,/- \\[ \\]/s//- [x]/' {list}; echo 'The tests are not written yet.'; {DONE}"
    );
    let agent = rounds(&sandbox, &[&first, &format!("echo y >>made; {DONE}")]);
    sandbox.step("next", &agent).exits(0);
    let prompt = sandbox.noted("prompt.2");
    let both = "> The tests are not written yet.\n> it ticked 1 of the boxes of the story, and left 2 open\n";
    assert!(prompt.contains(both), "{prompt}");
    // An agent that says no more than that it is done is not asked.
    let sandbox = confirming();
    sandbox
        .step(
            "next",
            &rounds(
                &sandbox,
                &[&format!("echo x >made; echo 'All tests pass.'; {DONE}")],
            ),
        )
        .exits(0);
    assert!(last(&sandbox).get("rounds").is_none());
}

#[test]
fn words_about_an_unchanged_story_are_asked_about_like_any_others() {
    let tests = "echo 'The tests are not written yet.'";
    let unchanged = "echo '<unchanged>1.1: README.md</unchanged>'";
    let sandbox = confirming();
    let agent = rounds(
        &sandbox,
        &[
            &format!("{unchanged}; {tests}; {DONE}"),
            &format!("{unchanged}; {DONE}"),
        ],
    );
    sandbox.step("next", &agent).exits(0);
    let attempt = last(&sandbox);
    assert_eq!(
        (&attempt["rounds"], &attempt["rests_on"]),
        (&2.into(), &serde_json::json!(["promise", "unchanged-said"]))
    );
    let prompt = sandbox.noted("prompt.2");
    let reasons = ["git sees no change outside", "> The tests are not written yet.\n"];
    assert!(reasons.iter().all(|reason| prompt.contains(reason)), "{prompt}");
    // The asked process may name what shows it without the tag.
    let sandbox = confirming();
    let shown = format!("echo 'README.md shows both tasks.'; {DONE}");
    let agent = rounds(&sandbox, &[&format!("{unchanged}; {tests}; {DONE}"), &shown]);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(
        last(&sandbox)["rests_on"],
        serde_json::json!(["promise", "confirmed"])
    );
}

#[test]
fn words_in_the_tag_of_an_unchanged_story_are_no_unfinished_sentence_before_the_promise() {
    for words in [
        "<unchanged>`README.md` shows it. It does not need a migration.</unchanged>\\n\\n",
        "<unchanged>`README.md` shows it, so that no other file is needed, which it is not</unchanged>\\n",
        "<unchanged>\\n- 1.1: README.md, not more\\n</unchanged>\\nDone\\n",
        "<unchanged>README.md</unchanged> ",
    ] {
        let sandbox = confirming();
        let agent = rounds(
            &sandbox,
            &[&format!("printf '%b' '{words}<promise>COMPLETE</promise>\\n'")],
        );
        sandbox.step("next", &agent).exits(0);
        let attempt = last(&sandbox);
        let said = serde_json::json!(["promise", "unchanged-said"]);
        assert_eq!(
            (attempt.get("rounds"), &attempt["rests_on"]),
            (None, &said),
            "{words}"
        );
    }
    // Words after the tag, and words that say that the story is not done, count as ever.
    for words in [
        "<unchanged>README.md shows it.</unchanged> I will not print\\n",
        "<unchanged>README.md shows that it is not done.</unchanged>\\n",
    ] {
        let sandbox = confirming();
        let agent = rounds(
            &sandbox,
            &[&format!("printf '%b' '{words}<promise>COMPLETE</promise>\\n'")],
        );
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.verdict(), "no_signal", "{words}");
    }
}

#[test]
fn gates_judge_no_silence_after_a_round_that_said_something() {
    let list = "openspec/changes/add-login/tasks.md";
    for first in [
        "echo x >made; echo '<promise>CONTINUE: validation</promise>'",
        "echo x >made; echo '- [ ] validation'; echo '<promise>COMPLETE</promise>'",
        DONE,
        &format!("echo x >made; sed -i '0,/- \\[ \\]/s//- [x]/' {list}"),
    ] {
        let sandbox = confirming();
        let text = sandbox.read(list);
        sandbox.write(list, &text.replacen("- [ ] 1.1", "- [ ] 1.0 First\n- [ ] 1.1", 1));
        sandbox.configure("ralph.noSignal", "gates");
        sandbox.configure("ralph.verify", "true");
        let agent = rounds(&sandbox, &[first, "echo y >made; echo Bye."]);
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.verdict(), "no_signal", "{first}");
    }
}

#[test]
fn a_round_that_takes_the_work_back_completes_nothing() {
    let doubtful = format!("echo x >made; echo '- [ ] tests'; {DONE}");
    for (setting, first) in [("retry", &*doubtful), ("ask", "echo x >made")] {
        let sandbox = confirming();
        sandbox.configure("ralph.noSignal", setting);
        let agent = rounds(&sandbox, &[first, &format!("rm made; {DONE}")]);
        sandbox
            .step("next", &agent)
            .exits(3)
            .says("the agent promised, but git sees no change outside the story list");
        assert_eq!(last(&sandbox)["verdict"], "failed");
    }
}

#[test]
fn checkpoint_says_that_words_speak_against_the_promise_on_which_it_rests() {
    let sandbox = confirming();
    let denies = format!("echo x >>made; echo 'Two tests still fail.'; echo; {DONE}");
    let agent = rounds(&sandbox, &[&denies, &denies]);
    sandbox.step("next", &agent).exits(0);
    assert_eq!(
        last(&sandbox)["rests_on"],
        serde_json::json!(["promise", "doubtful"])
    );
    let log = sandbox.ralph(&["log"]).exits(0).stdout;
    assert!(
        log.contains("although its words or ticks speak against that"),
        "{log}"
    );
    let body = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(body.contains("Ralph-Rests-On: promise, doubtful"), "{body}");
    assert_eq!(sandbox.status()["doubtful"], serde_json::json!(["1"]));
    let said = sandbox.ralph(&["status"]).exits(0).stdout;
    assert!(
        said.contains(", 1 although the agent's own words may deny it (1)"),
        "{said}"
    );
}

#[test]
fn doubtful_promise_is_asked_about_whatever_is_set_for_empty_stories() {
    for setting in ["warn", "fail", "accept"] {
        let sandbox = confirming();
        sandbox.configure("ralph.emptyStory", setting);
        let denies = format!("echo x >>made; echo 'Two tests still fail.'; echo; {DONE}");
        let agent = rounds(&sandbox, &[&denies, &format!("echo y >>made; {DONE}")]);
        sandbox.step("next", &agent).exits(0);
        assert_eq!(last(&sandbox)["rounds"], 2, "{setting}");
    }
}
