//! The prose of the manual pages: what no definition in the code says. `super::Page::prose` knows the
//! few marks in it.

#![expect(clippy::panic, reason = "a command without prose is a failed test")]

/// The pages of section 7.
pub(super) const TOPICS: &[&str] = &["git-ralph-events", "git-ralph-lifecycle", "git-ralph-tutorial"];

/// Before the table of settings.
pub(super) const CONFIGURATION: &str = "
Settings are git's own configuration, section ralph: git config ralph.maxRetries 5, or for one
command git -c ralph.maxRetries=5 ralph next. The command line wins over the configuration.
What a loop needs later is kept in its state by git ralph start; later changes of the configuration
do not reach a loop that goes on, but for an agent where none was named, and for a done command whose story is still listed as open. git -c and the options of a
later step hold for that step.

No setting is read from a file of the work tree. A team that wants to share settings commits a file, and
each member who trusts it includes it with git config include.path.
";

/// Before the table of the variables of a template.
pub(super) const VARIABLES: &str = "
The prompt is made of a template of MiniJinja (the template language of Jinja2): the built-in one, or the
file that ralph.prompt names. A path is relative to the top directory; ~/ is the home directory. The file is read before each
attempt. What is not one of these variables is a mistake, and so is a line that is only a promise; git ralph start
tells mistakes with line and column. In all values promise tags are made harmless.
";

/// After the exit codes of the page about the whole.
pub(super) const TOP: &str = "
= AGENTS
ralph.agent and --agent name the agent: one of those that git-ralph knows by name, or any shell line; a program with its
arguments can also be given after --. Where none is named, the first that is found on PATH is taken, in this order:

@presets
ralph.agent.<name>.command and ralph.agent.<name>.format replace the command line of such an agent and what it prints, or
make a name of one's own. git ralph doctor shows which are installed.

An agent that acts without asking may do whatever its process may do: whatever the user may do, if nothing confines it. git-ralph brings back the work tree and what it knows of the
repository, nothing else; README.md says how to confine an agent.

The agent runs in the top directory of the work tree and reads the prompt on standard input; a command
that has {prompt_file} in it gets the path of the prompt there instead.

An attempt is complete when the agent's final message has the line

    <promise>COMPLETE</promise>

and failed when it has the line

    <promise>FAILED: what stands in the way</promise>

The last such line decides. Without one the attempt has failed too, and is repeated without a
reason. A tag in the middle of a sentence does not count, nor do lines that repeat the prompt. The
output of claude, gemini and qwen (stream-json), codex, opencode, copilot and pi (json) is recognised
by its first lines: there the final message is searched, and cost, tokens, rate limits and sign-in
errors are read. Of anything else standard output is searched.

What later stories should know can be appended to the file $RALPH_LEARNINGS, or said in the final message as
<learning>...</learning>, which is appended there. The newest 16 KiB of that file are in every prompt.

When the agent has ended, every process of it that is still alive is ended before the work tree is
looked at. Such a process is known by its session and by GIT_RALPH_RUN in its environment; where there
is no /proc, only the agent's process group is ended.
= GUARD
During an attempt the agent's git runs hooks of git-ralph's, by GIT_CONFIG_COUNT in the agent's environment: nothing is written into
the configuration or into a hooks directory of the user's, and other programs and git-ralph itself do not see them. Gates (ralph.verify) and the
commands that list and mark stories (ralph.storiesCommand, ralph.doneCommand) run inside the guard too, because they may run what the agent wrote. In this repository
and all its work trees they refuse, and tell the agent what to do instead:
* to delete or rename the loop's branch, or to move it to where its checkpoint is not contained;
* to move, delete or rename a branch that was there when the attempt began;
* to touch refs/ralph/;
* to drop the stash, or the last entry of it, while it holds entries that were there when the attempt began;
* to push.

Commits, new branches, tags, stash entries of its own, git gc, and rebasing or amending its own commits above the checkpoint are
the agent's to do. Moves of HEAD are not refused, because git asks when the files have been switched already; they are mended after the attempt. Moves of refs that the hooks saw, and those that were refused, are events
(ref_moved), at most 500 an attempt.

