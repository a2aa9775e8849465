//! Tests of what holds for every format.

use super::*;
use crate::agent::promise::Promise;
use proptest::prelude::*;
use strum::VariantArray;

const STREAMS: [&str; 8] = [
    "Done.\n<promise>COMPLETE</promise>\n",
    r#"{"type":"system","subtype":"init"}
{"type":"result","is_error":false,"result":"<promise>COMPLETE</promise>"}"#,
    r#"{"type":"system","subtype":"init","qwen_code_version":"1"}
{"type":"result","is_error":false,"result":"<promise>COMPLETE</promise>"}"#,
    r#"{"type":"thread.started"}
{"type":"item.completed","item":{"type":"agent_message","text":"<promise>COMPLETE</promise>"}}
{"type":"turn.completed"}"#,
    r#"{"type":"init"}
{"type":"message","role":"assistant","content":"<promise>COMPLETE</promise>","delta":true}
{"type":"result","status":"success"}"#,
    r#"{"type":"text","sessionID":"s","part":{"messageID":"m","text":"<promise>COMPLETE</promise>"}}
{"type":"step_finish","part":{"reason":"stop"}}"#,
    r#"{"type":"session.start","data":{}}
{"type":"assistant.message","data":{"content":"<promise>COMPLETE</promise>"}}
{"type":"result"}"#,
    r#"{"type":"session","version":3}
{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"<promise>COMPLETE</promise>"}]}}
{"type":"agent_end"}"#,
];

#[test]
fn the_end_of_the_final_message_is_kept() {
    let result = |text: &str| format!("{{\"type\":\"result\",\"is_error\":false,\"result\":\"{text}\"}}\n");
    let said = |format, text: &str| decode(format, text.as_bytes(), 7).message;
    let first =
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"I begin.\"}]}}\n";
    let message = said(
        Format::Claude,
        &format!("{first}{}", result("Done.\\nAll of it.")),
    );
    assert_eq!(
        (message.text.as_str(), message.is_cut),
        ("Done.\nAll of it.", false)
    );
    let message = said(Format::Claude, &result(&"x".repeat(5000)));
    assert_eq!((message.text.len(), message.is_cut), (4096, true));
    let message = said(Format::Text, "\u{1b}[1mHello\u{1b}[0m\nend\n");
    assert_eq!(message.text, "Hello\nend\n");
}

fn decode(format: Format, bytes: &[u8], size: usize) -> Report {
    let mut decoder = Decoder::new(format, "Do it.");
    for piece in bytes.chunks(size) {
        decoder.push(piece);
        decoder.push_stderr(piece);
        decoder.take_activity();
    }
    decoder.finish()
}

#[test]
fn parser_reads_each_format_name_as_printed() {
    for &format in Format::VARIANTS {
        assert_eq!(format.to_string().parse(), Ok(format));
        assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{format}\""));
    }
    let error = "Claude".parse::<Format>().unwrap_err();
    assert_eq!(error.to_string(), "unknown agent format 'Claude'");
}

#[test]
fn decoder_detects_every_format_and_reads_its_promise() {
    let complete = Heard::Promise(Promise::Complete);
    for (stream, format) in STREAMS.iter().zip([
        Format::Text,
        Format::Claude,
        Format::Qwen,
        Format::Codex,
        Format::Gemini,
        Format::Opencode,
        Format::Copilot,
        Format::Pi,
    ]) {
        let report = decode(Format::Auto, stream.as_bytes(), 7);
        assert_eq!((&report.heard, report.format), (&complete, format));
        assert!(report.ended);
        let crlf = stream.replace('\n', "\r\n");
        assert_eq!(decode(format, crlf.as_bytes(), 7), report);
    }
}

#[test]
fn cut_stream_has_no_promise() {
    for stream in &STREAMS[1..] {
        let first_line = stream.find('\n').unwrap();
        for cut in first_line..stream.len() {
            let heard = decode(Format::Auto, &stream.as_bytes()[..cut], 64).heard;
            assert!(!matches!(heard, Heard::Promise(_)), "{}", &stream[..cut]);
        }
    }
}

#[test]
fn text_format_reads_no_promise_from_json_lines() {
    for stream in &STREAMS[1..] {
        let heard = decode(Format::Text, stream.as_bytes(), 64).heard;
        assert_eq!(heard, Heard::InJson, "{stream}");
    }
}

#[test]
fn decoder_reads_no_promise_from_stderr() {
    let mut decoder = Decoder::new(Format::Text, "");
    decoder.push_stderr(b"<promise>COMPLETE</promise>\n");
    assert_eq!(decoder.finish().heard, Heard::Nothing);
}

