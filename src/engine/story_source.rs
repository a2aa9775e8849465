//! Reads the place of a change's stories, and the commands that list and mark them, from the configuration: never from
//! a file of the loop.

use std::cell::RefCell;
use std::path::Path;

use crate::names::Change;
use crate::sandbox::Wish;
use crate::settings::{Configuration, Settings, to_std};
use crate::state::State;
use crate::stories::{Commands, Wanted};

/// Returns the settings for the place of a change's stories; `below_top` is the current directory relative to the top.
pub fn wanted(settings: &Settings, change: &Change, below_top: &Path) -> Wanted {
    Wanted {
        stories: settings.stories.clone(),
        below_top: below_top.to_owned(),
        adapter: settings.adapter.clone(),
        commands: settings.stories_command.clone().map(|stories| Commands {
            change: change.to_string(),
            stories,
            done: settings.done_commands.before.clone(),
            closed: settings.done_commands.after.clone(),
            limit: to_std(settings.command_timeout).as_secs().max(1),
            env: RefCell::default(),
            boxing: boxing(settings),
        }),
    }
}

/// Returns the box in which these commands run, if one is wanted.
pub(crate) fn boxing(settings: &Settings) -> Option<Wish> {
    let boxing = &settings.boxing;
    boxing.is_for_commands().then(|| Wish {
        is_required: boxing.mode.is_required(),
        allowed: boxing.allowed.clone(),
    })
}

/// Gives a loop that was read from its file the commands of the present configuration. No file of the loop has them: an
/// attempt that kills git-ralph could have written it.
pub fn take_commands(state: &mut State, configuration: &Configuration) {
    if !state.source().is_by_command() {
        return;
    }
    let settings = state.settings_in(configuration);
    let source = &mut state.common.source;
    source.commands = wanted(&settings, &state.change, Path::new("")).commands;
    if let Some(commands) = &source.commands {
        source.path.clone_from(&commands.stories);
    }
}
