//! The last line of the screen during a question, or while text is typed: no part of it is cut. Pure.

use textwrap::core::display_width;

use crate::ui::shown::plain;
use crate::ui::view::chosen::Chosen;

/// The question before a run is stopped; the first one that fits is shown.
const STOP: [&str; 3] = [
    "stop the run after this attempt? y: yes, any other key: no",
    "stop after this attempt? y: yes",
    "stop? y: yes",
];
/// The texts before and after the text being typed; the first pair that leaves enough space is shown.
const TELL: [(&str, &str); 3] = [
    ("tell the agent: ", "  Enter: tell  Esc: back"),
    ("tell: ", "  Enter  Esc"),
    ("tell: ", ""),
];
const SEARCH: [(&str, &str); 3] = [
    ("/", "  Enter: search  Esc: back"),
    ("/", "  Enter  Esc"),
    ("/", ""),
];
/// Minimum number of columns for the text being typed.
const LEAST: usize = 10;

/// Returns the line for a screen of so many columns, if a question is open, or text is being typed.
pub(super) fn of(chosen: &Chosen, columns: usize) -> Option<String> {
    if chosen.asks_to_stop {
        let fits = |question: &&&str| display_width(question) <= columns;
        let shown = STOP.iter().find(fits).or(STOP.last())?;
        return Some((*shown).to_owned());
    }
    let typed = plain(chosen.typed.as_ref()?);
    let prompts = if chosen.tells { TELL } else { SEARCH };
    let room = |(before, after): &(&str, &str)| columns.saturating_sub(before.len() + after.len() + 1);
    let has_room = |prompt: &&(&str, &str)| room(prompt) >= LEAST;
    let prompt = prompts.iter().find(has_room).or(prompts.last())?;
    let (before, after) = prompt;
    Some(format!("{before}{}_{after}", end_of(&typed, room(prompt))))
}

/// Returns the end of a text that fits into `columns`.
fn end_of(text: &str, columns: usize) -> &str {
    let mut end = text.chars();
    while display_width(end.as_str()) > columns {
        end.next();
    }
    end.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_fit_every_screen_with_the_end_of_what_is_typed() {
        let words = "use tabs, not blanks: \u{65e5}\u{672c}\u{8a9e} in the end";
        for columns in 20..120 {
            let stop = Chosen {
                asks_to_stop: true,
                ..Chosen::default()
            };
            let line = of(&stop, columns).unwrap();
            assert!(
                display_width(&line) <= columns && line.contains("? y: yes"),
                "{line}"
            );
            for tells in [true, false] {
                let chosen = Chosen {
                    typed: Some(words.to_owned()),
                    tells,
                    ..Chosen::default()
                };
                let line = of(&chosen, columns).unwrap();
                assert!(
                    display_width(&line) <= columns && line.contains(" the end_"),
                    "{line}"
                );
            }
        }
        let chosen = |typed: &str| Chosen {
            typed: Some(typed.to_owned()),
            tells: true,
            ..Chosen::default()
        };
        assert_eq!(of(&chosen(""), 40).unwrap(), "tell: _  Enter  Esc");
        assert_eq!(
            of(&chosen("x"), 80).unwrap(),
            "tell the agent: x_  Enter: tell  Esc: back"
        );
        assert_eq!(of(&Chosen::default(), 80), None);
    }
}
