//! Which test covers which hazard: what git, users and agents do to a tree, each with the test that tries it, or the
//! words of docs/safety.md that say that it is not prevented. That document shows the table.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::matrix::{misdeeds, states};
use crate::support::document::{self, row};

/// The parts of the table, with how many rows each has.
const PARTS: &[(char, usize, &str)] = &[
    ('A', 21, "The work tree at the start"),
    ('B', 16, "The repository at the start"),
    ('C', 15, "Configuration and environment"),
    ('D', 25, "What agents do"),
    ('E', 11, "The end"),
];

/// Where a row is tried.
#[derive(Clone, Copy, Debug)]
enum By {
    /// `module::test` of the suite or of the sweeps.
    Test(&'static str),
    /// A state of the user's tree, with every misdeed.
    State(&'static str),
    /// Something that an agent does, in every state.
    Misdeed(&'static str),
    /// docs/safety.md says that it is not prevented.
    Limit(&'static str),
}

use By::{Limit, Misdeed, State, Test};

/// Number, a few words, and where it is tried.
const ROWS: &[(&str, &str, &[By])] = &[
    (
        "A1",
        "content under assume-unchanged",
        &[
            Test("start::what_git_is_told_not_to_look_at_is_kept_and_comes_back"),
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
            Test("undone::what_was_ignored_when_the_loop_began_never_enters_a_checkpoint"),
        ],
    ),
    (
        "A6",
        "a filter that loses bytes",
        &[
            State("lossy_filter"),
            Test("undone::bytes_that_git_would_not_give_back_come_back"),
        ],
    ),
    (
        "A7",
        "line endings",
        &[State("crlf"), Test("undone::line_endings_survive")],
    ),
    (
        "A8",
        "partly staged files",
        &[
            Test("start::what_was_staged_is_kept"),
            Test("property::no_content_is_ever_lost"),
        ],
    ),
    (
        "A9",
        "staged changes, new files and renames",
        &[
            State("mixed"),
            Test("abort::everything_is_as_it_was_before_the_loop"),
            Test("finish::what_was_staged_can_be_staged_again_where_the_loop_has_not_changed_it"),
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
        &[State("modes"), Test("undone::what_git_does_not_keep_comes_back")],
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
            Test("start::a_dirty_submodule_is_refused"),
        ],
    ),
    (
        "A14",
        "an agent works in a submodule",
        &[
            Test("submodules::what_a_failed_attempt_did_in_one_is_kept_and_undone"),
            Test("submodules::uncommitted_changes_in_one_are_no_complete_story"),
            Test("submodules::commits_in_one_belong_to_the_checkpoint_and_go_with_abort"),
            Test("submodules::one_that_was_deleted_comes_back"),
        ],
    ),
    (
        "A15",
        "a home directory as work tree",
        &[Test("start::a_home_directory_is_refused")],
    ),
    (
        "A16",
        "commands typed in a subdirectory",
        &[
            State("subdirectory"),
            Test("start::it_works_from_a_subdirectory_with_dash_c_and_in_a_linked_work_tree"),
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
        &[Test("start::what_may_not_be_read_is_refused")],
    ),
    (
        "A21",
        "a filter that is not installed",
        &[Test("start::a_filter_that_is_missing_is_refused")],
    ),
    (
        "B1",
        "an uncommitted merge",
        &[Test("start::a_git_operation_in_progress_is_refused")],
    ),
    (
        "B2",
        "a stopped cherry-pick or revert",
        &[Test("start::a_git_operation_in_progress_is_refused")],
    ),
    (
        "B3",
        "a stopped rebase",
        &[Test("start::a_git_operation_in_progress_is_refused")],
    ),
    (
        "B4",
        "a bisection",
        &[Test("start::a_git_operation_in_progress_is_refused")],
    ),
    (
        "B5",
        "unmerged paths",
        &[Test("start::unmerged_paths_are_refused")],
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
        "the loop's branch checked out elsewhere",
        &[Test("start::a_branch_in_the_way_is_refused")],
    ),
    (
        "B9",
        "the original branch checked out elsewhere",
        &[Test(
            "finish::an_original_that_is_gone_or_checked_out_elsewhere_needs_a_person",
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
        &[Test("start::a_branch_in_the_way_is_refused")],
    ),
    (
        "B12",
        "no work tree",
        &[Test("start::outside_a_work_tree_is_refused")],
    ),
    (
        "B13",
        "a branch whose name excludes the loop's",
        &[Test("start::a_branch_in_the_way_is_refused")],
    ),
    (
        "B14",
        "invalid names",
        &[Test("bad_input::names_that_cannot_be_a_branch_are_refused")],
    ),
    (
        "B15",
        "a locked index",
        &[Test("start::a_locked_index_is_refused")],
    ),
    ("B16", "a hook of the user that refuses", &[State("hooks")]),
    (
        "C1",
        "merge settings",
        &[
            State("hooks"),
            Test("finish::the_users_merge_settings_cannot_break_it"),
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
            Test("agents::the_agents_environment"),
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
            "finish::an_original_that_is_gone_or_checked_out_elsewhere_needs_a_person",
        )],
    ),
    (
        "C10",
        "objects not yet on disk",
        &[Test(
            "next::what_git_writes_for_us_is_on_disk_before_it_is_relied_upon",
        )],
    ),
    ("C11", "git killed halfway", &[Test("crash::killed_at_any_time")]),
    (
        "C12",
        "garbage collection",
        &[
            Misdeed("gc"),
            Misdeed("pack_refs"),
            Test("next::what_git_writes_for_us_is_on_disk_before_it_is_relied_upon"),
        ],
    ),
    ("C13", "settings of new branches", &[State("stale_settings")]),
    ("C14", "encodings", &[State("stale_settings")]),
    (
        "C15",
        "a full disk",
        &[
            Test("crash::a_full_disk_loses_nothing"),
            Test("crash::a_disk_without_room_loses_nothing"),
        ],
    ),
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
            Test("guard::branches_that_were_there_are_not_moved"),
        ],
    ),
    (
        "D6",
        "works on a new branch, or on none",
        &[
            Misdeed("new_branch"),
            Misdeed("detach"),
            Test("repository::work_done_off_the_branch_is_what_counts"),
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
        ],
    ),
    (
        "D9",
        "drops stashes, branches, tags",
        &[
            Misdeed("tags"),
            Test("guard::branches_that_were_there_are_not_moved"),
            Test("guard::stashes_of_the_users_are_not_dropped"),
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
        &[Misdeed("rebase"), Misdeed("cherry_pick"), Misdeed("bisect")],
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
        &[Misdeed("clean_all"), Limit("The content of ignored directories")],
    ),
    (
        "D15",
        "takes permissions away",
        &[
            Test("matrix::permissions_are_no_obstacle"),
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
            Test("undone::read_only_directories_and_pipes_are_no_obstacle"),
        ],
    ),
    (
        "D19",
        "deletes, breaks or locks the index",
        &[Misdeed("bad_index"), Misdeed("no_index"), Misdeed("index_lock")],
    ),
    (
        "D20",
        "deletes its own directory",
        &[
            Misdeed("no_directory"),
            Test("undone::the_directory_itself_can_go"),
        ],
    ),
    (
        "D21",
        "leaves writers running",
        &[
            Misdeed("background"),
            Test("agents::what_the_agent_leaves_running_is_ended"),
        ],
    ),
    ("D22", "adds a submodule", &[Misdeed("submodule")]),
    (
        "D23",
        "deletes the state of the loop",
        &[
            Misdeed("no_state"),
            Test("repository::the_loops_own_files_can_go"),
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
            Test("guard::nothing_is_pushed"),
            Limit("cannot undo anything that was pushed around the guard"),
        ],
    ),
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
            Test("crash::finish_after_a_crash_keeps_what_the_attempt_left"),
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
        &[Test(
            "finish::objects_that_cannot_be_fetched_stop_it_before_anything_changes",
        )],
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
            Test("finish::an_ignored_file_in_the_way_is_never_written_over"),
        ],
    ),
    (
        "E11",
        "the linked work tree is removed",
        &[Test("finish::a_loop_outlives_its_linked_work_tree")],
    ),
];

/// Every test, as `module::name`, and every step of the crash sweep.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let steps = crate::crash::SWEPT.iter().map(|step| format!("crash::{step}"));
    found.extend(steps);
    for dir in ["tests/suite", "tests/sweep"] {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(dir)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            let module = path.file_stem().unwrap().to_str().unwrap();
            let mut marked = false;
            for line in text.lines() {
                let name = line.strip_prefix("fn ").and_then(|rest| rest.split_once('('));
                if let (true, Some((name, _))) = (marked, name) {
                    found.insert(format!("{module}::{name}"));
                }
                marked = line == "#[test]" || (marked && line.starts_with("#["));
            }
        }
    }
    found
}

#[test]
fn every_hazard_is_covered() {
    let wanted: Vec<String> = PARTS
        .iter()
        .flat_map(|(part, rows, _)| (1..=*rows).map(move |row| format!("{part}{row}")))
        .collect();
    let rows: Vec<&str> = ROWS.iter().map(|(row, ..)| *row).collect();
    assert_eq!(rows, wanted);
    let limits = document::all()["docs/safety.md"].replace("\n  ", " ");
    let tests = tests();
    let mut missing = Vec::new();
    for (row, words, covers) in ROWS {
        assert!(!covers.is_empty(), "nothing covers {row}, {words}");
        for by in *covers {
            let is_there = match by {
                Test(name) => tests.contains(*name),
                State(name) => states::STATES.iter().any(|state| state.name == *name),
                Misdeed(name) => misdeeds::MISDEEDS.iter().any(|misdeed| misdeed.name == *name),
                Limit(text) => limits.contains(text),
            };
            if !is_there {
                missing.push(format!("{row}, {words}: {by:?} is not there"));
            }
        }
    }
    crate::nothing_of(&missing);
}

#[test]
fn the_table_is_shown() {
    let mut text = String::new();
    for (part, _, title) in PARTS {
        text.push_str(&format!("\n### {title}\n\n| | tested by |\n|---|---|\n"));
        let rows = ROWS.iter().filter(|(number, ..)| number.starts_with(*part));
        for (_, words, covers) in rows {
            let covers: Vec<String> = covers.iter().map(|by| in_words(*by)).collect();
            text.push_str(&row(&[words, &covers.join(", ")]));
        }
    }
    document::has_part("docs/safety.md", "coverage", &format!("{text}\n"));
}

/// Says where a row is tried.
fn in_words(by: By) -> String {
    match by {
        Test(name) => format!("`{name}`"),
        State(name) => format!("state `{name}`"),
        Misdeed(name) => format!("misdeed `{name}`"),
        Limit(_) => "not protected, see above".to_owned(),
    }
}
