//! The table of settings that the manual and README.md print.

/// Key, default and meaning of each setting: the table of the manual.
pub const TABLE: &[(&str, &str, &str)] = &[
    (
        "ralph.agent",
        "first on PATH",
        "the agent: a name that git ralph doctor lists, or a shell command line that reads the prompt on standard input",
    ),
    (
        "ralph.agent.<name>.command",
        "of the preset",
        "the shell command line of the agent of this name",
    ),
    (
        "ralph.agent.<name>.format",
        "of the preset",
        "what it prints: auto, text, claude, codex, gemini, opencode, copilot, qwen or pi",
    ),
    (
        "ralph.maxRetries",
        "3",
        "retries after the first attempt, a story",
    ),
    ("ralph.timeout", "none", "wall time of an attempt, like 45m"),
    (
        "ralph.idleTimeout",
        "30m",
        "time without output, or with the same error only, after which an attempt is ended",
    ),
    (
        "ralph.verify",
        "none",
        "a gate: shell command that must succeed before a checkpoint; may be given several times",
    ),
    ("ralph.verifyTimeout", "30m", "wall time of a gate"),
    (
        "ralph.verifyBaseline",
        "same",
        "a gate that is red before any work: same (it does not fail a story as long as it prints the same) or strict",
    ),
    (
        "ralph.maxDuration",
        "none",
        "age of the loop at which no more attempts are started (exit code 6)",
    ),
    (
        "ralph.maxWait",
        "6h",
        "how long the agent's service is waited for when it cannot answer; 0: not at all (exit code 6)",
    ),
    (
        "ralph.maxAttempts",
        "none",
        "attempts that one git ralph run may start",
    ),
    (
        "ralph.maxCost",
        "none",
        "US dollars that the agents of the loop may report together",
    ),
    (
        "ralph.adapter",
        "detected",
        "what lists the stories: openspec, markdown, prd or command",
    ),
    (
        "ralph.stories",
        "detected",
        "path of the story list, from the top directory, with #item or #group to say what a story is",
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
        "adapter command: shell command that is told of a story, after its checkpoint",
    ),
    (
        "ralph.mark",
        "auto",
        "who marks a complete story as done: auto (git-ralph), agent, or never",
    ),
    (
        "ralph.prompt",
        "built in",
        "path of a template for the prompts, from the top directory",
    ),
    (
        "ralph.retryOutput",
        "false",
        "whether a retry is shown the last 40 lines of an attempt that promised nothing",
    ),
    (
        "ralph.guard",
        "true",
        "whether the agent's git refuses pushes, and moves of refs that are not the attempt's",
    ),
    (
        "ralph.finish",
        "ask",
        "what git ralph run does at the end: ask, cleanup or keep",
    ),
    (
        "ralph.commandTimeout",
        "10m",
        "time limit of one git or adapter command, and of one lifecycle hook",
    ),
    (
        "ralph.keepAttempts",
        "90d",
        "how long attempts, snapshots and trash of a finished loop are kept, or none for ever",
    ),
];
