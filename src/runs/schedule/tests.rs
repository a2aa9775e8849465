use proptest::prelude::*;

use super::*;

fn change(index: usize) -> Change {
    Change::new(["a", "b", "c", "d", "e"][index]).unwrap()
}

fn any_change() -> impl Strategy<Value = Change> {
    (0..5usize).prop_map(change)
}

fn any_end() -> impl Strategy<Value = (End, Exit)> {
    proptest::sample::select(vec![
        (End::Closed, Exit::Done),
        (End::Closed, Exit::RetriesSpent),
        (End::Closed, Exit::Signal(15)),
        (End::WasComplete, Exit::NoStory),
        (End::Taken, Exit::Busy),
        (End::Over, Exit::NoStory),
        (End::NeedsUser, Exit::RetriesSpent),
        (End::NeedsUser, Exit::Error),
        (End::Stopped, Exit::Limit),
    ])
}

/// The fate of a change while the run does not look.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Is(Standing),
    NeedsUser(Exit),
    IsFinished,
}

fn any_fate() -> impl Strategy<Value = Fate> {
    proptest::sample::select(vec![
        Fate::Is(Standing::Begun),
        Fate::Is(Standing::New),
        Fate::Is(Standing::Held),
        Fate::Is(Standing::HeldByLiving),
        Fate::NeedsUser(Exit::RetriesSpent),
        Fate::NeedsUser(Exit::Person),
        Fate::IsFinished,
    ])
}

/// One turn, and what comes before and after it.
#[derive(Clone, Debug)]
struct Scene {
    moves: Vec<(Change, Fate)>,
    active: Option<Change>,
    random: usize,
    end: (End, Exit),
}

fn any_scene() -> impl Strategy<Value = Scene> {
    let moves = proptest::collection::vec((any_change(), any_fate()), 0..3);
    let active = proptest::option::weighted(0.1, any_change());
    (moves, active, any::<usize>(), any_end()).prop_map(|(moves, active, random, end)| Scene {
        moves,
        active,
        random,
        end,
    })
}

/// A run of a queue, the world around it, and what it has done so far.
struct Run {
    schedule: Schedule,
    world: BTreeMap<Change, Fate>,
    taken: BTreeSet<Change>,
    /// Those that were over when the run came to them.
    over: BTreeSet<Change>,
    passed_over: BTreeMap<Change, Exit>,
    closed: Vec<Exit>,
}

impl Run {
    fn queue(&self) -> Vec<(Change, Standing)> {
        let standing = |(change, fate): (&Change, &Fate)| match fate {
            Fate::Is(standing) => Some((change.clone(), *standing)),
            Fate::NeedsUser(_) | Fate::IsFinished => None,
        };
        self.world.iter().filter_map(standing).collect()
    }

    fn pass_over(&mut self, change: &Change, exit: Exit) {
        let is_new = self.schedule.pass_over(change, exit);
        let was_new = !self.passed_over.contains_key(change);
        assert_eq!(is_new, was_new, "{change} is not named once");
        self.passed_over.entry(change.clone()).or_insert(exit);
    }

    fn turn(&mut self, active: Option<&Change>, random: usize) -> Turn {
        let active = active.filter(|change| self.schedule.may_take(change));
        if let Some(turn) = active.map(|change| Turn::Work(change.clone())) {
            return turn;
        }
        for (change, fate) in self.world.clone() {
            if let Fate::NeedsUser(exit) = fate {
                self.pass_over(&change, exit);
            }
        }
        self.schedule.choose(&self.queue(), random)
    }

    /// Takes one turn; returns true if the run ends with it.
    fn take(&mut self, scene: &Scene) -> bool {
        match self.turn(scene.active.as_ref(), scene.random) {
            Turn::Work(change) => self.work(&change, scene),
            Turn::Wait => {
                let waits_for = |(change, standing): &(Change, Standing)| match standing {
                    Standing::Begun | Standing::New => self.taken.contains(change),
                    Standing::Held => true,
                    Standing::HeldByLiving => false,
                };
                assert!(self.queue().iter().any(waits_for), "it waits for nothing");
                self.taken.clear();
                false
            }
            end => {
                self.check(&end);
                true
            }
        }
    }

    fn work(&mut self, change: &Change, scene: &Scene) -> bool {
        assert!(!self.passed_over.contains_key(change), "{change} was passed over");
        assert!(!self.over.contains(change), "{change} was over");
        assert!(
            !self.taken.contains(change),
            "{change} is taken again without a pause"
        );
        let is_free = matches!(
            self.world.get(change),
            Some(Fate::Is(Standing::Begun | Standing::New))
        );
        assert!(
            is_free || scene.active.as_ref() == Some(change),
            "{change} is not free"
        );
        let (end, exit) = scene.end;
        match (self.schedule.note(change, end, exit), end) {
            (Then::GoOn, End::Closed) => {
                self.world.insert(change.clone(), Fate::IsFinished);
                self.closed.push(exit);
                self.taken.clear();
            }
            (Then::GoOn, End::Taken) => {
                self.taken.insert(change.clone());
            }
            // The queue may list it as free all the same.
            (Then::GoOn, End::Over) => drop(self.over.insert(change.clone())),
            (Then::PassOver(exit), End::NeedsUser | End::WasComplete) => self.pass_over(change, exit),
            (Then::Stop(code), End::Stopped) => {
                assert_eq!(code, exit);
                return true;
            }
            (then, end) => panic!("{end:?} has the consequence {then:?}"),
        }
        false
    }

