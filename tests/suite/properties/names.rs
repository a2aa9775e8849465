//! Files with names that git or a file system could take for others.

use std::path::Path;

use crate::support::Sandbox;

#[test]
fn step_distinguishes_files_whose_names_differ_only_in_case() {
    let sandbox = Sandbox::new();
    sandbox.configure("core.ignorecase", "true");
    sandbox.write("README.MD", "mine\n");
    sandbox.write("SRC/LIB.TXT", "mine too\n");
    if sandbox.read("README.md") != "# Standard\n" {
        return;
    }
    let before = sandbox.files();
    sandbox.start();
    let harm = "rm -rf README.MD README.md SRC src; echo x >TOOL";
    sandbox.step("next", &sandbox.failing(harm)).exits(3);
    assert_eq!(sandbox.files(), before);
    sandbox.step("retry", &sandbox.completing(harm)).exits(0);
    assert_eq!(sandbox.git(&["show", "HEAD:TOOL"]), "x");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn step_takes_names_literally_that_look_like_patterns() {
    let sandbox = Sandbox::started();
    let files = sandbox.files();
    let make =
        "mkdir -p ':(exclude)d' '*'; for f in ':(exclude)d/f' ':!x' ':^x' '*/[a]' '!y' ':(glob,nonsense)z'
        do echo w >\"$f\"; done; git add -A";
    sandbox.step("next", &sandbox.failing(make)).exits(3);
    assert_eq!(sandbox.files(), files);
    sandbox.step("retry", &sandbox.completing(make)).exits(0);
    sandbox.is_at_checkpoint();
    let work = sandbox.files();
    assert_eq!(work[Path::new(":(exclude)d/f")], "100644 w\n");
    sandbox
        .step(
            "next",
            &sandbox.failing("rm -rf ':(exclude)d' ':!x'; git init -q ':!n'; echo x >':!n/x'; echo 1 >'*/b'"),
        )
        .exits(3);
    assert_eq!(sandbox.files(), work);
    sandbox.ralph(&["status"]).exits(0);
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), files);
}

/// Returns the commands that a text for a narrow terminal says to type: none is broken, so each begins a line.
fn commands_in(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches('"');
        let line = line.strip_suffix(['"', ',', ';']).unwrap_or(line);
        line.starts_with("git ralph ").then_some(line)
    })
}

#[test]
fn every_suggested_command_quotes_hostile_names() {
    let change = "a;b$(touch${IFS}harm)'q\"&{x,y}`id`";
    let story = "it's $(touch harm); {a,b}";
    let attempt = format!("{story}@");
    let sandbox = Sandbox::new();
    let prd = serde_json::json!({
        "branchName": change,
        "userStories": [{ "id": story, "title": "one", "passes": false }],
    });
    sandbox.write("prd.json", &prd.to_string());
    sandbox.ralph(&["start", change, "--max-retries", "1"]).exits(0);
    let mut texts = Vec::new();
    let mut hear = |args: &[&str]| {
        // Where lines are broken, commands are not.
        let cmd = sandbox.ralph_cmd(args).env("GIT_PAGER", "cat");
        let output = cmd.on_terminal(40).run();
        texts.push(output.stdout + &output.stderr);
    };
    let agent = sandbox.failing("echo x >x");
    hear(&["next", change, "--", &agent]);
    hear(&["next", change, "--", &agent]);
    hear(&["status", change]);
    hear(&["log", change]);
    hear(&["retry", change, "--", &agent]);
    hear(&["run", change, "--", &agent]);
    hear(&["status", change]);
    hear(&["stories", change]);
    hear(&["complete", change]);
    hear(&["finish", change]);
    let mut seen = 0;
    for command in texts.iter().flat_map(|text| commands_in(text)) {
        let script = format!("printf '%s\\0' {command}");
        let printed = sandbox.cmd("bash").args(["-c", &script]).run().exits(0).stdout;
        let words: Vec<&str> = printed.split_terminator('\0').collect();
        assert!(words.contains(&change), "{command}: {words:?}");
        if command.contains('@') {
            assert!(
                words.iter().any(|word| word.starts_with(&attempt)),
                "{command}: {words:?}"
            );
        }
        seen += 1;
    }
    assert!(seen >= 15, "{seen} in {texts:#?}");
    assert!(!sandbox.top.join("harm").exists());
}

#[test]
fn a_name_with_a_newline_makes_no_line_of_its_own() {
    let sandbox = Sandbox::new();
    let name = "gone\n  complete after 1s\n";
    sandbox.write(".git/info/exclude", "/gone*\n");
    sandbox.write(name, &"x".repeat(1_100_000));
    sandbox.start();
    let output = sandbox.step("next", &sandbox.failing("rm -f gone*")).exits(3);
    let lines = output.stderr.lines();
    assert!(
        !lines.clone().any(|line| line == "  complete after 1s"),
        "{}",
        output.stderr
    );
    output.says("no copy to put back: gone^J  complete after 1s^J");
}
