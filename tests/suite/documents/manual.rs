//! The manual pages in man/ are what the code says: generated from the command line's own
//! definitions, from the tables of exit codes, settings and hooks and from the schema of the events, with sections of
//! prose from `text` and `topics`.
//! `SNAPSHOTS=overwrite cargo test --test suite manual` writes them anew.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod more;
mod text;
pub(crate) mod topics;
mod tutorial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::CommandFactory;
use clap_mangen::Man;
use git_ralph::agent::presets::{self, Preset};
use git_ralph::cli::Cli;
use git_ralph::engine::hooks;
use git_ralph::{exit, prompt, settings};
use serde_json::Value;
use snapbox::{Data, assert_data_eq};
use tutorial::TUTORIAL;

use crate::support::{Sandbox, console};

/// Day of the last change to the pages that readers should know of; not the day of a build.
const DATE: &str = "2026-11-21";

#[test]
fn pages_are_those_of_the_code() {
    for (name, page) in pages() {
        assert_data_eq!(page, Data::read_from(&dir().join(name), None).raw());
    }
}

#[test]
fn there_is_no_page_without_a_command() {
    let mut committed: Vec<String> = fs::read_dir(dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut wanted: Vec<String> = pages().into_iter().map(|(name, _)| name).collect();
    committed.sort();
    wanted.sort();
    assert_eq!(committed, wanted);
}

#[test]
fn pages_are_clean_for_mandoc() {
    if !crate::installed("mandoc") {
        return;
    }
    for (name, _) in pages() {
        let lint = lint(&dir().join(&name));
        assert_eq!(lint, "", "{name}");
    }
}

#[test]
fn pages_are_clean_for_man() {
    // There are others that have no such option.
    let is_man_db = crate::installed("man")
        && output("man", &["--version"], dir().as_path())
            .0
            .starts_with("man ");
    if !is_man_db || !crate::installed("groff") {
        return;
    }
    for (name, _) in pages() {
        let (text, warnings) = output("man", &["--warnings", "-E", "UTF-8", "-l"], &dir().join(&name));
        assert_eq!(warnings, "", "{name}");
        assert!(text.contains("SYNOPSIS"), "{name}");
    }
}

#[test]
fn sections_of_a_command_are_in_the_order_of_gits_pages() {
    let order = [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "OUTPUT",
        "OPTIONS",
        "CONFIGURATION",
        "VARIABLES",
        "EXAMPLES",
        "FILES",
        "ENVIRONMENT",
        "EXIT STATUS",
        "LIMITS",
        "SEE ALSO",
    ];
    for (name, page) in pages() {
        if name == "git-ralph.1" || name.ends_with(".7") {
            continue;
        }
        let sections: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix(".SH "))
            .map(|title| title.trim_matches('"'))
            .collect();
        let wanted: Vec<&str> = order
            .into_iter()
            .filter(|title| sections.contains(title))
            .collect();
        assert_eq!(sections, wanted, "{name}");
        for title in ["EXAMPLES", "EXIT STATUS", "SEE ALSO"] {
            assert!(sections.contains(&title), "{name} has no {title}");
        }
    }
}

#[test]
fn the_tutorial_shows_what_happens() {
    let sandbox = Sandbox::empty();
    let typed: String = TUTORIAL
        .lines()
        .filter_map(|line| line.strip_prefix("    ").or(line.is_empty().then_some("")))
        .map(|line| format!("{line}\n"))
        .collect();
    let (first, rest) = typed.trim_start().split_once('\n').unwrap();
    let above = sandbox.top.parent().unwrap();
    console::follow(&sandbox, above, first);
    console::follow(&sandbox, &above.join("greeter"), rest);
}

fn lint(page: &Path) -> String {
    output("mandoc", &["-Tlint", "-W", "warning"], page).0
}

/// What a program prints about a page: its output, and its errors.
#[expect(clippy::disallowed_methods, reason = "a test runs such programs as it likes")]
fn output(program: &str, args: &[&str], page: &Path) -> (String, String) {
    let output = Command::new(program)
        .args(args)
        .arg(page)
        .env("MANWIDTH", "80")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("man")
}

