//! `git ralph demo`: a complete real loop in a temporary repository with the scripted agent below.

#![expect(
    clippy::disallowed_methods,
    reason = "its repository is a directory of its own"
)]

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;

use super::setup::Console;
use crate::async_cmd::{self, Command};
use crate::engine::{
    AttemptOptions, Context, Finish, StartOptions, Stopped, finish, refuse_inside_attempt, start,
};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::{Git, GitError};
use crate::names::Change;
use crate::runs::drive;
use crate::settings::Settings;
use crate::signal::{self, Stop};
use crate::ui::{Narrator, Screen};

const CHANGE: &str = "todo";
const LIST: &str = "TODO.md";
const TODO: &str = "- [ ] 1. Greet the person who is named\n- [ ] 2. Tell in README.md how to call it\n";
const README: &str = "# Greeter\n";
const GREET: &str = "#!/bin/sh\necho 'Hello, world.'\n";
const GATE: &str = "./test.sh";
const TEST: &str = "\
#!/bin/sh
[ \"$(./greet.sh)\" = 'Hello, world.' ] && exit
echo 'Without a name, greet.sh has to say: Hello, world.'
exit 1
";

/// Time to read a part of the demo on a terminal.
const PAUSE: Duration = Duration::from_secs(3);

/// The arguments of `git ralph demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Keep the repository, make a report, and print where both are
    #[arg(long)]
    pub keep: bool,
    /// Print events as JSON, one per line (git ralph help events)
    #[arg(long)]
    pub json: bool,
}

/// The arguments of the scripted agent.
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// Takes its time, so that its lines can be read
    #[arg(long)]
    slow: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    match Box::pin(play(console, args)).await {
        Err(Error::Stopped(signal)) => {
            let by = signal::name(signal);
            console.screen.say(&format!(
                "the demo was stopped by {by}, and its repository is removed\n"
            ));
            Ok(Exit::Signal(signal))
        }
        played => played,
    }
}

async fn play(console: &Console, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let screen = console.screen;
    let dir = tempfile::Builder::new()
        .prefix("git-ralph-demo-")
        .tempdir()
        .map_err(demo_error)?;
    let top = dir.path().join("greeter");
    make_repository(&top).await?;
    let git = Git::at(&top);
    let narrator = Narrator::new(screen);
    let context = Context::open(&top, &narrator).await?;
    let mut stop = context.stop.clone();
    explain(
        screen,
        "A repository with a test, a note that is not committed, and a list of two stories:",
    );
    show_text(screen, &format!("$ cat {LIST}"), TODO);
    pause(screen, &mut stop).await?;
    explain(
        screen,
        &format!(
            "git ralph run --stories {LIST} --verify {GATE}\n\
             Each attempt is a new agent process. What does not pass the gate is undone, and tried again."
        ),
    );
    let program = env::current_exe().map_err(demo_error)?;
    let mut agent = vec![program.clone().into_os_string(), "demo-agent".into()];
    agent.extend(is_read(screen).then(|| OsString::from("--slow")));
    let settings = Settings {
        stories: Some(LIST.into()),
        verify: vec![GATE.to_owned()],
        ..Settings::default()
    };
    let options = StartOptions {
        settings: settings.clone(),
        agent: agent.clone(),
        ..StartOptions::default()
    };
    let change = Change::new(CHANGE)?;
    let mut open = Box::pin(start(context, &change, &options, None, async |_| {}))
        .await?
        .open;
    let options = AttemptOptions {
        agent,
        settings,
        ..AttemptOptions::default()
    };
    let stopped = Box::pin(drive(&mut open, &options, None)).await?;
    if let Stopped::Signal(signal) = stopped {
        return Err(Error::Stopped(signal));
    }
    pause(screen, &mut stop).await?;
    let (branch, change) = (&open.state.common.branch, open.change());
    explain(
        screen,
        &format!(
            "Each checkpoint is a commit on {branch}. The attempt that failed is kept, too:\n\
             git ralph diff {change} 1@1"
        ),
    );
    pause(screen, &mut stop).await?;
    explain(
        screen,
        "git ralph finish --cleanup: back on main, with all changes uncommitted",
    );
    finish(&mut open, Finish::Cleanup { index: false }, None).await?;
    show(screen, &git, "status", &["--short", "--branch"]).await?;
    pause(screen, &mut stop).await?;
    explain(
        screen,
        "Now in your project: write TODO.md, one line \"- [ ] <task>\" for each story, then\n\
         git ralph run --stories TODO.md --verify '<command that runs your tests>'",
    );
    screen.say("\n");
    if args.keep || is_read(screen) {
        let page = if args.keep {
            top.join(".git/ralph").join(CHANGE).join("report.html")
        } else {
            temporary_page()?
        };
        let report = Command::new(program)
            .args(["report", CHANGE, "--output"])
            .arg(&page);
        let made = async_cmd::run(report.dir(&top)).await.map_err(demo_error)?;
        if made.code != Some(0) {
            return Err(demo_error(String::from_utf8_lossy(&made.stderr)));
        }
        screen.say(&format!("the report (git ralph report): {}\n", page.display()));
    }
    if args.keep {
        let top = dir.keep().join("greeter");
        screen.say(&format!("the repository is kept: {}\n", top.display()));
    } else if is_read(screen) {
        screen.say("the repository is removed, the report stays; to keep both: git ralph demo --keep\n");
    } else {
        screen.say("the repository is removed; to keep it, with its report: git ralph demo --keep\n");
    }
    if stopped == Stopped::Complete {
        Ok(Exit::Done)
    } else {
        Err(Error::Demo("the loop did not complete".to_owned()))
    }
}

