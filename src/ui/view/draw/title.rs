//! Describes the attempt whose text is shown.

use jiff::Timestamp;

use super::Scene;
use crate::inspect::changed_files::Unknown;
use crate::names::{counted, dollars};
use crate::ui::amounts::time;
use crate::ui::report::tokens;
use crate::ui::shown::plain;
use crate::ui::view::chosen::Page;
use crate::ui::view::model::Attempt;

impl Scene<'_> {
    /// Returns the owner of the text, and further facts.
    pub(super) fn title(&self) -> (String, String) {
        let (model, chosen) = (self.model, self.chosen);
        if let Some((Page::Help, _)) = chosen.page {
            return ("keys".to_owned(), "q: back".to_owned());
        }
        if chosen.shows_first_gate(model)
            && chosen.page.is_none()
            && let Some(gate) = model.gate_at_work()
        {
            return (
                format!("gate before any work: {}", gate.command),
                self.since(gate.since),
            );
        }
        let Some(story) = chosen.story(model) else {
            return (String::new(), String::new());
        };
        let names = model.short_names();
        let mut whose = format!("story {}", plain(names.of(&story.id)));
        let back = |key: &str| format!("{key} or q: back to the output");
        if let Some((Page::Story, _)) = chosen.page {
            return (format!("{whose}: its text"), back("t"));
        }
        let Some(attempt) = chosen.attempt(model) else {
            return (whose, String::new());
        };
        whose.push_str(&format!(", attempt {}", attempt.number));
        match chosen.page {
            Some((Page::Prompt, _)) => (format!("{whose}: its prompt"), back("p")),
            Some((Page::Files, _)) => {
                let files = self.files(attempt).unwrap_or_else(|| "its files".to_owned());
                (format!("{whose}: {files}"), back("c"))
            }
            _ => (self.whose_output(whose, attempt), self.facts(attempt)),
        }
    }

    fn whose_output(&self, mut whose: String, attempt: &Attempt) -> String {
        let is_at_work = self.model.is_at_work(attempt);
        let gate = self.model.gate_at_work().filter(|_| is_at_work);
        match (gate, &attempt.agent) {
            (Some(gate), _) => {
                let since = self.since(gate.since);
                return format!("{whose}, {}: {} ({since})", gate.kind(), gate.command);
            }
            (None, Some(agent)) => whose.push_str(&format!(", {agent}")),
            (None, None) => {}
        }
        let state = match attempt.ended {
            Some((verdict, _)) => verdict.words().to_owned(),
            None if is_at_work => format!("running {}", self.since(attempt.since)),
            None => return whose,
        };
        format!("{whose}: {state}")
    }

    /// Returns the numbers of an attempt.
    fn facts(&self, attempt: &Attempt) -> String {
        let used = match attempt.ended {
            Some(_) => &attempt.used,
            None => self.used,
        };
        let parts = [
            self.files(attempt),
            used.cost_usd.map(dollars),
            used.model.as_deref().map(|model| plain(model).into_owned()),
            used.input_tokens
                .map(|number| format!("{} tokens in", tokens(number))),
            used.output_tokens.map(|number| format!("{} out", tokens(number))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
    }

    /// Returns the number of files that an attempt has changed.
    fn files(&self, attempt: &Attempt) -> Option<String> {
        let count = |files: usize| match files {
            0 => "git sees no change".to_owned(),
            files => format!("{} changed", counted(files, "file", "files")),
        };
        if let Some((files, added, removed)) = attempt.size {
            return Some(match files {
                0 => count(0),
                _ => format!("{} +{added} -{removed}", counted(files, "file", "files")),
            });
        }
        match (self.files, attempt.ended) {
            // More files may have changed since.
            (Some((at, Ok(files))), None) => Some(format!(
                "{} changed (counted {} ago)",
                counted(files.len(), "file", "files"),
                self.since(*at)
            )),
            (Some((_, Ok(files))), Some(_)) => Some(count(files.len())),
            (Some((_, Err(Unknown::TooLong))), _) => Some("files: git takes too long".to_owned()),
            (Some((_, Err(Unknown::NotNow(_)))) | None, ended) => {
                ended.is_none().then(|| "files not counted yet".to_owned())
            }
        }
    }

    pub(super) fn since(&self, then: Timestamp) -> String {
        time(self.now.duration_since(then).as_secs_f64().max(0.0))
    }
}
