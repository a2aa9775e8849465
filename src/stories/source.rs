//! Lists the stories of a source, and marks one as done.
//!
//! A [`Source`] names one file, the adapter that reads it and how its boxes are grouped into stories; or the commands
//! that replace a file. It can be stored and read back: it does not depend on the present state.
//!
//! Invariant: a relative path is never edited outside the repository.
//!
//! This module does not know markdown or JSON.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::contains::{self, Additions, Kept, View};
use super::finder::Finder;
use super::markdown::{self, Plan};
use super::records::Records;
use super::{
    Adapter, Commands, Grouping, Listing, SourceError, Story, Warning, command, encoding, file, lint,
    openspec, prd, whole,
};
use crate::fs::{Below, may_exist};

/// The place of a change's stories, and the way to read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The adapter that reads the file.
    pub adapter: Adapter,
    /// The file, relative to the top of the repository, or absolute; the command that lists the stories if
    /// there is no file.
    pub path: String,
    /// The rule by which its boxes become stories.
    pub grouping: Grouping,
    /// The commands of the command adapter. They are never saved: whatever can write the file could have them run.
    #[serde(skip)]
    pub commands: Option<Commands>,
}

/// The result of [`Source::mark_done`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// The story was already marked as done; nothing was written.
    Already,
    /// This many marks were set.
    Ticked(usize),
    /// The story is no longer in the source; nothing was written.
    Vanished,
}

/// The content of a file.
enum Content {
    Plan(Plan),
    Records(Records),
}

