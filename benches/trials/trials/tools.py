"""Tells the tools: their versions, how they are installed, and how each is set up and started.

Each has its own format of the task list, its own signal, and the settings that its own documentation
gives for unattended work. ``docs/trials.md`` says the same in words.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Tuple

from trials import scene
from trials.judge import Claim

PROMISE = "<promise>COMPLETE</promise>"


@dataclass
class Place:
    """The directories of one cell."""

    root: Path
    tools: Path
    prose: bool = False

    @property
    def repository(self) -> Path:
        return self.root / "repository"

    @property
    def home(self) -> Path:
        return self.root / "home"

    def write(self, path: str, text: str) -> None:
        """Writes a file of the repository."""
        target = self.repository / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def list(self, path: str, head: str = "# Tasks\n\n") -> None:
        """Writes a task list with a box for each story, or in prose where the fault says so."""
        self.write(path, head + (scene.PROSE if self.prose else "".join(
            "- [ ] %s\n" % scene.title(story) for story in scene.STORIES)))


@dataclass
class Tool:
    """A loop tool. ``home`` says where it is from; subclasses say the rest."""

    name: str
    version: str
    home: str
    # Where it is installed below the directory of tools, and what has to be there.
    program: str
    # Regular expression: how it says that it is not done, although it exits with 0.
    admits: str = ""
    dialect: Dict = field(default_factory=dict)
    # Seconds after which it ends an agent that hangs, where nothing documented sets that lower.
    patience: float = 0

    def installed(self, tools: Path) -> bool:
        """Returns whether the program is there."""
        return (tools / self.program).exists()

    def install(self, tools: Path) -> None:
        """Installs the pinned version below the directory."""
        raise NotImplementedError

    def prepare(self, place: Place) -> None:
        """Writes what the tool needs into the repository, before the first commit."""

    def configure(self, place: Place) -> None:
        """Does the rest, after the first commit."""

    def command(self, place: Place, again: bool) -> List[str]:
        """Returns the command line; ``again``: after the runner was stopped."""
        raise NotImplementedError

    def environment(self, place: Place) -> Dict[str, str]:
        """Returns variables that the tool needs besides PATH, HOME and the like."""
        return {}

    def paths(self, tools: Path) -> List[str]:
        """Returns directories for PATH."""
        return []

    def claim(self) -> Claim:
        """Returns how it says that it is not done."""
        return Claim(self.admits)


def per_story(story: str, path: str, tick: str, signal: str, **more: object) -> Dict:
    """Returns the dialect of a tool that gives each story to an agent of its own."""
    return dict({"kind": "story", "story": story, "list": path, "tick": tick, "ticks": False, "commits": False,
                 "signal": signal, "failed_signal": ""}, **more)


def whole_list(path: str, signal: str, **more: object) -> Dict:
    """Returns the dialect of a tool that gives the whole list to each agent."""
    return dict({"kind": "list", "list": path, "tick": "markdown", "ticks": True, "commits": False,
                 "signal": signal, "failed_signal": ""}, **more)


class GitRalph(Tool):
    """git-ralph itself, with a gate and a time limit; ``more`` are the settings for nights."""

    more: Tuple[Tuple[str, str], ...] = ()

    def prepare(self, place: Place) -> None:
        place.list("openspec/changes/trial/tasks.md", "## Texts\n\n") if place.prose else place.write(
            "openspec/changes/trial/tasks.md", "".join(
                "## %d. %s\n- [ ] %d.1 %s\n\n" % (number, story.title(), number, scene.title(story))
                for number, story in enumerate(scene.STORIES, 1)))

    def configure(self, place: Place) -> None:
        for key, value in (("agent", "claude"), ("verify", "./check"), ("timeout", "4s"),
                           ("finish", "cleanup"), *self.more):
            subprocess.run(["git", "-C", str(place.repository), "config", "ralph." + key, value], check=True)

    def command(self, place: Place, again: bool) -> List[str]:
        return [str(place.tools / self.program), "run", "trial"]


class Unattended(GitRalph):
    """git-ralph with two settings for nights: what is not promised is asked about, what fails is put off."""

    more = (("noSignal", "ask"), ("onFailure", "later"))


LOOP = """#!/bin/bash
# A plain loop: the agent works, the loop commits, and ends at the signal.
for turn in 1 2 3 4 5 6 7 8; do
    claude -p --dangerously-skip-permissions < PROMPT.md | tee "$TMPDIR/out"
    git add -A
    git commit -q -m "turn $turn"
    if grep -q '<promise>COMPLETE</promise>' "$TMPDIR/out"; then
        echo "done"
        exit 0
    fi
