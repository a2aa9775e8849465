//! Configuration and environment.

use super::By::{Misdeed, State, Test};
use super::Row;

pub const ROWS: &[Row] = &[
    (
        "C1",
        "merge settings",
        &[
            State("hooks"),
            Test("finish::merge_settings_of_the_user_do_not_break_finish"),
            Test("finish_merge::merge_ignores_attributes_of_an_attempt"),
            Test("finish_merge::merge_uses_attributes_of_the_original_branch_but_no_driver"),
        ],
    ),
    ("C2", "a tag named like the branch", &[State("names")]),
    (
        "C3",
        "files named like revisions",
        &[
            State("names"),
            Test("next::the_users_hooks_signing_and_refs_of_odd_names_do_not_matter"),
        ],
    ),
    ("C4", "hooks", &[State("hooks"), Misdeed("plant_hooks")]),
    (
        "C5",
        "signing",
        &[
            State("hooks"),
            Test("start::no_identity_no_key_and_failing_hooks_do_not_matter"),
        ],
    ),
    (
        "C6",
        "no identity",
        &[State("no_identity"), Test("next::no_identity_does_not_matter")],
    ),
    (
        "C7",
        "git's variables in the environment",
        &[
            State("environment"),
            Test("agents::agent_gets_its_variables_prompt_and_learnings"),
            Test("bad_input::another_git_dir_in_the_environment_is_refused"),
        ],
    ),
    (
        "C8",
        "a copied index hides edits",
        &[Misdeed("same_time"), Test("property::no_content_is_ever_lost")],
    ),
    (
        "C9",
        "the original branch is gone",
        &[Test(
            "finish::cleanup_refuses_if_the_original_branch_is_gone_or_in_use",
        )],
    ),
    (
        "C10",
        "objects not yet on disk",
        &[Test("next::steps_make_git_sync_its_writes_to_disk")],
    ),
    (
        "C11",
        "git killed halfway",
        &[Test("crash::kill_at_any_time_loses_nothing")],
    ),
    (
        "C12",
        "garbage collection",
        &[
            Misdeed("gc"),
            Misdeed("pack_refs"),
            Test("next::steps_make_git_sync_its_writes_to_disk"),
        ],
    ),
    ("C13", "settings of new branches", &[State("stale_settings")]),
    ("C14", "encodings", &[State("stale_settings")]),
    (
        "C15",
        "a full disk, or one that cannot be read",
        &[
            Test("crash::a_full_disk_loses_nothing"),
            Test("crash::a_disk_without_room_loses_nothing"),
            Test("processes::an_agent_whose_log_cannot_be_written_is_ended"),
            Test("others::error_does_not_call_an_unwritable_file_a_changing_one"),
            Test("crash::failed_lookup_does_not_count_as_a_missing_file"),
        ],
    ),
    (
        "C16",
        "a host of the remote that is slow, too busy, in texts and in pages, or silent",
        &[
            Test("storm::slow_host_neither_loses_nor_repeats_work"),
            Test("storm::busy_host_neither_loses_nor_repeats_work"),
            Test("storm::silent_host_neither_loses_nor_repeats_work"),
            Test("remote_answers::command_repeats_a_broken_lookup_but_not_a_refused_one"),
            Test("remote_answers::run_repeats_a_push_after_a_transient_error"),
        ],
    ),
];
