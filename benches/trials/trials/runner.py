"""Runs cells side by side, keeps their results, and goes on where it was stopped."""

import argparse
import fcntl
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Dict, List, Optional, Set, TextIO, Tuple

from trials import faults, sandbox, tools

TOP = Path(__file__).resolve().parent.parent.parent.parent
WORK = TOP / "target" / "trials"

Key = Tuple[str, str, str, int]


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="run", description="Runs loop tools against faults.")
    parser.add_argument("--tools", metavar="NAME,...", help="only these: %s" % ", ".join(tools.BY_NAME))
    parser.add_argument("--faults", metavar="NAME,...", help="only these: %s" % ", ".join(faults.BY_NAME))
    parser.add_argument("--repeats", type=int, default=1, help="how often each cell is run (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, help="cells at a time (default: 2)")
    parser.add_argument("--work", type=Path, default=WORK, help="directory for tools, logs and results")
    parser.add_argument("--git-ralph", type=Path, help="a built git-ralph (default: of this source)")
    parser.add_argument("--again", action="store_true", help="forget the earlier results of these cells")
    parser.add_argument("--strict", action="store_true",
                        help="fail unless all controls and all cells of git-ralph are good")
    parser.add_argument("--keep", action="store_true", help="keep the directories of the cells")
    return parser.parse_args()


def chosen(names: str, known: Dict) -> List:
    """Returns what the comma-separated names name, or everything."""
    if not names:
        return list(known.values())
    unknown = [name for name in names.split(",") if name not in known]
    if unknown:
        sys.exit("run: unknown: %s" % ", ".join(unknown))
    return [known[name] for name in names.split(",")]


def built(work: Path, given: Optional[Path]) -> Path:
    """Puts git-ralph among the tools: the given one, or one built from this source. Returns it."""
    program = work / "tools" / "git-ralph"
    if given is None:
        print("building git-ralph", flush=True)
        subprocess.run(["cargo", "build", "--quiet", "--locked", "--release"], cwd=str(TOP), check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", str(TOP / "target")))
        given = target / "release" / "git-ralph"
    if program.is_symlink() or program.exists():
        program.unlink()
    program.symlink_to(given.resolve())
    return given


def build(work: Path) -> str:
    """Returns what names this build of git-ralph."""
    program = work / "tools" / "git-ralph"
    return hashlib.sha256(program.read_bytes()).hexdigest()[:12] if program.exists() else ""


def installed(wanted: List[tools.Tool], work: Path, given: Optional[Path]) -> List[tools.Tool]:
    """Installs what is missing, and returns the tools that are there."""
    (work / "tools").mkdir(parents=True, exist_ok=True)
    there = []
    for tool in wanted:
        if isinstance(tool, tools.GitRalph):
            given = built(work, given)
        elif not tool.installed(work / "tools"):
            print("installing %s %s" % (tool.name, tool.version), flush=True)
            try:
                tool.install(work / "tools")
            except (OSError, RuntimeError, subprocess.CalledProcessError) as why:
                print("  left out: %s" % why, flush=True)
                continue
        there.append(tool)
    return there


def alone(work: Path) -> TextIO:
    """Takes the work directory for this run, or ends if another run has it. Returns what holds it."""
    work.mkdir(parents=True, exist_ok=True)
    lock = open(str(work / "lock"), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("run: another run works in %s" % work)
    return lock


def key(result: Dict) -> Key:
    """Returns what names a cell."""
    return (result["tool"], result["version"], result["fault"], result["repeat"])


def known(path: Path) -> List[Dict]:
    """Returns the results that are there; a line that was cut off by a kill is none."""
    results = []
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                results.append(json.loads(line))
            except ValueError:
                continue
    return results


class Runner:
    """Takes cells from a list, a few at a time, and writes a line for each."""

    def __init__(self, cells: List[Tuple[tools.Tool, faults.Fault, int]], work: Path, output: TextIO,
                 keep: bool) -> None:
        self.cells = cells
        self.work = work
        self.output = output
        self.environment = dict(os.environ, TRIALS_KEEP="1" if keep else "")
        self.way = sandbox.way()
        self.build = build(work)
        self.lock = threading.Lock()
        self.next = 0
        self.ended = 0
        self.stopped = False
        self.began = time.monotonic()
        self.running: Set[subprocess.Popen] = set()

    def work_off(self) -> None:
        """Runs cells until there are none left."""
        while True:
            with self.lock:
                if self.stopped or self.next == len(self.cells):
                    return
                tool, fault, repeat = self.cells[self.next]
                self.next += 1
                process = subprocess.Popen(
                    [*self.way, sys.executable, str(Path(__file__).with_name("cell.py")), tool.name, fault.name,
                     str(repeat), str(self.work)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    env=self.environment, start_new_session=True)
                self.running.add(process)
            printed, errors = process.communicate()
            with self.lock:
                self.running.discard(process)
                if not self.stopped:
                    self.note(tool, fault, repeat, printed, errors)

    def note(self, tool: tools.Tool, fault: faults.Fault, repeat: int, printed: str, errors: str) -> None:
        """Writes the result of a cell, and shows where the run is."""
        try:
            result = json.loads(printed)
        except ValueError:
            last = (errors.strip().splitlines() or ["the trial ended without a result"])[-1]
            result = {"tool": tool.name, "version": tool.version, "fault": fault.name, "repeat": repeat,
                      "verdict": "invalid", "findings": [["invalid", last.replace(str(self.work), "...")]],
                      "seconds": 0, "offline": bool(self.way)}
        if isinstance(tool, tools.GitRalph):
            result["build"] = self.build
        self.output.write(json.dumps(result) + "\n")
        self.output.flush()
        self.ended += 1
        left = (time.monotonic() - self.began) / self.ended * (len(self.cells) - self.ended)
        print("%4d/%d  %-18s %-18s %d  %-10s %5.1fs  (%d min left)%s" % (
            self.ended, len(self.cells), tool.name, fault.name, repeat, result["verdict"], result["seconds"],
            left / 60 + 0.5, "" if result["verdict"] == "good" else "  " + result["findings"][0][1]), flush=True)

    def stop(self) -> None:
        """Ends the cells that run; they are run again next time."""
        with self.lock:
            self.stopped = True
            for process in self.running:
                # Everything in the trial is below this process, and ends with it or by the kernel.
                os.killpg(process.pid, signal.SIGKILL if self.way else signal.SIGTERM)

    def run(self, jobs: int) -> bool:
        """Runs all cells, and returns whether none is left."""
        threads = [threading.Thread(target=self.work_off, daemon=True) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                time.sleep(0.1)
        except KeyboardInterrupt:
            self.stop()
            for thread in threads:
                thread.join()
        return not self.stopped


def main() -> int:
    """Runs what the command line asks for."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    asked = arguments()
    with alone(asked.work.resolve()):
        return follow(asked)


def follow(asked: argparse.Namespace) -> int:
    """Installs, runs the cells that are missing, and returns the exit code."""
    work = asked.work.resolve()
    wanted = installed(chosen(asked.tools, tools.BY_NAME), work, asked.git_ralph)
    some = chosen(asked.faults, faults.BY_NAME)
    cells = [(tool, fault, repeat) for repeat in range(1, asked.repeats + 1) for fault in some for tool in wanted]
    path = work / "results.jsonl"
    results = known(path)
    names = {(tool.name, tool.version, fault.name, repeat) for tool, fault, repeat in cells}
    stale = {key(result) for result in results if asked.again and key(result) in names}
    if any(isinstance(tool, tools.GitRalph) for tool in wanted):
        # Results of another build say nothing of this one.
        stale |= {key(result) for result in results
                  if result["tool"].startswith("git-ralph") and result.get("build") != build(work)}
    results = [result for result in results if key(result) not in stale]
    path.write_text("".join(json.dumps(result) + "\n" for result in results))
    ended = {key(result) for result in results}
    cells = [(tool, fault, repeat) for tool, fault, repeat in cells
             if (tool.name, tool.version, fault.name, repeat) not in ended]
    (work / "machine.json").write_text(json.dumps(machine()) + "\n")
    with open(str(path), "a") as output:
        runner = Runner(cells, work, output, asked.keep)
        if not runner.way:
            print("unshare does not work here: the tools run with the network of this machine", flush=True)
        print("%d cells, %d of them known" % (len(names), len(names) - len(cells)), flush=True)
        if not runner.run(asked.jobs):
            print("stopped; the same command goes on", flush=True)
            return 130
    print("results: %s" % os.path.relpath(str(path)), flush=True)
    bad = [result for result in known(path) if key(result) in names and result["verdict"] != "good"
           and (result["tool"].startswith("git-ralph") or result["fault"] == faults.CONTROL.name)]
    if asked.strict and bad:
        print("not good: %s" % ", ".join("%s %s" % (result["tool"], result["fault"]) for result in bad), flush=True)
        return 1
    return 0


def machine() -> Dict[str, str]:
    """Returns what the table says about where it comes from."""
    def says(*command: str) -> str:
        try:
            return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                                  text=True).stdout.strip()
        except OSError:
            return ""
    return {
        "date": time.strftime("%Y-%m-%d"), "system": "%s %s" % (platform.system(), platform.machine()),
        "cpus": str(os.cpu_count()), "git": says("git", "--version").replace("git version ", ""),
        "node": says("node", "--version"), "python": platform.python_version(),
        "commit": says("git", "-C", str(TOP), "rev-parse", "--short=10", "HEAD"),
    }


if __name__ == "__main__":
    sys.exit(main())
