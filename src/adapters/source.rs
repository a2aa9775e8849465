//! Finding the source of a change, listing its stories, marking one done.
//!
//! A [`Source`] names one file, the adapter that reads it and how its boxes
//! are grouped into stories. It can be stored and read back: nothing in it
//! depends on the moment.
//!
//! Invariant: a relative path is never edited outside of the repository.
//!
//! This module must not know markdown.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::markdown::{self, Plan};
use super::{Adapter, Grouping, Listing, SourceError, Story, file, openspec};

/// The file that holds the stories of a change, and how to read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What reads the file.
    pub adapter: Adapter,
    /// The file, relative to the top of the repository, or absolute.
    pub path: String,
    /// How its boxes become stories.
    pub grouping: Grouping,
}

/// What [`Source::mark_done`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// Every box of the story was ticked already; nothing was written.
    Already,
    /// This many boxes were ticked.
    Ticked(usize),
    /// The story is no longer in the source; nothing was written.
    Vanished,
}

/// A place where a tool for changes keeps its stories.
struct Layout {
    adapter: Adapter,
    /// The story file of a change, relative to the top.
    path: fn(change: &str) -> String,
    /// The changes that have such a file.
    changes: fn(top: &Path) -> Vec<String>,
}

/// Every layout that is found without `--stories`.
const LAYOUTS: &[Layout] = &[Layout {
    adapter: Adapter::Openspec,
    path: openspec::tasks_path,
    changes: openspec::changes,
}];

impl Source {
    /// Finds the source of `change` in the repository at `top`.
    ///
    /// `stories` is `<path>[#item|#group]`, relative to `top` or absolute; the
    /// file need not exist. Without it the known layouts are tried, only those
    /// of `adapter` if that is given. `change` must be a valid change name.
    ///
    /// # Errors
    /// An unknown `adapter`; an adapter that needs a path and has none; no
    /// layout with stories for `change`, or more than one.
    pub fn resolve(
        top: &Path,
        change: &str,
        stories: Option<&str>,
        adapter: Option<&str>,
    ) -> Result<Self, SourceError> {
        let adapter = adapter.map(Adapter::named).transpose()?;
        match stories {
            Some(spec) => Ok(Self::given(change, spec, adapter)),
            None => Self::detect(top, change, adapter),
        }
    }

    fn given(change: &str, spec: &str, adapter: Option<Adapter>) -> Self {
        let (path, grouping) = Grouping::split(spec);
        let of_layout = || {
            let layout = LAYOUTS.iter().find(|layout| (layout.path)(change) == path);
            layout.map(|layout| layout.adapter)
        };
        Self {
            adapter: adapter.or_else(of_layout).unwrap_or(Adapter::Markdown),
            path: path.to_owned(),
            grouping,
        }
    }

    fn detect(top: &Path, change: &str, adapter: Option<Adapter>) -> Result<Self, SourceError> {
        let layouts: Vec<&Layout> = LAYOUTS
            .iter()
            .filter(|layout| adapter.is_none_or(|wanted| wanted == layout.adapter))
            .collect();
        if let (true, Some(adapter)) = (layouts.is_empty(), adapter) {
            return Err(SourceError::PathNeeded { adapter });
        }
        let hits: Vec<Self> = layouts
            .iter()
            .map(|layout| Self {
                adapter: layout.adapter,
                path: (layout.path)(change),
                grouping: Grouping::Auto,
            })
            .filter(|source| top.join(&source.path).exists())
            .collect();
        match hits.as_slice() {
            [] => {
                let mut changes: Vec<String> =
                    layouts.iter().flat_map(|layout| (layout.changes)(top)).collect();
                changes.sort();
                changes.dedup();
                Err(SourceError::NoStories {
                    change: change.to_owned(),
                    looked_for: layouts.iter().map(|layout| (layout.path)(change)).collect(),
                    changes,
                })
            }
            [only] => Ok(only.clone()),
            _ => Err(SourceError::Ambiguous {
                change: change.to_owned(),
                paths: hits.into_iter().map(|source| source.path).collect(),
            }),
        }
    }

    /// Reads the stories.
    ///
    /// # Errors
    /// The file is missing, a directory, not a regular file, larger than
    /// 16 MiB, or cannot be read.
    pub fn list(&self, top: &Path) -> Result<Listing, SourceError> {
        let bytes = file::read(&top.join(&self.path), &self.path)?;
        let Plan {
            stories, warnings, ..
        } = Plan::parse(&bytes, self.grouping);
        Ok(Listing { stories, warnings })
    }

    /// The file that [`Source::mark_done`] edits: the path without symlinks.
    ///
    /// # Errors
    /// The file is missing or cannot be reached; the path is relative and
    /// leads out of `top`.
    pub fn target(&self, top: &Path) -> Result<PathBuf, SourceError> {
        let canonical = |path: &Path| {
            path.canonicalize()
                .map_err(|cause| file::read_error(&self.path, cause))
        };
        let target = canonical(&top.join(&self.path))?;
        if Path::new(&self.path).is_relative() && !target.starts_with(canonical(top)?) {
            return Err(SourceError::Outside {
                path: self.path.clone(),
                target,
            });
        }
        Ok(target)
    }