/// Makes a temporary file for the report of a repository that is removed.
fn temporary_page() -> Result<PathBuf, Error> {
    let page = tempfile::Builder::new()
        .prefix("git-ralph-demo-")
        .suffix(".html")
        .tempfile();
    let (_, page) = page.map_err(demo_error)?.keep().map_err(demo_error)?;
    Ok(page)
}

fn explain(screen: Screen, text: &str) {
    screen.say(&format!("\n# {}\n", text.replace('\n', "\n# ")));
}

/// Returns whether the demo is shown on a terminal.
fn is_read(screen: Screen) -> bool {
    screen.columns().is_some()
}

/// Gives the user time to read on a terminal.
///
/// # Errors
/// If a signal asks git-ralph to stop.
async fn pause(screen: Screen, stop: &mut Stop) -> Result<(), Error> {
    if !is_read(screen) {
        return Ok(());
    }
    match timeout(PAUSE, stop.asked(1)).await {
        Ok(signal) => Err(Error::Stopped(signal)),
        Err(_) => Ok(()),
    }
}

/// Runs a git command in the demo's repository and shows its output.
async fn show(screen: Screen, git: &Git, verb: &'static str, args: &[&str]) -> Result<(), GitError> {
    let text = git.cmd(verb, args).text().await?;
    show_text(screen, &format!("$ git {verb} {}", args.join(" ")), &text);
    Ok(())
}

/// Shows a command and its output; with `--json`, not on standard output.
fn show_text(screen: Screen, line: &str, text: &str) {
    screen.say(&format!("{line}\n"));
    if screen.json {
        screen.say(text);
    } else {
        screen.answer(text);
    }
}

async fn make_repository(top: &Path) -> Result<(), Error> {
    fs::create_dir(top).map_err(demo_error)?;
    let git = Git::at(top).with_own_identity(true);
    // The user's template directory may contain hooks.
    git.cmd("init", ["-q", "--template=", "--initial-branch=main"])
        .done()
        .await?;
    for (name, text) in [("README.md", README), (LIST, TODO)] {
        fs::write(top.join(name), text).map_err(demo_error)?;
    }
    for (name, text) in [("greet.sh", GREET), (GATE, TEST)] {
        write_script(&top.join(name), text).map_err(demo_error)?;
    }
    git.cmd("add", ["-A"]).done().await?;
    let words = ["-q", "--no-gpg-sign", "-m", "A greeter that knows no names"];
    git.cmd("commit", words).done().await?;
    let note = "ask Ada what she likes to be called\n";
    fs::write(top.join("notes.txt"), note).map_err(demo_error)
}

/// Runs the scripted agent: it reads its prompt like any agent, works on the story named by the environment, and breaks
/// the test in story 1 until the prompt contains the gate's output.
pub(super) fn agent(args: &AgentArgs) -> Result<Exit, Error> {
    if args.slow {
        std::thread::sleep(PAUSE);
    }
    let mut prompt = String::new();
    io::stdin().read_to_string(&mut prompt).map_err(demo_error)?;
    let story = env::var("RALPH_STORY").unwrap_or_default();
    let said = work_on(&story, &prompt).map_err(demo_error)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{said}\n<promise>COMPLETE</promise>").map_err(demo_error)?;
    Ok(Exit::Done)
}

/// Works on a story in the current directory, and returns the agent's message.
fn work_on(story: &str, prompt: &str) -> io::Result<&'static str> {
    let greeting = |name: &str| {
        let script = format!("#!/bin/sh\necho \"Hello, {name}.\"\n");
        write_script(Path::new("greet.sh"), &script)
    };
    match story {
        "1" if prompt.contains("Without a name") => {
            greeting("${1-world}")?;
            Ok("The test also calls greet.sh without a name. It greets the world again.")
        }
        "1" => {
            greeting("$1")?;
            Ok("greet.sh greets the person who is named.")
        }
        _ => {
            let mut readme = OpenOptions::new().append(true).open("README.md")?;
            readme.write_all(b"\n    ./greet.sh Ada\n")?;
            Ok("README.md tells how to call greet.sh.")
        }
    }
}

fn write_script(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn demo_error(error: impl std::fmt::Display) -> Error {
    Error::Demo(error.to_string())
}
