//! `git ralph hooks`.

use clap::builder::PossibleValuesParser;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::setup::{Console, here};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::{Repo, discover};
use crate::install::agent_settings::{self, Agent, Changed, Standing, Wanted};
use crate::install::repository_hooks::{self, Outcome};
use crate::ui::Screen;

/// The arguments of `git ralph hooks`.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub struct Args {
    /// The command.
    #[command(subcommand)]
    pub action: Action,
}

/// The commands about hooks.
#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Print settings with which an agent's sessions drive the loop, for a file of your own
    Print {
        /// The agent
        #[arg(value_parser = PossibleValuesParser::new(agents_with_hooks()))]
        agent: String,
    },
    /// Add hooks to this repository, beside existing ones, or to the settings of an agent
    Install(HooksOf),
    /// Remove them again, and nothing else
    Uninstall(HooksOf),
    /// Show which hooks are installed, and which were overwritten
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Whose hooks.
#[derive(Debug, clap::Args)]
pub struct HooksOf {
    /// The agent whose settings to change; defaults to git's hooks in this repository
    #[arg(long, value_parser = PossibleValuesParser::new(agents_with_hooks()))]
    pub agent: Option<String>,
    /// Use the agent's settings in this project instead of yours
    #[arg(long, requires = "agent")]
    pub project: bool,
}

fn agents_with_hooks() -> impl Iterator<Item = &'static str> {
    agent_settings::ALL.iter().map(|agent| agent.name)
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    match args.action {
        Action::Print { agent } => {
            if let Some(agent) = agent_settings::named(&agent) {
                screen.json(&agent.settings());
                note(screen, agent);
            }
        }
        Action::Install(of) => match agent_of(&of) {
            Some(agent) => install(screen, agent, of.project).await?,
            None => {
                let outcomes = repository_hooks::install(&repository().await?).await?;
                tell(screen, &outcomes, "the hooks are already installed");
            }
        },
        Action::Uninstall(of) => match agent_of(&of) {
            Some(agent) => uninstall(screen, agent, of.project).await?,
            None => {
                let outcomes = repository_hooks::uninstall(&repository().await?).await?;
                tell(screen, &outcomes, "no git-ralph hooks are installed");
            }
        },
        Action::Status { json } => status(screen, json).await?,
    }
    Ok(Exit::Done)
}

async fn repository() -> Result<Repo, Error> {
    Ok(Console::new(Screen::default()).context().await?.repo)
}

/// Prints the changes, and reports unchanged files.
fn tell(screen: Screen, outcomes: &[Outcome], nothing: &str) {
    let mut changed = false;
    for outcome in outcomes {
        match outcome {
            Outcome::Changed(words) => {
                screen.answer(&format!("{words}\n"));
                changed = true;
            }
            Outcome::LeftAlone(words) => screen.say(&format!("{words}\n")),
        }
    }
    if !changed {
        screen.say(&format!("{nothing}\n"));
    }
}

fn agent_of(of: &HooksOf) -> Option<&'static Agent> {
    agent_settings::named(of.agent.as_deref()?)
}

fn note(screen: Screen, agent: &Agent) {
    if let Some(note) = agent.note {
        screen.say(&format!("{note}\n"));
    }
}

/// Returns the settings file of an agent, and the top directory of its project.
async fn file(agent: &Agent, project: bool) -> Result<(PathBuf, Option<PathBuf>), Error> {
    let top = if project {
        Some(repository().await?.top)
    } else {
        None
    };
    Ok((agent.file(top.as_deref())?, top))
}

async fn install(screen: Screen, agent: &'static Agent, project: bool) -> Result<(), Error> {
    let (path, top) = file(agent, project).await?;
    let changed = agent.install(&path)?;
    if changed.hooks.is_empty() {
        screen.say(&format!("unchanged: {}\n", changed.path.display()));
    } else {
        screen.answer(&summary(&changed, "added", "made"));
    }
    if let Some(top) = top
        && !is_ignored(&top, &path).await
    {
        screen.say(&format!(
            "{} is not ignored by git, so that checkpoints contain it; to keep it out, add its path to .git/info/exclude\n",
            path.display()
        ));
    }
    note(screen, agent);
    Ok(())
}