/// Every page: its file name and its text.
fn pages() -> Vec<(String, String)> {
    let mut top = Cli::command().disable_help_subcommand(true);
    top.build();
    let commands: Vec<clap::Command> = top
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .cloned()
        .collect();
    let mut pages = vec![("git-ralph.1".to_owned(), page(top, ""))];
    for command in commands {
        let verb = command.get_name().to_owned();
        pages.push((format!("git-ralph-{verb}.1"), page(command, &verb)));
    }
    pages.push(("git-ralph-events.7".to_owned(), events_page()));
    pages.push(("git-ralph-lifecycle.7".to_owned(), lifecycle_page()));
    pages.push(("git-ralph-tutorial.7".to_owned(), tutorial_page()));
    pages
}

/// The page about the lifecycle hooks.
fn lifecycle_page() -> String {
    let mut page = Page::topic("lifecycle", "hooks that a loop runs around its steps");
    page.section("SYNOPSIS");
    page.text(".git/hooks/ralph-*, core.hooksPath, hook.<name>.event");
    page.section("DESCRIPTION");
    page.prose(topics::HOOKS);
    page.section("HOOKS");
    for row in hooks::TABLE {
        let story = if row.story { " and story" } else { "" };
        let text = format!(
            "Runs {}. Arguments: change{story}. Event: {}. When it fails: {}.",
            row.when, row.event, row.refusal
        );
        page.item(row.name, &text);
    }
    page.prose(topics::HOOKS_AFTER);
    page.section("EXAMPLES");
    for (name, what, script) in topics::HOOKS_SHOWN {
        let script: String = script.lines().map(|line| format!("    {line}\n")).collect();
        page.prose(&format!("{what}, in .git/hooks/{name}:\n\n{script}"));
    }
    page.prose(
        "Say on the desktop that a loop is closed, without a file, with git 2.54 or later:\n\n    git config hook.told.event ralph-post-finish\n    \
         git config hook.told.command 'notify-send \"git ralph\"'\n",
    );
    page.section("SEE ALSO");
    page.text(
        "git-ralph(1), git-ralph-hooks(1), git-ralph-events(7), githooks(5), git-hook(1), git-config(1)",
    );
    page.0
}

/// The page that leads through a first loop.
fn tutorial_page() -> String {
    let mut page = Page::topic("tutorial", "a first loop, step by step");
    page.section("SYNOPSIS");
    page.text("git ralph start | next | retry | complete | finish");
    page.section("DESCRIPTION");
    page.prose(TUTORIAL);
    page.section("SEE ALSO");
    page.text(
        "git-ralph(1), git-ralph-run(1), git-ralph-prompt(1), git-ralph-hooks(1), git-ralph-lifecycle(7)",
    );
    page.0
}

/// The schema of the events.
fn schema() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/events.schema.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The page about the events.
fn events_page() -> String {
    let schema = schema();
    let mut page = Page::topic("events", "what happens in a loop, as lines of JSON");
    page.section("SYNOPSIS");
    page.text("git ralph <command> --json");
    page.section("DESCRIPTION");
    page.prose(topics::EVENTS);
    page.section("FIELDS OF ALL EVENTS");
    page.item("event", "Its name, one of those below.");
    page.fields(&schema, &schema);
    page.section("EVENTS");
    for event in schema["oneOf"].as_array().unwrap() {
        let name = event["properties"]["event"]["const"].as_str().unwrap();
        page.item(name, event["description"].as_str().unwrap());
        page.0.push_str(".RS\n");
        page.fields(&schema, event);
        page.0.push_str(".RE\n");
    }
    page.section("VERDICTS");
    for verdict in schema["$defs"]["Verdict"]["oneOf"].as_array().unwrap() {
        page.item(
            verdict["const"].as_str().unwrap(),
            verdict["description"].as_str().unwrap(),
        );
    }
    page.prose(topics::EVENTS_AFTER);
    page.section("SEE ALSO");
    page.text("git-ralph(1), git-ralph-hooks(1), git-ralph-lifecycle(7), git-ralph-log(1), git-ralph-run(1)");
    page.0
}

