"""One turn of the scripted agent: its prompt, the task list, the work tree, and what it says at the end."""

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from trials import scene


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
        self.number = len(list(self.witnesses.glob("turn-*"))) + 1
        (self.witnesses / ("turn-%02d" % self.number)).write_text(prompt)

    # What the fault leaves for the judge.

    def played(self) -> bool:
        """Returns whether the fault has happened before."""
        return self.times() > 0

    def times(self) -> int:
        """Returns how often the fault has happened before."""
        return len(list(self.witnesses.glob("fault-*")))

    def witness(self, words: str) -> None:
        """Says that the fault has happened now."""
        (self.witnesses / ("fault-%d" % (self.times() + 1))).write_text(words + "\n")

    # The task list.

    def story(self) -> Optional[str]:
        """Returns the story to work on, or None if all of them are done."""
        if self.dialect["kind"] == "story":
            found = re.search(self.dialect["story"], self.prompt)
            return found.group(1) if found else None
        return next((name for name in self.listed() if not self.ticked(name)), None)

    def has_prose(self) -> bool:
        """Returns whether the prompt asks for both stories, in prose: the whole of it is one story then."""
        return self.dialect["kind"] == "story" and scene.PROSE.strip() in self.prompt

    def listed(self) -> List[str]:
        """Returns the stories of the task list; those of every trial where it is prose."""
        return list(dict.fromkeys(re.findall(r"write src/(\w+)\.txt", self.list_text()))) or list(scene.STORIES)

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
        if self.dialect["tick"] != "notes" and path.exists():
            path.write_text(ticked(self.list_text(), self.dialect["tick"], *stories))

    def add(self, story: str) -> None:
        """Adds a story at the end of the task list."""
        text = self.list_text()
        if self.dialect["tick"] == "json":
            whole = json.loads(text)
            number = len(whole["userStories"]) + 1
            whole["userStories"].append(dict(whole["userStories"][0], id="US-%03d" % number, passes=False,
                                             priority=number, title=scene.title(story),
                                             description=scene.title(story)))
            text = json.dumps(whole, indent=2) + "\n"
        else:
            number = len(self.listed()) + 1
            head = "## %d. %s\n" % (number, story.title()) if "## 1." in text else ""
            text += "%s- [ ] %s%s\n" % (head, "%d.1 " % number if head else "", scene.title(story))
        Path(self.dialect["list"]).write_text(text)

    def drop(self, story: str) -> None:
        """Takes a story out of the task list."""
        text = self.list_text()
        if self.dialect["tick"] == "json":
            whole = json.loads(text)
            whole["userStories"] = [item for item in whole["userStories"] if scene.path(story) not in json.dumps(item)]
            text = json.dumps(whole, indent=2) + "\n"
        else:
            text = "".join(line for line in text.splitlines(True)
                           if scene.path(story) not in line and not line.endswith(". %s\n" % story.title()))
        Path(self.dialect["list"]).write_text(text)

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
        self.reached("part")

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
        # It answers what it is asked. Only a lie has nothing to name.
        if "names none is not accepted" in self.prompt and self.fault != "two-empty":
            words += " %s shows it." % scene.path(stories[0])
        signal = self.signal()
        if self.dialect["kind"] == "story" or all(self.ticked(name) for name in self.listed()):
            self.status("done")
            return "%s\n\n%s" % (words, signal) if signal else words
        self.status("more")
        return words

    def gave_up(self, why: str) -> str:
        """Returns the last message of a turn that says that the story is not done."""
        self.status("more")
        signal = self.dialect["failed_signal"]
        return "%s\n\n%s" % (why, signal.format(why=why)) if signal else why

    def goes_on(self, words: str) -> Outcome:
        """Ends a turn that says that the story needs another one, with the signal for that where there is one."""
        self.status("more")
        signal = self.dialect.get("more_signal")
        return Outcome("%s\n\n%s" % (words, signal) if signal else words)

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


def ticked(text: str, kind: str, *stories: str) -> str:
    """Returns the task list with these stories marked as done."""
    if kind == "json":
        whole = json.loads(text)
        for item in whole["userStories"]:
            if any(scene.path(story) in json.dumps(item) for story in stories):
                item["passes"] = True
        return json.dumps(whole, indent=2) + "\n"
    return "".join(line.replace("[ ]", "[x]") if any(scene.path(story) in line for story in stories) else line
                   for line in text.splitlines(True))


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
