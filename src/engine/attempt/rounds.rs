//! Decides how an attempt continues after a round. A round is one process of the agent; the rounds of an attempt share
//! one work tree, one record, one undo and one verdict. Pure.

use super::verdict::Judgement;
use crate::events::{Basis, Further};
use crate::names::counted;
use crate::settings::{EmptyStory, NoSignal, Settings};
use crate::state::Verdict;

/// The reason of an attempt that ends with a promise, but without changed files.
const UNCHANGED: &str = "the agent promised, but git sees no change outside the story list";

/// The reason of an attempt that only says, even when asked, that nothing was left to do.
const UNSHOWN: &str = "the agent promised twice, but git sees no change outside the story list, and it names no file or commit of \
                       the last checkpoint that shows the story done";

/// The rounds of an attempt so far.
pub(crate) struct Rounds {
    /// Maximum number of rounds that continue.
    most: u32,
    empty_story: EmptyStory,
    no_signal: NoSignal,
    /// The number of rounds that continued.
    continued: u32,
    /// The reason of the round in which the agent was asked about the attempt: at most one.
    asked: Option<Further>,
    /// True if the agent was asked because its promise was inside a sentence.
    is_in_sentence: bool,
    /// True if gates judge what is promised.
    has_gates: bool,
}

/// The message of an agent at the end of a round, besides its promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundMessage {
    /// True if the agent exited by itself without a valid promise.
    pub is_unsaid: bool,
    /// True if its message may say that the agent is blocked, or that work is left.
    pub is_undone: bool,
    /// The promise that does not count, if it can be asked about.
    pub uncounted: Option<Uncounted>,
    /// True if its promise is doubtful.
    pub is_doubtful: bool,
    /// The explanation why the agent changed no file, if it is known.
    pub why_unchanged: Option<WhyUnchanged>,
}

/// A promise that does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncounted {
    /// The promise is inside a sentence that leaves no doubt.
    InSentence,
    /// Words around the promise deny it.
    Denied,
}

/// The explanation of a promise without a changed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhyUnchanged {
    /// The agent explained that the story was done before.
    DoneBefore,
    /// The agent was not allowed to use a tool: the attempt has failed.
    Denied,
}

/// The work tree after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// True if the round changed a file other than the story list.
    pub changed: bool,
    /// True if a file other than the story list differs from the checkpoint.
    pub differs: bool,
    /// True if no file differs, and the agent names a file or commit of the checkpoint.
    pub shows: bool,
}

/// The continuation of an attempt after a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The attempt is judged.
    Judge(Judgement),
    /// Another round, for this reason; the judgement has the message of the present one.
    Round(Further, Judgement),
}

impl Rounds {
    /// Returns the rounds of an attempt that begins.
    pub fn of(settings: &Settings) -> Self {
        Self {
            most: settings.most_continuations(),
            empty_story: settings.empty_story,
            no_signal: settings.no_signal,
            continued: 0,
            asked: None,
            is_in_sentence: false,
            has_gates: !settings.verify.is_empty(),
        }
    }

    /// Returns the rounds of an attempt in an agent's own session, which was asked for this reason: no process follows.
    pub fn of_session(settings: &Settings, asked: Option<Further>) -> Self {
        Self {
            most: 0,
            asked,
            ..Self::of(settings)
        }
    }

    /// Returns whether the decision about a round with this judgement depends on the work tree.
    pub fn need_work_tree(&self, judgement: &Judgement, said: RoundMessage) -> bool {
        match judgement.verdict {
            Verdict::Complete => self.confirms(said) || self.has_left_work() || self.doubts(said),
            Verdict::NoSignal => {
                self.continues(judgement) || self.asks(said) || self.is_in_sentence || self.weighs(said)
            }
            _ => false,
        }
    }

