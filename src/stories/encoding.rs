//! Finds lists that are not UTF-8.

use super::{SourceError, Warning};

/// The marks at the beginning of a text in UTF-16, whichever byte of a character is first.
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Refuses a list in UTF-16; returns the warning about bytes that are not UTF-8, with the first line that has some.
pub(super) fn examine(bytes: &[u8], path: &str) -> Result<Option<Warning>, SourceError> {
    if UTF_16.iter().any(|mark| bytes.starts_with(mark)) {
        let path = path.to_owned();
        return Err(SourceError::Utf16 { path });
    }
    let valid = str::from_utf8(bytes).map_err(|error| error.valid_up_to());
    let before = valid.err().and_then(|end| bytes.get(..end));
    Ok(before.map(|before| Warning {
        line: memchr::memchr_iter(b'\n', before).count() + 1,
        message: "it is not UTF-8 here: prompts and messages have a replacement character".to_owned(),
    }))
}
