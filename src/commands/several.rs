//! `git ralph run` with several changes: one after another, each finished before the next begins.

use super::choose::by_flag;
use super::run::{Args, Typed, goes_on};
use super::setup::{context, put_stories_in};
use crate::engine::refuse_inside_attempt;
use crate::engine::steps::finish_refusal::FinishRefusal;
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::story_source::wanted;
use crate::error::Error;
use crate::exit::Exit;
use crate::names::Change;
use crate::remote::Watch;
use crate::runs::one;
use crate::settings::FinishChoice;
use crate::state::Store;
use crate::stories;
use crate::ui::{Narrator, Screen};

/// Runs the changes; returns the exit code of the first whose stories are not all complete.
pub(super) async fn run(screen: Screen, args: Args) -> Result<Exit, Error> {
    refuse_inside_attempt()?;
    let changes = in_order(screen, &args).await?;
    let mut exit = Exit::Done;
    let command = Typed { screen, args: &args };
    for (index, change) in changes.iter().enumerate() {
        screen.say(&format!("change {} of {}: {change}\n", index + 1, changes.len()));
        let ended = match Box::pin(one(&command, Some(change), &mut Watch::default())).await {
            // The change is already complete.
            Err(Error::Story(refusal @ StoryRefusal::NothingLeft { live: false, .. })) => {
                screen.say(&format!("{change}: {refusal}\n"));
                continue;
            }
            ended => ended,
        };
        if exit == Exit::Done {
            exit = ended.as_ref().map_or_else(Error::exit, |ended| ended.exit);
        }
        let may_go_on = ended.as_ref().is_ok_and(|ended| ended.may_go_on);
        let rest = changes.get(index + 1..).unwrap_or_default();
        if !may_go_on && !rest.is_empty() {
            screen.say(&format!("not begun: {}\n", rest.join(", ")));
        }
        ended?;
        if !may_go_on {
            break;
        }
    }
    Ok(exit)
}

/// Returns the changes in the order in which they run: the one that is active in this work tree first. Refuses before
/// any work if a later change could not begin.
async fn in_order(screen: Screen, args: &Args) -> Result<Vec<String>, Error> {
    let changes = &args.changes;
    let narrator = Narrator::new(screen);
    let context = context(&narrator).await?;
    let mut settings = context.configuration.settings.clone();
    put_stories_in(&mut settings, &context, &args.stories)?;
    if by_flag(args.choice).is_none() && settings.finish == FinishChoice::Ask {
        let has_stories = |name: &String| {
            Change::new(name).is_ok_and(|change| {
                let wanted = wanted(&settings, &change, &context.below_top);
                goes_on(&context, &change)
                    || stories::resolve(&context.repo.top, change.as_str(), &wanted).is_ok()
            })
        };
        return Err(FinishRefusal::NoChoiceForSeveral {
            is_agent: !changes.iter().skip(1).any(has_stories),
            changes: changes.clone(),
        }
        .into());
    }
    for name in changes {
        let change = Change::new(name)?;
        if !goes_on(&context, &change) {
            let wanted = wanted(&settings, &change, &context.below_top);
            stories::resolve(&context.repo.top, change.as_str(), &wanted)?;
        }
    }
    let mut changes = changes.clone();
    if let Some(here) = context.change_of_branch()
        && let Some(state) = Store::new(&context.repo.common_dir, &here).load()?
        && state.is_live()
    {
        changes.sort_by_key(|change| change.as_str() != here.as_str());
    }
    Ok(changes)
}
