//! The user's selection of what to see, and the moves between selections. Pure: knows a loop and texts, but no file and
//! no screen.

use super::lines::Lines;
use super::model::{Attempt, Model, Story};
use super::window::{Scroll, Window, places};
use crate::ui::shown::plain;

/// A text that replaces the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Story,
    Prompt,
    Files,
    Help,
}

/// The user's selection.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the user switches each by a key of its own"
)]
pub(super) struct Chosen {
    /// The story; `None` for the story of the latest attempt.
    pub story: Option<usize>,
    /// The position of the attempt in its story; `None` for the latest.
    pub attempt: Option<usize>,
    /// The number of rows at the end of the output that are below the screen.
    pub below: usize,
    /// The number of all lines when the output was last at its end.
    pub seen: usize,
    /// The page that replaces the output, and the number of its rows below the screen.
    pub page: Option<(Page, usize)>,
    /// Set if only the text is shown, without a frame; true if the output was at its end.
    pub alone: Option<bool>,
    pub raw: bool,
    /// True to show the list, if both do not fit.
    pub list: bool,
    /// True to hide the list, if both fit.
    pub no_list: bool,
    pub asks_to_stop: bool,
    /// True if the text being typed is for the agent.
    pub tells: bool,
    /// The text being typed, for a search or a message.
    pub typed: Option<String>,
    /// The searched words.
    pub words: String,
    /// The number of the found line, counted from the first line of the output.
    pub found: Option<usize>,
    /// The answer to the last key.
    pub answer: String,
    pub coloured: bool,
}

