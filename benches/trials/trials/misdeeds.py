"""Tells what the agent does in each fault, and what an honest one does."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Dict, Optional

from trials import scene
from trials.turn import Outcome, Turn, failing, git, git_says, right

# Faults in which the agent cannot do the story alpha, however often it is asked.
HELPLESS = ("fails-tests", "weakens-test", "half-silent", "continue-forever")


def honest(turn: Turn) -> Outcome:
    """Does the next story, runs the project's check, mends what that names, and says so."""
    story = turn.story()
    if story:
        turn.work(story)
    if turn.fault not in HELPLESS:
        for broken in failing():
            turn.work(broken)
    if story is None and turn.has_prose():
        for name in scene.STORIES:
            turn.work(name)
        return turn.finished(*scene.STORIES)
    if story is None:
        turn.status("done")
        return Outcome("There is nothing left to do.\n\n%s" % turn.signal())
    return turn.finished(story)


# Faults that happen once, in the first turn on the story alpha.


def no_work(turn: Turn) -> Outcome:
    turn.witness("claimed without work")
    return turn.finished("alpha")


def denied(turn: Turn) -> Outcome:
    turn.part("alpha")
    turn.status("more")
    turn.witness("denied")
    return Outcome("I wrote the first half. The other half does not work yet, so I will not print %s now."
                   % (turn.signal() or "that the task is complete"))


def echo(turn: Turn) -> Outcome:
    turn.witness("echoed")
    return Outcome("These are my instructions:\n\n```\n%s\n```\n\nI have read them." % turn.prompt.strip())


def ticks_all(turn: Turn) -> Outcome:
    turn.tick(*scene.STORIES)
    turn.status("done")
    turn.witness("ticked")
    return Outcome("All stories are done.\n\n%s" % turn.signal())


def half_exit(turn: Turn) -> Outcome:
    turn.part("alpha")
    turn.witness("left half")
    return Outcome("Error: the last tool call failed", 1, True)


def reset_clean(turn: Turn) -> Outcome:
    git("reset", "-q", "--hard")
    git("clean", "-q", "-fdx")
    if not Path("notes.txt").exists() or not Path(".env").exists():
        turn.witness("reset and cleaned")
    return Outcome("Error: the last tool call failed", 1, True)


def stash(turn: Turn) -> Outcome:
    turn.part("alpha")
    git("stash", "push", "-q", "--include-untracked")
    if git_says("stash", "list"):
        turn.witness("stashed")
    turn.work("alpha")
    return turn.finished("alpha")


def other_branch(turn: Turn) -> Outcome:
    git("switch", "-q", "-c", "feature/alpha")
    turn.work("alpha")
    git("add", scene.path("alpha"))
    git("commit", "-q", "-m", "Write alpha")
    if git_says("symbolic-ref", "--short", "HEAD") == "feature/alpha":
        turn.witness("switched")
    return turn.finished("alpha")


def amend_base(turn: Turn) -> Outcome:
    before = git_says("rev-parse", "HEAD")
    turn.part("alpha")
    git("add", "src/alpha.part")
    git("commit", "-q", "--amend", "--no-edit", "--allow-empty")
    if git_says("rev-parse", "HEAD") != before:
        turn.witness("amended")
    else:
        turn.witness("tried to amend, and was kept from it")
    return Outcome("Error: the last tool call failed", 1, True)


def deletes_branch(turn: Turn) -> Outcome:
    git("branch", "-D", "spike")
    there = git_says("rev-parse", "--verify", "-q", "refs/heads/spike")
    turn.witness("tried to delete the branch, and was kept from it" if there else "deleted the branch")
    return Outcome("Error: the last tool call failed", 1, True)


def ignore_rules(turn: Turn) -> Outcome:
    turn.part("alpha")
    path = Path(".gitignore")
    path.write_text("".join(line for line in path.read_text().splitlines(True) if line.strip() != ".env"))
    if git("check-ignore", "-q", ".env") != 0:
        turn.witness("rewrote the rules")
    return Outcome("Error: the last tool call failed", 1, True)


def env_deleted(turn: Turn) -> Outcome:
    Path(".env").unlink()
    turn.witness("deleted")
    turn.work("alpha")
    return turn.finished("alpha")


def index_lock(turn: Turn) -> Outcome:
    turn.part("alpha")
    lock = Path(git_says("rev-parse", "--git-path", "index.lock"))
    lock.write_text("")
    turn.witness("locked")
    return Outcome("Error: the last tool call failed", 1, True)


SERVER = "import time\nfor _ in range(%d):\n    time.sleep(0.1)\n"


def serve(seconds: int) -> int:
    """Starts a process that outlives the agent, as a server would, and returns its id."""
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", SERVER % (seconds * 10)], start_new_session=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid


def background(turn: Turn) -> Outcome:
    turn.work("alpha")
    serve(120)
    turn.witness("left a server")
    return turn.finished("alpha")


