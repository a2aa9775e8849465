//! Renders the templates of reports.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, UndefinedBehavior, Value};

use super::differences::blocks_of;
use super::harmless::{fenced, in_lines, inline};

/// Renders a template, whose name decides whether texts are escaped.
pub(super) fn render(
    name: &'static str,
    template: &'static str,
    values: impl Into<Value>,
) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).build()?);
    environment.add_filter("inline", inline);
    environment.add_filter("lines", in_lines);
    environment.add_filter("blocks", |patch: &str| Value::from(Serde(blocks_of(patch))));
    environment.add_filter("fenced", |text: &str, kind: Option<&str>| {
        fenced(kind.unwrap_or_default(), text)
    });
    environment.add_template(name, template)?;
    environment.get_template(name)?.render(values)
}
