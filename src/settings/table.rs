//! The table of settings: each with its key, its value in [`Settings`], and what the manual and docs/settings.md say of it.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Serialize;

use super::boxing::Boxing;
use super::choices::{
    EmptyStory, FinishChoice, HeldBy, ListEdits, Mark, NoSignal, Notify, OnFailure, Order, RetryContext,
    Strategy, Wanted,
};
use super::done_commands::DoneCommands;
use super::test_rules::TestRules;
use super::values::{
    Limit, Value, days, is_address, is_expression, is_nothing, lease, limit, most, parse_jobs, ref_prefix,
    shows_output, wait,
};
use crate::agent::Pieces;

/// Sets a value from its text: by its type, by a function, or after a check.
macro_rules! put {
    ($place:expr, $text:expr) => {
        Value::set(&mut $place, $text)
    };
    ($place:expr, $text:expr, by $parse:ident) => {
        $parse($text).map(|value| $place = value)
    };
    ($place:expr, $text:expr, if $check:ident) => {
        $check($text).and_then(|()| Value::set(&mut $place, $text))
    };
}

/// Returns the texts among the values of a setting of this kind.
macro_rules! texts {
    (Time, $value:expr) => {{
        let none: std::slice::Iter<'_, String> = [].iter();
        none
    }};
    ($kind:ident, $value:expr) => {
        $value.iter()
    };
}

/// Makes the settings of their rows, in groups: the key; the value, as a field with its type and default, or as a part of one of `wholes`;
/// how its text is read, where the type does not say that; its kind: a `Command` line, an `Agent` by name or command line, the
/// path of a `Template`, a `Remote`, or a `Time` whose unit may be forgotten; then the default and the meaning for the manual.
macro_rules! settings {
    (
        $($group:literal {$(
            $key:literal $(
                => $field:ident $(.$part:ident)? $(: $type:ty = $initial:expr)?
                $(, by $parse:ident)? $(, if $check:ident)? $(, is $kind:ident)?
            )?;
            $default:literal, $meaning:literal;
        )*})*
        former: $($old:literal => $in:ident $(.$at:ident)* $(, by $read:ident)?; $now:literal, $command:literal;)*
        wholes: $($(#[$shown:meta])* $whole:ident: $of:ty,)*
    ) => {
        /// The settings of a command.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct Settings {
            $($($($(
                #[serde(skip_serializing_if = "is_nothing")]
                pub $field: $type,
            )?)?)*)*
            $($(#[$shown])* pub $whole: $of,)*
        }

        impl Default for Settings {
            fn default() -> Self {
                Self {
                    $($($($($field: $initial,)?)?)*)*
                    $($whole: <$of>::default(),)*
                }
            }
        }

        impl Settings {
            /// Sets the value of a key; returns `None` if no setting has it.
            pub(super) fn put(&mut self, key: &str, text: &str) -> Option<Result<(), Wanted>> {
                $($($(if key.eq_ignore_ascii_case($key) {
                    return Some(put!(self.$field $(.$part)?, text $(, by $parse)? $(, if $check)?));
                })?)*)*
                $(if key.eq_ignore_ascii_case($old) {
                    return Some(put!(self.$in $(.$at)*, text $(, by $read)?));
                })*
                None
            }

            /// Returns the texts of settings that have a kind, each with its key and its kind.
            pub fn texts_of_kinds(&self) -> Vec<(&'static str, &'static str, &String)> {
                let mut all = Vec::new();
                $($($($(all.extend(texts!($kind, self.$field).map(|text| ($key, stringify!($kind), text)));)?)?)*)*
                all
            }
        }

        /// Key, default and meaning of each setting: the table of the manual.
        pub const TABLE: &[(&str, &str, &str)] = &[$($(($key, $default, $meaning),)*)*];

        /// The groups of the table, each with its keys.
        pub const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$($key),*])),*];

        /// The former keys of settings, which are read for one more release; the present name of each, and the
        /// arguments of `git config` that set it.
        pub(super) const FORMER: &[(&str, &str, &str)] = &[$(($old, $now, $command)),*];

        /// The keys whose values have a kind, with the name of the kind.
        pub(super) const KINDS: &[(&str, &str)] = &[$($($($(($key, stringify!($kind)),)?)?)*)*];
    };
}

