//! Finds checklists that may be meant where no list has a known place. No story is read from them: an error names the
//! command that reads them.

use std::path::Path;

use super::markdown::Plan;
use super::{Grouping, file, prd};

use crate::fs::seen_in;

/// The names of lists of things to do, in the order in which they are taken to be meant.
const NAMES: &[&str] = &[
    "TODO.md",
    "todo.md",
    ".ralph/fix_plan.md",
    "@fix_plan.md",
    "fix_plan.md",
    "docs/TODO.md",
    "docs/todo.md",
];

/// Returns the list that is probably meant: `TODO.md` or `fix_plan.md`, else a `prd.json` that names no change, else the only
/// Markdown file with an open box at the top of the repository.
pub fn checklist(top: &Path) -> Option<String> {
    let has_open_box = |name: &str| {
        let bytes = file::read(&top.join(name), name);
        bytes.is_ok_and(|bytes| {
            let plan = Plan::parse(&bytes, Grouping::Auto);
            plan.stories.iter().any(|story| !story.done)
        })
    };
    let named = NAMES.iter().copied().find(|name| has_open_box(name));
    if let Some(name) = named.or_else(|| prd::nameless(top)) {
        return Some(name.to_owned());
    }
    let names = seen_in(top).filter_map(|entry| entry.file_name().into_string().ok());
    let is_markdown = |name: &String| Path::new(name).extension().is_some_and(|end| end == "md");
    let mut found = names.filter(is_markdown).filter(|name| has_open_box(name));
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn checklist_finds_the_fix_plan_or_the_only_list() {
        let top = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(top.path().join(name), text).unwrap();
        assert_eq!(checklist(top.path()), None);
        write("README.md", "# No list\n");
        write("done.md", "- [x] done\n");
        assert_eq!(checklist(top.path()), None);
        write("plan.md", "- [ ] one\n");
        assert_eq!(checklist(top.path()).as_deref(), Some("plan.md"));
        write("other.md", "- [ ] one\n");
        assert_eq!(checklist(top.path()), None);
        fs::create_dir(top.path().join(".ralph")).unwrap();
        write(".ralph/fix_plan.md", "- [ ] one\n");
        assert_eq!(checklist(top.path()).as_deref(), Some(".ralph/fix_plan.md"));
        write("TODO.md", "- [ ] one\n");
        assert_eq!(checklist(top.path()).as_deref(), Some("TODO.md"));
    }
}
