//! The parts of a page that are generated from the code: its synopsis and options from the command line's definitions, the
//! rest from the tables of settings, exit codes, agents, hooks and prompt variables, and from the schema of the events.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;
use git_ralph::Cli;
use git_ralph::tables::KEYS;
use git_ralph::tables::LIFECYCLE_HOOKS;
use git_ralph::tables::{
    EXIT_CODES, PROMPT_VARIABLES, REVIEW_VARIABLES, SETTING_GROUPS, SETTINGS, WORK_VARIABLES,
};
use git_ralph::tables::{PRESETS, Preset};
use serde_json::Value;

use super::roff::Page;
use super::synopsis;

/// Writes what `{{part}}` stands for in the page of a command; topics have no command.
pub fn write(page: &mut Page, part: &str, command: Option<&clap::Command>) {
    let (name, words) = part.split_once(": ").unwrap_or((part, ""));
    let wanted: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    let of_command = || command.unwrap_or_else(|| panic!("{part}: this page is about no command"));
    match name {
        "name" => {
            let command = of_command();
            let name = command.get_display_name().unwrap_or(command.get_name());
            let about = command.get_about().unwrap().to_string();
            page.text(&format!("{name} - {about}"));
        }
        "synopsis" => {
            let name = of_command().get_bin_name().unwrap();
            page.lines(name, &synopsis::lines(of_command()));
        }
        "options" => by_mangen(page, &Man::new(of_command().clone()), Man::render_options_section),
        "commands" => by_mangen(
            page,
            &Man::new(of_command().clone()),
            Man::render_subcommands_section,
        ),
        "settings" => {
            for key in &wanted {
                let known = SETTINGS.iter().any(|(known, ..)| known == key);
                assert!(known, "there is no setting {key}");
            }
            for (group, keys) in SETTING_GROUPS {
                if wanted.is_empty() {
                    page.raw(&format!(".SS \"{group}\"\n"));
                }
                let of_group = SETTINGS.iter().filter(|(key, ..)| keys.contains(key));
                for (key, default, meaning) in of_group {
                    if wanted.is_empty() || wanted.contains(key) {
                        page.item(key, &format!("{meaning} (default: {default})"));
                    }
                }
            }
        }
        "keys" => {
            for row in KEYS {
                page.item(&row.keys.join(", "), row.words);
            }
        }
        "exit" => {
            for (code, meaning, then) in EXIT_CODES {
                if wanted.is_empty() {
                    page.item(code, &format!("{meaning}. What a script does: {then}."));
                } else if wanted.contains(code) {
                    page.item(code, meaning);
                }
            }
        }
        "agents" => {
            for preset in PRESETS {
                page.item(preset.name, &in_words(preset));
            }
        }
        "variables" => {
            for (name, meaning) in WORK_VARIABLES.iter().chain(PROMPT_VARIABLES) {
                page.item(name, meaning);
            }
        }
        "review variables" => {
            for (name, meaning) in WORK_VARIABLES.iter().chain(REVIEW_VARIABLES) {
                page.item(name, meaning);
            }
        }
        "hooks" => {
            for row in LIFECYCLE_HOOKS {
                let story = if row.hook.has_story() { " and story" } else { "" };
                let text = format!(
                    "Runs {}. Arguments: change{story}. Event: {}. When it fails: {}.",
                    row.when, row.event, row.refusal
                );
                page.item(row.hook.name(), &text);
            }
        }
        "common fields" => fields(page, &schema(), &schema()),
        "events" => events(page),
        "verdicts" => {
            for verdict in schema()["$defs"]["Verdict"]["oneOf"].as_array().unwrap() {
                page.item(text(&verdict["const"]), text(&verdict["description"]));
            }
        }
        _ => panic!("nothing generates {{{{{part}}}}}"),
    }
}

/// Returns every command that has a page, by its name; the name of the whole is empty.
pub fn commands() -> Vec<(String, clap::Command)> {
    let mut top = Cli::command().disable_help_subcommand(true);
    top.build();
    let verbs: Vec<_> = top
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| (command.get_name().to_owned(), command.clone()))
        .collect();
    [(String::new(), top)].into_iter().chain(verbs).collect()
}

/// Appends what `clap_mangen` writes, without its heading, which the source has.
fn by_mangen<F>(page: &mut Page, man: &Man, section: F)
where
    F: Fn(&Man, &mut dyn std::io::Write) -> std::io::Result<()>,
{
    let mut bytes = Vec::new();
    section(man, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (_, section) = text.split_once(".SH ").unwrap();
    let (_, body) = section.split_once('\n').unwrap();
    page.raw(body);
}

/// Describes a preset.
fn in_words(preset: &Preset) -> String {
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

fn events(page: &mut Page) {
    let schema = schema();
    for event in schema["oneOf"].as_array().unwrap() {
        let name = text(&event["properties"]["event"]["const"]);
        page.item(name, text(&event["description"]));
        page.raw(".RS\n");
        fields(page, &schema, event);
        page.raw(".RE\n");
    }
}

/// Appends the fields of an object of the schema, in the order of a line.
fn fields(page: &mut Page, schema: &Value, object: &Value) {
    let object = match object["$ref"].as_str() {
        Some(name) => &schema["$defs"][name.rsplit('/').next().unwrap()],
        None => object,
    };
    for name in object["required"].as_array().unwrap() {
        let name = text(name);
        let field = &object["properties"][name];
        if name != "event" {
            let about = text(&field["description"]);
            page.item(name, &format!("{about} ({})", type_of(schema, field)));
        }
    }
}

/// Describes the type of a field.
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
                let about = &schema["$defs"][name];
                let Some(values) = about["oneOf"].as_array() else {
                    let fields = about["properties"].as_object().unwrap();
                    let fields: Vec<&str> = fields.keys().map(String::as_str).collect();
                    return format!("object with {}", fields.join(", "));
                };
                let values: Vec<&str> = values.iter().map(|value| text(&value["const"])).collect();
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
            let names: Vec<&str> = names.iter().map(text).collect();
            names.join(" or ")
        }
        _ => panic!("{field} has no type"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn schema() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/events.schema.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}
