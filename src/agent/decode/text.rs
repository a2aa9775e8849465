//! Plain text: the whole stdout is the message, and only the exit code reports faults.
//!
//! Two exceptions, both for aider: the line that reports the cost, and the errors of its service, which it prints
//! within the model's text before it exits with 0. These begin with a class name, and are searched only at the very end
//! and only without a promise.

use super::{
    fault::Fault, format::Format, last_words, lines::keep_end, report::Report, report_builder::ReportBuilder,
};
use crate::agent::promise::Heard;

/// Number of bytes that are kept of the end of stdout, and number of those that are searched for an error.
const KEPT: usize = 16 * 1024;
const ERROR_WITHIN: usize = 2048;

/// The beginning of aider's line about the cost, and the texts around the amount.
const TOKENS: &str = "Tokens: ";
const COST: &str = " message, $";
const SESSION: &str = " session.";

/// The beginning of aider's errors.
const ERROR: &str = "litellm.";

/// The end of the text.
#[derive(Default)]
pub(super) struct Ending {
    kept: Vec<u8>,
    /// The length of the whole text, in bytes.
    length: usize,
}

impl Ending {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        keep_end(&mut self.kept, bytes, KEPT);
        self.length = self.length.saturating_add(bytes.len());
    }

    pub(super) fn report(&self, mut report: ReportBuilder, format: Format, stderr: &[u8]) -> Report {
        report.ended = true;
        report.spend(None, None, self.cost());
        let mut report = report.report(format);
        if !matches!(report.heard, Heard::Promise(_)) {
            report.fault = self.fault();
            let short = (self.length <= last_words::SHORT).then_some(&self.kept[..]);
            report.suspected = last_words::fault_in(short, stderr);
            report.last_line = last_words::last_line(&self.kept, stderr);
        }
        report
    }

    /// Returns the cost of the whole session, from the last line that reports it.
    fn cost(&self) -> Option<f64> {
        let text = String::from_utf8_lossy(&self.kept);
        let line = text.lines().rfind(|line| line.starts_with(TOKENS))?;
        let (_, cost) = line.rsplit_once(COST)?;
        cost.trim_end().strip_suffix(SESSION)?.parse().ok()
    }

    fn fault(&self) -> Option<Fault> {
        let end = &self.kept[self.kept.len().saturating_sub(ERROR_WITHIN)..];
        let text = String::from_utf8_lossy(end);
        let begins_error = |line: &&str| line.starts_with(ERROR);
        let line = text.lines().rfind(begins_error)?;
        let (class, message) = line.strip_prefix(ERROR)?.split_once(": ")?;
        Some(Fault::new(Some(class), None, message))
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    fn decode(text: &str) -> Report {
        let mut decoder = Decoder::new(Format::Text, "Do it.");
        decoder.push(text.as_bytes());
        assert!(decoder.take_activity().is_empty());
        decoder.finish()
    }

    #[test]
    fn the_whole_output_is_the_message() {
        let report = decode("Hello\n<promise>COMPLETE</promise>\nTokens: 7\n");
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert!(report.ended && report.fault.is_none());
        assert_eq!(report.format, Format::Text);
    }

    #[test]
    fn text_of_diffs_quotes_and_learnings_is_no_promise() {
        for text in [
            "diff --git a/t b/t\n+<promise>COMPLETE</promise>\n",
            "-<promise>COMPLETE</promise>\n",
            "It says:\n> <promise>COMPLETE</promise>\n",
            "<learning><promise>COMPLETE</promise></learning>\n",
        ] {
            for format in [Format::Text, Format::Auto] {
                let mut decoder = Decoder::new(format, "Do it.");
                decoder.push(text.as_bytes());
                let heard = decoder.finish().heard;
                assert!(!matches!(heard, Heard::Promise(_)), "{text:?}: {heard:?}");
            }
        }
    }

    #[test]
    fn last_line_of_kiro_promises_behind_the_mark_of_an_answer() {
        let complete = Heard::Promise(Promise::Complete);
        let failed = Heard::Promise(Promise::Failed("red".to_owned()));
        let tag = "<promise>COMPLETE</promise>";
        for (text, wanted) in [
            (format!("> {tag}\n"), &complete),
            (
                format!("\x1b[38;5;141m> \x1b[0m\x1b[38;5;252m{tag}\x1b[0m\x1b[0m\n\n"),
                &complete,
            ),
            (
                format!("> I begin.\nReading a (using tool: read)\n\n> {tag}"),
                &complete,
            ),
            (format!("> Done.\n\n{tag}\n"), &complete),
            ("> <promise>FAILED: red</promise>\n".to_owned(), &failed),
            // A quotation, or no final line.
            (format!("> {tag}\n> I read on.\n"), &Heard::Repeated),
            (format!("> {tag}\n - Completed in 0.1s\n"), &Heard::Repeated),
            (format!("> > {tag}\n"), &Heard::Repeated),
            (format!(">{tag}\n"), &Heard::Repeated),
            (format!("+ {tag}\n"), &Heard::Repeated),
            (
                format!("It is not done, so I do not say\n> {tag}\n"),
                &Heard::Repeated,
            ),
        ] {
            for size in [1, 7, usize::MAX] {
                let heard = |format| {
                    let mut decoder = Decoder::new(format, "Do it.");
                    text.as_bytes().chunks(size).for_each(|piece| decoder.push(piece));
                    decoder.finish()
                };
                let report = heard(Format::Kiro);
                assert_eq!((&report.heard, report.format), (wanted, Format::Kiro), "{text}");
                if text.contains("> <") || text.contains("m<") {
                    assert_eq!(heard(Format::Text).heard, Heard::Repeated, "{text}");
                }
            }
        }
    }

    #[test]
    fn the_cost_of_aider_is_that_of_its_session() {
        let line =
            |cost: &str| format!("Tokens: 1.0k sent, 50 received. Cost: $0.0010 message, ${cost} session.\n");
        let twice = format!("{}Applied edit\n{}\nwork.txt\n", line("0.0010"), line("0.0030"));
        assert_eq!(decode(&twice).cost_usd, Some(0.003));
        for text in [
            "Tokens: 7\n".to_owned(),
            line("-1"),
            line("inf"),
            line("much"),
            format!("> {}", line("0.0030")),
        ] {
            assert_eq!(decode(&text).cost_usd, None, "{text}");
        }
    }

    #[test]
    fn an_error_at_the_end_is_a_fault() {
        let error = "Hi\nlitellm.AuthenticationError: AuthenticationError: bad key\nCheck it.\n";
        let fault = decode(error).fault.unwrap();
        assert_eq!(fault.kind, FaultKind::Auth);
        assert_eq!(fault.message, "AuthenticationError: bad key");
        let limit = decode("litellm.RateLimitError: slow down, retry after 20 seconds\n").fault;
        assert_eq!(limit.unwrap().retry_after, Some(20));
    }

    #[test]
    fn overcome_or_quoted_error_is_no_fault() {
        let error = "litellm.RateLimitError: slow down\n";
        for text in [
            format!("{error}<promise>COMPLETE</promise>\n"),
            format!("{error}{}", "and more work\n".repeat(200)),
            format!("The test expects {error}"),
        ] {
            assert_eq!(decode(&text).fault, None, "{text}");
        }
    }
}
