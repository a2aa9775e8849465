//! The template of a prompt: the built-in one or the user's own, and its errors.
//!
//! A mistake is found before an attempt begins, ideally by `start`, and is reported with its line and column.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use memchr::{memchr, memmem};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};

use serde::Serialize;

use crate::agent::promise::{Heard, PromiseScanner, Tag};
use crate::error::advice::{Advice, Advise, hint};
use crate::fs::{Links, read_regular_text, system_words};

/// The built-in template.
pub const DEFAULT: &str = include_str!("default.md");

/// Functions of the template language that templates may use.
const FUNCTIONS: &[&str] = &["range", "dict", "namespace", "debug"];

/// Maximum length of a template, in bytes.
const LONGEST: u64 = 256 * 1024;

/// Maximum length of one tag (`{{ }}`, `{% %}`), in bytes: a recursive function parses it, and an expression can be as deep
/// as it is long.
const LONGEST_TAG: usize = 2048;

/// Maximum number of `elif` in a template, for the same reason.
const MOST_BRANCHES: usize = 200;

/// Maximum number of steps of the template language for one prompt: enough for a list of thousands of tasks.
const STEPS: u64 = 200_000;

/// Maximum length of a prompt, in bytes.
const LONGEST_PROMPT: usize = 16 << 20;

/// Size of the stack on which templates are read and rendered, in bytes: enough for any depth within these limits.
const STACK: usize = 128 << 20;

/// The kind of prompt that a template makes.
pub(super) struct Kind {
    /// Its variables, with their meanings.
    pub variables: [&'static [(&'static str, &'static str)]; 2],
    /// The tag of the answer.
    pub tag: Tag,
    /// The names of the variables with that tag, and the tag's end.
    pub names: &'static [&'static str],
    /// The message about a line that is only the tag.
    pub problem: &'static str,
}

/// A template for prompts.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its name in messages.
    name: String,
    text: String,
}

/// An error in a template.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The file cannot be read.
    #[error("cannot read the template '{path}': {}", system_words(cause))]
    Unreadable {
        /// The path as configured.
        path: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The template has a mistake.
    #[error("{name} line {line} column {column}: {problem}")]
    Mistake {
        /// The template.
        name: String,
        /// The 1-based line.
        line: usize,
        /// The 1-based column, in characters.
        column: usize,
        /// The description of the mistake.
        problem: String,
    },
}

impl Advise for TemplateError {
    fn advice(&self) -> Advice {
        hint(match self {
            Self::Unreadable { .. } => {
                "to see which setting names it: git config --show-origin --get-regexp '^ralph\\.(review)?prompt$'"
            }
            Self::Mistake { .. } => {
                "git ralph prompt --template shows the built-in template, and git ralph review --template that of reviews"
            }
        })
    }
}

impl Template {
    /// Reads the template at `path`, which is relative to `top`, absolute, or below the home directory (`~/`); without
    /// a path, uses the built-in one.
    pub fn load(top: &Path, path: Option<&str>) -> Result<Self, TemplateError> {
        Self::load_or(top, path, DEFAULT)
    }

    /// Reads the template at `path`, or returns the built-in one.
    pub(super) fn load_or(top: &Path, path: Option<&str>, built_in: &str) -> Result<Self, TemplateError> {
        let Some(path) = path else {
            return Ok(Self::named("the built-in template", built_in.to_owned()));
        };
        let at = match (path.strip_prefix("~/"), std::env::home_dir()) {
            (Some(below), Some(home)) => home.join(below),
            _ => top.join(PathBuf::from(path)),
        };
        let text =
            read_regular_text(&at, Links::Followed, LONGEST).map_err(|cause| TemplateError::Unreadable {
                path: path.to_owned(),
                cause,
            })?;
        Ok(Self::named(path, text))
    }

    /// Returns whether the template uses a variable: without one, the prompt does not name the story.
    pub fn has_variable(&self) -> bool {
        self.text.contains("{{") || self.text.contains("{%")
    }

