//! `git ralph land`.

use std::cell::Cell;

use serde_json::{Value, json};

use super::setup::{Console, resolve};
use crate::cli::complete::{loops as known_loops, offer};
use crate::engine::steps::land_refusal::LandRefusal;
use crate::engine::{self, Context, Landed, refuse_inside_attempt, refuse_side};
use crate::error::{Error, refuse};
use crate::events::{Event, GateEnded, News, Observer, What};
use crate::exit::Exit;
use crate::git::locks;
use crate::names::{Change, short_branch};
use crate::state::{Ending, Store, loops};
use crate::ui::{Narrator, Screen};

/// The arguments of `git ralph land`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The changes, in the order in which they are merged; defaults to all that are finished with --keep and not merged yet
    #[arg(value_name = "CHANGE", add = offer(known_loops))]
    pub changes: Vec<String>,
    /// Make one commit of each change, instead of a merge
    #[arg(long)]
    pub squash: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Shows the gates, but not the temporary loop in which they run.
struct Gates {
    narrator: Narrator,
    /// True once the first gate has begun: earlier messages are about that loop.
    is_begun: Cell<bool>,
}

impl Observer for Gates {
    fn hear(&self, news: News<'_>) {
        match news {
            News::Event(event) => {
                if self.is_begun.get() && matches!(event.what, What::Notice { .. }) {
                    self.narrator.hear(News::Event(event));
                } else if let What::Gate(gate) = &event.what {
                    let gate = GateEnded {
                        story: Some(event.change.clone()),
                        ..gate.clone()
                    };
                    let event = Event::now(&event.change, What::Gate(gate));
                    self.narrator.hear(News::Event(&event));
                }
            }
            News::Begins(_) => self.is_begun.set(true),
            News::Limits(_) => {}
            other => self.narrator.hear(other),
        }
    }
}

pub(super) async fn run(console: &Console, screen: Screen, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let context = console.context().await?;
    let mut changes = Vec::new();
    for name in &args.changes {
        let change = resolve(&context, Some(name))?;
        refuse_side(&context, &change)?;
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    let branch = context.head.branch.as_deref().map(short_branch);
    let branch = branch.unwrap_or("HEAD").to_owned();
    if changes.is_empty() {
        changes = unlanded(&context).await?;
    }
    if changes.is_empty() {
        return refuse(LandRefusal::NothingToLand(branch));
    }
    let gates = Gates {
        narrator: Narrator::new(screen),
        is_begun: Cell::new(false),
    };
    // A single change is refused with a command to type; of several, the others are tried.
    let several = changes.len() > 1;
    let (mut exit, mut results) = (Ok(Exit::Done), Vec::new());
    for change in &changes {
        let landed = match Box::pin(land(console, change, args.squash, &gates)).await {
            Err(Error::Land(
                refusal @ (LandRefusal::ChangesInTheWay { .. }
                | LandRefusal::BranchGone(_)
                | LandRefusal::NotKept(_)
                | LandRefusal::NotFinished(_)),
            )) if several || matches!(refusal, LandRefusal::ChangesInTheWay { .. }) => {
                Landed::LeftOut(refusal.to_string())
            }
            Ok(landed) => landed,
            // The document still names the changes landed before.
            Err(error) => {
                exit = Err(error);
                break;
            }
        };
        let words = match &landed {
            Landed::As(commit) => format!("{change} has landed on {branch}: {}", commit.short()),
            Landed::Before => format!("{branch} has all of {change}"),
            Landed::LeftOut(why) => {
                exit = Ok(Exit::Person);
                format!("{change} is left out: {why}")
            }
        };
        console.say(&format!("{words}\n"));
        results.push(document(change, &landed));
    }
    if args.json && !(results.is_empty() && exit.is_err()) {
        console.document(&json!({ "v": 1, "branch": branch, "changes": results }));
    }
    exit
}

/// Lands one change.
async fn land(console: &Console, change: &Change, squashes: bool, gates: &Gates) -> Result<Landed, Error> {
    let context = console.context().await?;
    locks::require_free(&context.repo).await?;
    let open = Box::pin(engine::open(context, change)).await?;
    Box::pin(engine::land(&open, squashes, gates)).await
}

/// Returns a change and its result as JSON.
fn document(change: &Change, landed: &Landed) -> Value {
    let (result, commit, why) = match landed {
        Landed::As(commit) => ("landed", Some(commit), None),
        Landed::Before => ("before", None, None),
        Landed::LeftOut(why) => ("left_out", None, Some(why)),
    };
    json!({ "change": change, "result": result, "commit": commit, "why": why })
}

/// Returns the changes that were finished with `--keep` and whose branch HEAD does not contain, in the order in which
/// they were finished.
async fn unlanded(context: &Context<'_>) -> Result<Vec<Change>, Error> {
    let (repo, mut found) = (&context.repo, Vec::new());
    let Some(head) = &context.head.oid else {
        return Ok(Vec::new());
    };
    for change in loops(&repo.common_dir)? {
        let state = Store::new(&repo.common_dir, &change).load()?;
        let Some(state) = state.filter(|state| state.here.closed == Some(Ending::Keep) && state.has_branch())
        else {
            continue;
        };
        if let Some(tip) = repo.git.oid_at(&change.branch_ref()).await?
            && !repo.git.is_ancestor(&tip, head).await?
        {
            found.push((state.here.closed_at, change));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, change)| change).collect())
}
