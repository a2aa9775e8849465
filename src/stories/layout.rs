//! Finds the story list of a change in the directories of tools for changes.
//!
//! A layout is a rule for paths; the adapters read the files. Nothing is guessed: two lists for one name are an error
//! that names both, and a missing list is an error that names the searched places.
//!
//! This module does not know how a list is read.

use std::path::{Component, Path, PathBuf};

use super::file::directories_with;
use super::whole::is_prose;
use super::{Adapter, Commands, Grouping, Reader, Source, SourceError, candidates, dated, openspec, prd};

use crate::fs::{may_exist, seen};

/// The user's choice of the source of a change.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// `<path>[#item|#group|#whole]`, relative to the top of the repository or absolute.
    pub stories: Option<String>,
    /// The current directory, relative to the top.
    pub below_top: PathBuf,
    /// The name of an adapter.
    pub adapter: Option<String>,
    /// The commands of the command adapter; `None` if no command lists stories.
    pub commands: Option<Commands>,
}

/// A place where a tool for changes keeps its stories.
struct Layout {
    adapter: Adapter,
    grouping: Grouping,
    /// The story file of a change, relative to the top.
    path: fn(top: &Path, change: &str) -> String,
    /// The changes that have such a file.
    changes: fn(top: &Path) -> Vec<String>,
}

/// Every layout that has one directory per change.
const LAYOUTS: &[Layout] = &[
    Layout {
        adapter: Adapter::Openspec,
        grouping: Grouping::Auto,
        path: openspec::tasks_path,
        changes: openspec::changes,
    },
    // spec-kit
    Layout {
        adapter: Adapter::Markdown,
        grouping: Grouping::Auto,
        path: |_, change| format!("specs/{change}/tasks.md"),
        changes: |top| directories_with(top, "specs", "tasks.md"),
    },
    // Kiro works on one outermost box at a time, independent of headings.
    Layout {
        adapter: Adapter::Markdown,
        grouping: Grouping::Item,
        path: |_, change| format!(".kiro/specs/{change}/tasks.md"),
        changes: |top| directories_with(top, ".kiro/specs", "tasks.md"),
    },
    // Agent OS, whose lists have one numbered box for each part.
    Layout {
        adapter: Adapter::Markdown,
        grouping: Grouping::Item,
        path: |top, change| dated::spec(top, ".agent-os/specs", change),
        changes: |top| dated::specs(top, ".agent-os/specs"),
    },
    Layout {
        adapter: Adapter::Markdown,
        grouping: Grouping::Item,
        path: |top, change| dated::spec(top, "agent-os/specs", change),
        changes: |top| dated::specs(top, "agent-os/specs"),
    },
];

/// Returns the changes of the repository at `top` that have a list of stories in a known place, sorted.
pub fn changes(top: &Path) -> Vec<String> {
    let layouts: Vec<&Layout> = LAYOUTS.iter().collect();
    known_changes(top, &layouts, &prd::found(top))
}

/// Returns the `prd.json` files of the repository at `top` that belong to no change, with the reasons.
pub fn passed_over(top: &Path) -> Vec<String> {
    prd::found(top).iter().filter_map(prd::Found::why_not).collect()
}

/// Returns the error for a repository without a list in a known place, if no change is named.
pub fn none_found(top: &Path) -> SourceError {
    let looked_for = LAYOUTS.iter().map(|layout| (layout.path)(top, "<change>"));
    let others = [prd::places("<change>"), dated::place_of_plan("<change>")];
    SourceError::NoLists {
        looked_for: looked_for.chain(others).collect(),
        passed_over: passed_over(top),
        checklist: candidates::checklist(top).map(Into::into),
        verb: Reader::Start,
    }
}

/// Finds the source of `change` in the repository at `top`.
///
/// A given path need not exist. Without one, the known layouts are tried, or only those of the adapter if one
/// was given. `change` must be a valid change name.
pub fn resolve(top: &Path, change: &str, wanted: &Wanted) -> Result<Source, SourceError> {
    let adapter = wanted.adapter.as_deref().map(Adapter::named).transpose();
    let adapter = adapter.map_err(|error| error.for_change(change))?;
    match (&wanted.stories, adapter) {
        (_, Some(Adapter::Command)) => {
            let commands = wanted.commands.clone().ok_or(SourceError::NoCommand)?;
            Ok(Source {
                adapter: Adapter::Command,
                path: commands.stories.clone(),
                grouping: Grouping::Auto,
                commands: Some(commands),
            })
        }
        (Some(spec), adapter) => given(top, change, spec, adapter),
        (None, adapter) => detect(top, change, &wanted.below_top, adapter),
    }
}

/// Does the same for a change or a list that the user typed: a text without boxes is one story.
pub fn resolve_typed(top: &Path, change: &str, wanted: &Wanted) -> Result<Source, SourceError> {
    let mut source = resolve(top, change, wanted)?;
    let reads_text = matches!(source.adapter, Adapter::Openspec | Adapter::Markdown);
    if reads_text
        && source.grouping != Grouping::Whole
        && source.bytes(top).is_ok_and(|bytes| is_prose(&bytes))
    {
        source.grouping = Grouping::Whole;
    }
    Ok(source)
}

impl Source {
    /// Returns the argument for `--stories` that begins this list again in the repository at `top`; `None` if the name
    /// of the change is enough, or commands list the stories.
    pub fn to_name(&self, top: &Path, change: &str) -> Option<String> {
        let found = resolve_typed(top, change, &Wanted::default());
        let is_same = |found: Self| (found.path, found.grouping) == (self.path.clone(), self.grouping);
        if self.is_by_command() || found.is_ok_and(is_same) {
            return None;
        }
        Some(format!("{}{}", self.path, self.grouping.suffix()))
    }
}

