//! Reads the parts of a loop's logs that a report shows.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::{Gate, Report};
use crate::agent::decode::{Decoder, Format};
use crate::events::Stretch;
use crate::fs::{Links, open_regular};
use crate::inspect::attempt_output::AttemptOutput;
use crate::state::Store;

/// Maximum length of the end of an attempt's output, in bytes.
const LOG_END: usize = 32 * 1024;
/// Maximum length of the end of a log's part that is searched for the final message, in bytes.
const SEARCHED: u64 = 1 << 20;

/// Maximum length of the end of a gate's output, in bytes.
const GATE_END: u64 = 4 * 1024;
/// The line before the end of a text.
const CUT: &str = "… the beginning is left out\n";

/// Adds to each attempt the agent's final message, the output of its gates, and the end of its output if `logs` is set.
/// Skips logs that no longer exist.
pub(super) fn add(report: &mut Report, store: &Store, logs: bool) {
    for attempt in report.stories.iter_mut().flat_map(|story| &mut story.attempts) {
        let done = &attempt.entry.attempt;
        let begun = attempt.entry.begun.as_ref();
        let format = begun.and_then(|(_, begun)| begun.format.as_deref());
        let format = format.map(|format| format.parse().unwrap_or(Format::Auto));
        let path = store.attempt_log(&done.story, done.attempt);
        // For an agent's own session there is only its message.
        let of_agent = format.unwrap_or(Format::Text);
        let message = done.output.and_then(|part| message(&path, part, of_agent));
        attempt.message = message.filter(|message| Some(message.as_str()) != done.reason.as_deref());
        attempt.gates.iter_mut().for_each(|gate| add_to(gate, &path));
        attempt.has_log = open_regular(&path, Links::Refused).is_ok();
        if logs {
            attempt.log = end_of_log(&path, format.unwrap_or(Format::Auto));
        }
    }
    let path = store.gates_log();
    report.gates.iter_mut().for_each(|gate| add_to(gate, &path));
}

/// Adds to a gate the end of its output in this log.
fn add_to(gate: &mut Gate, log: &Path) {
    let Some(part) = gate.printed else {
        return;
    };
    let mut end = Vec::new();
    let read = end_of(log, part, GATE_END).and_then(|mut rest| rest.read_to_end(&mut end));
    let text = String::from_utf8_lossy(&end);
    let text = text.trim_end();
    let is_cut = part.to.saturating_sub(part.from) > GATE_END;
    let begin = if is_cut { CUT } else { "" };
    gate.output = (read.is_ok() && !text.is_empty()).then(|| format!("{begin}{text}"));
}

/// Returns the end of the final message in a part of a log; `None` if it is only a promise, or without a log.
fn message(log: &Path, part: Stretch, format: Format) -> Option<String> {
    let mut decoder = Decoder::new(format, "");
    let mut rest = end_of(log, part, SEARCHED).ok()?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match rest.read(&mut piece).ok()? {
            0 => break,
            read => decoder.push(&piece[..read]),
        }
    }
    let message = decoder.finish().message;
    let text = message.text.trim();
    // Half a line could be half of something that is to be taken out.
    let lines = text.split_once('\n').filter(|_| message.is_cut);
    let text = lines.map_or(text, |(_, lines)| lines);
    let begin = if message.is_cut { CUT } else { "" };
    // The verdict and the reason have the content of a promise.
    let is_promise = text.starts_with("<promise>")
        && text
            .find("</promise>")
            .is_some_and(|end| end + "</promise>".len() == text.len());
    (!text.is_empty() && !is_promise).then(|| format!("{begin}{text}"))
}

/// Opens a part of a log for reading; if it is longer than `most` bytes, only its last whole lines.
fn end_of(log: &Path, part: Stretch, most: u64) -> io::Result<impl Read + use<>> {
    let mut file: File = open_regular(log, Links::Refused)?;
    let from = part.from.max(part.to.saturating_sub(most));
    file.seek(SeekFrom::Start(from))?;
    let mut rest = BufReader::new(file.take(part.to.saturating_sub(from)));
    if from > part.from {
        rest.skip_until(b'\n')?;
    }
    Ok(rest)
}

fn end_of_log(path: &Path, format: Format) -> Option<String> {
    let mut output = AttemptOutput::open(path, Some(format)).ok()?;
    let (mut end, mut is_cut) = (Vec::new(), false);
    while let Ok(Some(piece)) = output.read() {
        end.extend_from_slice(&piece);
        let more = end.len().saturating_sub(LOG_END);
        is_cut |= more > 0;
        end.drain(..more);
    }
    end.extend_from_slice(&output.rest());
    if is_cut {
        // Half a line could be half of something that is to be taken out.
        let first = end.iter().position(|byte| *byte == b'\n');
        end.drain(..first.map_or(end.len(), |first| first + 1));
    }
    Some(String::from_utf8_lossy(&end).into_owned())
}
