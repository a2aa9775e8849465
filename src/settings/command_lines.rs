//! Lists the settings that are command lines: they can contain keys, and never leave the machine.

use super::Settings;

impl Settings {
    /// Returns every command line among the settings, and every part of one.
    pub fn command_lines(&self) -> Vec<&str> {
        let pieces = self.agents.values();
        let pieces = pieces.flat_map(|pieces| [pieces.command.as_deref(), pieces.args.as_deref()]);
        let texts = self.texts_of_kinds().into_iter();
        let lines = texts.filter(|(_, kind, _)| matches!(*kind, "Command" | "Agent"));
        let lines = lines.map(|(.., text)| text.as_str());
        pieces.flatten().chain(lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{Configuration, TABLE};

    #[test]
    fn setting_described_as_a_command_is_a_command_line() {
        let is_command = |means: &str| {
            ["command line", "shell command"]
                .iter()
                .any(|words| means.contains(words))
        };
        let keys = TABLE.iter().filter(|(_, _, means)| is_command(means));
        let keys: Vec<String> = keys
            .map(|(key, ..)| key.replace("<name>", "x").to_lowercase())
            .collect();
        assert!(keys.len() > 9, "{keys:?}");
        for key in keys {
            let listing = format!("local\0{key}\nrun --key=secret\0");
            let configuration = Configuration::parse(listing.as_bytes()).unwrap();
            assert_eq!(
                configuration.settings.command_lines(),
                ["run --key=secret"],
                "{key}"
            );
        }
    }
}
