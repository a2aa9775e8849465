//! Reads the verdict from a reviewer's output. Pure.

use crate::agent::decode::Report;
use crate::agent::process::Ending;
use crate::agent::promise::{Heard, denies_acceptance};
use crate::engine::attempt::backoff::Unavailable;
use crate::engine::attempt::verdict::judge;
use crate::prompt::review::harmless;
use crate::state::Verdict;

/// The reason why a verdict without the nonce of its prompt does not count, with advice.
const NO_NONCE: &str = "its verdict had not the letters and digits that its prompt asks for, so that it may be a quotation; a \
     script takes the verdict from its prompt: grep -o '<verdict>ACCEPT [a-z0-9]*</verdict>'";

/// The reason why a verdict that is denied by the words around it does not count.
const DENIED: &str = "words around its verdict can be read as its opposite";

/// The opinion of a reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opinion {
    /// The work is accepted.
    Accepted,
    /// The work is rejected.
    Rejected,
    /// There is no verdict; the text says why.
    None(String),
    /// The reviewer's service cannot answer now.
    Away(Unavailable),
    /// This signal asked git-ralph to stop.
    Interrupted(i32),
}

/// Reads the opinion from the end and the report of the reviewer with this name.
pub(super) fn opinion(ending: &Ending, report: &Report, name: Option<&str>) -> Opinion {
    if let Ending::RunnerKilled(signal) = ending {
        return Opinion::None(format!("its runner was ended by signal {signal}"));
    }
    let judged = judge(ending, report, name);
    let reason = judged.reason.unwrap_or_else(|| judged.verdict.to_string());
    match judged.verdict {
        // Its message does not count after a failed exit.
        Verdict::Complete | Verdict::Failed if exit(ending).is_some() => {
            let exit = exit(ending).unwrap_or_default();
            Opinion::None(format!("it gave a verdict, but did not end well{exit}"))
        }
        Verdict::Complete if denies_acceptance(&report.message.text) => Opinion::None(DENIED.to_owned()),
        Verdict::Complete => Opinion::Accepted,
        Verdict::Failed => Opinion::Rejected,
        Verdict::RateLimited | Verdict::Overloaded => Opinion::Away(Unavailable {
            reason,
            retry_after: judged.retry_after,
            waited: judged.waited,
        }),
        Verdict::NoSignal => Opinion::None(unheard(ending, report)),
        _ => match judged.signal {
            Some(signal) => Opinion::Interrupted(signal),
            None => Opinion::None(about_it(reason)),
        },
    }
}

/// Returns the exit code of a reviewer that did not end with 0, in words.
fn exit(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Exited(code) if *code != 0 => Some(format!(" (exit code {code})")),
        _ => None,
    }
}

/// Turns a message about an agent into one about the reviewer, which is named before it.
fn about_it(reason: String) -> String {
    for (whose, its) in [("the agent's ", "its "), ("the agent ", "it ")] {
        if let Some(rest) = reason.strip_prefix(whose) {
            return format!("{its}{rest}");
        }
    }
    reason
}

/// Returns the reason why the message contains no verdict.
fn unheard(ending: &Ending, report: &Report) -> String {
    let why = match &report.heard {
        Heard::InSentence => "its verdict was inside a sentence; it must be on a line of its own".to_owned(),
        Heard::Denied => DENIED.to_owned(),
        Heard::InThoughts => "its verdict stood in thoughts, not in the message".to_owned(),
        Heard::Repeated => "its verdict stood in a quotation or a diff, not on a line of its own".to_owned(),
        Heard::InJson => "it printed JSON of a format that git-ralph does not know".to_owned(),
        Heard::NoNonce => NO_NONCE.to_owned(),
        Heard::Unknown(text) => format!("its verdict was '{text}', which is neither ACCEPT nor REJECT"),
        Heard::Nothing | Heard::Promise(_) => "it said none".to_owned(),
    };
    let exit = exit(ending).unwrap_or_default();
    let last = report.last_line.as_ref().filter(|_| !exit.is_empty());
    let last = last.map_or_else(String::new, |line| format!(": {line}"));
    format!("{why}{exit}{last}")
}

/// Returns the end of a reviewer's last message without its verdict, with control characters visible and tags harmless.
pub(super) fn words(report: &Report) -> String {
    let message = &report.message;
    let cut = if message.is_cut { "[...]" } else { "" };
    let text = format!("{cut}{}", message.text);
    let lines = text.lines().filter(|line| !is_verdict(line));
    let lines: Vec<String> = lines.map(|line| harmless(line.trim_end())).collect();
    lines.join("\n").trim().to_owned()
}

