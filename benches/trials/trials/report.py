"""Writes the tables of docs/trials.md from the results."""

import argparse
import json
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Dict, List, Tuple

from trials import faults, tools
from trials.judge import DIRT, FALSE_DONE, GOOD, INVALID, LOST, NO_RESULT, STUCK
from trials.runner import TOP, WORK, known

BEGIN, END = "<!-- generated: trials -->", "<!-- end -->"
COLUMNS = (GOOD, NO_RESULT, DIRT, STUCK, FALSE_DONE, LOST, INVALID)

Cells = Dict[Tuple[str, str], List[Dict]]


def grouped(results: List[Dict]) -> Cells:
    """Returns the results of each cell, those of the pinned versions only."""
    cells: Cells = {}
    for result in results:
        tool = tools.BY_NAME.get(result["tool"])
        if tool and tool.version == result["version"] and result["fault"] in faults.BY_NAME:
            cells.setdefault((result["tool"], result["fault"]), []).append(result)
    return cells


def without_control(cells: Cells) -> List[str]:
    """Returns the tools of which a control is missing or not good: no cell of theirs says anything."""
    names = {tool for tool, _ in cells}
    return sorted(name for name in names
                  if not cells.get((name, faults.CONTROL.name))
                  or any(result["verdict"] != GOOD for result in cells[(name, faults.CONTROL.name)]))


def verdicts(cells: Cells, tool: str, fault: str, invalid: List[str]) -> Counter:
    """Counts the verdicts of one cell."""
    return Counter(INVALID if tool in invalid and fault != faults.CONTROL.name else result["verdict"]
                   for result in cells.get((tool, fault), []))


def words(counts: Counter) -> str:
    """Returns the verdicts of a cell as the table shows them, the most frequent first."""
    if not counts:
        return ""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join("%s %d" % (kind, count) for kind, count in counts.most_common())


def shown(name: str) -> str:
    """Returns the name of a tool as the tables show it."""
    return name.replace("-unattended", ", unattended")


def table(head: List[str], rows: List[List[str]], right: bool = False) -> str:
    """Returns a table in Markdown."""
    rule = "|---|" + ("---:|" if right else "---|") * (len(head) - 1)
    return "\n".join(["| %s |" % " | ".join(head), rule] + ["| %s |" % " | ".join(row) for row in rows])


def sums(cells: Cells, names: List[str], some: List[faults.Fault], invalid: List[str]) -> str:
    """Returns how often each tool had each verdict in these faults."""
    rows = []
    for name in names:
        counts: Counter = Counter()
        for fault in some:
            counts += verdicts(cells, name, fault.name, invalid)
        rows.append([shown(name)] + [str(counts[kind]) for kind in COLUMNS])
    return table(["tool", *COLUMNS], rows, right=True)


def matrix(cells: Cells, names: List[str], some: List[faults.Fault], invalid: List[str]) -> str:
    """Returns the verdict of each tool in each fault."""
    return table(["fault", *map(shown, names)], [["`%s`" % fault.name] + [words(verdicts(cells, name, fault.name, invalid))
                                                           for name in names] for fault in some])


def costs(cells: Cells, names: List[str]) -> str:
    """Returns what each tool costs in the control, and what it leaves in the tree."""
    rows = []
    for name in names:
        control = cells.get((name, faults.CONTROL.name), [])
        leaves = sorted({path for result in control for path in result.get("leaves", [])})
        rows.append([
            shown(name), tools.BY_NAME[name].home, tools.BY_NAME[name].version,
            "%.1f" % statistics.median(result["seconds"] for result in control) if control else "",
            "%.0f" % (statistics.median(result.get("kib", 0) for result in control) / 1024) if control else "",
            "%.0f" % statistics.median(result.get("turns", 0) for result in control) if control else "",
            ", ".join("`%s`" % path for path in leaves)])
    return table(["tool", "from", "version", "seconds", "MiB", "turns", "leaves in the tree"], rows)


