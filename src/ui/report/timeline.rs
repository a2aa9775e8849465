//! Places the attempts, gates and waits of a loop on a line.
//!
//! Idle time is shortened, so that a night does not hide an hour of work. If the clock went back, bars may have no
//! length, but none is outside of the line.

use jiff::Timestamp;

use crate::report::{AttemptReport, Kind, Report};

/// Maximum length of an idle stretch on the line, as a share of the working time.
const MOST_IDLE: f64 = 0.05;

/// Seconds between two ticks.
const STEPS: [f64; 15] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 21_600.0,
];

/// Least distance of two ticks, as a share of the line.
const APART: f64 = 0.12;

/// The mapping of times to places between 0 and 1 on the line.
#[derive(Debug, Default)]
pub(super) struct Scale {
    /// The ends of the stretches: in seconds, and as places on the line.
    points: Vec<(f64, f64)>,
    /// The shortened stretches: the place of their middle on the line, and their seconds.
    pub gaps: Vec<(f64, f64)>,
    /// The busy stretches.
    busy: Vec<Span>,
}

/// A stretch of time, in seconds of the Unix clock.
pub(super) type Span = (f64, f64);

fn seconds(t: Timestamp) -> f64 {
    t.as_duration().as_secs_f64()
}

fn from(start: f64, duration: f64) -> Span {
    let duration = if duration.is_finite() {
        duration.max(0.0)
    } else {
        0.0
    };
    (start, start + duration)
}

/// Returns the time in which the agent ran.
pub(super) fn of_agent(attempt: &AttemptReport) -> Span {
    let attempt = &attempt.entry.attempt;
    from(seconds(attempt.started), attempt.duration)
}

/// Returns the times in which the gates of an attempt ran.
pub(super) fn of_gates(attempt: &AttemptReport) -> Vec<Span> {
    let gates = attempt.gates.iter();
    let gates = gates.map(|gate| from(seconds(gate.ended) - gate.duration.max(0.0), gate.duration));
    gates.collect()
}

/// Returns the times in which the loop waited.
pub(super) fn of_waits(report: &Report) -> Vec<Span> {
    let waits = report.events.iter().filter(|event| event.kind == Kind::Waiting);
    waits
        .map(|wait| from(seconds(wait.t), wait.duration.unwrap_or(0.0)))
        .collect()
}

impl Scale {
    /// Creates the mapping for the attempts, gates and waits of a report.
    pub fn of(report: &Report) -> Self {
        let mut spans = of_waits(report);
        for (_, attempt) in report.attempts() {
            spans.push(of_agent(attempt));
            spans.extend(of_gates(attempt));
        }
        Self::over(spans)
    }

    fn over(mut spans: Vec<Span>) -> Self {
        spans.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut busy: Vec<Span> = Vec::new();
        for span in spans {
            match busy.last_mut() {
                Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
                _ => busy.push(span),
            }
        }
        let worked: f64 = busy.iter().map(|(from, to)| to - from).sum();
        let most = worked * MOST_IDLE;
        // Stretches as (seconds at the beginning, how long it is shown, how long it is).
        let mut stretches = Vec::new();
        for (number, (begin, end)) in busy.iter().enumerate() {
            stretches.push((*begin, end - begin, None));
            if let Some((next, _)) = busy.get(number + 1) {
                let idle = next - end;
                stretches.push((*end, idle.min(most), (idle > most).then_some(idle)));
            }
        }
        let shown: f64 = stretches.iter().map(|(_, shown, _)| shown).sum();
        let mut scale = Self::default();
        let mut at = 0.0;
        for (begin, long, idle) in stretches {
            let long = if shown > 0.0 { long / shown } else { 0.0 };
            scale.points.push((begin, at));
            if let Some(idle) = idle {
                scale.gaps.push((at + long / 2.0, idle));
            }
            at += long;
        }
        if let Some((_, end)) = busy.last() {
            scale.points.push((*end, 1.0));
        }
        scale.busy = busy;
        scale
    }

