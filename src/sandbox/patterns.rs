//! Lists of what is visible in a sandbox, one pattern per line, in which `*` at either end matches any text. A line
//! that begins with `!` hides a part of it again.

/// Returns the patterns of visible names.
pub(super) fn shown(list: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = list.lines().filter(|line| !line.is_empty());
    lines.filter(|line| !line.starts_with(['!', '#']))
}

/// Returns the patterns of names that are hidden again.
pub(super) fn hidden(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter_map(|line| line.strip_prefix('!'))
}

/// Returns whether a name matches a pattern.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(part), Some(_)) => name.contains(part.trim_end_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == pattern,
    }
}
