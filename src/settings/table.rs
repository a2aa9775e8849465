//! The table of settings that the manual and docs/settings.md print.

/// Key, default and meaning of each setting: the table of the manual.
pub const TABLE: &[(&str, &str, &str)] = &[
    (
        "ralph.agent",
        "first on PATH",
        "the agent: a name that git ralph doctor lists, or a shell command line that reads the prompt from standard input",
    ),
    (
        "ralph.agent.<name>.command",
        "of the preset",
        "the shell command line of the agent with this name",
    ),
    (
        "ralph.agent.<name>.args",
        "none",
        "arguments for the end of that agent's command line, as a shell reads them, such as --model x",
    ),
    (
        "ralph.agent.<name>.format",
        "of the preset; auto for a command of your own",
        "its output format: auto, text, claude, codex, gemini, opencode, copilot, qwen, pi, droid, goose, cline or openhands",
    ),
    (
        "ralph.retryAgent",
        "as ralph.agent",
        "the agent of retries: a name or a shell command line; not used if an agent is given after --",
    ),
    (
        "ralph.fallbackAgent",
        "none",
        "the agent that makes an attempt anew when the other one is missing, not signed in, or its service cannot answer",
    ),
    (
        "ralph.maxRetries",
        "3",
        "retries per story, after the first attempt",
    ),
    ("ralph.timeout", "none", "time limit of an attempt, such as 45m"),
    (
        "ralph.idleTimeout",
        "30m",
        "how long an attempt may print nothing, or only the same, before git-ralph ends it",
    ),
    (
        "ralph.verify",
        "none",
        "a gate: a shell command that must succeed before a checkpoint; may have several values",
    ),
    (
        "ralph.verifyRetries",
        "0",
        "how many times a gate that failed is run again before it counts; that it passed only then is told",
    ),
    (
        "ralph.tests",
        "none",
        "a git pathspec from the top directory: which files are tests; may have several values",
    ),
    (
        "ralph.testChanges",
        "held",
        "what becomes of changes to tests that were there: held (the gates must also pass with these as they were), refuse or allow",
    ),
    (
        "ralph.newTests",
        "apart",
        "what becomes of tests that an attempt adds: apart (the gates must also pass without them), allow or refuse",
    ),
    (
        "ralph.emptyStory",
        "warn",
        "what a promise without a changed file is: warn (complete; three in a row stop the loop), fail or accept",
    ),
    (
        "ralph.noSignal",
        "retry",
        "what an attempt is that ends by itself without a promise: retry (it failed), or gates (these and the reviewer judge what it changed)",
    ),
    ("ralph.verifyTimeout", "30m", "time limit of a gate"),
    (
        "ralph.review",
        "none",
        "the agent that gives a second opinion before a checkpoint: a name or a shell command line",
    ),
    ("ralph.reviewTimeout", "30m", "time limit of a review"),
    (
        "ralph.reviewPrompt",
        "built in",
        "path of a template for the prompt of a review, from the top directory",
    ),
    (
        "ralph.maxDuration",
        "none",
        "age of the loop after which git-ralph starts no more attempts (exit code 6)",
    ),
    (
        "ralph.maxWait",
        "6h",
        "how long to wait for a rate-limited or unavailable agent service; 0: not at all (exit code 6)",
    ),
    (
        "ralph.maxAttempts",
        "none",
        "how many attempts one git ralph run may start",
    ),
    (
        "ralph.maxCost",
        "none",
        "how many US dollars the agents of the loop may report in total",
    ),
    (
        "ralph.adapter",
        "detected",
        "how to read the stories: openspec, markdown, prd or command",
    ),
    (
        "ralph.stories",
        "detected",
        "path of the story list, from the top directory; #item makes each box a story, #group each section",
    ),
    (
        "ralph.storiesCommand",
        "none",
        "adapter command: shell command that prints the stories as JSON",
    ),
    (
        "ralph.doneCommand",
        "none",
        "adapter command: shell command that marks a story as done, before its checkpoint",
    ),
    (
        "ralph.closedCommand",
        "none",
        "adapter command: shell command that runs after the checkpoint of a story",
    ),
    (
        "ralph.mark",
        "auto",
        "who marks a complete story as done: auto (git-ralph), agent, or never",
    ),
    (
        "ralph.listEdits",
        "additions",
        "what an attempt may change in the story list besides its own story: additions (new stories, which are open), none, or allow (anything)",
    ),
    (
        "ralph.prompt",
        "built in",
        "path of a prompt template, from the top directory",
    ),
    (
        "ralph.retryContext",
        "reason",
        "what the prompt of a retry says: reason (after an attempt that promised nothing it stays the same), or always (then the ref and the log of that attempt, and its last 40 lines)",
    ),
    (
        "ralph.guard",
        "true",
        "whether the agent's git refuses pushes, and moves of refs that do not belong to the attempt",
    ),
    (
        "ralph.box",
        "off",
        "whether agents and gates run in a box that holds them to the work tree: off, on (where that works) or require",
    ),
    (
        "ralph.boxRead",
        "none",
        "a path that can be read in the box, such as ~/.gradle; may have several values",
    ),
    (
        "ralph.boxWrite",
        "none",
        "a path that can be written in the box, such as ~/.cargo/registry; may have several values",
    ),
    (
        "ralph.boxEnv",
        "none",
        "the name of a variable that is seen in the box although it may hold a key; may have several values",
    ),
    (
        "ralph.boxCommands",
        "false",
        "whether lifecycle hooks and the commands of trackers run in the box too",
    ),
    (
        "ralph.strategy",
        "branch",
        "where a new loop makes its checkpoints: branch, or stash: HEAD, its branch and the index stay as they are",
    ),
    (
        "ralph.worktreeDir",
        "../<repository>.ralph",
        "directory in which a loop begun with --worktree gets a work tree named after its change; from the main work tree",
    ),
    (
        "ralph.worktreeSetup",
        "none",
        "shell command that prepares such a new work tree, before the loop begins there",
    ),
    (
        "ralph.onFailure",
        "stop",
        "what git ralph run does when a story has no retries left: stop, skip the story, or finish the loop",
    ),
    (
        "ralph.finish",
        "ask",
        "what git ralph run does when the loop is complete: ask, cleanup or keep",
    ),
    (
        "ralph.notify",
        "bell",
        "what happens when a run of over a minute ends or asks: bell, off, or a shell command that gets RALPH_CHANGE and RALPH_MESSAGE",
    ),
    (
        "ralph.view",
        "false",
        "whether git ralph run shows the view on a terminal, as with --view",
    ),
    (
        "ralph.redact",
        "none",
        "a regular expression whose matches git ralph report replaces by ***; may have several values",
    ),
    (
        "ralph.linkCommit",
        "by the remote",
        "the address of a commit in reports, such as https://example.org/c/{oid}",
    ),
    (
        "ralph.remote",
        "none",
        "the remote that keeps loops: git ralph run takes the loop there, and pushes each step; nothing is pushed without it or --remote",
    ),
    (
        "ralph.lease",
        "15m",
        "how long the holder of a loop on a remote may be silent before another run takes the loop; renewed at a third of it",
    ),
    (
        "ralph.remoteRefs",
        "refs/ralph/",
        "the beginning of the refs of loops on a remote; refs/heads/ralph-state/ for a host that takes only branches",
    ),
    (
        "ralph.commandTimeout",
        "10m",
        "time limit of one git or adapter command, and of one lifecycle hook",
    ),
    (
        "ralph.keepAttempts",
        "90d",
        "how long to keep attempts, snapshots and trash of a finished loop; none: for ever",
    ),
];

/// Returns the key as the table spells it; git gives it in lower case.
pub fn spelled(key: &str) -> &str {
    let mut keys = TABLE.iter().map(|(key, ..)| *key);
    keys.find(|other| other.eq_ignore_ascii_case(key)).unwrap_or(key)
}
