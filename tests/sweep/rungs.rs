//! Whose the attempts are: each cause for which one fails or cannot be made, with and without an agent for retries
//! (`ralph.retryAgent`) and one that stands in (`ralph.fallbackAgent`).

use std::fmt::Write;

use crate::support::{CHANGE, Sandbox};

/// A cause: what the three agents do, and who makes attempts in two steps without further agents, with one for retries,
/// with one that stands in, and with both; the exit codes of the steps follow.
type Row = (&'static str, [&'static str; 3], [&'static str; 4]);

/// The script of an agent whose work is right.
const DONE: &str = "complete";
const LIMIT: &str = "echo 'API Error: Request rejected (429)' >&2; exit 1";

/// A failure that is the story's own: the retry is another agent's, if there is one.
const OWN: [&str; 4] = ["1 1: 3 3", "1 2: 3 0", "1 1: 3 3", "1 2: 3 0"];
/// A service that is away: another agent stands in, if there is one, and nothing is counted.
const AWAY: [&str; 4] = ["1 1: 6 6", "1 1: 6 6", "1 3: 0", "1 3: 0"];
/// An agent that cannot work, which waiting does not mend.
const UNABLE: [&str; 4] = ["1 1: 1 1", "1 1: 1 1", "1 3: 0", "1 3: 0"];

const ROWS: &[Row] = &[
    ("says that it failed", ["failed no", DONE, DONE], OWN),
    ("promises nothing", ["true", DONE, DONE], OWN),
    ("ends with an error", ["exit 3", DONE, DONE], OWN),
    ("is killed", ["kill -9 $$", DONE, DONE], OWN),
    ("passes its time limit", ["exec sleep 100", DONE, DONE], OWN),
    ("a gate fails", ["touch red; complete", DONE, DONE], OWN),
    ("the reviewer rejects", ["touch poor; complete", DONE, DONE], OWN),
    ("a rate limit", [LIMIT, DONE, DONE], AWAY),
    (
        "an overloaded service",
        ["echo 'API Error: 529 overloaded_error' >&2; exit 1", DONE, DONE],
        AWAY,
    ),
    (
        "not signed in",
        ["echo 'Invalid API key' >&2; exit 1", DONE, DONE],
        UNABLE,
    ),
    ("cannot be started", ["exit 127", DONE, DONE], UNABLE),
    ("is missing", ["", DONE, DONE], [": 1 1", ": 1 1", "3: 0", "3: 0"]),
    (
        "fails, and the one for retries is limited",
        ["failed no", LIMIT, DONE],
        ["1 1: 3 3", "1 2: 3 6", "1 1: 3 3", "1 2 3: 3 0"],
    ),
    (
        "fails, and the one for retries cannot be started",
        ["failed no", "exit 127", DONE],
        ["1 1: 3 3", "1 2: 3 1", "1 1: 3 3", "1 2 3: 3 0"],
    ),
    (
        "is limited, and the one that stands in fails",
        [LIMIT, DONE, "failed no"],
        ["1 1: 6 6", "1 1: 6 6", "1 3 1 3: 3 3", "1 3 2: 3 0"],
    ),
    (
        "is limited, and so is the one that stands in",
        [LIMIT, DONE, LIMIT],
        ["1 1: 6 6", "1 1: 6 6", "1 3 1 3: 6 6", "1 3 1 3: 6 6"],
    ),
];

/// Makes up to two steps, until one succeeds, and returns who worked in them, and their exit codes.
fn steps(scripts: [&str; 3], has_retry: bool, has_fallback: bool) -> String {
    let sandbox = Sandbox::new();
    let agent = |n: usize, script: &str| match script {
        "" => "no-such-agent".to_owned(),
        script => sandbox.agent(&format!(
            "echo {n} >>\"$notes/agents\"; echo {n} >>work; {script}"
        )),
    };
    // A loop does not begin with an agent that is missing.
    sandbox.start();
    sandbox.configure("ralph.agent", &agent(1, scripts[0]));
    if has_retry {
        sandbox.configure("ralph.retryAgent", &agent(2, scripts[1]));
    }
    if has_fallback {
        sandbox.configure("ralph.fallbackAgent", &agent(3, scripts[2]));
    }
    let reviewer = sandbox.agent("if [ -e poor ]; then reject; else accept; fi");
    sandbox.configure("ralph.review", &reviewer);
    sandbox.configure("ralph.verify", "[ ! -e red ]");
    sandbox.configure("ralph.timeout", "10s");
    sandbox.configure("ralph.maxWait", "0");
    let (mut step, mut codes) = ("next", String::new());
    for _ in 0..2 {
        let code = sandbox.ralph(&[step, CHANGE]).code;
        let _ = write!(codes, " {code}");
        step = match code {
            0 => break,
            3 => "retry",
            _ => "next",
        };
    }
    let agents = std::fs::read_to_string(sandbox.notes.join("agents")).unwrap_or_default();
    format!("{}:{codes}", agents.lines().collect::<Vec<_>>().join(" "))
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is read by people")]
fn each_cause_has_its_agents() {
    let mut cells = Vec::new();
    for (cause, scripts, expected) in ROWS {
        for (rungs, expected) in expected.iter().enumerate() {
            cells.push((*cause, *scripts, rungs, *expected));
        }
    }
    let mut wrong = Vec::new();
    for (cause, scripts, rungs, expected) in cells.into_iter().step_by(crate::stride(11, 3)) {
        let (has_retry, has_fallback) = (rungs & 1 == 1, rungs & 2 == 2);
        let found = steps(scripts, has_retry, has_fallback);
        let with = ["neither", "retryAgent", "fallbackAgent", "both"][rungs];
        println!("{cause:50} {with:15} {found}");
        if found != expected {
            wrong.push(format!("{cause}, {with}: {found} instead of {expected}"));
        }
    }
    crate::nothing_of(&wrong);
}
