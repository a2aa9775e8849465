//! The screen at the end of a loop: what was done, and what each choice would do. Pure but for `ask`.

use std::io;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::draw::put;
use super::terminal::{self, Screen};
use crate::ui::choice::Choice;
use crate::ui::shown::plain;
use crate::ui::width::wrap;

/// Time between two looks for a signal.
const POLL: Duration = Duration::from_millis(100);

/// The words of the screen.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The summary that ends a run.
    pub summary: String,
    /// The choices, each with what it would do.
    pub choices: Vec<(Choice, String)>,
}

impl Page {
    /// Draws the page; what does not fit is cut off above the choices.
    fn draw(&self, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let columns = Some(usize::from(area.width).max(20));
        let choices: Vec<String> = self
            .choices
            .iter()
            .flat_map(|(choice, words)| {
                let (letter, _) = choice.name().split_at(1);
                let line = format!("  {letter}  {:<8} {}", choice.name(), plain(words));
                let line = crate::ui::width::hang(&line, 14, columns);
                line.lines().map(ToOwned::to_owned).collect::<Vec<_>>()
            })
            .collect();
        let summary = wrap(plain(self.summary.trim()).as_ref(), columns);
        let last = "Enter  later: git ralph finish";
        let below = choices.len() + 2;
        let room = usize::from(area.height).saturating_sub(below + 1);
        let mut rows: Vec<(&str, Modifier)> = Vec::new();
        for (at, line) in summary.lines().take(room).enumerate() {
            rows.push((
                line,
                if at == 0 {
                    Modifier::BOLD
                } else {
                    Modifier::empty()
                },
            ));
        }
        if usize::from(area.height) > rows.len() + below {
            rows.push(("", Modifier::empty()));
        }
        rows.extend(choices.iter().map(|line| (line.as_str(), Modifier::empty())));
        rows.push(("", Modifier::empty()));
        rows.truncate(usize::from(area.height).saturating_sub(1));
        rows.push((last, Modifier::DIM));
        for (y, (line, modifier)) in (area.top()..area.bottom()).zip(rows) {
            put(
                buffer,
                area,
                (area.x, y, area.width),
                line,
                Style::new().add_modifier(modifier),
            );
        }
    }
}

/// Lets a person choose by one key, on the whole screen; Enter, `q`, Esc and Ctrl-C are [`Choice::Quit`], and so is an
/// answer that `is_closed` forestalls.
///
/// # Errors
/// If the terminal cannot be used.
pub fn ask(page: &Page, is_closed: impl Fn() -> bool) -> io::Result<Choice> {
    let mut screen = Screen::take()?;
    loop {
        screen.draw(|frame| page.draw(frame.area(), frame.buffer_mut()))?;
        if is_closed() {
            return Ok(Choice::Quit);
        }
        if !terminal::is_typed_within(POLL)? {
            continue;
        }
        let Event::Key(key) = event::read()? else { continue };
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Ok(Choice::Quit),
            KeyCode::Char('z') if is_control => {
                screen.suspend()?;
            }
            KeyCode::Char('l') if is_control => screen.repaint()?,
            KeyCode::Enter | KeyCode::Esc => return Ok(Choice::Quit),
            KeyCode::Char(letter) => {
                let typed = letter.to_lowercase().to_string();
                let possible = self::possible(page);
                if let Some(choice) = Choice::read(&typed, &possible) {
                    return Ok(choice);
                }
            }
            _ => {}
        }
    }
}

fn possible(page: &Page) -> Vec<Choice> {
    let choices = page.choices.iter().map(|(choice, _)| *choice);
    choices.chain([Choice::Quit]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Cell;

    fn drawn(width: u16, height: u16) -> String {
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
        page.draw(area, &mut buffer);
        let rows = buffer.content.chunks(usize::from(width.max(1)));
        rows.map(|row| {
            let row: String = row.iter().map(Cell::symbol).collect();
            row.trim_end().to_owned() + "\n"
        })
        .collect()
    }

    #[test]
    fn it_says_what_each_choice_does_at_any_size() {
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
    }
}
