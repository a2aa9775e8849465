//! The verbs in groups, as in `git help`: the order of the help, and of the table in docs/commands.md.

use std::fmt::Write as _;

/// The groups, each with its verbs.
pub const GROUPS: &[(&str, &[&str])] = &[
    (
        "Begin and end",
        &["run", "stop", "start", "finish", "land", "abort"],
    ),
    (
        "Attempts",
        &[
            "next", "retry", "tell", "skip", "redo", "revert", "restore", "list",
        ],
    ),
    (
        "Look",
        &[
            "status", "watch", "log", "diff", "report", "review", "stories", "prompt",
        ],
    ),
    ("Work on a story yourself", &["complete", "fail"]),
    ("Continue on another machine", &["push", "pull", "queue"]),
    (
        "Set up",
        &["doctor", "install", "hooks", "prune", "help", "demo", "version"],
    ),
];

/// Returns a command line whose help lists its verbs in groups.
pub fn grouped(command: clap::Command) -> clap::Command {
    let mut list = String::new();
    let header = *command.get_styles().get_header();
    for (group, verbs) in GROUPS {
        let _ = writeln!(list, "\n{header}{group}:{header:#}");
        for verb in *verbs {
            let about = command.find_subcommand(verb).and_then(clap::Command::get_about);
            let about = about.map(|about| about.ansi().to_string()).unwrap_or_default();
            let _ = writeln!(list, "  {verb:<9} {about}");
        }
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\n{header}Options:{header:#}\n{{options}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_verb_is_in_one_group() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| verbs.iter().copied())
            .collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }
}
