//! Edits the settings of agents in place: JSON with or without comments. Adds or removes only hooks: order, layout,
//! comments and line ends of the rest stay.

use std::collections::BTreeMap;

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::layout::{Layout, end_of_line_comment, gap_before, next_comma};

/// A hook to be added to an agent's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The agent's event.
    pub event: &'static str,
    /// Its command.
    pub command: &'static str,
    /// Its time limit, in the agent's own unit.
    pub timeout: u64,
}

impl Wanted {
    /// Returns the entry in the list of its event, without layout.
    pub(super) fn group(&self) -> String {
        let (command, timeout) = (self.command, self.timeout);
        format!(r#"{{"hooks":[{{"type":"command","command":"{command}","timeout":{timeout}}}]}}"#)
    }
}

/// The text between the brackets of objects and lists that were empty, by their path (`hooks`, `hooks.Stop`).
pub type Empties = BTreeMap<String, String>;

/// Adds the missing hooks. Returns the text, and the added hooks; records in `empties` which objects were empty.
pub fn add<'w>(
    text: &str,
    wanted: &'w [Wanted],
    empties: &mut Empties,
) -> Result<(String, Vec<&'w Wanted>), String> {
    let mut text = text.to_owned();
    let mut added = Vec::new();
    for hook in wanted {
        if let Some(next) = add_one(&text, hook, empties)? {
            text = next;
            added.push(hook);
        }
    }
    Ok((text, added))
}

fn add_one(text: &str, hook: &Wanted, empties: &mut Empties) -> Result<Option<String>, String> {
    let group = hook.group();
    let list = format!("\"{}\":[{group}]", hook.event);
    let whole = format!("\"hooks\":{{{list}}}");
    if text.trim().is_empty() {
        empties.insert(FILE.to_owned(), text.to_owned());
        return Ok(Some(
            Layout::of("").render(&format!("{{{whole}}}"), "", true) + "\n",
        ));
    }
    parsed(text, |root| {
        let place = Place::of(root, hook)?;
        Ok(match (place.hooks, place.list, place.found) {
            (_, _, Some(_)) => None,
            (_, Some(it), None) => Some(Brackets::of_list(it).put(text, &group, &place.path, empties)),
            (Some(it), None, None) => Some(Brackets::of_object(it).put(text, &list, "hooks", empties)),
            (None, None, None) => Some(Brackets::of_object(root).put(text, &whole, ROOT, empties)),
        })
    })
}

/// Returns the hooks that are present.
pub fn present<'w>(text: &str, wanted: &'w [Wanted]) -> Result<Vec<&'w Wanted>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    parsed(text, |root| {
        let places = wanted
            .iter()
            .map(|hook| Ok(Place::of(root, hook)?.found.map(|_| hook)));
        places.filter_map(Result::transpose).collect()
    })
}

/// Removes hooks at any position of their lists, with objects and lists that were made for them and are empty again.
/// Returns the text, and the removed hooks.
pub fn remove<'w>(
    text: &str,
    wanted: &'w [Wanted],
    empties: &Empties,
) -> Result<(String, Vec<&'w Wanted>), String> {
    let mut text = text.to_owned();
    let mut removed = Vec::new();
    for hook in wanted {
        while let Some(next) = remove_one(&text, hook, empties)? {
            text = next;
            if removed.last() != Some(&hook) {
                removed.push(hook);
            }
        }
    }
    Ok((text, removed))
}

/// Returns whether only an object without members is left.
pub fn is_bare(text: &str) -> bool {
    let bare: String = text.split_whitespace().collect();
    bare == "{}" || bare.is_empty()
}

