//! `git ralph help`: the embedded page, whatever is installed.

use clap::CommandFactory;
use git_ralph::Cli;
use git_ralph::tables::GROUPS;

use crate::support::{Cmd, Sandbox};

/// A man that can only say that there are no pages, as that of small containers.
const NO_MAN: &str = "cat >/dev/null; echo 'This system has no manual pages.'";

#[test]
fn every_command_has_its_page() {
    let sandbox = Sandbox::empty();
    let output = help(&sandbox, &["next"]).run().exits(0);
    assert!(output.stdout.contains("git ralph next"), "{}", output.stdout);
    assert!(!output.stdout.contains('\u{1b}'), "colours");
    assert_eq!(output.stderr, "");
    sandbox.install("man", "cat");
    for command in Cli::command().get_subcommands().filter(|c| !c.is_hide_set()) {
        let verb = command.get_name();
        let output = help(&sandbox, &[verb]).run().exits(0);
        let title = format!(".TH git-ralph-{verb} ");
        assert!(output.stdout.contains(&title), "no {title} in {}", output.stdout);
        assert_eq!(output.stderr, "", "{verb}");
    }
    help(&sandbox, &["demo-agent"]).run().exits(2).answers_nothing();
    let output = help(&sandbox, &["nex"]).run().exits(2).answers_nothing();
    output.says("'next'");
}

#[test]
fn help_prints_the_page_as_man_renders_it() {
    let sandbox = Sandbox::empty();
    sandbox.install("man", "echo \"SYNOPSIS of $*\"; head -n 1 | tr a-z A-Z");
    let output = help(&sandbox, &["next"]).run().exits(0);
    assert!(
        output.stdout.starts_with("SYNOPSIS of -l -\n"),
        "{}",
        output.stdout
    );
    let first = git_ralph::tables::PAGES
        .iter()
        .find(|(verb, _)| *verb == "next")
        .and_then(|(_, page)| page.lines().next());
    assert!(
        output.stdout.contains(&first.unwrap().to_uppercase()),
        "{}",
        output.stdout
    );
}

#[test]
fn help_prints_the_long_help_without_man() {
    for man in [NO_MAN, "exit 3"] {
        let sandbox = Sandbox::empty();
        sandbox.install("man", man);
        let output = help(&sandbox, &["next"]).run().exits(0);
        assert!(
            output.stdout.contains("Usage: git ralph next"),
            "{}",
            output.stdout
        );
        assert_eq!(output.stderr, "");
        let output = help(&sandbox, &[]).run().exits(0);
        assert!(
            output.stdout.contains("Usage: git ralph [OPTIONS] <COMMAND>"),
            "{}",
            output.stdout
        );
    }
}

#[test]
fn man_shows_the_page_on_a_terminal() {
    let sandbox = Sandbox::empty();
    sandbox.install(
        "man",
        "[ -t 1 ] && printf 'on a terminal: '; echo SYNOPSIS; wc -c",
    );
    let Some(shown) = on_a_terminal(&sandbox, "git ralph help", &[]) else {
        return;
    };
    assert!(shown.starts_with("on a terminal: SYNOPSIS"), "{shown}");
    let size = git_ralph::tables::PAGES[0].1.len().to_string();
    assert!(shown.contains(&size), "{shown}");
}

#[test]
fn pager_of_git_shows_the_help_on_a_terminal_without_man() {
    let sandbox = Sandbox::empty();
    sandbox.install("man", NO_MAN);
    let line = "git ralph help next";
    let first = "Have the agent attempt";
    let pagers = [
        ("GIT_PAGER", "sed s/^/paged:/", "paged:Have"),
        ("PAGER", "printf \"$LESS:\"; cat", "FRX:Have"),
        ("GIT_PAGER", "cat", "Have"),
        ("GIT_PAGER", "no-such-pager-here", "Have"),
    ];
    for (name, pager, begin) in pagers {
        let Some(shown) = on_a_terminal(&sandbox, line, &[(name, pager)]) else {
            return;
        };
        assert!(shown.starts_with(begin), "{pager}: {shown}");
        assert!(shown.contains(first), "{pager}: {shown}");
    }
    let line = "git -c core.pager='sed s/^/configured:/' ralph help next";
    let shown = on_a_terminal(&sandbox, line, &[("PAGER", "cat")]).unwrap();
    assert!(shown.starts_with("configured:Have"), "{shown}");
}

#[test]
fn short_help_fits_a_terminal_of_80_columns() {
    let sandbox = Sandbox::empty();
    let verbs = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied());
    let mut wide = Vec::new();
    for verb in verbs.map(Some).chain([None]) {
        let help = sandbox
            .direct(&[])
            .args(verb)
            .args(["-h"])
            .dir(&sandbox.outside(""));
        let shown = help.run().exits(0).stdout;
        wide.extend(
            shown
                .lines()
                .filter(|line| line.chars().count() > 80)
                .map(str::to_owned),
        );
    }
    assert_eq!(wide, Vec::<String>::new());
}

/// `git ralph help` where there is no repository.
fn help(sandbox: &Sandbox, args: &[&str]) -> Cmd {
    let dir = sandbox.outside("home");
    sandbox.ralph_cmd(&["help"]).args(args).dir(&dir)
}

/// What a shell line shows on a terminal; `None` where nothing is there to make one.
fn on_a_terminal(sandbox: &Sandbox, line: &str, env: &[(&str, &str)]) -> Option<String> {
    if !crate::installed("script") {
        return None;
    }
    let mut cmd = sandbox.cmd("script").args(["-qec", line, "/dev/null"]);
    for (name, value) in env {
        cmd = cmd.env(name, value);
    }
    let shown = cmd.dir(&sandbox.outside("home")).env("SHELL", "/bin/sh");
    Some(shown.run().exits(0).stdout)
}