After gates, lifecycle hooks and the commands of a tracker, git's own files (configuration, exclude rules, hooks) and the refs below refs/ralph/ that keep
the loop's work are put back as after an attempt, and other refs that moved are told. Lifecycle hooks, and ralph.closedCommand, may push.

The user's own hooks run as without the guard, wherever git would find them at that moment, and in other repositories the
agent's git is as free as ever. From git 2.54 on hooks of the configuration are used (hook.git-ralph.command). Programs that install hooks where core.hooksPath says find a
directory that goes away with the attempt.

It is a rail and not a wall: one entry of several that leaves the stash is not seen, nor is the renaming of a branch where refs are kept in the reftable format, and an agent that wants to can go around it. What counts is
compared after the attempt in any case. A guard that does not work lets git go on. ralph.guard=false leaves it off.
= STORIES
Without --stories, ralph.stories or another adapter, the list of a change is looked for in these places; two of them at once are an error
that names both, and none is one that names the changes that were found.
* openspec/changes/<change>/tasks.md: OpenSpec. Where the schema of the change (in openspec/schemas) has apply.tracks with one
plain file, that file; of a change that is archived, the one in openspec/changes/archive.
* specs/<change>/tasks.md: spec-kit.
* .kiro/specs/<change>/tasks.md: Kiro; each outermost box is a story.
* prd.json, .ralph/prd.json, scripts/ralph/prd.json: where branchName is <change> or ralph/<change>.

With --stories <path>, a name that ends with .json is read like prd.json, anything else as markdown.

In markdown, a box is a list item that begins with [ ], [x], [X], [] or any other single character in brackets; only x and X
are done. A box in code, a comment or HTML is none. - [ ]* is optional: a story is complete without it.
Each section with boxes is a story, at the highest level of headings that has two of them, else at the deepest; where
there are no headings but a title, or with #item after the path, each outermost box is. The id of a story is what its title begins
with to be called by (2. Title, Phase 3: Title, T001 Title), if that is unique, else made of the words of the title.

In JSON, the stories are the list userStories, stories or tasks, or the whole file. Complete is said by passes, complete, completed, done or
status; dependsOn, deps and blockedBy name stories that have to be complete first. The order is that of priority, then that of the file.
A mark replaces the one value that says so, and no other byte of the file.

A story is marked as done when the agent has promised and all gates have passed. It is found again in the list as it is then, by id, title or
tasks; when it is gone, it counts as done. What the agent ticked elsewhere is accepted and told; what it unticked without adding tasks is ticked again. A list that cannot be read any
more is a failed attempt. With ralph.mark=agent the agent has to tick, and a promise with open tasks is a failed attempt; with never the
list stays as it is, and the loop remembers.

With --adapter command, ralph.storiesCommand prints the stories, as one JSON object a line or as one list: id, title, body, done,
depends_on, priority. ralph.doneCommand marks one as done before its checkpoint, so that what it changes in the work tree is part of that; without it the loop
remembers what is done. When it fails, the checkpoint is made all the same, and the loop stops if the story is still listed as open:
no agent works on it again. Each later step runs the command once more, and goes on as soon as the story is listed as done; so that is how to mend it, or git ralph skip. ralph.closedCommand is told
of a story whose checkpoint is made; after a crash it may be told twice. Each is a shell line, runs in the top directory with RALPH_CHANGE, and the last two have
RALPH_STORY, RALPH_STORY_TITLE, RALPH_ATTEMPT and RALPH_BRANCH too and the story as JSON on standard input. ralph.commandTimeout limits each. README.md has such
commands for Taskmaster, Backlog.md, beads and GitHub issues.
= FILES
* refs/heads/ralph/<change>: the loop's branch: the commit \"initial state\", then one commit
\"checkpoint: <story>\" a story. Commits that the agent made stay below the checkpoint.
* refs/ralph/<change>/start: what was there before the loop, in the shape of a stash: the work tree, and below it what was
staged.
* refs/ralph/<change>/attempts/<story>/<n>: what an attempt left that did not become a checkpoint; <n>-before-hook: what it left before the
hook ralph-pre-checkpoint changed it.
* refs/ralph/<change>/anchor: holds the index file of the beginning, and keeps alive what branches, tags and stash entries named when the loop began.
* refs/ralph/<change>/replaced/<n>: what an earlier loop of this name left: its branch, its last commit, its start.
* refs/ralph/<change>/finished: the last commit of the loop that was finished or aborted last.
* .git/ralph/<change>.toml: the state of the loop; beside it its lock.
* .git/ralph/<change>/events.jsonl: the events of the loop, one JSON object a line.
* .git/ralph/<change>/attempts/<story>.<n>.log: what the agent, the gates and the hooks printed.
* .git/ralph/<change>/hook.log, event.json: what the latest hook printed that is about no attempt, and the event of the latest hook.
* .git/ralph/<change>/learnings.md: what agents wrote down for later stories; part of every prompt.
* .git/ralph/<change>/prompt.md: the latest prompt.
* .git/ralph/<change>/hooks/, guard.rules, guard.log: the guard, while an attempt is.
* .git/ralph/<change>/trash/: what a revert had to move away and git cannot keep; in <story>.<n>/raw, bytes that git has only in another form.
* .git/ralph/<change>/unversioned/: what git does not keep: small ignored files, permissions, empty directories, and
bytes that a filter or a line-ending rule would not give back.