/// Returns a list given by `--stories`, relative to the directory `below_top`, with its path from the top.
pub fn from_directory(top: &Path, below_top: &Path, spec: &str) -> Result<String, SourceError> {
    let (path, _) = Grouping::split(spec);
    if below_top == Path::new("") || Path::new(path).is_absolute() {
        return Ok(spec.to_owned());
    }
    let from_top = tidy(&below_top.join(spec));
    let (there, _) = Grouping::split(&from_top);
    if !may_exist(&top.join(there)) && seen(&top.join(path)).is_some() {
        let up = below_top.components().map(|_| "../").collect::<String>();
        return Err(SourceError::FromTop {
            path: there.to_owned(),
            from_here: format!("{up}{spec}"),
        });
    }
    Ok(from_top)
}

/// Returns a relative path without `.` and without `..` behind a name.
fn tidy(path: &Path) -> String {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let path: PathBuf = parts.iter().collect();
    path.to_string_lossy().into_owned()
}

fn given(top: &Path, change: &str, spec: &str, adapter: Option<Adapter>) -> Result<Source, SourceError> {
    let (path, grouping) = Grouping::split(spec);
    let ending = Path::new(path).extension().and_then(|end| end.to_str());
    if adapter.is_none() && matches!(ending, Some("jsonl" | "ndjson")) {
        return Err(SourceError::NoChecklist {
            path: path.to_owned(),
        });
    }
    let layout = LAYOUTS.iter().find(|layout| {
        (layout.path)(top, change) == path && adapter.is_none_or(|given| given == layout.adapter)
    });
    let by_name = || match ending {
        Some("json") => Adapter::Prd,
        _ if openspec::is_of_change(path) => Adapter::Openspec,
        _ => Adapter::Markdown,
    };
    Ok(Source {
        adapter: adapter
            .or(layout.map(|layout| layout.adapter))
            .unwrap_or_else(by_name),
        path: outside(top, path).unwrap_or_else(|| path.to_owned()),
        grouping: match (grouping, layout) {
            (Grouping::Auto, Some(layout)) => layout.grouping,
            _ => grouping,
        },
        commands: None,
    })
}

/// Returns the absolute path of a typed path that leads out of the repository by its components: the user means that
/// file. A symlink that leads out is another case.
fn outside(top: &Path, path: &str) -> Option<String> {
    let mut depth = 0_i32;
    let leads_out = Path::new(path).components().any(|part| {
        match part {
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
        depth < 0
    });
    let joined = top.join(path);
    let dir = joined.parent().filter(|_| leads_out)?.canonicalize().ok()?;
    Some(dir.join(joined.file_name()?).to_str()?.to_owned())
}

fn detect(
    top: &Path,
    change: &str,
    below_top: &Path,
    adapter: Option<Adapter>,
) -> Result<Source, SourceError> {
    let layouts: Vec<&Layout> = LAYOUTS
        .iter()
        .filter(|layout| adapter.is_none_or(|wanted| wanted == layout.adapter))
        .collect();
    let files = match adapter {
        None | Some(Adapter::Prd) => prd::found(top),
        Some(_) => Vec::new(),
    };
    let mut hits: Vec<Source> = layouts
        .iter()
        .map(|layout| file(layout.adapter, (layout.path)(top, change), layout.grouping))
        .filter(|source| may_exist(&top.join(&source.path)))
        .collect();
    let named = files.iter().filter(|found| found.is_of(change));
    hits.extend(named.map(|found| file(Adapter::Prd, found.path.to_owned(), Grouping::Auto)));
    let openspec = adapter.is_none_or(|wanted| wanted == Adapter::Openspec);
    if openspec && let Some(path) = openspec::nearest(top, below_top, change) {
        hits.push(file(Adapter::Openspec, path, Grouping::Auto));
    }
    if hits.is_empty() && openspec {
        let archived = openspec::archived(top, change).into_iter();
        hits.extend(archived.map(|path| file(Adapter::Openspec, path, Grouping::Auto)));
    }
    let markdown = adapter.is_none_or(|wanted| wanted == Adapter::Markdown);
    if hits.is_empty() && markdown {
        hits.extend(dated::plan(top, change).map(|path| file(Adapter::Markdown, path, Grouping::Auto)));
    }
    match hits.len() {
        0 => {
            let looked_for = layouts.iter().map(|layout| (layout.path)(top, change));
            let prds = (adapter.is_none() || adapter == Some(Adapter::Prd)).then(|| prd::places(change));
            Err(SourceError::NoStories {
                change: change.to_owned(),
                looked_for: looked_for
                    .chain(prds)
                    .chain(markdown.then(|| dated::place_of_plan(change)))
                    .collect(),
                checklist: candidates::checklist(top).map(Into::into),
                verb: Reader::Start,
                changes: known_changes(top, &layouts, &files),
                passed_over: files
                    .iter()
                    .filter_map(prd::Found::why_not)
                    .chain(openspec::several(top, change).filter(|_| openspec))
                    .collect(),
            })
        }
        1 => Ok(hits.remove(0)),
        _ => Err(SourceError::Ambiguous {
            change: change.to_owned(),
            paths: hits.into_iter().map(|source| source.path).collect(),
        }),
    }
}

fn file(adapter: Adapter, path: String, grouping: Grouping) -> Source {
    Source {
        adapter,
        path,
        grouping,
        commands: None,
    }
}

fn known_changes(top: &Path, layouts: &[&Layout], files: &[prd::Found]) -> Vec<String> {
    let mut changes: Vec<String> = layouts.iter().flat_map(|layout| (layout.changes)(top)).collect();
    changes.extend(files.iter().filter_map(prd::Found::change));
    changes.sort();
    changes.dedup();
    changes
}

#[cfg(test)]
mod tests;
