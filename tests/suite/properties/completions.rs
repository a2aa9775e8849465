//! The files in completions/ complete `git ralph` and `git-ralph` in each shell that is installed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use assert_fs::TempDir;

use crate::support::temporary;

/// Types the line `$2` and a tab into a zsh on a terminal of its own, for zsh completes only there, and
/// prints what is offered with the functions in `$1`.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty -b z 'zsh -f -i'
wait_for() {
    local chunk deadline=$((SECONDS + 300))
    out=
    while (( SECONDS < deadline )); do
        zpty -r -t z chunk && out+=$chunk || sleep 0.02
        [[ $out == *$~1* ]] && return
    done
    print -r -- "no answer but: $out"
    exit 1
}
send() { zpty -w z "$1" }
send "PS1=; stty -echo; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -d $HOME/.zcompdump"
send 'bindkey "^I" complete-word; LISTMAX=0'
send 'compadd() {
    local -a offered
    builtin compadd -O offered "$@"
    (( $#offered )) && print -rl -- "<${(@)^offered}>"
    builtin compadd "$@"
}'
send 'comppostfuncs=(tell); tell() { print -r -- "offered:$compstate[nmatches]" }'
send 'print -r -- rea"dy"'
wait_for ready
zpty -w -n z "$2"$'\t'
wait_for 'offered:[0-9]'
print -r -- "$out" | tr -d '\r' | sed -n 's/^.*<\(.*\)>.*$/\1/p'
zpty -d z
"#;

/// What bash does for the line `$1` with the cursor at its end, by the function `$2`; prints what it is told to put
/// there, for `$3` = `read` as it would read that.
const BASH: &str = r#"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9
COMP_WORDS=($1) && [[ $1 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"$2"
for reply in "${COMPREPLY[@]}"; do
    [[ $3 == read ]] && eval "reply=$reply"
    printf '%s\n' "$reply"
done
"#;

/// Two ways to begin a command line.
const PROGRAMS: [&str; 2] = ["git ralph", "git-ralph"];

#[test]
fn bash_completes() {
    // git's completion for bash is where git or the distribution has put it.
    let git = [
        "/usr/share/bash-completion/completions/git",
        "/etc/bash_completion.d/git-completion.bash",
        "/usr/local/etc/bash_completion.d/git-completion.bash",
        "/opt/homebrew/etc/bash_completion.d/git-completion.bash",
    ]
    .into_iter()
    .find(|file| Path::new(file).exists());
    if !crate::installed("bash") {
        return;
    }
    for program in PROGRAMS {
        let source_git = match git {
            _ if program == "git-ralph" => String::new(),
            Some(file) => format!("source {file}"),
            None => continue,
        };
        let script = format!("{source_git}\nsource '{}'\n{BASH}", file("git-ralph.bash"));
        let replies = |place: &Place, line: &str, then: &str| {
            let complete = match program {
                "git-ralph" => "_git_ralph_alone",
                _ => "__git_wrap__git_main",
            };
            place.shell("bash", &["--norc", "-c", &script, "bash", line, complete, then])
        };
        check(program, |place, line| replies(place, line, "read"));
        // What bash puts in the place of the last word, or of its end.
        let place = Place::new();
        for (typed, wanted) in [
            ("skip with", "with\\ blank "),
            ("skip with\\ b", "with\\ blank "),
            ("skip 'with b", "with blank"),
            ("skip \"with b", "with blank"),
            ("skip it", "it\\'s "),
            ("skip \"it", "it's"),
            ("skip 'it", "it'\\''s"),
            ("skip US", "US:1 "),
            ("skip US:", "1 "),
            ("skip US\\:", "US:1 "),
            ("skip '$H", "$HOME"),
            ("skip \"\\$H", "\\$HOME"),
            ("diff plain@", "@1 "),
            // A title, if only one story has it.
            ("skip a\\ se", "plain "),
            ("skip 'Quo", "it'\\''s"),
            ("skip odd Dol", "\\$HOME "),
            ("diff A\\ se", "plain@1 "),
            ("prompt odd --story Back", "US:1 "),
            ("start x --adapter=pr", "prd "),
            ("start x --stories=lists\\ d", "lists\\ dir/"),
            ("start x --stories 'lists dir/m", "lists dir/my list.md"),
        ] {
            let replied = replies(&place, &format!("{program} {typed}"), "show");
            // Outside of a completion bash cannot be told whether a space follows.
            let plain = wanted.trim_end();
            let replied: Vec<&str> = replied.iter().map(|reply| reply.trim_end()).collect();
            assert!(replied.contains(&plain), "{program} {typed}: {replied:?}");
        }
        for typed in ["skip Title:", "skip Tit:", "skip odd Ano"] {
            let replied = replies(&place, &format!("{program} {typed}"), "show");
            assert_eq!(replied, [""; 0], "{program} {typed}");
        }
    }
}

#[test]
fn zsh_completes() {
    if !crate::installed("zsh") {
        return;
    }
    let directory = file("");
    for program in PROGRAMS {
        check(program, |place, line| {
            place.shell("zsh", &["-f", "-c", ZSH, "zsh", &directory, line])
        });
    }
}

#[test]
fn fish_completes() {
    if !crate::installed("fish") {
        return;
    }
    for program in PROGRAMS {
        check(program, |place, line| {
            let script = format!("source '{}'; complete -C '{line}'", file("git-ralph.fish"));
            let listed = place.shell("fish", &["-c", &script]);
            listed
                .into_iter()
                .map(|candidate| candidate.split('\t').next().unwrap_or_default().to_owned())
                .collect()
        });
    }
}

#[test]
fn completing_runs_no_command_takes_no_lock_and_says_nothing() {
    let sandbox = crate::support::Sandbox::new();
    let complete = |words: &[&str]| {
        let all = [&["--", "git-ralph"], words].concat();
        let output = sandbox.direct(&all).env("COMPLETE", "fish").run().exits(0);
        assert_eq!(output.stderr, "", "{words:?}");
        output.stdout
    };
    let list = format!(
        "echo run >>'{}/runs'; echo '{{\"id\":\"a\",\"title\":\"A\"}} {{\"id\":\"b\",\"title\":\"B\"}}'",
        sandbox.notes.display()
    );
    sandbox.configure("ralph.storiesCommand", &list);
    sandbox.ralph(&["start", "c", "--adapter", "command"]).exits(0);
    let agent = sandbox.failing("");
    sandbox.ralph(&["next", "c", "--", &agent]).exits(3);
    let before = sandbox.noted("runs");
    let lock = fs::File::open(sandbox.top.join(".git/ralph/c.lock")).unwrap();
    lock.try_lock().unwrap();
    assert_eq!(
        complete(&["run", "--box="]),
        "--box=off\n--box=on\n--box=require\n--box=all\n"
    );
    assert_eq!(
        complete(&["run", "--allow-test-changes="]),
        "--allow-test-changes=story\n--allow-test-changes=all\n"
    );
    // Of stories that only a command lists, those that the loop has met.
    assert_eq!(complete(&["skip", "c", ""]), "a\tA\n");
    assert_eq!(complete(&["restore", "c", ""]), "a@1\tA (failed: it is red)\n");
    assert_eq!(sandbox.noted("runs"), before);
    // Where nothing can be known, nothing is offered.
    fs::write(sandbox.top.join(".git/ralph/c.toml"), "version = 99\n").unwrap();
    assert!(!complete(&["skip", "c", ""]).contains("a\t"));
    fs::remove_dir_all(sandbox.top.join(".git")).unwrap();
    for words in [
        &["skip", ""][..],
        &["start", ""],
        &["prompt", "--story", ""],
        &["start", "x", "--stories", ""],
    ] {
        assert!(!complete(words).contains("a\t"), "{words:?}");
    }
}

#[test]
fn titles_are_shown_with_their_beginning_and_no_effect() {
    let sandbox = crate::support::Sandbox::new();
    let list = format!("- [ ] \u{1b}[31m{} end\n", "long ".repeat(20));
    sandbox.write("long.md", &list);
    sandbox.ralph(&["start", "l", "--stories", "long.md"]).exits(0);
    let words = ["--", "git-ralph", "skip", "l", ""];
    let shown = sandbox
        .direct(&words)
        .env("COMPLETE", "fish")
        .run()
        .exits(0)
        .stdout;
    let (_, title) = shown.trim_end().split_once('\t').unwrap();
    assert!(
        title.starts_with("^[[31mlong ") && title.ends_with("..."),
        "{shown}"
    );
    assert_eq!(title.len(), 60, "{shown}");
}

/// What has to be offered, whatever the shell.
fn check(program: &str, complete: impl Fn(&Place, &str) -> Vec<String>) {
    let place = Place::new();
    let offered = |rest: &str| {
        let mut offered = complete(&place, &format!("{program} {rest}"));
        for candidate in &mut offered {
            // Some shells add the slash of a directory later, or a space.
            *candidate = candidate.trim().trim_end_matches('/').to_owned();
        }
        offered.sort();
        offered.dedup();
        offered
    };
    assert_eq!(offered("sta"), ["start", "status"], "{program} sta");
    let commands = offered("");
    for verb in ["next", "retry", "finish", "demo"] {
        assert!(commands.contains(&verb.to_owned()), "{program}: {commands:?}");
    }
    assert!(
        !commands.contains(&"demo-agent".to_owned()),
        "{program}: {commands:?}"
    );
    assert_eq!(offered("start --max"), ["--max-retries"], "{program} start --max");
    assert_eq!(
        offered("start add"),
        ["add-form", "add-login"],
        "{program} start add"
    );
    assert_eq!(offered("status old"), ["old-loop"], "{program} status old");
    // Options are offered when they are asked for, or when nothing else can come.
    assert!(
        !commands.contains(&"--quiet".to_owned()),
        "{program}: {commands:?}"
    );
    assert!(
        offered("doctor ").contains(&"--json".to_owned()),
        "{program} doctor"
    );

    let stories = ["$HOME", "US:1", "größe", "it's", "me@home", "plain", "with blank"];
    assert_eq!(offered("skip odd "), stories, "{program} skip odd");
    assert_eq!(offered("prompt odd --story pl"), ["plain"], "{program} prompt");
    assert_eq!(offered("skip pl"), ["plain"], "{program} skip pl");
    assert_eq!(offered("skip odd --undo "), ["skipped"], "{program} skip --undo");
    // What was undone is kept; a checkpoint need not be restored.
    assert_eq!(
        offered("restore "),
        ["odd", "old-loop", "plain@1"],
        "{program} restore"
    );
    assert_eq!(offered("diff odd "), ["done@1", "plain@1"], "{program} diff odd");
    assert_eq!(
        offered("diff odd plain@1 "),
        ["--color", "--json", "--quiet", "--stat", "--verbose"],
        "{program} diff, all told"
    );
    assert_eq!(offered("finish c"), ["cleanup"], "{program} finish c");
    assert_eq!(
        offered("finish keep "),
        ["odd", "old-loop"],
        "{program} finish keep"
    );
    assert_eq!(
        offered("start add-form --adapter "),
        ["command", "markdown", "openspec", "prd"],
        "{program} --adapter"
    );
    for (option, values) in [
        ("run --on-failure", &["finish", "later", "skip", "stop"][..]),
        ("run --strategy", &["branch", "stash"]),
        ("start --strategy", &["branch", "stash"]),
    ] {
        assert_eq!(offered(&format!("{option} ")), values, "{program} {option}");
    }
    assert_eq!(
        offered("start add-form --stories l"),
        ["lists dir"],
        "{program} --stories"
    );
    assert_eq!(offered("help sta"), ["start", "status"], "{program} help");
    assert_eq!(offered("next odd --agent qw"), ["qwen"], "{program} --agent");
    // In another directory, by way of git.
    if program == "git ralph" {
        let top = place.0.join("repository");
        let mut elsewhere = complete(&place, &format!("git -C {} ralph skip pl", top.display()));
        elsewhere.dedup();
        assert_eq!(elsewhere, ["plain"], "git -C");
    }
}

fn file(name: &str) -> String {
    format!("{}/completions/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Stories whose names are hard on a shell.
const PRD: &str = r#"{"branchName": "ralph/odd", "stories": [
    {"id": "done", "title": "A first one"},
    {"id": "plain", "title": "A second one"},
    {"id": "skipped", "title": "A third one"},
    {"id": "with blank", "title": "Title: with a colon"},
    {"id": "it's", "title": "Quoted \"twice\""},
    {"id": "US:1", "title": "Back\\slash"},
    {"id": "me@home", "title": "At"},
    {"id": "größe", "title": "Größe"},
    {"id": "$HOME", "title": "Dollar"}
]}"#;

/// A repository with changes and loops, one of them damaged, and a home of its own.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(temporary::directory());
        place.run("git", &["init", "-q", "repository"], place.0.path());
        for change in ["add-form", "add-login"] {
            let dir = place.0.join("repository/openspec/changes").join(change);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("tasks.md"), "- [ ] 1 Do it\n").unwrap();
        }
        let top = place.0.join("repository");
        fs::create_dir_all(top.join("deep/er")).unwrap();
        fs::create_dir_all(top.join("lists dir")).unwrap();
        fs::write(top.join("lists dir/my list.md"), "- [ ] 1 Do it\n").unwrap();
        fs::write(top.join("prd.json"), PRD).unwrap();
        let told = |promise: &str| format!("echo '<promise>{promise}</promise>'");
        let attempt = |promise: &str| {
            let agent = told(promise);
            let step = ["ralph", "next", "odd", "--", "sh", "-c", &agent];
            place.run(
                "git",
                &[&["-c", "ralph.emptyStory=warn"], &step[..]].concat(),
                &top,
            );
        };
        place.run("git", &["ralph", "start", "odd"], &top);
        place.run("git", &["ralph", "skip", "odd", "skipped"], &top);
        attempt("COMPLETE");
        attempt("FAILED: it: is red");
        let state = top.join(".git/ralph");
        fs::write(state.join("old-loop.toml"), "").unwrap();
        place
    }

    /// Runs a shell in the repository and gives the lines that it prints.
    fn shell(&self, shell: &str, args: &[&str]) -> Vec<String> {
        let printed = self.run(shell, args, &self.0.join("repository"));
        printed.lines().map(ToOwned::to_owned).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "a test runs a shell as it likes")]
    fn run(&self, program: &str, args: &[&str], dir: &Path) -> String {
        let output = Command::new(program)
            .args(args)
            .current_dir(dir)
            .env_clear()
            .env("PATH", path())
            .env("HOME", self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// PATH with the program under test first.
fn path() -> OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_git-ralph"));
    let mut dirs = vec![program.parent().unwrap().to_owned()];
    dirs.extend(crate::support::search_path());
    env::join_paths(dirs).unwrap()
}
