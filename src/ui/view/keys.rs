//! The keys of the view: one table for the view, its help and footer, and the manual page.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Something that a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    StoryBefore,
    StoryAfter,
    AttemptBefore,
    AttemptAfter,
    FailureAfter,
    FailureBefore,
    PageUp,
    PageDown,
    Beginning,
    Follow,
    Search,
    Log,
    Diff,
    Raw,
    Story,
    Prompt,
    Files,
    Alone,
    Swap,
    Loop(usize),
    Finish,
    Stop,
    Help,
    Leave,
    CtrlC,
    Suspend,
    Repaint,
}

/// Keys that do the same.
pub struct Row {
    /// The names of the keys.
    pub keys: &'static [&'static str],
    /// Their effect, for the help and the manual page.
    pub words: &'static str,
    /// The same in a word or two for the last line of the screen; empty if it is not shown there.
    pub short: &'static str,
    pub(super) action: Action,
}

const fn row(keys: &'static [&'static str], action: Action, words: &'static str, short: &'static str) -> Row {
    Row {
        keys,
        words,
        short,
        action,
    }
}

/// The table.
pub const TABLE: &[Row] = &[
    row(&["Up", "k"], Action::StoryBefore, "the story before", ""),
    row(&["Down", "j"], Action::StoryAfter, "the story after", ""),
    row(&["Left", "h"], Action::AttemptBefore, "the attempt before", ""),
    row(&["Right", "l"], Action::AttemptAfter, "the attempt after", ""),
    row(
        &["n"],
        Action::FailureAfter,
        "the next failed attempt, of any story",
        "",
    ),
    row(
        &["N"],
        Action::FailureBefore,
        "the failed attempt before, of any story",
        "",
    ),
    row(&["PgUp", "b", "Ctrl-B"], Action::PageUp, "a page back", ""),
    row(&["PgDn", "Space", "Ctrl-F"], Action::PageDown, "a page on", ""),
    row(&["g", "Home"], Action::Beginning, "the beginning", ""),
    row(
        &["G", "End"],
        Action::Follow,
        "the end; in the output, that of the attempt that runs",
        "",
    ),
    row(
        &["Enter"],
        Action::Log,
        "the whole log of the attempt, in git's pager",
        "log",
    ),
    row(
        &["d"],
        Action::Diff,
        "what the attempt changed, in git's pager",
        "diff",
    ),
    row(&["r"], Action::Raw, "the output as it is, or in words", "raw"),
    row(
        &["o"],
        Action::Alone,
        "the text alone, without a frame and at rest, to be copied; again: back",
        "copy",
    ),
    row(
        &["t"],
        Action::Story,
        "the text of the story with its boxes; again: back",
        "story",
    ),
    row(
        &["p"],
        Action::Prompt,
        "the prompt of the attempt; again: back",
        "prompt",
    ),
    row(
        &["c"],
        Action::Files,
        "the files that the attempt has changed; again: back",
        "files",
    ),
    row(
        &["/"],
        Action::Search,
        "search in the text, then in the list of stories; / Enter: the same again",
        "search",
    ),
    row(&["1-9"], Action::Loop(0), "the loop with this number", ""),
    row(
        &["f"],
        Action::Finish,
        "how to finish, once the loop is at its end (git ralph watch)",
        "",
    ),
    row(
        &["S"],
        Action::Stop,
        "stop the run after this attempt, as git ralph stop; asks first",
        "stop",
    ),
    row(
        &["Tab"],
        Action::Swap,
        "the list or the output, where there is no room for both; else the next loop, or no list",
        "list",
    ),
    row(&["?"], Action::Help, "these keys", "keys"),
    row(
        &["q", "Esc"],
        Action::Leave,
        "back to the output; there: leave the view; the loop continues",
        "leave",
    ),
    row(
        &["Ctrl-C"],
        Action::CtrlC,
        "leave; in git ralph run --view: stop the attempt and the run",
        "",
    ),
    row(&["Ctrl-Z"], Action::Suspend, "suspend; fg brings it back", ""),
    row(&["Ctrl-L"], Action::Repaint, "draw the screen again", ""),
];

/// Returns the effect of a key, if it has one.
pub(super) fn action(key: &KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let name = name(key)?;
    if let Some(number) = name.parse::<usize>().ok().filter(|number| *number > 0) {
        return Some(Action::Loop(number - 1));
    }
    let row = TABLE.iter().find(|row| row.keys.contains(&name.as_str()));
    row.map(|row| row.action)
}

/// Returns the name of a key as in the table.
fn name(key: &KeyEvent) -> Option<String> {
    Some(match key.code {
        KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            format!("Ctrl-{}", letter.to_ascii_uppercase())
        }
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::Up => "Up".to_owned(),
        KeyCode::Down => "Down".to_owned(),
        KeyCode::Left => "Left".to_owned(),
        KeyCode::Right => "Right".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::Home => "Home".to_owned(),
        KeyCode::End => "End".to_owned(),
        KeyCode::Enter => "Enter".to_owned(),
        KeyCode::Tab => "Tab".to_owned(),
        KeyCode::Esc => "Esc".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_effect() {
        let mut keys: Vec<_> = TABLE.iter().flat_map(|row| row.keys).collect();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    #[test]
    fn keys_match_the_table() {
        let press = |code, modifiers| action(&KeyEvent::new(code, modifiers));
        let plain = |code| press(code, KeyModifiers::NONE);
        assert_eq!(plain(KeyCode::Char('k')), Some(Action::StoryBefore));
        assert_eq!(
            press(KeyCode::Char('G'), KeyModifiers::SHIFT),
            Some(Action::Follow)
        );
        assert_eq!(
            press(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(Action::CtrlC)
        );
        assert_eq!(plain(KeyCode::Char('2')), Some(Action::Loop(1)));
        assert_eq!(plain(KeyCode::Char('0')), None);
        assert_eq!(plain(KeyCode::Char('x')), None);
        let control = |letter| press(KeyCode::Char(letter), KeyModifiers::CONTROL);
        assert_eq!(control('f'), Some(Action::PageDown));
        assert_eq!(control('o'), None);
    }
}
