//! An agent's process, and those who hear it. The loop is not named here: while an agent runs, the loop is free.

use std::fs::File;

use tokio::sync::oneshot;

use crate::agent::decode::Decoder;
use crate::agent::job::Job;
use crate::agent::process::{self, Ended, Listener, ProcessError};
use crate::engine::output_tail::OutputTail;
use crate::events::{News, Observer, Stream};
use crate::signal::Stop;

/// An agent that is about to run.
pub(super) struct AgentProcess<'a> {
    /// The change that it works on.
    pub change: String,
    pub job: Job,
    /// The file that gets its output.
    pub log: &'a File,
    pub decoder: &'a mut Decoder,
    pub observer: &'a dyn Observer,
}

impl AgentProcess<'_> {
    /// Runs the agent until nothing of it is alive; returns its ending and the end of its readable output. `started` gets its
    /// process id.
    ///
    /// # Errors
    /// As [`process::run`].
    pub async fn run(
        self,
        mut stop: Stop,
        started: oneshot::Sender<i32>,
    ) -> Result<(Ended, String), ProcessError> {
        let mut listener = AgentListener {
            change: self.change,
            observer: self.observer,
            decoder: self.decoder,
            tail: OutputTail::default(),
            started: Some(started),
        };
        let ended = process::run(self.job, self.log, &mut stop, &mut listener).await?;
        Ok((ended, listener.tail.text()))
    }
}

/// Listens to an agent: decodes it and shows it.
struct AgentListener<'a> {
    change: String,
    observer: &'a dyn Observer,
    decoder: &'a mut Decoder,
    /// The end of its readable output.
    tail: OutputTail,
    /// Gets its process id.
    started: Option<oneshot::Sender<i32>>,
}

impl Listener for AgentListener<'_> {
    fn started(&mut self, pid: i32) {
        if let Some(started) = self.started.take() {
            // Who does not wait for it has given up the attempt.
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
