"""Runs one cell: a tool, a fault, a repeat. Prints its result as one line of JSON.

Runs as a program of its own, because it is the parent of everything that the trial leaves behind.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from trials import faults, sandbox, scene, tools  # noqa: E402
from trials.judge import INVALID, Ended, Expected, judge  # noqa: E402
from trials.turn import ticked  # noqa: E402

# Seconds for everything that a tool does in one cell.
LIMIT = 25.0
# What a process may need to end after the tool, and how long a tool may take after Ctrl-C.
GRACE = 0.5
STOPS = 10.0
LOGGED = 200_000


class Invalid(Exception):
    """Says why the cell says nothing about the tool."""


class Cell:
    """One trial from its first file to its verdict."""

    def __init__(self, tool: tools.Tool, fault: faults.Fault, place: tools.Place) -> None:
        self.tool = tool
        self.fault = fault
        self.place = place
        self.witnesses = place.root / "witness"
        self.output = place.root / "output"
        self.expected = Expected(branch=scene.BRANCH, stories={scene.path(s): scene.text(s) for s in scene.STORIES},
                                 completable=fault.completable)
        self.left: List[str] = []
        self.earlier: List[str] = []
        self.memory = 0
        self.end = 0.0
        # Where the output of the last start begins.
        self.offset = 0

    # Before the trial.

    def build(self) -> None:
        """Makes the repository, the user's work, and the agent."""
        self.fits()
        for directory in (self.place.repository, self.place.home, self.place.root / "bin", self.place.root / "tmp",
                          self.witnesses):
            directory.mkdir(parents=True)
        (self.place.home / ".gitconfig").write_text(
            "[user]\n\tname = User\n\temail = user@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
            "[maintenance]\n\tauto = false\n[advice]\n\tdetachedHead = false\n")
        self.git("init", "-q", "-b", scene.BRANCH)
        for path, text in scene.files().items():
            self.place.write(path, text)
        (self.place.repository / "check").chmod(0o755)
        if self.fault.name in ("verification", "deploys"):
            self.place.write(scene.path("alpha"), scene.text("alpha"))
        self.tool.prepare(self.place)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Begin")
        self.user_work()
        self.tool.configure(self.place)
        self.agent()

    def fits(self) -> None:
        """Raises if the fault means nothing in the protocol of the tool."""
        dialect = self.tool.dialect
        if self.fault.name in ("continue-forever", "continue-lie") and not (dialect["signal"] or dialect.get("status")):
            raise Invalid("it waits for no words, and has none for a story that needs another turn")
        if self.fault.name == "outside-ticks" and dialect["tick"] == "notes":
            raise Invalid("no list of it says what is done")

    def user_work(self) -> None:
        """Gives the user a branch, an untracked file and an ignored one, and what the fault asks for."""
        self.git("switch", "-q", "-c", "spike")
        self.place.write("spike.txt", scene.SPIKE)
        self.git("add", "spike.txt")
        self.git("commit", "-q", "-m", "Try something")
        spike = self.git("rev-parse", "HEAD")
        self.git("switch", "-q", scene.BRANCH)
        # The reflog of HEAD would keep the branch's commit for those who know its id.
        self.git("reflog", "expire", "--expire=now", "HEAD")
        base = self.git("rev-parse", "HEAD")
        self.expected.commits = {spike: "the commit of the user's branch spike", base: "the user's last commit"}
        self.expected.base = base
        self.expected.private = (".env",)
        self.have(".env", scene.ENV)
        self.have("notes.txt", scene.NOTES)
        if self.fault.name == "user-work":
            self.have("src/base.txt", scene.BASE_STAGED)
            self.git("add", "src/base.txt")
            self.expected.texts[scene.BASE_STAGED] = "what the user had staged in src/base.txt"
        if self.fault.name in ("user-work", "reset-clean", "stash"):
            self.have("src/base.txt", scene.BASE_EDITED)
        if self.fault.name == "hook-rejects":
            hook = self.place.repository / ".git" / "hooks" / "pre-commit"
            hook.parent.mkdir(exist_ok=True)
            hook.write_text("#!/bin/sh\necho called >> '%s'\necho 'not today' >&2\nexit 1\n"
                            % (self.witnesses / "hook"))
            hook.chmod(0o755)

    def have(self, path: str, text: str) -> None:
        """Gives the user a file that has to be there at the end."""
        self.place.write(path, text)
        self.expected.files[path] = text

    def agent(self) -> None:
        """Puts the agent on PATH, with its dialect and its fault."""
        config = self.place.root / "agent.json"
        config.write_text(json.dumps({"dialect": self.tool.dialect, "fault": self.fault.name,
                                      "witness": str(self.witnesses)}))
        program = self.place.root / "bin" / "claude"
        program.write_text("#!/bin/sh\nexec '%s' -I -S '%s' '%s' \"$@\"\n"
                           % (sys.executable, Path(__file__).with_name("agent.py"), config))
        program.chmod(0o755)

    def git(self, *arguments: str) -> str:
        """Runs git as the user, and returns what it prints."""
        return subprocess.run(["git", *arguments], cwd=str(self.place.repository), env=self.environment(), check=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True).stdout.strip()

    def environment(self) -> Dict[str, str]:
        """Returns the environment of the user's terminal."""
        path = [str(self.place.root / "bin"), *self.tool.paths(self.place.tools), os.environ.get("PATH", os.defpath)]
        return dict({"PATH": os.pathsep.join(path), "HOME": str(self.place.home), "LANG": "C.UTF-8", "TERM": "dumb",
                     "TMPDIR": str(self.place.root / "tmp"), "USER": "user", "SHELL": "/bin/sh", "NO_COLOR": "1",
                     "GIT_CONFIG_NOSYSTEM": "1"}, **self.tool.environment(self.place))

    # The trial.

    def run(self) -> Ended:
        """Runs the tool, once or, where the fault stops it, twice."""
        self.end = time.monotonic() + (max(LIMIT, self.tool.patience) if self.fault.name == "hangs" else LIMIT)
        code: Optional[int]
        if self.fault.name == "killed":
            self.until_middle(lambda process: self.kill_runner())
            code = self.start(again=True)
        elif self.fault.name == "ctrl-c":
            self.until_middle(lambda process: os.killpg(process.pid, signal.SIGINT))
            self.earlier += ["after Ctrl-C a process is still running: %s" % name for name in self.remaining()]
            code = self.start(again=True)
        elif self.fault.name == "user-edits":
            code = self.start(again=False, meanwhile=self.edit)
        elif self.fault.name == "outside-ticks":
            code = self.start(again=False, meanwhile=self.server)
        else:
            code = self.start(again=False)
        self.left = self.remaining()
        sandbox.end_all()
        times = len(list(self.witnesses.glob("fault-*")))
        if self.fault.name == "deploys" and times > 1:
            self.earlier.append("what a story did outside of the repository was done %d times" % times)
        return Ended(code, self.printed(self.offset), self.left, self.earlier)

    def start(self, again: bool, meanwhile=None) -> Optional[int]:
        """Runs the tool to its end, and returns its exit code, or None if it had none within the limit."""
        process = self.launch(again)
        while True:
            code = process.poll()
            if code is not None:
                return code if code >= 0 else 128 - code
            if time.monotonic() > self.end:
                process.kill()
                process.wait()
                return None
            if meanwhile and (self.witnesses / "middle").exists():
                meanwhile = meanwhile()
            self.look()
            time.sleep(0.03)

    def launch(self, again: bool) -> subprocess.Popen:
        """Starts the tool as the leader of a session, with its output in a file."""
        self.offset = self.output.stat().st_size if self.output.exists() else 0
        with open(self.output, "ab") as output:
            process = subprocess.Popen(self.tool.command(self.place, again), cwd=str(self.place.repository),
                                       env=self.environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       start_new_session=True)
        sandbox.AWAITED.add(process.pid)
        return process

    def until_middle(self, stop) -> None:
        """Starts the tool, and stops it when the agent is in its middle."""
        process = self.launch(again=False)
        while not (self.witnesses / "middle").exists():
            if process.poll() is not None or time.monotonic() > self.end:
                raise Invalid("the tool ended before the agent was in its middle")
            time.sleep(0.01)
        stop(process)
        end = time.monotonic() + STOPS
        while process.poll() is None:
            if time.monotonic() > end:
                self.earlier.append("did not end within %d seconds of Ctrl-C" % STOPS)
                process.kill()
                process.wait()
                sandbox.end_all()
                return
            time.sleep(0.02)

    def kill_runner(self) -> None:
        """Kills every process of the tool, wrappers too, but not the agent."""
        for process in sandbox.running():
            if not self.is_agent(process):
                os.kill(process.pid, signal.SIGKILL)

    @staticmethod
    def is_agent(process: sandbox.Process) -> bool:
        """Returns whether the process is the scripted agent."""
        return "agent.py" in process.command()

    def edit(self) -> None:
        """Saves a file beside the agent, as the user."""
        self.have("notes.txt", scene.NOTES_EDITED)
        (self.witnesses / "edited").write_text("")

    def server(self):
        """Ticks the second story whenever it is open, as a server outside of the tool; returns what goes on with that."""
        path = self.place.repository / self.tool.dialect["list"]
        text = path.read_text() if path.exists() else ""
        done = text and ticked(text, self.tool.dialect["tick"], scene.STORIES[1])
        if done and done != text:
            new = self.place.root / "tmp" / "list"
            new.write_text(done)
            new.replace(path)
            (self.witnesses / "fault-1").write_text("ticked from outside\n")
        return self.server

    def look(self) -> None:
        """Notes how much memory the tool has now, without the agent and git."""
        self.memory = max(self.memory, sum(process.memory() for process in sandbox.running()
                                           if process.name() not in ("git", "sh") and not self.is_agent(process)))

    def remaining(self) -> List[str]:
        """Returns the names of the processes that are still there, after a moment of grace."""
        end = time.monotonic() + GRACE
        while True:
            alive = sandbox.running()
            if not alive or time.monotonic() > end:
                return sorted(process.name() for process in alive)
            time.sleep(0.02)

    def printed(self, offset: int = 0) -> str:
        """Returns what the tool printed from there on, the end of it if that is very long."""
        if not self.output.exists():
            return ""
        return self.output.read_bytes()[offset:][-LOGGED:].decode(errors="replace")

    # After the trial.

    def witnessed(self) -> None:
        """Raises if the fault did not happen."""
        if not any(self.witnesses.glob("turn-*")):
            raise Invalid("the tool never started the agent")
        if self.fault.name in ("control", "user-work"):
            return
        if self.fault.name == "hook-rejects":
            return
        if not any(self.witnesses.glob("fault-*")):
            raise Invalid("the fault did not happen")

    def leaves(self) -> List[str]:
        """Returns what the tool added to the tree besides the stories: tracked or not ignored."""
        mine = set(scene.files()) | set(self.expected.stories) | set(self.expected.files)
        known = self.git("ls-tree", "-r", "--name-only", self.expected.base).splitlines()
        tracked = self.git("ls-files").splitlines()
        untracked = self.git("ls-files", "--others", "--exclude-standard").splitlines()
        paths = {path for path in tracked + untracked if path not in mine and path not in known}
        return sorted({path.split("/")[0] + "/" if "/" in path else path for path in paths})


