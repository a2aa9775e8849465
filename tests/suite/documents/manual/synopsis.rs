//! The synopsis of a command from the command line's definitions, in the form of git's pages: each option with those that
//! exclude it, then the operands.

use clap::{Arg, Command};

/// The whole, whose options are those of every verb.
const TOP: &str = "git-ralph";
/// Columns of a line, below the indentation of a section.
const WIDTH: usize = 71;

/// Returns the lines of a command's synopsis. A usage of the command's own has to name each of its options.
pub fn lines(command: &Command) -> Vec<String> {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    if command.get_name() != TOP && command.has_subcommands() {
        return verbs.flat_map(lines).collect();
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let options: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| is_listed(command, arg))
        .collect();
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let rest = usage.strip_prefix(name).unwrap().trim();
    let words = if rest.contains("[OPTIONS]") || rest.is_empty() {
        let operands = command.get_positionals().filter(|arg| !arg.is_hide_set());
        let verb = command.has_subcommands().then(|| "<command>".to_owned());
        let operands = operands.map(operand).chain(verb);
        alternatives(command, &options)
            .into_iter()
            .chain(operands)
            .collect()
    } else {
        for option in options {
            let long = format!("--{}", option.get_long().unwrap());
            assert!(rest.contains(&long), "the usage of {name} has no {long}");
        }
        units(rest)
    };
    wrapped(name, &words)
}

fn is_listed(command: &Command, arg: &Arg) -> bool {
    let is_common = ["help", "version"].contains(&arg.get_id().as_str())
        || arg.is_global_set() && command.get_name() != TOP;
    !arg.is_positional() && !arg.is_hide_set() && !is_common
}

/// Joins the options that exclude each other.
fn alternatives(command: &Command, options: &[&Arg]) -> Vec<String> {
    let excludes = |one: &Arg, other: &Arg| {
        let conflicts = |one, other: &Arg| {
            let mut found = command.get_arg_conflicts_with(one).into_iter();
            found.any(|found| found.get_id() == other.get_id())
        };
        let in_group = command
            .get_groups()
            .filter(|group| !(*group).clone().is_multiple());
        let mut groups = in_group.map(|group| group.get_args().collect::<Vec<_>>());
        conflicts(one, other)
            || conflicts(other, one)
            || groups.any(|ids| ids.contains(&one.get_id()) && ids.contains(&other.get_id()))
    };
    let mut sets: Vec<Vec<&Arg>> = Vec::new();
    for option in options {
        let fits = |set: &&mut Vec<&Arg>| set.iter().all(|other| excludes(option, other));
        match sets.iter_mut().find(fits) {
            Some(set) => set.push(option),
            None => sets.push(vec![option]),
        }
    }
    let sets = sets.into_iter().map(|set| {
        let forms: Vec<String> = set.iter().map(|option| form(option)).collect();
        match set.as_slice() {
            [only] if only.is_required_set() => forms.concat(),
            [only] if is_repeatable(only) => format!("[{}]...", forms.concat()),
            _ => format!("[{}]", forms.join(" | ")),
        }
    });
    sets.collect()
}

/// Returns whether an option may stand there more than once, each time with a value.
fn is_repeatable(option: &Arg) -> bool {
    matches!(option.get_action(), clap::ArgAction::Append)
}

/// Returns an option with its value.
fn form(option: &Arg) -> String {
    let long = format!("--{}", option.get_long().unwrap());
    let values = option.get_num_args().unwrap_or_default();
    let value = option.get_value_names().map_or_else(String::new, |names| {
        let names: Vec<String> = names.iter().map(|name| placeholder(name)).collect();
        names.join(" ")
    });
    let name = match option.get_short() {
        Some(short) if values.takes_values() => format!("(-{short} | {long})"),
        Some(short) => format!("-{short} | {long}"),
        None => long,
    };
    if !values.takes_values() {
        name
    } else if values.min_values() > 0 {
        format!("{name} {value}")
    } else if option.is_require_equals_set() {
        format!("{name}[={value}]")
    } else {
        format!("{name} [{value}]")
    }
}

/// Returns an operand; one that may be repeated has dots.
fn operand(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let many = arg
        .get_num_args()
        .is_some_and(|values| values.max_values() > names.len());
    let dots = if many { "..." } else { "" };
    let dashes = if arg.is_last_set() { "-- " } else { "" };
    let names = names.iter().map(|name| {
        let name = format!("{dashes}{}{dots}", placeholder(name));
        if arg.is_required_set() {
            name
        } else {
            format!("[{name}]")
        }
    });
    names.collect::<Vec<_>>().join(" ")
}

/// Returns `<story>[@<attempt>]` for `STORY[@ATTEMPT]`.
fn placeholder(name: &str) -> String {
    let name = name.to_lowercase();
    match name.split_once("[@") {
        Some((story, attempt)) => format!("<{story}>[@<{}>]", attempt.trim_end_matches(']')),
        None => format!("<{name}>"),
    }
}

/// Splits a usage at the blanks that are in no brackets.
fn units(usage: &str) -> Vec<String> {
    let (mut units, mut depth) = (vec![String::new()], 0);
    for sign in usage.chars() {
        depth += i32::from(sign == '[') - i32::from(sign == ']');
        match units.last_mut() {
            Some(_) if sign.is_whitespace() && depth == 0 => units.push(String::new()),
            Some(unit) => unit.push(sign),
            None => {}
        }
    }
    units.retain(|unit| !unit.is_empty());
    units
}

/// Breaks the lines between the units; what follows the first line begins below its first unit.
fn wrapped(name: &str, units: &[String]) -> Vec<String> {
    let mut lines = vec![name.to_owned()];
    for unit in units {
        let line = lines.last_mut().unwrap();
        if line.len() + 1 + unit.len() > WIDTH && line.len() > name.len() {
            lines.push(format!("{} {unit}", " ".repeat(name.len())));
        } else {
            line.push(' ');
            line.push_str(unit);
        }
    }
    lines
}
