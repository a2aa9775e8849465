"""Judges what a loop tool left: from the repository, the processes and what was printed, and nothing else.

Knows no tool. What it is told of one is in ``Claim``: by which words its user learns that not all is
done, although it exits with 0.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple

GOOD = "good"
LOST = "lost"
FALSE_DONE = "false done"
DIRT = "dirt"
STUCK = "stuck"
NO_RESULT = "no result"
INVALID = "invalid"

# From the worst to the best; a cell has the first one that holds.
VERDICTS: Tuple[str, ...] = (INVALID, LOST, FALSE_DONE, STUCK, DIRT, NO_RESULT, GOOD)

LARGEST_FILE = 8 * 1024 * 1024


@dataclass
class Expected:
    """What has to be there at the end, told before the trial or while it runs."""

    branch: str
    # Paths with their text: the stories.
    stories: Dict[str, str]
    # Paths with their text: files of the user's that have to be at their place.
    files: Dict[str, str] = field(default_factory=dict)
    # Texts that may be anywhere, but not nowhere, with the words for them.
    texts: Dict[str, str] = field(default_factory=dict)
    # Commits of the user's that a ref or a reflog has to reach, with the words for them.
    commits: Dict[str, str] = field(default_factory=dict)
    # The commit that the branch has to contain.
    base: str = ""
    # Paths that no commit may contain.
    private: Tuple[str, ...] = ()
    completable: bool = True


@dataclass
class Ended:
    """How the tool ended: None as exit code if it had to be killed; ``left`` names processes that were still there."""

    code: Optional[int]
    output: str
    left: List[str] = field(default_factory=list)
    # Faults in the middle of the trial, such as processes that were there after Ctrl-C.
    earlier: List[str] = field(default_factory=list)


@dataclass
class Claim:
    """How a tool says that it did not finish, although it exits with 0: a regular expression, or nothing."""

    admits: str = ""

    def done(self, ended: Ended) -> bool:
        """Returns whether the tool says that all is done."""
        if ended.code != 0:
            return False
        return not (self.admits and re.search(self.admits, ended.output))


@dataclass
class Verdict:
    """The verdict on a cell, and all that was found, the worst first."""

    kind: str
    findings: List[Tuple[str, str]]


def judge(repository: Path, kept: List[Path], expected: Expected, ended: Ended, claim: Claim) -> Verdict:
    """Returns the verdict. ``kept`` are directories beside the repository in which a tool may keep work."""
    findings: List[Tuple[str, str]] = []
    findings += lost(repository, kept, expected)
    undone = [path for path, text in expected.stories.items() if read(repository / path) != text]
    done = claim.done(ended)
    if done:
        findings += [(FALSE_DONE, "says that all is done, but %s is not right" % path) for path in undone]
    if ended.code is None:
        findings.append((STUCK, "had not ended within the limit"))
    findings += [(DIRT, words) for words in ended.earlier]
    findings += [(DIRT, words) for words in dirt(repository, expected, ended)]
    if not done and ended.code is not None and expected.completable:
        findings.append((NO_RESULT, "ends without the stories, and says so" if undone
                         else "does not say that the stories are done, which they are"))
    findings.sort(key=lambda finding: VERDICTS.index(finding[0]))
    return Verdict(findings[0][0] if findings else GOOD, findings)


def lost(repository: Path, kept: List[Path], expected: Expected) -> List[Tuple[str, str]]:
    """Returns what is nowhere, and what the user does not find at its place."""
    findings = []
    haystack = Reachable(repository, kept)
    for path, text in expected.files.items():
        if read(repository / path) == text:
            continue
        if haystack.has(text):
            findings.append((DIRT, "%s of the user's is not at its place" % path))
        else:
            findings.append((LOST, "%s of the user's is nowhere" % path))
    findings += [(LOST, "%s: nowhere" % words) for text, words in expected.texts.items() if not haystack.has(text)]
    findings += [(LOST, "%s: no ref and no reflog reaches it" % words)
                 for commit, words in expected.commits.items() if commit not in haystack.commits]
    return findings


class Reachable:
    """What can be found again: files, and blobs that a ref, a reflog, a stash entry or the index names."""

    def __init__(self, repository: Path, kept: List[Path]) -> None:
        self.repository = repository
        self.roots = [repository] + kept
        self.commits: Set[str] = set(
            git(repository, "rev-list", "--all", "--reflog", "HEAD").split()
            or git(repository, "rev-list", "--all", "--reflog").split())
        self.blobs: Optional[bytes] = None

    def has(self, text: str) -> bool:
        """Returns whether the line of the text that is like no other is anywhere."""
        token = text.strip().splitlines()[-1].encode()
        return self.in_files(token) or token in self.all_blobs()

    def in_files(self, token: bytes) -> bool:
        """Returns whether a file holds it, in the work tree, below .git, or where a tool keeps things."""
        for root in self.roots:
            for directory, _, names in os.walk(root):
                for name in names:
                    if token in read_bytes(Path(directory, name)):
                        return True
        return False

    def all_blobs(self) -> bytes:
        """Returns every blob that is reached, one after the other."""
        if self.blobs is None:
            listed = (git(self.repository, "rev-list", "--objects", "--all", "--reflog", "--indexed-objects")
                      or git(self.repository, "rev-list", "--objects", "--all", "--reflog"))
            objects = "".join(line.split(" ", 1)[0] + "\n" for line in listed.splitlines())
            self.blobs = subprocess.run(
                ["git", "-C", str(self.repository), "cat-file", "--batch", "--buffer"], input=objects.encode(),
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, env=environment()).stdout
        return self.blobs


def dirt(repository: Path, expected: Expected, ended: Ended) -> List[str]:
    """Returns what somebody has to clean up."""
    found = ["a process is still running: %s" % name for name in ended.left]
    directory = repository / ".git"
    for lock in sorted(directory.rglob("*.lock")):
        inside = lock.relative_to(directory)
        # A tool may keep locks of its own in a directory of its own.
        if len(inside.parts) == 1 or inside.parts[0] == "refs":
            found.append("a lock of git's is left: %s" % inside)
    for name in ("MERGE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge", "rebase-apply"):
        if (directory / name).exists():
            found.append("an operation of git's is unfinished: %s" % name)
    head = git(repository, "symbolic-ref", "--short", "-q", "HEAD").strip()
    if not head:
        found.append("HEAD is detached")
    elif head != expected.branch and head not in ended.output:
        found.append("the branch %s is checked out, and the tool does not say so" % head)
    if expected.base and not contains(repository, expected.base):
        found.append("the user's last commit is no longer part of the branch")
    for path in expected.private:
        if git(repository, "ls-tree", "HEAD", "--", path):
            found.append("%s, which was ignored, is committed" % path)
    trees = git(repository, "worktree", "list", "--porcelain").count("worktree ")
    if trees > 1:
        found.append("%d work trees are left" % (trees - 1))
    return found


def contains(repository: Path, commit: str) -> bool:
    """Returns whether HEAD contains the commit."""
    return subprocess.run(["git", "-C", str(repository), "merge-base", "--is-ancestor", commit, "HEAD"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                          env=environment()).returncode == 0


def read(path: Path) -> Optional[str]:
    """Returns the text of a file, or None."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None


def read_bytes(path: Path) -> bytes:
    """Returns the bytes of an ordinary file that is not too large, or nothing."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_FILE:
            return b""
        return path.read_bytes()
    except OSError:
        return b""


def environment() -> Dict[str, str]:
    """Returns an environment in which git reads no configuration of the tool's or of this machine's."""
    return {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def git(repository: Path, *arguments: str) -> str:
    """Returns what git prints, or nothing if it fails."""
    ended = subprocess.run(["git", "-C", str(repository), *arguments], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, env=environment())
    return ended.stdout.decode(errors="replace") if ended.returncode == 0 else ""