settings! {
    "Agent" {
        "ralph.agent" => agent: Option<String> = None, is Agent;
            "first on PATH", "the agent: a name that git ralph doctor lists, or a shell command line that reads the prompt from standard input";
        "ralph.agent.<name>.command";
            "of the preset", "the shell command line of the agent with this name";
        "ralph.agent.<name>.args";
            "none", "arguments for the end of that agent's command line, as a shell reads them, such as --model x";
        "ralph.agent.<name>.format";
            "of the preset; auto for a command of your own", "its output format: auto, text, claude, codex, gemini, opencode, copilot, qwen, pi, droid, goose, cline, openhands or kiro";
        "ralph.retryAgent" => retry_agent: Vec<String> = Vec::new(), is Agent;
            "as ralph.agent", "the agent of retries: a name or a shell command line; of several values, each retry uses the next, and the last one stays; not used if an agent is given after --";
        "ralph.fallbackAgent" => fallback_agent: Option<String> = None, is Agent;
            "none", "the agent to retry with when the first one is missing, not signed in, or its service cannot answer";
        "ralph.guard" => guard: bool = true;
            "true", "whether the agent's git refuses pushes, and moves of refs that do not belong to the attempt";
    }
    "Attempts" {
        "ralph.maxRetries" => max_retries: u32 = 3;
            "3", "retries per story, after the first attempt";
        "ralph.timeout" => timeout: Option<SignedDuration> = None, is Time;
            "none", "time limit of an attempt, and of each further round of it, such as 45m";
        "ralph.idleTimeout" => idle_timeout: Option<SignedDuration> = Some(SignedDuration::from_mins(30)), is Time;
            "30m", "how long an attempt may print nothing, or only the same, before git-ralph ends it";
        "ralph.onFailure" => on_failure: OnFailure = OnFailure::Stop;
            "stop", "what git ralph run does when a story has no retries left: stop, skip the story, later (try it again after the others, if one of them was completed), or finish the loop";
        "ralph.noSignal" => no_signal: NoSignal = NoSignal::Retry;
            "retry", "if an attempt ends without the promise: retry (it failed), ask (another process is asked once about what it left), or gates (asked, and then gates and the reviewer decide)";
        "ralph.emptyStory" => empty_story: EmptyStory = EmptyStory::Confirm;
            "confirm", "if a story is reported complete without a changed file: confirm (another process is asked once, and has to name a file or commit that shows the story done), warn (complete; three in a row stop the loop), fail or accept";
        "ralph.continue" => continuations: Option<u32> = None;
            "4, not in the prompt", "how often an attempt may print CONTINUE, so that another process continues its work; if set, the prompt names it; 0: CONTINUE is no promise";
        "ralph.prompt" => prompt: Option<String> = None, is Template;
            "built in", "path of a prompt template, from the top directory";
        "ralph.retryContext" => retry_context: RetryContext = RetryContext::Reason;
            "reason", "what the prompt of a retry says about an attempt without the promise: reason (nothing, as it has none), or always (the ref and the log of that attempt, and its last 40 lines)";
    }
    "Gates, tests and review" {
        "ralph.verify" => verify: Vec<String> = Vec::new(), is Command;
            "none", "a gate: a shell command that must succeed before a checkpoint; may have several values";
        "ralph.verifyTimeout" => verify_timeout: Option<SignedDuration> = Some(SignedDuration::from_mins(30)), is Time;
            "30m", "time limit of a gate, and of a review";
        "ralph.tests" => tests.pathspecs;
            "none", "a git pathspec from the top directory: which files are tests; may have several values";
        "ralph.testChanges" => tests.changes;
            "held", "if an attempt changes tests: held (the gates must also pass with the old tests, and without new ones), refuse (the attempt fails; of new tests, as with held) or allow";
        "ralph.gateScripts" => tests.gate_scripts;
            "held", "the scripts that gates run: held (the gates must also pass with them as they were), allow, or a git pathspec of what is the product, and may change; may have several values";
        "ralph.heldBy" => tests.held_by;
            "person", "who accepts what an attempt changes of tests and of the scripts of gates: person, or review (the reviewers, too)";
        "ralph.review" => review: Vec<String> = Vec::new(), is Agent;
            "none", "the agent that gives a second opinion before a checkpoint: a name or a shell command line; may have several values, which must all accept";
        "ralph.reviewPrompt" => review_prompt: Option<String> = None, is Template;
            "built in", "path of a template for the prompt of a review, from the top directory";
    }
    "Limits" {
        "ralph.maxAttempts" => max_attempts: Option<u32> = None, by most;
            "none", "how many attempts one git ralph run may start";
        "ralph.maxDuration" => max_duration: Option<SignedDuration> = None, is Time;
            "none", "time since the start of the loop after which git-ralph starts no more attempts (exit code 6)";
        "ralph.maxCost" => max_cost: Option<f64> = None;
            "none", "how many US dollars the agents of the loop may report in total";
        "ralph.maxWait" => max_wait: Option<SignedDuration> = Some(SignedDuration::from_hours(6)), by wait, is Time;
            "6h", "how long to wait for a rate-limited or unavailable agent service; 0: not at all (exit code 6)";
        "ralph.commandTimeout" => command_timeout: SignedDuration = SignedDuration::from_mins(10), by limit, is Time;
            "10m", "time limit of one git or adapter command, and of one lifecycle hook";
    }
    "Stories" {
        "ralph.stories" => stories: Option<String> = None;
            "detected", "path of the story list, from the top directory; #item makes each box a story, #group each section, #whole the whole text";
        "ralph.adapter" => adapter: Option<String> = None;
            "detected", "how to read the stories: openspec, markdown, prd or command";
        "ralph.storiesCommand" => stories_command: Option<String> = None, is Command;
            "none", "adapter command: shell command that prints the stories as JSON";
        "ralph.doneCommand" => done_commands: DoneCommands = DoneCommands::default(), is Command;
            "none", "adapter command: shell command that marks a story as done, before its checkpoint, or after:<command>, which runs after it; may have one of each";
        "ralph.mark" => mark: Mark = Mark::Auto;
            "auto", "who marks a complete story as done: auto (git-ralph), agent, or never";
        "ralph.listEdits" => list_edits: ListEdits = ListEdits::Additions;
            "additions", "which changes an attempt may make to other stories of the list: additions (new stories, which are open), none, or allow (any)";
        "ralph.jobs" => jobs: u16 = 1, by parse_jobs;
            "1", "how many stories of one change git ralph run works on side by side";
        "ralph.order" => order: Option<Order> = None;
            "dependencies if a story has them, else list", "for which stories a story waits before it begins beside others: list (all before it), dependencies (those that it names, also if these are none; all before it if it does not say), or free (only those that it names)";
    }
    "Box" {
        "ralph.box" => boxing.mode;
            "off", "run agents and gates in a sandbox that can write only the work tree: off, on (where that works), require, or all (require, for lifecycle hooks and the commands of trackers too)";
        "ralph.boxAllow" => boxing.allowed;
            "none", "what the sandbox has as well: read:<path>, such as read:~/.gradle, write:<path>, or env:<NAME>, a variable that may hold a key; may have several values";
    }
    "Place and end of the work" {
        "ralph.strategy" => strategy: Strategy = Strategy::Branch;
            "branch", "where a new loop makes its checkpoints: branch, or stash: HEAD, its branch and the index stay as they are";
        "ralph.worktreeDir" => worktree_dir: Option<String> = None;
            "../<repository>.ralph", "directory in which a loop begun with --worktree gets a work tree named after its change; from the main work tree";
        "ralph.worktreeCopy" => worktree_copy: Vec<String> = Vec::new();
            "none", "a path or git pathspec from the top directory: ignored files that such a new work tree gets, copied from the one in which the command is typed; may have several values";
        "ralph.worktreeSetup" => worktree_setup: Option<String> = None, is Command;
            "none", "shell command that prepares such a new work tree, before the loop begins there; with --jobs, also the loop's work tree, before gates on work that changes one of ralph.setupInputs";
        "ralph.setupInputs" => setup_inputs: Vec<String> = Vec::new();
            "lock files and manifests of known package managers", "a git pathspec from the top directory: files on which that command depends; may have several values";
        "ralph.finish" => finish: FinishChoice = FinishChoice::Ask;
            "ask", "what git ralph run does when the loop is complete: ask, cleanup or keep";
        "ralph.keepAttempts" => keep_attempts: Option<SignedDuration> = Some(SignedDuration::from_hours(90 * 24)), by days, is Time;
            "90d", "how long to keep attempts, snapshots and trash of a finished loop; none: for ever";
    }
    "Remote" {
        "ralph.remote" => remote: Option<String> = None, is Remote;
            "none", "the remote that keeps loops: git ralph run takes the loop there, and pushes each step; nothing is pushed without it or --remote";
        "ralph.lease" => lease: SignedDuration = SignedDuration::from_mins(15), by lease, is Time;
            "15m", "how long the holder of a loop on a remote may be silent before another run takes the loop; renewed at a third of it";
        "ralph.remoteRefs" => remote_refs: String = "refs/ralph/".to_owned(), by ref_prefix;
            "refs/ralph/", "prefix of the refs of loops on a remote; refs/heads/ralph-state/ for a host that takes only branches";
    }
    "Report and messages" {
        "ralph.notify" => notify: Notify = Notify::Bell, is Command;
            "bell", "what happens when a run of over a minute ends or asks: bell, off, or a shell command that gets RALPH_CHANGE and RALPH_MESSAGE";
        "ralph.redact" => redact: Vec<String> = Vec::new(), if is_expression;
            "none", "a regular expression whose matches git ralph report replaces by ***; may have several values";
        "ralph.linkCommit" => link_commit: Option<String> = None, if is_address;
            "by the remote", "the address of a commit in reports, such as https://example.org/c/{oid}";
    }

    former:
    "ralph.boxRead" => boxing.allowed.read;
        "is now ralph.boxAllow=read:<path>", "--add ralph.boxAllow read:<path>";
    "ralph.boxWrite" => boxing.allowed.written;
        "is now ralph.boxAllow=write:<path>", "--add ralph.boxAllow write:<path>";
    "ralph.boxEnv" => boxing.allowed.variables;
        "is now ralph.boxAllow=env:<NAME>", "--add ralph.boxAllow env:<NAME>";
    "ralph.boxCommands" => boxing.has_hooks;
        "is now ralph.box=all", "ralph.box all";
    "ralph.closedCommand" => done_commands.after;
        "is now ralph.doneCommand=after:<command>", "--add ralph.doneCommand 'after:<command>'";
    "ralph.newTests" => tests.new;
        "is now a part of ralph.testChanges", "ralph.testChanges <held, refuse or allow>";
    "ralph.retryOutput" => retry_context, by shows_output;
        "is now ralph.retryContext", "ralph.retryContext <reason or always>";
    "ralph.reviewTimeout" => former.review_timeout;
        "is now a part of ralph.verifyTimeout", "ralph.verifyTimeout <time>";
    "ralph.verifyRetries" => former.verify_retries;
        "will be removed", "--unset-all ralph.verifyRetries";
    "ralph.view" => former.view;
        "is now the option --view", "--unset-all ralph.view";

    wholes:
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        agents: BTreeMap<String, Pieces>,
        #[serde(flatten)]
        tests: TestRules,
        #[serde(rename = "box")]
        boxing: Boxing,
        #[serde(skip)]
        former: Former,
        // The typed options among those that messages name.
        #[serde(skip)]
        typed: Vec<&'static str>,
}

