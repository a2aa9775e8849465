//! The first and the last lines of a process's output, for reasons and prompts.

use std::fs::File;

use crate::events::Stretch;

/// Number of first and of last lines of an output that go into a reason.
const LINES: (usize, usize) = (10, 40);

/// Returns the range of a log after its first `from` bytes; `None` if that length is unknown.
pub(crate) fn printed(log: &File, from: Option<u64>) -> Option<Stretch> {
    let (from, to) = (from?, length(log)?);
    Some(Stretch { from, to })
}

/// Returns the length of a log in bytes; `None` if that is unknown.
pub(super) fn length(log: &File) -> Option<u64> {
    log.metadata().ok().map(|about| about.len())
}

/// The first and the last bytes of an output, limited in size.
#[derive(Default)]
pub(crate) struct OutputTail {
    first: Vec<u8>,
    last: Vec<u8>,
    /// Number of line ends so far.
    line_ends: usize,
}

impl OutputTail {
    const FIRST: usize = 2 * 1024;
    const LAST: usize = 16 * 1024;

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = Self::FIRST.saturating_sub(self.first.len());
        self.first.extend(bytes.iter().take(room));
        self.line_ends += memchr::memchr_iter(b'\n', bytes).count();
        let end = &bytes[bytes.len().saturating_sub(Self::LAST)..];
        let excess = (self.last.len() + end.len()).saturating_sub(Self::LAST);
        self.last.drain(..excess);
        self.last.extend_from_slice(end);
    }

    /// Returns the last lines.
    pub(crate) fn text(&self) -> String {
        let text = self.all();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES.1)..].join("\n")
    }

    /// Returns the first lines and the last ones, with a line between them that counts the omitted ones.
    pub(crate) fn both_ends(&self) -> String {
        let (first, last) = (String::from_utf8_lossy(&self.first), self.text());
        let ends_in_line = self.last.last().is_some_and(|byte| *byte != b'\n');
        let all = self.line_ends + usize::from(ends_in_line);
        let before = all.saturating_sub(last.lines().count());
        let whole = first.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let first: Vec<&str> = whole.take(LINES.0.min(before)).collect();
        let first_lines = first.concat();
        match before - first.len() {
            0 => format!("{first_lines}{last}"),
            1 => format!("{first_lines}[1 line left out]\n{last}"),
            many => format!("{first_lines}[{many} lines left out]\n{last}"),
        }
    }

    /// Returns the whole kept end of the output.
    pub(super) fn all(&self) -> String {
        String::from_utf8_lossy(&self.last).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ends(text: &str) -> String {
        let mut output = OutputTail::default();
        for part in text.as_bytes().chunks(7) {
            output.push(part);
        }
        output.both_ends()
    }

    fn lines(numbers: impl Iterator<Item = usize>) -> String {
        numbers.map(|number| format!("line {number}\n")).collect()
    }

    #[test]
    fn both_ends_leaves_out_the_middle_of_long_output() {
        for count in [0, 1, 40, 41, 50] {
            let all = lines(1..=count);
            assert_eq!(both_ends(&all), all.trim_end(), "{count}");
        }
        let ends =
            |first, left_out: &str, last| format!("{}[{left_out}]\n{}", lines(1..11), lines(first..last));
        let ends_of = |text: &str| format!("{}\n", both_ends(text));
        assert_eq!(ends_of(&lines(1..52)), ends(12, "1 line left out", 52));
        assert_eq!(ends_of(&lines(1..9001)), ends(8961, "8950 lines left out", 9001));
        assert_eq!(
            ends_of(&format!("{}end", lines(1..101))),
            ends(62, "51 lines left out", 101) + "end\n"
        );
    }

    #[test]
    fn a_line_without_end_is_cut_at_its_beginning() {
        let ends_of = both_ends(&format!("one\n{}", "x".repeat(100_000)));
        assert_eq!(ends_of, format!("one\n{}", "x".repeat(16 * 1024)));
        let ends_of = both_ends(&("x".repeat(100_000) + "\nlast\n"));
        assert_eq!(ends_of, "x".repeat(16 * 1024 - 6) + "\nlast");
    }
}
