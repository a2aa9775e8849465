//! `git ralph hooks`.

use clap::builder::PossibleValuesParser;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{context, here};
use crate::error::Error;
use crate::exit::Exit;
use crate::git::{Repo, discover};
use crate::install::agent_settings::{self, Agent, Changed, Standing, Wanted};
use crate::install::repository_hooks::{self, Outcome};
use crate::ui::{Narrator, Screen};

/// The arguments of `git ralph hooks`.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with hooks.
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
    Status,
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
                let repo = repository().await?;
                tell(
                    screen,
                    &repository_hooks::install(&repo).await?,
                    "git's hooks are as they should be",
                );
            }
        },
        Action::Uninstall(of) => match agent_of(&of) {
            Some(agent) => uninstall(screen, agent, of.project).await?,
            None => {
                let repo = repository().await?;
                tell(
                    screen,
                    &repository_hooks::uninstall(&repo).await?,
                    "no hook of git's is git-ralph's",
                );
            }
        },
        Action::Status => status(screen).await?,
    }
    Ok(Exit::Done)
}

async fn repository() -> Result<Repo, Error> {
    let mut narrator = Narrator::new(Screen::default());
    Ok(context(&mut narrator).await?.repo)
}

/// Prints what was changed; says what was not.
fn tell(screen: Screen, outcomes: &[Outcome], nothing: &str) {
    let mut changed = false;
    for outcome in outcomes {
        let line = format!("{}\n", outcome.words);
        if outcome.changed {
            screen.answer(&line);
            changed = true;
        } else if outcome.words.starts_with("left alone") {
            screen.say(&line);
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

/// The file that is meant, and the top directory of its project.
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
        screen.answer(&told(&changed, "added", "made"));
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
        screen.answer(&told(&changed, "removed", "the whole file"));
    }
    Ok(())
}

fn told(changed: &Changed, what: &str, whole: &str) -> String {
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

async fn status(screen: Screen) -> Result<(), Error> {
    // Without a repository the agents' settings are there all the same.
    let repo = match here() {
        Ok(dir) => discover(&dir).await.ok().map(|(repo, _)| repo),
        Err(_) => None,
    };
    let top = repo.as_ref().map(|repo| repo.top.clone());
    let mut text = String::new();
    if let Some(repo) = &repo {
        let report = repository_hooks::report(repo).await?;
        if let Some(place) = report.place {
            let _ = writeln!(
                text,
                "git: {}",
                if report.wrong.is_empty() {
                    "installed"
                } else {
                    "not as installed; git ralph hooks install"
                }
            );
            let _ = writeln!(text, "  {place}");
        }
        for wrong in report.wrong {
            let _ = writeln!(text, "  {wrong}");
        }
    }
    for agent in agent_settings::ALL {
        for project in std::iter::once(None).chain(top.as_deref().map(Some)) {
            let whose = match project {
                Some(_) => format!("{} (project)", agent.name),
                None => agent.name.to_owned(),
            };
            let Ok(path) = agent.file(project) else { continue };
            let words = match agent.standing(&path) {
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
            let _ = writeln!(text, "{whose}: {words}\n  {}", path.display());
        }
    }
    if text.is_empty() {
        screen.say("no hooks of git-ralph's are installed\n");
    }
    screen.answer(&text);
    Ok(())
}
