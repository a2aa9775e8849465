//! Lists of what is seen in a box, one pattern a line, in which `*` at either end stands for anything. A line after `!` hides
//! something of it again.

/// Returns the patterns of what is seen.
pub(super) fn shown(list: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = list.lines().filter(|line| !line.is_empty());
    lines.filter(|line| !line.starts_with(['!', '#']))
}

/// Returns the patterns of what is hidden again.
pub(super) fn hidden(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter_map(|line| line.strip_prefix('!'))
}

/// Returns whether a name is as a pattern says.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(part), Some(_)) => name.contains(part.trim_end_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == pattern,
    }
}
