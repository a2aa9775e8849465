//! The template of a prompt: the built-in one or the user's own, and what can be wrong with it.
//!
//! A mistake is found before an attempt begins, ideally by `start`, and is reported with its line and column.

use std::fs;
use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};

use super::{VARIABLES, Variables};
use crate::agent::promise::{Heard, PromiseScanner};

/// The built-in template.
pub const DEFAULT: &str = include_str!("default.md");

/// What templates may use besides the variables: functions of the template language.
const FUNCTIONS: &[&str] = &["range", "dict", "namespace", "debug"];

/// A template for prompts.
#[derive(Clone, Debug)]
pub struct Template {
    /// What messages call it.
    name: String,
    text: String,
}

/// What is wrong with a template.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The file cannot be read.
    #[error("cannot read the template '{path}': {cause}")]
    Unreadable {
        /// The path as it was set.
        path: String,
        /// The system's reason.
        cause: std::io::Error,
    },
    /// A mistake in it.
    #[error("{name} line {line} column {column}: {problem}")]
    Mistake {
        /// The template.
        name: String,
        /// The 1-based line.
        line: usize,
        /// The 1-based column, in characters.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
}

impl Template {
    /// Reads the template at `path`, which is relative to `top`, absolute, or below the home directory
    /// (`~/`); without a path, takes the built-in one.
    ///
    /// # Errors
    /// When the file cannot be read as text.
    pub fn load(top: &Path, path: Option<&str>) -> Result<Self, TemplateError> {
        let Some(path) = path else {
            return Ok(Self {
                name: "the built-in template".to_owned(),
                text: DEFAULT.to_owned(),
            });
        };
        let at = match (path.strip_prefix("~/"), std::env::home_dir()) {
            (Some(below), Some(home)) => home.join(below),
            _ => top.join(PathBuf::from(path)),
        };
        let text = fs::read_to_string(at).map_err(|cause| TemplateError::Unreadable {
            path: path.to_owned(),
            cause,
        })?;
        Ok(Self {
            name: path.to_owned(),
            text,
        })
    }

    #[cfg(test)]
    pub(super) fn of(text: &str) -> Self {
        Self {
            name: "t.md".to_owned(),
            text: text.to_owned(),
        }
    }

    /// Renders the template, and checks that the result promises nothing.
    ///
    /// # Errors
    /// A mistake in the template.
    pub(super) fn render(&self, variables: &Variables<'_>) -> Result<String, TemplateError> {
        let mut environment = Environment::new();
        // The place of a mistake is only known with this.
        environment.set_debug(true);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        environment.set_syntax(syntax.map_err(|error| self.mistake(&error))?);
        environment
            .add_template(&self.name, &self.text)
            .map_err(|error| self.mistake(&error))?;
        let template = environment
            .get_template(&self.name)
            .map_err(|error| self.mistake(&error))?;
        let mut unknown: Vec<String> = template
            .undeclared_variables(true)
            .into_iter()
            .filter(|name| !is_known(name))
            .collect();
        unknown.sort();
        if let Some(name) = unknown.first() {
            return Err(self.at(self.place_of(name), format!("there is no variable '{name}'")));
        }
        let text = template
            .render(Serde(variables))
            .map_err(|error| self.mistake(&error))?;
        self.refuse_promise(&text)?;
        Ok(text)
    }

    /// Refuses a prompt in which a line is only a promise: an agent that repeats such a prompt would promise.
    fn refuse_promise(&self, rendered: &str) -> Result<(), TemplateError> {
        let mut scanner = PromiseScanner::new("");
        scanner.push(rendered.as_bytes());
        if !matches!(scanner.finish(), Heard::Promise(_)) {
            return Ok(());
        }
        // All values are neutral, so the tag is the template's own.
        let tag = ["complete_tag", "failed_tag", "</promise>"];
        let lines = self.text.lines().enumerate();
        let with_tag = |line: &str| tag.iter().any(|tag| line.contains(tag));
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
        Err(TemplateError::Mistake {
            name: self.name.clone(),
            line: number,
            column: 1,
            problem: "a promise may stand only inside a sentence: an agent that repeats this would promise"
                .to_owned(),
        })
    }

    fn mistake(&self, error: &minijinja::Error) -> TemplateError {
        let mut problem = error.kind().to_string();
        if let Some(detail) = error.detail() {
            problem = format!("{problem}: {detail}");
        }
        match (error.range(), error.line()) {
            (Some(range), _) => self.at(range.start, problem),
            (None, line) => TemplateError::Mistake {
                name: self.name.clone(),
                line: line.unwrap_or(1),
                column: 1,
                problem,
            },
        }
    }

    fn at(&self, offset: usize, problem: String) -> TemplateError {
        let before = self.text.get(..offset).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        TemplateError::Mistake {
            name: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            problem,
        }
    }

    /// Finds where a variable is first used, inside `{{ }}` or `{% %}`.
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

fn is_known(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or_default();
    let known = |wanted: &str| VARIABLES.iter().any(|(variable, _)| *variable == wanted);
    // The fields of a story are known by name; other variables have no fields.
    if first == "story" {
        let second: Vec<&str> = name.split('.').take(2).collect();
        return name == "story" || known(&second.join("."));
    }
    known(name) || FUNCTIONS.contains(&first)
}
