//! Removes command lines and paths of this machine from texts.

use std::collections::BTreeSet;
use std::path::Path;

use super::event_lines::read;
use crate::agent::program_of;
use crate::engine::Context;
use crate::events::What;
use crate::state::State;

/// Replaces known command lines and paths of this machine in texts.
#[derive(Clone, Debug, Default)]
pub struct PublicText(Vec<(String, String)>);

/// Returns the command lines of the gates in these events.
pub fn gates_in(events: &[u8]) -> BTreeSet<String> {
    let gates = read(events).filter_map(|event| match event.what {
        What::Gate(gate) => Some(gate.command),
        _ => None,
    });
    gates.collect()
}

impl PublicText {
    /// Returns a replacer for the command lines of a loop, including its `gates`, and for its paths.
    pub fn of_loop(context: &Context<'_>, state: &State, gates: BTreeSet<String>) -> Self {
        let settings = state.settings_in(&context.configuration);
        let kept = &state.here.commands;
        let lines = settings.command_lines().into_iter().map(str::to_owned);
        let mut lines: BTreeSet<String> = lines.collect();
        lines.extend(kept.verify.iter().chain(&kept.agent).cloned());
        if let Some(commands) = &state.source().commands {
            lines.insert(commands.stories.clone());
            lines.extend(commands.done.iter().chain(&commands.closed).cloned());
        }
        lines.extend(gates);
        let home = std::env::home_dir();
        let repo = &context.repo;
        let mut dirs = vec![(repo.top.as_path(), "."), (repo.common_dir.as_path(), ".git")];
        dirs.extend(home.as_deref().map(|home| (home, "~")));
        Self::new(lines, &dirs)
    }

    pub(super) fn new(lines: impl IntoIterator<Item = String>, dirs: &[(&Path, &str)]) -> Self {
        let is_plain = |line: &String| {
            line.chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        };
        let lines = lines.into_iter().filter(|line| !is_plain(line));
        let mut taken: Vec<_> = lines.map(|line| (program_of(&line).to_owned(), line)).collect();
        let dirs = dirs
            .iter()
            .filter(|(dir, _)| dir.is_absolute() && dir.parent().is_some());
        taken.extend(dirs.map(|(dir, name)| ((*name).to_owned(), dir.to_string_lossy().into_owned())));
        // A text that contains another one is replaced first.
        taken.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
        Self(taken)
    }

    /// Returns a text without the command lines and paths.
    pub fn of(&self, text: &str) -> String {
        let replace = |text: String, (name, taken): &(String, String)| text.replace(taken.as_str(), name);
        self.0.iter().fold(text.to_owned(), replace)
    }

    pub(super) fn of_some(&self, text: Option<&String>) -> Option<String> {
        text.map(|text| self.of(text))
    }
}
