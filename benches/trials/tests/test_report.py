"""Plants results for the report."""

import sys
import unittest
from pathlib import Path
from typing import Dict

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from trials import faults, report, tools  # noqa: E402

MACHINE = {"date": "2026-01-01", "system": "Linux", "cpus": "2", "git": "2", "node": "20", "python": "3",
           "commit": "0123456789"}


def result(tool: str, fault: str, verdict: str, repeat: int = 1) -> Dict:
    """Returns a result as a cell prints it."""
    return {"tool": tool, "version": tools.BY_NAME[tool].version, "fault": fault, "repeat": repeat, "verdict": verdict,
            "findings": [] if verdict == "good" else [[verdict, "why"]], "seconds": 1.0, "turns": 2, "kib": 2048,
            "offline": True, "leaves": []}


class Report(unittest.TestCase):
    def test_it_counts_the_verdicts(self) -> None:
        page = report.page([result("bash", "control", "good"), result("bash", "no-work", "lost", 1),
                            result("bash", "no-work", "good", 2), result("bash", "no-work", "lost", 3)], MACHINE)
        self.assertIn("| bash | 1 | 0 | 0 | 0 | 0 | 2 | 0 |", page)
        self.assertIn("| `no-work` | lost 2, good 1 |", page)

    def test_without_a_good_control_every_cell_is_invalid(self) -> None:
        for control in ([], [result("bash", "control", "dirt")]):
            page = report.page(control + [result("bash", "no-work", "good")], MACHINE)
            self.assertIn("| bash | 0 | 0 | 0 | 0 | 0 | 0 | 1 |", page)
            self.assertIn("1 of 1 cells with a fault are invalid", page)
            self.assertIn("bash: its control is not good", page)

    def test_it_says_why_a_cell_is_invalid(self) -> None:
        page = report.page([result("bash", "control", "good"), result("bash", "no-work", "invalid")], MACHINE)
        self.assertIn("- bash, `no-work`: why (1)", page)

    def test_results_of_other_versions_do_not_count(self) -> None:
        old = dict(result("bash", "no-work", "lost"), version="0")
        page = report.page([result("bash", "control", "good"), old], MACHINE)
        self.assertIn("| bash | 0 | 0 | 0 | 0 | 0 | 0 | 0 |", page)

    def test_later_faults_have_a_table_of_their_own(self) -> None:
        page = report.page([result("git-ralph-unattended", "control", "good"),
                            result("git-ralph-unattended", "two-empty", "false done")], MACHINE)
        _, _, later = page.partition("faults added since")
        self.assertIn("| git-ralph, unattended | 0 | 0 | 0 | 0 | 1 | 0 | 0 |", later)
        self.assertIn("| `two-empty` | false done |", later)

    def test_it_says_how_many_cells_had_a_network(self) -> None:
        self.assertIn("all without network", report.page([result("bash", "control", "good")], MACHINE))
        online = dict(result("bash", "control", "good"), offline=False)
        self.assertIn("1 cells with the network", report.page([online], MACHINE))


class Faults(unittest.TestCase):
    def test_enough_of_them_are_no_home_game(self) -> None:
        self.assertGreaterEqual(len(faults.FAULTS), 30)
        self.assertGreaterEqual(sum(not fault.lead for fault in faults.FAULTS), 8)
        self.assertEqual(len(faults.BY_NAME), len(faults.FAULTS) + 1)


if __name__ == "__main__":
    unittest.main()
