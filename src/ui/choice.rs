//! The completion choice: what was done, and what should happen to it.

use std::io;

use super::Screen;
use crate::engine::Finish;
use crate::names::counted;
use crate::signal::Stop;

/// What there is to choose about.
#[derive(Clone, Debug)]
pub struct Question {
    /// The change.
    pub change: String,
    /// The loop's branch, short.
    pub branch: String,
    /// Where the loop came from, for people.
    pub original: String,
    /// Complete stories.
    pub done: usize,
    /// All stories.
    pub total: usize,
}

/// Asks on the terminal; `None` when it is left for later. Call only when somebody can answer.
pub async fn ask(screen: Screen, question: &Question, stop: &Stop) -> Option<Finish> {
    let Question {
        change,
        branch,
        original,
        done,
        total,
    } = question;
    let screen = Screen {
        quiet: false,
        ..screen
    };
    let stories = counted(*total, "story is", "stories are");
    screen.say(&format!(
        "\n{change}: {done} of {stories} complete on {branch}\n\
         \x20 c  cleanup: return to {original} with all changes uncommitted; {branch} is deleted\n\
         \x20 k  keep: stay on {branch} with its commits\n"
    ));
    // Counts from now on: a signal that ended the loop is not an answer to this question.
    let already = stop.times();
    loop {
        screen.say("what should happen to the work [c/k, or Enter to leave it for later]? ");
        let mut interrupted = stop.clone();
        let answer = tokio::select! {
            answer = tokio::task::spawn_blocking(read_line) => answer.ok().flatten(),
            _ = interrupted.asked(already + 1) => None,
        };
        match answer.as_deref().map(str::trim) {
            Some("c" | "cleanup") => return Some(Finish::Cleanup { index: false }),
            Some("k" | "keep") => return Some(Finish::Keep),
            None | Some("") => {
                screen.say("\n");
                return None;
            }
            Some(_) => {}
        }
    }
}

/// One line of standard input; `None` at its end.
fn read_line() -> Option<String> {
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}
