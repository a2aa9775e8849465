//! Qwen prints claude's format, but reports errors in other places: since 0.24 in the `error` of the result, before
//! that in the text of its final message, with `is_error` false: a line that begins with `[API Error: `.

use super::fault::Fault;

const ERROR: &str = "[API Error: ";

/// Returns the error at the beginning of `message`, or the one that cut it off.
pub(super) fn fault_in(message: &str) -> Option<Fault> {
    let message = message.trim();
    let last_line = message.lines().next_back().unwrap_or_default();
    [message, last_line]
        .into_iter()
        .find(|text| text.starts_with(ERROR))
        .map(|error| Fault::new(None, None, bare(error)))
}

/// Returns the text of an error without the brackets around it.
pub(super) fn bare(error: &str) -> &str {
    let words = error.trim().strip_prefix(ERROR);
    words.map_or(error, |words| words.trim_end_matches(']'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise};

    fn decode(format: Format, result: &str) -> Report {
        let mut decoder = Decoder::new(format, "Do it.");
        let lines = format!(
            r#"{{"type":"system","subtype":"init","qwen_code_version":"0.1"}}
{{"type":"result","is_error":false,"result":"{result}","usage":{{"input_tokens":5,"cache_read_input_tokens":3}}}}"#
        );
        decoder.push(lines.as_bytes());
        decoder.finish()
    }

    #[test]
    fn the_result_is_the_final_message() {
        let report = decode(Format::Auto, r"Done.\n<promise>COMPLETE</promise>");
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!((report.format, report.input_tokens), (Format::Qwen, Some(5)));
    }

    #[test]
    fn an_error_in_the_text_is_a_fault() {
        for format in [Format::Auto, Format::Qwen, Format::Claude] {
            for text in [
                "[API Error: 401 bad key]",
                r"So far\n<promise>COMPLETE</promise>\n[API Error: 401 bad key]",
            ] {
                let report = decode(format, text);
                let fault = report.fault.unwrap();
                assert_eq!(
                    (fault.kind, fault.message.as_str()),
                    (FaultKind::Auth, "401 bad key")
                );
                assert_eq!(report.heard, Heard::Nothing);
            }
        }
        assert_eq!(fault_in("The log says [API Error: 401]"), None);
        assert_eq!(fault_in(""), None);
    }

    #[test]
    fn an_error_in_the_place_of_a_result_is_a_fault() {
        for (words, kind, message) in [
            ("[API Error: 401 bad key]", FaultKind::Auth, "401 bad key"),
            (
                "[API Error: 429 Rate limit reached, try again in 20s.]",
                FaultKind::RateLimited,
                "429 Rate limit reached, try again in 20s.",
            ),
            (
                "No auth type is selected. Please configure one.",
                FaultKind::Auth,
                "No auth type is selected. Please configure one.",
            ),
        ] {
            let line = format!(
                r#"{{"type":"result","subtype":"error_during_execution","is_error":true,"error":{{"message":"{words}"}}}}"#
            );
            let mut decoder = Decoder::new(Format::Qwen, "Do it.");
            decoder.push(line.as_bytes());
            let report = decoder.finish();
            let fault = report.fault.unwrap();
            assert_eq!((fault.kind, fault.message.as_str()), (kind, message));
            assert_eq!(report.heard, Heard::Nothing);
        }
    }
}
