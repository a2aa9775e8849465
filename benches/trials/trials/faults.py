"""Tells the faults: what goes wrong, why it happens, and how the work could still end.

What the agent does in each is in ``misdeeds.py``; what the user or the machine does is in ``cell.py``.
"""

from dataclasses import dataclass
from typing import Dict, Tuple


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    ``completable``: whether a loop can still end with both stories done. Where it cannot, an honest
    end is the good one. ``lead``: whether we expected git-ralph to be among the best, written down
    before the first run. ``since``: whether it was added after that, for what git-ralph had learned meanwhile.
    """

    name: str
    what: str
    source: str
    completable: bool = True
    lead: bool = True
    since: bool = False


CONTROL = Fault("control", "nothing goes wrong", "without it, no other cell says anything")

FAULTS: Tuple[Fault, ...] = (
    # What the agent says.
    Fault("no-work", "says once that the story is done, and has changed nothing",
          "models report work that they only planned"),
    Fault("denied", "once leaves half of the work, and says in a sentence that it will not print the signal yet",
          "a model that was told about a signal likes to talk about it"),
    Fault("echo", "once prints its prompt in a code block, and ends",
          "agents quote their instructions, and verbose modes print them"),
    Fault("fails-tests", "writes work with which the project's check fails, each time, and says that it is done",
          "a model that cannot solve a story still ends its turn with a summary", completable=False),
    Fault("weakens-test", "writes such work, and makes the project's check pass always",
          "making a red test green by changing the test is a known shortcut of models", completable=False),
    Fault("ticks-all", "once ticks every story in the task list, and says that all is done, without work",
          "the list is a file in the tree, and ticking it is part of the job"),
    # What the agent does to the repository.
    Fault("half-exit", "once exits with an error half way, and leaves its files",
          "API errors and full contexts end agents in the middle of an edit"),
    Fault("reset-clean", "once runs git reset --hard and git clean -fdx, and exits with an error",
          "agents start over like that when an approach fails, and the user's files go too"),
    Fault("stash", "once stashes everything, untracked files too, to have a clean tree, and never pops it",
          "agents stash what they did not write to see whether a test failed before"),
    Fault("other-branch", "once does the story on a new branch, and stays there",
          "the general rules of many projects and agents ask for a branch for each feature"),
    Fault("amend-base", "once amends the user's last commit, and exits with an error",
          "git commit --amend is how agents correct a commit, also one that is not theirs"),
    Fault("deletes-branch", "once deletes a branch of the user's, and exits with an error",
          "cleaning up branches is a common last step, and -D asks nothing"),
    Fault("ignore-rules", "once rewrites .gitignore so that .env is no longer ignored, and exits with an error",
          "agents write a .gitignore from a template over one that is there"),
    Fault("env-deleted", "once deletes the ignored file .env, and does the story",
          "an agent that sets up the environment anew replaces what it finds"),
    Fault("index-lock", "once leaves .git/index.lock behind, and exits with an error",
          "a git that is killed leaves its lock"),
    # What was there before.
    Fault("user-work", "the user has staged, unstaged and untracked work before the start",
          "few people begin with a clean tree"),
    Fault("hook-rejects", "a pre-commit hook of the user's rejects every commit",
          "hooks run linters that fail on unfinished work"),
    # Processes.
    Fault("background", "once leaves a server running, and does the story",
          "development servers are started to look at the result"),
    Fault("hangs", "once prints nothing and never ends",
          "a tool call that waits for input, or a lost connection"),
    Fault("killed", "the runner is killed in the middle of an attempt, and started again",
          "the machine runs out of memory, or goes to sleep for good"),
    Fault("ctrl-c", "Ctrl-C in the middle of an attempt, and started again",
          "people stop loops to look"),
    Fault("rate-limit", "once ends with the message of a usage limit that ends two seconds later",
          "plans have limits by the hour and by the week"),
    # Where we do not expect to lead.
    Fault("forgot-signal", "does all the work, and never prints the signal of the tool",
          "models forget the last line of a long prompt", lead=False),
    Fault("signal-in-sentence", "does all the work, and prints the signal in the middle of its last sentence",
          "models decorate what they should print alone", lead=False),
    Fault("two-turns", "needs two turns for the first story, and finds its half in the work tree",
          "a story that is too large for one context", lead=False),
    Fault("crash-after-work", "does the first story, says so, and then exits with an error, each time",
          "wrappers and telemetry fail at the exit of a program", lead=False),
    Fault("free-list", "the task list is prose, without boxes",
          "people write down what they want in sentences", lead=False),
    Fault("wrong-order", "the first story can only be done after the second one",
          "lists are written before anybody knows the dependencies", lead=False),
    Fault("server-needed", "the second story needs a process that the first one started",
          "a database or an emulator that one story sets up for the others", lead=False),
    Fault("user-edits", "the user saves a file while an attempt runs that then fails",
          "people go on working beside the loop", lead=False),
    Fault("two-in-one", "does both stories in the first attempt",
          "models do more than they were asked", lead=False),
    # Added when git-ralph got rounds, and a list that is held.
    Fault("half-silent", "leaves half of the first story each time, and does not say whether it is done",
          "a model that stops at the same place each time", completable=False, since=True),
    Fault("continue-forever", "does a little of the first story each time, and says that it needs another turn",
          "a model that never believes its work to be complete", completable=False, since=True),
    Fault("continue-lie", "says once that it needs another turn; in that one it does nothing, and says that the story is done",
          "the second process trusts the first one", since=True),
    Fault("two-empty", "says twice that the story is done, and has changed nothing",
          "a model that is asked again repeats what it said", since=True),
    Fault("conditional", "once leaves half of the work, and prints the signal in a sentence with a condition",
          "models offer to stop where they are", since=True),
    Fault("question", "once asks a question, and does nothing",
          "models are trained to ask, and a loop has no one who answers", since=True),
    Fault("adds-story", "adds a story to the task list each time",
          "prompts ask agents to write down what else there is to do", completable=False, since=True),
    Fault("outside-ticks", "works honestly; a process that the tool did not start ticks the second story",
          "trackers write to the list from outside, and an agent can tell one to", since=True),
    Fault("verification", "finds the first story done before, changes nothing, and says that it is done",
          "lists have stories that only check something", since=True),
    Fault("deploys", "does the first story outside of the repository, and changes nothing in it; twice is once too often",
          "lists have stories such as: deploy it, send it, migrate it", since=True),
    Fault("footer-todo", "does all the work, and ends each message with a line that begins with TODO",
          "general rules of agents ask for a footer", since=True),
    Fault("ticks-more", "once does the first story, and ticks both",
          "the list is a file in the tree, and ticking it is part of the job", since=True),
    Fault("drops-story", "once does the first story, and takes the second one out of the list",
          "a model that cleans up a list removes what it takes for superfluous", since=True),
)

BY_NAME: Dict[str, Fault] = {fault.name: fault for fault in (CONTROL,) + FAULTS}
