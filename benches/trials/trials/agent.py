"""Plays a coding agent: does the story as it was asked, and goes wrong as the fault says.

Runs as a program of its own behind a ``claude`` on PATH, with the options and the output of the real
command line. It knows nothing of the tool but its dialect: how stories are named in its prompt, who
ticks them, and what is printed when they are done. After a fault has happened, and only then, it
leaves a file ``fault-<n>`` in the directory of witnesses, outside of the repository.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from trials import scene  # noqa: E402


class Outcome(NamedTuple):
    """What a turn ends with: the last message, the exit code, and whether it is an error of the service."""

    text: str
    code: int = 0
    error: bool = False


class Turn:
    """One run of the agent: its prompt, its dialect, and what it does to the work tree."""

    def __init__(self, config: Dict, prompt: str) -> None:
        self.dialect: Dict = config["dialect"]
        self.fault: str = config["fault"]
        self.witnesses = Path(config["witness"])
        self.prompt = prompt
        self.noted: List[str] = []
        number = len(list(self.witnesses.glob("turn-*"))) + 1
        (self.witnesses / ("turn-%02d" % number)).write_text(prompt)

    # What the fault leaves for the judge.

    def played(self) -> bool:
        """Returns whether the fault has happened before."""
        return any(self.witnesses.glob("fault-*"))

    def witness(self, words: str) -> None:
        """Says that the fault has happened now."""
        number = len(list(self.witnesses.glob("fault-*"))) + 1
        (self.witnesses / ("fault-%d" % number)).write_text(words + "\n")

    # The task list.

    def story(self) -> Optional[str]:
        """Returns the story to work on, or None if all of them are done."""
        if self.dialect["kind"] == "story":
            found = re.search(self.dialect["story"], self.prompt)
            return found.group(1) if found else None
        return next((name for name in scene.STORIES if not self.ticked(name)), None)

    def ticked(self, story: str) -> bool:
        """Returns whether the task list says that the story is done; a list without boxes says nothing."""
        if self.dialect["tick"] == "notes":
            return "done: %s" % story in self.prompt or story in self.noted
        lines = [line for line in self.list_text().splitlines() if scene.path(story) in line]
        if any("[x]" in line for line in lines):
            return True
        if any("[ ]" in line for line in lines):
            return False
        return right(story)

    def list_text(self) -> str:
        """Returns the task list, or nothing if there is none."""
        try:
            return Path(self.dialect["list"]).read_text()
        except OSError:
            return ""

    def tick(self, *stories: str) -> None:
        """Marks the stories as done, in the format of the tool's list."""
        path = Path(self.dialect["list"])
        if self.dialect["tick"] == "markdown" and path.exists():
            lines = path.read_text().splitlines()
            for story in stories:
                lines = [line.replace("[ ]", "[x]") if scene.path(story) in line else line for line in lines]
            path.write_text("\n".join(lines) + "\n")
        elif self.dialect["tick"] == "json" and path.exists():
            listed = json.loads(path.read_text())
            for item in listed["userStories"]:
                if any(scene.path(story) in json.dumps(item) for story in stories):
                    item["passes"] = True
            path.write_text(json.dumps(listed, indent=2) + "\n")

    # What the agent does.

    def work(self, story: str) -> None:
        """Does the story."""
        path = Path(scene.path(story))
        path.parent.mkdir(exist_ok=True)
        path.write_text(scene.text(story))
        self.reached("worked-%s" % story)

    def part(self, story: str) -> None:
        """Does half of the story, in a file that later turns leave alone."""
        path = Path("src/%s.part" % story)
        path.parent.mkdir(exist_ok=True)
        path.write_text(scene.PART)

    def settle(self, *stories: str) -> None:
        """Ticks the stories and commits them, where the prompt of the tool asks for that."""
        if self.dialect["ticks"]:
            self.tick(*stories)
        if self.dialect["commits"]:
            paths = [path for path in [scene.path(story) for story in stories] + [self.dialect["list"]]
                     if Path(path).exists()]
            git("add", "--", *paths)
            git("commit", "-q", "-m", "Do %s" % ", ".join(stories))
        memory = re.search(self.dialect.get("memory") or "(?!)", self.prompt)
        if memory:
            self.noted += stories
            with open(memory.group(1), "a") as file:
                file.write("".join("- done: %s\n" % story for story in stories))

    def finished(self, *stories: str) -> Outcome:
        """Ends a turn in which the stories were done, as the prompt of the tool asks."""
        self.settle(*stories)
        return Outcome(self.announced(*stories))

    def announced(self, *stories: str) -> str:
        """Returns the last message of such a turn, with the signal where it is due."""
        words = "I wrote what %s asked for." % " and ".join(stories)
        signal = self.signal()
        if self.dialect["kind"] == "story" or all(self.ticked(name) for name in scene.STORIES):
            self.status("done")
            return "%s\n\n%s" % (words, signal) if signal else words
        self.status("more")
        return words

    def gave_up(self, why: str) -> str:
        """Returns the last message of a turn that says that the story is not done."""
        self.status("more")
        signal = self.dialect["failed_signal"]
        return "%s\n\n%s" % (why, signal.format(why=why)) if signal else why

    def signal(self) -> str:
        """Returns what the tool waits for, or nothing if it waits for no words."""
        return self.dialect["signal"]

    def status(self, word: str) -> None:
        """Writes the file that some tools read instead of the last message."""
        status = self.dialect.get("status")
        if status and Path(status["file"]).parent.is_dir():
            Path(status["file"]).write_text(status[word] + "\n")

    # Waiting for the one who runs the trial.

    def reached(self, name: str) -> None:
        """Tells the one who runs the trial that the turn is in its middle."""
        (self.witnesses / name).write_text("")

    def wait_for(self, name: str, seconds: float) -> bool:
        """Waits until the file is there, at most so many seconds, and returns whether it is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if (self.witnesses / name).exists():
                return True
            time.sleep(0.02)
        return False


def right(story: str) -> bool:
    """Returns whether the story is done in the work tree."""
    try:
        return Path(scene.path(story)).read_text() == scene.text(story)
    except OSError:
        return False


def git(*arguments: str) -> int:
    """Runs git, and returns its exit code."""
    return subprocess.run(["git", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode


def git_says(*arguments: str) -> str:
    """Runs git, and returns what it prints."""
    return subprocess.run(["git", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False, text=True).stdout.strip()


def failing() -> List[str]:
    """Returns the stories with whose files the project's check fails."""
    ended = subprocess.run(["./check"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           check=False, text=True)
    return [story for story in scene.STORIES if ended.returncode and scene.path(story) in ended.stdout]


# Faults in which the agent cannot do the story alpha, however often it is asked.
HELPLESS = ("fails-tests", "weakens-test")


def honest(turn: Turn) -> Outcome:
    """Does the next story, runs the project's check, mends what that names, and says so."""
    story = turn.story()
    if story:
        turn.work(story)
    if turn.fault not in HELPLESS:
        for broken in failing():
            turn.work(broken)
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


ONCE: Dict[str, Callable[[Turn], Outcome]] = {
    "no-work": no_work, "denied": denied, "echo": echo, "ticks-all": ticks_all, "half-exit": half_exit,
    "reset-clean": reset_clean, "stash": stash, "other-branch": other_branch, "amend-base": amend_base,
    "deletes-branch": deletes_branch, "ignore-rules": ignore_rules, "env-deleted": env_deleted,
    "index-lock": index_lock, "background": background, "hangs": hangs, "killed": killed, "ctrl-c": ctrl_c,
    "rate-limit": rate_limit, "user-edits": user_edits, "two-in-one": two_in_one,
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


def forgot_signal(turn: Turn, story: str) -> Outcome:
    turn.work(story)
    turn.settle(story)
    turn.witness("forgot the signal")
    return Outcome("I wrote what %s asked for." % story)


def signal_in_sentence(turn: Turn, story: str) -> Outcome:
    turn.work(story)
    ended = turn.finished(story)
    signal = turn.signal()
    turn.witness("put the signal in a sentence")
    if signal and signal in ended.text:
        return Outcome("I wrote what %s asked for, so here is %s as you wanted, have a nice day." % (story, signal))
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


def free_list(turn: Turn, story: str) -> Outcome:
    turn.witness("read prose")
    return honest(turn)


ALWAYS: Dict[str, Callable[[Turn, str], Outcome]] = {
    "fails-tests": fails_tests, "weakens-test": weakens_test, "forgot-signal": forgot_signal,
    "signal-in-sentence": signal_in_sentence, "two-turns": two_turns, "crash-after-work": crash_after_work,
    "wrong-order": wrong_order, "server-needed": server_needed, "free-list": free_list,
}


def play(turn: Turn) -> Outcome:
    """Plays the turn: the fault where it is due, else what an honest agent does."""
    if turn.dialect.get("review") and re.search(turn.dialect["review"], turn.prompt):
        return review(turn)
    story = turn.story()
    once, always = ONCE.get(turn.fault), ALWAYS.get(turn.fault)
    if once and story == "alpha" and not turn.played():
        return once(turn)
    if always and story:
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


# The command line of the agent.


def prompt_of(arguments: List[str]) -> str:
    """Returns the prompt: what is no option, or else what comes on standard input."""
    takes_value = {"--output-format", "--input-format", "--model", "--max-turns", "--permission-mode", "--allowedTools",
                   "--disallowedTools", "--append-system-prompt", "--mcp-config", "--settings", "--session-id",
                   "--fallback-model", "--add-dir", "--resume", "-r", "--setting-sources"}
    words, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in takes_value:
            skip = True
        elif not argument.startswith("-"):
            words.append(argument)
    prompt = "\n".join(words)
    return prompt if prompt.strip() else sys.stdin.read()


def option(arguments: List[str], name: str) -> Optional[str]:
    """Returns the value of an option, or None."""
    for number, argument in enumerate(arguments):
        if argument == name and number + 1 < len(arguments):
            return arguments[number + 1]
        if argument.startswith(name + "="):
            return argument[len(name) + 1:]
    return None


def say(arguments: List[str], outcome: Outcome) -> None:
    """Prints the last message in the format that was asked for."""
    result = {
        "type": "result", "subtype": "success", "is_error": outcome.error, "duration_ms": 900, "duration_api_ms": 800,
        "num_turns": 1, "result": outcome.text, "session_id": "00000000-0000-4000-8000-000000000000",
        "total_cost_usd": 0.01, "usage": {"input_tokens": 100, "output_tokens": 20},
    }
    kind = option(arguments, "--output-format") or "text"
    if kind == "stream-json":
        message = {"type": "assistant", "session_id": result["session_id"], "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
            "content": [{"type": "text", "text": outcome.text}], "usage": result["usage"]}}
        for line in (message, result):
            print(json.dumps(line), flush=True)
    elif kind == "json":
        print(json.dumps(result), flush=True)
    else:
        print(outcome.text, flush=True)


def main() -> int:
    """Plays one turn of the agent."""
    config = json.loads(Path(sys.argv[1]).read_text())
    arguments = sys.argv[2:]
    if "--version" in arguments or "-v" in arguments:
        print("2.0.0 (Claude Code)")
        return 0
    prompt = prompt_of(arguments)
    turn = Turn(config, prompt)
    if option(arguments, "--output-format") == "stream-json":
        print(json.dumps({"type": "system", "subtype": "init", "cwd": os.getcwd(), "model": "scripted",
                          "session_id": "00000000-0000-4000-8000-000000000000", "tools": []}), flush=True)
    outcome = play(turn)
    say(arguments, outcome)
    return outcome.code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
