//! `git ralph help`: shows the bundled manual pages.

use clap::builder::PossibleValuesParser;
use std::io::{self, IsTerminal};
use std::time::Duration;

use super::groups::grouped;
use super::setup::here;
use crate::async_cmd::{self, Command};
use crate::error::Error;
use crate::exit::Exit;
use crate::install::manual::bundled;
use crate::ui::{Screen, pager};

/// Time limit for man.
const LIMIT: Duration = Duration::from_secs(20);

/// The arguments of `git ralph help`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command, or the topic: events, lifecycle or tutorial; defaults to git-ralph itself
    #[arg(value_parser = PossibleValuesParser::new(verbs()), hide_possible_values = true)]
    pub command: Option<String>,
}

/// Returns the commands and topics that have a manual page.
fn verbs() -> impl Iterator<Item = &'static str> {
    pages().map(|(name, _)| *name).filter(|name| !name.is_empty())
}

pub(super) async fn run(screen: Screen, args: Args, all: clap::Command) -> Result<Exit, Error> {
    let verb = args.command.unwrap_or_default();
    let rendered = match pages().find(|(name, _)| *name == verb) {
        Some((_, page)) => rendered(page).await.map(|text| (*page, text)),
        None => None,
    };
    let on_terminal = io::stdout().is_terminal();
    let text = match rendered {
        Some((page, text)) => {
            if on_terminal {
                // If man cannot be executed, the text is printed instead.
                let _ = pager::man(page);
            }
            text
        }
        None => match bundled::TOPICS.iter().find(|(topic, _)| *topic == verb) {
            Some((_, page)) => plain(page),
            None => long_help(all, &verb),
        },
    };
    pager::show(screen, &here()?, &text).await;
    Ok(Exit::Done)
}

/// Returns the page formatted by man; `None` if man is missing, or cannot format a page that is not installed.
async fn rendered(page: &str) -> Option<String> {
    let man = Command::new("man").args(["-l", "-"]).stdin(page).limit(LIMIT);
    let man = man.env("MANPAGER", "cat").env_remove("MAN_KEEP_FORMATTING");
    let output = async_cmd::run(man).await.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // On some systems, man only reports that there are no pages.
    (output.code == Some(0) && text.contains("SYNOPSIS")).then_some(text)
}

/// Returns all pages, with their names.
fn pages() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    bundled::PAGES.iter().chain(bundled::TOPICS)
}

/// Returns a page without the markup that git-ralph's own pages use.
fn plain(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines() {
        let line = match line.split_once(' ') {
            Some((".SH", title)) => format!("\n{}", title.trim_matches('"')),
            _ if line == ".PP" || line == ".TP" => String::new(),
            _ if line.starts_with('.') => continue,
            _ => line.to_owned(),
        };
        let line = line.replace("\\fB", "").replace("\\fR", "").replace("\\&", "");
        let line = line
            .replace("\\-", "-")
            .replace("\\(ga", "`")
            .replace("\\(rs", "\\");
        text.push_str(&line);
        text.push('\n');
    }
    text.trim_start().to_owned()
}

/// Returns the help from the definitions of the command line.
fn long_help(all: clap::Command, verb: &str) -> String {
    let mut top = grouped(all);
    top.build();
    let mut command = top.find_subcommand(verb).cloned().unwrap_or(top);
    command.render_long_help().to_string()
}
