//! Reads the two output pipes of a runner's process.

use process_wrap::tokio::ChildWrapper;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::events::Stream;

/// Maximum number of bytes of one read; larger reads gain nothing.
const READ_SIZE: usize = 64 * 1024;

/// The process.
pub(super) type Child = Box<dyn ChildWrapper>;

/// Bytes from one of the two pipes.
pub(super) struct Chunk {
    pub(super) stream: Stream,
    pub(super) bytes: Vec<u8>,
}

type Pipe = Box<dyn AsyncRead + Unpin>;

/// The two output pipes; a closed one is `None`.
pub(super) struct Pipes {
    stdout: Option<Pipe>,
    stderr: Option<Pipe>,
}

impl Pipes {
    pub(super) fn of(child: &mut Child) -> Self {
        Self {
            stdout: child.stdout().take().map(|pipe| Box::new(pipe) as Pipe),
            stderr: child.stderr().take().map(|pipe| Box::new(pipe) as Pipe),
        }
    }

    pub(super) fn are_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    pub(super) async fn read(&mut self) -> Chunk {
        let (stream, bytes) = tokio::select! {
            bytes = read_some(&mut self.stdout), if self.stdout.is_some() => (Stream::Stdout, bytes),
            bytes = read_some(&mut self.stderr), if self.stderr.is_some() => (Stream::Stderr, bytes),
            else => std::future::pending().await,
        };
        Chunk { stream, bytes }
    }
}

/// Reads the available bytes; if there are none, the pipe is at its end and is closed.
async fn read_some(pipe: &mut Option<Pipe>) -> Vec<u8> {
    let Some(open) = pipe else { return Vec::new() };
    let mut bytes = Vec::with_capacity(READ_SIZE);
    match open.read_buf(&mut bytes).await {
        Ok(0) | Err(_) => *pipe = None,
        Ok(_) => {}
    }
    bytes
}
