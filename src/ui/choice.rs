//! The questions at the end of a run: about the work, or about a failed story.

use std::future::pending;
use std::io;
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::termios::{FlushArg, tcflush};
use tokio::signal::unix::{SignalKind, signal};

use super::Screen;
use crate::signal::Stop;

/// Interval between two checks for the end of a question, in milliseconds.
const POLL: u8 = 100;

/// An answer that the user can choose by its first letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Choice {
    /// Try the story again.
    Retry,
    /// Skip the story.
    Skip,
    /// Show what was changed, then ask again.
    Diff,
    /// Show the attempts, then ask again.
    Log,
    /// Return to the original branch.
    Cleanup,
    /// Stay on the loop's branch.
    Keep,
    /// Leave the loop as it is.
    Quit,
}

impl Choice {
    /// Returns its word.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Reads an answer: the first letter or the whole word, ignoring case; an empty answer means quit.
    pub(super) fn read(answer: &str, possible: &[Self]) -> Option<Self> {
        let answer = answer.trim().to_lowercase();
        let is_meant = |choice: &&Self| answer == choice.name() || answer == choice.name()[..1];
        if answer.is_empty() {
            return Some(Self::Quit);
        }
        possible.iter().find(is_meant).copied()
    }
}

/// Discards input from before the question: it was not meant as an answer.
fn forget_typed() {
    // If that fails, there is no terminal.
    let _ = tcflush(io::stdin().as_fd(), FlushArg::TCIFLUSH);
}

/// Asks on the terminal; an empty answer means quit, and so does the end of the question, which `is_over` reports. Call
/// only if the user can answer.
pub async fn ask(
    screen: Screen,
    question: &str,
    possible: &[Choice],
    stop: &Stop,
    is_over: impl Fn() -> bool + Clone + Send + 'static,
) -> Choice {
    let screen = screen.loud();
    let words: Vec<String> = possible
        .iter()
        .map(|choice| {
            let (first, rest) = choice.name().split_at(1);
            format!("[{first}]{rest}")
        })
        .collect();
    // Counts from now on: an earlier signal is no answer to this question.
    let already = stop.times();
    loop {
        forget_typed();
        let question = format!("{question} {}: ", words.join("  "));
        let mut interrupted = stop.clone();
        let answer = tokio::select! {
            answer = answered(screen, &question, is_over.clone()) => answer,
            _ = interrupted.asked(already + 1) => None,
        };
        let Some(answer) = answer else {
            screen.say("\n");
            return Choice::Quit;
        };
        match Choice::read(&answer, possible) {
            Some(choice) => return choice,
            None => screen.say("type one of the letters in brackets; Enter quits\n"),
        }
    }
}

/// Lets the user pick one of several by its number or its name; returns `None` without a choice.
pub async fn pick(screen: Screen, question: &str, names: &[String], stop: &Stop) -> Option<usize> {
    let screen = screen.loud();
    for (at, name) in names.iter().enumerate() {
        screen.say(&format!("{:3}  {name}\n", at + 1));
    }
    let question = format!("{question} [1-{}]: ", names.len());
    let mut interrupted = stop.renewed();
    let answer = tokio::select! {
        answer = answered(screen, &question, || false) => answer,
        _ = interrupted.asked(1) => None,
    };
    let answer = answer.unwrap_or_default();
    let answer = answer.trim();
    let by_name = names.iter().position(|name| name == answer);
    by_name.or_else(|| {
        answer
            .parse::<usize>()
            .ok()?
            .checked_sub(1)
            .filter(|at| *at < names.len())
    })
}

/// Prints the question, and reads one line as [`read_line`] does. Prints it again after Ctrl-Z and `fg`, below the
/// shell's output.
async fn answered(
    screen: Screen,
    question: &str,
    is_over: impl Fn() -> bool + Send + 'static,
) -> Option<String> {
    let mut continued = signal(SignalKind::from_raw(Signal::SIGCONT as i32)).ok();
    screen.say(question);
    let mut answer = pin!(read_line(is_over));
    loop {
        let again = async {
            match &mut continued {
                Some(continued) => continued.recv().await,
                None => pending().await,
            }
        };
        tokio::select! {
            answer = &mut answer => return answer,
            _ = again => screen.say(question),
        }
    }
}

/// Ends a thread that waits for a line, on drop: later input is meant for another program.
struct Reading(Arc<AtomicBool>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Reads one line of standard input; returns `None` at its end, and once `is_over` is true.
async fn read_line(is_over: impl Fn() -> bool + Send + 'static) -> Option<String> {
    let reading = Reading(Arc::default());
    let left = Arc::clone(&reading.0);
    let line =
        tokio::task::spawn_blocking(move || wait_for_line(|| left.load(Ordering::SeqCst) || is_over()));
    line.await.ok().flatten()
}

fn wait_for_line(is_over: impl Fn() -> bool) -> Option<String> {
    loop {
        if is_over() {
            return None;
        }
        let stdin = io::stdin();
        let mut typed = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        match poll(&mut typed, PollTimeout::from(POLL)) {
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => break,
            Err(_) => return None,
        }
    }
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_or_a_word_in_either_case_is_an_answer() {
        let possible = [Choice::Cleanup, Choice::Keep, Choice::Diff, Choice::Quit];
        for (answer, choice) in [
            ("c\n", Some(Choice::Cleanup)),
            (" KEEP \n", Some(Choice::Keep)),
            ("D", Some(Choice::Diff)),
            ("", Some(Choice::Quit)),
            ("q", Some(Choice::Quit)),
            ("y", None),
            ("r", None),
            ("continue", None),
        ] {
            assert_eq!(Choice::read(answer, &possible), choice, "{answer:?}");
        }
    }
}