    /// Ticks every open box of `story`, the optional ones too, as the source is now.
    ///
    /// The story is found again by id and title, else by id, by title, or by
    /// the texts of its tasks. The file is replaced in one step, with its mode
    /// and all its other bytes; a symlink stays one and its target is edited.
    ///
    /// # Errors
    /// Those of [`Source::list`] and [`Source::target`]; a box that would stop
    /// being one; a failed write. Then the old content is still in place, but
    /// for [`SourceError::Overwritten`].
    pub fn mark_done(&self, top: &Path, story: &Story) -> Result<Marked, SourceError> {
        let target = self.target(top)?;
        let bytes = file::read(&target, &self.path)?;
        let plan = Plan::parse(&bytes, self.grouping);
        let Some(index) = find_again(&plan.stories, story) else {
            return Ok(Marked::Vanished);
        };
        let ticked = markdown::tick(&bytes, &plan, index).map_err(|spoiled| SourceError::Untickable {
            path: self.path.clone(),
            line: spoiled.line,
        })?;
        if ticked.count == 0 {
            return Ok(Marked::Already);
        }
        file::replace(&target, &self.path, &ticked.bytes)?;
        Ok(Marked::Ticked(ticked.count))
    }
}

/// The index of `story` in a newer list, by the first rule that names exactly one.
fn find_again(stories: &[Story], story: &Story) -> Option<usize> {
    let same_id = |other: &Story| other.id == story.id;
    let same_title = |other: &Story| other.title == story.title;
    let same_tasks = |other: &Story| !story.tasks.is_empty() && texts(other).eq(texts(story));
    only(stories, |other| same_id(other) && same_title(other))
        .or_else(|| only(stories, same_id))
        .or_else(|| only(stories, same_title))
        .or_else(|| only(stories, same_tasks))
}

fn texts(story: &Story) -> impl Iterator<Item = &str> {
    story.tasks.iter().map(|task| task.text.as_str())
}