    /// Returns the place of a time on the line.
    fn at(&self, time: f64) -> f64 {
        let next = self.points.partition_point(|(begin, _)| *begin <= time);
        let before = next.checked_sub(1).map(|at| self.points[at]);
        match (before, self.points.get(next)) {
            (None, _) => 0.0,
            (Some(_), None) => 1.0,
            (Some((begin, from)), Some((end, to))) => {
                let part = (time - begin) / (end - begin);
                (from + part * (to - from)).clamp(0.0, 1.0)
            }
        }
    }

    /// Returns round times in busy stretches, with their places on the line, far enough apart to be readable; and the
    /// seconds between neighbours.
    pub fn ticks(&self) -> (f64, Vec<(f64, f64)>) {
        let worked: f64 = self.busy.iter().map(|(from, to)| to - from).sum();
        let steps = STEPS.into_iter();
        let step = steps.rfold(
            86_400.0,
            |found, step| if worked / step <= 8.0 { step } else { found },
        );
        let mut ticks: Vec<(f64, f64)> = Vec::new();
        // A loop of months does not get a tick for each day.
        let step = step.max(worked / 1000.0);
        for (from, to) in &self.busy {
            let mut time = (from / step).ceil() * step;
            while time <= *to {
                let at = self.at(time);
                let is_far = ticks.last().is_none_or(|(_, last)| at - last >= APART);
                if is_far && at <= 1.0 - APART / 2.0 {
                    ticks.push((time, at));
                }
                time += step;
            }
        }
        (step, ticks)
    }

    /// Returns the places of the beginning and the end of a stretch of time.
    pub fn span(&self, (from, to): Span) -> (f64, f64) {
        let begin = self.at(from);
        (begin, self.at(to).max(begin))
    }

    /// Draws a stretch of time over a row of characters; it has at least one character.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "places between 0 and the length of a short row"
    )]
    pub fn draw(&self, row: &mut [char], span: Span, with: char) {
        let (from, to) = self.span(span);
        let length = row.len();
        let place = |at: f64| ((at * length as f64) as usize).min(length.saturating_sub(1));
        let end = (to * length as f64).ceil() as usize;
        let begin = place(from);
        for cell in &mut row[begin..end.clamp(begin + 1, length.max(begin + 1)).min(length)] {
            *cell = with;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn timeline_shortens_a_night() {
        let scale = Scale::over(vec![(0.0, 100.0), (40_000.0, 40_100.0)]);
        assert_eq!(scale.gaps.len(), 1);
        assert!((scale.gaps[0].1 - 39_900.0).abs() < 1e-9);
        let (from, to) = scale.span((0.0, 100.0));
        assert!(from.abs() < 1e-9 && to > 0.45, "{to}");
        let mut row = ['·'; 10];
        scale.draw(&mut row, (40_000.0, 40_100.0), '█');
        assert_eq!(row.iter().collect::<String>(), "·····█████");
        assert_eq!(Scale::default().span((1.0, 2.0)), (0.0, 0.0));
        let (step, ticks) = scale.ticks();
        let times: Vec<f64> = ticks.iter().map(|(time, _)| *time).collect();
        assert_eq!(
            (step, times),
            (30.0, vec![0.0, 30.0, 60.0, 90.0, 40_020.0, 40_050.0, 40_080.0])
        );
        assert!(Scale::default().ticks().1.is_empty());
    }

    proptest! {
        #[test]
        fn timeline_shows_every_span(spans in prop::collection::vec((-1e9..1e9_f64, -10.0..1e7_f64), 0..20), width in 1_usize..30) {
            let spans: Vec<Span> = spans.into_iter().map(|(at, long)| from(at, long)).collect();
            let scale = Scale::over(spans.clone());
            let (_, ticks) = scale.ticks();
            prop_assert!(ticks.len() <= 9 && ticks.iter().all(|(_, at)| (0.0..1.0).contains(at)));
            for span in spans {
                let (from, to) = scale.span(span);
                prop_assert!((0.0..=1.0).contains(&from) && from <= to && to <= 1.0);
                let mut row = vec![' '; width];
                scale.draw(&mut row, span, 'x');
                prop_assert!(row.contains(&'x'));
            }
        }
    }
}