In a linked work tree these files are in the git directory that all work trees share. In refs and
file names, characters that are not allowed there are written as percent escapes. Refs and
files of a finished loop stay for ralph.keepAttempts; git ralph prune removes what is older, and so does the next
git ralph finish.
= ENVIRONMENT
The agent and the gates find in their environment:
* RALPH_CHANGE: the change.
* RALPH_STORY: the id of the story.
* RALPH_STORY_TITLE: its title.
* RALPH_ATTEMPT: the number of the attempt at this story.
* RALPH_BRANCH: the loop's branch.
* RALPH_PROMPT_FILE: a file with the prompt.
* RALPH_LEARNINGS: the file for what later stories should know.
* GIT_RALPH_RUN: marks every process of the attempt. Where it is set, no loop and no attempt can be
begun.

git ralph itself reads:
* GIT_RALPH_LOG: a filter for traces on standard error, like debug; without it -v shows each git command.
* NO_COLOR: when set, no colours, but with --color.
* CLICOLOR_FORCE: when set, colours in pipes and files too. Without the two git's color.ralph and color.ui hold, and without those
colours are where a terminal reads.
* COLUMNS: the width of the terminal, where it is not what the terminal says.
* GIT_PAGER: as for git, the pager of git ralph log, diff and help; git --no-pager ralph log has none.
* GITHUB_ACTIONS: when true, the narration has a group an attempt, and errors are annotations.
* GITHUB_STEP_SUMMARY: a file that gets the table of attempts when git ralph run or finish ends.
= HOOKS AND EVENTS
git-ralph runs hooks of the user's around the steps of a loop, which can refuse an attempt, a checkpoint or the end, and tell others of
them: git-ralph-lifecycle(7). It also says how an agent's own session goes through a loop, by hooks of the agent.

With --json the commands that take a step print what happens as events, one JSON object a line on standard output: git-ralph-events(7).
= ATTEMPTS
An attempt that ends because the agent's service cannot answer (a rate limit, a plan's limit whose end is told, an overloaded service,
no network) does not count. It is made again when the service said, else after a delay that grows from ten seconds to five
minutes; nothing waits longer than ralph.maxWait in a row. Where no waiting helps (not signed in, no credit, an unknown model, an agent that
cannot be started), the command ends at once with exit code 1.

A story that is said to be complete without any change but to the story list gets its checkpoint, and a warning; after three such stories in a row the
command ends with exit code 7, if stories are left.

Verdicts are complete, failed, no_signal, gate_failed, timed_out, rate_limited, overloaded, auth,
not_started, agent_error and interrupted. The last of them, and rate_limited, overloaded, auth and
not_started, do not use up a retry.
= LIMITS
The content of ignored directories (build trees, installed packages) is neither saved nor put back: what an
agent does to it stays done. Ignored files of up to 1 MiB come back when an agent has deleted them, not when it
has changed them.

Pipes and sockets of the user's that an agent deletes are not made again. Extended attributes, access lists, owners, hard links and times of files that an attempt touched are not
put back. Of a repository that an agent makes inside the repository the files are put back, its own .git is moved to
the trash; what it does inside a repository of the user's stays done.