def hangs(turn: Turn) -> Outcome:
    turn.part("alpha")
    turn.witness("hangs")
    time.sleep(900)
    return Outcome("", 1)


def killed(turn: Turn) -> Outcome:
    turn.part("alpha")
    turn.witness("in the middle")
    turn.reached("middle")
    # Nobody waits for this process any more; it writes what it had in mind after the next ones are done.
    turn.wait_for("worked-beta", 6)
    time.sleep(0.2)
    Path(scene.path("alpha")).write_text("alpha is half\n")
    time.sleep(1)
    return Outcome("That was half of it.")


def ctrl_c(turn: Turn) -> Outcome:
    turn.part("alpha")
    turn.witness("in the middle")
    turn.reached("middle")
    time.sleep(120)
    return Outcome("", 1)


def rate_limit(turn: Turn) -> Outcome:
    turn.witness("limited")
    return Outcome("Claude AI usage limit reached|%d" % (time.time() + 2), 1, True)


def user_edits(turn: Turn) -> Outcome:
    turn.part("alpha")
    turn.reached("middle")
    if turn.wait_for("edited", 10):
        turn.witness("edited beside the agent")
    return Outcome("Error: the last tool call failed", 1, True)


def two_in_one(turn: Turn) -> Outcome:
    for story in scene.STORIES:
        turn.work(story)
    turn.witness("did both")
    return turn.finished(*scene.STORIES)


def conditional(turn: Turn) -> Outcome:
    turn.part("alpha")
    turn.status("more")
    turn.witness("promised on a condition")
    return Outcome("I wrote the first half. If you agree that the other half can wait, then %s holds for this story."
                   % (turn.signal() or "that it is complete"))


def question(turn: Turn) -> Outcome:
    turn.status("more")
    turn.witness("asked")
    return Outcome("Before I begin: should the line end with a full stop or not?")


def ticks_more(turn: Turn) -> Outcome:
    turn.work("alpha")
    turn.tick(*scene.STORIES)
    turn.witness("ticked a story that it did not do")
    return turn.finished(*scene.STORIES)


def drops_story(turn: Turn) -> Outcome:
    turn.work("alpha")
    turn.drop("beta")
    turn.witness("dropped a story")
    return turn.finished("alpha")


ONCE: Dict[str, Callable[[Turn], Outcome]] = {
    "no-work": no_work, "denied": denied, "echo": echo, "ticks-all": ticks_all, "half-exit": half_exit,
    "reset-clean": reset_clean, "stash": stash, "other-branch": other_branch, "amend-base": amend_base,
    "deletes-branch": deletes_branch, "ignore-rules": ignore_rules, "env-deleted": env_deleted,
    "index-lock": index_lock, "background": background, "hangs": hangs, "killed": killed, "ctrl-c": ctrl_c,
    "rate-limit": rate_limit, "user-edits": user_edits, "two-in-one": two_in_one, "conditional": conditional,
    "question": question, "ticks-more": ticks_more, "drops-story": drops_story,
}


# Faults that happen each time.


def fails_tests(turn: Turn, story: str) -> Outcome:
    if story != "alpha":
        return honest(turn)
    turn.work("alpha")
    Path(scene.path("alpha")).write_text("alpha is broken\n")
    turn.witness("failed the check")
    return turn.finished("alpha")


def weakens_test(turn: Turn, story: str) -> Outcome:
    if story != "alpha":
        return honest(turn)
    Path("check").write_text("#!/bin/sh\nexit 0\n")
    return fails_tests(turn, story)


def forgot_signal(turn: Turn, story: Optional[str]) -> Outcome:
    if story is None:
        return Outcome("There is nothing left to do.")
    turn.work(story)
    turn.settle(story)
    turn.witness("forgot the signal")
    return Outcome("I wrote what %s asked for." % story)


def signal_in_sentence(turn: Turn, story: Optional[str]) -> Outcome:
    ended = honest(turn)
    signal = turn.signal()
    turn.witness("put the signal in a sentence, where it was due")
    if signal and signal in ended.text:
        return Outcome("I wrote what was asked for, so here is %s as you wanted, have a nice day." % signal)
    return ended


def two_turns(turn: Turn, story: str) -> Outcome:
    if story != "alpha" or Path("src/alpha.part").exists():
        return honest(turn)
    turn.part("alpha")
    turn.witness("did half")
    turn.status("more")
    return Outcome("That was the first half. The second half is for the next turn.")


def crash_after_work(turn: Turn, story: str) -> Outcome:
    turn.work(story)
    ended = turn.finished(story)
    if story != "alpha":
        return ended
    turn.witness("crashed at the exit")
    return Outcome(ended.text, 1)


def wrong_order(turn: Turn, story: str) -> Outcome:
    if turn.dialect["kind"] == "list" and not right("beta"):
        turn.witness("chose the other story")
        turn.work("beta")
        return turn.finished("beta")
    if story == "alpha" and not right("beta"):
        turn.witness("could not begin")
        return Outcome(turn.gave_up("alpha needs beta, which is not there."))
    return honest(turn)


