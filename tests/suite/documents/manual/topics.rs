//! The prose of the pages of section 7: what neither the table of hooks nor the schema of the events says.

/// A hook that the page shows: the file's name, what it does, and its text.
pub(crate) const HOOKS_SHOWN: &[(&str, &str, &str)] = &[
    (
        "ralph-post-finish",
        "Say on the desktop that a loop is closed",
        "#!/bin/sh\nexec notify-send \"git ralph\" \"$1 is finished\"\n",
    ),
    (
        "ralph-post-attempt",
        "Post what each attempt came to (verdict, reason, cost) to a web hook",
        "#!/bin/sh\nexec curl -fsS --max-time 10 -H 'Content-Type: application/json' \\\n    --data-binary @\"$RALPH_EVENT_FILE\" https://example.org/ralph\n",
    ),
    (
        "ralph-post-checkpoint",
        "Push each checkpoint to a remote that holds backups; the branch of a new loop may replace an older one",
        "#!/bin/sh\nexec git push --quiet --force backup \"refs/heads/$RALPH_BRANCH\"\n",
    ),
    (
        "ralph-pre-checkpoint",
        "Format the code of each story; what cannot be formatted fails the attempt",
        "#!/bin/sh\nexec cargo fmt\n",
    ),
    (
        "ralph-pre-attempt",
        "Begin no attempt while the file .stop is there",
        "#!/bin/sh\n[ ! -e .stop ] || { echo \"remove .stop to go on\" >&2; exit 1; }\n",
    ),
];

/// Before the hooks.
pub(super) const HOOKS: &str = "
Lifecycle hooks are hooks of git (githooks(5)) with names of their own, which git-ralph runs around the steps of a loop. They are
programs of the user's: executable files in the hooks directory (.git/hooks, or where core.hooksPath points), from git 2.54 on also hooks
of the configuration (hook.<name>.event). git-ralph has git run them, by git hook run, which needs git 2.36. Where there is none, nothing
is run for it.
";

/// After the hooks.
pub(super) const HOOKS_AFTER: &str = "
= ARGUMENTS AND ENVIRONMENT
The first argument is the change, the second the id of the story, where the hook is about one. Hooks run in the top directory of the work tree, with
nothing on standard input. What they print is shown as narration on standard error, and is in the log of the attempt (git ralph log), else in
.git/ralph/<change>/hook.log. In their environment are:
* RALPH_EVENT_FILE: a file with the event, as one line of JSON; git-ralph-events(7) has the fields. It is the same line as in events.jsonl, but for a hook that
runs before something: that gets the event as it is known so far.
* RALPH_CHANGE: the change.
* RALPH_BRANCH: the loop's branch.
* RALPH_STORY: the id of the story; not for hooks that are about none.
* RALPH_STORY_TITLE: its title, where it is known.
* RALPH_ATTEMPT: the number of the attempt, where there is one.
* RALPH_PROMPT_FILE: a file with the latest prompt.
* RALPH_LEARNINGS: the file for what later stories should know.
* GIT_RALPH_RUN: marks every process of the hook. Where it is set, no loop and no attempt can be begun.

Variables that name another repository (GIT_DIR and the like) are not passed on. Settings of git -c hold for hooks too.
= REFUSALS, TIME LIMITS AND SIGNALS
An exit code that is not zero, and a hook that takes longer than ralph.commandTimeout, refuses what a hook named pre is about, and is told as a warning of
one named post. A signal like that of Ctrl-C reaches a hook that runs, and ends the command after it; an attempt whose pre-checkpoint hook is
stopped is interrupted, and does not count. Hooks run after an interrupted attempt too. What a hook leaves running is ended with it.

