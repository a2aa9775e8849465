"""Plays single turns of the agent."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from trials import agent, faults, misdeeds, scene  # noqa: E402
from trials.tools import PROMISE, whole_list  # noqa: E402

# What the user or the machine does, and no agent.
OF_OTHERS = {"user-work", "hook-rejects"}


class Turns(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.top = Path(self.directory.name, "repository")
        self.witnesses = Path(self.directory.name, "witness")
        self.witnesses.mkdir()
        (self.top / "src").mkdir(parents=True)
        (self.top / "check").write_text(scene.CHECK)
        (self.top / "check").chmod(0o755)
        (self.top / "src" / "base.txt").write_text(scene.BASE)
        (self.top / "tasks.md").write_text("".join("- [ ] %s\n" % scene.title(story) for story in scene.STORIES))

    def turn(self, fault: str, arguments: List[str]) -> "subprocess.CompletedProcess[str]":
        """Runs the agent as a tool does."""
        config = Path(self.directory.name, "agent.json")
        config.write_text(json.dumps({"dialect": whole_list("tasks.md", PROMISE), "fault": fault,
                                      "witness": str(self.witnesses)}))
        return subprocess.run([sys.executable, "-I", "-S", agent.__file__, str(config), *arguments],
                              cwd=str(self.top), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
                              text=True, env=dict(os.environ))

    def test_an_honest_agent_does_one_story_a_turn_and_signals_at_the_end(self) -> None:
        first = self.turn("control", ["-p", "Go on"])
        self.assertNotIn(PROMISE, first.stdout)
        self.assertEqual((self.top / "tasks.md").read_text().count("[x]"), 1)
        second = self.turn("control", ["-p", "Go on"])
        self.assertEqual(second.stdout.splitlines()[-1], PROMISE)
        for story in scene.STORIES:
            self.assertEqual((self.top / scene.path(story)).read_text(), scene.text(story))
        self.assertEqual(list(self.witnesses.glob("fault-*")), [])

    def test_a_fault_happens_once_and_leaves_a_witness(self) -> None:
        self.assertEqual(self.turn("half-exit", ["-p", "Go on"]).returncode, 1)
        self.assertEqual(len(list(self.witnesses.glob("fault-*"))), 1)
        self.assertEqual(self.turn("half-exit", ["-p", "Go on"]).returncode, 0)
        self.assertEqual(len(list(self.witnesses.glob("fault-*"))), 1)

    def test_it_prints_what_the_real_one_prints(self) -> None:
        printed = self.turn("control", ["-p", "Go on", "--output-format", "stream-json", "--verbose"]).stdout
        lines: List[Dict] = [json.loads(line) for line in printed.splitlines()]
        self.assertEqual([line["type"] for line in lines], ["system", "assistant", "result"])
        self.assertEqual(lines[2]["result"], lines[1]["message"]["content"][0]["text"])

    def test_it_finds_the_prompt_among_the_options(self) -> None:
        for arguments in (["-p", "Go on", "--model", "x"], ["--print", "--setting-sources", "user", "Go on"],
                          ["Go on", "--output-format=json"]):
            self.assertEqual(agent.prompt_of(arguments), "Go on")

    def list_after(self, fault: str) -> List[str]:
        """Returns the lines of the task list after one turn."""
        self.turn(fault, ["-p", "Go on"])
        self.assertEqual(len(list(self.witnesses.glob("fault-*"))), 1)
        return (self.top / "tasks.md").read_text().splitlines()

    def test_it_adds_drops_and_ticks_stories_in_the_list(self) -> None:
        done, open_, beta = "- [x] %s", "- [ ] %s", scene.title("beta")
        self.assertEqual(self.list_after("adds-story"), [done % scene.title("alpha"), open_ % beta,
                                                         open_ % scene.title("more1")])
        self.setUp()
        self.assertEqual(self.list_after("drops-story"), [done % scene.title("alpha")])
        self.setUp()
        self.assertEqual(self.list_after("ticks-more"), [done % scene.title("alpha"), done % beta])

    def test_a_lie_follows_the_half_and_then_it_is_honest(self) -> None:
        texts = []
        for _ in range(3):
            self.turn("continue-lie", ["-p", "Go on"])
            texts.append((self.top / scene.path("alpha")).read_text())
        self.assertEqual(texts[:2], ["alpha is half\n"] * 2)
        self.assertEqual(texts[2], scene.text("alpha"))
        self.assertEqual(len(list(self.witnesses.glob("fault-*"))), 2)

    def test_what_acts_outside_is_not_done_again_if_the_prompt_says_so(self) -> None:
        for prompt in ("Go on", "Run nothing again that acts outside of this\nrepository."):
            self.turn("deploys", ["-p", prompt])
            (self.top / "tasks.md").write_text("".join("- [ ] %s\n" % scene.title(story) for story in scene.STORIES))
        self.assertEqual(len(list(self.witnesses.glob("fault-*"))), 1)

    def test_every_fault_has_somebody_who_plays_it(self) -> None:
        played = set(misdeeds.ONCE) | set(misdeeds.ALWAYS) | set(misdeeds.NEVER_RIGHT) | OF_OTHERS
        self.assertEqual(played, {fault.name for fault in faults.FAULTS})


if __name__ == "__main__":
    unittest.main()
