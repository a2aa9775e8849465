//! `git ralph queue`.

use std::time::Duration;

use tokio::time::sleep;

use super::setup::Console;
use crate::error::Error;
use crate::exit::Exit;
use crate::remote::queue::{Queue, find_conflicts, read};
use crate::remote::{Server, Watch};
use crate::settings::{parse_duration, to_std};
use crate::ui::{self, Screen};

/// The arguments of `git ralph queue`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed")]
pub struct Args {
    /// The remote that keeps loops (ralph.remote)
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Print one JSON document
    #[arg(long, conflicts_with = "matrix")]
    pub json: bool,
    /// Print the names of the free changes, one per line
    #[arg(long, conflicts_with_all = ["json", "matrix", "conflicts"])]
    pub names: bool,
    /// Print the free changes as a matrix for a CI system, at most 256
    #[arg(long)]
    pub matrix: bool,
    /// Show which complete changes conflict with HEAD or with each other
    #[arg(long, conflicts_with = "matrix")]
    pub conflicts: bool,
    /// Look again after this time, such as 1m, and print the list when it has changed, until Ctrl-C
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "10s",
        value_parser = interval, conflicts_with_all = ["names", "matrix"])]
    pub watch: Option<Duration>,
}

pub(super) fn interval(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).ok().flatten().map(to_std);
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| "it must be a time, such as 10s".to_owned())
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    let settings = context.configuration.settings.clone();
    let named = args.remote.is_some() || settings.remote.is_some();
    let server = named.then(|| Server::new(&context.repo, &settings, args.remote.as_deref()));
    let server = server.transpose()?;
    let mut holders = Watch::default();
    let mut stop = context.stop.clone();
    let mut last = None;
    loop {
        let mut queue = read(&context, &settings, server.as_ref(), &mut holders).await?;
        if args.conflicts {
            find_conflicts(&context, server.as_ref(), &mut queue).await?;
        }
        if last.as_ref() != Some(&queue.changes) {
            if last.is_some() && !args.json {
                console.answer(&format!("\n{:#}\n", jiff::Zoned::now().strftime("%H:%M:%S")));
            }
            print(console.screen, &args, &queue);
        }
        let Some(time) = args.watch else { break };
        last = Some(queue.changes);
        tokio::select! {
            signal = stop.asked(1) => return Ok(Exit::Signal(signal)),
            () = sleep(time) => {}
        }
    }
    Ok(Exit::Done)
}

fn print(screen: Screen, args: &Args, queue: &Queue) {
    if args.names {
        let names: String = queue.free().map(|entry| format!("{}\n", entry.change)).collect();
        screen.answer(&names);
    } else if args.matrix {
        screen.answer(&format!("{}\n", queue.matrix()));
    } else if args.json {
        screen.document(queue);
    } else {
        screen.answer(&ui::queue::of(queue));
    }
}
