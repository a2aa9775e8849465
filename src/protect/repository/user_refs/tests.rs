use std::cell::RefCell;

use super::*;

fn oid(digit: char) -> Oid {
    Oid::parse(&digit.to_string().repeat(40)).unwrap()
}
fn refs(entries: &[(&str, char)]) -> UserRefs {
    let value = |(name, at): &(&str, char)| ((*name).to_owned(), RefValue::Oid(oid(*at)));
    let values = entries.iter().map(value);
    UserRefs(Arc::new(values.collect()))
}

#[test]
fn changes_since_finds_moved_deleted_and_new_refs() {
    let before = refs(&[("refs/heads/a", '1'), ("refs/heads/b", '2'), ("refs/tags/t", '3')]);
    let now = refs(&[("refs/heads/a", '1'), ("refs/heads/b", '4'), ("refs/stash", '5')]);
    let changes = now.changes_since(&before);
    let messages = changes.iter().map(|change| change.message("the attempt"));
    assert_eq!(
        messages.collect::<Vec<_>>(),
        [
            "the branch b was moved from 2222222222 to 4444444444 during the attempt",
            "the tag t was deleted during the attempt (it was at 3333333333)",
            "the stash was made during the attempt",
        ]
    );
    let dir = tempfile::tempdir().unwrap();
    let slot = Slot::of(&dir.path().join("ralph/c"));
    slot.make().unwrap();
    before.record(&slot).unwrap();
    assert_eq!(UserRefs::recorded(&slot).unwrap(), Some(before));
    UserRefs::forget(&slot);
    assert_eq!(UserRefs::recorded(&slot).unwrap(), None);
    UserRefs::recorded(&Slot::of(&dir.path().join("n".repeat(256)))).unwrap_err();
}

#[test]
fn branches_of_other_loops_are_reported_only_if_the_attempt_moved_them() {
    let there = "refs/remotes/origin/ralph/other";
    let now = refs(&[
        ("refs/heads/ralph/other", '1'),
        (there, '2'),
        ("refs/heads/x", '3'),
    ]);
    let changes = RefChanges(now.changes_since(&UserRefs::default()));
    for (own, number) in [(vec![], 1), (vec![(there.to_owned(), oid('2'))], 2)] {
        let notices: RefCell<Vec<String>> = RefCell::default();
        changes.report_others(&own, "the attempt", &notices);
        assert_eq!(notices.borrow().len(), number, "{notices:?}");
    }
}

#[test]
fn undo_own_restores_refs_of_the_loop_and_no_others() {
    let before = refs(&[("refs/ralph/c/start", '1'), ("refs/heads/a", '2')]);
    let notices: RefCell<Vec<String>> = RefCell::default();
    let changes = RefChanges(UserRefs::default().changes_since(&before));
    let updates = changes.undo_own(None, "the attempt", &notices);
    let names: Vec<_> = updates.iter().map(Update::line).collect();
    let [zero, one] = ["0", "1"].map(|digit| digit.repeat(40));
    assert_eq!(names, [format!("update refs/ralph/c/start {one} {zero}\n")]);
    assert_eq!(notices.borrow().len(), 1);
}
