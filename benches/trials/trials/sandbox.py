"""Keeps a trial apart: without network, in a process namespace of its own, and nothing left behind.

``unshare`` of util-linux gives both where the kernel lets it. Without it trials still run, with the
network that this machine has; then only processes below the trial's own are found and ended.
"""

import ctypes
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Dict, List, Optional, Set

PR_SET_CHILD_SUBREAPER = 36
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

APART = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
WAYS: List[List[str]] = [
    ["unshare", *APART],
    ["unshare", "--map-root-user", *APART],
]


def way() -> List[str]:
    """Returns the beginning of a command line that keeps a trial apart, or nothing if that does not work here."""
    if shutil.which("unshare"):
        for command in WAYS:
            if subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0:
                return command
    return []


def offline() -> bool:
    """Returns whether this process has no network but its own loopback."""
    try:
        names = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    except OSError:
        return False
    return names == ["lo"]


def enter() -> None:
    """Prepares the process that runs a trial: its loopback works, and orphans become its children."""
    if os.getpid() == 1:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
            request = struct.pack("16sH14x", b"lo", 0)
            flags = struct.unpack("16sH14x", fcntl.ioctl(loopback, SIOCGIFFLAGS, request))[1]
            fcntl.ioctl(loopback, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def processes() -> Dict[int, "Process"]:
    """Returns the processes that run below this one, by their id."""
    every: Dict[int, Process] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            process = Process.read(int(entry))
            if process:
                every[process.pid] = process
    mine: Set[int] = {os.getpid()}
    grown = True
    while grown:
        more = {pid for pid, process in every.items() if process.parent in mine} - mine
        mine |= more
        grown = bool(more)
    return {pid: every[pid] for pid in mine if pid in every and pid != os.getpid()}


class Process:
    """One process: its parent, its state, its command line and its memory."""

    def __init__(self, pid: int, parent: int, state: str) -> None:
        self.pid = pid
        self.parent = parent
        self.state = state

    @classmethod
    def read(cls, pid: int) -> Optional["Process"]:
        """Returns the process, or None if it is gone."""
        try:
            words = Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return cls(pid, int(words[1]), words[0])

    def runs(self) -> bool:
        """Returns whether it is more than an entry in the table."""
        return self.state not in "ZX"

    def name(self) -> str:
        """Returns the name of its program, without directories."""
        try:
            words = Path("/proc/%d/cmdline" % self.pid).read_bytes().split(b"\0")
        except OSError:
            return "?"
        return os.path.basename(words[0].decode(errors="replace")) or "?"

    def command(self) -> str:
        """Returns its command line."""
        try:
            return Path("/proc/%d/cmdline" % self.pid).read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""

    def memory(self) -> int:
        """Returns the resident memory in KiB."""
        try:
            return int(Path("/proc/%d/statm" % self.pid).read_text().split()[1]) * (os.sysconf("SC_PAGE_SIZE") // 1024)
        except (OSError, IndexError):
            return 0


# Processes whose exit code somebody waits for.
AWAITED: Set[int] = set()


def running() -> List[Process]:
    """Returns the processes below this one that still run, and takes leave of orphans that ended."""
    alive = []
    for process in processes().values():
        if process.runs():
            alive.append(process)
        elif process.parent == os.getpid() and process.pid not in AWAITED:
            try:
                os.waitpid(process.pid, os.WNOHANG)
            except ChildProcessError:
                pass
    return alive


def end_all(seconds: float = 5) -> None:
    """Kills every process below this one."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        alive = running()
        if not alive:
            return
        for process in alive:
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
