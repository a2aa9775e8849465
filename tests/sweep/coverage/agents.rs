//! Misdeeds of agents.

use super::By::{Limit, Misdeed, State, Test};
use super::Row;

pub const ROWS: &[Row] = &[
    (
        "D1",
        "commits, then fails",
        &[
            Misdeed("commit"),
            Test("repository::the_agents_commits_are_undone_and_kept"),
        ],
    ),
    (
        "D2",
        "commits or does nothing, and completes",
        &[
            Misdeed("commit"),
            Misdeed("nothing"),
            Test("next::the_agents_own_commits_stay_below"),
        ],
    ),
    (
        "D3",
        "amends the checkpoint",
        &[
            Misdeed("amend"),
            Test("guard::the_loops_branch_keeps_its_checkpoint"),
            Test("repository::an_amended_dropped_or_deleted_checkpoint_is_a_failure"),
        ],
    ),
    (
        "D4",
        "drops the checkpoint",
        &[
            Misdeed("rewind"),
            Misdeed("soft_rewind"),
            Test("guard::the_loops_branch_keeps_its_checkpoint"),
        ],
    ),
    (
        "D5",
        "works on another branch",
        &[
            Misdeed("other_branch"),
            Misdeed("other_branch_moved"),
            Test("guard::guard_refuses_to_move_earlier_branches"),
        ],
    ),
    (
        "D6",
        "works on a new branch, or on none",
        &[
            Misdeed("new_branch"),
            Misdeed("detach"),
            Test("repository::checkpoint_takes_the_work_from_another_branch"),
        ],
    ),
    (
        "D7",
        "deletes the branch",
        &[
            Misdeed("delete_branch"),
            Test("guard::the_loops_branch_keeps_its_checkpoint"),
        ],
    ),
    (
        "D8",
        "stashes its work",
        &[
            Misdeed("stash"),
            Test("repository::work_in_the_stash_is_no_finished_story"),
            Test("side_by_side::attempt_cannot_use_a_stash_of_several_work_trees"),
            Test("side_by_side::a_refused_stash_entry_of_a_killed_attempt_is_kept"),
        ],
    ),
    (
        "D9",
        "drops stashes, branches, tags",
        &[
            Misdeed("tags"),
            Test("guard::guard_refuses_to_move_earlier_branches"),
            Test("guard::guard_refuses_to_drop_stashes_of_the_user"),
            Test("repository::branches_and_tags_that_a_failed_attempt_moved_or_deleted_come_back"),
            Test("repository::stashes_and_cleaned_directories_are_undone"),
        ],
    ),
    (
        "D10",
        "an unfinished merge",
        &[
            Misdeed("merge"),
            Test("repository::an_unfinished_merge_or_rebase_is_a_failure"),
        ],
    ),
    (
        "D11",
        "an unfinished rebase, cherry-pick or bisection",
        &[
            Misdeed("rebase"),
            Misdeed("cherry_pick"),
            Misdeed("bisect"),
            Test("kept::failed_attempt_keeps_autostashes_of_unfinished_operations"),
            Test("repository::step_finds_an_unfinished_cherry_pick_with_reftables"),
        ],
    ),
    (
        "D12",
        "changes index flags, ignore rules and settings",
        &[
            Misdeed("flags"),
            Misdeed("exclude"),
            Misdeed("sparse_checkout"),
            Misdeed("bare"),
            Test("repository::git_s_own_files_are_put_back"),
        ],
    ),
    (
        "D13",
        "hides files with ignore rules",
        &[
            Misdeed("hide"),
            Misdeed("hide_tracked"),
            Misdeed("hide_deeper"),
            Test("undone::files_hidden_by_ignore_rules_are_gone"),
        ],
    ),
    (
        "D14",
        "deletes ignored files",
        &[
            Misdeed("clean_all"),
            Limit("git-ralph neither saves nor restores what git ignores"),
        ],
    ),
    (
        "D15",
        "takes permissions away",
        &[
            Test("matrix::permissions_block_no_step"),
            Test("undone::permissions_that_an_attempt_took_or_gave_are_undone"),
        ],
    ),
    (
        "D16",
        "creates nested repositories",
        &[
            Misdeed("nested"),
            Test("undone::a_nested_repository_of_the_agent_is_gone"),
        ],
    ),
    (
        "D17",
        "creates what git cannot store",
        &[Misdeed("unstorable"), Misdeed("fifos")],
    ),
    (
        "D18",
        "creates pipes",
        &[
            Misdeed("fifos"),
            State("special_files"),
            Test("undone::failed_attempt_undoes_read_only_directories_and_pipes"),
            Test("pipes::pipes_of_an_attempt_are_moved_away_and_block_nothing"),
        ],
    ),
    (
        "D19",
        "deletes, breaks or locks the index",
        &[
            Misdeed("bad_index"),
            Misdeed("contradictory_index"),
            Misdeed("no_index"),
            Misdeed("index_lock"),
            Test("damaged::step_repairs_damage_made_by_an_attempt"),
        ],
    ),
    (
        "D20",
        "deletes its own directory",
        &[
            Misdeed("no_directory"),
            Test("undone::failed_attempt_restores_a_deleted_work_tree"),
            Test("own_work_tree_kept::a_promise_in_a_work_tree_that_was_removed_is_no_verdict"),
        ],
    ),
    (
        "D21",
        "leaves writers running",
        &[
            Misdeed("background"),
            Test("agents::step_ends_processes_that_the_agent_left"),
        ],
    ),
    (
        "D22",
        "adds or moves a submodule",
        &[Misdeed("submodule"), Misdeed("submodule_moved")],
    ),
    (
        "D23",
        "deletes the state of the loop",
        &[
            Misdeed("no_state"),
            Test("repository::failed_attempt_restores_deleted_files_of_the_loop"),
            Test("start::a_lost_state_is_rebuilt_from_the_branch_and_the_refs"),
        ],
    ),
    (
        "D24",
        "deletes the repository",
        &[Limit("An agent that deletes `.git` deletes everything in it")],
    ),
    (
        "D25",
        "pushes",
        &[
            Test("guard::guard_refuses_every_push"),
            Limit("cannot undo anything that was pushed around the guard"),
        ],
    ),
    (
        "D26",
        "damages HEAD or refs, or makes them name nothing",
        &[
            Test("broken_refs::a_ref_that_names_nothing_is_put_back"),
            Test("damaged::a_packed_ref_to_no_object_does_not_stay"),
            Test("damaged::a_symbolic_branch_of_the_user_stays_symbolic"),
            Test("damaged::step_repairs_damage_made_by_an_attempt"),
        ],
    ),
    (
        "D27",
        "leaves a linked work tree inside",
        &[
            Test("subagents::a_linked_work_tree_is_no_part_of_the_work_and_a_retry_can_make_it_again"),
            Test("subagents::earlier_work_tree_and_new_one_on_an_earlier_branch_lose_nothing"),
            Test("subagents::a_linked_work_tree_of_a_killed_attempt_is_taken_out_too"),
        ],
    ),
    (
        "D28",
        "has gates or a reviewer take its work away, or is killed in them",
        &[
            Test("crash::gated"),
            Test("crash::reviewed"),
            Test("judged::gates_take_nothing_from_a_checkpoint"),
            Test("judged::a_reviewer_takes_nothing_from_a_checkpoint"),
            Test("judged::the_judged_work_is_kept_if_git_ralph_is_killed_while_it_is_judged"),
            Test("judged::plants_of_a_killed_gate_are_taken_away_before_git_runs"),
        ],
    ),
    (
        "D29",
        "moves the branch of a neighbouring loop",
        &[Test(
            "two_loops::misdeeds_of_one_loop_do_not_judge_another_during_an_attempt",
        )],
    ),
    (
        "D30",
        "leaves files of root, by way of a container",
        &[
            Test("containers::what_a_container_leaves_stops_nothing_for_good"),
            Test("permissions::files_of_another_user_hide_no_loop_and_name_what_to_type"),
            Limit("Files that you may not read or remove"),
        ],
    ),
];
