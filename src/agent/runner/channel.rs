//! The messages between git-ralph and a runner: frames of a kind, a length and that number of bytes.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::events::Stream;
use crate::paths::{percent_decode, percent_encode};

/// The version of these messages: without `/proc`, a runner can be another git-ralph.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Length of a frame's head: its kind, and the length of its body.
const HEAD: usize = 5;
/// Maximum length of a frame's body; a prompt is the longest.
const MOST: usize = 1 << 30;

/// Minimum free capacity of the read buffer, in bytes.
const ROOM: usize = 256 * 1024;

/// The kinds of frames.
const MESSAGE: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STDIN: u8 = 3;

/// A word of a command line or of an environment: text with escapes for bytes that are not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word(pub(super) OsString);

impl Word {
    pub(super) fn of(word: impl AsRef<OsStr>) -> Self {
        Self(word.as_ref().to_owned())
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&percent_encode(self.0.as_bytes()))
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self(OsString::from_vec(percent_decode(&text))))
    }
}

/// The process that a runner starts. The preceding frame has its standard input.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Command {
    pub(super) version: String,
    pub(super) argv: Vec<Word>,
    pub(super) dir: Word,
    pub(super) env: Vec<(Word, Word)>,
    pub(super) env_remove: Vec<Word>,
    /// The value of `GIT_RALPH_RUN`.
    pub(super) run: String,
}

/// A message to the runner.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Start this process.
    Start(Command),
    /// End it: TERM, a grace period, KILL.
    End,
    /// Shorten the grace period.
    Hurry,
}

/// A frame that the runner receives.
#[derive(Debug)]
pub(super) enum Received {
    Order(Order),
    Stdin(Vec<u8>),
}

/// An operating system error with its number.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    number: Option<i32>,
    words: String,
}

impl From<&io::Error> for Failure {
    fn from(error: &io::Error) -> Self {
        Self {
            number: error.raw_os_error(),
            words: error.to_string(),
        }
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        match failure.number {
            Some(number) => Self::from_raw_os_error(number),
            None => Self::other(failure.words),
        }
    }
}

/// A message of the runner.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum News {
    /// The process was started, with this process id, which is also its session.
    Started(Option<i32>),
    /// The process could not be started.
    NotStarted(Failure),
    /// The process exited with this code.
    Exited(i32),
    /// A signal ended the process.
    Killed(i32),
    /// The log cannot be written.
    LogFailed(Failure),
    /// No process is left except those that survive SIGKILL (`alive`). `ended` is the highest number of processes that
    /// had to be ended at one time.
    Ended { alive: usize, ended: usize },
}

/// A frame that git-ralph receives.
#[derive(Debug)]
pub(crate) enum Printed {
    /// The process printed these bytes.
    Output(Stream, Vec<u8>),
    /// A message of the runner.
    News(News),
}

/// Reads frames; dropping a read at any await point loses no byte.
#[derive(Debug)]
struct Frames {
    half: OwnedReadHalf,
    buffer: Vec<u8>,
    /// The offset of the next frame in the buffer.
    next: usize,
}

impl Frames {
    /// Returns the kind and the body of the next frame; `None` at the end of the channel.
    async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            match self.take_whole() {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => {}
                // No runner of this git-ralph sends such a frame.
                Err(()) => return None,
            }
            match self.half.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    fn take_whole(&mut self) -> Result<Option<(u8, Vec<u8>)>, ()> {
        let length = match self.buffer[self.next..].split_first_chunk::<HEAD>() {
            Some((&[kind, a, b, c, d], rest)) => {
                let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).map_err(|_| ())?;
                if length > MOST {
                    return Err(());
                }
                if let Some(frame) = rest.get(..length) {
                    self.next += HEAD + length;
                    return Ok(Some((kind, frame.to_vec())));
                }
                length
            }
            None => 0,
        };
        self.buffer.drain(..self.next);
        self.next = 0;
        // A long frame needs only one allocation.
        let room = (HEAD + length).max(ROOM);
        self.buffer.shrink_to(room);
        self.buffer.reserve(room.saturating_sub(self.buffer.len()));
        Ok(None)
    }
}

/// Frames that are still to be written; a write can be interrupted at any byte.
#[derive(Debug)]
struct Waiting {
    half: OwnedWriteHalf,
    bytes: VecDeque<u8>,
}

impl Waiting {
    fn push(&mut self, kind: u8, rest: &[u8]) -> io::Result<()> {
        let too_long = || io::Error::new(io::ErrorKind::InvalidInput, "it is longer than a gigabyte");
        let length = u32::try_from(rest.len()).ok();
        let length = length.filter(|_| rest.len() <= MOST).ok_or_else(too_long)?;
        self.bytes.push_back(kind);
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(rest);
        Ok(())
    }

    fn push_message(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.push(MESSAGE, &serde_json::to_vec(message)?)
    }

    /// Writes the pending bytes.
    async fn flush(&mut self) -> io::Result<()> {
        while !self.bytes.is_empty() {
            self.half.write_buf(&mut self.bytes).await?;
        }
        Ok(())
    }
}

fn parse<T: DeserializeOwned>(rest: &[u8]) -> Option<T> {
    serde_json::from_slice(rest).ok()
}

/// Git-ralph's end of the channel.
#[derive(Debug)]
pub(super) struct OwnEnd {
    frames: Frames,
    waiting: Waiting,
}

impl OwnEnd {
    pub(super) fn new(stream: UnixStream) -> Self {
        let (frames, waiting) = split(stream);
        Self { frames, waiting }
    }

