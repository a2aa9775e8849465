//! `git ralph fail`: a person or another driver says that the story failed.

use crate::support::{CHANGE, Sandbox};

#[test]
fn fail_counts_keeps_and_undoes_the_attempt() {
    let sandbox = Sandbox::dirty();
    sandbox.start();
    let files = sandbox.files();
    for (args, code) in [
        (&["fail", "it is red"][..], 3),
        (&["fail"], 3),
        (&["fail", CHANGE], 3),
        (&["fail", CHANGE, "still red"], 4),
    ] {
        sandbox.write("mess.txt", "x\n");
        sandbox.ralph(args).exits(code);
        assert_eq!(sandbox.files(), files);
        sandbox.is_at_checkpoint();
    }
    let attempts = sandbox.attempts();
    let reasons: Vec<_> = attempts.iter().map(|attempt| &attempt["reason"]).collect();
    assert_eq!(reasons[0], "it is red");
    assert_eq!(reasons[3], "still red");
    for attempt in 1..=4 {
        let kept = format!("refs/ralph/add-login/attempts/1/{attempt}:mess.txt");
        assert_eq!(sandbox.git(&["show", &kept]), "x");
    }
    assert!(sandbox.ralph(&["prompt"]).exits(0).stdout.contains("> still red"));
}

#[test]
fn fail_joins_the_words_of_a_reason() {
    let sandbox = Sandbox::started();
    sandbox.ralph(&["fail", "tests", "are", "red"]).exits(3);
    sandbox.ralph(&["fail", CHANGE, "still", "red"]).exits(3);
    sandbox.ralph(&["fail", "chnage", "red"]).exits(1);
    let reasons: Vec<_> = sandbox
        .attempts()
        .into_iter()
        .map(|attempt| attempt["reason"].clone())
        .collect();
    assert_eq!(reasons, ["tests are red", "still red"]);
}
