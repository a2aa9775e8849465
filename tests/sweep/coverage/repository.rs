//! The repository at the start.

use super::By::{State, Test};
use super::Row;

pub const ROWS: &[Row] = &[
    (
        "B1",
        "an uncommitted merge",
        &[Test("start_refuses::a_git_operation_in_progress_is_refused")],
    ),
    (
        "B2",
        "a stopped cherry-pick or revert",
        &[Test("start_refuses::a_git_operation_in_progress_is_refused")],
    ),
    (
        "B3",
        "a stopped rebase",
        &[Test("start_refuses::a_git_operation_in_progress_is_refused")],
    ),
    (
        "B4",
        "a bisection",
        &[Test("start_refuses::a_git_operation_in_progress_is_refused")],
    ),
    (
        "B5",
        "unmerged paths",
        &[Test("start_refuses::unmerged_paths_are_refused")],
    ),
    (
        "B6",
        "no commit yet",
        &[
            State("unborn"),
            Test("start::a_branch_without_commits_is_remembered"),
        ],
    ),
    (
        "B7",
        "a detached HEAD",
        &[State("detached"), Test("start::a_detached_head_is_remembered")],
    ),
    (
        "B8",
        "the loop's branch checked out in another work tree",
        &[Test("start_refuses::a_branch_in_the_way_is_refused")],
    ),
    (
        "B9",
        "the original branch checked out in another work tree",
        &[Test(
            "finish::cleanup_refuses_if_the_original_branch_is_gone_or_in_use",
        )],
    ),
    (
        "B10",
        "a leftover branch of the same name",
        &[Test("start::a_leftover_branch_is_replaced_and_its_tip_kept")],
    ),
    (
        "B11",
        "the branch already checked out",
        &[Test("start_refuses::a_branch_in_the_way_is_refused")],
    ),
    (
        "B12",
        "no work tree",
        &[Test("start_refuses::start_is_refused_outside_a_work_tree")],
    ),
    (
        "B13",
        "a branch whose name excludes the loop's",
        &[Test("start_refuses::a_branch_in_the_way_is_refused")],
    ),
    (
        "B14",
        "invalid names",
        &[Test("bad_input::names_that_cannot_be_a_branch_are_refused")],
    ),
    (
        "B15",
        "a locked index",
        &[
            Test("start_refuses::a_locked_index_is_refused"),
            Test("locks::commands_change_nothing_while_another_git_holds_the_index"),
        ],
    ),
    ("B16", "a hook of the user that refuses", &[State("hooks")]),
];
