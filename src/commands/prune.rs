//! `git ralph prune`.

use super::setup::{Console, resolve};
use crate::cli::complete::{loops, offer};
use crate::engine::{self, Context};
use crate::error::Error;
use crate::exit::Exit;
use crate::names::{Change, typed_path};
use crate::remote::Server;
use crate::remote::prune::{Pruned, prune};
use crate::settings::to_std;
use crate::ui::Screen;
use serde_json::json;

/// The arguments of `git ralph prune`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change; defaults to that of the current branch, or to the only active loop
    #[arg(add = offer(loops))]
    pub change: Option<String>,
    /// Remove finished loops from this git remote, or from that of ralph.remote, instead of from this repository
    #[arg(long, value_name = "REMOTE", num_args = 0..=1, default_missing_value = "")]
    pub remote: Option<String>,
    /// Also remove branches and work trees of finished loops if another branch has everything in them
    #[arg(long, conflicts_with = "remote")]
    pub worktrees: bool,
    /// Show what would be removed; remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(console: &Console, args: Args) -> Result<Exit, Error> {
    let context = console.context().await?;
    if let Some(remote) = &args.remote {
        let name = Some(remote.as_str()).filter(|name| !name.is_empty());
        return Box::pin(on_remote(console.screen, &context, &args, name)).await;
    }
    let change = args.change.as_deref().map(|name| resolve(&context, Some(name)));
    let change = change.transpose()?;
    let removed = engine::prune(&context, change.as_ref(), args.dry_run).await?;
    let unneeded = engine::unneeded(&context, change.as_ref()).await?;
    let (stay, unneeded): (Vec<_>, Vec<_>) = unneeded.into_iter().partition(|one| one.stays.is_some());
    if args.json {
        let removed = if args.dry_run { 0 } else { removed };
        console.document(&json!({ "removed": removed, "unneeded": unneeded, "stay": stay }));
    } else if removed == 0 {
        console.say("nothing is older than ralph.keepAttempts\n");
    }
    for one in &stay {
        if let (Some(why), Some(top)) = (one.stays, &one.worktree) {
            let (branch, dir) = (&one.branch, typed_path(top));
            let words = format!(
                "{branch} stays, although another branch has all of it: {why}; if you need nothing of that: \
                 git worktree remove -f -f {dir} && git branch -D {branch}"
            );
            context.tell(&one.change, words);
        }
    }
    for one in &unneeded {
        let what = match &one.worktree {
            Some(top) => format!("{} and its work tree {}", one.branch, top.display()),
            None => one.branch.clone(),
        };
        if args.worktrees && args.dry_run {
            let words = format!("would remove {what}, unless something in it is found nowhere else");
            context.tell(&one.change, words);
        } else if !args.worktrees {
            context.tell(
                &one.change,
                format!("everything on {what} is on another branch, too"),
            );
        } else if let Some(why) = engine::remove_unneeded(&context, one).await? {
            context.tell(&one.change, format!("{what} stays: {why}"));
        } else {
            context.tell(&one.change, format!("removed {what}"));
        }
    }
    if !args.worktrees && !unneeded.is_empty() {
        console.say("  (use \"git ralph prune --worktrees\" to remove them)\n");
    }
    Ok(Exit::Done)
}

/// Removes finished loops from a remote.
async fn on_remote(
    screen: Screen,
    context: &Context<'_>,
    args: &Args,
    remote: Option<&str>,
) -> Result<Exit, Error> {
    let settings = &context.configuration.settings;
    let server = Server::new(&context.repo, settings, remote)?;
    let change = args.change.as_deref().map(Change::new).transpose()?;
    let pruned = match settings.keep_attempts.map(to_std) {
        Some(age) => prune(context, &server, change.as_ref(), age, args.dry_run).await?,
        None => Pruned::default(),
    };
    let verb = engine::verb(args.dry_run);
    for gone in &pruned.refs {
        screen.say(&format!("{verb} {} {}\n", gone.name, gone.oid));
    }
    for kept in &pruned.kept {
        screen.say(&format!("{} stays: {}\n", kept.change, kept.why));
    }
    if args.json {
        screen.document(&pruned);
    } else if pruned.refs.is_empty() {
        screen.say("nothing is older than ralph.keepAttempts\n");
    } else if args.dry_run {
        screen.say(&format!(
            "{} was not asked whether it lets them go\n",
            server.name()
        ));
    }
    Ok(Exit::Done)
}
