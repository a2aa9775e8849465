//! Records signals that ask git-ralph to stop; a step in progress is completed first.
//!
//! After a second request, or a request while no step is in progress, a separate thread ends the program if the program
//! does not end. The state is then as after a crash.

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tokio::runtime::{self, Handle};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::async_cmd::{self, Command};
use crate::exit::Exit;
use crate::fs::seen_text;
use crate::held;

/// Returns the name of a signal for users.
pub fn name(signal: i32) -> String {
    match signal {
        LEASE_LOST => return "the loss of its lease".to_owned(),
        SKIPPED => return "git ralph skip".to_owned(),
        _ => {}
    }
    match Signal::try_from(signal) {
        Ok(Signal::SIGINT) => "SIGINT (Ctrl-C)".to_owned(),
        Ok(known) => known.as_str().to_owned(),
        Err(_) => format!("signal {signal}"),
    }
}

/// The requests to stop so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    times: u32,
    first: i32,
    /// True while only the running attempt must end.
    skips: bool,
}

impl Asked {
    /// Returns the first signal, once there are this many requests.
    fn signal(self, times: u32, listener: &Stop) -> Option<i32> {
        if self.times >= listener.before.saturating_add(times) {
            return Some(self.first);
        }
        (self.skips && listener.is_skipped && times == 1).then_some(SKIPPED)
    }
}

/// The value in place of a signal if git-ralph ends an attempt because another run has its loop.
pub const LEASE_LOST: i32 = 0;

/// The value in place of a signal if the user skips the story of the running attempt: the run continues.
pub const SKIPPED: i32 = -1;

/// Records SIGINT, SIGQUIT, SIGTERM and SIGHUP until it is dropped.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: watch::Receiver<Asked>,
    /// Records requests other than signals.
    notes: watch::Sender<Asked>,
    /// The number of earlier requests, which are handled elsewhere in the program.
    before: u32,
    /// True if it belongs to an attempt, which the user can skip.
    is_skipped: bool,
}

impl Stop {
    /// Begins to listen. A signal that the caller ignores (`nohup`) stays ignored.
    pub async fn listen() -> std::io::Result<Self> {
        let (sender, asked) = watch::channel(Asked::default());
        let kinds = heard_signals().await;
        for kind in kinds.iter().copied() {
            let number = kind.as_raw_value();
            let mut stream = signal(kind)?;
            let sender = sender.clone();
            tokio::spawn(async move {
                while stream.recv().await.is_some() {
                    note(&sender, number);
                }
            });
        }
        stand_by(kinds)?;
        Ok(Self {
            asked,
            notes: sender,
            before: 0,
            is_skipped: true,
        })
    }

    /// Asks all listeners to stop, because another run has the loop.
    pub fn lose_lease(&self) {
        note(&self.notes, LEASE_LOST);
    }

    /// Asks all listeners to end only the running attempt, until [`Stop::end_skip`].
    pub fn skip(&self) {
        self.notes.send_modify(|asked| asked.skips = true);
    }

    /// Withdraws such a request: the attempt has ended.
    pub fn end_skip(&self) {
        self.notes.send_modify(|asked| asked.skips = false);
    }

    /// Listens only to later requests, for the work after a first request.
    pub fn renewed(&self) -> Self {
        Self {
            asked: self.asked.clone(),
            notes: self.notes.clone(),
            before: self.asked.borrow().times,
            is_skipped: false,
        }
    }

    /// Listens only to requests to stop, not to requests to skip one attempt.
    pub fn of_run(&self) -> Self {
        Self {
            is_skipped: false,
            ..self.clone()
        }
    }

    /// Returns the first signal that asked git-ralph to stop.
    pub fn signal(&self) -> Option<i32> {
        self.asked.borrow().signal(1, self)
    }

    /// Returns the number of requests to stop so far.
    pub fn times(&self) -> u32 {
        self.asked.borrow().times.saturating_sub(self.before)
    }

