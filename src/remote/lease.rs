//! Decides whether the holder of a loop is dead. Never compares clocks of two machines: an object id that did not
//! change for a lease and a quarter, by the local clock, belongs to a dead holder (`docs/scale-out.md`). Pure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::record::Record;
use crate::names::{Change, Oid};
use crate::settings::to_std;

/// Number of leases after which an unwatched holder counts as dead by its own timestamps. A wrong clock costs work,
/// never correctness.
const LEASES_UNWATCHED: u32 = 4;

/// Maximum lease: a holder with a longer one is not waited for longer.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Returns the time between two renewals.
pub fn renewal(lease: Duration) -> Duration {
    lease / 3
}

/// Returns the time without an answer after which a holder gives up.
pub fn patience(lease: Duration) -> Duration {
    lease * 2 / 3
}

/// Refs of a remote, as they were listed.
pub type Refs = Vec<(String, Oid)>;

/// The observed loops of a remote, with their holders, by the local clock.
#[derive(Debug, Default)]
pub struct Watch {
    seen: BTreeMap<Change, (Oid, Instant, bool)>,
    /// The refs that the remote listed last; a run that takes a loop at once needs no other listing.
    pub refs: Option<Refs>,
}

/// The state of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// No run holds the loop.
    Free,
    /// Its holder is dead.
    Dead,
    /// Its holder was seen to renew its lease.
    Alive,
    /// Its holder was not watched long enough.
    Unknown,
}

impl Watch {
    /// Returns whether the holder of a loop was seen to renew its lease.
    pub fn is_alive(&self, change: &Change) -> bool {
        self.seen.get(change).is_some_and(|(_, _, moved)| *moved)
    }

    /// Notes the present object of a loop's ref; returns the state of its holder. `lease` is the reader's own: the
    /// longer of it and the holder's counts.
    pub fn look(
        &mut self,
        record: &Record,
        oid: &Oid,
        lease: Duration,
        now: Instant,
        clock: Timestamp,
    ) -> Holding {
        let lease = lease.max(to_std(record.lease).min(LONGEST));
        let (seen, since, moved) = self
            .seen
            .entry(record.change.clone())
            .or_insert_with(|| (oid.clone(), now, false));
        if seen != oid {
            (*seen, *since, *moved) = (oid.clone(), now, true);
        }
        let watched = now.saturating_duration_since(*since);
        let age = to_std(clock.duration_since(record.renewed).abs());
        let is_past = clock >= record.renewed;
        match &record.holder {
            None => Holding::Free,
            Some(_) if watched >= lease + lease / 4 => Holding::Dead,
            Some(_) if *moved => Holding::Alive,
            Some(_) if is_past && age >= lease * LEASES_UNWATCHED => Holding::Dead,
            Some(_) => Holding::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::record::Holder;
    use crate::state::Phase;
    use jiff::SignedDuration;

    const LEASE: Duration = Duration::from_secs(100);

    fn record(renewed: Timestamp, held: bool) -> Record {
        Record {
            change: Change::new("c").unwrap(),
            generation: 1,
            holder: held.then(|| Holder {
                name: "process 1 on a".to_owned(),
                token: "1".to_owned(),
            }),
            lease: SignedDuration::ZERO,
            renewed,
            phase: Phase::Ready,
            done: 0,
            total: 1,
            skipped: 0,
            checkpoint: oid('c'),
            blocked: None,
        }
    }

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    #[test]
    fn holder_is_dead_if_it_did_not_renew_during_the_watch() {
        let (begun, clock) = (Instant::now(), Timestamp::now());
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let held = record(clock, true);
        let mut watch = Watch::default();
        let mut look = |digit, seconds| watch.look(&held, &oid(digit), LEASE, at(seconds), clock);
        assert_eq!(look('1', 0), Holding::Unknown);
        assert_eq!(look('1', 124), Holding::Unknown);
        assert_eq!(look('2', 124), Holding::Alive);
        assert_eq!(look('2', 248), Holding::Alive);
        assert_eq!(look('2', 249), Holding::Dead);
        assert_eq!(look('3', 250), Holding::Alive);
        let free = record(clock, false);
        assert_eq!(watch.look(&free, &oid('3'), LEASE, at(251), clock), Holding::Free);
    }

    #[test]
    fn a_holder_has_its_own_lease_where_that_is_longer() {
        let (begun, clock) = (Instant::now(), Timestamp::now());
        let held = Record {
            lease: SignedDuration::from_secs(400),
            ..record(clock, true)
        };
        let mut watch = Watch::default();
        let mut look = |seconds: u64| {
            let now = begun + Duration::from_secs(seconds);
            watch.look(&held, &oid('1'), LEASE, now, clock)
        };
        assert_eq!(
            [0, 125, 499, 500].map(&mut look),
            [
                Holding::Unknown,
                Holding::Unknown,
                Holding::Unknown,
                Holding::Dead
            ]
        );
    }

    #[test]
    fn holders_clock_counts_only_when_it_is_long_past() {
        let clock = Timestamp::now();
        let ago = |seconds: i64| clock - SignedDuration::from_secs(seconds);
        for (renewed, wanted) in [
            (ago(399), Holding::Unknown),
            (ago(400), Holding::Dead),
            (ago(-86_400), Holding::Unknown),
        ] {
            let mut watch = Watch::default();
            let held = record(renewed, true);
            let found = watch.look(&held, &oid('1'), LEASE, Instant::now(), clock);
            assert_eq!(found, wanted, "{renewed}");
        }
    }
}