done
echo "not done after $turn turns"
exit 1
"""

PROMPT = """Read tasks.md, do the first story that is not done, run ./check, and tick its box.
When all boxes are ticked, print <promise>COMPLETE</promise>.
"""


class Bash(Tool):
    """A loop in bash, as people write it."""

    def installed(self, tools: Path) -> bool:
        return shutil.which("bash") is not None

    def install(self, tools: Path) -> None:
        raise RuntimeError("there is no bash")

    def prepare(self, place: Place) -> None:
        place.list("tasks.md")
        place.write("PROMPT.md", PROMPT)

    def configure(self, place: Place) -> None:
        (place.root / "loop").write_text(LOOP)

    def command(self, place: Place, again: bool) -> List[str]:
        return ["bash", str(place.root / "loop")]


class Npm(Tool):
    """A tool from the npm registry. Scripts of packages are not run: none of these needs them."""

    packages: Tuple[str, ...] = ()

    def install(self, tools: Path) -> None:
        directory = tools / self.name
        directory.mkdir(parents=True, exist_ok=True)
        run(["npm", "install", "--prefix", str(directory), "--ignore-scripts", "--no-audit", "--no-fund", "--silent",
             "%s@%s" % (self.name, self.version), *self.packages])

    def paths(self, tools: Path) -> List[str]:
        return [str(tools / self.name / "node_modules" / ".bin")]


class Pip(Tool):
    """A tool from PyPI, in an environment of its own."""

    def install(self, tools: Path) -> None:
        directory = tools / self.name
        run([sys.executable, "-m", "venv", str(directory)])
        run([str(directory / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check",
             "%s==%s" % (self.name, self.version)])


def run(command: List[str]) -> None:
    """Runs a command that installs something, and raises with the last line that it printed."""
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           check=False, text=True)
    if ended.returncode:
        raise RuntimeError((ended.stdout.strip().splitlines() or ["%s failed" % command[0]])[-1])


class RalphOrchestrator(Tool):
    """ralph-orchestrator: a prompt, which each agent works on until one prints the signal, without hats."""

    def install(self, tools: Path) -> None:
        # Without optimizations: that takes a third of the time, and a loop mostly waits.
        run(["cargo", "install", "--quiet", "--locked", "--debug", "ralph-cli", "--version", self.version,
             "--root", str(tools / self.name)])

    def prepare(self, place: Place) -> None:
        place.list("tasks.md")
        place.write("PROMPT.md", "Read tasks.md, do the first task that is not done, run ./check, tick its box, and "
                    "commit. The objective is complete when all boxes are ticked.\n")
        place.write("ralph.yml", "cli:\n  backend: claude\nevent_loop:\n  prompt_file: PROMPT.md\n"
                    "  completion_promise: LOOP_COMPLETE\n  max_iterations: 8\nadapters:\n  claude:\n    timeout: 4\n")
        place.write(".gitignore", scene.IGNORED + ".ralph/\n")

    def command(self, place: Place, again: bool) -> List[str]:
        # It continues only where an agent has left notes, and asks for a new run where none has.
        notes = place.repository / ".ralph" / "agent" / "scratchpad.md"
        command = [str(place.tools / self.program), "run", "--autonomous"]
        return [*command, "--continue"] if again and notes.exists() else command


class Ralphy(Npm):
    """ralphy-cli: a list in Markdown, one agent for each box; it ticks, the agent commits."""

    def prepare(self, place: Place) -> None:
        place.list("PRD.md", "## Tasks\n\n")
        place.write(".ralphy/config.yaml", "project:\n  name: texts\ncommands:\n  test: ./check\nrules: []\n"
                    "boundaries:\n  never_touch: []\n")

    def command(self, place: Place, again: bool) -> List[str]:
        return ["ralphy", "--prd", "PRD.md", "--retry-delay", "1"]


class RalphTui(Npm):
    """ralph-tui: stories in prd.json, one agent for each; it marks and commits."""

    packages = ("@oven/bun-linux-x64@1.4.5",)

    def prepare(self, place: Place) -> None:
        place.write(".ralph-tui/config.toml",
                    'configVersion = "2.1"\ntracker = "json"\nmaxIterations = 8\niterationDelay = 0\n'
                    'autoCommit = true\n\n'
                    '[errorHandling]\nstrategy = "retry"\nmaxRetries = 3\nretryDelayMs = 100\n\n'
                    '[[agents]]\nname = "claude"\nplugin = "claude"\ndefault = true\ntimeout = 4000\n')
        if place.prose:
            place.list("prd.md")
            return
        stories = [
            {"id": "US-00%d" % number, "title": scene.title(story), "description": scene.title(story),
             "acceptanceCriteria": ["./check passes"], "priority": number, "passes": False, "notes": "",
             "dependsOn": []} for number, story in enumerate(scene.STORIES, 1)]
        listed = {"name": "Texts", "branchName": scene.BRANCH, "description": "Two texts", "userStories": stories}
        place.write("prd.json", json.dumps(listed, indent=2) + "\n")

    def command(self, place: Place, again: bool) -> List[str]:
        if again:
            return ["ralph-tui", "resume", "--headless"]
        return ["ralph-tui", "run", "--prd", "./prd.md" if place.prose else "./prd.json", "--headless", "--no-setup"]

    def paths(self, tools: Path) -> List[str]:
        return super().paths(tools) + [str(tools / self.name / "node_modules" / "@oven" / "bun-linux-x64" / "bin")]


class RalphStarter(Npm):
    """ralph-starter: a plan in Markdown, which each agent reads and ticks; it runs the tests and commits."""

    def prepare(self, place: Place) -> None:
        place.list("IMPLEMENTATION_PLAN.md", "# Implementation Plan\n\n## Tasks\n\n")
        # Unattended it runs no tests, but what is called lint and build.
        place.write("AGENTS.md", "# AGENTS.md\n\n## Validation Commands\n\n- **Test**: `./check`\n"
                    "- **Lint**: `./check`\n- **Build**: `./check`\n")

    def command(self, place: Place, again: bool) -> List[str]:
        return ["ralph-starter", "run", "Implement the tasks in IMPLEMENTATION_PLAN.md", "--commit", "--validate",
                "--agent", "claude-code", "--no-auto-skills", "--output-dir", ".", "--max-iterations", "8",
                "--validation-warmup", "0"]


class RalphPy(Pip):
    """ralph-py: a prompt, which the agent works on until it prints the signal; the agent commits."""

    def prepare(self, place: Place) -> None:
        place.list("TASKS.md")
        place.write("PROMPT.md", "Read TASKS.md, do the first task that is not done, run ./check, tick its box, "
                    "and commit. The work is complete when all boxes are ticked.\n")

    def command(self, place: Place, again: bool) -> List[str]:
        return [str(place.tools / self.program), "run", "--prompt-file", "PROMPT.md", "--delay", "0", "--max-iter", "8"]


class RalphLoop(Pip):
    """ralph-loop: one goal with criteria; agents say in a file where they are, and it asks three times again."""

    def prepare(self, place: Place) -> None:
        place.write("PROMPT.md", "# Goal\n\nThe texts of this project.\n\n# Success Criteria\n\n" + (
            scene.PROSE if place.prose else "".join("- [ ] %s\n" % scene.title(story) for story in scene.STORIES)))
        place.write(".gitignore", scene.IGNORED + ".ralph/\n")

    def configure(self, place: Place) -> None:
        run_in(place, [str(place.tools / self.program), "init"])

    def command(self, place: Place, again: bool) -> List[str]:
        program = [str(place.tools / self.program), "run", "--no-color"]
        return [*program, "--continue"] if again else [*program, "--max", "12", "--timeout", "4"]


def run_in(place: Place, command: List[str]) -> None:
    """Runs a command of a tool in the repository, as its documentation says that it should be set up."""
    subprocess.run(command, cwd=str(place.repository), env=dict(os.environ, HOME=str(place.home)), check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


TOOLS: Tuple[Tool, ...] = (
    *(kind(name, "this source", "here", "git-ralph", admits=r"done or gone without an attempt",
           dialect=per_story(r"write src/(\w+)\.txt", "openspec/changes/trial/tasks.md", "markdown", PROMISE,
                             failed_signal="<promise>FAILED: {why}</promise>",
                             more_signal="<promise>CONTINUE: the rest of it</promise>"))
      for kind, name in ((GitRalph, "git-ralph"), (Unattended, "git-ralph-unattended"))),
    Bash("bash", "a loop of 12 lines", "here", "bash",
         dialect=whole_list("tasks.md", PROMISE)),
    Ralphy("ralphy-cli", "4.7.2", "npm", "ralphy-cli/node_modules/.bin/ralphy",
           dialect=per_story(r"write src/(\w+)\.txt", "PRD.md", "markdown", "", commits=True)),
    RalphTui("ralph-tui", "0.11.0", "npm", "ralph-tui/node_modules/.bin/ralph-tui",
             # Its summary also calls a run interrupted which it has just called complete.
             admits=r"(?s)\A(?!.*All tasks complete!).*Status:\s+(?!COMPLETED)\w|Reason: max_iterations",
             dialect=per_story(r"Your Task: \S+ - write src/(\w+)\.txt", "prd.json", "json", PROMISE)),
    RalphStarter("ralph-starter", "0.5.2", "npm", "ralph-starter/node_modules/.bin/ralph-starter",
                 admits=r"Loop failed|Exit reason: (?!completed|file_signal)", patience=330,
                 dialect=whole_list("IMPLEMENTATION_PLAN.md", "All tasks completed")),
    RalphOrchestrator("ralph-orchestrator", "2.10.1", "crates.io", "ralph-orchestrator/bin/ralph",
                      dialect=whole_list("tasks.md", "LOOP_COMPLETE", commits=True)),
    RalphPy("ralph-py", "0.4.0", "PyPI", "ralph-py/bin/ralph", admits=r"Loop stopped after",
            dialect=whole_list("TASKS.md", "RALPH_COMPLETE", commits=True, memory=r"memory file at (\S+)")),
    RalphLoop("ralph-loop", "0.6.0", "PyPI", "ralph-loop/bin/ralph",
              dialect=whole_list("PROMPT.md", "", tick="notes", ticks=False, review=r"\[REVIEW\]",
                                 memory=r"handoff for this spec updated \(([^)]+)\)",
                                 status={"file": ".ralph/status", "done": "DONE", "more": "CONTINUE"})),
)

BY_NAME: Dict[str, Tool] = {tool.name: tool for tool in TOOLS}
