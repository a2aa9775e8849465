//! `git ralph install`.

use clap::ValueHint;
use std::path::Path;
use std::path::PathBuf;

use crate::error::Error;
use crate::exit::Exit;
use crate::install::manual::{Outcome, install, search, share_directory, uninstall};
use crate::ui::Screen;

/// The arguments of `git ralph install`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Install into <DIR>/share instead of for this user
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub prefix: Option<PathBuf>,
    /// Remove what was installed, and nothing else
    #[arg(long)]
    pub uninstall: bool,
}

pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    let share = share_directory(args.prefix.as_deref())?;
    let mut in_the_way = false;
    let mut done = false;
    let mut tell = |path: &Path, outcome| {
        let path = path.display();
        match outcome {
            Outcome::Written | Outcome::Removed => {
                done = true;
                screen.answer(&format!("{path}\n"));
            }
            Outcome::Unchanged => screen.say(&format!("unchanged: {path}\n")),
            Outcome::LeftAlone => {
                in_the_way = true;
                let words = format!("left alone: {path} (not what git ralph install wrote)\n");
                Screen {
                    quiet: false,
                    ..screen
                }
                .say(&words);
            }
        }
    };
    if args.uninstall {
        uninstall(&share, &mut tell)?;
        if !done {
            screen.say(&format!("nothing is installed in {}\n", share.display()));
        }
        return Ok(Exit::Done);
    }
    install(&share, &mut tell)?;
    for advice in search::advice(&share).await {
        screen.say(&format!("{advice}\n"));
    }
    Ok(if in_the_way { Exit::Person } else { Exit::Done })
}