def trial(tool: tools.Tool, fault: faults.Fault, repeat: int, work: Path) -> Tuple[Dict, str]:
    """Runs the cell, and returns its result and what the tool printed."""
    root = work / "cells" / ("%s.%s.%d" % (tool.name, fault.name, repeat))
    shutil.rmtree(root, ignore_errors=True)
    cell = Cell(tool, fault, tools.Place(root, work / "tools", prose=fault.name == "free-list"))
    result: Dict = {"tool": tool.name, "version": tool.version, "fault": fault.name, "repeat": repeat}
    began = time.monotonic()
    try:
        cell.build()
        began = time.monotonic()
        ended = cell.run()
        seconds = time.monotonic() - began
        if fault.name != "free-list":
            cell.witnessed()
        if (cell.witnesses / "part").exists():
            cell.expected.texts[scene.PART] = "half of a story, which an attempt left"
        kept = [cell.place.home, root / "tmp"]
        verdict = judge(cell.place.repository, kept, cell.expected, ended, tool.claim())
        result.update(verdict=verdict.kind, findings=[list(finding) for finding in verdict.findings], exit=ended.code,
                      seconds=round(seconds, 2), turns=len(list(cell.witnesses.glob("turn-*"))), kib=cell.memory)
        if fault.name == "control":
            result["leaves"] = cell.leaves()
    except Invalid as why:
        result.update(verdict=INVALID, findings=[[INVALID, str(why)]], seconds=round(time.monotonic() - began, 2))
    finally:
        sandbox.end_all()
    return result, cell.printed()


def main() -> int:
    """Runs the cell that the arguments name: tool, fault, repeat, work directory."""
    tool, fault = tools.BY_NAME[sys.argv[1]], faults.BY_NAME[sys.argv[2]]
    repeat, work = int(sys.argv[3]), Path(sys.argv[4])
    sandbox.enter()
    # Whoever started this in the background may have it ignored, and so would the tool.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Ends by way of the cleaning up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    result, printed = trial(tool, fault, repeat, work)
    result["offline"] = sandbox.offline()
    key = "%s.%s.%d" % (tool.name, fault.name, repeat)
    logs = work / "logs"
    logs.mkdir(exist_ok=True)
    (logs / (key + ".log")).write_text(printed)
    print(json.dumps(result), flush=True)
    if os.environ.get("TRIALS_KEEP") != "1":
        shutil.rmtree(work / "cells" / key, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