    /// Sends the process to start, after its standard input.
    pub(super) async fn start(&mut self, stdin: &[u8], command: Command) -> io::Result<()> {
        self.waiting.push(STDIN, stdin)?;
        self.send(&Order::Start(command)).await
    }

    /// Sends an order. An error means that the runner has ended.
    pub(super) async fn send(&mut self, order: &Order) -> io::Result<()> {
        self.waiting.push_message(order)?;
        self.waiting.flush().await
    }

    /// Returns the next frame of the runner; `None` at the end of the channel, or after an unreadable frame.
    pub(super) async fn next(&mut self) -> Option<Printed> {
        let (kind, rest) = self.frames.next().await?;
        match kind {
            STDOUT => Some(Printed::Output(Stream::Stdout, rest)),
            STDERR => Some(Printed::Output(Stream::Stderr, rest)),
            _ => Some(Printed::News(parse(&rest)?)),
        }
    }
}

/// Maximum number of pending output bytes; beyond it, the printing process has to wait.
const MOST_WAITING: usize = 2 << 20;

/// The messages that the runner receives.
#[derive(Debug)]
pub(super) struct Orders(Frames);

impl Orders {
    /// Returns the next frame; `None` at the end of the channel: git-ralph has ended.
    pub(super) async fn next(&mut self) -> Option<Received> {
        let (kind, rest) = self.0.next().await?;
        match kind {
            STDIN => Some(Received::Stdin(rest)),
            _ => Some(Received::Order(parse(&rest)?)),
        }
    }
}

/// Holds the messages that the runner sends. Only [`Self::flush`] waits for git-ralph.
#[derive(Debug)]
pub(super) struct Outgoing(Waiting);

impl Outgoing {
    /// Returns whether bytes are pending.
    pub(super) fn has_bytes(&self) -> bool {
        !self.0.bytes.is_empty()
    }

    /// Returns whether more output may be read.
    pub(super) fn has_room(&self) -> bool {
        self.0.bytes.len() < MOST_WAITING
    }

    pub(super) fn output(&mut self, stream: Stream, bytes: &[u8]) {
        let kind = match stream {
            Stream::Stdout => STDOUT,
            Stream::Stderr => STDERR,
        };
        // A read is far shorter than the longest frame.
        let _ = self.0.push(kind, bytes);
    }

    pub(super) fn news(&mut self, news: &News) {
        let _ = self.0.push_message(news);
    }

    /// Writes the pending bytes. An error means that git-ralph has ended: it needs no report.
    pub(super) async fn flush(&mut self) {
        if self.0.flush().await.is_err() {
            self.0.bytes.clear();
        }
    }
}

/// Returns the runner's end of the channel.
pub(super) fn runners_end(stream: UnixStream) -> (Orders, Outgoing) {
    let (frames, waiting) = split(stream);
    (Orders(frames), Outgoing(waiting))
}

fn split(stream: UnixStream) -> (Frames, Waiting) {
    let (reading, writing) = stream.into_split();
    let frames = Frames {
        half: reading,
        buffer: Vec::new(),
        next: 0,
    };
    let waiting = Waiting {
        half: writing,
        bytes: VecDeque::new(),
    };
    (frames, waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    }

    #[test]
    fn a_command_keeps_words_of_any_bytes_and_a_long_prompt() {
        runtime().block_on(async {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let mut ours = OwnEnd::new(ours);
            let (mut orders, _) = runners_end(theirs);
            let word = Word(OsString::from_vec(b"100%\xff".to_vec()));
            let command = || Command {
                version: VERSION.to_owned(),
                argv: vec![word.clone()],
                dir: Word::of("/"),
                env: vec![(Word::of("NAME"), word.clone())],
                env_remove: vec![Word::of("GIT_DIR")],
                run: "1-2".to_owned(),
            };
            let prompt = vec![b'x'; 3 << 20];
            let (sent, received) = tokio::join!(ours.start(&prompt, command()), async {
                let Some(Received::Stdin(stdin)) = orders.next().await else {
                    panic!()
                };
                let Some(Received::Order(order)) = orders.next().await else {
                    panic!()
                };
                (stdin, order)
            });
            sent.unwrap();
            assert_eq!(received, (prompt, Order::Start(command())));
            drop(ours);
            assert!(orders.next().await.is_none());
        });
    }

    #[test]
    fn a_frame_without_its_end_is_none() {
        runtime().block_on(async {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut ours = OwnEnd::new(ours);
            theirs
                .write_all(&[STDOUT, 2, 0, 0, 0, b'o', b'k', STDERR, 9, 0, 0, 0, b'c'])
                .await
                .unwrap();
            drop(theirs);
            let Some(Printed::Output(Stream::Stdout, bytes)) = ours.next().await else {
                panic!()
            };
            assert_eq!(bytes, b"ok");
            assert!(ours.next().await.is_none());
        });
    }

    #[test]
    fn a_length_past_the_limit_ends_the_channel() {
        runtime().block_on(async {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut ours = OwnEnd::new(ours);
            theirs.write_all(&[MESSAGE, 255, 255, 255, 255]).await.unwrap();
            assert!(ours.next().await.is_none());
        });
    }

    #[test]
    fn a_failure_keeps_its_number() {
        let error = io::Error::from(Failure::from(&io::Error::from_raw_os_error(2)));
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let error = io::Error::from(Failure::from(&io::Error::other("no command was given")));
        assert_eq!(error.to_string(), "no command was given");
    }
}
