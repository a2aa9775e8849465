//! Notes signals that ask git-ralph to stop, and never acts upon them in the middle of a step.
//!
//! A second request, or one while no step is under way, is never left waiting: a thread of its own ends the program if
//! the rest of it does not. The work is then left half done, as after any crash.

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

/// Returns the name of a signal for people.
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
    /// True while only the attempt that runs is to end.
    skips: bool,
}

impl Asked {
    /// Returns the first of so many requests to a listener.
    fn signal(self, times: u32, listener: &Stop) -> Option<i32> {
        if self.times >= listener.before.saturating_add(times) {
            return Some(self.first);
        }
        (self.skips && listener.is_skipped && times == 1).then_some(SKIPPED)
    }
}

/// Stands for a signal where git-ralph itself ends an attempt: another run has its loop.
pub const LEASE_LOST: i32 = 0;

/// Stands for a signal where the user skips the story of the attempt that runs: the run continues.
pub const SKIPPED: i32 = -1;

/// Notes SIGINT, SIGQUIT, SIGTERM and SIGHUP for as long as it lives.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: watch::Receiver<Asked>,
    /// Notes requests that are no signals.
    notes: watch::Sender<Asked>,
    /// The number of earlier requests, which others handle.
    before: u32,
    /// True if it is for an attempt, which the user can skip.
    is_skipped: bool,
}

impl Stop {
    /// Begins to listen. A signal that the caller had us ignore (`nohup`) stays ignored.
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

    /// Asks all that listen to stop, because another run has the loop.
    pub fn lose_lease(&self) {
        note(&self.notes, LEASE_LOST);
    }

    /// Asks all that listen to end the attempt that runs, and nothing else, until [`Stop::end_skip`].
    pub fn skip(&self) {
        self.notes.send_modify(|asked| asked.skips = true);
    }

    /// Takes such a request back: the attempt has ended.
    pub fn end_skip(&self) {
        self.notes.send_modify(|asked| asked.skips = false);
    }

    /// Listens only to requests from now on, for the work that is left after a first request.
    pub fn renewed(&self) -> Self {
        Self {
            asked: self.asked.clone(),
            notes: self.notes.clone(),
            before: self.asked.borrow().times,
            is_skipped: false,
        }
    }

    /// Listens to requests to stop alone, which are for more than one attempt.
    pub fn of_run(&self) -> Self {
        Self {
            is_skipped: false,
            ..self.clone()
        }
    }

    /// Returns the first signal that asked us to stop, if any has.
    pub fn signal(&self) -> Option<i32> {
        self.asked.borrow().signal(1, self)
    }

    /// Returns the number of requests to stop so far.
    pub fn times(&self) -> u32 {
        self.asked.borrow().times.saturating_sub(self.before)
    }

    /// Waits until we were asked to stop `times` times; returns the first signal.
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
            // Every listener is gone: no one is left to ask.
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

/// Called before the program is ended without coming back to its own end.
static BEFORE_EXIT: Mutex<Option<fn()>> = Mutex::new(None);

/// Has a function called if the program is ended without coming back to its own end.
pub fn before_exit(call: fn()) {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
}

/// The longest time that the program may take to notice a request to stop.
const PATIENCE: Duration = Duration::from_secs(1);

/// Starts a thread that ends the program if it is asked to stop and does not: no step is under way and it still runs, it
/// blocks, or it is asked a third time.
fn stand_by(kinds: Vec<SignalKind>) -> std::io::Result<()> {
    static STANDS_BY: AtomicBool = AtomicBool::new(false);
    let main = Handle::current();
    if STANDS_BY.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    // Before the thread runs, which may be late: no signal is missed.
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
                        // A step ends as well as it can, and hears a second signal if it can hear at all.
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

/// Ends children that only read from now on: what they wait for may never come, and nothing is lost with them.
async fn end_readers(asked: Instant, signal: i32) {
    loop {
        async_cmd::end_readers(asked, signal);
        tokio::time::sleep(PATIENCE).await;
    }
}

/// Returns true if a runtime does not begin anything new.
async fn is_deaf(main: &Handle) -> bool {
    let heard = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&heard);
    main.spawn(async move { hears.store(true, Ordering::Relaxed) });
    tokio::time::sleep(PATIENCE).await;
    !heard.load(Ordering::Relaxed)
}

/// Returns the signals that ask us to stop, without those that this process was started to ignore.
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

/// Returns the signals that this process was started to ignore, as a bit mask; `None` if the system does not tell.
fn ignored_signals() -> Option<u64> {
    if cfg!(feature = "without-proc") {
        return None;
    }
    let status = seen_text(Path::new("/proc/self/status"))?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Returns whether a child of this process survives a signal: it ignores what its parent was started to ignore.
async fn children_ignore(kind: SignalKind) -> bool {
    let script = format!("kill -{} $$", kind.as_raw_value());
    let child = async_cmd::run(Command::new("sh").arg("-c").arg(script)).await;
    child.is_ok_and(|output| output.code == Some(0))
}