    /// Returns a template with this name in messages.
    pub fn named(name: &str, text: String) -> Self {
        Self {
            name: name.to_owned(),
            text,
        }
    }

    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        Self::named("t.md", text.to_owned())
    }

    /// Renders the template, and checks that the result contains no promise.
    pub(super) fn render<V: Serialize + Sync>(
        &self,
        variables: &V,
        kind: &Kind,
    ) -> Result<String, TemplateError> {
        self.refuse_depth()?;
        thread::scope(|scope| {
            let rendering = thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, || self.render_here(variables, kind));
            let failed = |why: String| Err(self.at(0, format!("it cannot be rendered: {why}")));
            match rendering {
                Ok(rendering) => rendering
                    .join()
                    .unwrap_or_else(|_| failed("it is too much".to_owned())),
                Err(error) => failed(error.to_string()),
            }
        })
    }

    /// Refuses a template whose nesting is too deep for recursive functions.
    fn refuse_depth(&self) -> Result<(), TemplateError> {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(found) = memchr(b'{', bytes.get(at..).unwrap_or_default()) {
            let begin = at + found;
            let rest = bytes.get(begin..).unwrap_or_default();
            let length = match rest.get(1) {
                Some(b'{' | b'%') => tag_length(rest),
                Some(b'#') => memmem::find(rest, b"#}").unwrap_or(rest.len()),
                _ => 1,
            };
            if length > LONGEST_TAG && rest.get(1) != Some(&b'#') {
                let problem = format!("a tag may not be longer than {LONGEST_TAG} bytes");
                return Err(self.at(begin, problem));
            }
            at = begin + length;
        }
        match self.text.match_indices("elif").nth(MOST_BRANCHES) {
            Some((at, _)) => Err(self.at(at, format!("more than {MOST_BRANCHES} branches"))),
            None => Ok(()),
        }
    }

    fn render_here<V: Serialize>(&self, variables: &V, kind: &Kind) -> Result<String, TemplateError> {
        let mistake = |error| self.mistake(&error);
        let mut environment = Environment::new();
        // Only this setting gives the position of a mistake.
        environment.set_debug(true);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(STEPS));
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        environment.set_syntax(syntax.map_err(mistake)?);
        environment
            .add_template(&self.name, &self.text)
            .map_err(mistake)?;
        let template = environment.get_template(&self.name).map_err(mistake)?;
        let mut unknown: Vec<String> = template
            .undeclared_variables(true)
            .into_iter()
            .filter(|name| !is_known(name, kind.variables))
            .collect();
        unknown.sort();
        if let Some(name) = unknown.first() {
            return Err(self.at(self.place_of(name), format!("there is no variable '{name}'")));
        }
        let mut prompt = Limited(Vec::new());
        template
            .render_captured_to(Serde(variables), &mut prompt)
            .map_err(mistake)?;
        let text = String::from_utf8_lossy(&prompt.0).into_owned();
        self.refuse_promise(&text, kind)?;
        Ok(text)
    }

    /// Refuses a prompt in which a line is only a promise: an agent that repeats such a prompt would make the promise.
    fn refuse_promise(&self, rendered: &str, kind: &Kind) -> Result<(), TemplateError> {
        let mut scanner = PromiseScanner::of(kind.tag, "");
        scanner.push(rendered.as_bytes());
        if !matches!(scanner.finish(), Heard::Promise(_) | Heard::Denied) {
            return Ok(());
        }
        // All values are harmless, so the tag is the template's own.
        let lines = self.text.lines().enumerate();
        let with_tag = |line: &str| kind.names.iter().any(|name| line.contains(name));
        let bare = |line: &str| {
            line.trim_matches(|c: char| !c.is_alphanumeric())
                .split_whitespace()
                .count()
                <= 2
        };
        let number = lines
            .clone()
            .find(|(_, line)| with_tag(line) && bare(line))
            .or_else(|| lines.clone().filter(|(_, line)| with_tag(line)).last())
            .map_or(1, |(number, _)| number + 1);
        Err(self.at_place((number, 1), kind.problem.to_owned()))
    }

    fn mistake(&self, error: &minijinja::Error) -> TemplateError {
        let mut problem = error.kind().to_string();
        if let Some(detail) = error.detail() {
            problem = format!("{problem}: {detail}");
        }
        match (error.range(), error.line()) {
            (Some(range), _) => self.at(range.start, problem),
            (None, line) => self.at_place((line.unwrap_or(1), 1), problem),
        }
    }

    fn at(&self, offset: usize, problem: String) -> TemplateError {
        let before = self.text.get(..offset).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        self.at_place((before.matches('\n').count() + 1, column), problem)
    }

    fn at_place(&self, (line, column): (usize, usize), problem: String) -> TemplateError {
        TemplateError::Mistake {
            name: self.name.clone(),
            line,
            column,
            problem,
        }
    }

    /// Finds the first use of a variable, inside `{{ }}` or `{% %}`.
    fn place_of(&self, name: &str) -> usize {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let mut hits = self.text.match_indices(name).filter(|(at, _)| {
            let before = self.text.get(..*at).unwrap_or_default();
            let after = self.text.get(at + name.len()..).unwrap_or_default();
            let opened = ["{{", "{%"].iter().filter_map(|open| before.rfind(open)).max();
            let closed = ["}}", "%}"].iter().filter_map(|close| before.rfind(close)).max();
            opened > closed && !before.ends_with(is_part) && !after.starts_with(is_part)
        });
        hits.next().map_or(0, |(at, _)| at)
    }
}

/// Returns the length of the tag at the beginning of a template; text in quotes does not end it.
fn tag_length(template: &[u8]) -> usize {
    let mut quote = None;
    let mut escaped = false;
    for (at, byte) in template.iter().enumerate().skip(2) {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(begun), byte) if begun == byte => quote = None,
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'}') if matches!(template.get(at - 1), Some(b'}' | b'%')) => return at,
            _ => {}
        }
    }
    template.len()
}

/// A prompt limited in length.
struct Limited(Vec<u8>);

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST_PROMPT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_known(name: &str, variables: [&[(&str, &str)]; 2]) -> bool {
    let first = name.split('.').next().unwrap_or_default();
    let known = |wanted: &str| variables.concat().iter().any(|(variable, _)| *variable == wanted);
    // The fields of a story are known by name; other variables have no fields.
    if first == "story" {
        let second: Vec<&str> = name.split('.').take(2).collect();
        return name == "story" || known(&second.join("."));
    }
    known(name) || FUNCTIONS.contains(&first)
}
