//! The screen at the end of a loop: the results, and the effect of each choice. Pure except for `ask`.

use std::io;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::draw::put;
use super::terminal::{self, Screen};
use crate::ui::choice::Choice;
use crate::ui::shown::plain;
use crate::ui::width::{cut_at_word, hang, wrap};

/// Interval between two checks for a signal.
const POLL: Duration = Duration::from_millis(100);
/// Minimum number of shown summary lines before a choice gets more than one line.
const LEAST_SUMMARY: usize = 4;

/// The text of the screen.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The summary that ends a run.
    pub summary: String,
    /// The choices, each with its effect.
    pub choices: Vec<(Choice, String)>,
}

impl Page {
    /// Draws the page, with the choice that awaits Enter. If the summary has no space, each choice has one line; the
    /// rest is cut off above the choices.
    fn draw(&self, waiting: Option<Choice>, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let (columns, height) = (usize::from(area.width).max(20), usize::from(area.height));
        let summary = wrap(plain(self.summary.trim()).as_ref(), Some(columns));
        let mut choices = self.choices(waiting, |line| hang(line, 14, Some(columns)));
        if choices.len() + 3 + summary.lines().count().min(LEAST_SUMMARY) > height {
            choices = self.choices(waiting, |line| cut_at_word(line, columns));
        }
        let last = waiting.map_or_else(
            || "Enter  later: git ralph finish".to_owned(),
            |choice| format!("Enter  {}   Esc  back", choice.name()),
        );
        let below = choices.len() + 2;
        let room = height.saturating_sub(below + 1);
        let mut rows: Vec<(&str, Modifier)> = Vec::new();
        rows.extend(summary.lines().take(room).map(|line| (line, Modifier::empty())));
        if let Some((_, first)) = rows.first_mut() {
            *first = Modifier::BOLD;
        }
        if height > rows.len() + below {
            rows.push(("", Modifier::empty()));
        }
        rows.extend(choices.iter().map(|(line, modifier)| (line.as_str(), *modifier)));
        rows.push(("", Modifier::empty()));
        rows.truncate(height.saturating_sub(1));
        rows.push((&last, Modifier::DIM));
        for (place, (line, modifier)) in area.rows().zip(rows) {
            put(buffer, place, line, Style::new().add_modifier(modifier));
        }
    }

    /// Returns the lines of the choices, fitted to the screen.
    fn choices(&self, waiting: Option<Choice>, fit: impl Fn(&str) -> String) -> Vec<(String, Modifier)> {
        let lines = self.choices.iter().flat_map(|(choice, words)| {
            let (letter, _) = choice.name().split_at(1);
            let (mark, modifier) = if waiting == Some(*choice) {
                ('>', Modifier::BOLD)
            } else {
                (' ', Modifier::empty())
            };
            let line = fit(&format!("{mark} {letter}  {:<8} {}", choice.name(), plain(words)));
            let lines = line.lines().map(move |line| (line.to_owned(), modifier));
            lines.collect::<Vec<_>>()
        });
        lines.collect()
    }
}

/// Lets the user choose on the whole screen: by a letter, and by Enter after the choice is shown, unless the choice
/// only shows something. Enter alone, `q`, Esc and Ctrl-C are [`Choice::Quit`], and so is a question that `is_closed`
/// ends. Keys typed before the question is on the screen do not count.
pub fn ask(page: &Page, is_closed: impl Fn() -> bool) -> io::Result<Choice> {
    let mut screen = Screen::take()?;
    let choices = page.choices.iter().map(|(choice, _)| *choice);
    let possible: Vec<Choice> = choices.chain([Choice::Quit]).collect();
    let mut waiting = None;
    // A key typed before the question does not count; after the first answer each key counts.
    terminal::discard_typed()?;
    loop {
        screen.draw(|frame| page.draw(waiting, frame.area(), frame.buffer_mut()))?;
        if is_closed() {
            return Ok(Choice::Quit);
        }
        if !terminal::is_typed_within(POLL)? {
            continue;
        }
        let Some(key) = terminal::read_key()? else {
            continue;
        };
        match effect(&key, waiting, &possible) {
            Effect::Chosen(choice) => return Ok(choice),
            Effect::Waiting(choice) => waiting = choice,
            Effect::Suspend => {
                screen.suspend()?;
                terminal::discard_typed()?;
            }
            Effect::Repaint => screen.repaint()?,
        }
    }
}

/// The effect of a key on the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Chosen(Choice),
    /// This choice awaits Enter, or none does.
    Waiting(Option<Choice>),
    Suspend,
    Repaint,
}

