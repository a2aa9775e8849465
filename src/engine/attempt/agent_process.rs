//! The listener of an agent's process. It has no access to the loop, which is unlocked while the agent runs.

use tokio::sync::oneshot;

use crate::agent::decode::Decoder;
use crate::agent::process::Listener;
use crate::engine::output_tail::OutputTail;
use crate::events::{News, Observer, Stream};

/// Decodes the output of an agent, and shows it.
pub(super) struct AgentListener<'a> {
    /// The change that the agent works on.
    pub change: String,
    pub observer: &'a dyn Observer,
    pub decoder: &'a mut Decoder,
    /// The end of its readable output.
    pub tail: OutputTail,
    /// Receives the agent's process id.
    pub started: Option<oneshot::Sender<i32>>,
}

impl Listener for AgentListener<'_> {
    fn started(&mut self, pid: i32) {
        if let Some(started) = self.started.take() {
            // A dropped receiver means that the attempt was given up.
            let _ = started.send(pid);
        }
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        let decoder = &mut *self.decoder;
        match stream {
            Stream::Stdout => decoder.push(bytes),
            Stream::Stderr => decoder.push_stderr(bytes),
        }
        let for_people = decoder.format().reads_text();
        if for_people && stream == Stream::Stdout {
            self.tail.push(bytes);
        }
        if for_people || stream == Stream::Stderr {
            self.observer.hear(News::Output {
                change: &self.change,
                stream,
                bytes,
            });
        }
        for line in decoder.take_activity() {
            self.tail.push(line.as_bytes());
            self.tail.push(b"\n");
            self.observer.hear(News::Activity(&line));
        }
    }

    fn tick(&mut self) {
        self.observer.hear(News::Tick);
    }

    fn stopping(&mut self) {
        self.observer.hear(News::Stopping);
    }

    fn made_progress(&mut self) -> bool {
        self.decoder.made_progress()
    }
}
