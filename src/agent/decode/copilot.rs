//! The stream of `copilot --output-format json`.
//!
//! The final message is the last `assistant.message` that uses no tool; `result` is the end marker. With `--autopilot`,
//! the final message uses only `task_complete`, whose summary is appended after a line that separates it from the text
//! around the promise. Copilot does not report tokens and cost.

use super::{Fault, lines::Object, report_builder::ReportBuilder};
use crate::agent::promise::SUMMARY;

/// Takes a line.
pub(super) fn line(event: &Object, report: &mut ReportBuilder) {
    if !event.may_have_object("data") {
        return;
    }
    match event.text("type").as_str() {
        // A subagent's message is not the agent's.
        "assistant.message" | "session.task_complete" if event.has("data/parentToolCallId") => {}
        "session.task_complete" => report.words(format!("\n{SUMMARY}\n{}", event.text("data/summary"))),
        "assistant.message" => {
            let Some(tools) = event.list("data/toolRequests") else {
                return;
            };
            let text = event.text("data/content");
            let is_final = tools.iter().all(|tool| tool.text("name") == "task_complete");
            // Without text it only repeats that the message before it was the last.
            if is_final && text.is_empty() && !tools.is_empty() {
                report.fault = None;
                return;
            }
            report.note(&text);
            report.message_begins();
            report.works_with(event.get("data/model"));
            if is_final {
                report.words(text);
            }
        }
        "tool.execution_start" => {
            report.note_tool(&event.text("data/toolName"), &event.object("data/arguments"));
        }
        // A subagent reports its failure to the agent.
        "model.call_failure" if event.text("data/source") != "top_level" => {}
        kind @ ("session.error" | "model.call_failure") => {
            let name: Option<String> = event.get("data/errorType");
            let (name, status) = (name.as_deref(), event.get("data/statusCode"));
            let fault = match kind {
                "session.error" => Fault::new(name, status, &event.text("data/message")),
                _ => Fault::of_request(name, status, &event.text("data/errorMessage")),
            };
            report.note(&fault.message);
            report.fails(fault);
        }
        "result" => {
            report.ended = true;
            report.session = event.get("sessionId");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::agent::decode::{Decoder, FaultKind, Format, Report};
    use crate::agent::promise::{Heard, Promise, doubt};

    const START: &str = r#"{"type":"session.tools_updated","data":{"model":"m"}}"#;
    const PROMPT: &str = r#"{"type":"user.message","data":{"content":"x\n<promise>COMPLETE</promise>"}}"#;
    const ASK: &str = r#"{"type":"assistant.message","data":{"content":"<promise>COMPLETE</promise>","toolRequests":[{"name":"bash"}]}}"#;
    const TOOL: &str =
        r#"{"type":"tool.execution_start","data":{"toolName":"bash","arguments":{"command":"make"}}}"#;
    const SAY: &str = r#"{"type":"assistant.message","data":{"model":"m","content":"Done.\n<promise>COMPLETE</promise>","toolRequests":[]}}"#;
    const END: &str = r#"{"type":"result","sessionId":"s1","exitCode":0}"#;

    fn decode(lines: &[&str]) -> Report {
        let mut decoder = Decoder::new(Format::Auto, "Do it.");
        decoder.push(lines.join("\n").as_bytes());
        decoder.finish()
    }

    #[test]
    fn decoder_reads_a_promise_from_the_last_message_without_tools() {
        let report = decode(&[START, PROMPT, ASK, TOOL, SAY, END]);
        assert_eq!(report.heard, Heard::Promise(Promise::Complete));
        assert_eq!(
            (report.ended, report.fault, report.format),
            (true, None, Format::Copilot)
        );
        assert_eq!(report.session.as_deref(), Some("s1"));
        assert_eq!(report.model.as_deref(), Some("m"));
        let helper = SAY.replace("toolRequests", "parentToolCallId\":\"t\",\"toolRequests");
        for lines in [
            &[START, PROMPT, ASK, TOOL, END][..],
            &[START, SAY, ASK, TOOL, END],
            &[START, ASK, TOOL, &helper, END],
            &[START, SAY],
        ] {
            assert_eq!(decode(lines).heard, Heard::Nothing, "{lines:?}");
        }
    }

    #[test]
    fn message_that_ends_the_task_and_its_summary_are_final() {
        let says = |content: &str, tools: &str| {
            format!(
                r#"{{"type":"assistant.message","data":{{"content":"{content}","toolRequests":[{tools}]}}}}"#
            )
        };
        let summed_up = |words: &str, rest: &str| {
            format!(r#"{{"type":"session.task_complete","data":{{"summary":"{words}"{rest}}}}}"#)
        };
        let (done, tag) = (r#"{"name":"task_complete"}"#, "<promise>COMPLETE</promise>");
        let two = format!(r#"{{"name":"bash"}},{done}"#);
        let (bare, failed) = (summed_up("I did it.", ""), "<promise>FAILED: red</promise>");
        let nudge = r#"{"type":"user.message","data":{"content":"Mark the task complete."}}"#.to_owned();
        let complete = Heard::Promise(Promise::Complete);
        for (lines, wanted) in [
            (vec![says(tag, done), bare.clone()], complete.clone()),
            (vec![says("", done), summed_up(tag, "")], complete.clone()),
            (vec![says("Done.", done), summed_up(tag, "")], complete.clone()),
            (vec![says("", &two), summed_up(tag, "")], complete.clone()),
            (
                vec![says(tag, ""), nudge, says("", done), bare.clone()],
                complete.clone(),
            ),
            (
                vec![says(tag, done), summed_up(failed, "")],
                Heard::Promise(Promise::Failed("red".to_owned())),
            ),
            (
                vec![says(tag, done), summed_up("But two tests fail.", "")],
                Heard::Denied,
            ),
            (vec![says(tag, &two), bare.clone()], Heard::Nothing),
            (vec![says(tag, ""), says("", &two), bare.clone()], Heard::Nothing),
            (
                vec![says(tag, done), bare.clone(), says("More.", "")],
                Heard::Nothing,
            ),
            (
                vec![says("", done), summed_up(tag, r#","parentToolCallId":"t""#)],
                Heard::Nothing,
            ),
        ] {
            let all = [&[START.to_owned()], &lines[..], &[END.to_owned()]].concat();
            let report = decode(&all.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(report.heard, wanted, "{lines:?}");
        }
    }

    #[test]
    fn summary_makes_a_promise_doubtful_only_by_what_it_says() {
        let says = r#"{"type":"assistant.message","data":{"content":"Done.\n\n<promise>COMPLETE</promise>","toolRequests":[{"name":"task_complete"}]}}"#;
        for (summary, is_doubtful) in [
            ("Added the login form and its tests.", false),
            (
                "**Login**\\n\\n- form\\n- tests\\n\\nIt does not store the password, unless asked.",
                false,
            ),
            ("Added the form. The logout button is still missing.", true),
            ("- [ ] tests", true),
            ("The form is in, but the tests are for you", true),
        ] {
            let summed_up = format!(r#"{{"type":"session.task_complete","data":{{"summary":"{summary}"}}}}"#);
            let report = decode(&[START, says, &summed_up, END]);
            assert_eq!(report.heard, Heard::Promise(Promise::Complete), "{summary}");
            assert_eq!(
                doubt(&report.message.text, false).is_some(),
                is_doubtful,
                "{summary}"
            );
        }
    }

    #[test]
    fn an_error_is_a_fault() {
        let error = r#"{"type":"session.error","data":{"errorType":"authentication","message":"no"}}"#;
        let report = decode(&[START, SAY, error, END]);
        assert_eq!(
            (report.heard, report.fault.unwrap().kind),
            (Heard::Nothing, FaultKind::Auth)
        );
        assert_eq!(decode(&[START, error, SAY, END]).fault, None);
    }

    #[test]
    fn failed_call_of_the_agent_itself_is_a_fault_until_a_message_comes() {
        let failed = |data: &str| format!(r#"{{"type":"model.call_failure","data":{{{data}}}}}"#);
        let top = |data: &str| failed(&format!(r#""source":"top_level",{data}"#));
        let limit = top(r#""statusCode":429,"errorMessage":"slow down""#);
        for (line, kind) in [
            (limit.clone(), Some(FaultKind::RateLimited)),
            (
                top(r#""statusCode":503,"errorMessage":"odd""#),
                Some(FaultKind::Overloaded),
            ),
            (top(r#""errorMessage":"odd""#), Some(FaultKind::Network)),
            (
                top(r#""statusCode":402,"errorMessage":"{\"message\":\"Quota exceeded\"}""#),
                Some(FaultKind::Billing),
            ),
            (
                top(r#""statusCode":400,"errorMessage":"odd""#),
                Some(FaultKind::Other),
            ),
            (failed(r#""source":"subagent","statusCode":429"#), None),
        ] {
            let fault = decode(&[START, &line, END]).fault;
            assert_eq!(fault.map(|fault| fault.kind), kind, "{line}");
        }
        let end = r#"{"type":"session.error","data":{"errorType":"query","message":"Retried 5 times."}}"#;
        let fault = decode(&[START, &limit, end, END]).fault.unwrap();
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (FaultKind::RateLimited, "slow down")
        );
        let done =
            r#"{"type":"assistant.message","data":{"content":"","toolRequests":[{"name":"task_complete"}]}}"#;
        for lines in [&[START, &limit, SAY, END][..], &[START, SAY, &limit, done, END]] {
            assert_eq!(decode(lines).heard, Heard::Promise(Promise::Complete));
        }
    }

    #[test]
    fn messages_and_tools_are_activity() {
        let mut decoder = Decoder::new(Format::Copilot, "");
        decoder.push([TOOL, SAY, ""].join("\n").as_bytes());
        assert_eq!(decoder.take_activity(), ["bash: make", "Done."]);
    }
}