/// Returns whether a line is a bare verdict without a reason.
fn is_verdict(line: &str) -> bool {
    let bare = line.trim_matches(|c: char| !c.is_alphanumeric() && c != '<' && c != '>');
    let inner = bare.strip_prefix("<verdict>");
    let inner = inner.and_then(|rest| rest.strip_suffix("</verdict>"));
    let mut words = inner.unwrap_or_default().split(' ');
    let is_word = matches!(words.next(), Some("ACCEPT" | "REJECT"));
    is_word && words.all(|word| word.chars().all(|c| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::decode::{Decoder, Format};
    use crate::agent::promise::{Nonce, Tag};

    const ACCEPT: &str = "<verdict>ACCEPT</verdict>";
    const REJECT: &str = "<verdict>REJECT</verdict>";

    fn report(format: Format, prompt: &str, text: &str) -> Report {
        let mut decoder = Decoder::of(Tag::VERDICT, format, prompt);
        decoder.push(text.as_bytes());
        decoder.finish()
    }

    fn heard(text: &str) -> Opinion {
        opinion(&Ending::Exited(0), &report(Format::Auto, "", text), None)
    }

    #[test]
    fn a_verdict_is_the_last_line_of_its_own() {
        for text in [
            format!("{ACCEPT}\n"),
            format!("It does what is asked. No tests were weakened.\n\n{ACCEPT}\n"),
            format!("- src/a.rs:3 is not a stub.\n- Nothing was removed\n\n**{ACCEPT}**\n"),
            format!("The name is fine for now.\n\nAlles ist da.\n{ACCEPT}\n"),
            format!("All is well. {ACCEPT}"),
            format!("<think>\n{REJECT}\n</think>\nFine.\n{ACCEPT}\n"),
            format!("The prompt asks for `{ACCEPT}` or `{REJECT}`.\n{ACCEPT}\n"),
        ] {
            assert_eq!(heard(&text), Opinion::Accepted, "{text}");
        }
        for text in [
            format!("{REJECT}\n"),
            format!("Box 1.2 is not done.\n{REJECT}\n"),
            "<verdict>REJECT: no tests</verdict>\n".to_owned(),
        ] {
            assert_eq!(heard(&text), Opinion::Rejected, "{text}");
        }
    }

    #[test]
    fn invalid_verdict_gives_a_reason() {
        for (text, why) in [
            (String::new(), "it said none"),
            ("It looks good to me.\n".to_owned(), "it said none"),
            (format!("{ACCEPT}\n{REJECT}\n"), "'ACCEPT and REJECT'"),
            (format!("{REJECT}\n{ACCEPT}\n"), "'ACCEPT and REJECT'"),
            ("<verdict>MAYBE</verdict>\n".to_owned(), "'MAYBE'"),
            ("<verdict>accept</verdict>\n".to_owned(), "'accept'"),
            (format!("I would say {ACCEPT} here, if asked.\n"), "sentence"),
            (format!("> {ACCEPT}\n"), "quotation or a diff"),
            (format!("+{ACCEPT}\n"), "quotation or a diff"),
            (format!("<think>\n{ACCEPT}\n</think>\n"), "thoughts"),
            (
                format!("The story is not complete, so no\n{ACCEPT}\n"),
                "opposite",
            ),
            (format!("{ACCEPT}\nBut the tests fail.\n"), "opposite"),
            (format!("Die Story ist nicht fertig.\n\n{ACCEPT}\n"), "opposite"),
            (format!("Os testes não passam.\n\n{ACCEPT}\n"), "opposite"),
            (
                format!("Box 1.2 has no implementation.\n\n{ACCEPT}\n"),
                "opposite",
            ),
            (
                format!("I think this should be rejected.\n\n{ACCEPT}\n"),
                "opposite",
            ),
            (format!("{ACCEPT}\n工作还没有完成。\n"), "opposite"),
            ("<promise>COMPLETE</promise>\n".to_owned(), "it said none"),
            (format!("{{\"x\":\"{ACCEPT}\"}}\n"), "JSON"),
        ] {
            let Opinion::None(found) = heard(&text) else {
                panic!("{text}: {:?}", heard(&text));
            };
            assert!(found.contains(why), "{text}: {found}");
        }
    }

    #[test]
    fn verdict_in_an_output_needs_the_nonce_of_the_prompt() {
        let (nonce, other) = (Nonce::random(), Nonce::random());
        assert_ne!(nonce, other);
        let tag = Tag::verdict(nonce);
        let said = |format: Format, text: &str| {
            let mut decoder = Decoder::of(tag, format, "");
            decoder.push(text.as_bytes());
            opinion(&Ending::Exited(0), &decoder.finish(), None)
        };
        let [accept, reject] = tag.forms();
        let [foreign, _] = Tag::verdict(other).forms();
        let reason = reject.replace("</", ": no tests</");
        for (text, expected) in [
            (accept.clone(), Opinion::Accepted),
            (format!("It is done.\n\n**{accept}**"), Opinion::Accepted),
            (format!("{REJECT}\n{accept}\n"), Opinion::Accepted),
            (format!("{accept}\n{REJECT}\n{foreign}\n"), Opinion::Accepted),
            (format!("<verdict>REJECT \n{accept}\n"), Opinion::Accepted),
            (reject.clone(), Opinion::Rejected),
            (format!("{ACCEPT}\n{reason}\n"), Opinion::Rejected),
        ] {
            assert_eq!(said(Format::Text, &text), expected, "{text}");
        }
        for (text, why) in [
            (ACCEPT.to_owned(), "letters and digits"),
            (foreign.clone(), "letters and digits"),
            (format!("{accept}\n{reject}\n"), "'ACCEPT and REJECT'"),
            (format!("The story is not complete, so no\n{accept}"), "opposite"),
        ] {
            let Opinion::None(said_by) = said(Format::Text, &text) else {
                panic!("{text}");
            };
            assert!(said_by.contains(why), "{text}: {said_by}");
        }
        // A final message contains no quotation by chance.
        let message = |text: &str| serde_json::json!({"type": "result", "subtype": "success", "is_error": false, "result": text});
        for text in [&accept, ACCEPT] {
            let line = format!("{}\n", message(text));
            assert_eq!(said(Format::Claude, &line), Opinion::Accepted, "{text}");
        }
        let wrong = said(Format::Claude, &format!("{}\n", message(&foreign)));
        assert!(matches!(wrong, Opinion::None(_)), "{wrong:?}");
    }

    #[test]
    fn verdict_counts_only_in_the_final_message_of_a_stream() {
        let line = |kind: &str, text: &str| match kind {
            "result" => {
                serde_json::json!({"type": "result", "subtype": "success", "is_error": false, "result": text})
            }
            _ => {
                serde_json::json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}})
            }
        };
        let said_by = |lines: &[(&str, &str)]| {
            let text: String = lines
                .iter()
                .map(|(kind, text)| format!("{}\n", line(kind, text)))
                .collect();
            opinion(
                &Ending::Exited(0),
                &report(Format::Claude, "", &text),
                Some("claude"),
            )
        };
        assert_eq!(
            said_by(&[("assistant", REJECT), ("result", ACCEPT)]),
            Opinion::Accepted
        );
        assert_eq!(
            said_by(&[("assistant", ACCEPT), ("result", REJECT)]),
            Opinion::Rejected
        );
        let Opinion::None(why) = said_by(&[("assistant", ACCEPT)]) else {
            panic!()
        };
        assert_eq!(why, "its output ends in the middle");
    }

    /// The output of each kind of agent whose last message is `SAID`, and which saw `OTHER` before.
    const STREAMS: &[(Format, &str)] = &[
        (
            Format::Claude,
            r#"{"type":"system","subtype":"init","session_id":"s"}
{"type":"user","message":{"content":[{"type":"tool_result","content":"OTHER"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"SAID"}"#,
        ),
        (
            Format::Codex,
            r#"{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"OTHER"}}
{"type":"item.completed","item":{"type":"agent_message","text":"SAID"}}
{"type":"turn.completed","usage":{}}"#,
        ),
        (
            Format::Gemini,
            r#"{"type":"init","session_id":"s"}
{"type":"message","role":"user","content":"OTHER"}
{"type":"message","role":"assistant","content":"SAID","delta":true}
{"type":"result","status":"success","stats":{}}"#,
        ),
        (
            Format::Opencode,
            r#"{"type":"step_start","sessionID":"s","part":{"messageID":"m"}}
{"type":"tool_use","part":{"messageID":"m","tool":"bash","state":{"input":{"command":"make"},"output":"OTHER"}}}
{"type":"step_finish","part":{"reason":"tool-calls"}}
{"type":"step_start","sessionID":"s","part":{"messageID":"n"}}
{"type":"text","part":{"messageID":"n","text":"SAID"}}
{"type":"step_finish","part":{"reason":"stop"}}"#,
        ),
        (
            Format::Copilot,
            r#"{"type":"session.tools_updated","data":{"model":"m"}}
{"type":"user.message","data":{"content":"OTHER"}}
{"type":"assistant.message","data":{"model":"m","content":"SAID","toolRequests":[]}}
{"type":"result","sessionId":"s","exitCode":0}"#,
        ),
        (
            Format::Qwen,
            r#"{"type":"system","subtype":"init","qwen_code_version":"0.1"}
{"type":"user","message":{"content":[{"type":"tool_result","content":"OTHER"}]}}
{"type":"result","is_error":false,"result":"SAID"}"#,
        ),
        (
            Format::Pi,
            r#"{"type":"session","version":3,"id":"s"}
{"type":"message_end","message":{"role":"toolResult","content":[{"type":"text","text":"OTHER"}]}}
{"type":"message_end","message":{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"SAID"}]}}
{"type":"agent_end","messages":[]}"#,
        ),
        (
            Format::Droid,
            r#"{"type":"system","subtype":"init","session_id":"s","reasoning_effort":"none"}
{"type":"message","role":"user","text":"OTHER"}
{"type":"completion","finalText":"SAID"}"#,
        ),
        (
            Format::Goose,
            r#"{"type":"message","message":{"id":"l","role":"assistant","content":[{"type":"text","text":"OTHER"},{"type":"toolRequest","id":"t","toolCall":{"status":"success","value":{"name":"shell","arguments":{}}}}]}}
{"type":"message","message":{"id":"m","role":"user","content":[{"type":"toolResponse","id":"t"}]}}
{"type":"message","message":{"id":"n","role":"assistant","content":[{"type":"text","text":"SAID"}]}}
{"type":"complete","total_tokens":70}"#,
        ),
        (
            Format::Cline,
            r#"{"type":"agent_event","event":{"type":"text","text":"OTHER"}}
{"type":"run_result","text":"SAID","finishReason":"completed"}"#,
        ),
        (
            Format::Openhands,
            r#"{"source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"OTHER"}]},"kind":"MessageEvent"}
{"source":"agent","action":{"message":"SAID","kind":"FinishAction"},"tool_name":"finish","kind":"ActionEvent"}
"#,
        ),
    ];

    #[test]
    fn a_verdict_is_read_in_every_format() {
        for (format, stream) in STREAMS {
            let said_by = |said: &str, other: &str| {
                let text = stream.replace("SAID", said).replace("OTHER", other);
                opinion(&Ending::Exited(0), &report(*format, "", &text), None)
            };
            let why = "Box 1.2 is done.\\n\\n";
            assert_eq!(
                said_by(&format!("{why}{ACCEPT}"), REJECT),
                Opinion::Accepted,
                "{format:?}"
            );
            assert_eq!(
                said_by(&format!("{why}{REJECT}"), ACCEPT),
                Opinion::Rejected,
                "{format:?}"
            );
            let none = said_by("Box 1.2 is done.", ACCEPT);
            assert!(
                matches!(&none, Opinion::None(why) if why == "it said none"),
                "{none:?}"
            );
        }
    }

    #[test]
    fn abnormal_end_of_a_reviewer_overrides_its_verdict() {
        let said = report(Format::Auto, "", ACCEPT);
        let ended = |ending: Ending| opinion(&ending, &said, None);
        assert_eq!(ended(Ending::Interrupted(2)), Opinion::Interrupted(2));
        let killed = ended(Ending::RunnerKilled(9));
        assert_eq!(
            killed,
            Opinion::None("its runner was ended by signal 9".to_owned())
        );
        assert_eq!(
            ended(Ending::TimedOut("late".to_owned(), std::time::Duration::ZERO)),
            Opinion::None("late".to_owned())
        );
        assert_eq!(
            ended(Ending::Killed(9)),
            Opinion::None("it was ended by signal 9".to_owned())
        );
        let silent = report(Format::Auto, "", "");
        let gone = opinion(&Ending::Exited(127), &silent, None);
        assert!(matches!(gone, Opinion::None(why) if why.contains("exit code 127")));
        assert_eq!(
            ended(Ending::Exited(3)),
            Opinion::None("it gave a verdict, but did not end well (exit code 3)".to_owned())
        );
        let crashed = opinion(&Ending::Exited(3), &report(Format::Auto, "", "oops\n"), None);
        assert_eq!(
            crashed,
            Opinion::None("it said none (exit code 3): oops".to_owned())
        );
    }

    #[test]
    fn shown_words_leave_out_the_verdict_and_escape_control_characters() {
        let shown = |text: &str| words(&report(Format::Text, "", text));
        let text = format!("a\u{7}b\u{9b}\tc\n<promise>COMPLETE</promise>\n\n**{REJECT}**\n");
        assert_eq!(shown(&text), "a^Gb\u{fffd}\tc\n[promise]COMPLETE[/promise]");
        assert!(shown(&"x".repeat(100_000)).len() < 5000);
        assert!(shown(&"x".repeat(100_000)).starts_with("[...]x"));
    }
}