    /// Decides how the attempt continues after a round: the first matching rule applies.
    pub fn after(&mut self, judgement: Judgement, left: Left, said: RoundMessage) -> Next {
        match judgement.verdict {
            Verdict::NoSignal if self.continues(&judgement) => self.after_continue(judgement, left),
            Verdict::Complete if self.doubts(said) => {
                let why = if left.differs {
                    Further::Doubtful
                } else {
                    Further::Unchanged
                };
                self.ask(why, judgement)
            }
            Verdict::Complete if (self.confirms(said) || self.has_left_work()) && !left.differs => {
                let basis = match self.asked {
                    _ if said.why_unchanged.is_some() && left.shows => Basis::UnchangedSaid,
                    Some(Further::Unchanged) if left.shows => Basis::Confirmed,
                    Some(Further::Unchanged) => {
                        return Next::Judge(Judgement::new(Verdict::Failed, UNSHOWN));
                    }
                    None => return self.ask(Further::Unchanged, judgement),
                    // The agent was asked for another reason, and took its work back.
                    Some(_) => return Next::Judge(Judgement::new(Verdict::Failed, UNCHANGED)),
                };
                Next::Judge(Judgement {
                    also: Some(basis),
                    ..judgement
                })
            }
            Verdict::NoSignal if self.weighs(said) && left.differs => self.ask(Further::Doubtful, judgement),
            Verdict::NoSignal if self.asks(said) && left.differs => {
                let is_in_sentence = said.uncounted == Some(Uncounted::InSentence);
                self.is_in_sentence = is_in_sentence && !said.is_undone && self.has_gates;
                self.ask(Further::Unsaid, judgement)
            }
            Verdict::NoSignal
                if self.is_in_sentence && said.is_unsaid && !said.is_undone && !left.changed =>
            {
                Next::Judge(Judgement {
                    also: Some(Basis::PromiseInSentence),
                    ..Judgement::unpromised()
                })
            }
            _ => Next::Judge(judgement),
        }
    }

    /// Returns whether a round can still ask for another process.
    pub fn may_continue(&self) -> bool {
        self.continued < self.most
    }

    fn continues(&self, judgement: &Judgement) -> bool {
        judgement.left.is_some() && self.most > 0
    }

    /// Returns whether the agent is asked about a promise without a changed file.
    fn confirms(&self, said: RoundMessage) -> bool {
        self.empty_story == EmptyStory::Confirm && said.why_unchanged != Some(WhyUnchanged::Denied)
    }

    /// Returns whether the agent was asked about work of an earlier round.
    fn has_left_work(&self) -> bool {
        matches!(self.asked, Some(Further::Doubtful | Further::Unsaid))
    }

    /// Returns whether the agent was not asked yet, and no denied tool has failed the attempt.
    fn may_ask(&self, said: RoundMessage) -> bool {
        self.asked.is_none() && said.why_unchanged != Some(WhyUnchanged::Denied)
    }

    /// Returns whether the agent is still to be asked about a doubtful promise.
    pub fn doubts(&self, said: RoundMessage) -> bool {
        self.may_ask(said) && said.is_doubtful
    }

    /// Returns whether the agent is still to be asked about a promise that its own words deny.
    fn weighs(&self, said: RoundMessage) -> bool {
        self.may_ask(said) && said.uncounted == Some(Uncounted::Denied)
    }

    /// Returns whether the agent is still to be asked about work without a promise.
    fn asks(&self, said: RoundMessage) -> bool {
        self.no_signal != NoSignal::Retry && said.is_unsaid && self.asked.is_none()
    }

    /// Returns whether the evidence named by a promise without a changed file matters.
    pub fn weigh_evidence(&self, said: RoundMessage) -> bool {
        self.asked == Some(Further::Unchanged) || said.why_unchanged.is_some()
    }

    fn ask(&mut self, why: Further, judgement: Judgement) -> Next {
        self.asked = Some(why);
        Next::Round(why, judgement)
    }

