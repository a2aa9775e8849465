//! The pace of a replay of a loop's events: the original one, or faster or slower.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::events::Event;

/// Maximum pause between two events, in seconds: a past night is not waited for.
const LONGEST: f64 = 2.0;

/// Holds events back until they are due.
#[derive(Debug, Default)]
pub struct Pace {
    /// The factor: 2 is twice as fast.
    speed: f64,
    /// The time of the first call, by both clocks.
    begun: Option<(Instant, Timestamp)>,
    /// The time of the last event read, and its offset in the replay.
    last: Option<(Timestamp, Duration)>,
    held: VecDeque<(Duration, Event)>,
}

impl Pace {
    /// Makes a pace; `speed` 2 is twice as fast.
    pub fn new(speed: f64) -> Self {
        Self {
            speed,
            ..Self::default()
        }
    }

    /// Takes new events, and returns those that are due, with the times at which they are shown.
    pub fn hold(&mut self, events: Vec<Event>, now: Instant) -> Vec<Event> {
        let (begun, shown) = *self.begun.get_or_insert_with(|| (now, Timestamp::now()));
        for event in events {
            let due = self.last.map_or(Duration::ZERO, |(last, due)| {
                let gap = event.t.duration_since(last).as_secs_f64() / self.speed;
                due + Duration::try_from_secs_f64(gap.clamp(0.0, LONGEST)).unwrap_or_default()
            });
            self.last = Some((event.t, due));
            let t = shown.checked_add(due).unwrap_or(shown);
            self.held.push_back((due, Event { t, ..event }));
        }
        let elapsed = now.duration_since(begun);
        let due = self.held.partition_point(|(due, _)| *due <= elapsed);
        self.held.drain(..due).map(|(_, event)| event).collect()
    }

    /// Returns the time at which the first event was shown.
    pub fn begun(&self) -> Option<Timestamp> {
        self.begun.map(|(_, shown)| shown)
    }

    /// Returns whether all events have been shown.
    pub fn is_over(&self) -> bool {
        self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::What;

    fn event(second: i64) -> Event {
        let message = second.to_string();
        let mut event = Event::now("c", What::Notice { message });
        event.t = Timestamp::from_second(second).unwrap();
        event
    }

    #[test]
    fn events_come_at_their_times_and_long_silences_are_cut_short() {
        let mut pace = Pace::new(10.0);
        let begun = Instant::now();
        let at = |tenths: u64| begun + Duration::from_millis(tenths * 100);
        let words = |events: Vec<Event>| -> Vec<String> {
            let words = events.into_iter().map(|event| match event.what {
                What::Notice { message } => message,
                _ => String::new(),
            });
            words.collect()
        };
        let all = [100, 101, 103, 90_000].map(event).to_vec();
        assert_eq!(words(pace.hold(all, at(0))), ["100"]);
        assert!(!pace.is_over());
        assert_eq!(words(pace.hold(Vec::new(), at(1))), ["101"]);
        assert_eq!(words(pace.hold(Vec::new(), at(2))), [""; 0]);
        assert_eq!(words(pace.hold(Vec::new(), at(3))), ["103"]);
        assert_eq!(words(pace.hold(Vec::new(), at(22))), [""; 0]);
        assert_eq!(words(pace.hold(Vec::new(), at(23))), ["90000"]);
        assert!(pace.is_over());
    }
}
