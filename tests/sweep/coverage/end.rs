//! The end of a loop.

use super::By::{State, Test};
use super::Row;

pub const ROWS: &[Row] = &[
    (
        "E1",
        "a conflict at the end",
        &[Test("finish::a_conflict_touches_nothing")],
    ),
    (
        "E2",
        "the same command again after a conflict",
        &[Test("finish::a_conflict_touches_nothing")],
    ),
    (
        "E3",
        "edits and leftovers at the end",
        &[
            Test("finish::edits_made_by_hand_come_back_too"),
            Test("crash::finish_after_a_crash_keeps_work_of_the_attempt"),
        ],
    ),
    ("E4", "killed in start", &[Test("crash::start")]),
    (
        "E5",
        "killed in finish",
        &[
            Test("crash::finish"),
            Test("crash::finish_moved"),
            Test("crash::finish_keep"),
            Test("crash::own_finish"),
            Test("crash::own_finish_keep"),
            Test("crash::own_finish_into"),
        ],
    ),
    (
        "E6",
        "killed between a commit and its record",
        &[Test("crash::next_complete"), Test("crash::complete")],
    ),
    (
        "E7",
        "a shallow history",
        &[Test("finish::a_shallow_history_is_merged_too")],
    ),
    (
        "E8",
        "objects missing in a partial clone",
        &[Test("finish::missing_objects_stop_finish_before_any_change")],
    ),
    (
        "E9",
        "the original branch checked out after finish --keep",
        &[Test("finish::keep_moves_nothing")],
    ),
    (
        "E10",
        "hooks and files in the way at the end",
        &[
            State("hooks"),
            Test("finish::finish_never_overwrites_an_ignored_file"),
        ],
    ),
    (
        "E11",
        "the linked work tree is removed",
        &[Test("finish::a_loop_outlives_its_linked_work_tree")],
    ),
    (
        "E12",
        "the same command again after a kill",
        &[
            Test("crash::finish_and_abort_can_be_repeated_after_a_kill"),
            Test("crash::complete_and_fail_repeated_after_a_kill_count_once"),
        ],
    ),
    (
        "E13",
        "a full disk in any ending",
        &[
            Test("crash::a_disk_without_room_loses_nothing_in_any_ending"),
            Test("killed::a_finish_that_a_full_disk_stopped_completes_once_there_is_room"),
            Test("killed::new_file_that_git_has_only_begun_to_write_is_no_edit"),
        ],
    ),
];
