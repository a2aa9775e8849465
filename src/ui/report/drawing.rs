//! Computes the drawing of the timeline: the positions and sizes of its bars.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::timeline::{self, Scale};
use super::{moment, short, when};
use crate::report::{AttemptReport, Report};
use crate::ui::amounts::{time, time_of_gate};
use crate::ui::shown::plain;

/// Width of the timeline, left edge of its bars, and height of a row, in units of the drawing.
const WIDTH: f64 = 800.0;
const LEFT: f64 = 190.0;
const ROW: f64 = 24.0;
/// Upper edge of the first row, below the times.
const TOP: f64 = 44.0;

/// Draws the timeline of a loop; `None` if nothing ran.
pub(super) fn timeline_of(
    report: &Report,
    stories: &[(String, Vec<(String, &AttemptReport)>)],
) -> Option<Value> {
    let (start, end) = report.started.zip(report.ended)?;
    if stories.is_empty() {
        return None;
    }
    let scale = &Scale::of(report);
    let lines = stories.iter().map(|(title, attempts)| {
        let bars = attempts
            .iter()
            .flat_map(|(id, attempt)| bars_of(attempt, scale, id));
        (title.clone(), bars.collect())
    });
    let mut lines: Vec<(String, Vec<Value>)> = lines.collect();
    let waits = timeline::of_waits(report);
    let has_waits = !waits.is_empty();
    if has_waits {
        let bars = waits.into_iter().map(|(from, to)| {
            let title = format!("waiting, {}", time(to - from));
            bar(scale, (from, to), "wait", &title, None)
        });
        lines.push(("waiting".to_owned(), bars.collect()));
    }
    let mut y = TOP;
    let rows = lines.iter().map(|(label, bars)| {
        let row = json!({ "y": y, "full": label, "label": short(label, 26), "bars": bars });
        y += ROW;
        row
    });
    let rows: Vec<Value> = rows.collect();
    let (step, ticks) = scale.ticks();
    let mut day = start.to_zoned(TimeZone::UTC).date();
    let ticks = ticks.into_iter().filter_map(|(time, at)| {
        let time = Timestamp::from_duration(SignedDuration::try_from_secs_f64(time).ok()?).ok()?;
        let time = time.to_zoned(TimeZone::UTC);
        let form = match (std::mem::replace(&mut day, time.date()) == day, step < 60.0) {
            (false, _) => "%m-%d %H:%M",
            (true, true) => "%H:%M:%S",
            (true, false) => "%H:%M",
        };
        Some((place(at), time.strftime(form).to_string()))
    });
    let gaps = scale.gaps.iter();
    let gaps = gaps.map(|(at, long)| (place(*at), format!("{} in which nothing ran", time(*long))));
    Some(json!({
        "height": y + 6.0,
        "bottom": y,
        "rows": rows,
        "gaps": gaps.collect::<Vec<_>>(),
        // Horizontal positions with the times there.
        "ticks": ticks.collect::<Vec<_>>(),
        "start": moment(start),
        "end": moment(end),
        "has_waits": has_waits,
    }))
}

/// Returns the horizontal position of a place between 0 and 1, rounded to a tenth of a unit.
fn place(at: f64) -> f64 {
    ((LEFT + at * (WIDTH - LEFT - 10.0)) * 10.0).round() / 10.0
}

/// Draws a bar for a span of time.
fn bar(scale: &Scale, span: timeline::Span, kind: &str, title: &str, target: Option<&str>) -> Value {
    let (from, to) = scale.span(span);
    let x = place(from);
    let width = ((place(to) - x).max(3.0) * 10.0).round() / 10.0;
    json!({
        // A bar at the end stays on the page.
        "x": x.min(WIDTH - 10.0 - width),
        "width": width,
        "kind": kind,
        "title": title,
        "target": target,
    })
}

/// Draws the bars of an attempt: the agent, then its gates.
fn bars_of(attempt: &AttemptReport, scale: &Scale, target: &str) -> Vec<Value> {
    let bar = |span, kind, title: &str| bar(scale, span, kind, title, Some(target));
    let entry = &attempt.entry.attempt;
    let (name, verdict, took) = (entry.name(), entry.verdict.words(), time(entry.duration));
    let title = format!("{} {verdict}, {took}", plain(&name));
    let mut bars = vec![bar(timeline::of_agent(attempt), kind_of(attempt), &title)];
    for (gate, span) in attempt.gates.iter().zip(timeline::of_gates(attempt)) {
        let (kind, words) = if gate.passed {
            ("gate", "passed")
        } else {
            ("red-gate", "failed")
        };
        let (took, command) = (time_of_gate(gate.duration), short(&gate.command, 80));
        let title = format!("gate {words}{}, {took}: {command}", when(gate));
        bars.push(bar(span, kind, &title));
    }
    bars
}

/// Returns the class of an attempt's bar.
pub(super) fn kind_of(attempt: &AttemptReport) -> &'static str {
    if attempt.is_complete() {
        "complete"
    } else if attempt.entry.attempt.verdict.counts() {
        "failed"
    } else {
        "other"
    }
}