/// The values of former keys that no other setting has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Former {
    /// Time limit of a review.
    review_timeout: Option<Limit>,
    /// Number of times that a failing gate is run again.
    pub verify_retries: u32,
    /// True if `run` shows the view.
    pub view: bool,
}

/// The names of files on which a preparation may depend, if `ralph.setupInputs` is not set.
const SETUP_INPUTS: &str = include_str!("setup_inputs.txt");

/// Maximum number of rounds that continue an attempt, if `ralph.continue` is not set.
const CONTINUATIONS: u32 = 4;

impl Settings {
    /// Returns the maximum number of rounds that continue an attempt.
    pub fn most_continuations(&self) -> u32 {
        self.continuations.unwrap_or(CONTINUATIONS)
    }

    /// Returns whether the prompt says how an agent asks for another process.
    pub fn offers_to_continue(&self) -> bool {
        self.continuations.is_some_and(|most| most > 0)
    }

    /// Returns the pathspecs of the files on which the preparation of a work tree depends.
    pub fn all_setup_inputs(&self) -> Vec<String> {
        if !self.setup_inputs.is_empty() {
            return self.setup_inputs.clone();
        }
        let names = SETUP_INPUTS.lines();
        names.map(|name| format!(":(top,glob)**/{name}")).collect()
    }