#[test]
fn plain_text_gives_the_fault_if_no_stream_began() {
    let fault = |stdout: &str, stderr: &str| {
        let mut decoder = Decoder::new(Format::Claude, "");
        decoder.push(stdout.as_bytes());
        decoder.push_stderr(stderr.as_bytes());
        decoder.finish().fault.map(|fault| fault.kind)
    };
    let signed_out = "Invalid API key \u{b7} Please run /login\n";
    assert_eq!(fault(signed_out, ""), Some(FaultKind::Auth));
    assert_eq!(fault("", "error: unknown option '-x'\n"), Some(FaultKind::Setup));
    assert_eq!(fault("", "something else\n"), None);
    let begun = "{\"type\":\"system\",\"subtype\":\"init\"}\n";
    assert_eq!(fault(&format!("{begun}{signed_out}"), ""), None);
}

#[test]
fn keep_end_keeps_the_last_bytes() {
    let mut kept = Vec::new();
    for piece in [&b"abc"[..], b"d", b"efghijk", b""] {
        keep_end(&mut kept, piece, 4);
    }
    assert_eq!(kept, b"hijk");
}

#[test]
fn new_output_is_progress_unless_an_error_repeats() {
    for format in [Format::Auto, Format::Text, Format::Codex] {
        let mut decoder = Decoder::new(format, "");
        assert!(!decoder.made_progress());
        decoder.push(b"words\n");
        assert!(decoder.made_progress(), "{format}");
        assert!(!decoder.made_progress());
        decoder.push_stderr(b"x");
        assert!(decoder.made_progress());
    }
    let retry = "{\"type\":\"system\",\"subtype\":\"api_retry\",\"error\":\"unknown\"}\n";
    let mut decoder = Decoder::new(Format::Claude, "");
    let progress = [retry, retry, "{}\n"].map(|line| {
        decoder.push(line.as_bytes());
        decoder.made_progress()
    });
    assert_eq!(progress, [true, false, true]);
    decoder.push_stderr(b"trying again\n");
    assert!(!decoder.made_progress());
}

#[test]
fn repeated_tool_calls_are_no_progress() {
    let mut decoder = Decoder::new(Format::Claude, "");
    let mut progress = |command: &str| {
        let used = format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","name":"Bash","input":{{"command":"{command}"}}}}]}}}}"#
        );
        decoder.push(format!("{used}\n{{\"type\":\"user\"}}\n").as_bytes());
        decoder.made_progress()
    };
    for round in 0..40 {
        let command = ["make", "make test", "cat log"][round % 3];
        // Three of them are new, then twenty more may be the same.
        assert_eq!(progress(command), round < 22, "{round}");
    }
    assert!(progress("vi main.c"));
    assert!(progress("make"));
}

#[test]
fn repeated_empty_step_is_no_progress() {
    let mut decoder = Decoder::new(Format::Opencode, "");
    let mut progress = |line: &str| {
        decoder.push(format!("{line}\n").as_bytes());
        decoder.made_progress()
    };
    let begin = r#"{"type":"step_start","sessionID":"s","part":{}}"#;
    let talk = r#"{"type":"text","sessionID":"s","part":{"messageID":"m","text":"Let me"}}"#;
    let nothing = r#"{"type":"step_finish","part":{"reason":"unknown","tokens":{"input":0,"output":0}}}"#;
    assert!(progress(begin) && progress(talk) && !progress(nothing));
    for line in [begin, talk, nothing] {
        assert!(!progress(line), "{line}");
    }
    assert!(!progress(begin));
    assert!(progress(r#"{"type":"tool_use","part":{"tool":"bash"}}"#));
    assert!(progress(begin));
    let cut = r#"{"type":"step_finish","part":{"reason":"unknown","tokens":{"input":7,"output":0}}}"#;
    assert!(progress(cut) && progress(begin));
}

fn broken_stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        6 => prop::sample::select(STREAMS.to_vec()).prop_flat_map(|stream| {
            let lines: Vec<_> = stream.lines().map(|line| format!("{line}\n")).collect();
            prop::sample::select(lines).prop_map(String::into_bytes)
        }),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => "[\\[\\]{}\":,a-z0-9\n]{0,20}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn size_of_pieces_does_not_change_the_report(stream in broken_stream(), size in 1_usize..90) {
        for &format in Format::VARIANTS {
            let whole = decode(format, &stream, usize::MAX);
            prop_assert_eq!(decode(format, &stream, size), whole);
        }
    }
}
