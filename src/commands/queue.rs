//! `git ralph queue`.

use super::setup::context;
use crate::error::Error;
use crate::exit::Exit;
use crate::remote::queue::{find_conflicts, read};
use crate::remote::{Server, Watch};
use crate::ui::{self, Narrator, Screen};

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
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    let mut narrator = Narrator::new(screen);
    let context = context(&mut narrator).await?;
    let settings = context.configuration.settings.clone();
    let named = args.remote.is_some() || settings.remote.is_some();
    let server = if named {
        Some(Server::new(&context.repo, &settings, args.remote.as_deref())?)
    } else {
        None
    };
    let mut queue = read(&context, &settings, server.as_ref(), &mut Watch::default()).await?;
    if args.conflicts {
        find_conflicts(&context, &mut queue).await?;
    }
    if args.names {
        let names: String = queue.free().map(|entry| format!("{}\n", entry.change)).collect();
        screen.answer(&names);
    } else if args.matrix {
        screen.answer(&format!("{}\n", queue.matrix()));
    } else if args.json {
        screen.document(&queue);
    } else {
        screen.answer(&ui::queue::of(&queue));
    }
    Ok(Exit::Done)
}