impl Source {
    /// Returns the present path of the file, relative to `top` or absolute; `None` if commands list the stories.
    ///
    /// The file of an archived openspec change is found in the archive.
    pub fn file(&self, top: &Path) -> Option<Cow<'_, str>> {
        if self.is_by_command() {
            return None;
        }
        if self.adapter == Adapter::Openspec
            && !may_exist(&top.join(&self.path))
            && let Some(moved) = openspec::moved(top, &self.path)
        {
            return Some(Cow::Owned(moved));
        }
        Some(Cow::Borrowed(&self.path))
    }

    /// Returns the path of the file before its openspec change was archived, if it has been.
    pub fn before_archive(&self) -> Option<String> {
        let path = Some(&self.path).filter(|_| self.adapter == Adapter::Openspec)?;
        openspec::before_archive(path)
    }

    /// Returns whether commands list the stories.
    pub fn is_by_command(&self) -> bool {
        self.adapter == Adapter::Command
    }

    /// Returns whether stories can be marked as done in the source itself.
    pub fn takes_marks(&self) -> bool {
        let with = |commands: &Commands| commands.done.is_some();
        match self.adapter {
            Adapter::Command => self.commands.as_ref().is_some_and(with),
            _ => !self.is_whole(),
        }
    }

    /// Returns whether the whole text is one story.
    pub fn is_whole(&self) -> bool {
        self.grouping == Grouping::Whole
    }

    /// Reads the stories.
    pub async fn list(&self, top: &Path) -> Result<Listing, SourceError> {
        match &self.commands {
            Some(commands) => {
                let records = command::list(top, commands).await?;
                Ok(advised(records.stories(), records.warnings))
            }
            None => self.list_in_file(top),
        }
    }

    /// Reads the stories from their file; runs no command.
    pub fn list_in_file(&self, top: &Path) -> Result<Listing, SourceError> {
        let path = self.file(top).ok_or(SourceError::NoCommand)?;
        self.list_in(&file::read(&top.join(&*path), &path)?)
    }

    /// Returns the stories of a file with these bytes.
    pub fn list_in(&self, bytes: &[u8]) -> Result<Listing, SourceError> {
        let invalid = encoding::examine(bytes, &self.path)?;
        if self.is_whole() {
            let message = "the text is one story; nothing in it is checked line by line".to_owned();
            let mut warnings = vec![Warning { line: 1, message }];
            warnings.extend(invalid);
            return Ok(advised(vec![whole::story(bytes)], warnings));
        }
        Ok(match self.parse(bytes)? {
            Content::Plan(plan) => {
                let mut warnings = plan.warnings;
                warnings.extend(invalid);
                let mut listing = advised(plan.stories, warnings);
                listing.warnings.extend(plan.aside);
                listing.preamble = plan.preamble;
                listing.has_more_text = plan.has_more_text;
                listing
            }
            Content::Records(records) => {
                let mut listing = advised(records.stories(), records.warnings);
                listing.preamble = prd::description(bytes);
                listing
            }
        })
    }

    fn parse(&self, bytes: &[u8]) -> Result<Content, SourceError> {
        let mut plan = match self.adapter {
            Adapter::Prd => return Ok(Content::Records(prd::parse(bytes, &self.path)?)),
            Adapter::Openspec => Plan::parse_for_openspec(bytes, self.grouping),
            _ => Plan::parse(bytes, self.grouping),
        };
        match plan.incomplete.take() {
            Some(cause) => Err(SourceError::Malformed {
                path: self.path.clone(),
                cause,
            }),
            None => Ok(Content::Plan(plan)),
        }
    }

    /// Settles the list of an attempt at the story with this id: from its bytes before, and its bytes after, or the
    /// reason why there are none.
    pub fn settle(
        &self,
        before: &[u8],
        after: Result<&[u8], &str>,
        story: &str,
        additions: Additions,
    ) -> Kept {
        contains::settle(before, after, story, additions, |bytes| self.view(bytes))
    }

    /// Returns the list `after` with the marks of the list `before`, except for the stories that are `free`, and a
    /// description of the differences; `None` without differences, or if one of the two is no list.
    pub fn restore_marks(&self, before: &[u8], after: &[u8], free: impl Fn(&str) -> bool) -> Option<Kept> {
        contains::restore_marks(before, after, free, |bytes| self.view(bytes))
    }

    /// Returns whether two lists have the same content apart from their marks and their layout.
    pub fn is_same(&self, one: &[u8], other: &[u8]) -> bool {
        contains::is_same(one, other, |bytes| self.view(bytes))
    }

    /// Returns whether a story has the same content in two lists apart from its marks and its layout.
    pub fn has_same_story(&self, one: &[u8], other: &[u8], story: &str) -> bool {
        contains::has_same_story(one, other, story, |bytes| self.view(bytes))
    }

    fn view(&self, bytes: &[u8]) -> Result<View, SourceError> {
        match self.adapter {
            _ if self.is_whole() => Ok(whole::view(bytes)),
            Adapter::Prd => prd::view(bytes, &self.path),
            _ => self.parse(bytes).map(|content| match content {
                Content::Plan(plan) => plan.view(bytes),
                Content::Records(_) => View::default(),
            }),
        }
    }

    /// Returns a list with this story marked as done, and the number of new marks; `None` if the list lacks the story.
    pub fn with_mark(&self, bytes: &[u8], story: &Story) -> Result<Option<(Vec<u8>, usize)>, SourceError> {
        if self.is_whole() {
            return Ok(Some((bytes.to_vec(), 0)));
        }
        match self.parse(bytes)? {
            Content::Plan(plan) => {
                let Some(index) = Finder::new(&plan.stories).index(story) else {
                    return Ok(None);
                };
                let ticked =
                    markdown::tick(bytes, &plan, index).map_err(|spoiled| SourceError::Untickable {
                        path: self.path.clone(),
                        line: spoiled.line,
                    })?;
                Ok(Some((ticked.bytes, ticked.count)))
            }
            Content::Records(records) => {
                let stories = records.stories();
                let Some(index) = Finder::new(&stories).index(story) else {
                    return Ok(None);
                };
                if stories.get(index).is_some_and(|story| story.done) {
                    return Ok(Some((bytes.to_vec(), 0)));
                }
                Ok(Some((prd::mark(bytes, &records, index, &self.path)?, 1)))
            }
        }
    }

    /// Returns the list `tip` followed by the stories that are in `theirs` and not in `base`; `None` if the lines of
    /// the list can be merged directly, or there is none.
    pub fn with_new_of(&self, tip: &[u8], base: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
        match self.adapter {
            Adapter::Prd => prd::with_new_of(tip, base, theirs),
            _ => None,
        }
    }

    /// Reads the file.
    pub fn bytes(&self, top: &Path) -> Result<Vec<u8>, SourceError> {
        file::read(&self.target(top)?, &self.path)
    }

    /// Returns the path of the file that [`Source::mark_done`] edits: the path without symlinks.
    pub fn target(&self, top: &Path) -> Result<PathBuf, SourceError> {
        let canonical = |path: &Path| {
            path.canonicalize()
                .map_err(|cause| file::read_error(&self.path, cause))
        };
        let path = self.file(top).unwrap_or_default();
        let target = canonical(&top.join(&*path))?;
        if Path::new(&*path).is_relative() && !target.starts_with(canonical(top)?) {
            return Err(SourceError::Outside {
                path: path.into_owned(),
                target,
            });
        }
        Ok(target)
    }

    /// Marks `story` as done in the present file: ticks its open boxes, including optional ones, or sets its mark.
    ///
    /// The story is found again as [`Finder::index`] does. The file is replaced in one step, with its mode
    /// and all its other bytes; a symlink stays one and its target is edited.
    ///
    /// # Errors
    /// If [`Source::list`] or [`Source::target`] fails, a box would stop being one, or a write fails. The file then
    /// keeps its old content, except after [`SourceError::Overwritten`].
    pub fn mark_done(&self, top: &Path, story: &Story) -> Result<Marked, SourceError> {
        if self.is_whole() {
            return Ok(Marked::Already);
        }
        let target = self.target(top)?;
        let bytes = file::read(&target, &self.path)?;
        let (new, count) = match self.with_mark(&bytes, story)? {
            None => return Ok(Marked::Vanished),
            Some((_, 0)) => return Ok(Marked::Already),
            Some(marked) => marked,
        };
        let top = match top.canonicalize() {
            Ok(top) if target.starts_with(&top) => top,
            _ => target.parent().unwrap_or(&target).to_owned(),
        };
        file::replace(&Below::new(&top), &target, &self.path, &new)?;
        Ok(Marked::Ticked(count))
    }
}

