//! The commands that mark a story as done in a tracker: before its checkpoint, and after it.

use serde::Serialize;

use super::choices::Wanted;
use super::values::Value;

/// The prefix of a value whose command runs after the checkpoint.
const AFTER: &str = "after:";

/// The commands, as shell lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "Vec<String>")]
pub struct DoneCommands {
    /// Marks a story as done, before its checkpoint is made.
    pub before: Option<String>,
    /// Runs when the checkpoint is made.
    pub after: Option<String>,
}

impl Value for DoneCommands {
    /// Sets one command; an empty text clears both.
    fn set(&mut self, text: &str) -> Result<(), Wanted> {
        match text.strip_prefix(AFTER) {
            Some(line) if line.trim().is_empty() => return Err("a shell command, or after:<command>"),
            Some(line) => self.after = Some(line.to_owned()),
            None if text.is_empty() => *self = Self::default(),
            None => self.before = Some(text.to_owned()),
        }
        Ok(())
    }
}

impl From<DoneCommands> for Vec<String> {
    fn from(commands: DoneCommands) -> Self {
        let after = commands.after.map(|line| format!("{AFTER}{line}"));
        commands.before.into_iter().chain(after).collect()
    }
}

impl DoneCommands {
    /// Returns their shell lines.
    pub(super) fn iter(&self) -> impl Iterator<Item = &String> {
        self.before.iter().chain(&self.after)
    }

    /// Returns whether there is a command.
    pub fn has_lines(&self) -> bool {
        self.iter().next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_sets_one_of_the_commands() {
        let mut commands = DoneCommands::default();
        assert!(!commands.has_lines());
        commands.set("after:close --it").unwrap();
        commands.set("mark").unwrap();
        assert_eq!(Vec::from(commands.clone()), ["mark", "after:close --it"]);
        assert!(commands.set("after: ").is_err());
        commands.set("").unwrap();
        assert_eq!(commands, DoneCommands::default());
    }
}