fn remove_one(text: &str, hook: &Wanted, empties: &Empties) -> Result<Option<String>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    parsed(text, |root| {
        let place = Place::of(root, hook)?;
        let (Some(hooks), Some(list), Some((group, inner, at))) = (place.hooks, place.list, place.found)
        else {
            return Ok(None);
        };
        let index = |object: &Object, name: &str| {
            let mut members = object.properties.iter();
            members
                .position(|member| member.name.as_str() == name)
                .unwrap_or_default()
        };
        for (brackets, index, path) in [
            (Brackets::of_list(inner), at, "-"),
            (Brackets::of_list(list), group, &place.path),
            (Brackets::of_object(hooks), index(hooks, hook.event), "hooks"),
        ] {
            if brackets.children.len() > 1 || empties.contains_key(path) {
                return Ok(Some(brackets.cut(text, index, empties.get(path))));
            }
        }
        let brackets = Brackets::of_object(root);
        if let (1, Some(whole)) = (brackets.children.len(), empties.get(FILE)) {
            return Ok(Some(whole.clone()));
        }
        Ok(Some(brackets.cut(text, index(root, "hooks"), empties.get(ROOT))))
    })
}

/// The path of the outermost object in the empties, also used for an empty file.
const ROOT: &str = "";
const FILE: &str = "(file)";

/// Parses a text, without its byte order mark, and passes its outermost object to `work`.
fn parsed<T>(text: &str, work: impl FnOnce(&Object) -> Result<T, String>) -> Result<T, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let is_alone = |(at, _): (usize, &str)| !text[at..].starts_with("\r\n");
    if text.contains("//") && text.match_indices('\r').any(is_alone) {
        return Err("a line of it ends in a carriage return alone, and so perhaps a comment".to_owned());
    }
    let result = parse_to_ast(text, &CollectOptions::default(), &options);
    match result.map_err(|error| format!("it is not JSON: {error}"))?.value {
        Some(Value::Object(root)) => work(&root),
        _ => Err("it is not a JSON object".to_owned()),
    }
}

fn member<'o, 'a>(object: &'o Object<'a>, name: &str) -> Result<Option<&'o Value<'a>>, String> {
    let mut found = object
        .properties
        .iter()
        .filter(|member| member.name.as_str() == name);
    match (found.next(), found.next()) {
        (first, None) => Ok(first.map(|member| &member.value)),
        _ => Err(format!("it has \"{name}\" twice")),
    }
}

fn object<'o, 'a>(value: &'o Value<'a>, path: &str) -> Result<&'o Object<'a>, String> {
    value
        .as_object()
        .ok_or_else(|| format!("{path} is not an object"))
}

fn array<'o, 'a>(value: &'o Value<'a>, path: &str) -> Result<&'o Array<'a>, String> {
    value.as_array().ok_or_else(|| format!("{path} is not a list"))
}

/// Finds the group with this command, its list, and its position in the list.
fn find<'o, 'a>(
    list: &'o Array<'a>,
    command: &str,
    path: &str,
) -> Result<Option<(usize, &'o Array<'a>, usize)>, String> {
    for (group, element) in list.elements.iter().enumerate() {
        let element = object(element, &format!("{path}[{group}]"))?;
        let Some(inner) = element.get("hooks") else {
            continue;
        };
        let inner = array(&inner.value, &format!("{path}[{group}].hooks"))?;
        let is_ours = |hook: &Value| {
            let its = hook.as_object().and_then(|hook| hook.get_string("command"));
            its.is_some_and(|its| its.value == command)
        };
        if let Some(at) = inner.elements.iter().position(is_ours) {
            return Ok(Some((group, inner, at)));
        }
    }
    Ok(None)
}

/// The existing members above a hook.
struct Place<'o, 'a> {
    hooks: Option<&'o Object<'a>>,
    /// The list of the hook's event, and its path.
    list: Option<&'o Array<'a>>,
    path: String,
    /// The hook's group in the list, the list of that group, and the hook's position there.
    found: Option<(usize, &'o Array<'a>, usize)>,
}