New branches, tags and other refs that a failed attempt made stay, and so do its stash entries; they are told. Replacements
(git replace) are taken away, and kept among its refs. Branches that are checked out in another work tree are left alone. An agent that deletes .git/ralph deletes permissions,
empty directories, ignored files and bytes hidden by filters that were kept there; without them git-ralph changes no permissions; one that deletes .git deletes everything.
What was pushed around the guard is pushed. git-ralph does not confine the agent; use a container or another user for that.

Git's own hooks (pre-commit and the like) do not run for checkpoints, and checkpoints are not signed.
After git ralph finish --cleanup nothing is staged; --index stages again what the loop has not changed, and what was
staged before the loop is in refs/ralph/<change>/start.

A submodule with uncommitted changes keeps a loop from starting, an attempt from beginning, and a story from being
complete. What a failed attempt left in one is kept in its own refs/ralph/<change>/.
";

/// What the description of a page goes on with.
pub(super) fn description(verb: &str) -> &'static str {
    match verb {
        "" => {
            "
A change is a named piece of work, like add-login. Its stories come from a list of tasks of OpenSpec, spec-kit or Kiro, from a
prd.json, from any markdown file with task boxes that --stories names, or from commands. A
story is complete when all its boxes are ticked; git-ralph ticks them for a complete story.

Each step is a command of its own, and git ralph run is nothing but these steps in a row. Every
command may be interrupted and typed again: the next command completes what an earlier one could
not, and says so. Where <change> may be left out, the branch ralph/<change> that is checked out decides, else the
only loop that goes on.

Standard output carries the answer, standard error the narration. Nothing is asked without a
terminal on standard input.
"
        }
        "start" => {
            "
The index file and its staging are kept, and so is where HEAD was, which may be a detached commit or a
branch without commits. A branch ralph/<change> of no loop is replaced; its old tip is kept in
refs/ralph/<change>/replaced/<n>.

With --dry-run all is checked and shown, and nothing begins: the stories with warnings, the agent, the gates and the settings. With --json that
is one document: the one of git ralph stories --json, agent and settings.

Each gate (ralph.verify) is run once, so that one that is red before any work is known; what gates change then is undone.

With --restart a loop that goes on is aborted first, so that all is as it was before it. With --resume a loop whose state file is
lost is rebuilt from its branch and refs; HEAD must be on the branch.

Refuses, with nothing changed, where a loop would not be safe: in the middle of a merge, rebase,
cherry-pick, revert or bisect, with unmerged paths, with another loop in this work tree, where the
branch is checked out elsewhere, and where no story is left to do.
"
        }
        "next" => {
            "
Edits that were made by hand since the last checkpoint are committed first, as a checkpoint of their
own, so that a failed attempt cannot take them along.

After COMPLETE the gates (ralph.verify) run, each for ralph.verifyTimeout at most; the checkpoint is made when all succeed. What they change in the work tree
is part of it. Each was run once by git ralph start: one that was red then is not held against a story as long as it ends
alike and prints the same lines, times aside; ralph.verifyBaseline=strict holds it against every story. One that prints nothing always counts.
"
        }
        "retry" => {
            "
The attempt is counted: a story has 1 + ralph.maxRetries of them. The reason is what the agent said
with its FAILED, or the end of the output of the gate that failed. Where nothing has failed, git ralph next
is meant.
"
        }
        "finish" => {
            "
With --cleanup, HEAD goes back to the branch or commit that the loop began on. Everything the loop did is
then an uncommitted, unstaged change there, and new files are untracked; no file is touched. Where the
original branch has moved on, its changes are merged in; on a conflict nothing is changed and the exit
code is 7. The branch ralph/<change> is deleted, and its last commit kept in refs/ralph/<change>/finished.

With --keep nothing moves: the loop is closed, its branch and commits stay.

The choice can also be given as a word: git ralph finish cleanup, git ralph finish keep. A loop can be
finished at any time between two steps, whether or not all stories are complete.
"
        }
        "run" => {
            "
Takes the steps that git ralph start, next and retry are, until all stories are complete, a story has no
retries left, a limit is reached, or it is interrupted. After the first two, --cleanup, --keep or
ralph.finish decide how the loop is finished; else a person on a terminal is asked, and without one
it is left to a later git ralph finish.

Interrupted once, it stops the agent, undoes the attempt, which does not count, and ends; interrupted
twice, it kills the agent. The same command goes on.
"
        }
        "status" => {
            "
With --short, one line like \"ralph: add-login 2/5 story 3 retry 1\": the change, how many stories are complete, and the story that is next or
being worked on, with running, waiting (for the agent's service), failed, cut off or complete where that is so; then commits made by hand, if git hooks have noted
them (git-ralph-hooks(1)), and where HEAD is if it is not on the loop's branch. It is read from the state of the loop: no git is run, and the story list is not read, so that a box that somebody
ticked since the last step is not counted. Where no loop goes on, nothing is printed, outside of a repository too, and the exit code is 0.
= OUTPUT
With --json: change, phase, branch, original_branch, original_head, checkpoint, stories_total,
stories_done, current (id, title, attempt, retries, reason), max_retries, next, problem (why no story can be told), session (id,
at_work, seen, story, ended_early, error; of an agent that drives the loop by its hooks, see git-ralph-lifecycle(7)),
commits_by_hand (as far as git's hooks note them), away (where HEAD is if not on the branch, or null). The phase is one of ready,
running, failed (retries are left), exhausted, complete and finished; next is one of next, retry,
finish and start. Without a change, an array of them.
"
        }
        "stories" => {
            "
Works without a loop too, and shows the list then as git ralph start would find it.

git-ralph(1) says which lists are found and how they are read. #item or #group after the path of --stories or ralph.stories asks
for a story a box or a story a section.

What the author of the list should look at is told with its line: boxes in code or comments, code fences that are
never closed, ids that are used twice, sections without boxes, stories with more than 15 tasks, stories that wait for one that is not in the list, and
stories that read like work for people (manual, deferred, out of scope).
= OUTPUT
With --json: change, adapter, source, total, done, stories (id, title, done, skipped, optional,
depends_on, line, and tasks with id, text, done, optional, line), warnings (line, message).
"
        }
        "prompt" => {
            "
With git ralph complete and git ralph fail this lets any other program run the agent. With --template it works anywhere.
"
        }
        "log" => {
            "
Shows the attempts since the loop was last started: story, number, verdict, time, cost where the
agent says so, and the checkpoint or the ref that keeps what the attempt left.
= OUTPUT
With --json: change, and attempts with story, title, attempt, verdict, reason, started, duration in
seconds, exit_code, cost_usd, input_tokens, output_tokens, ref, checkpoint.
"
        }
        "complete" => {
            "
Works on the story that git ralph next or git ralph retry would work on, also when it has no retries left.
"
        }
        "fail" => {
            "
The reason goes into the next prompt. The exit code is that of a failed attempt: 3 or 4.
"
        }
        "revert" => {
            "
No attempt is counted. Edits made by hand are undone too; the ref that keeps them is told.
"
        }
        "skip" => {
            "
Without a story, the one that comes next. --undo without a story takes back the latest skip. The
boxes of a skipped story stay as they are.
"
        }
        "demo" => {
            "
Needs nothing but git: the agent is part of the program, and the network is not used.
"
        }
        "install" => {
            "
Without --prefix everything goes below $XDG_DATA_HOME, or ~/.local/share where that is not set, else below <DIR>/share:
* man/man1/, man/man7/: a manual page for each command, and for hooks and events. man-db finds them there without a word where ~/.local/bin is on PATH.
* bash-completion/completions/git-ralph: for bash, which loads it by itself with the package bash-completion.
* zsh/site-functions/_git-ralph: for zsh, when the directory is in fpath.
* fish/vendor_completions.d/git-ralph.fish: for fish.
* git-ralph/installed.json: what was written, so that a later version and --uninstall can tell it from anything else.

Each path that was written is printed; what is as it should be is left as it is. A file that is there and is not, byte for byte, what
git ralph install wrote stays as it is, and is told on standard error with exit code 7. Where a program that is installed does not look into its directory, the
line to add to its settings is told; these settings themselves are never changed.

With --uninstall files that are still as they were written are removed, and printed; others stay, and are told. Directories that were made go
when they are empty.
"
        }
        "hooks" => {
            "
An agent's own session, interactive or not, can drive the loop: when it comes to an end, its hook runs git ralph hook stop, which judges the work as an
attempt and gives the session the next story.
* git ralph hooks print <agent>: prints the settings with nothing but these hooks, for claude --settings <file> and the like.
* git ralph hooks install --agent <agent>: puts them into the agent's settings of this user, with --project into those of the project (of claude
settings.local.json, which is no business of others). What else is there stays: order, comments, layout and line ends. Each hook that was put in is
printed; those that are there stay as they are.
* git ralph hooks uninstall --agent <agent>: takes them out again, and nothing else. What was not edited since is byte for byte what it was; a file that was made is removed.

Without --agent, git's hooks of this repository are meant: post-commit, post-checkout, post-rewrite, pre-push and reference-transaction. While a loop
goes on, they note in its state and events (committed, left, returned) when commits are made on its branch by hand, and when HEAD leaves the
branch or comes back; and they refuse to delete or rename that branch, to move it to where its checkpoint is not contained, and to push it. git push
--no-verify and git -c ralph.guard=false go around. In attempts, and where no loop goes on, they do nothing; nor when git-ralph is gone.

* git ralph hooks install: puts them beside what is there. Into .git/hooks, where a hook that is there is kept as <name>.before-ralph and run with the
same arguments and input; where core.hooksPath is set, into a directory of git-ralph's that core.hooksPath names then, and that runs the hooks of the directory
it named before, looked up each time; from git 2.54 on as hooks of the configuration (hook.git-ralph-<name>.command).
* git ralph hooks uninstall: the former files, and the former configuration, are there again byte for byte. What another program has put in the place of a hook since stays, and is told.
* git ralph hooks status: what is installed where, for git and for agents, and what was overwritten since.
"
        }
        "help" => {
            "
git ralph help lifecycle and git ralph help events show git-ralph-lifecycle(7) and git-ralph-events(7). The page is part of the program: unlike git help ralph and git ralph --help this works before git ralph install. On a terminal man shows
it. Where there is no man that can, it is what git ralph <command> --help says, through the pager that git uses (GIT_PAGER, core.pager,
PAGER). Elsewhere than on a terminal it is plain text on standard output.
"
        }
        "doctor" => {
            "
Looks at git, the agents, the loops of this repository and what is left of others, the hooks that git ralph hooks install has put in, the
lists of its changes, the manual page, and the completions of the shells that are installed. Changes nothing, takes no lock, and runs no command that a setting names; it works outside of
a repository too. The exit code is 1 if something keeps a loop from working. What only could be better is told before that, with exit code 0.
= OUTPUT
With --json one document; new fields may be added:
* git: its version, in its words
* features: what is used of git: name, since (a version), available (null when the version cannot be read), used_for
* agent: the agent that a loop would work with: name, command, unasked (the argument by which it acts without asking)
* agents: those known by name: name, command, installed, version, format, unasked, tried
* repository: null outside of one; else top, loops (change, phase, busy: whether a process works on it), changes (change, adapter, source,
stories, done, warnings, error)
* installation: manual (the page that man finds, or null), completions (shell, file or null)
* problems: what keeps a loop from working: message, hint (what to type)
* advice: what could be better, in the same shape
"
        }
        "abort" => {
            "
The original branch must be where it was: when it has moved on, the exit code is 7 and git ralph finish is meant. The
index file comes back byte for byte, with what was staged, and so do permissions and empty directories.
"
        }
        "diff" => {
            "
Without a story: from the commit \"initial state\" to the last checkpoint. With a story: its latest attempt, or the
one after the @, from the checkpoint before it to what it left. Works for finished loops too, as long as
their refs are kept. git diff prints it, with the user's pager and colours.
"
        }
        "restore" => {
            "
The work tree must be at the checkpoint, and nothing may be in the way; HEAD and index stay as they are. What is
restored can be looked at, edited, and made the story's checkpoint with git ralph complete, or thrown away again with
git ralph revert. git ralph log lists the attempts.
"
        }
        "prune" => {
            "
Removes refs, logs and trash that are older than ralph.keepAttempts (90 days), and names each. Without a
change: of all finished loops of the repository. Of a loop that goes on nothing is removed. Objects go with git's own
garbage collection, later.
"
        }
        _ => panic!("{verb} has no description in the manual"),
    }
}

