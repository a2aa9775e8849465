//! The work tree at the start.

use super::By::{Misdeed, State, Test};
use super::Row;

pub const ROWS: &[Row] = &[
    (
        "A1",
        "content under assume-unchanged",
        &[
            Test("start::files_hidden_by_index_flags_are_kept_and_come_back"),
            State("flagged"),
        ],
    ),
    (
        "A2",
        "skip-worktree on a file that is there",
        &[State("flagged"), Misdeed("flags")],
    ),
    (
        "A3",
        "edits outside a sparse cone",
        &[
            State("sparse"),
            Test("undone::a_users_sparse_checkout_stays_sparse"),
        ],
    ),
    (
        "A4",
        "ignored files force-added, then failed",
        &[
            Misdeed("add_ignored"),
            Test("undone::the_users_ignored_files_survive"),
        ],
    ),
    (
        "A5",
        "ignored files committed, then completed",
        &[
            Misdeed("unignore"),
            Misdeed("commit_ignored"),
            Test("undone::files_ignored_at_the_start_never_enter_a_checkpoint"),
        ],
    ),
    (
        "A6",
        "a filter that loses bytes",
        &[
            State("lossy_filter"),
            Test("undone::bytes_that_git_would_not_give_back_come_back"),
            Test("conversions::large_files_come_back_where_checkout_leaves_their_pointers"),
        ],
    ),
    (
        "A7",
        "line endings",
        &[
            State("crlf"),
            Test("undone::line_endings_survive"),
            Test("conversions::failed_attempt_undoes_changes_that_a_conversion_hides"),
            Test("conversions::rules_that_change_while_a_loop_lives_change_no_bytes"),
        ],
    ),
    (
        "A8",
        "partly staged files",
        &[
            Test("start::start_keeps_staged_content"),
            Test("property::no_content_is_ever_lost"),
        ],
    ),
    (
        "A9",
        "staged changes, new files and renames",
        &[
            State("mixed"),
            Test("abort::abort_restores_everything_from_before_the_loop"),
            Test("finish::finish_can_stage_again_what_the_loop_did_not_change"),
        ],
    ),
    (
        "A10",
        "permissions, and times of untouched files",
        &[
            State("modes"),
            Test("undone::permissions_that_an_attempt_took_or_gave_are_undone"),
            Test("undone::only_files_that_differ_are_touched"),
        ],
    ),
    (
        "A11",
        "empty directories",
        &[
            State("modes"),
            Test("undone::failed_attempt_restores_modes_empty_directories_and_ignored_files"),
            Test("unstorable::failed_attempt_leaves_empty_directories_as_the_accepted_ones_before_it_did"),
        ],
    ),
    (
        "A12",
        "nested repositories of the user",
        &[
            State("nested"),
            Test("start::nested_repositories_stay_as_they_are"),
        ],
    ),
    (
        "A13",
        "dirty submodules, submodule.recurse",
        &[
            State("stale_settings"),
            Test("start_refuses::a_dirty_submodule_is_refused"),
            Test("submodules::a_submodule_in_another_one_is_named_itself"),
        ],
    ),
    (
        "A14",
        "an agent works in a submodule",
        &[
            Test("submodules::failed_attempt_in_a_submodule_is_kept_and_undone"),
            Test("submodules::uncommitted_changes_in_a_submodule_fail_the_attempt"),
            Test("submodules::checkpoint_includes_submodule_commits_and_abort_removes_them"),
            Test("submodules::deleted_submodule_comes_back"),
            Test("submodules::submodule_of_a_submodule_comes_back"),
            Test("own_submodules::a_commit_in_a_submodule_outlives_the_work_tree"),
            Test("own_submodules::abort_keeps_the_commits_of_a_submodule"),
            Test("own_submodules::a_submodule_that_the_user_has_changed_meanwhile_stays"),
            Test("own_submodules::a_submodule_that_only_the_loop_has_keeps_its_work_tree"),
            Test("own_submodules::what_an_attempt_plants_in_the_users_submodule_runs_nothing"),
        ],
    ),
    (
        "A15",
        "a home directory as work tree",
        &[Test("start_refuses::a_home_directory_is_refused")],
    ),
    (
        "A16",
        "commands typed in a subdirectory",
        &[
            State("subdirectory"),
            Test("start::commands_work_in_subdirectories_with_dash_c_and_linked_work_trees"),
        ],
    ),
    (
        "A17",
        "split index without hashes",
        &[State("split_index"), State("many_files")],
    ),
    (
        "A18",
        "stale caches and file system monitors",
        &[
            State("lying_monitor"),
            State("stale_settings"),
            Misdeed("same_time"),
        ],
    ),
    (
        "A19",
        "settings that change git's answers",
        &[State("stale_settings"), State("environment")],
    ),
    (
        "A20",
        "unreadable files",
        &[Test("start_refuses::unreadable_files_are_refused")],
    ),
    (
        "A21",
        "a filter that is not installed",
        &[Test("start_refuses::a_filter_that_is_missing_is_refused")],
    ),
    (
        "A22",
        "large files of git-lfs, with their content and as pointers",
        &[
            State("large_files"),
            Misdeed("binaries"),
            Test("conversions::large_files_come_back_where_checkout_leaves_their_pointers"),
        ],
    ),
    (
        "A23",
        "files of root, as a container leaves them",
        &[State("of_a_container")],
    ),
    (
        "A24",
        "a narrow or a wide umask, and another one in the next step",
        &[
            State("strict_umask"),
            State("shared_umask"),
            State("widened_umask"),
            State("narrowed_umask"),
            Test("permissions::a_private_file_stays_private_wherever_git_writes_it_again"),
            Test("killed::private_files_stay_private_through_a_killed_finish"),
        ],
    ),
];