impl<'o, 'a> Place<'o, 'a> {
    fn of(root: &'o Object<'a>, hook: &Wanted) -> Result<Self, String> {
        let mut place = Self {
            hooks: None,
            list: None,
            path: format!("hooks.{}", hook.event),
            found: None,
        };
        if let Some(hooks) = member(root, "hooks")? {
            let hooks = place.hooks.insert(object(hooks, "hooks")?);
            if let Some(list) = member(hooks, hook.event)? {
                let list = place.list.insert(array(list, &place.path)?);
                place.found = find(list, hook.command, &place.path)?;
            }
        }
        Ok(place)
    }
}

/// An object or a list in the text.
struct Brackets {
    range: Range,
    children: Vec<Range>,
}

impl Brackets {
    fn of_object(object: &Object) -> Self {
        Self {
            range: object.range,
            children: object.properties.iter().map(|member| member.range).collect(),
        }
    }

    fn of_list(list: &Array) -> Self {
        Self {
            range: list.range,
            children: list.elements.iter().map(Ranged::range).collect(),
        }
    }

    /// Adds a member or an element, given without layout, after the others.
    fn put(&self, text: &str, value: &str, path: &str, empties: &mut Empties) -> String {
        let layout = Layout::of(text);
        let own = Layout::indent_at(text, self.range.start);
        let interior = &text[self.range.start + 1..self.range.end - 1];
        let over_lines = match self.children.first() {
            Some(first) => text[self.range.start..first.start].contains('\n'),
            None => layout.over_lines || interior.contains('\n'),
        };
        let indent = match self.children.first() {
            Some(first) if over_lines => Layout::indent_at(text, first.start),
            _ => format!("{own}{}", layout.unit),
        };
        let rendered = layout.render(value, &indent, over_lines);
        let line = format!("{}{indent}", layout.line_end);
        let Some(last) = self.children.last() else {
            empties.insert(path.to_owned(), interior.to_owned());
            let kept = interior.trim_end();
            let rest = &interior[kept.len()..];
            let (before, after) = match over_lines {
                true if rest.contains('\n') => (line, String::new()),
                true => (line, format!("{}{own}", layout.line_end)),
                false => (String::new(), String::new()),
            };
            let at = self.range.start + 1 + kept.len();
            return format!("{}{before}{rendered}{after}{}", &text[..at], &text[at..]);
        };
        let close = self.range.end - 1;
        let comma = next_comma(text, last.end, close);
        let from = comma.map_or(last.end, |comma| comma + 1);
        let at = end_of_line_comment(text, from, close);
        let before = if over_lines || text[from..at].contains("//") {
            line
        } else {
            layout.blank().to_owned()
        };
        match comma {
            Some(_) => format!("{}{before}{rendered},{}", &text[..at], &text[at..]),
            None => format!(
                "{},{}{before}{rendered}{}",
                &text[..last.end],
                &text[last.end..at],
                &text[at..]
            ),
        }
    }

    /// Removes a child; after the only child, restores the former text between the brackets, if known.
    fn cut(&self, text: &str, index: usize, interior: Option<&String>) -> String {
        let (open, close) = (self.range.start, self.range.end - 1);
        if let (1, Some(interior)) = (self.children.len(), interior) {
            return format!("{}{interior}{}", &text[..=open], &text[close..]);
        }
        let child = self.children[index];
        // With the blanks before it, and one comma.
        let gap = gap_before(text, child.start);
        let next = self.children.get(index + 1).map_or(close, |next| next.start);
        if let Some(comma) = next_comma(text, child.end, next) {
            return [&text[..gap], &text[child.end..comma], &text[comma + 1..]].concat();
        }
        let before = index
            .checked_sub(1)
            .and_then(|before| next_comma(text, self.children[before].end, gap));
        match before {
            Some(comma) => [&text[..comma], &text[comma + 1..gap], &text[child.end..]].concat(),
            None => [&text[..gap], &text[child.end..]].concat(),
        }
    }
}
