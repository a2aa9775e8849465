//! `git ralph demo`: the whole loop, for real, on a throwaway repository with the scripted agent below.

#![expect(
    clippy::disallowed_methods,
    reason = "its repository is a directory of its own"
)]

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use super::setup::Console;
use crate::engine::{
    AttemptOptions, Context, Finish, StartOptions, Stopped, finish, refuse_inside_attempt, start,
};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::{Git, GitError};
use crate::names::Change;
use crate::runs::drive;
use crate::ui::{Narrator, Screen};

const CHANGE: &str = "add-greeting";

const README: &str = "# Greeter\n";

const PROPOSAL: &str = "# Greet people by name\n\nA script says hello, has a test, and is documented.\n";

const TASKS: &str = "\
## 1. Script
- [ ] 1.1 Write greet.sh, which greets the person it is given
- [ ] 1.2 Make it executable

## 2. Test
- [ ] 2.1 Write test.sh, which checks what greet.sh prints

## 3. Documentation
- [ ] 3.1 Describe greet.sh in README.md
";

const GREET: &str = "#!/bin/sh\nprintf 'Hello, %s.\\n' \"$1\"\n";
const TEST: &str = "#!/bin/sh\n[ \"$(./greet.sh Ada)\" = 'Hello, Ada.' ]\n";

/// The arguments of `git ralph demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Keep the repository, and print where it is
    #[arg(long)]
    pub keep: bool,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let dir = tempfile::Builder::new()
        .prefix("git-ralph-demo-")
        .tempdir()
        .map_err(demo_error)?;
    let top = dir.path().join("greeter");
    explain(
        console.screen,
        "A repository with one commit, some work that is not committed, and a change of three stories:",
    );
    make_repository(&top).await?;
    let git = Git::at(&top);
    show(console.screen, &git, "status", &["--short", "--branch"]).await?;
    explain(
        console.screen,
        &format!("git ralph start {CHANGE}: remembers where we are and makes a branch; no file is touched."),
    );
    let narrator = Narrator::new(console.screen);
    let context = Context::open(&top, &narrator).await?;
    let program = env::current_exe().map_err(demo_error)?;
    let agent = vec![program.into_os_string(), OsString::from("demo-agent")];
    let options = StartOptions {
        agent: agent.clone(),
        ..StartOptions::default()
    };
    let change = Change::new(CHANGE)?;
    let mut open = Box::pin(start(context, &change, &options, None)).await?.open;
    explain(
        console.screen,
        "git ralph run: one fresh agent process an attempt. The scripted agent fails once, and leaves a mess.",
    );
    let agent = AttemptOptions {
        force: false,
        agent,
        ..AttemptOptions::default()
    };
    let stopped = Box::pin(drive(&mut open, &agent, None)).await?;
    if let Stopped::Signal(signal) = stopped {
        return Err(Error::Stopped(signal));
    }
    explain(console.screen, "The branch has a checkpoint for each story:");
    let branch = &open.state.common.branch;
    show(console.screen, &git, "log", &["--oneline", "--graph", branch]).await?;
    explain(
        console.screen,
        "The failed attempt is not lost. This is what it left:",
    );
    let failed = open.change().attempt_ref("2", 1);
    show(console.screen, &git, "show", &["--stat", "--format=%B", &failed]).await?;
    explain(
        console.screen,
        "git ralph finish --cleanup: back on the original branch, with everything uncommitted:",
    );
    finish(&mut open, Finish::Cleanup { index: false }, None).await?;
    show(console.screen, &git, "status", &["--short", "--branch"]).await?;
    show(console.screen, &git, "diff", &[]).await?;
    let complete = stopped == Stopped::Complete;
    if args.keep {
        let kept = dir.keep();
        console.say(&format!(
            "\nthe repository is kept: {}\n",
            kept.join("greeter").display()
        ));
    } else {
        console.say("\nThe demo's repository is removed again (git ralph demo --keep leaves it there).\n");
    }
    if complete {
        Ok(Exit::Done)
    } else {
        Err(Error::Demo("the loop did not complete".to_owned()))
    }
}

fn explain(screen: Screen, text: &str) {
    screen.say(&format!("\n# {text}\n"));
}

/// Runs a git command in the demo's repository and shows what it prints.
async fn show(screen: Screen, git: &Git, verb: &'static str, args: &[&str]) -> Result<(), GitError> {
    let line = format!("$ git {verb} {}", args.join(" "));
    screen.say(&format!("{}\n", line.trim_end()));
    let text = git.cmd(verb, args).text().await?;
    if screen.json {
        screen.say(&text);
    } else {
        screen.answer(&text);
    }
    Ok(())
}

async fn make_repository(top: &Path) -> Result<(), Error> {
    let change = top.join("openspec/changes").join(CHANGE);
    fs::create_dir_all(&change).map_err(demo_error)?;
    let git = Git::at(top).with_own_identity(true);
    // The user's template directory must not bring hooks along.
    git.cmd("init", ["-q", "--template=", "--initial-branch=main"])
        .done()
        .await?;
    fs::write(top.join("README.md"), README).map_err(demo_error)?;
    fs::write(change.join("proposal.md"), PROPOSAL).map_err(demo_error)?;
    fs::write(change.join("tasks.md"), TASKS).map_err(demo_error)?;
    git.cmd("add", ["-A"]).done().await?;
    git.cmd(
        "commit",
        ["-q", "--no-gpg-sign", "-m", "A greeter that does not greet yet"],
    )
    .done()
    .await?;
    fs::write(top.join("notes.txt"), "ask Ada what she likes to be called\n").map_err(demo_error)?;
    Ok(())
}

/// Runs the scripted agent: it reads its prompt as any agent does, works on the story that the environment names, and
/// fails story 2 until the prompt contains the reason of the failure.
pub(super) fn agent() -> Result<Exit, Error> {
    let mut prompt = String::new();
    io::stdin().read_to_string(&mut prompt).map_err(demo_error)?;
    let story = env::var("RALPH_STORY").unwrap_or_default();
    let said = work_on(&story, &prompt).map_err(demo_error)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{said}").map_err(demo_error)?;
    Ok(Exit::Done)
}

const COMPLETE: &str = "<promise>COMPLETE</promise>";
const WHY: &str = "test.sh fails: it expects a comma that greet.sh does not print";

fn work_on(story: &str, prompt: &str) -> io::Result<String> {
    match story {
        "1" => {
            write_script("greet.sh", GREET)?;
            Ok(format!("I wrote greet.sh and made it executable.\n\n{COMPLETE}"))
        }
        "2" if !prompt.contains(WHY) => {
            write_script("test.sh", "#!/bin/sh\nexit 1\n")?;
            fs::write("greet.sh", "oops\n")?;
            fs::write("debug.log", "what was that?\n")?;
            Ok(format!(
                "I wrote a test, but it is red.\n\n<promise>FAILED: {WHY}</promise>"
            ))
        }
        "2" => {
            write_script("test.sh", TEST)?;
            Ok(format!(
                "The prompt said what went wrong; now the test is green.\n\n{COMPLETE}"
            ))
        }
        _ => {
            let mut readme = OpenOptions::new().append(true).open("README.md")?;
            readme.write_all(b"\n    ./greet.sh Ada\n")?;
            Ok(format!("README.md shows how to call it.\n\n{COMPLETE}"))
        }
    }
}

fn write_script(name: &str, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(name, text)?;
    fs::set_permissions(name, fs::Permissions::from_mode(0o755))
}

fn demo_error(error: impl std::fmt::Display) -> Error {
    Error::Demo(error.to_string())
}
