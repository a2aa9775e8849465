//! Edits the settings of agents as people write them: JSON with or without comments, changed in place. Hooks are only
//! added or removed: order, layout, comments and line ends of the rest stay.

use std::collections::BTreeMap;

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::layout::{Layout, Node, end_of_line_comment, gap_before, next_comma};

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
    /// Returns the entry in the list of its event.
    pub(super) fn group(&self) -> Node {
        let hook = vec![
            ("type", Node::Text("command")),
            ("command", Node::Text(self.command)),
            ("timeout", Node::Number(self.timeout)),
        ];
        Node::Object(vec![("hooks", Node::List(vec![Node::Object(hook)]))])
    }
}

/// The text between the brackets of objects and lists that were empty, by their path (`hooks`, `hooks.Stop`).
pub type Empties = BTreeMap<String, String>;

/// Adds the missing hooks. Returns the text, and the added hooks; records in `empties` what cannot be seen in the text
/// afterwards.
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
    if text.trim().is_empty() {
        empties.insert(FILE.to_owned(), text.to_owned());
        let layout = Layout::of("");
        let events = vec![(hook.event, Node::List(vec![group]))];
        let whole = Node::Object(vec![("hooks", Node::Object(events))]);
        return Ok(Some(layout.render(&whole, "", true) + "\n"));
    }
    parsed(text, |root| {
        let layout = Layout::of(text);
        let inside = |range: Range| Inside {
            text,
            range,
            layout: &layout,
        };
        let Some(hooks) = member(root, "hooks")? else {
            let whole = Node::Object(vec![(hook.event, Node::List(vec![group]))]);
            let children: Vec<Range> = root.properties.iter().map(|member| member.range).collect();
            return Ok(Some(inside(root.range).put(
                Some("hooks"),
                &whole,
                &children,
                ROOT,
                empties,
            )));
        };
        let hooks = object(hooks, "hooks")?;
        let Some(list) = member(hooks, hook.event)? else {
            let children: Vec<Range> = hooks.properties.iter().map(|member| member.range).collect();
            let list = Node::List(vec![group]);
            return Ok(Some(inside(hooks.range).put(
                Some(hook.event),
                &list,
                &children,
                "hooks",
                empties,
            )));
        };
        let path = format!("hooks.{}", hook.event);
        let list = array(list, &path)?;
        if find(list, hook.command, &path)?.is_some() {
            return Ok(None);
        }
        let children: Vec<Range> = list.elements.iter().map(Ranged::range).collect();
        Ok(Some(
            inside(list.range).put(None, &group, &children, &path, empties),
        ))
    })
}

/// Returns the hooks that are present.
pub fn present<'w>(text: &str, wanted: &'w [Wanted]) -> Result<Vec<&'w Wanted>, String> {
    let mut found = Vec::new();
    if text.trim().is_empty() {
        return Ok(found);
    }
    for hook in wanted {
        let is_there = parsed(text, |root| {
            let Some(hooks) = member(root, "hooks")? else {
                return Ok(false);
            };
            let Some(list) = member(object(hooks, "hooks")?, hook.event)? else {
                return Ok(false);
            };
            let path = format!("hooks.{}", hook.event);
            Ok(find(array(list, &path)?, hook.command, &path)?.is_some())
        })?;
        if is_there {
            found.push(hook);
        }
    }
    Ok(found)
}

/// Removes hooks, wherever they are in their lists by now, with objects and lists that were made for them and are empty
/// again. Returns the text, and the removed hooks.
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
        let Some(hooks_value) = member(root, "hooks")? else {
            return Ok(None);
        };
        let hooks = object(hooks_value, "hooks")?;
        let Some(list) = member(hooks, hook.event)? else {
            return Ok(None);
        };
        let path = format!("hooks.{}", hook.event);
        let list = array(list, &path)?;
        let Some((group, inner, at)) = find(list, hook.command, &path)? else {
            return Ok(None);
        };
        let cut = |range: Range, children: &[Range], index: usize, path: &str| {
            let emptied = children.len() == 1;
            match (emptied, empties.get(path)) {
                (true, Some(interior)) => {
                    format!("{}{interior}{}", &text[..=range.start], &text[range.end - 1..])
                }
                _ => take(text, children, index, range),
            }
        };
        let elements: Vec<Range> = inner.elements.iter().map(Ranged::range).collect();
        if elements.len() > 1 {
            return Ok(Some(cut(inner.range, &elements, at, "-")));
        }
        let elements: Vec<Range> = list.elements.iter().map(Ranged::range).collect();
        if elements.len() > 1 || empties.contains_key(&path) {
            return Ok(Some(cut(list.range, &elements, group, &path)));
        }
        let index = |object: &Object, name: &str| {
            object
                .properties
                .iter()
                .position(|member| member.name.as_str() == name)
        };
        let members: Vec<Range> = hooks.properties.iter().map(|member| member.range).collect();
        if members.len() > 1 || empties.contains_key("hooks") {
            let at = index(hooks, hook.event).unwrap_or_default();
            return Ok(Some(cut(hooks.range, &members, at, "hooks")));
        }
        let members: Vec<Range> = root.properties.iter().map(|member| member.range).collect();
        if let (1, Some(whole)) = (members.len(), empties.get(FILE)) {
            return Ok(Some(whole.clone()));
        }
        let at = index(root, "hooks").unwrap_or_default();
        Ok(Some(cut(root.range, &members, at, ROOT)))
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

/// An object or a list to which something is added.
struct Inside<'a> {
    text: &'a str,
    range: Range,
    layout: &'a Layout,
}

impl Inside<'_> {
    /// Adds a value after the others.
    fn put(
        &self,
        name: Option<&str>,
        value: &Node,
        children: &[Range],
        path: &str,
        empties: &mut Empties,
    ) -> String {
        let (text, layout) = (self.text, self.layout);
        let own = Layout::indent_at(text, self.range.start);
        let interior = &text[self.range.start + 1..self.range.end - 1];
        let over_lines = match children.first() {
            Some(first) => text[self.range.start..first.start].contains('\n'),
            None => layout.over_lines || interior.contains('\n'),
        };
        let indent = match children.first() {
            Some(first) if over_lines => Layout::indent_at(text, first.start),
            _ => format!("{own}{}", layout.unit),
        };
        let rendered = layout.member(name, value, &indent, over_lines);
        let line = format!("{}{indent}", layout.line_end);
        let Some(last) = children.last() else {
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
        let before = match over_lines || text[from..at].contains("//") {
            true => line,
            false if layout.spaced => " ".to_owned(),
            false => String::new(),
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
}

/// Removes one child from an object or a list, with one comma and the gap before it.
fn take(text: &str, children: &[Range], index: usize, range: Range) -> String {
    let child = children[index];
    let gap = gap_before(text, child.start);
    let close = range.end - 1;
    let next = children.get(index + 1).map_or(close, |next| next.start);
    if let Some(comma) = next_comma(text, child.end, next) {
        return format!(
            "{}{}{}",
            &text[..gap],
            &text[child.end..comma],
            &text[comma + 1..]
        );
    }
    let before = match index.checked_sub(1) {
        Some(before) => next_comma(text, children[before].end, gap),
        None => None,
    };
    match before {
        Some(comma) => format!(
            "{}{}{}",
            &text[..comma],
            &text[comma + 1..gap],
            &text[child.end..]
        ),
        None => format!("{}{}", &text[..gap], &text[child.end..]),
    }
}