/// What a field holds, in words.
fn type_of(schema: &Value, field: &Value) -> String {
    if let Some(options) = field["anyOf"].as_array() {
        let options: Vec<String> = options.iter().map(|option| type_of(schema, option)).collect();
        return options.join(" or ");
    }
    if let Some(name) = field["$ref"].as_str() {
        return match name.rsplit('/').next().unwrap() {
            "Oid" => "object id".to_owned(),
            "Verdict" => "a verdict".to_owned(),
            name => {
                let values = schema["$defs"][name]["oneOf"].as_array().unwrap();
                let values: Vec<&str> = values.iter().map(|v| v["const"].as_str().unwrap()).collect();
                values.join(" or ")
            }
        };
    }
    if let Some(value) = field.get("const") {
        return format!("always {value}");
    }
    match (&field["type"], field["format"].as_str()) {
        (Value::String(_), Some("date-time")) => "time".to_owned(),
        (Value::String(name), _) if name == "array" => {
            format!("array of {}", type_of(schema, &field["items"]))
        }
        (Value::String(name), _) => name.clone(),
        (Value::Array(names), _) => {
            let names: Vec<&str> = names.iter().map(|name| name.as_str().unwrap()).collect();
            names.join(" or ")
        }
        _ => panic!("{field} has no type"),
    }
}

