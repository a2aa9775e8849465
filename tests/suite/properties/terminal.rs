//! What a person sees: lines that fit the terminal, one line that tells what goes on, colours there and nowhere else.

use std::fs;

use nix::sys::signal::Signal;

use crate::support::console::visible;
use crate::support::{CHANGE, Sandbox, wait_for, wait_until};

const LONG: &str =
    "## 1. A title that is so long that it does not fit the eighty columns of a terminal, nor its log
- [ ] 1.1 one
- [ ] 1.2 two

## 2. Second
- [ ] 2.1 three
";

/// A repository with a story whose title is too long, and an agent that fails at it once, at length.
fn talkative() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/add-login/tasks.md", LONG);
    sandbox.git(&["commit", "-qam", "long"]);
    let why =
        "a reason that goes on and on, word after word, because agents like to explain themselves at length";
    let agent = sandbox.agent(&format!(
        "count; printf '\\033[35mhello\\033[0m\\n'; echo x >>f; test $n = 1 && failed '{why}' || complete"
    ));
    (sandbox, agent)
}

#[track_caller]
fn fits(text: &str, columns: usize) {
    // The promise is the agent's own line.
    for line in visible(text).iter().filter(|line| !line.contains("promise")) {
        // A path is never broken: a terminal goes on with it in the next line.
        let longest = line.split(' ').map(|word| word.chars().count()).max();
        assert!(
            line.chars().count() <= columns || longest > Some(columns / 2),
            "a line of {} columns: {line:?}",
            line.chars().count()
        );
    }
}

#[test]
fn lines_fit_the_terminal() {
    for columns in [80, 40] {
        let (sandbox, agent) = talkative();
        let run = sandbox.ralph_cmd(&["run", CHANGE, "--keep", "--", &agent]);
        let seen = run.on_terminal(columns).run().exits(0).stdout;
        assert!(seen.contains("[2/2] 2. Second"), "{seen}");
        fits(&seen, columns.into());
        for args in [&["status"][..], &["stories"], &["log"], &["status", "nothing"]] {
            let cmd = sandbox.ralph_cmd(args).env("GIT_PAGER", "cat");
            let seen = cmd.on_terminal(columns).run().stdout;
            assert!(seen.len() > 10);
            fits(&seen, columns.into());
        }
    }
}

#[test]
fn last_line_stays_below_every_piece_of_output() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let agent = sandbox.agent(
        "for piece in 'one\\n' part 'ial\\n' two; do printf \"$piece\"; until test -e \"$notes/go\"; do sleep 0.01; done
         rm \"$notes/go\"; done; echo; complete",
    );
    let running = sandbox.ralph_cmd(&["next", "--", &agent]).on_terminal(80).start();
    for piece in ["one", "part", "ial", "two"] {
        wait_until(piece, || {
            let seen = running.seen();
            let after = seen.rsplit_once(piece).map_or("", |(_, after)| after);
            after.contains("1. Database, ")
        });
        fs::write(sandbox.notes.join("go"), "").unwrap();
        wait_until("it goes on", || !sandbox.notes.join("go").exists());
    }
    let seen = running.end().stdout;
    assert!(seen.contains("complete after"), "{seen}");
}

#[test]
fn long_line_of_an_agent_begins_no_row_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let long = format!("{}  complete after 9s", "a".repeat(80));
    let spaced = "b".repeat(78) + "\u{a0}\u{a0}complete\u{a0}after\u{a0}9s";
    let failed = format!("failed '{}\n  {spaced}'", "c ".repeat(50));
    let agent = sandbox.agent(&format!("echo '{long}'; echo '{spaced}'; {failed}"));
    let next = sandbox.ralph_cmd(&["next", "--", &agent]);
    let seen = next.on_terminal(80).run().exits(3).stdout;
    let rows = visible(&seen);
    let marked = format!("│ {}", "a".repeat(77));
    assert!(
        rows.contains(&marked) && rows.contains(&"│ aaa  complete after 9s".to_owned()),
        "{seen}"
    );
    assert!(rows.iter().all(|row| row.chars().count() <= 80), "{rows:?}");
    // In a pipe it stays whole.
    sandbox.ralph(&["retry", "--", &agent]).exits(3).says(&long);
    let watched = sandbox
        .ralph_cmd(&["watch", "--plain"])
        .on_terminal(80)
        .run()
        .stdout;
    let rows = visible(&watched);
    assert!(rows.iter().all(|row| row.chars().count() <= 80), "{rows:?}");
}

