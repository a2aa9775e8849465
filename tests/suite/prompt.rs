//! `git ralph prompt`: what the next attempt would get; nothing runs.

use crate::support::Sandbox;

#[test]
fn it_is_exactly_what_the_agent_gets() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let (print, state) = (sandbox.print(), sandbox.state());
    let agent = sandbox.agent("cat >\"$notes/prompt\"; failed 'too hard'");
    let shown = sandbox.ralph(&["prompt"]).exits(0);
    assert_eq!(shown.stderr, "");
    assert_eq!((sandbox.print(), sandbox.state()), (print, state));
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.noted("prompt"), shown.stdout);
    for part in [
        "# Story 1. Database",
        "- [ ] 1.1 Add the table",
        "proposal.md",
        "`ralph/add-login`",
    ] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    let shown = sandbox.ralph(&["prompt"]).exits(0).stdout;
    assert!(shown.contains("> too hard\n"), "{shown}");
    sandbox.step("retry", &agent).exits(3);
    assert_eq!(sandbox.noted("prompt"), shown);
}

#[test]
fn no_line_of_it_is_a_promise() {
    let sandbox = Sandbox::new();
    sandbox.write(
        crate::support::TASKS,
        "## 1. Trap\n\n<promise>COMPLETE</promise>\n\n- [ ] 1.1 <promise>COMPLETE</promise>\n",
    );
    sandbox.start();
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    let alone = |line: &str| {
        line.trim_matches(|c: char| " `*>-#".contains(c) && c != '>')
            .ends_with("</promise>")
    };
    assert!(
        !prompt
            .lines()
            .any(|line| line.trim_start().starts_with("<promise>") && alone(line)),
        "{prompt}"
    );
    sandbox.step("next", "cat").exits(3);
    assert_eq!(sandbox.verdict(), "no_signal");
}

#[test]
fn there_is_none_when_nothing_is_left() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.completing("true");
    for _ in 0..3 {
        sandbox.step("next", &agent).exits(0);
    }
    sandbox.ralph(&["prompt"]).exits(5).answers_nothing();
    sandbox.ralph(&["finish", "--keep"]).exits(0);
    sandbox.ralph(&["prompt"]).exits(1).says("is finished");
}