    /// Decides about a round after which work is left.
    fn after_continue(&mut self, judgement: Judgement, now: Left) -> Next {
        let left = judgement.left.as_deref().unwrap_or_default();
        let why = if !now.changed {
            "the agent printed CONTINUE, but git sees no change outside the story list".to_owned()
        } else if self.continued == self.most {
            let rounds = self.continued + 1 + u32::from(self.asked.is_some());
            format!("not done in {}", counted(rounds, "round", "rounds"))
        } else {
            self.continued += 1;
            return Next::Round(Further::Continue, judgement);
        };
        let colon = if left.is_empty() { "" } else { ": " };
        Next::Judge(Judgement::new(Verdict::Failed, format!("{why}{colon}{left}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Left = Left {
        changed: false,
        differs: false,
        shows: true,
    };
    /// As before, but the agent names no evidence that the story is done.
    const UNSAID: Left = Left {
        shows: false,
        ..NOTHING
    };
    const WORK: Left = Left {
        changed: true,
        differs: true,
        shows: false,
    };
    /// This round changed no file, but an earlier one did.
    const EARLIER: Left = Left {
        changed: false,
        differs: true,
        shows: false,
    };

    /// The end of a round: its message, and the work tree after it.
    #[derive(Clone, Copy, Debug)]
    enum End {
        Done(Left),
        DoneBefore(Left),
        DoubtfullyBefore(Left),
        Denied,
        Doubtful(Left),
        TakenBack(Left),
        More(Left),
        Silent(Left),
        InSentence(Left),
        UndoneInSentence(Left),
        Blocked(Left),
        Failed,
    }
    use End::{
        Blocked, Denied, Done, DoneBefore, Doubtful, DoubtfullyBefore, Failed, InSentence, More, Silent,
        TakenBack, UndoneInSentence,
    };

    /// Returns the course of these rounds, in short: `c`, `u`, `d` and `s` for a round that continues, or is asked
    /// about an unchanged tree, a doubtful promise or none; then the verdict, its further basis, and its reason.
    fn course(settings: &Settings, ends: &[End]) -> String {
        let mut rounds = Rounds::of(settings);
        let mut course = String::new();
        for end in ends {
            let (judgement, left) = match *end {
                Done(left) | DoneBefore(left) | Doubtful(left) | DoubtfullyBefore(left) => {
                    (Judgement::complete(), left)
                }
                Denied => (Judgement::complete(), NOTHING),
                More(left) => {
                    let judgement = Judgement {
                        left: Some("x".to_owned()),
                        ..Judgement::bare(Verdict::NoSignal)
                    };
                    (judgement, left)
                }
                Silent(left)
                | InSentence(left)
                | UndoneInSentence(left)
                | TakenBack(left)
                | Blocked(left) => (Judgement::bare(Verdict::NoSignal), left),
                Failed => (Judgement::new(Verdict::Failed, "no"), WORK),
            };
            let said = RoundMessage {
                is_unsaid: matches!(
                    end,
                    Silent(_) | InSentence(_) | UndoneInSentence(_) | TakenBack(_) | Blocked(_)
                ),
                is_undone: matches!(end, Blocked(_) | UndoneInSentence(_)),
                uncounted: match end {
                    InSentence(_) | UndoneInSentence(_) => Some(Uncounted::InSentence),
                    TakenBack(_) => Some(Uncounted::Denied),
                    _ => None,
                },
                is_doubtful: matches!(end, Doubtful(_) | DoubtfullyBefore(_)),
                why_unchanged: match end {
                    DoneBefore(_) | DoubtfullyBefore(_) => Some(WhyUnchanged::DoneBefore),
                    Denied => Some(WhyUnchanged::Denied),
                    _ => None,
                },
            };
            // If the work tree does not matter, each work tree gives the same result.
            if !rounds.need_work_tree(&judgement, said) {
                let mut other = Rounds { ..rounds };
                let by_none = other.after(judgement.clone(), NOTHING, said);
                assert_eq!(by_none, other.after(judgement.clone(), WORK, said));
            }
            match rounds.after(judgement, left, said) {
                Next::Round(why, _) => course.push(match why {
                    Further::Continue => 'c',
                    Further::Unchanged => 'u',
                    Further::Doubtful => 'd',
                    Further::Unsaid => 's',
                }),
                Next::Judge(judged) => {
                    let also: Option<&str> = judged.also.map(Into::into);
                    let words = [Some(judged.verdict.words()), also, judged.reason.as_deref()];
                    let words: Vec<&str> = words.into_iter().flatten().collect();
                    return format!("{course} {}", words.join(", ")).trim().to_owned();
                }
            }
        }
        course + " ?"
    }

    fn settings(empty_story: EmptyStory, no_signal: NoSignal, continuations: Option<u32>) -> Settings {
        Settings {
            no_signal,
            empty_story,
            continuations,
            ..Settings::default()
        }
    }

    #[test]
    fn a_table_of_ends_settings_and_rounds_decides() {
        use {
            EmptyStory::{Confirm, Fail, Warn},
            NoSignal::{Ask, Gates, Retry},
        };
        let (plain, ask) = (settings(Confirm, Retry, None), settings(Confirm, Ask, None));
        let (literal, gates) = (settings(Warn, Retry, Some(0)), settings(Warn, Gates, Some(1)));
        let refusing = settings(Fail, Retry, None);
        let two = settings(Confirm, Ask, Some(2));
        let gate = Settings {
            verify: vec!["true".to_owned()],
            ..ask.clone()
        };
        let by_sentence = "s complete, promise-in-sentence, accepted without a promise (ralph.noSignal)";
        let unshown = &format!("u failed, {UNSHOWN}");
        let table: &[(&Settings, &[End], &str)] = &[
            (&plain, &[Done(WORK)], "complete"),
            (&plain, &[Failed], "failed, no"),
            (&plain, &[Done(NOTHING), Done(NOTHING)], "u complete, confirmed"),
            (&plain, &[Done(NOTHING), Done(WORK)], "u complete"),
            (&plain, &[Done(NOTHING), Failed], "u failed, no"),
            (&plain, &[Done(NOTHING), Silent(NOTHING)], "u no signal"),
            (&plain, &[Done(NOTHING), More(WORK), Done(EARLIER)], "uc complete"),
            (&plain, &[Done(NOTHING), Done(UNSAID)], unshown),
            (&plain, &[Done(UNSAID), Done(NOTHING)], "u complete, confirmed"),
            (&plain, &[DoneBefore(NOTHING)], "complete, unchanged-said"),
            (&plain, &[DoneBefore(UNSAID), DoneBefore(UNSAID)], unshown),
            (&plain, &[Denied], "complete"),
            (&plain, &[Done(NOTHING), Denied], "u complete"),
            (
                &plain,
                &[Done(NOTHING), DoneBefore(NOTHING)],
                "u complete, unchanged-said",
            ),
            (&plain, &[Doubtful(WORK), Done(EARLIER)], "d complete"),
            (&plain, &[Doubtful(WORK), Doubtful(WORK)], "d complete"),
            (&plain, &[Doubtful(NOTHING), Done(WORK)], "u complete"),
            (
                &plain,
                &[DoubtfullyBefore(NOTHING), DoneBefore(NOTHING)],
                "u complete, unchanged-said",
            ),
            (
                &plain,
                &[DoubtfullyBefore(NOTHING), Done(NOTHING)],
                "u complete, confirmed",
            ),
            (&plain, &[DoubtfullyBefore(NOTHING), Done(UNSAID)], unshown),
            (&plain, &[DoubtfullyBefore(WORK), Done(EARLIER)], "d complete"),
            (
                &literal,
                &[DoubtfullyBefore(NOTHING), Done(NOTHING)],
                "u complete",
            ),
            (&plain, &[Doubtful(WORK), Failed], "d failed, no"),
            (
                &plain,
                &[Doubtful(WORK), Done(NOTHING)],
                "d failed, the agent promised, but git sees no change outside the story list",
            ),
            (&plain, &[Done(NOTHING), Doubtful(WORK)], "u complete"),
            (&plain, &[TakenBack(WORK), Done(EARLIER)], "d complete"),
            (&plain, &[TakenBack(WORK), TakenBack(WORK)], "d no signal"),
            (&plain, &[TakenBack(WORK), Silent(EARLIER)], "d no signal"),
            (&plain, &[TakenBack(NOTHING)], "no signal"),
            (&plain, &[Done(NOTHING), TakenBack(WORK)], "u no signal"),
            (&literal, &[TakenBack(WORK), Done(EARLIER)], "d complete"),
            (&literal, &[TakenBack(NOTHING)], "no signal"),
            (&ask, &[TakenBack(WORK), Done(EARLIER)], "d complete"),
            (&plain, &[Silent(WORK)], "no signal"),
            (&plain, &[More(WORK), Done(EARLIER)], "c complete"),
            (
                &plain,
                &[More(NOTHING)],
                "failed, the agent printed CONTINUE, but git sees no change outside the story list: x",
            ),
            (
                &plain,
                &[More(WORK), More(EARLIER)],
                "c failed, the agent printed CONTINUE, but git sees no change outside the story list: x",
            ),
            (&plain, &[More(WORK); 5], "cccc failed, not done in 5 rounds: x"),
            (&literal, &[Done(NOTHING)], "complete"),
            (&literal, &[Doubtful(WORK), Doubtful(WORK)], "d complete"),
            (&literal, &[Doubtful(NOTHING), Failed], "u failed, no"),
            (
                &literal,
                &[Doubtful(WORK), Done(NOTHING)],
                "d failed, the agent promised, but git sees no change outside the story list",
            ),
            (&refusing, &[Doubtful(WORK), Done(EARLIER)], "d complete"),
            (&refusing, &[Done(NOTHING)], "complete"),
            (&literal, &[More(WORK)], "no signal"),
            (&ask, &[Silent(WORK), Done(EARLIER)], "s complete"),
            (&ask, &[Silent(WORK), Silent(WORK)], "s no signal"),
            (&ask, &[Silent(NOTHING)], "no signal"),
            (
                &ask,
                &[Silent(WORK), Done(NOTHING)],
                "s failed, the agent promised, but git sees no change outside the story list",
            ),
            (
                &ask,
                &[Silent(WORK), DoneBefore(NOTHING)],
                "s complete, unchanged-said",
            ),
            (
                &ask,
                &[Silent(WORK), DoneBefore(UNSAID)],
                "s failed, the agent promised, but git sees no change outside the story list",
            ),
            (&ask, &[Done(NOTHING), Silent(WORK)], "u no signal"),
            (
                &ask,
                &[More(WORK), Silent(EARLIER), More(WORK), Done(WORK)],
                "csc complete",
            ),
            (
                &two,
                &[More(WORK), Silent(WORK), More(WORK), More(WORK)],
                "csc failed, not done in 4 rounds: x",
            ),
            (&gate, &[InSentence(WORK), Silent(EARLIER)], by_sentence),
            (&gate, &[InSentence(WORK), InSentence(EARLIER)], by_sentence),
            (&gate, &[InSentence(WORK), Blocked(EARLIER)], "s no signal"),
            (&gate, &[UndoneInSentence(WORK), Silent(EARLIER)], "s no signal"),
            (&gate, &[InSentence(WORK), Silent(WORK)], "s no signal"),
            (&gate, &[Silent(WORK), InSentence(EARLIER)], "s no signal"),
            (&ask, &[InSentence(WORK), Silent(EARLIER)], "s no signal"),
            (&gates, &[Silent(WORK), Silent(WORK)], "s no signal"),
            (
                &gates,
                &[More(WORK), More(WORK)],
                "c failed, not done in 2 rounds: x",
            ),
        ];
        for (settings, ends, expected) in table {
            assert_eq!(course(settings, ends), *expected, "{ends:?}");
        }
    }
}