#[test]
fn output_to_a_pipe_has_whole_lines_without_colours() {
    let (sandbox, agent) = talkative();
    let output = sandbox.ralph(&["run", CHANGE, "--keep", "--", &agent]).exits(0);
    assert!(output.stderr.contains("nor its log\n"), "{}", output.stderr);
    assert!(output.stderr.contains("hello\n"), "{}", output.stderr);
    let texts = [&["status"][..], &["stories"], &["log"], &["status", "nothing"]].map(|args| {
        let output = sandbox.ralph(args);
        output.stdout + &output.stderr
    });
    for text in texts.iter().chain([&output.stdout, &output.stderr]) {
        assert!(!text.contains('\x1b'), "{text}");
    }
}

#[test]
fn terminal_and_variables_decide_about_colours() {
    let sandbox = Sandbox::new();
    sandbox.start();
    let coloured = |args: &[&str], variable: Option<(&str, &str)>, terminal: bool| {
        let mut cmd = sandbox.cmd("git").args(args);
        if let Some((name, value)) = variable {
            cmd = cmd.env(name, value);
        }
        let cmd = if terminal { cmd.on_terminal(80) } else { cmd };
        cmd.run().exits(0).stdout.contains('\x1b')
    };
    let status = ["ralph", "status"];
    assert!(coloured(&status, None, true));
    assert!(!coloured(&status, None, false));
    assert!(!coloured(&status, Some(("NO_COLOR", "1")), true));
    assert!(coloured(&status, Some(("CLICOLOR_FORCE", "1")), false));
    assert!(coloured(
        &["-c", "color.ui=always", "ralph", "status"],
        None,
        false
    ));
    assert!(!coloured(
        &["-c", "color.ui=false", "ralph", "status"],
        None,
        true
    ));
    let ours = [
        "-c",
        "color.ralph=true",
        "-c",
        "color.ui=false",
        "ralph",
        "status",
    ];
    assert!(coloured(&ours, None, true));
    let no_color = Some(("NO_COLOR", "1"));
    assert!(!coloured(
        &["-c", "color.ui=always", "ralph", "status"],
        no_color,
        false
    ));
    assert!(coloured(&["ralph", "status", "--color=always"], no_color, false));
    assert!(!coloured(&["ralph", "--color", "never", "status"], None, true));
    sandbox
        .ralph(&["status", "--color=pink"])
        .exits(2)
        .says("[possible values: always, never, auto]");
}

#[test]
fn last_line_shows_the_story_and_disappears_at_the_end() {
    let sandbox = Sandbox::new();
    let go = sandbox.outside("go");
    let agent = sandbox.completing(&format!(
        "echo begun; until test -e '{}'; do sleep 0.05; done",
        go.display()
    ));
    let cmd = sandbox.ralph_cmd(&["run", CHANGE, "--keep", "--", &agent]);
    let running = cmd.on_terminal(80).start();
    running.counts_after("[1/3] 1. Database, ");
    fs::write(&go, "").unwrap();
    let seen = running.end().exits(0).stdout;
    let left = visible(&seen);
    assert!(!left.iter().any(|line| line.contains("Database, ")), "{seen}");
    assert!(left.iter().any(|line| line.ends_with("begun")), "{seen}");
}

#[test]
fn words_begin_a_line_of_their_own() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent("printf 'no line end'");
    let output = sandbox.step("next", &agent).exits(3);
    assert!(
        output.stderr.contains("no line end\n  no signal"),
        "{}",
        output.stderr
    );
}

#[test]
fn the_log_goes_through_the_pager_of_git() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing("true");
    sandbox.step("next", &agent).exits(0);
    sandbox.configure("core.pager", "sed 's/^/paged: /'");
    let log = || sandbox.ralph_cmd(&["log"]);
    let seen = log().on_terminal(80).run().exits(0).stdout;
    assert!(seen.contains("paged: ") && seen.contains("complete"), "{seen}");
    assert!(!log().run().exits(0).stdout.contains("paged"));
    let plain = sandbox.cmd("git").args(["--no-pager", "ralph", "log"]);
    assert!(!plain.on_terminal(80).run().exits(0).stdout.contains("paged"));
}