    /// Waits for `times` requests to stop; returns the first signal.
    pub async fn asked(&mut self, times: u32) -> i32 {
        let listener = self.clone();
        let is_asked = |asked: &Asked| asked.signal(times, &listener).is_some();
        match self
            .asked
            .wait_for(is_asked)
            .await
            .map(|asked| asked.signal(times, &listener))
        {
            Ok(Some(first)) => first,
            // The sender is gone: no request can come.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

fn note(asked: &watch::Sender<Asked>, number: i32) {
    asked.send_modify(|asked| {
        if asked.times == 0 {
            asked.first = number;
        }
        asked.times += 1;
    });
}

/// Called before the thread ends the program.
static BEFORE_EXIT: Mutex<Option<fn()>> = Mutex::new(None);

/// Registers a function that is called before the thread ends the program.
pub fn before_exit(call: fn()) {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
}

/// Maximum time in which the program must react to a request to stop.
const PATIENCE: Duration = Duration::from_secs(1);

/// Starts a thread that ends the program if it does not react to a request to stop: no step is in progress and it still
/// runs, it blocks, or there is a third request.
fn stand_by(kinds: Vec<SignalKind>) -> std::io::Result<()> {
    static STANDS_BY: AtomicBool = AtomicBool::new(false);
    let main = Handle::current();
    if STANDS_BY.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    // Before the thread runs, so that no signal is missed.
    let streams = {
        let _of_thread = runtime.enter();
        let heard = kinds.into_iter().map(|kind| Ok((kind, signal(kind)?)));
        heard.collect::<std::io::Result<Vec<_>>>()?
    };
    let stand_by = move || {
        runtime.block_on(async move {
            let times = Arc::new(AtomicU32::new(0));
            let mut waiting = Vec::new();
            for (kind, mut stream) in streams {
                let (times, main) = (Arc::clone(&times), main.clone());
                waiting.push(tokio::spawn(async move {
                    while stream.recv().await.is_some() {
                        let asked = Instant::now();
                        let times = 1 + times.fetch_add(1, Ordering::Relaxed);
                        // A step completes its work, and reacts to a second signal unless it blocks.
                        let is_deaf = is_deaf(&main).await;
                        tokio::spawn(end_readers(asked, kind.as_raw_value()));
                        if !held::any() || times > 2 || times == 2 && is_deaf {
                            let call = *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner);
                            if let Some(call) = call {
                                call();
                            }
                            process::exit(i32::from(Exit::Signal(kind.as_raw_value()).code()));
                        }
                    }
                }));
            }
            for one in waiting {
                let _ = one.await;
            }
        });
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(stand_by)?;
    Ok(())
}

/// Lets requests end children that only read: they may wait without end, and no work is lost with them.
async fn end_readers(asked: Instant, signal: i32) {
    loop {
        async_cmd::end_readers(asked, signal);
        tokio::time::sleep(PATIENCE).await;
    }
}

/// Returns true if a runtime begins no new task.
async fn is_deaf(main: &Handle) -> bool {
    let heard = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&heard);
    main.spawn(async move { hears.store(true, Ordering::Relaxed) });
    tokio::time::sleep(PATIENCE).await;
    !heard.load(Ordering::Relaxed)
}

/// Returns the signals that ask git-ralph to stop, without those that are ignored since its start.
async fn heard_signals() -> Vec<SignalKind> {
    let mask = ignored_signals();
    let mut heard = Vec::new();
    for kind in [
        SignalKind::interrupt(),
        SignalKind::quit(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ] {
        let is_ignored = match mask {
            Some(mask) => mask & (1 << (kind.as_raw_value() - 1)) != 0,
            None => children_ignore(kind).await,
        };
        if !is_ignored {
            heard.push(kind);
        }
    }
    heard
}

/// Returns the signals that are ignored since the start of this process, as a bit mask; `None` if unknown.
fn ignored_signals() -> Option<u64> {
    if cfg!(feature = "without-proc") {
        return None;
    }
    let status = seen_text(Path::new("/proc/self/status"))?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Returns whether a child of this process survives a signal: it inherits ignored signals.
async fn children_ignore(kind: SignalKind) -> bool {
    let script = format!("kill -{} $$", kind.as_raw_value());
    let child = async_cmd::run(Command::new("sh").arg("-c").arg(script)).await;
    child.is_ok_and(|output| output.code == Some(0))
}
