//! The keys of the view: one table for the view, its help and footer, and the manual page.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Keys with the same action.
pub struct Row {
    /// The names of the keys.
    pub keys: &'static [&'static str],
    /// Their effect, for the help and the manual page.
    pub words: &'static str,
    /// The effect in a word or two for the last line of the screen; empty if it is not shown there.
    pub short: &'static str,
    pub(super) action: Action,
}

/// Makes the actions and the table of their rows: the keys, the action, its effect in words, and in a word or two.
macro_rules! keys {
    ($($($key:literal)+ => $action:ident $(($part:ty = $value:literal))?, $words:literal, $short:literal;)*) => {
        /// The action of a key.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Action {
            $($action $(($part))?,)*
        }

        /// The table.
        pub const TABLE: &[Row] = &[$(
            Row { keys: &[$($key),+], words: $words, short: $short, action: Action::$action $(($value))? },
        )*];
    };
}

keys! {
    "Up" "k" => StoryBefore, "the story before", "";
    "Down" "j" => StoryAfter, "the story after", "";
    "Left" "h" => AttemptBefore, "the attempt before", "";
    "Right" "l" => AttemptAfter, "the attempt after", "";
    "n" => FailureAfter, "the next failed attempt, of any story", "";
    "N" => FailureBefore, "the failed attempt before, of any story", "";
    "PgUp" "b" "Ctrl-B" => PageUp, "a page back", "";
    "PgDn" "Space" "Ctrl-F" => PageDown, "a page on", "";
    "g" "Home" => Beginning, "the beginning", "";
    "G" "End" => Follow, "the end; in the output, that of the attempt that runs", "";
    "f" => Finish, "how to finish, once the loop is at its end (git ralph watch)", "finish";
    "S" => Stop, "stop the run after this attempt, as git ralph stop; asks first", "stop";
    "Enter" => Log, "the whole log of the attempt, in git's pager", "log";
    "d" => Diff, "what the attempt changed, in git's pager", "diff";
    "t" => Story, "the text of the story with its boxes; again: back", "story";
    "c" => Files, "the files that the attempt has changed; again: back", "files";
    "/" => Search, "search in the text, then in the list of stories; / Enter: the same again", "search";
    "1-9" => Loop(usize = 0), "the loop with this number", "loop";
    "p" => Prompt, "the prompt of the attempt; again: back", "prompt";
    "r" => Raw, "the output as it is, or in words", "raw";
    "o" => Alone, "the text alone, without a frame and at rest, to be copied; again: back", "copy";
    "m" => Tell, "say something to the agent, for the next prompt, as git ralph tell", "";
    "Tab" => Swap, "the list or the output, where there is no room for both; else the next loop, or no list", "list";
    "?" => Help, "these keys", "keys";
    "q" "Esc" => Leave, "back to the output; there: leave the view; the loop continues", "leave";
    "Ctrl-C" => CtrlC, "leave; in git ralph run --view: stop the attempt and the run", "";
    "Ctrl-Z" => Suspend, "suspend; fg brings it back", "";
    "Ctrl-L" => Repaint, "draw the screen again", "";
}

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