/// The exit codes that a command can end with.
pub(super) fn exit_codes(verb: &str) -> &'static [&'static str] {
    match verb {
        "start" => &["0", "1", "2", "5", "7", "75", "128+n"],
        "next" | "retry" => &["0", "1", "2", "3", "4", "5", "6", "7", "75", "128+n"],
        "run" => &["0", "1", "2", "4", "5", "6", "7", "75", "128+n"],
        "finish" => &["0", "1", "2", "7", "75", "128+n"],
        "complete" => &["0", "1", "2", "3", "4", "5", "7", "75", "128+n"],
        "fail" => &["1", "2", "3", "4", "5", "7", "75", "128+n"],
        "prompt" | "skip" => &["0", "1", "2", "5", "7", "75"],
        "revert" | "prune" => &["0", "1", "2", "75"],
        "abort" | "restore" => &["0", "1", "2", "7", "75"],
        "status" | "stories" | "log" | "diff" | "doctor" | "hooks" => &["0", "1", "2"],
        "demo" => &["0", "1", "2", "128+n"],
        "install" => &["0", "1", "2", "7"],
        "help" => &["0", "2"],
        _ => panic!("{verb} has no exit codes in the manual"),
    }
}

/// Command lines with a word about each.
pub(super) fn examples(verb: &str) -> &'static str {
    match verb {
        "" => {
            "
See the whole loop, without an agent of your own:

    git ralph demo

Have an agent work through openspec/changes/add-login/tasks.md, and look at the result as uncommitted changes:

    git ralph run add-login --cleanup -- claude -p --dangerously-skip-permissions

The same, step by step:

    git ralph start add-login
    git ralph next -- claude -p --dangerously-skip-permissions
    git ralph status
    git ralph finish --cleanup

What a failed attempt left:

    git ralph diff 2@1
"
        }
        "start" => {
            "
Begin, with two gates and at most one retry a story:

    git ralph start add-login --max-retries 1 --verify 'cargo test' --verify 'cargo fmt --check'

Look first:

    git ralph start add-login --dry-run

Each box of a plain list as a story:

    git ralph start tidy --stories TODO.md#item
"
        }
        "next" => {
            "
One attempt, of an hour at most:

    git ralph next --timeout 1h -- claude -p --dangerously-skip-permissions
"
        }
        "retry" => {
            "
Once more, with the agent of the settings:

    git ralph retry
"
        }
        "finish" => {
            "
Bring the work back, then look at it:

    git ralph finish --cleanup
    git diff
"
        }
        "run" => {
            "
Unattended, with the agent from the configuration:

    git config ralph.agent claude
    git -c ralph.maxDuration=4h ralph run add-login --cleanup
"
        }
        "status" => {
            "
The command that comes next, for a script:

    git ralph status add-login --json | jq -r .next

In the prompt of bash, in ~/.bashrc:

    PS1='$(git ralph status --short) '$PS1

In starship, in ~/.config/starship.toml:

    [custom.ralph]
    command = \"git ralph status --short\"
    when = true
    require_repo = true

In the status line of tmux, about the pane that is looked at, in ~/.tmux.conf:

    set -g status-right '#(cd #{q:pane_current_path} && git ralph status --short)'
"
        }
        "stories" => {
            "
    git ralph stories add-login
"
        }
        "prompt" => {
            "
Work on a story with a program that git-ralph does not start:

    if git ralph prompt | my-agent; then git ralph complete; else git ralph fail; fi

Begin a template of your own:

    git ralph prompt --template > .git/prompt.md
    git config ralph.prompt .git/prompt.md
"
        }
        "log" => {
            "
What the loop has cost so far:

    git ralph log --json | jq '[.attempts[].cost_usd // 0] | add'
"
        }
        "complete" => {
            "
After doing a story by hand:

    git ralph complete
"
        }
        "fail" => {
            "
    git ralph fail 'the form needs a field for the name'
"
        }
        "revert" => {
            "
Throw away edits since the last checkpoint:

    git ralph revert
"
        }
        "skip" => {
            "
    git ralph skip add-login 3
    git ralph skip add-login 3 --undo
"
        }
        "demo" => {
            "
Keep the repository, to look around in it:

    git ralph demo --keep
"
        }
        "install" => {
            "
For one user, and gone again:

    git ralph install
    git ralph install --uninstall

For everybody on this machine:

    sudo git-ralph install --prefix /usr/local

Into the tree of a package, without what only later installations need:

    git-ralph install --quiet --prefix \"$DESTDIR/usr\"
    rm -r \"$DESTDIR/usr/share/git-ralph\"
"
        }
        "hooks" => {
            "
Let claude's sessions drive loops, without a change of its settings:

    git ralph hooks print claude > .git/claude-hooks.json
    claude --settings .git/claude-hooks.json

In all sessions of this user, and no longer:

    git ralph hooks install --agent claude
    git ralph hooks uninstall --agent claude

Have git tell git-ralph what is done by hand:

    git ralph hooks install
    git ralph hooks status
"
        }
        "help" => {
            "
What git ralph next does, on paper:

    git ralph help next | lpr
"
        }
        "doctor" => {
            "
The agents that are installed:

    git ralph doctor --json | jq -r '.agents[] | select(.installed) | .name'

In a script, before a loop is started:

    git ralph doctor -q >/dev/null || git ralph doctor
"
        }
        "abort" => {
            "
Forget the loop, and look at what it had made:

    git ralph abort
    git log refs/ralph/add-login/finished
"
        }
        "diff" => {
            "
    git ralph diff
    git ralph diff --stat 2@1
"
        }
        "restore" => {
            "
Finish by hand what an agent could not:

    git ralph restore 2@4
    git ralph complete
"
        }
        "prune" => {
            "
Keep nothing of loops that were finished more than a week ago:

    git -c ralph.keepAttempts=7d ralph prune
"
        }
        _ => panic!("{verb} has no example in the manual"),
    }
}

