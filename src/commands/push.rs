//! `git ralph push`.

use super::setup::Console;
use crate::cli::complete::{loops, offer};
use crate::engine::open_refusal::OpenRefusal;
use crate::error::Error;
use crate::exit::Exit;
use crate::names::typed;
use crate::paths::first_few;
use crate::remote::handover::{Pushed, named, push};
use crate::remote::refusal::RemoteRefusal;
use crate::remote::taken_along;
use crate::state::Ending;
use serde_json::json;

/// The arguments of `git ralph push`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = offer(loops))]
    pub change: Option<String>,
    /// The remote that keeps loops (ralph.remote)
    #[arg(long, value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let open = match console.open(args.change.as_deref()).await {
        Err(Error::Open(
            OpenRefusal::NoLoop { .. } | OpenRefusal::UnknownLoop { .. } | OpenRefusal::LostState { .. },
        )) => {
            return Err(RemoteRefusal::NotHere(args.change).into());
        }
        opened => opened?,
    };
    let server = named(open.repo(), &open.settings(), args.remote.as_deref()).await?;
    if open.state.here.closed == Some(Ending::Aside) {
        return Err(RemoteRefusal::SetAside {
            change: open.change().to_string(),
            remote: server.name().to_owned(),
        }
        .into());
    }
    let pushed = push(&open, &server).await?;
    if args.json {
        let uncommitted = match pushed {
            Pushed::Already => Vec::new(),
            Pushed::Done { .. } => taken_along(&open).await?,
        };
        let uncommitted = uncommitted.iter().map(|path| String::from_utf8_lossy(path));
        console.document(&json!({
            "v": 1,
            "change": open.change(),
            "remote": server.name(),
            "pushed": pushed != Pushed::Already,
            "branch": open.state.change.branch(),
            "branch_has_it": pushed != Pushed::Done { branch: false },
            "checkpoint": open.state.common.checkpoint,
            "uncommitted": uncommitted.collect::<Vec<_>>(),
        }));
        return Ok(Exit::Done);
    }
    let (change, remote) = (open.change().clone(), server.name());
    console.say(&match pushed {
        Pushed::Already => format!("{remote} has everything of {change}\n"),
        Pushed::Done { branch } => {
            let mut text = format!(
                "{change} is on {remote}, at checkpoint {}\n",
                open.state.checkpoint().short()
            );
            let mine = taken_along(&open).await?;
            if !mine.is_empty() {
                let files = first_few(&mine).join(", ");
                text.push_str(&format!(
                    "with what you had not committed when it began: {files}\n"
                ));
            }
            if !branch {
                let branch = open.state.change.branch();
                text.push_str(&format!(
                    "branch {branch} on {remote} holds other commits, and stays as it is\n"
                ));
            }
            let purpose = if open.state.is_live() {
                "continue"
            } else {
                "have it"
            };
            text.push_str(&format!(
                "to {purpose} on another machine: git ralph pull {change} --remote {remote}\n",
                change = typed(change),
                remote = typed(remote)
            ));
            text
        }
    });
    Ok(Exit::Done)
}