Hooks named post run at most once: one that git-ralph could not run because it was killed is not run later, and a step that a later command
completes after that runs none.
= WHAT A HOOK CHANGES
Nothing that a hook does is relied upon: the work tree, HEAD and the refs are looked at again afterwards. What ralph-pre-checkpoint changes in the work tree is
told, and the files as they were before it are kept in refs/ralph/<change>/attempts/<story>/<n>-before-hook. One that leaves the loop's branch or drops the last checkpoint
fails the attempt. What another hook changes is like an edit by hand between two attempts: it becomes a checkpoint of its own before the next one.
= SESSIONS OF AN AGENT
These are hooks of agents, not of git: a command that the agent runs when something happens in its session. By them one session, on a terminal or not, goes
through all stories of a loop, without git ralph next. To begin:

    git ralph start add-login
    claude --settings <(git ralph hooks print claude) \"$(git ralph prompt)\"

The agent calls, with JSON on standard input:
* git ralph hook stop: when it has ended its turn (Stop of claude, codex and qwen, AfterAgent of gemini). The last message is judged as that of an attempt, with promise,
gates, checkpoint or revert, and counted as any attempt. The answer is the prompt of the next story, or of the retry, by which the session goes on; what a
failed attempt left is undone, kept, and the agent is told so. gemini begins each story without what was said before.
* git ralph hook stop-failure: when an error of its service has ended the turn (StopFailure of claude). The error is noted.
* git ralph hook session-end: when the session ends (SessionEnd). One that ends although it was given a story is noted.

The message is taken from last_assistant_message or prompt_response, else the last one of the file that transcript_path names. A session that was given no story and in which promises were never spoken of is a person's, and left alone. One that promises nothing is told twice to go on; after that
the attempt has failed with no_signal. When nothing is left to do, retries or a limit are at their end (ralph.maxAttempts counts those of the session), or a person is needed, the session may end, and its user is told
what comes next. From then on nothing but a promise is judged.

Between two calls the loop rests. What a session left that is gone is an edit like one by hand: git ralph next or retry makes a checkpoint of its own of it and goes on, git ralph revert undoes
it; no story is complete by it. git ralph status tells of a session that ended early; claude ends one without a word that has been sent on eight times in a row without using
a tool (CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0 lifts that). A second session in the same work tree is told of the first and may end, until nothing was heard of that for ralph.idleTimeout. When something else has moved the loop
since a story was given, nothing is judged, and the files stay.

The answer is one line of JSON or nothing, and the exit code is always 0: whatever goes wrong, the agent's session may end, nothing is lost, and standard error says why. Where the branch of a
loop that goes on is not checked out, and within an attempt of git ralph next, the answer is nothing, and no process is started for it. Nothing stands around the
agent's git meanwhile (the guard is for agents that git-ralph starts itself), RALPH_ variables are not in its environment, and ralph-pre-attempt does not run; what the attempt did to branches, tags and git's own files is undone with it, but for
that of the first story of a session, before which nothing was recorded.
= LIMITS
An agent may write into .git/hooks and the repository's configuration as into any file. Both are put back when the attempt has ended, before
a hook is looked for, so that no hook runs which an agent has put there. A hooks directory inside the work tree, a script that a hook runs from there,
and a configuration file that is included from there are part of the work: an agent may change them, as it may change what a gate runs.
";

/// Before the fields that all events have.
pub(super) const EVENTS: &str = "
With --json the commands start, next, retry, finish, run, complete, fail, revert and abort print what happens as events on standard output: one JSON object a
line, each line written at once, and nothing else. The narration on standard error stays; -q silences it. The same lines are in
.git/ralph/<change>/events.jsonl, for as long as what the loop left is kept, with or without --json; output and error are not. The event file of a lifecycle hook
(git-ralph-lifecycle(7)) holds one of them.

When a reader closes the pipe, the loop goes on, and the exit code is that of the loop.

All fields of an event are there in each line; null stands where nothing is known. Fields may be added to events, and events to this list, without another v; a reader ignores what
it does not know. The schema of a line, as JSON Schema, is src/events.schema.json in the source of git-ralph.
";

/// After the events.
pub(super) const EVENTS_AFTER: &str = "
= EXAMPLES
Show each verdict as it comes:

    git ralph run add-login --json -q -- claude | jq -r 'select(.event == \"attempt_ended\") | \"\\(.story): \\(.verdict)\"'

What the attempts of a loop have cost so far:

    jq -s 'map(.cost_usd // 0) | add' .git/ralph/add-login/events.jsonl
";