/// Other pages.
pub(super) fn see_also(verb: &str) -> &'static [&'static str] {
    match verb {
        "" => &[
            "git-ralph-tutorial",
            "git-ralph-events",
            "git-ralph-hooks",
            "git-ralph-lifecycle",
            "git",
            "git-config",
            "git-for-each-ref",
            "git-worktree",
        ],
        "start" => &["git-ralph-next", "git-ralph-run", "git-ralph-finish"],
        "next" => &["git-ralph-retry", "git-ralph-prompt", "git-ralph-complete"],
        "retry" => &["git-ralph-next", "git-ralph-skip", "git-ralph-log"],
        "finish" => &["git-ralph-run", "git-merge-tree"],
        "run" => &["git-ralph-start", "git-ralph-next", "git-ralph-finish"],
        "status" => &["git-ralph-log", "git-ralph-stories"],
        "stories" => &["git-ralph-status", "git-ralph-skip"],
        "prompt" => &["git-ralph-complete", "git-ralph-fail"],
        "log" => &["git-ralph-status"],
        "complete" => &["git-ralph-prompt", "git-ralph-fail"],
        "fail" => &["git-ralph-prompt", "git-ralph-complete", "git-ralph-revert"],
        "revert" => &["git-ralph-fail"],
        "skip" => &["git-ralph-stories"],
        "demo" => &["git-ralph-run"],
        "install" => &["git-ralph-help", "man", "manpath"],
        "help" => &["git-ralph-install", "git-help"],
        "hooks" => &[
            "git-ralph-lifecycle",
            "git-ralph-status",
            "git-ralph-prompt",
            "githooks",
        ],
        "doctor" => &["git-ralph-start", "git-ralph-run"],
        "abort" => &["git-ralph-finish", "git-ralph-start"],
        "diff" => &["git-ralph-log", "git-ralph-restore", "git-diff"],
        "restore" => &["git-ralph-log", "git-ralph-diff", "git-ralph-complete"],
        "prune" => &["git-ralph-finish", "git-gc"],
        _ => panic!("{verb} has no other pages in the manual"),
    }
}