/// Returns a listing with advice for its author, in line order.
fn advised(stories: Vec<Story>, mut warnings: Vec<Warning>) -> Listing {
    warnings.extend(lint::about(&stories));
    warnings.sort_by_key(|warning| warning.line);
    Listing {
        stories,
        warnings,
        ..Listing::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stories::{Wanted, resolve};
    use std::fs;

    const CHECKLIST: &str = "# Plan\n\n## 1. Read\n\n- [x] open\n- [ ] parse\n\n## 2. Write\n\n- [ ] save\n";

    fn repository(path: &str, content: &[u8]) -> (tempfile::TempDir, Source) {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        let source = given(top.path(), path);
        (top, source)
    }

    fn given(top: &Path, path: &str) -> Source {
        let wanted = Wanted {
            stories: Some(path.to_owned()),
            ..Wanted::default()
        };
        resolve(top, "c", &wanted).unwrap()
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(future)
    }

    fn listed(source: &Source, top: &Path) -> Listing {
        block_on(source.list(top)).unwrap()
    }

    fn mark(source: &Source, top: &Path, story: &Story) -> Result<Marked, SourceError> {
        source.mark_done(top, story)
    }

    fn content(top: &tempfile::TempDir, path: &str) -> String {
        fs::read_to_string(top.path().join(path)).unwrap()
    }

    #[test]
    fn detects_openspec_and_can_be_stored() {
        let (top, _) = repository("openspec/changes/add-login/tasks.md", b"- [ ] a\n");
        let source = resolve(top.path(), "add-login", &Wanted::default()).unwrap();
        assert_eq!(source.adapter, Adapter::Openspec);
        assert_eq!(listed(&source, top.path()).stories.len(), 1);
        let json = serde_json::to_string(&source).unwrap();
        assert_eq!(
            json,
            r#"{"adapter":"openspec","path":"openspec/changes/add-login/tasks.md","grouping":"auto"}"#
        );
        assert_eq!(serde_json::from_str::<Source>(&json).unwrap(), source);
    }

    #[test]
    fn ticks_one_story_and_then_has_nothing_to_do() {
        let (top, source) = repository("tasks.md", CHECKLIST.as_bytes());
        let stories = listed(&source, top.path()).stories;

        let marked = mark(&source, top.path(), &stories[0]).unwrap();

        assert_eq!(marked, Marked::Ticked(1));
        assert_eq!(
            content(&top, "tasks.md"),
            CHECKLIST.replace("- [ ] parse", "- [x] parse")
        );
        let marked = mark(&source, top.path(), &stories[0]).unwrap();
        assert_eq!(marked, Marked::Already);
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
    }

    #[test]
    fn finds_a_story_that_was_moved_renamed_or_renumbered() {
        let (top, source) = repository("tasks.md", CHECKLIST.as_bytes());
        let story = listed(&source, top.path()).stories.remove(1);
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
            let marked = mark(&source, top.path(), &story).unwrap();
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
        let marked = mark(&source, top.path(), &by_title).unwrap();
        assert_eq!(marked, Marked::Ticked(1));
    }

    #[test]
    fn missing_or_ambiguous_story_has_vanished() {
        let (top, source) = repository("tasks.md", CHECKLIST.as_bytes());
        let story = listed(&source, top.path()).stories.remove(1);
        for now in ["", "## 1. A\n- [ ] save\n## 3. B\n- [ ] save\n"] {
            fs::write(top.path().join("tasks.md"), now).unwrap();
            let marked = mark(&source, top.path(), &story).unwrap();
            assert_eq!(marked, Marked::Vanished);
            assert_eq!(content(&top, "tasks.md"), now);
        }
    }

    #[test]
    fn a_tick_that_would_make_a_link_is_refused() {
        let text = "- [ ] a\n\n[x]: https://example.org\n";
        let (top, source) = repository("tasks.md", text.as_bytes());
        let story = listed(&source, top.path()).stories.remove(0);
        let error = mark(&source, top.path(), &story).unwrap_err();
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
            let source = given(top.path(), "tasks.md");
            let story = listed(&source, top.path()).stories.remove(1);

            assert_eq!(mark(&source, top.path(), &story).unwrap(), Marked::Ticked(1));

            let link = fs::symlink_metadata(top.path().join("tasks.md")).unwrap();
            assert!(link.is_symlink());
            let mode = fs::metadata(&plan).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o751);
            assert!(content(&top, "docs/plan.md").ends_with("- [x] save\n"));
        }

        #[test]
        fn a_relative_path_is_not_edited_outside_of_the_repository() {
            let (outside, outside_source) = repository("plan.md", CHECKLIST.as_bytes());
            let plan = outside.path().join("plan.md");
            let (top, _) = repository("README", b"");
            symlink(&plan, top.path().join("tasks.md")).unwrap();
            let source = given(top.path(), "tasks.md");
            let story = listed(&source, top.path()).stories.remove(1);

            let error = mark(&source, top.path(), &story).unwrap_err();

            assert!(matches!(error, SourceError::Outside { .. }), "{error}");
            assert_eq!(content(&outside, "plan.md"), CHECKLIST);

            let absolute = Source {
                path: plan.to_str().unwrap().to_owned(),
                ..outside_source
            };
            assert_eq!(mark(&absolute, top.path(), &story).unwrap(), Marked::Ticked(1));
        }

        #[test]
        fn relative_path_that_leaves_the_repository_becomes_absolute() {
            let (outside, _) = repository("plan.md", CHECKLIST.as_bytes());
            let top = outside.path().join("repository");
            fs::create_dir(&top).unwrap();
            let plan = outside.path().canonicalize().unwrap().join("plan.md");
            for path in ["../plan.md", "x/../../plan.md"] {
                fs::create_dir_all(top.join("x")).unwrap();
                assert_eq!(given(&top, path).path, plan.to_str().unwrap());
            }
            assert_eq!(given(&top, "x/../plan.md").path, "x/../plan.md");
            let source = given(&top, "../plan.md");
            let story = listed(&source, &top).stories.remove(1);
            assert_eq!(mark(&source, &top, &story).unwrap(), Marked::Ticked(1));
        }
    }
}
