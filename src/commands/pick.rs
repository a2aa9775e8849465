//! Chooses the change of a run if none is named: the active loop, else the only change with open stories.

use crate::engine::Context;
use crate::engine::open_refusal::OpenRefusal;
use crate::engine::stories::{Upcoming, upcoming};
use crate::engine::story_refusal::StoryRefusal;
use crate::engine::story_source::wanted;
use crate::error::Error;
use crate::names::Change;
use crate::settings::Settings;
use crate::state::{State, Store};
use crate::stories::{self, Adapter, SourceError};
use crate::ui::Screen;
use crate::ui::choice::pick;

/// Finds the change of a run, or of another `verb`, without a name; if there are several, asks the user at a terminal.
pub(super) async fn change_to_run(
    screen: Screen,
    context: &Context<'_>,
    settings: &Settings,
    verb: &'static str,
) -> Result<Change, Error> {
    let active = context.resolve_change(None);
    let is_live = |change: &Change| {
        let state = Store::new(&context.repo.common_dir, change).load();
        state.is_ok_and(|state| state.as_ref().is_some_and(State::is_live))
    };
    match active {
        Ok(change) if is_live(&change) => return Ok(change),
        Err(Error::Open(OpenRefusal::SeveralLoops(_))) => return active,
        _ => {}
    }
    let (open, failed) = with_open_stories(context, settings).await;
    match open.as_slice() {
        [] => {
            let Err(Error::Open(OpenRefusal::NoLoop { changes, .. })) = &active else {
                return active;
            };
            if let Some(error) = failed {
                return Err(error);
            }
            let adapter = settings.adapter.as_deref().map(Adapter::named).transpose();
            let adapter = adapter.map_err(|unknown| for_only(unknown, changes));
            let change = match (&settings.stories, changes.as_slice()) {
                (Some(list), _) => Change::of_list(list),
                // The step that reads the list reports what is wrong with it.
                (None, [only]) => Change::new(only)?,
                (None, others) => match (adapter?, others) {
                    // Commands can list stories for any change name.
                    (Some(Adapter::Command), []) => return active,
                    (_, []) => return Err(stories::none_found(&context.repo.top).into()),
                    (_, several) => return Err(OpenRefusal::NoOpenStories(several.to_vec()).into()),
                },
            };
            screen.say(&format!("change {change}\n"));
            Ok(change)
        }
        [only] => {
            screen.say(&format!("change {only}\n"));
            Ok(only.clone())
        }
        several => {
            let changes: Vec<String> = several.iter().map(ToString::to_string).collect();
            let picked = if screen.can_ask() {
                pick(screen, "which change?", &changes, &context.stop).await
            } else {
                None
            };
            let picked = picked.and_then(|at| several.get(at).cloned());
            picked.ok_or_else(|| OpenRefusal::SeveralChanges { changes, verb }.into())
        }
    }
}

/// Returns the only change with open stories; `None` if there are none, or several.
pub(super) async fn only_change(context: &Context<'_>, settings: &Settings) -> Option<Change> {
    let (open, _) = with_open_stories(context, settings).await;
    <[Change; 1]>::try_from(open).ok().map(|[only]| only)
}

/// Returns the error of a command that needs a loop and finds none: it names the only change with open stories, or is
/// the error of the only change's list. Runs no command that lists stories.
pub(super) async fn without_loop(context: &Context<'_>, error: Error) -> Error {
    let settings = &context.configuration.settings;
    let adapter = match settings.adapter.as_deref().map(Adapter::named).transpose() {
        Err(unknown) => match &error {
            Error::Open(OpenRefusal::NoLoop { changes, .. }) => return for_only(unknown, changes).into(),
            _ => None,
        },
        Ok(adapter) => adapter,
    };
    match error {
        Error::Open(OpenRefusal::NoLoop {
            finished, changes, ..
        }) if adapter != Some(Adapter::Command) => {
            let (open, failed) = with_open_stories(context, settings).await;
            match (open.as_slice(), failed) {
                ([], Some(failed)) if changes.len() == 1 => failed,
                ([only], _) => {
                    let changes = vec![only.to_string()];
                    let checklist = None;
                    OpenRefusal::NoLoop {
                        finished,
                        changes,
                        checklist,
                    }
                    .into()
                }
                _ => {
                    let checklist = stories::checklist(&context.repo.top).filter(|_| changes.is_empty());
                    OpenRefusal::NoLoop {
                        finished,
                        changes,
                        checklist,
                    }
                    .into()
                }
            }
        }
        other => other,
    }
}

/// Names the change in the error about its adapter, if there is only one.
fn for_only(error: SourceError, changes: &[String]) -> SourceError {
    match changes {
        [only] => error.for_change(only),
        _ => error,
    }
}

/// Lists the changes in known places that have a story to work on; returns also the error of the first list that cannot be
/// read, or has no story.
async fn with_open_stories(context: &Context<'_>, settings: &Settings) -> (Vec<Change>, Option<Error>) {
    let top = &context.repo.top;
    let (mut open, mut failed) = (Vec::new(), None);
    let unnamed = Settings {
        stories: None,
        ..settings.clone()
    };
    for name in stories::changes(top) {
        let Ok(change) = Change::new(&name) else { continue };
        let Ok(source) = stories::resolve(top, &name, &wanted(settings, &change, &context.below_top)) else {
            continue;
        };
        // A configured list belongs to a change only if it is found for that change.
        let own = || stories::resolve(top, &name, &wanted(&unnamed, &change, &context.below_top));
        if settings.stories.is_some() && own().is_ok_and(|own| own.path != source.path) {
            continue;
        }
        match source.list(top).await {
            Ok(listing) if matches!(upcoming(&listing, &[]), Upcoming::Story(_)) => open.push(change),
            Ok(listing) if listing.stories.is_empty() => {
                failed = failed.or_else(|| Some(StoryRefusal::of_none(source).into()));
            }
            Ok(_) => {}
            Err(error) => failed = failed.or(Some(error.into())),
        }
    }
    (open, failed)
}
