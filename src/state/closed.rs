//! Describes how a finished loop was closed.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{Ending, Listed, State};
use crate::names::{counted, parts_of_stories, stories_option, typed};

impl State {
    /// Returns how and when the loop was closed, and which stories were complete then.
    pub fn end_in_words(&self) -> String {
        let by = self.here.closed.map_or("", Ending::command);
        let mut words = match by {
            "" => "closed".to_owned(),
            command => format!("closed by {command}"),
        };
        if let Some(at) = self.here.closed_at {
            words = format!("{words} {}", ago(at));
        }
        if let Some(Listed { done, total, next }) = self.listed() {
            let stories = counted(*total, "story was", "stories were");
            let (skipped, put_off) = self.progress().left_out();
            let by_list = self.common.list.by_list_alone(self.progress());
            let complete = if by_list.is_empty() {
                "complete"
            } else {
                "done in the list"
            };
            let parts = parts_of_stories(&[
                (&by_list, "done or gone without an attempt"),
                (&skipped, "skipped"),
                (&put_off, "put off"),
            ]);
            words = format!("{words}; {done} of {stories} {complete}{parts}");
            if let Some(next) = next {
                words = format!("{words}, story {next} is open");
            }
        }
        match self.here.closed {
            Some(Ending::Abort) => words + "; its work is on no branch",
            Some(Ending::Aside) => words + "; it continues from the remote",
            _ => words,
        }
    }

    /// Returns the command that shows the commits of a finished loop.
    pub fn show_commits(&self) -> String {
        format!("git log {}", typed(self.change.ralph_ref("finished")))
    }

    /// Returns the command that begins the change again, if a story of a finished loop is open, or its list `has_open`
    /// ones now; `list` is the argument for `--stories`.
    pub fn begin_again(&self, list: Option<&str>, has_open: bool) -> Option<String> {
        let is_text = self.source().is_whole();
        // No mark shows that a text is done, and `abort` removes the marks.
        let may_be_done = !is_text && self.here.closed != Some(Ending::Abort);
        if may_be_done && !has_open && self.listed().is_some_and(|listed| listed.done >= listed.total) {
            return None;
        }
        let restart = if is_text { " --restart" } else { "" };
        let change = typed(&self.change);
        // HEAD may still be on its branch, where no loop begins.
        let is_on_branch =
            self.here.closed == Some(Ending::Keep) && self.here.linked.is_none() && self.has_branch();
        let original = self.common.original_branch.as_ref().filter(|_| is_on_branch);
        let away = original.map(|branch| format!("git checkout {} && ", typed(branch)));
        Some(format!(
            "{}git ralph start{restart} {change}{}",
            away.unwrap_or_default(),
            stories_option(list)
        ))
    }
}

/// Returns the time since `at`, in words.
fn ago(at: Timestamp) -> String {
    let seconds = Timestamp::now().duration_since(at).as_secs();
    match seconds {
        ..60 => "just now".to_owned(),
        60..86_400 => format!("{:#} ago", SignedDuration::from_secs(seconds - seconds % 60)),
        _ => format!("on {}", at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_an_end_is_short() {
        let before = |seconds| ago(Timestamp::now() - SignedDuration::from_secs(seconds));
        let words = [0, 59, 185, 7_265].map(before);
        assert_eq!(words, ["just now", "just now", "3m ago", "2h 1m ago"]);
        assert!(before(90_000).starts_with("on 20"));
    }
}
