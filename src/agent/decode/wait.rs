//! The time to wait that an error message names: a duration, or a time of day.
//!
//! Invariant: a text that is not understood completely names no time. This module does not depend on the kind of wait.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned, civil};
use std::time::Duration;

use crate::agent::promise::phrases;

/// Words before a duration.
const SPANS: &str =
    "retry after, retry-after, retrydelay, retry in, try again in, reset after, resets in, reset in";

/// Words before a time of day: of this machine, unless a time zone is named.
const CLOCK: &[&str] = &["try again at ", "resets at ", "reset at ", "resets "];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Returns the seconds to wait that a lower-case error message names.
pub(super) fn wait_in(message: &str) -> Option<u64> {
    if let Some((_, epoch)) = message.split_once("limit reached|") {
        return seconds_until(leading_number(epoch)?.0.parse().ok()?);
    }
    let after = |words: &str| message.split_once(words).map(|(_, after)| after);
    if let Some(after) = phrases(SPANS).find_map(after) {
        return duration(after.trim_start_matches([' ', ':', '=', '"', '\'']));
    }
    clock(CLOCK.iter().copied().find_map(after)?, &Zoned::now())
}

/// Returns the seconds from now until `epoch`, a time in Unix seconds.
pub(super) fn seconds_until(epoch: u64) -> Option<u64> {
    let time = Timestamp::from_second(epoch.try_into().ok()?).ok()?;
    Some(seconds(Timestamp::now(), time))
}

fn seconds(from: Timestamp, until: Timestamp) -> u64 {
    u64::try_from(until.duration_since(from).as_secs()).unwrap_or(0)
}

/// Returns the seconds from `now` until `7:37 am`, `3pm (europe/berlin)` or `nov 25th, 2026 6:07 am`. A time without a
/// date means its next occurrence, a date without a year the next such date; a time within the present minute ends with
/// the minute.
fn clock(text: &str, now: &Zoned) -> Option<u64> {
    let mut words = text
        .split(|char: char| char.is_whitespace() || char == ',')
        .filter(|word| !word.is_empty())
        .peekable();
    let date = words.next_if(|word| !word.starts_with(|char: char| char.is_ascii_digit()));
    let date = match date {
        None => None,
        Some(month) => Some(day_of_year(month, words.next()?)?),
    };
    let is_year = |word: &&str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let year = date.and_then(|_| words.next_if(is_year));
    let first = words.next()?;
    let time = time_of_day(first).or_else(|| time_of_day(&format!("{first}{}", words.next()?)))?;
    let now = match words.peek().and_then(|word| word.strip_prefix('(')) {
        Some(zone) => now.with_time_zone(zone_called(zone, now)?),
        None => now.clone(),
    };
    let this_minute = now.time().with().second(0).subsec_nanosecond(0).build().ok()?;
    let day = match (date, year) {
        (Some((month, day)), Some(year)) => civil::Date::new(year.parse().ok()?, month, day).ok()?,
        (Some((month, day)), None) => next_date(month, day, now.date())?,
        (None, _) if time < this_minute => now.date().tomorrow().ok()?,
        (None, _) => now.date(),
    };
    let mut until = day.to_datetime(time);
    if until == now.date().to_datetime(this_minute) {
        until = until.checked_add(1.minute()).ok()?;
    }
    let until = until.to_zoned(now.time_zone().clone()).ok()?;
    Some(seconds(now.timestamp(), until.timestamp()))
}

/// Reads a time zone in brackets; other words in brackets mean the time zone of this machine.
fn zone_called(word: &str, now: &Zoned) -> Option<TimeZone> {
    let name = word.trim_end_matches(|char: char| !char.is_ascii_alphanumeric());
    match TimeZone::get(name) {
        Ok(zone) => Some(zone),
        // The name of an unknown time zone.
        Err(_) if name.contains('/') || word.contains(')') => None,
        Err(_) => Some(now.time_zone().clone()),
    }
}

/// Reads `nov` and `25th`.
fn day_of_year(month: &str, day: &str) -> Option<(i8, i8)> {
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let endings = ["st", "nd", "rd", "th"];
    let number = endings.iter().find_map(|ending| day.strip_suffix(ending));
    Some((month.try_into().ok()?, number.unwrap_or(day).parse().ok()?))
}

/// Returns the next occurrence of a date, today included.
fn next_date(month: i8, day: i8, today: civil::Date) -> Option<civil::Date> {
    let years = [today.year(), today.year().checked_add(1)?];
    let mut dates = years
        .into_iter()
        .filter_map(|year| civil::Date::new(year, month, day).ok());
    dates.find(|date| *date >= today)
}

/// Reads `7:37am` or `3pm`, which may end a sentence.
fn time_of_day(time: &str) -> Option<civil::Time> {
    let time = time.trim_end_matches(|char: char| !char.is_ascii_alphanumeric());
    let (time, afternoon) = match (time.strip_suffix("am"), time.strip_suffix("pm")) {
        (Some(time), _) => (time, 0),
        (_, Some(time)) => (time, 12),
        _ => return None,
    };
    let (hour, minute) = time.split_once(':').unwrap_or((time, "0"));
    let hour: i8 = hour.parse().ok()?;
    if !(1..=12).contains(&hour) {
        return None;
    }
    civil::Time::new(hour % 12 + afternoon, minute.parse().ok()?, 0, 0).ok()
}

