//! The message of a checkpoint below its subject: the story's title, and trailers as in `git interpret-trailers`.

use super::agent_run::{Begun, Outcome};
use crate::stories::Story;

/// Returns the body of a checkpoint's message.
pub(super) fn body(story: &Story, begun: &Begun, outcome: &Outcome, gates: &[String]) -> String {
    let ended = begun.ended(story, outcome);
    let mut trailers = vec![("Ralph-Attempt", format!("{}@{}", story.id, begun.number))];
    if let Some(agent) = &outcome.agent {
        trailers.push(("Ralph-Agent", agent.clone()));
        trailers.push(("Ralph-Duration", format!("{:.0}s", ended.duration)));
    }
    if let Some(cost) = ended.cost_usd {
        trailers.push(("Ralph-Cost", format!("${cost:.2}")));
    }
    trailers.extend(gates.iter().map(|gate| ("Ralph-Gate", gate.clone())));
    let mut text = one_line(&story.title);
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    for (name, value) in trailers {
        text.push_str(&format!("{name}: {}\n", one_line(&value)));
    }
    text
}

/// Returns the text without line ends and other control characters, which would end a trailer.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_control() || c.is_whitespace());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_on_its_line() {
        assert_eq!(one_line(" make\n\ttest \u{1b}[2J "), "make test [2J");
    }
}
