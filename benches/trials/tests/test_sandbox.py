"""Starts processes, and looks for them."""

import subprocess
import sys
import unittest
from pathlib import Path

# Runs in a process of its own, which becomes the parent of orphans.
SCRIPT = """
import subprocess, sys, time
sys.path.insert(0, %r)
from trials import sandbox
sandbox.enter()
"""


class Processes(unittest.TestCase):
    def script(self, words: str) -> str:
        """Runs it, and returns what it prints."""
        top = str(Path(__file__).resolve().parent.parent)
        return subprocess.run([sys.executable, "-c", SCRIPT % top + words], stdout=subprocess.PIPE, check=True,
                              text=True, timeout=60).stdout

    def test_the_exit_code_of_a_tool_is_not_taken_from_who_waits_for_it(self) -> None:
        self.assertEqual("3\n", self.script("""
process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
sandbox.AWAITED.add(process.pid)
while any(found.pid == process.pid and found.runs() for found in sandbox.processes().values()):
    time.sleep(0.01)
sandbox.running()
print(process.wait())
"""))

    def test_an_orphan_in_a_session_of_its_own_is_found_and_ended(self) -> None:
        self.assertEqual("1 0\n", self.script("""
orphan = "import subprocess; subprocess.Popen(['sleep', '100'], start_new_session=True)"
subprocess.run([sys.executable, "-c", orphan])
found = [process.name() for process in sandbox.running()]
sandbox.end_all()
print(found.count("sleep"), len(sandbox.running()))
"""))


if __name__ == "__main__":
    unittest.main()
