//! `git ralph report`.

use std::path::{Path, PathBuf};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use regex::Regex;

use super::report_of::report_of;
use super::report_remote;
use super::setup::Console;
use crate::cli::complete::{loops, offer};
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::{Context, look};
use crate::error::Error;
use crate::exit::Exit;
use crate::fs::{Below, Durability, FileError, kind_of, write_named, write_through};
use crate::git::Repo;
use crate::names::Change;
use crate::report::{Diffs, Redaction, Report, Wanted};
use crate::settings::parse_duration;
use crate::state::{self, Store};
use crate::stories;
use crate::ui::github;
use crate::ui::report::{PULL_REQUEST, Progress, junit, markdown, page};

/// The arguments of `git ralph report`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = offer(loops))]
    pub change: Option<String>,
    /// Report every loop of the repository, each in a section
    #[arg(long, conflicts_with = "change")]
    pub all: bool,
    /// Report the loops on this git remote, or on that of ralph.remote, instead of those of this repository
    #[arg(long, value_name = "REMOTE", num_args = 0..=1, default_missing_value = "", requires = "all")]
    pub remote: Option<String>,
    /// Print Markdown, for the body of a pull request
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// Print one JSON document
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print JUnit, for the page of a CI system
    #[arg(long, group = "form")]
    pub junit: bool,
    /// Write to this file; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show the changes in this detail: none, stat or full
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        hide_possible_values = true,
        default_value = "full",
        hide_default_value = true
    )]
    pub diffs: Diffs,
    /// Show the end of the output of each attempt, on the page
    #[arg(long, conflicts_with = "form")]
    pub logs: bool,
    /// Report only what ended since then: a time, a date, or how long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Timestamp>,
    /// Replace each match of this regular expression by ***; repeatable (ralph.redact)
    #[arg(long, value_name = "REGEX", value_parser = expression)]
    pub redact: Vec<String>,
    /// Unfold everything on the page, for paper
    #[arg(long, conflicts_with = "form")]
    pub print: bool,
    /// Show the page in the browser that git would use
    #[arg(long, conflicts_with = "form")]
    pub open: bool,
}

fn expression(text: &str) -> Result<String, String> {
    let read = Regex::new(text).map(|_| text.to_owned());
    read.map_err(|error| error.to_string())
}

fn since(text: &str) -> Result<Timestamp, String> {
    let now = Timestamp::now();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(date) = text.parse::<Date>() {
        let day = date.to_zoned(TimeZone::system());
        return day.map(|day| day.timestamp()).map_err(|error| error.to_string());
    }
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    let days = days.map(|days| SignedDuration::from_hours(i64::from(days) * 24));
    let ago = days.or_else(|| parse_duration(text).ok().flatten());
    let time = ago.and_then(|ago| now.checked_sub(ago).ok());
    time.ok_or_else(|| "a time is 2026-11-22T10:00:00Z, a date 2026-11-22, or 2h or 3d ago".to_owned())
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let mut context = console.context().await?;
    let changes = if args.remote.is_some() {
        Vec::new()
    } else if args.all {
        state::loops(&context.repo.common_dir)?
    } else {
        vec![context.resolve_change(args.change.as_deref())?]
    };
    // A script that names a format or a file gets an empty report too.
    let is_shown = !args.json && !args.junit && !args.markdown && args.output.is_none();
    if changes.is_empty() && args.remote.is_none() && is_shown {
        let (finished, changes) = (Vec::new(), stories::changes(&context.repo.top));
        return Err(OpenRefusal::NoLoop {
            finished,
            changes,
            checklist: None,
        }
        .into());
    }
    let settings = &context.configuration.settings;
    let expressions: Vec<String> = settings.redact.iter().chain(&args.redact).cloned().collect();
    let wanted = Wanted {
        diffs: args.diffs,
        logs: args.logs,
        since: args.since,
        redaction: Redaction::new(&expressions).unwrap_or_default(),
        link: settings.link_commit.clone(),
        ..Wanted::default()
    };
    let mut progress = Progress::new(console.screen);
    let mut reports = Vec::new();
    let mut exit = Exit::Done;
    for change in &changes {
        // An unreadable loop must not hide the others.
        if args.all
            && let Err(error) = Store::new(&context.repo.common_dir, change).load()
        {
            console.fail(change.as_str(), &error.into());
            exit = Exit::Error;
            continue;
        }
        let (back, state) = look(context, change).await?;
        context = back;
        let mut stop = context.stop.clone();
        let made = report_of(&context, &state, &wanted, &mut progress);
        tokio::select! {
            signal = stop.asked(1) => return Ok(Exit::Signal(signal)),
            made = made => reports.push(made?),
        }
    }
    if let Some(remote) = &args.remote {
        let mut stop = context.stop.clone();
        let made = report_remote::reports(console.screen, &context, remote, &wanted, &mut progress);
        tokio::select! {
            signal = stop.asked(1) => return Ok(Exit::Signal(signal)),
            made = made => (reports, exit) = made?,
        }
    }
    progress.draw("writing the report");
    let (text, file) = rendered(&args, &context, &changes, &reports);
    drop(progress);
    let file = match (args.output.clone(), file) {
        (Some(typed), _) if typed.as_os_str() != "-" => {
            write(&context.repo, &typed, &text)?;
            typed
        }
        (None, Some(usual)) => {
            let door = Below::new(&context.repo.common_dir);
            state::make_root(&context.repo.common_dir)?;
            door.write_private(&usual, &text)?;
            usual
        }
        _ => {
            if args.json {
                console.json(&text);
            } else {
                console.answer_exactly(&github::without_commands(&text));
            }
            return Ok(exit);
        }
    };
    let file = std::path::absolute(&file).unwrap_or(file);
    let address = file.to_string_lossy();
    console.answer(&format!("{}\n", address.replace('\n', "^J")));
    if args.open {
        context.repo.git.show(&["web--browse", &address]).await?;
    }
    Ok(exit)
}

/// Returns the report in the requested format, and its default file, if there is one.
fn rendered(
    args: &Args,
    context: &Context<'_>,
    changes: &[Change],
    reports: &[Report],
) -> (String, Option<PathBuf>) {
    if args.markdown {
        return (markdown(reports, PULL_REQUEST), None);
    }
    if args.junit {
        return (junit(reports), None);
    }
    if args.json {
        let json = match reports {
            [only] if !args.all => serde_json::to_string_pretty(only),
            all => serde_json::to_string_pretty(all),
        };
        return (json.unwrap_or_default() + "\n", None);
    }
    let common = &context.repo.common_dir;
    let file = match changes {
        [change] if !args.all => Store::new(common, change).file("report.html"),
        _ => common.join("ralph/report.html"),
    };
    (page(reports, args.print), Some(file))
}

/// Writes the report to the given path. Replaces a regular file; writes through any other file, such as a pipe or a
/// symlink, but not through a symlink in the repository, which may be an attempt's.
fn write(repo: &Repo, path: &Path, text: &str) -> Result<(), FileError> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = dir.unwrap_or(Path::new(".")).canonicalize();
    let is_in_repository = || {
        let tops = [&repo.top, &repo.common_dir].map(|top| top.canonicalize());
        let is_below = |dir: &PathBuf| tops.iter().flatten().any(|top| dir.starts_with(top));
        dir.is_ok_and(|dir| is_below(&dir))
    };
    match kind_of(path)? {
        Some(found) if found.is_symlink() && is_in_repository() => {}
        Some(found) if !found.is_file() => return write_through(path, text.as_bytes()),
        _ => {}
    }
    write_named(path, text.as_bytes(), 0o600, Durability::Atomic)
}
