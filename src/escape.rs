//! Follows the escape sequences of a terminal (ECMA-48), byte by byte.

/// The place in a sequence.
///
/// No sequence continues after the end of its line, so that a broken one hides little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// After ESC.
    Begun,
    /// After ESC [, in the parameters.
    Control,
    /// In a string, such as a window title, a link, or text for the clipboard.
    Text,
    /// After the ESC that may end a string.
    TextEnding,
}

impl Escape {
    /// The byte that begins a sequence.
    pub const ESC: u8 = 0x1b;
    const BELL: u8 = 0x07;

    /// Takes one byte; returns the place after it, `None` if the sequence is over, and whether the byte is
    /// part of it.
    pub fn next(self, byte: u8) -> (Option<Self>, bool) {
        let (place, is_part) = match (self, byte) {
            (Self::Begun, b'[') | (Self::Control, b' '..=b'?') => (Self::Control, true),
            (Self::Begun, b']' | b'P' | b'X' | b'^' | b'_') => (Self::Text, true),
            (Self::Begun, b' '..=b'/') => (Self::Begun, true),
            (Self::Begun, b'0'..=b'~')
            | (Self::Control, b'@'..=b'~')
            | (Self::Text, Self::BELL)
            | (Self::TextEnding, b'\\') => return (None, true),
            (Self::Text, Self::ESC) => (Self::TextEnding, true),
            (Self::Begun | Self::Control, _) | (Self::Text, b'\n' | b'\r') => return (None, false),
            (Self::Text, _) => (Self::Text, true),
            (Self::TextEnding, _) => (Self::Begun, false),
        };
        (Some(place), is_part)
    }
}