async fn uninstall(screen: Screen, agent: &'static Agent, project: bool) -> Result<(), Error> {
    let (path, _) = file(agent, project).await?;
    let changed = agent.uninstall(&path)?;
    if changed.hooks.is_empty() {
        screen.say(&format!(
            "nothing of git-ralph's is in {}\n",
            changed.path.display()
        ));
    } else {
        screen.answer(&summary(&changed, "removed", "the whole file"));
    }
    Ok(())
}

fn summary(changed: &Changed, what: &str, whole: &str) -> String {
    let mut text = changed.path.display().to_string();
    if changed.whole {
        let _ = write!(text, " ({whole})");
    }
    text.push('\n');
    for Wanted { event, command, .. } in &changed.hooks {
        let _ = writeln!(text, "  {what} {event}: {command}");
    }
    text
}

async fn is_ignored(top: &Path, path: &Path) -> bool {
    let ignored = crate::git::Git::at_top(top)
        .cmd("check-ignore", ["-q".as_ref(), path.as_os_str()])
        .any_exit();
    ignored.await.is_ok_and(|output| output.code == Some(0))
}

/// git-ralph's hooks in one place.
#[derive(Serialize)]
struct Installed {
    /// The owner: git in this repository, or an agent.
    whose: String,
    /// Their state, in words.
    state: String,
    /// Their path.
    path: String,
}

async fn status(screen: Screen, json: bool) -> Result<(), Error> {
    // The agents' settings exist without a repository, too.
    let repo = match here() {
        Ok(dir) => discover(&dir).await.ok().map(|(repo, _)| repo),
        Err(_) => None,
    };
    let mut all = Vec::new();
    let mut wrong = Vec::new();
    if let Some(repo) = &repo {
        let report = repository_hooks::report(repo).await?;
        if let Some(path) = report.place {
            let state = if report.wrong.is_empty() {
                "installed"
            } else {
                "not as installed; git ralph hooks install"
            };
            let (whose, state) = ("git".to_owned(), state.to_owned());
            all.push(Installed { whose, state, path });
        }
        wrong = report.wrong;
    }
    let top = repo.as_ref().map(|repo| repo.top.as_path());
    all.extend(of_agents(top));
    if json {
        screen.document(&all);
        return Ok(());
    }
    let mut text = String::new();
    for Installed { whose, state, path } in &all {
        let _ = writeln!(text, "{whose}: {state}\n  {path}");
        for wrong in wrong.iter().filter(|_| whose == "git") {
            let _ = writeln!(text, "  {wrong}");
        }
    }
    if text.is_empty() {
        screen.say("no git-ralph hooks are installed\n");
    }
    screen.answer(&text);
    Ok(())
}

/// Lists the hooks in the settings of agents: the user's and the project's.
fn of_agents(top: Option<&Path>) -> Vec<Installed> {
    let mut all = Vec::new();
    for agent in agent_settings::ALL {
        for project in std::iter::once(None).chain(top.map(Some)) {
            let of_project = if project.is_some() { " (project)" } else { "" };
            let whose = format!("{}{of_project}", agent.name);
            let Ok(path) = agent.file(project) else { continue };
            let state = match agent.standing(&path) {
                Ok(Standing::Nothing) => continue,
                Ok(Standing::Whole) => "installed".to_owned(),
                Ok(Standing::Part(some)) => {
                    let events: Vec<&str> = some.iter().map(|hook| hook.event).collect();
                    format!(
                        "only {}; git ralph hooks install --agent {} adds the others",
                        events.join(", "),
                        agent.name
                    )
                }
                Ok(Standing::Overwritten) => {
                    format!(
                        "gone since it was installed; git ralph hooks install --agent {}",
                        agent.name
                    )
                }
                Err(error) => error.to_string(),
            };
            let path = path.display().to_string();
            all.push(Installed { whose, state, path });
        }
    }
    all
}