#[test]
fn interrupt_is_reported_and_leaves_no_line_behind() {
    let sandbox = Sandbox::new();
    let agent = sandbox.completing("touch $RALPH_BEGUN; sleep 100");
    let begun = sandbox.outside("begun");
    let cmd = sandbox.ralph_cmd(&["run", CHANGE, "--", &agent]);
    let running = cmd.env("RALPH_BEGUN", &begun).on_terminal(80).start();
    wait_for(&begun);
    running.signal(Signal::SIGINT);
    let seen = running.end().exits(130).stdout;
    let left = visible(&seen);
    for line in [
        "  stopping it; press Ctrl-C again to kill it",
        "  (use \"git ralph run add-login\" to continue)",
    ] {
        assert!(left.contains(&line.to_owned()), "{line:?} in {seen}");
    }
}

/// Puts something into the clipboard, clears the screen, names the window, turns the text.
const HOSTILE: &str =
    "Form\u{1b}]52;c;cm0=\u{7}\u{1b}[2J\u{1b}]0;pwn\u{7}\u{1b}[8m\u{9b}31m\u{202e}x\u{2066}";

/// Asserts that a terminal does nothing but what git-ralph itself wants of it: colours and one line that is redrawn.
#[track_caller]
fn is_harmless(what: &str, seen: &str) {
    assert!(
        !seen.contains(['\u{9b}', '\u{202e}', '\u{2066}', '\u{7}', '\u{7f}']),
        "{what}: {seen:?}"
    );
    for sequence in seen.split('\u{1b}').skip(1) {
        // The agent sets a colour that hides.
        let own = ["[8m", "[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[K"];
        assert!(
            own.iter().any(|one| sequence.starts_with(one)),
            "{what}: {sequence:?} in {seen:?}"
        );
    }
}

/// A repository with hostile titles, an agent whose reason and output are hostile too, and a hostile branch.
fn hostile() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let list = format!("## 1. {HOSTILE}\n- [ ] 1.1 {HOSTILE}\n## 2. {HOSTILE}\n- [ ] 2.1 {HOSTILE}\n");
    sandbox.write("openspec/changes/add-login/tasks.md", &list);
    sandbox.git(&["commit", "-qam", "hostile"]);
    sandbox.git(&["checkout", "-q", "-b", "b\u{9b}31m\u{202e}"]);
    let said = format!("\\033[2J\\033]52;c;cm0=\\007\\033]0;t\\007{HOSTILE}\\033[?1049h\\n");
    let agent = sandbox.agent(&format!(
        "printf '{said}'; printf '{said}' >&2; echo x >f; failed '{HOSTILE}'"
    ));
    (sandbox, agent)
}

#[test]
fn foreign_text_does_not_control_the_terminal() {
    let (sandbox, agent) = hostile();
    let see = |args: &[&str]| {
        let cmd = sandbox.ralph_cmd(args).env("GIT_PAGER", "cat");
        let seen = cmd.on_terminal(200).run().stdout;
        assert!(seen.len() > 10, "{args:?}: {seen}");
        is_harmless(&args.join(" "), &seen);
        seen
    };
    assert!(see(&["stories", CHANGE]).contains("Form^[]52;c;cm0=^G^[[2J"));
    see(&["start", CHANGE, "--dry-run"]);
    assert!(see(&["start", CHANGE]).contains("from b<U+009B>31m<U+202E>"));
    let heading = see(&["next", "--", &agent]);
    assert!(heading.contains("[1/2] 1. Form^[]52"), "{heading}");
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["log"],
        &["log", "--json"],
        &["prompt"],
        &["stories"],
        &["doctor"],
        &["doctor", "--json"],
        &["retry", "--", &agent],
        &["skip", HOSTILE],
        &["diff", HOSTILE],
        &["next", HOSTILE],
        &["start", HOSTILE],
        &["next", CHANGE, "--", HOSTILE],
        &["stories", "--stories", HOSTILE],
        &["run", CHANGE, "--", &agent],
        &["abort"],
    ] {
        see(args);
    }
}

#[test]
fn prompt_to_a_pipe_shows_control_characters() {
    let (sandbox, _) = hostile();
    sandbox.start();
    let prompt = sandbox.ralph(&["prompt"]).exits(0).stdout;
    let shown = HOSTILE
        .replace('\u{1b}', "^[")
        .replace('\u{7}', "^G")
        .replace('\u{9b}', "\u{fffd}");
    assert!(
        prompt.contains(&shown) && !prompt.contains('\u{1b}'),
        "{prompt:?}"
    );
}

