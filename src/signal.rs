//! Signals that ask git-ralph to stop: noted, never acted upon in the middle of a step.

use std::fs;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Signals that have asked us to stop so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    times: u32,
    first: i32,
}

/// Notes SIGINT, SIGTERM and SIGHUP for as long as it lives.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: watch::Receiver<Asked>,
    /// Requests that are somebody else's business.
    before: u32,
}

impl Stop {
    /// Begins to listen. A signal that the caller had us ignore (`nohup`) stays ignored.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn listen() -> std::io::Result<Self> {
        let (sender, asked) = watch::channel(Asked::default());
        let ignored = ignored_signals();
        for kind in [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ] {
            let number = kind.as_raw_value();
            if ignored & (1 << (number - 1)) != 0 {
                continue;
            }
            let mut stream = signal(kind)?;
            let sender = sender.clone();
            tokio::spawn(async move {
                while stream.recv().await.is_some() {
                    sender.send_modify(|asked| {
                        if asked.times == 0 {
                            asked.first = number;
                        }
                        asked.times += 1;
                    });
                }
            });
        }
        Ok(Self { asked, before: 0 })
    }

    /// Listens only to what comes from now on: for what is still to be done after a first request.
    #[must_use]
    pub fn from_now(&self) -> Self {
        Self {
            asked: self.asked.clone(),
            before: self.asked.borrow().times,
        }
    }

    /// The first signal that asked us to stop, if any has.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        let asked = *self.asked.borrow();
        (asked.times > self.before).then_some(asked.first)
    }

    /// How often we were asked to stop so far.
    #[must_use]
    pub fn times(&self) -> u32 {
        self.asked.borrow().times.saturating_sub(self.before)
    }

    /// Waits until we were asked to stop `times` times; gives the first signal.
    pub async fn asked(&mut self, times: u32) -> i32 {
        let times = self.before.saturating_add(times);
        match self.asked.wait_for(|asked| asked.times >= times).await {
            Ok(asked) => asked.first,
            // Every listener is gone: nobody will ever ask.
            Err(_) => std::future::pending().await,
        }
    }
}

/// The signals that this process was started to ignore, as a bit mask; 0 where the system does not tell.
fn ignored_signals() -> u64 {
    fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        })
        .unwrap_or(0)
}