def reasons(cells: Cells, names: List[str], invalid: List[str]) -> str:
    """Returns how many cells are invalid, and why."""
    found: Counter = Counter()
    for (tool, fault), results in sorted(cells.items()):
        for result in results:
            if result["verdict"] == INVALID:
                found[(tool, fault, result["findings"][0][1])] += 1
    lines = ["- %s, `%s`: %s (%d)" % (tool, fault, why, count) for (tool, fault, why), count in sorted(found.items())]
    lines += ["- %s: its control is not good, so none of its cells counts" % name for name in invalid]
    total = sum(count for name in names for fault in faults.FAULTS
                for kind, count in verdicts(cells, name, fault.name, invalid).items() if kind == INVALID)
    every = sum(len(cells.get((name, fault.name), [])) for name in names for fault in faults.FAULTS)
    head = "%d of %d cells with a fault are invalid%s" % (total, every, ":" if lines else ".")
    return "\n".join([head, "", *lines]) if lines else head


def page(results: List[Dict], machine: Dict[str, str]) -> str:
    """Returns everything between the marks in docs/trials.md."""
    cells = grouped(results)
    names = [name for name in tools.BY_NAME if any(tool == name for tool, _ in cells)]
    invalid = without_control(cells)
    lead = [fault for fault in faults.FAULTS if fault.lead and not fault.since]
    other = [fault for fault in faults.FAULTS if not fault.lead]
    since = [fault for fault in faults.FAULTS if fault.since]
    repeats = [len(cells.get((name, fault.name), [])) for name in names for fault in faults.FAULTS]
    offline = sum(1 for result in results if not result.get("offline"))
    return "\n\n".join([
        "Run on %(date)s: %(system)s, %(cpus)s processors, git %(git)s, node %(node)s, Python %(python)s, git-ralph "
        "of commit %(commit)s." % machine
        + " %s of each cell; %s." % (
            ("%d repeats" % max(repeats) if max(repeats) > 1 else "1 repeat") if min(repeats) == max(repeats)
            else "%d to %d repeats" % (min(repeats), max(repeats)), "all without network" if not offline
            else "%d cells with the network of the machine" % offline),
        "### The %d faults in which we expected git-ralph among the best" % len(lead),
        sums(cells, names, lead, invalid),
        matrix(cells, names, lead, invalid),
        "### The %d faults in which we did not" % len(other),
        sums(cells, names, other, invalid),
        matrix(cells, names, other, invalid),
        "### The %d faults added since git-ralph has rounds and holds the list" % len(since),
        sums(cells, names, since, invalid),
        matrix(cells, names, since, invalid),
        "### Invalid cells",
        reasons(cells, names, invalid),
        "### The control",
        "Medians. The seconds are of the whole run, the agents included; the memory is of all processes of the tool "
        "together, without agents and git.",
        costs(cells, names),
        "### The faults",
        table(["fault", "the agent, or who is named", "why it happens"], [
            ["`%s`" % fault.name, fault.what + ("" if fault.completable else " (an honest end is the good one)"),
             fault.source] for fault in faults.FAULTS]),
    ])


def main() -> int:
    """Writes the tables into the document, or prints them."""
    parser = argparse.ArgumentParser(prog="report", description="Writes the tables of docs/trials.md.")
    parser.add_argument("--work", type=Path, default=WORK, help="directory with the results")
    parser.add_argument("--print", action="store_true", help="print them instead")
    asked = parser.parse_args()
    results = known(asked.work / "results.jsonl")
    if not results:
        print("report: there are no results; begin with benches/trials/run", file=sys.stderr)
        return 1
    tables = page(results, json.loads((asked.work / "machine.json").read_text()))
    if asked.print:
        print(tables)
        return 0
    document = TOP / "docs" / "trials.md"
    text = document.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    document.write_text("%s%s\n%s\n%s%s" % (before, BEGIN, tables, END, after))
    print("wrote docs/trials.md")
    return 0