impl Chosen {
    /// Returns the shown story.
    pub fn story<'m>(&self, model: &'m Model) -> Option<&'m Story> {
        model.stories.get(self.story_at(model))
    }

    /// Returns the shown attempt.
    pub fn attempt<'m>(&self, model: &'m Model) -> Option<&'m Attempt> {
        let attempts = &self.story(model)?.attempts;
        match self.attempt {
            Some(at) => attempts.get(at),
            None => attempts.last(),
        }
    }

    /// Returns the position of the shown story.
    pub fn story_at(&self, model: &Model) -> usize {
        self.story.unwrap_or_else(|| model.current())
    }

    /// Returns whether the output of the gates before the first attempt is shown.
    pub fn shows_first_gate(&self, model: &Model) -> bool {
        self.story.is_none() && model.gate_at_work().is_some_and(|gate| gate.is_first)
    }

    /// Returns the number of rows below the screen.
    pub fn below(&self) -> usize {
        self.page.map_or(self.below, |(_, below)| below)
    }

    /// Goes to a position in the shown text.
    pub fn go_to(&mut self, below: usize, lines: &Lines) {
        match &mut self.page {
            Some((_, place)) => *place = below,
            None => {
                self.below = below;
                if below == 0 {
                    self.seen = lines.count();
                }
            }
        }
    }

    /// Scrolls the shown text.
    pub fn scroll(&mut self, to: Scroll, window: &Window) {
        self.found = None;
        self.go_to(window.scrolled(self.below(), to), window.lines);
    }

    /// Shows the end of the output, or the beginning of a page.
    pub fn reset_position(&mut self) {
        (self.below, self.found) = (0, None);
        if let Some((_, below)) = &mut self.page {
            *below = usize::MAX;
        }
    }

    /// Shows a page, or the output again if the page is already shown.
    pub fn turn_to(&mut self, page: Page) {
        self.found = None;
        self.page = match self.page {
            Some((shown, _)) if shown == page => None,
            _ => Some((page, usize::MAX)),
        };
        self.list = false;
    }

    /// Closes a page or the like that covers the output; returns false if none does.
    pub fn back(&mut self) -> bool {
        if self.alone.is_some() {
            self.leave_alone();
            return true;
        }
        self.found = None;
        self.page.take().is_some()
    }

    /// Shows only the text, or restores its frame.
    pub fn turn_alone(&mut self) {
        if self.alone.is_some() {
            self.leave_alone();
        } else {
            self.alone = Some(self.page.is_none() && self.below == 0);
        }
    }

    fn leave_alone(&mut self) {
        if self.alone.take() == Some(true) {
            self.below = 0;
        }
    }

    /// Moves the selection by some stories.
    pub fn step_story(&mut self, model: &Model, by: isize) {
        let last = model.stories.len().saturating_sub(1);
        let at = self.story_at(model).saturating_add_signed(by).min(last);
        self.choose(at, None);
    }

    /// Moves the selection by some attempts.
    pub fn step_attempt(&mut self, model: &Model, by: isize) {
        let story = self.story_at(model);
        let attempts = model.stories.get(story).map_or(0, |story| story.attempts.len());
        let last = attempts.saturating_sub(1);
        let at = self.attempt.unwrap_or(last);
        self.choose(story, Some(at.saturating_add_signed(by).min(last)));
    }

    /// Chooses a story, and this attempt or its latest.
    pub fn choose(&mut self, story: usize, attempt: Option<usize>) {
        (self.story, self.attempt) = (Some(story), attempt);
        self.reset_position();
    }

    /// Goes to the next failed attempt, or the previous one, in list order, with wrap-around.
    pub fn step_failed(&mut self, model: &Model, forward: bool) {
        let attempts = |(at, story): (usize, &Story)| {
            let attempts = story.attempts.iter().enumerate();
            let failed = attempts.filter(|(_, attempt)| attempt.has_failed());
            failed.map(|(number, _)| (at, number)).collect::<Vec<_>>()
        };
        let failed: Vec<_> = model.stories.iter().enumerate().flat_map(attempts).collect();
        let story = self.story_at(model);
        let last = self.story(model).map_or(0, |story| story.attempts.len());
        let now = (story, self.attempt.unwrap_or(last.saturating_sub(1)));
        let next = if forward {
            failed.iter().find(|at| **at > now).or(failed.first())
        } else {
            failed.iter().rfind(|at| **at < now).or(failed.last())
        };
        match next {
            Some((story, attempt)) => self.choose(*story, Some(*attempt)),
            None => "no attempt has failed".clone_into(&mut self.answer),
        }
    }

    /// Continues the search for the words: in the shown text, upwards in the output and downwards in a page, and then
    /// in the list of stories; only in the list if only the list is shown.
    pub fn search(&mut self, model: &Model, window: &Window, is_list: bool) {
        if self.words.is_empty() {
            return;
        }
        let in_text = if is_list {
            None
        } else {
            self.line_with_words(window)
        };
        if let Some(from_end) = in_text {
            self.found = Some(window.lines.all().saturating_sub(from_end + 1));
            self.go_to(window.around(from_end, &self.words), window.lines);
            return;
        }
        let is_help = matches!(self.page, Some((Page::Help, _)));
        match self.story_with_words(model).filter(|_| !is_help) {
            Some(at) if at == self.story_at(model) => {
                self.answer = format!("'{}' is in the title of this story alone", self.words);
            }
            Some(at) => {
                self.choose(at, None);
                self.answer = format!("found '{}'; / and Enter find the next", self.words);
            }
            None => self.answer = format!("not found: {}", self.words),
        }
    }

    /// Returns the number, counted from the end, of the next line with the words.
    fn line_with_words(&self, window: &Window) -> Option<usize> {
        let has_words = |line: &String| !places(line, &self.words).is_empty();
        let lines = window.lines.newest_first().enumerate();
        let mut found = lines.filter(|(_, line)| has_words(line)).map(|(at, _)| at);
        let (top, bottom) = window.ends(self.below());
        let last = self.found.map(|at| window.lines.all().saturating_sub(at + 1));
        if self.page.is_some() {
            let below = last.unwrap_or(top + 1);
            found.take_while(|at| *at < below).last()
        } else {
            found.find(|at| last.map_or(*at >= bottom, |last| *at > last))
        }
    }

    fn story_with_words(&self, model: &Model) -> Option<usize> {
        let now = self.story_at(model);
        let all = 0..model.stories.len();
        let mut in_order = all.clone().skip(now + 1).chain(all.take(now + 1));
        in_order.find(|at| {
            let story = model.stories.get(*at);
            story.is_some_and(|story| {
                !places(&story.title, &self.words).is_empty()
                    || !places(&plain(&story.id), &self.words).is_empty()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Verdict;
    use crate::ui::view::model::tests::{attempt_ended, attempt_started, event, events, listed};

    fn model() -> Model {
        let mut model = Model::new("add-login", &listed());
        let third = |attempt| event(400, attempt_started("3", "Third", attempt, 1));
        let failed = |verdict, attempt| event(401, attempt_ended("3", attempt, verdict, None));
        let more = [
            third(1),
            failed(Verdict::Failed, 1),
            third(2),
            failed(Verdict::RateLimited, 2),
        ];
        for event in events().iter().chain(&more) {
            model.event(event);
        }
        model
    }

    fn text(text: &str) -> Lines {
        let mut lines = Lines::default();
        lines.push(text.as_bytes());
        lines
    }

    fn window(lines: &Lines) -> Window<'_> {
        Window {
            lines,
            columns: 40,
            rows: 3,
        }
    }

    #[test]
    fn keys_visit_failed_attempts_in_the_order_of_the_list() {
        let model = model();
        for (from, forward, to) in [
            ((0, None), true, (1, 0)),
            ((1, Some(0)), true, (2, 0)),
            ((1, None), true, (2, 0)),
            ((2, None), true, (1, 0)),
            ((2, None), false, (2, 0)),
            ((2, Some(0)), false, (1, 0)),
            ((0, None), false, (2, 0)),
        ] {
            let mut chosen = Chosen::default();
            chosen.choose(from.0, from.1);
            chosen.step_failed(&model, forward);
            assert_eq!(
                (chosen.story, chosen.attempt),
                (Some(to.0), Some(to.1)),
                "{from:?}"
            );
        }
        let mut chosen = Chosen::default();
        chosen.step_failed(&Model::new("add-login", &listed()), true);
        assert_eq!(
            (chosen.story, chosen.answer.as_str()),
            (None, "no attempt has failed")
        );
    }

    #[test]
    fn search_moves_up_the_output_and_then_through_the_list() {
        let model = model();
        let lines = text("one form\ntwo\nthree FORM\nfour\nfive\n");
        let mut chosen = Chosen {
            words: "form".to_owned(),
            ..Chosen::default()
        };
        let mut search = |is_list| {
            chosen.search(&model, &window(&lines), is_list);
            (chosen.found, chosen.below, chosen.story)
        };
        assert_eq!(search(false), (Some(2), 1, None));
        assert_eq!(search(false), (Some(0), 2, None));
        // The third story is shown: the first is after it.
        assert_eq!(search(false), (None, 0, Some(0)));
        assert_eq!(search(true), (None, 0, Some(0)));
        assert_eq!(chosen.answer, "'form' is in the title of this story alone");
        chosen.words = "nowhere".to_owned();
        chosen.search(&model, &window(&lines), false);
        assert_eq!(chosen.answer, "not found: nowhere");
        chosen.words = "sess".to_owned();
        chosen.search(&model, &window(&lines), false);
        assert_eq!(chosen.story, Some(1));
    }

    #[test]
    fn search_moves_down_a_page_from_its_top() {
        let model = model();
        let lines = text("a form\nb\nc\nd form\ne\nf\n");
        let mut chosen = Chosen {
            words: "form".to_owned(),
            ..Chosen::default()
        };
        chosen.turn_to(Page::Prompt);
        let mut found = Vec::new();
        for _ in 0..2 {
            chosen.search(&model, &window(&lines), false);
            found.push((chosen.found, chosen.page));
        }
        assert_eq!(found[0], (Some(0), Some((Page::Prompt, 3))));
        assert_eq!(found[1], (Some(3), Some((Page::Prompt, 1))));
    }

    #[test]
    fn back_closes_pages_over_the_output_one_by_one() {
        let lines = text("1\n2\n3\n4\n5\n");
        let mut chosen = Chosen::default();
        chosen.turn_to(Page::Help);
        chosen.turn_to(Page::Story);
        chosen.turn_alone();
        chosen.scroll(Scroll::PageDown, &window(&lines));
        assert_eq!(chosen.page, Some((Page::Story, 0)));
        assert!(chosen.back() && chosen.page.is_some() && chosen.alone.is_none());
        assert!(chosen.back() && chosen.page.is_none());
        assert!(!chosen.back());
        // The end of the output is followed again, if it was followed before.
        chosen.turn_alone();
        chosen.scroll(Scroll::PageUp, &window(&lines));
        chosen.turn_alone();
        assert_eq!(chosen.below, 0);
        chosen.scroll(Scroll::PageUp, &window(&lines));
        chosen.turn_alone();
        assert!(chosen.back() && chosen.below == 2);
    }
}
