//! Replaces confidential text in a report, by regular expressions.

use regex::{NoExpand, Regex};

use super::{Gate, Happening, Patch, Report};
use crate::escape::Escape;

/// The replacement for each match.
const TAKEN_OUT: &str = "***";

/// Regular expressions whose matches are replaced in a report.
#[derive(Clone, Debug, Default)]
pub struct Redaction(Vec<Regex>);

impl Redaction {
    /// Compiles the expressions.
    pub fn new(expressions: &[String]) -> Result<Self, regex::Error> {
        let read = expressions.iter().map(|expression| Regex::new(expression));
        Ok(Self(read.collect::<Result<_, _>>()?))
    }

    /// Replaces the matches in a text. Colours may be within a match: a text that matches without them loses them.
    pub fn apply(&self, text: &mut String) {
        self.replace(text);
        if self.0.is_empty() || !text.as_bytes().contains(&Escape::ESC) {
            return;
        }
        let mut plain = without_sequences(text);
        if self.replace(&mut plain) {
            *text = plain;
        }
    }

    /// Replaces the matches in a text before it is cut, because a half match would stay.
    pub(super) fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.0.is_empty() {
            return bytes;
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        self.apply(&mut text);
        text.into_bytes()
    }

    /// Returns whether there was a match.
    fn replace(&self, text: &mut String) -> bool {
        let matching = self.0.iter().filter(|expression| {
            let matches = expression.is_match(text);
            if matches {
                *text = expression.replace_all(text, NoExpand(TAKEN_OUT)).into_owned();
            }
            matches
        });
        matching.count() > 0
    }

    fn apply_to<const N: usize>(&self, texts: [&mut Option<String>; N]) {
        for text in texts.into_iter().flatten() {
            self.apply(text);
        }
    }

    /// Replaces the matches in the report's texts, such as titles, reasons, commands, paths, logs and patches.
    pub(super) fn redact(&self, report: &mut Report) {
        if self.0.is_empty() {
            return;
        }
        self.apply(&mut report.branch);
        self.apply_to([&mut report.original_branch]);
        if let Some(closed) = &mut report.closed {
            self.apply_to([&mut closed.branch]);
            self.apply(&mut closed.kept);
        }
        report.agents.iter_mut().for_each(|agent| self.apply(agent));
        for sums in &mut report.by_agent {
            self.apply_to([&mut sums.agent]);
        }
        self.apply(&mut report.outcome.text);
        self.apply_to([&mut report.compare_url]);
        for environment in &mut report.environments {
            self.apply(&mut environment.since);
            for known in &mut environment.agents {
                self.apply(&mut known.agent);
                self.apply(&mut known.version);
            }
            environment
                .settings
                .gates
                .iter_mut()
                .for_each(|gate| self.apply(gate));
        }
        for file in &mut report.files {
            self.apply(&mut file.path);
            file.stories.iter_mut().for_each(|story| self.apply(story));
        }
        report.gates.iter_mut().for_each(|gate| self.gate(gate));
        report.events.iter_mut().for_each(|event| self.event(event));
        for story in &mut report.stories {
            self.apply(&mut story.id);
            self.apply(&mut story.title);
            if let Some(asked) = &mut story.asked {
                self.apply(&mut asked.text);
                asked.tasks.iter_mut().for_each(|task| self.apply(&mut task.text));
            }
            for attempt in &mut story.attempts {
                let entry = &mut attempt.entry;
                self.apply(&mut entry.attempt.story);
                self.apply_to([
                    &mut entry.attempt.reason,
                    &mut entry.attempt.model,
                    &mut entry.attempt.agent_version,
                    &mut entry.attempt.boxed,
                    &mut entry.title,
                    &mut entry.kept,
                    &mut attempt.agent,
                    &mut attempt.told,
                    &mut attempt.message,
                    &mut attempt.url,
                    &mut attempt.log,
                ]);
                attempt.gates.iter_mut().for_each(|gate| self.gate(gate));
                for review in &mut attempt.reviews {
                    self.apply(&mut review.reviewer);
                    self.apply_to([&mut review.words]);
                }
                for round in &mut entry.by_round {
                    self.apply_to([&mut round.left]);
                }
                self.difference(attempt.diff.as_mut(), attempt.patch.as_mut());
            }
        }
    }

    fn gate(&self, gate: &mut Gate) {
        self.apply(&mut gate.command);
        self.apply_to([&mut gate.reason, &mut gate.output]);
    }

    fn event(&self, event: &mut Happening) {
        self.apply(&mut event.text);
        self.difference(event.diff.as_mut(), event.patch.as_mut());
    }

    fn difference(&self, files: Option<&mut Vec<super::FileChange>>, patch: Option<&mut Patch>) {
        for file in files.into_iter().flatten() {
            self.apply(&mut file.path);
            self.apply_to([&mut file.old_path]);
        }
        if let Some(patch) = patch {
            self.apply(&mut patch.text);
        }
    }
}

/// Returns a text without the sequences of a terminal in it.
fn without_sequences(text: &str) -> String {
    let mut place = None;
    let bytes = text.bytes().filter(|byte| {
        let (next, is_part) = match place {
            Some(escape) => Escape::next(escape, *byte),
            None => (None, false),
        };
        let begins = !is_part && *byte == Escape::ESC;
        place = if begins { Some(Escape::Begun) } else { next };
        !is_part && !begins
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_is_found_among_colours_and_before_a_cut() {
        let redaction = Redaction::new(&["sk-[a-z]+".to_owned()]).unwrap();
        for (text, wanted) in [
            ("\x1b[31msk-\x1b[1mabc\x1b[0m é", "*** é"),
            ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
            ("\x1b]8;;sk-abc\x07x", "\x1b]8;;***\x07x"),
        ] {
            let mut text = text.to_owned();
            redaction.apply(&mut text);
            assert_eq!(text, wanted);
        }
        assert_eq!(redaction.bytes(b"+sk-abc\n".to_vec()), b"+***\n");
        assert_eq!(Redaction::default().bytes(vec![0xff]), [0xff]);
    }
}
