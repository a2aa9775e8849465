//! Lists whose directory or file begins with a date, `YYYY-MM-DD-`: the specs of Agent OS, and plans.
//!
//! This module must not know how a list is read.

use std::path::Path;

use super::file::{directories, directories_with};
use super::openspec::without_date;

use crate::fs::may_exist;

/// The directory of plans.
const PLANS: &str = "docs/plans";

/// Returns the list of a change in a directory of specs of Agent OS: the latest of this name. Without one, the place where
/// it is searched.
pub(super) fn spec(top: &Path, specs: &str, change: &str) -> String {
    let names = named(top, specs, change).into_iter();
    let mut lists = names.map(|name| format!("{specs}/{name}/tasks.md"));
    let found = lists.rfind(|list| may_exist(&top.join(list)));
    found.unwrap_or_else(|| format!("{specs}/*{change}/tasks.md"))
}

/// Returns the changes that have a list in such a directory.
pub(super) fn specs(top: &Path, specs: &str) -> Vec<String> {
    let names = directories_with(top, specs, "tasks.md").into_iter();
    names
        .map(|name| without_date(&name).unwrap_or(&name).to_owned())
        .collect()
}

/// Returns the plan of a change: the latest of this name. Plans are only looked at when their change is named: most are no
/// lists, and many are old.
pub(super) fn plan(top: &Path, change: &str) -> Option<String> {
    let name = named(top, PLANS, &format!("{change}.md")).pop()?;
    Some(format!("{PLANS}/{name}"))
}

/// Describes the place where the plan of a change is searched.
pub(super) fn place_of_plan(change: &str) -> String {
    format!("{PLANS}/*{change}.md")
}

/// Returns the entries of a directory with this name, with or without a date before it, in their order.
fn named(top: &Path, dir: &str, wanted: &str) -> Vec<String> {
    let mut names = directories(&top.join(dir));
    names.retain(|name| name == wanted || without_date(name) == Some(wanted));
    names
}
