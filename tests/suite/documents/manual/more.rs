//! Sections of the pages of commands beside those in `text`: what of the configuration, of files and of the environment
//! a command has to do with, and its limits. Written as `text` is.

/// What is said before the settings that a command reads, and these; `None` for a page without such a section.
pub(super) fn configuration(verb: &str) -> Option<(&'static str, &'static [&'static str])> {
    const STEP: &str = "
What git ralph start kept of the configuration holds; git -c <setting>=<value> holds for this command, and so do the options above. Of the
settings in git-ralph(1) these matter here:
";
    Some(match verb {
        "start" => (
            "
Every setting in git-ralph(1) is read and kept for the loop. These decide about the start itself:
",
            &[
                "ralph.adapter",
                "ralph.stories",
                "ralph.storiesCommand",
                "ralph.agent",
                "ralph.prompt",
                "ralph.verify",
                "ralph.verifyTimeout",
                "ralph.verifyBaseline",
                "ralph.commandTimeout",
            ],
        ),
        "run" => (
            "
Every setting in git-ralph(1) is read when the loop begins, and kept. These are about the run as a whole:
",
            &[
                "ralph.maxAttempts",
                "ralph.maxDuration",
                "ralph.maxCost",
                "ralph.maxWait",
                "ralph.finish",
            ],
        ),
        "next" | "retry" => (
            STEP,
            &[
                "ralph.agent",
                "ralph.agent.<name>.command",
                "ralph.agent.<name>.format",
                "ralph.maxRetries",
                "ralph.timeout",
                "ralph.idleTimeout",
                "ralph.verify",
                "ralph.verifyTimeout",
                "ralph.prompt",
                "ralph.retryOutput",
                "ralph.guard",
                "ralph.commandTimeout",
            ],
        ),
        "complete" => (
            STEP,
            &["ralph.mark", "ralph.verifyTimeout", "ralph.commandTimeout"],
        ),
        "prompt" => (STEP, &["ralph.prompt", "ralph.retryOutput"]),
        "stories" => (
            "
For a change without a loop; a loop keeps what it began with:
",
            &[
                "ralph.adapter",
                "ralph.stories",
                "ralph.storiesCommand",
                "ralph.commandTimeout",
            ],
        ),
        "prune" => ("", &["ralph.keepAttempts"]),
        "doctor" => (
            "
",
            &[
                "ralph.agent",
                "ralph.agent.<name>.command",
                "ralph.adapter",
                "ralph.stories",
                "ralph.storiesCommand",
                "ralph.keepAttempts",
            ],
        ),
        "diff" => (
            "
git diff reads the user's configuration: core.pager, color.ui and diff.* among others.
",
            &[],
        ),
        "help" => (
            "
Where there is no man, the page goes through git's pager (core.pager).
",
            &[],
        ),
        _ => return None,
    })
}

/// Sections between the examples and the exit status.
pub(super) fn files(verb: &str) -> &'static str {
    match verb {
        "install" => {
            "
= FILES
* share/man/man1/git-ralph*.1: the manual pages.
* share/bash-completion/completions/git-ralph: the completion for bash; bash-completion loads it for git-ralph, git's completion for git
ralph.
* share/zsh/site-functions/_git-ralph: the completion for zsh; its directory has to be in fpath before compinit is run.
* share/fish/vendor_completions.d/git-ralph.fish: the completion for fish.
* share/git-ralph/installed.json: what was written, for a later version and for --uninstall.
= ENVIRONMENT
* XDG_DATA_HOME: the share directory of a user, ~/.local/share where it is not set.
"
        }
        "log" => {
            "
= FILES
* .git/ralph/<change>/events.jsonl: what the list is made of.
* .git/ralph/<change>/attempts/<story>.<n>.log: what the agent and the gates printed.
"
        }
        "next" | "retry" | "run" => {
            "
= FILES
* .git/ralph/<change>/attempts/<story>.<n>.log: what the agent and the gates printed.
* .git/ralph/<change>/events.jsonl: the events.
= ENVIRONMENT
What agents and gates find in theirs is in git-ralph(1).
"
        }
        "prompt" => {
            "
= FILES
* .git/ralph/<change>/learnings.md: what agents wrote down for later stories.
* .git/ralph/<change>/prompt.md: the prompt of the latest attempt.
"
        }
        "doctor" => {
            "
= ENVIRONMENT
* PATH: where git, the agents, man and the shells are searched.
* HOME, ZDOTDIR: where .zshrc is.
* XDG_DATA_HOME, XDG_DATA_DIRS, BASH_COMPLETION_USER_DIR: where completions for bash are.
"
        }
        "hooks" => {
            "
= FILES
* ~/.claude/settings.json, ~/.codex/hooks.json, ~/.gemini/settings.json, ~/.qwen/settings.json: the settings of agents.
* .claude/settings.local.json, .codex/hooks.json, .gemini/settings.json, .qwen/settings.json: those of a project.
* $XDG_STATE_HOME/git-ralph/agent-hooks.json (~/.local/state): what install made in settings, so that uninstall can take just that away.
* .git/hooks/: git's hooks, where core.hooksPath is not set.
* .git/ralph/.hooks/: the hooks where it is set, and what the configuration was before.
= ENVIRONMENT
* CLAUDE_CONFIG_DIR, CODEX_HOME: the directories of the settings of claude and codex.
* GIT_RALPH_RUN: marks an attempt; where it is set, git's hooks say nothing.
"
        }
        "help" => {
            "
= ENVIRONMENT
* MANPAGER, PAGER: the pager of man.
* GIT_PAGER: the pager where there is no man.
"
        }
        _ => "",
    }
}

/// The last section before the other pages.
pub(super) fn limits(verb: &str) -> &'static str {
    match verb {
        "doctor" => {
            "
= LIMITS
Whether a git is at work is seen from /proc, and so is whether a process works on a loop; where there is no /proc, a loop that was cut off is
not told. A start file of a shell is never run, so that a completion which only such a file loads is not found, but for .zshrc, which is read.
"
        }
        "hooks" => {
            "
= LIMITS
git asks reference-transaction about branches, not about files that somebody removes; and a refused git reset --hard has already put back
files and index. Programs that install hooks again may write over ours, or set core.hooksPath anew: git ralph hooks status tells.
codex runs hooks only when its user has trusted them.
"
        }
        "install" => {
            "
= LIMITS
The start files of shells are not edited; what has to be added there is said. fish 3.6 and older complete git-ralph, and git ralph only after
the line that is said then.
"
        }
        "stories" => {
            "
= LIMITS
A list is read up to 16 MiB.
"
        }
        _ => "",
    }
}