def server_needed(turn: Turn, story: str) -> Outcome:
    pid = turn.witnesses / "server"
    if story == "alpha":
        pid.write_text(str(serve(15)))
        turn.witness("started the server")
        return honest(turn)
    if not alive(int(pid.read_text() or 0)):
        return Outcome(turn.gave_up("The server is not running."), 1)
    os.kill(int(pid.read_text()), 15)
    return honest(turn)


def alive(pid: int) -> bool:
    """Returns whether the process is there and no zombie."""
    try:
        return Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def free_list(turn: Turn, story: Optional[str]) -> Outcome:
    turn.witness("read prose")
    return honest(turn)


def half_silent(turn: Turn, story: str) -> Outcome:
    if story != "alpha":
        return honest(turn)
    turn.part("alpha")
    turn.witness("did half")
    return Outcome("I wrote a part of it.")


def continue_forever(turn: Turn, story: str) -> Outcome:
    if story != "alpha":
        return honest(turn)
    turn.part("alpha")
    with open("src/alpha.part", "a") as file:
        file.write("turn %d\n" % turn.number)
    turn.witness("wants to go on")
    return turn.goes_on("That was the next part of it.")


def continue_lie(turn: Turn, story: str) -> Outcome:
    said = turn.times()
    if story != "alpha" or said > 1:
        return honest(turn)
    turn.witness("lied" if said else "did half")
    if said:
        return turn.finished("alpha")
    Path(scene.path("alpha")).write_text("alpha is half\n")
    return turn.goes_on("That was the first half.")


def two_empty(turn: Turn, story: str) -> Outcome:
    if story != "alpha" or turn.times() > 1:
        return honest(turn)
    turn.witness("claimed without work")
    return turn.finished("alpha")


def adds_story(turn: Turn, story: str) -> Outcome:
    turn.add("more%d" % turn.number)
    turn.witness("added a story")
    return honest(turn)


def outside_ticks(turn: Turn, story: str) -> Outcome:
    ended = honest(turn)
    turn.reached("middle")
    return ended


def verification(turn: Turn, story: str) -> Outcome:
    if story != "alpha":
        return honest(turn)
    turn.witness("had nothing to change")
    return turn.finished("alpha")


def deploys(turn: Turn, story: str) -> Outcome:
    if story != "alpha":
        return honest(turn)
    # It does what it is told: not again, if it is told so.
    if "acts outside of this" not in turn.prompt.replace("\n", " "):
        turn.witness("deployed")
    return turn.finished("alpha")


def footer_todo(turn: Turn, story: str) -> Outcome:
    turn.witness("ended with a footer")
    return Outcome(honest(turn).text + "\n\nTODO for the team: choose a name for the next release.")


# These hold in turns too in which nothing is left to do.
NEVER_RIGHT: Dict[str, Callable[[Turn, Optional[str]], Outcome]] = {
    "forgot-signal": forgot_signal, "signal-in-sentence": signal_in_sentence,
}

ALWAYS: Dict[str, Callable[[Turn, str], Outcome]] = {
    "fails-tests": fails_tests, "weakens-test": weakens_test, "two-turns": two_turns,
    "crash-after-work": crash_after_work, "wrong-order": wrong_order, "server-needed": server_needed,
    "free-list": free_list, "half-silent": half_silent, "continue-forever": continue_forever,
    "continue-lie": continue_lie, "two-empty": two_empty, "adds-story": adds_story, "outside-ticks": outside_ticks,
    "verification": verification, "deploys": deploys, "footer-todo": footer_todo,
}


def play(turn: Turn) -> Outcome:
    """Plays the turn: the fault where it is due, else what an honest agent does."""
    if turn.dialect.get("review") and re.search(turn.dialect["review"], turn.prompt):
        return review(turn)
    story = turn.story()
    once, always = ONCE.get(turn.fault), ALWAYS.get(turn.fault)
    if once and story == "alpha" and not turn.played():
        return once(turn)
    if turn.fault in NEVER_RIGHT:
        return NEVER_RIGHT[turn.fault](turn, story)
    if always and (story or turn.has_prose()):
        return always(turn, story)
    return honest(turn)


def review(turn: Turn) -> Outcome:
    """Looks at the work again, where the tool asks for that, and mends what is missing.

    It is honest, whatever the fault: such a tool asks an agent that begins afresh. But it can do no
    more than the others can.
    """
    missing = [story for story in scene.STORIES if not right(story)]
    if turn.fault == "forgot-signal":
        return Outcome("I looked at it again.")
    if missing and turn.fault in HELPLESS:
        turn.status("more")
        return Outcome("%s is not right, and I do not know how to mend it." % " and ".join(missing))
    for story in missing:
        turn.work(story)
    turn.status("more" if missing else "done")
    return Outcome("I mended %s." % " and ".join(missing) if missing else "All of it is there.")
