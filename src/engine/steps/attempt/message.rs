//! The message of a checkpoint below its subject: trailers as in `git interpret-trailers`.

use crate::engine::attempt::begun::Begun;
use crate::engine::attempt::outcome::Outcome;
use crate::engine::checkpoint_message::{ATTEMPT_TRAILER, title};
use crate::events::Basis;
use crate::names::{dollars, one_line};

/// Returns the body of a checkpoint's message.
pub(super) fn body(
    begun: &Begun,
    outcome: &Outcome,
    rests_on: &[Basis],
    gates: &[String],
    review: Option<&str>,
) -> String {
    let (story, ended) = (&begun.story, begun.ended(outcome));
    let mut trailers = vec![(ATTEMPT_TRAILER, format!("{}@{}", story.id, begun.number))];
    if let Some(agent) = &outcome.agent {
        trailers.push(("Ralph-Agent", agent.clone()));
        trailers.push(("Ralph-Duration", format!("{:.0}s", ended.duration)));
    }
    if let Some(boxed) = ended.boxed {
        trailers.push(("Ralph-Box", boxed));
    }
    if let Some(cost) = ended.cost_usd {
        trailers.push(("Ralph-Cost", dollars(cost)));
    }
    if outcome.judgement.unpromised {
        trailers.push(("Ralph-Promise", "none".to_owned()));
    }
    let rests_on: Vec<&str> = rests_on.iter().map(Into::into).collect();
    trailers.push(("Ralph-Rests-On", rests_on.join(", ")));
    trailers.extend(gates.iter().map(|gate| ("Ralph-Gate", gate.clone())));
    trailers.extend(review.map(|review| ("Ralph-Review", review.to_owned())));
    let mut text = title(story).map(|title| title + "\n\n").unwrap_or_default();
    for (name, value) in trailers {
        text.push_str(&format!("{name}: {}\n", one_line(&value)));
    }
    text
}
