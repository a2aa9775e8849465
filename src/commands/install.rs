//! `git ralph install`.

use clap::ValueHint;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::exit::Exit;
use crate::install::manual::{Outcome, install, search, share_directory, uninstall};
use crate::ui::Screen;
use serde_json::json;

/// The arguments of `git ralph install`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Install into <DIR>/share instead of for this user
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub prefix: Option<PathBuf>,
    /// Remove what was installed, and nothing else
    #[arg(long)]
    pub uninstall: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    let share = share_directory(args.prefix.as_deref())?;
    let mut in_the_way = false;
    let mut done = false;
    let mut paths = Vec::new();
    let mut tell = |path: &Path, outcome| {
        let path = path.display();
        paths.push(json!({ "path": path.to_string(), "outcome": outcome }));
        match outcome {
            _ if args.json => in_the_way |= outcome == Outcome::LeftAlone,
            Outcome::Written | Outcome::Removed => {
                done = true;
                screen.answer(&format!("{path}\n"));
            }
            Outcome::Unchanged => screen.say(&format!("unchanged: {path}\n")),
            Outcome::LeftAlone => {
                in_the_way = true;
                let words = format!("left alone: {path} (not what git ralph install wrote)\n");
                screen.loud().say(&words);
            }
        }
    };
    if args.uninstall {
        uninstall(&share, &mut tell)?;
        if args.json {
            screen.document(&json!({ "paths": paths, "advice": [] }));
        } else if !done {
            screen.say(&format!("nothing is installed in {}\n", share.display()));
        }
        return Ok(Exit::Done);
    }
    install(&share, &mut tell)?;
    let advice = search::advice(&share).await;
    if args.json {
        screen.document(&json!({ "paths": paths, "advice": advice }));
    } else {
        for advice in advice {
            screen.say(&format!("{advice}\n"));
        }
    }
    Ok(if in_the_way { Exit::Person } else { Exit::Done })
}