/// Reads `90`, `90 seconds`, `1.5s` or `1h2m`, in whole seconds.
fn duration(text: &str) -> Option<u64> {
    let mut seconds = None;
    let mut rest = text;
    while let Some((number, after)) = leading_number(rest) {
        let after = after.trim_start_matches(' ');
        let unit_end = after.find(|char: char| !char.is_ascii_lowercase());
        let (unit, after) = after.split_at(unit_end.unwrap_or(after.len()));
        let factor = match unit {
            "ms" | "milliseconds" => 0.001,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86400.0,
            _ => 1.0,
        };
        let part = number.parse::<f64>().ok()? * factor;
        seconds = Some(seconds.unwrap_or(0.0) + part);
        rest = after.trim_start_matches(' ');
    }
    let rounded = Duration::try_from_secs_f64(seconds?.ceil()).ok()?;
    Some(rounded.as_secs())
}

/// Cuts off the number that `text` begins with.
fn leading_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.');
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    number
        .starts_with(|char: char| char.is_ascii_digit())
        .then_some((number.trim_end_matches('.'), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::offset;
    use proptest::prelude::*;

    #[test]
    fn a_span_is_read() {
        for (message, seconds) in [
            ("please retry after 30", Some(30)),
            ("try again in 1.2s.", Some(2)),
            ("try again in 6m0s", Some(360)),
            ("resets in 2 hours 5 minutes", Some(7500)),
            (r#""retrydelay": "34s""#, Some(34)),
            ("try again in 250ms", Some(1)),
            ("try again in 9999999999999999999999 days", None),
            ("try again in a moment", None),
            ("usage limit reached|1000", Some(0)),
            ("usage limit reached|99999999999999999999999", None),
            ("too many requests", None),
            ("the rate limit resets with the next day", None),
        ] {
            assert_eq!(wait_in(message), seconds, "{message}");
        }
    }

    #[test]
    fn a_time_on_the_clock_is_read() {
        let zone = TimeZone::fixed(offset(-5));
        let now = civil::date(2026, 11, 22).at(6, 30, 20, 0).to_zoned(zone).unwrap();
        let (minute, hour, day) = (60, 3600, 86_400);
        for (text, seconds) in [
            ("7:37 am.", Some(hour + 7 * minute - 20)),
            ("6:31 am", Some(40)),
            ("6:30 am.", Some(40)),
            ("6:29 am.", Some(day - minute - 20)),
            ("12:00 am.", Some(17 * hour + 30 * minute - 20)),
            ("12:00 pm", Some(5 * hour + 30 * minute - 20)),
            ("nov 25th, 2026 6:07 am.", Some(3 * day - 23 * minute - 20)),
            ("nov 22nd, 2026 6:30 am.", Some(40)),
            ("nov 21st, 2026 6:07 am.", Some(0)),
            (
                "dec 3rd, 2026 1:00 pm)",
                Some(11 * day + 6 * hour + 30 * minute - 20),
            ),
            ("feb 30th, 2027 6:07 am.", None),
            ("november 25th, 2026 6:07 am.", None),
            ("nov 22, 2026 7:30 am.", Some(3600 - 20)),
            ("nov 25xx, 2026 6:07 am.", None),
            ("25 nov 2026 6:07 am", None),
            ("nov 25th 6:07 am", Some(3 * day - 23 * minute - 20)),
            ("13:00 pm", None),
            ("0:10 am", None),
            ("7:61 am", None),
            ("7:37", None),
            ("7:37 utc", None),
            ("7 pm", Some(12 * hour + 30 * minute - 20)),
            ("7pm", Some(12 * hour + 30 * minute - 20)),
            ("7:30pm.", Some(13 * hour - 20)),
            ("7:30pm\nbye", Some(13 * hour - 20)),
            // It is half past eleven in that time zone.
            ("3pm (utc)", Some(3 * hour + 30 * minute - 20)),
            ("3pm (europe/berlin).", Some(2 * hour + 30 * minute - 20)),
            ("3pm (nowhere/town)", None),
            ("3pm (xyz)", None),
            ("7:00 am (or buy more)", Some(30 * minute - 20)),
            ("nov 22, 7am", Some(30 * minute - 20)),
            ("nov 24 at noon", None),
            ("nov 23, 6am (utc)", Some(18 * hour + 30 * minute - 20)),
            ("jan 1, 12:00 am", Some(39 * day + 17 * hour + 30 * minute - 20)),
            ("soon", None),
            ("14pm", None),
            ("noon", None),
            ("", None),
        ] {
            assert_eq!(clock(text, &now), seconds, "{text}");
        }
    }

    #[test]
    fn clock_time_is_in_the_zone_of_the_machine() {
        let in_two_hours = Zoned::now().checked_add(2.hours()).unwrap();
        let message = in_two_hours.strftime("or try again at %b %-dth, %Y %-I:%M %p.");
        let message = message.to_string().to_lowercase();
        for ending in ["st", "nd", "rd", "th"] {
            let wait = wait_in(&message.replacen("th,", &format!("{ending},"), 1)).unwrap();
            assert!((7200 - 60..=7200).contains(&wait), "{wait}");
        }
    }

    proptest! {
        #[test]
        fn wait_in_survives_any_text(span in "[0-9.hms ]*", clock in "[a-z0-9:, ]*", epoch in any::<u64>()) {
            let _ = wait_in(&format!("retry in {span}"));
            let _ = wait_in(&format!("try again at {clock}"));
            let _ = wait_in(&format!("try again at dec {}th, {} 6:07 am", epoch % 40, epoch % 20_000));
            let _ = wait_in(&format!("limit reached|{epoch}"));
        }
    }
}