    /// Checks the end of a run that no change stopped.
    fn check(&self, end: &Turn) {
        let mut left = self.queue();
        left.retain(|(change, _)| !self.passed_over.contains_key(change) && !self.over.contains(change));
        let is_held = |(_, standing): &(Change, Standing)| *standing == Standing::HeldByLiving;
        assert!(left.iter().all(is_held), "{left:?}");
        let exits: Vec<_> = self.passed_over.values().chain(&self.closed).copied().collect();
        let any_is = |exit| exits.contains(&exit);
        let is_done = matches!(end, Turn::Done(_));
        assert!(
            !is_done || left.is_empty() || !self.passed_over.is_empty(),
            "{left:?}"
        );
        match end {
            Turn::Done(Exit::Done) => assert!(exits.iter().all(|exit| *exit == Exit::Done)),
            Turn::Done(Exit::RetriesSpent) => {
                let is_better = |exit: &Exit| [Exit::Done, Exit::RetriesSpent].contains(exit);
                assert!(
                    any_is(Exit::RetriesSpent) && exits.iter().all(is_better),
                    "{exits:?}"
                );
            }
            Turn::Done(exit) => assert!(any_is(*exit), "{exits:?}"),
            Turn::NothingLeft => assert!(exits.is_empty() && left.is_empty(), "{exits:?}"),
            Turn::AllHeld => assert!(self.passed_over.is_empty() && !left.is_empty()),
            Turn::Work(_) | Turn::Wait => unreachable!(),
        }
    }
}

proptest! {
    #[test]
    fn run_of_a_queue_keeps_the_invariants_and_ends(
        scenes in proptest::collection::vec(any_scene(), 0..40),
    ) {
        let mut run = Run {
            schedule: Schedule::of_queue(),
            world: BTreeMap::new(),
            taken: BTreeSet::new(),
            over: BTreeSet::new(),
            passed_over: BTreeMap::new(),
            closed: Vec::new(),
        };
        for scene in &scenes {
            run.world.extend(scene.moves.clone());
            if run.take(scene) {
                return Ok(());
            }
        }
        // No other run does anything from here on.
        for fate in run.world.values_mut() {
            if let Fate::Is(standing @ Standing::Held) = fate {
                *standing = Standing::HeldByLiving;
            }
        }
        let quiet = Scene {
            moves: Vec::new(),
            active: None,
            random: 0,
            end: (End::Closed, Exit::Done),
        };
        prop_assert!((0..8).any(|_| run.take(&quiet)), "the run does not end");
    }

    #[test]
    fn run_of_named_changes_takes_each_once_and_stops_at_a_failure(
        (named, active) in (proptest::collection::vec(any_change(), 1..5), any_change()),
        ends in proptest::collection::vec(any_end(), 5),
    ) {
        let mut schedule = Schedule::of_named(named.clone(), Some(&active));
        let (mut begun, mut exits) = (Vec::new(), Vec::new());
        let code = loop {
            let change = match schedule.next_named() {
                Some(Turn::Work(change)) => change,
                Some(Turn::Done(code)) => break code,
                turn => panic!("{turn:?}"),
            };
            let (end, exit) = ends[begun.len()];
            begun.push(change.to_string());
            let heading = format!("change {} of {}: {change}", begun.len(), named.len());
            prop_assert_eq!(schedule.heading(&change), (named.len() > 1).then_some(heading));
            match (schedule.note(&change, end, exit), end) {
                (Then::GoOn, End::WasComplete | End::Over) => {}
                (Then::GoOn, End::Closed) => exits.push(exit),
                (Then::Stop(code), End::Taken | End::NeedsUser | End::Stopped) => {
                    exits.push(exit);
                    break code;
                }
                (then, end) => panic!("{end:?} has the consequence {then:?}"),
            }
        };
        let first = exits.into_iter().find(|exit| *exit != Exit::Done);
        prop_assert_eq!(code, first.unwrap_or(Exit::Done));
        let (mut order, others): (Vec<_>, Vec<_>) = named.iter().partition(|change| **change == active);
        order.extend(others);
        begun.extend(schedule.left().iter().map(ToString::to_string));
        prop_assert_eq!(begun, order.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
}

#[test]
fn random_number_decides_among_those_that_are_like_the_first() {
    let queue = [
        (change(1), Standing::Begun),
        (change(0), Standing::Begun),
        (change(2), Standing::New),
    ];
    let chosen = |random| Schedule::of_queue().choose(&queue, random);
    let [a, b, c] = [0, 1, 2].map(|index| Turn::Work(change(index)));
    assert_eq!([chosen(0), chosen(1), chosen(2)], [b.clone(), a, b]);
    let mut schedule = Schedule::of_queue();
    schedule.pass_over(&change(1), Exit::Person);
    schedule.note(&change(0), End::Taken, Exit::Busy);
    assert_eq!(schedule.choose(&queue, 1), c);
}

#[test]
fn run_of_a_queue_ends_with_the_worst_exit_code() {
    let mut schedule = Schedule::of_queue();
    for exit in [Exit::RetriesSpent, Exit::Signal(15), Exit::Done] {
        schedule.note(&change(0), End::Closed, exit);
    }
    assert_eq!(schedule.choose(&[], 0), Turn::Done(Exit::Signal(15)));
    schedule.pass_over(&change(1), Exit::RetriesSpent);
    let held = [(change(2), Standing::HeldByLiving)];
    assert_eq!(schedule.choose(&held, 0), Turn::Done(Exit::Signal(15)));
    // A story that failed is worse than one that the user skipped.
    let mut schedule = Schedule::of_queue();
    for exit in [Exit::RetriesSpent, Exit::NoStory, Exit::Done] {
        schedule.note(&change(0), End::Closed, exit);
    }
    assert_eq!(schedule.choose(&[], 0), Turn::Done(Exit::RetriesSpent));
}
