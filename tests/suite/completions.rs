//! The files in completions/ complete `git ralph` and `git-ralph` in each shell that is installed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use assert_fs::TempDir;

/// Types the line `$2` and a tab into a zsh on a terminal of its own, for zsh completes only there, and
/// prints what is offered with the functions in `$1`.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty -b z 'zsh -f -i'
wait_for() {
    local chunk deadline=$((SECONDS + 60))
    out=
    while (( SECONDS < deadline )); do
        zpty -r -t z chunk && out+=$chunk || sleep 0.02
        [[ $out == *$~1* ]] && return
    done
    print -r -- "no answer but: $out"
    exit 1
}
send() { zpty -w z "$1" }
send "PS1=; stty -echo; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
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
print -r -- "$out" | tr -d '\r' | sed -n 's/^.*<\([a-z-]*\)>.*$/\1/p'
zpty -d z
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
    let script = |line: &str| {
        let source_git = match (git, line.strip_prefix("git ")) {
            (Some(file), Some(_)) => format!("source {file}\n"),
            _ => String::new(),
        };
        let function = match line.strip_prefix("git ") {
            Some(_) => "__git_wrap__git_main",
            None => "_git_ralph_alone",
        };
        // What bash does for a line with the cursor at its end.
        format!(
            "{source_git}source '{}'\n\
             COMP_LINE='{line}' COMP_POINT=${{#COMP_LINE}} COMP_TYPE=9 COMP_KEY=9\n\
             COMP_WORDS=({line}) && [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')\n\
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             {function}\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
            file("git-ralph.bash")
        )
    };
    for program in PROGRAMS {
        if program == "git ralph" && git.is_none() {
            continue;
        }
        check(program, |place, line| {
            place.shell("bash", &["--norc", "-c", &script(line)])
        });
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

/// What has to be offered, whatever the shell.
fn check(program: &str, complete: impl Fn(&Place, &str) -> Vec<String>) {
    let place = Place::new();
    let offered = |rest: &str| {
        let mut offered = complete(&place, &format!("{program} {rest}"));
        for candidate in &mut offered {
            *candidate = candidate.trim().to_owned();
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
}

fn file(name: &str) -> String {
    format!("{}/completions/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A repository with two changes and one loop, and a home of its own.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        place.run("git", &["init", "-q", "repository"], place.0.path());
        for change in ["add-form", "add-login"] {
            let dir = place.0.join("repository/openspec/changes").join(change);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("tasks.md"), "- [ ] 1 Do it\n").unwrap();
        }
        let state = place.0.join("repository/.git/ralph");
        fs::create_dir_all(&state).unwrap();
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
            .env("LC_ALL", "C")
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