    /// Returns the time limit of a round in words, if there is one and an attempt can have several rounds:
    /// continuations, and a question about it.
    pub fn limit_of_rounds(&self) -> Option<String> {
        // A further round may ask about a doubtful promise.
        let rounds = 2 + self.most_continuations();
        let time = self.timeout?;
        Some(format!("{time:#}, up to {rounds} x {time:#} an attempt"))
    }

    /// Returns the name of a limit: the option if the user typed it, else the key.
    pub fn given_by(&self, key: &'static str, option: &'static str) -> &'static str {
        if self.typed.contains(&option) { option } else { key }
    }

    /// Returns whether reviewers approve changes to tests and gate scripts.
    pub fn has_tests_reviewed(&self) -> bool {
        self.tests.held_by == HeldBy::Review && !self.review.is_empty()
    }

    /// Returns why `ralph.heldBy` has no effect, if so.
    pub fn why_unreviewed_tests(&self) -> Option<&'static str> {
        let is_set = self.tests.held_by == HeldBy::Review;
        (is_set && !self.has_tests_reviewed()).then_some(
            "ralph.heldBy=review has no effect without ralph.review: no reviewer accepts changes of tests",
        )
    }

    /// Returns the time limit of a review.
    pub fn review_timeout(&self) -> Option<SignedDuration> {
        let former = self.former.review_timeout;
        former.map_or(self.verify_timeout, |limit| limit.0)
    }
}

/// The options for the limits of a run, which messages name if they were typed.
pub const MAX_DURATION: &str = "--max-duration";
pub const MAX_ATTEMPTS: &str = "--max-attempts";
pub const MAX_COST: &str = "--max-cost";

/// Returns the default of a setting that is a duration, as typed.
pub(super) fn default_of_time(key: &str) -> Option<&'static str> {
    let is_time = KINDS.contains(&(spelled(key), "Time"));
    let mut rows = TABLE
        .iter()
        .filter(|(other, ..)| is_time && other.eq_ignore_ascii_case(key));
    rows.next().map(|(_, default, _)| *default)
}

/// Returns the key as the table spells it; git gives it in lower case.
pub fn spelled(key: &str) -> &str {
    let known = TABLE.iter().map(|(key, ..)| *key);
    let mut keys = known.chain(FORMER.iter().map(|(key, ..)| *key));
    keys.find(|other| other.eq_ignore_ascii_case(key)).unwrap_or(key)
}