/// Returns the effect of a key while `waiting` awaits Enter. A letter alone, which may be a key of the view, only
/// executes choices that change nothing.
fn effect(key: &KeyEvent, waiting: Option<Choice>, possible: &[Choice]) -> Effect {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if is_control => Effect::Chosen(Choice::Quit),
        KeyCode::Char('z') if is_control => Effect::Suspend,
        KeyCode::Char('l') if is_control => Effect::Repaint,
        KeyCode::Enter => Effect::Chosen(waiting.unwrap_or(Choice::Quit)),
        KeyCode::Esc if waiting.is_none() => Effect::Chosen(Choice::Quit),
        KeyCode::Char(letter) if !is_control => {
            match Choice::read(&letter.to_lowercase().to_string(), possible) {
                Some(choice @ (Choice::Diff | Choice::Log)) => Effect::Chosen(choice),
                Some(Choice::Quit) if !letter.is_whitespace() => Effect::Chosen(Choice::Quit),
                Some(Choice::Quit) | None => Effect::Waiting(None),
                Some(choice) => Effect::Waiting(Some(choice)),
            }
        }
        _ => Effect::Waiting(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Cell;

    fn drawn(width: u16, height: u16) -> String {
        drawn_with(None, width, height)
    }

    fn drawn_with(waiting: Option<Choice>, width: u16, height: u16) -> String {
        let page = Page {
            summary:
                "\nadd-login: 3 of 3 stories are complete; 4 attempts, 8m 12s, $0.84\n  kept: 2@1\u{1b}[2J\n"
                    .to_owned(),
            choices: vec![
                (
                    Choice::Cleanup,
                    "return to main with all changes uncommitted; ralph/add-login is deleted".to_owned(),
                ),
                (
                    Choice::Keep,
                    "stay on ralph/add-login with its commits".to_owned(),
                ),
                (Choice::Diff, "see the whole diff".to_owned()),
            ],
        };
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        page.draw(waiting, area, &mut buffer);
        let rows = buffer.content.chunks(usize::from(width.max(1)));
        rows.map(|row| {
            let row: String = row.iter().map(Cell::symbol).collect();
            row.trim_end().to_owned() + "\n"
        })
        .collect()
    }

    #[test]
    fn completion_explains_each_choice_at_any_size() {
        assert_eq!(
            drawn(80, 12).trim_end(),
            "add-login: 3 of 3 stories are complete; 4 attempts, 8m 12s, $0.84
  kept: 2@1^[[2J

  c  cleanup  return to main with all changes uncommitted; ralph/add-login is
              deleted
  k  keep     stay on ralph/add-login with its commits
  d  diff     see the whole diff

Enter  later: git ralph finish"
        );
        for (width, height) in [(40, 6), (20, 4), (10, 2), (1, 1), (0, 0)] {
            drawn(width, height);
        }
        assert!(drawn(40, 8).contains("Enter  later"), "{}", drawn(40, 8));
        assert_eq!(
            drawn(40, 10).trim_end(),
            "add-login: 3 of 3 stories are complete;
  4 attempts, 8m 12s, $0.84
  kept: 2@1^[[2J

  c  cleanup  return to main with all...
  k  keep     stay on ralph/add-login...
  d  diff     see the whole diff

Enter  later: git ralph finish"
        );
    }

    #[test]
    fn completion_shows_the_choice_that_waits_for_enter() {
        let shown = drawn_with(Some(Choice::Keep), 80, 12);
        assert!(shown.contains("\n> k  keep     stay on"), "{shown}");
        assert!(shown.contains("\nEnter  keep   Esc  back"), "{shown}");
        assert!(!shown.contains("later"), "{shown}");
    }

    #[test]
    fn no_key_alone_changes_anything() {
        let all = [
            Choice::Retry,
            Choice::Skip,
            Choice::Diff,
            Choice::Log,
            Choice::Cleanup,
            Choice::Keep,
            Choice::Quit,
        ];
        let press = |code, waiting| effect(&KeyEvent::new(code, KeyModifiers::NONE), waiting, &all);
        let letters = (' '..='~').map(KeyCode::Char);
        let others = [
            KeyCode::Up,
            KeyCode::Right,
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::Tab,
        ];
        for code in letters.chain(others) {
            let changes = |effect| {
                let harmless = [Choice::Quit, Choice::Diff, Choice::Log];
                matches!(effect, Effect::Chosen(choice) if !harmless.contains(&choice))
            };
            assert!(!changes(press(code, None)), "{code:?}");
            let confirmed = changes(press(code, Some(Choice::Keep)));
            assert_eq!(confirmed, code == KeyCode::Enter, "{code:?}");
        }
        let keep = Some(Choice::Keep);
        assert_eq!(press(KeyCode::Char('k'), None), Effect::Waiting(keep));
        assert_eq!(press(KeyCode::Enter, keep), Effect::Chosen(Choice::Keep));
        assert_eq!(press(KeyCode::Enter, None), Effect::Chosen(Choice::Quit));
        // A key of the view that is none here takes the choice back.
        assert_eq!(press(KeyCode::Up, keep), Effect::Waiting(None));
        assert_eq!(press(KeyCode::Char('j'), keep), Effect::Waiting(None));
        assert_eq!(press(KeyCode::Esc, keep), Effect::Waiting(None));
    }
}