#[test]
fn terminal_gets_no_escape_sequences_of_an_agent_but_colours() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent(
        "printf 'a\\033[35mb\\033]0;t\\007c\\033[2Jd\\n\\033[8m'; printf '\\302\\2332Je\\n'; failed red",
    );
    let next = sandbox.ralph_cmd(&["next", "--", &agent]);
    let seen = next.on_terminal(100).run().exits(3).stdout;
    assert!(seen.contains("a\u{1b}[35mbcd\n"), "{seen:?}");
    assert!(seen.contains("<U+009B>2Je\n"), "{seen:?}");
    // What the agent hid does not hide what is said of it.
    let verdict = seen.find("failed after").unwrap();
    let hidden = seen.find("\u{1b}[8m").unwrap();
    assert!(seen[hidden..verdict].contains("\u{1b}[0m"), "{seen:?}");
    let piped = sandbox.step("retry", &agent).exits(3).stderr;
    assert!(piped.contains("abcd\n") && !piped.contains('\u{1b}'), "{piped:?}");
}

#[test]
fn output_of_an_agent_runs_no_workflow_command() {
    let sandbox = Sandbox::started();
    let words = "::error::x\\n::add-mask::y\\n::stop-commands::z\\n##[group]g";
    let agent = sandbox.agent(&format!(
        "printf '{words}\\n'; printf '{words}\\n' >&2; failed \"$(printf 'a\\n::error::x\\n##[group]g')\""
    ));
    let next = sandbox.ralph_cmd(&["next", "--", &agent]);
    let log = next.env("GITHUB_ACTIONS", "true").run().exits(3).stderr;
    let mut token: Option<String> = None;
    let mut commands = Vec::new();
    let mut paused = 0;
    // As the runner reads it.
    for line in log.lines().map(str::trim_start) {
        match &token {
            Some(wanted) if line == format!("::{wanted}::") => token = None,
            Some(_) => paused += usize::from(line.starts_with("::") || line.contains("##[")),
            None => match line.strip_prefix("::stop-commands::") {
                Some(given) => token = Some(given.to_owned()),
                None if line.starts_with("::") || line.contains("##[") => commands.push(line),
                None => {}
            },
        }
    }
    assert_eq!(token, None, "{log}");
    // Four on each stream, and two in the promise.
    assert_eq!(paused, 10, "{log}");
    assert!(
        commands.len() == 3 && commands[0].starts_with("::group::[1/3] 1. Database"),
        "{log}"
    );
    assert_eq!(
        commands[2],
        "::warning title=git ralph::story 1 failed, 3 of 3 retries left: a%0A::error::x%0A##[group]g",
        "{log}"
    );
    assert_eq!(commands[1], "::endgroup::", "{log}");
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let sandbox = Sandbox::started();
    let agent = sandbox.failing("echo x >f");
    sandbox.step("next", &agent).exits(3);
    let to = |target: &str, words: &str| {
        let script = format!("git ralph {words} {target}");
        sandbox.cmd("sh").args(["-c", &script]).run()
    };
    for words in [
        "status",
        "status --json",
        "status --short",
        "log",
        "log --json",
        "stories",
        "prompt",
        "doctor",
        "help",
        "-h",
    ] {
        let output = to(">/dev/full", words).exits(1);
        assert!(
            output.stderr.contains("cannot write to standard output"),
            "{words}: {}",
            output.stderr
        );
        // Who has read enough is no error.
        to("| true", words).exits(0);
    }
    // What else is wrong is still told by the code.
    to(">/dev/full", "retry --json -- false")
        .exits(3)
        .says("standard output");
}

#[test]
fn log_of_an_attempt_runs_no_workflow_command() {
    let sandbox = Sandbox::started();
    let agent = sandbox.agent("printf '::error::x'");
    sandbox.step("next", &agent).exits(3);
    let log = sandbox
        .ralph_cmd(&["log", "1@1"])
        .env("GITHUB_ACTIONS", "true")
        .run();
    let log = log.exits(0).stdout;
    let token = log
        .strip_prefix("::stop-commands::")
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .to_owned();
    let (said, rest) = log.split_once(&format!("\n::{token}::\n")).unwrap();
    assert!(said.contains("::error::x") && rest.is_empty(), "{log}");
}