fn only(stories: &[Story], wanted: impl Fn(&Story) -> bool) -> Option<usize> {
    let mut hits = (0..).zip(stories).filter(|(_, story)| wanted(story));
    match (hits.next(), hits.next()) {
        (Some((index, _)), None) => Some(index),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const CHECKLIST: &str = "# Plan\n\n## 1. Read\n\n- [x] open\n- [ ] parse\n\n## 2. Write\n\n- [ ] save\n";

    fn repository(path: &str, content: &[u8]) -> (tempfile::TempDir, Source) {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        let source = Source::resolve(top.path(), "c", Some(path), None).unwrap();
        (top, source)
    }

    fn content(top: &tempfile::TempDir, path: &str) -> String {
        fs::read_to_string(top.path().join(path)).unwrap()
    }

    #[test]
    fn a_given_path_is_markdown_unless_it_is_the_one_of_a_layout() {
        let resolve = |spec, adapter| {
            let source = Source::resolve(Path::new("/nowhere"), "c", Some(spec), adapter).unwrap();
            (source.adapter, source.path, source.grouping)
        };
        let of = |adapter, path: &str, grouping| (adapter, path.to_owned(), grouping);
        assert_eq!(
            resolve("TODO.md#item", None),
            of(Adapter::Markdown, "TODO.md", Grouping::Item)
        );
        let tasks = "openspec/changes/c/tasks.md";
        assert_eq!(resolve(tasks, None), of(Adapter::Openspec, tasks, Grouping::Auto));
        assert_eq!(
            resolve(tasks, Some("markdown")),
            of(Adapter::Markdown, tasks, Grouping::Auto)
        );
    }

    #[test]
    fn detects_openspec_and_can_be_stored() {
        let (top, _) = repository("openspec/changes/add-login/tasks.md", b"- [ ] a\n");
        let source = Source::resolve(top.path(), "add-login", None, None).unwrap();
        assert_eq!(source.adapter, Adapter::Openspec);
        assert_eq!(source.list(top.path()).unwrap().stories.len(), 1);
        let json = serde_json::to_string(&source).unwrap();
        assert_eq!(
            json,
            r#"{"adapter":"openspec","path":"openspec/changes/add-login/tasks.md","grouping":"auto"}"#
        );
        assert_eq!(serde_json::from_str::<Source>(&json).unwrap(), source);
    }

    #[test]
    fn says_what_was_looked_for_and_which_changes_there_are() {
        let (top, _) = repository("openspec/changes/b/tasks.md", b"");
        for change in ["a", "archive/old"] {
            let dir = top.path().join("openspec/changes").join(change);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("tasks.md"), "").unwrap();
        }
        let error = Source::resolve(top.path(), "c", None, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no stories found for change 'c': there is no openspec/changes/c/tasks.md; changes found: a, b"
        );
        let error = Source::resolve(top.path(), "c", None, Some("markdown")).unwrap_err();
        assert_eq!(error.to_string(), "no path given for the markdown adapter");
        let error = Source::resolve(top.path(), "b", None, Some("prose")).unwrap_err();
        assert!(matches!(error, SourceError::UnknownAdapter { .. }));
    }

    #[test]
    fn ticks_one_story_and_then_has_nothing_to_do() {
        let (top, source) = repository("tasks.md", CHECKLIST.as_bytes());
        let stories = source.list(top.path()).unwrap().stories;

        let marked = source.mark_done(top.path(), &stories[0]).unwrap();

        assert_eq!(marked, Marked::Ticked(1));
        assert_eq!(
            content(&top, "tasks.md"),
            CHECKLIST.replace("- [ ] parse", "- [x] parse")
        );
        let marked = source.mark_done(top.path(), &stories[0]).unwrap();
        assert_eq!(marked, Marked::Already);
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
    }

    #[test]
    fn finds_a_story_that_was_moved_renamed_or_renumbered() {
        let (top, source) = repository("tasks.md", CHECKLIST.as_bytes());
        let story = source.list(top.path()).unwrap().stories.remove(1);
        for (now, ticked) in [
            (
                "## 2. Write\n- [ ] save\n## 1. Read\n- [ ] x\n",
                "## 2. Write\n- [x]",
            ),
            (
                "## 2. Store\n- [ ] keep\n## 3. Write\n- [ ] x\n",
                "## 2. Store\n- [x]",
            ),
            (
                "## 1. Read\n- [ ] x\n## 3. Store\n- [ ] save\n",
                "## 3. Store\n- [x]",
            ),
        ] {
            fs::write(top.path().join("tasks.md"), now).unwrap();
            let marked = source.mark_done(top.path(), &story).unwrap();
            assert_eq!(marked, Marked::Ticked(1), "{now}");
            let written = content(&top, "tasks.md");
            assert!(written.contains(ticked), "{written}");
        }
        let by_title = Story {
            id: "9".to_owned(),
            tasks: Vec::new(),
            ..story.clone()
        };
        fs::write(top.path().join("tasks.md"), CHECKLIST).unwrap();
        let marked = source.mark_done(top.path(), &by_title).unwrap();
        assert_eq!(marked, Marked::Ticked(1));
    }

    #[test]
    fn a_story_that_is_gone_or_not_to_be_told_apart_has_vanished() {
        let (top, source) = repository("tasks.md", CHECKLIST.as_bytes());
        let story = source.list(top.path()).unwrap().stories.remove(1);
        for now in ["", "## 1. A\n- [ ] save\n## 3. B\n- [ ] save\n"] {
            fs::write(top.path().join("tasks.md"), now).unwrap();
            let marked = source.mark_done(top.path(), &story).unwrap();
            assert_eq!(marked, Marked::Vanished);
            assert_eq!(content(&top, "tasks.md"), now);
        }
    }

    #[test]
    fn a_tick_that_would_make_a_link_is_refused() {
        let text = "- [ ] a\n\n[x]: https://example.org\n";
        let (top, source) = repository("tasks.md", text.as_bytes());
        let story = source.list(top.path()).unwrap().stories.remove(0);
        let error = source.mark_done(top.path(), &story).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot tick the box at 'tasks.md' line 1: it would no longer be a box"
        );
        assert_eq!(content(&top, "tasks.md"), text);
    }

    #[cfg(unix)]
    mod unix {
        use super::*;
        use std::os::unix::fs::{PermissionsExt, symlink};

        #[test]
        fn keeps_the_mode_and_the_symlink() {
            let (top, _) = repository("docs/plan.md", CHECKLIST.as_bytes());
            let plan = top.path().join("docs/plan.md");
            fs::set_permissions(&plan, fs::Permissions::from_mode(0o751)).unwrap();
            symlink("docs/plan.md", top.path().join("tasks.md")).unwrap();
            let source = Source::resolve(top.path(), "c", Some("tasks.md"), None).unwrap();
            let story = source.list(top.path()).unwrap().stories.remove(1);

            assert_eq!(source.mark_done(top.path(), &story).unwrap(), Marked::Ticked(1));

            let link = fs::symlink_metadata(top.path().join("tasks.md")).unwrap();
            assert!(link.is_symlink());
            let mode = fs::metadata(&plan).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o751);
            assert!(content(&top, "docs/plan.md").ends_with("- [x] save\n"));
        }

        #[test]
        fn a_relative_path_is_not_edited_outside_of_the_repository() {
            let (outside, elsewhere) = repository("plan.md", CHECKLIST.as_bytes());
            let plan = outside.path().join("plan.md");
            let (top, _) = repository("README", b"");
            symlink(&plan, top.path().join("tasks.md")).unwrap();
            let source = Source::resolve(top.path(), "c", Some("tasks.md"), None).unwrap();
            let story = source.list(top.path()).unwrap().stories.remove(1);

            let error = source.mark_done(top.path(), &story).unwrap_err();

            assert!(matches!(error, SourceError::Outside { .. }), "{error}");
            assert_eq!(content(&outside, "plan.md"), CHECKLIST);

            let absolute = Source {
                path: plan.to_str().unwrap().to_owned(),
                ..elsewhere
            };
            assert_eq!(absolute.mark_done(top.path(), &story).unwrap(), Marked::Ticked(1));
        }
    }
}