/// One page; the verb of the page about the whole is empty.
fn page(mut command: clap::Command, verb: &str) -> String {
    let usage = command.render_usage().to_string();
    let source = format!("git-ralph {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command)
        .date(DATE)
        .source(source)
        .manual("git-ralph manual");
    let mut page = Page(String::new());
    page.part(|out| man.render_title(out));
    page.part(|out| man.render_name_section(out));
    page.section("SYNOPSIS");
    page.text(usage.trim_start_matches("Usage:").trim());
    page.part(|out| man.render_description_section(out));
    page.prose(text::description(verb));
    page.part(|out| man.render_options_section(out));
    if verb.is_empty() {
        page.part(|out| man.render_subcommands_section(out));
        page.section("CONFIGURATION");
        page.prose(text::CONFIGURATION);
        for (key, default, meaning) in settings::TABLE {
            page.item(key, &format!("{meaning} (default: {default})"));
        }
        page.section("EXIT STATUS");
        for (code, meaning, then) in exit::TABLE {
            page.item(code, &format!("{meaning}. What a script does: {then}."));
        }
        let (before, after) = text::TOP.split_once("@presets\n").unwrap();
        page.prose(before);
        for preset in presets::ALL {
            page.item(preset.name, &preset_words(preset));
        }
        page.prose(after);
        page.section("EXAMPLES");
        page.prose(text::examples(verb));
    } else {
        if let Some((prose, keys)) = more::configuration(verb) {
            page.section("CONFIGURATION");
            page.prose(prose);
            for wanted in keys {
                let (key, default, meaning) = settings::TABLE.iter().find(|(key, ..)| key == wanted).unwrap();
                page.item(key, &format!("{meaning} (default: {default})"));
            }
        }
        if verb == "prompt" {
            page.section("VARIABLES");
            page.prose(text::VARIABLES);
            for (name, meaning) in prompt::VARIABLES {
                page.item(name, meaning);
            }
        }
        page.section("EXAMPLES");
        page.prose(text::examples(verb));
        page.prose(more::files(verb));
        page.section("EXIT STATUS");
        let codes = text::exit_codes(verb);
        for (code, meaning, _) in exit::TABLE.iter().filter(|(code, ..)| codes.contains(code)) {
            page.item(code, meaning);
        }
        page.prose(more::limits(verb));
    }
    page.section("SEE ALSO");
    let mut others: Vec<&str> = text::see_also(verb).to_vec();
    if !verb.is_empty() {
        others.insert(0, "git-ralph");
    }
    let section = |name: &str| match name {
        "githooks" => 5,
        name if text::TOPICS.contains(&name) => 7,
        _ => 1,
    };
    let others: Vec<String> = others
        .iter()
        .map(|name| format!("{name}({})", section(name)))
        .collect();
    page.text(&others.join(", "));
    page.0
}

/// A preset in words.
fn preset_words(preset: &Preset) -> String {
    let mut words = preset.line();
    for (name, value) in preset.env {
        words.push_str(&format!(", with {name}={value}"));
    }
    if let Some(argument) = preset.unasked {
        words.push_str(&format!("; acts without asking ({argument})"));
    }
    if !preset.tried {
        words.push_str("; not tried with the real program");
    }
    words + "."
}

/// A page that is being written, as roff.
struct Page(String);

impl Page {
    /// A page of section 7, with its name.
    fn topic(name: &str, about: &str) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let mut page = Self(format!(
            ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.TH git-ralph-{name} 7 {DATE} \"git-ralph {version}\" \"git-ralph manual\"\n"
        ));
        page.section("NAME");
        page.0
            .push_str(&format!("git\\-ralph\\-{name} \\- {}\n", escaped(about)));
        page
    }

    /// The fields of an object of the schema, in the order of a line.
    fn fields(&mut self, schema: &Value, object: &Value) {
        let object = match object["$ref"].as_str() {
            Some(name) => &schema["$defs"][name.rsplit('/').next().unwrap()],
            None => object,
        };
        for name in object["required"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            let field = &object["properties"][name];
            if name != "event" {
                let kind = type_of(schema, field);
                let about = field["description"].as_str().unwrap();
                self.item(name, &format!("{about} ({kind})"));
            }
        }
    }

    /// A part that `clap_mangen` writes.
    fn part(&mut self, write: impl Fn(&mut dyn std::io::Write) -> std::io::Result<()>) {
        let mut bytes = Vec::new();
        write(&mut bytes).unwrap();
        let part = String::from_utf8(bytes).unwrap();
        // Each part brings the preamble of a whole page.
        let begin = if self.0.is_empty() {
            0
        } else {
            part.find(".SH").unwrap()
        };
        self.0.push_str(&part[begin..]);
    }

    fn section(&mut self, title: &str) {
        self.0.push_str(&format!(".SH \"{title}\"\n"));
    }

    fn text(&mut self, text: &str) {
        for line in text.lines() {
            self.0.push_str(&escaped(line));
            self.0.push('\n');
        }
    }

    /// Begins a paragraph, but where a section begins one.
    fn paragraph(&mut self) {
        let in_section = self.0.lines().last().is_some_and(|line| !line.starts_with(".SH"));
        if in_section {
            self.0.push_str(".PP\n");
        }
    }

    fn item(&mut self, term: &str, text: &str) {
        self.0.push_str(".TP\n\\fB");
        self.0.push_str(&escaped(term));
        self.0.push_str("\\fR\n");
        self.text(text);
    }

    /// Prose as `text` has it: `= TITLE` begins a section, `* term: meaning` an item, four blanks an
    /// example; an empty line ends a paragraph.
    fn prose(&mut self, prose: &str) {
        let mut literal = false;
        let mut wants_paragraph = true;
        let mut lines = prose.trim_matches('\n').lines().peekable();
        while let Some(line) = lines.next() {
            let example = line.strip_prefix("    ");
            if literal && example.is_none() && !line.is_empty() {
                self.0.push_str(".fi\n.RE\n");
                literal = false;
                wants_paragraph = true;
            }
            if let Some(title) = line.strip_prefix("= ") {
                self.section(title);
                wants_paragraph = false;
            } else if let Some((term, text)) = line.strip_prefix("* ").and_then(|item| item.split_once(": "))
            {
                self.item(term, text);
                wants_paragraph = false;
            } else if let Some(example) = example {
                if !literal {
                    self.paragraph();
                    self.0.push_str(".RS 4\n.nf\n");
                    literal = true;
                }
                self.text(example);
            } else if line.is_empty() {
                if literal && lines.peek().is_some_and(|next| next.starts_with("    ")) {
                    self.0.push('\n');
                }
                wants_paragraph = true;
            } else {
                if wants_paragraph {
                    self.paragraph();
                    wants_paragraph = false;
                }
                self.text(line);
            }
        }
        if literal {
            self.0.push_str(".fi\n.RE\n");
        }
    }
}

/// Text that roff prints as it is.
fn escaped(line: &str) -> String {
    let line = line
        .replace('\\', "\\(rs")
        .replace('-', "\\-")
        .replace('`', "\\(ga");
    if line.starts_with(['.', '\'']) {
        format!("\\&{line}")
    } else {
        line
    }
}
