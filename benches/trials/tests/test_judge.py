"""Plants results for the judge, good and bad, and looks at what it says."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from trials import scene  # noqa: E402
from trials.judge import (DIRT, FALSE_DONE, GOOD, LOST, NO_RESULT, STUCK, Claim, Ended, Expected,  # noqa: E402
                          Verdict, judge)

DONE = Ended(0, "all stories are done")


class Planted(unittest.TestCase):
    """A repository in which both stories are done and everything of the user's is at its place."""

    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.kept = Path(self.directory.name, "kept")
        self.kept.mkdir()
        self.top = Path(self.directory.name, "repository")
        self.top.mkdir()
        self.git("init", "-q", "-b", scene.BRANCH)
        for path, text in scene.files().items():
            self.write(path, text)
        self.commit("Begin")
        self.base = self.git("rev-parse", "HEAD")
        self.write(".env", scene.ENV)
        self.write("notes.txt", scene.NOTES)
        for story in scene.STORIES:
            self.write(scene.path(story), scene.text(story))
        self.expected = Expected(
            branch=scene.BRANCH, stories={scene.path(story): scene.text(story) for story in scene.STORIES},
            files={".env": scene.ENV, "notes.txt": scene.NOTES}, commits={self.base: "the last commit"},
            base=self.base, private=(".env",))

    def write(self, path: str, text: str) -> None:
        """Writes a file of the repository."""
        target = self.top / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def git(self, *arguments: str) -> str:
        """Runs git, and returns what it prints."""
        environment = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="a",
                           GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b")
        return subprocess.run(["git", *arguments], cwd=str(self.top), check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment).stdout.strip()

    def commit(self, words: str) -> None:
        """Commits everything that is not ignored."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", words)

    def judged(self, ended: Ended = DONE, admits: str = "") -> Verdict:
        """Returns the verdict on what is there."""
        return judge(self.top, [self.kept], self.expected, ended, Claim(admits))

    def is_judged(self, kind: str, words: str, verdict: Verdict) -> None:
        """Fails unless the verdict is of this kind, and says this."""
        self.assertEqual(verdict.kind, kind, verdict.findings)
        said: List[str] = [text for kind_of, text in verdict.findings if kind_of == kind]
        self.assertTrue(any(words in text for text in said), said)


class Good(Planted):
    def test_all_is_done_and_at_its_place(self) -> None:
        self.assertEqual(self.judged().kind, GOOD)

    def test_committed_work_is_at_its_place_too(self) -> None:
        self.commit("Both")
        self.assertEqual(self.judged().kind, GOOD)

    def test_an_honest_end_is_good_where_no_other_is_possible(self) -> None:
        self.expected.completable = False
        self.write(scene.path("alpha"), "alpha is broken\n")
        self.assertEqual(self.judged(Ended(1, "alpha failed")).kind, GOOD)

    def test_another_branch_is_no_dirt_if_the_tool_names_it(self) -> None:
        self.git("switch", "-q", "-c", "loop/one")
        self.assertEqual(self.judged(Ended(0, "you are on loop/one")).kind, GOOD)


class Lost(Planted):
    def test_a_file_of_the_users_that_is_nowhere(self) -> None:
        (self.top / "notes.txt").unlink()
        self.is_judged(LOST, "notes.txt", self.judged())

    def test_a_file_of_the_users_that_was_overwritten(self) -> None:
        self.write(".env", "KEY=other\n")
        self.is_judged(LOST, ".env", self.judged())

    def test_what_only_a_dangling_blob_has_is_lost(self) -> None:
        self.git("add", "notes.txt")
        self.git("rm", "-q", "-f", "notes.txt")
        self.is_judged(LOST, "notes.txt", self.judged())

    def test_a_commit_that_nothing_reaches(self) -> None:
        self.commit("Both")
        gone = self.git("commit-tree", "HEAD^{tree}", "-m", "spike")
        self.expected.commits[gone] = "the branch spike"
        self.is_judged(LOST, "spike", self.judged())

    def test_what_was_staged_and_is_nowhere(self) -> None:
        self.expected.texts["staged-text"] = "what was staged"
        self.is_judged(LOST, "what was staged", self.judged())

    def test_it_is_worse_than_everything_else(self) -> None:
        (self.top / "notes.txt").unlink()
        (self.top / scene.path("beta")).unlink()
        verdict = self.judged(Ended(0, "done", ["server"]))
        self.assertEqual([kind for kind, _ in verdict.findings], [LOST, FALSE_DONE, DIRT])


class Kept(Planted):
    """What is not at its place, but can be found, is no loss."""

    def moved(self) -> None:
        verdict = self.judged()
        self.is_judged(DIRT, "not at its place", verdict)

    def test_in_a_stash(self) -> None:
        self.commit("Both")
        self.write("notes.txt", "token-other\n")
        self.expected.files["notes.txt"] = "token-other\n"
        self.git("stash", "push", "-q")
        self.moved()

    def test_in_a_reflog(self) -> None:
        self.git("add", "notes.txt")
        self.git("commit", "-q", "-m", "notes")
        self.git("reset", "-q", "--hard", self.base)
        for story in scene.STORIES:
            self.write(scene.path(story), scene.text(story))
        self.moved()

    def test_in_a_ref_of_a_tool(self) -> None:
        self.git("add", "notes.txt")
        tree = self.git("write-tree")
        self.git("update-ref", "refs/tool/attempt", self.git("commit-tree", tree, "-m", "kept"))
        self.git("rm", "-q", "-f", "notes.txt")
        self.moved()

    def test_in_the_index(self) -> None:
        self.git("add", "notes.txt")
        (self.top / "notes.txt").unlink()
        self.moved()

    def test_in_a_directory_of_the_tool(self) -> None:
        (self.top / "notes.txt").rename(self.kept / "notes.saved")
        self.moved()

    def test_below_the_git_directory(self) -> None:
        (self.top / "notes.txt").rename(self.top / ".git" / "trash")
        self.moved()


class FalseDone(Planted):
    def test_a_story_that_is_not_there(self) -> None:
        (self.top / scene.path("beta")).unlink()
        self.is_judged(FALSE_DONE, "src/beta.txt", self.judged())

    def test_a_story_that_is_wrong(self) -> None:
        self.write(scene.path("alpha"), "alpha is broken\n")
        self.is_judged(FALSE_DONE, "src/alpha.txt", self.judged())

    def test_an_exit_code_is_no_claim_if_the_words_say_otherwise(self) -> None:
        self.write(scene.path("alpha"), "alpha is broken\n")
        self.is_judged(NO_RESULT, "says so", self.judged(Ended(0, "stopped: 1 of 2 failed"), r"\d failed"))

    def test_an_error_is_no_claim(self) -> None:
        self.write(scene.path("alpha"), "alpha is broken\n")
        self.is_judged(NO_RESULT, "says so", self.judged(Ended(1, "all is done")))


class Dirt(Planted):
    def test_a_process(self) -> None:
        self.is_judged(DIRT, "still running: server", self.judged(Ended(0, "done", ["server"])))

    def test_a_process_after_ctrl_c(self) -> None:
        self.is_judged(DIRT, "after Ctrl-C", self.judged(Ended(0, "done", [], ["after Ctrl-C: server"])))

    def test_a_lock(self) -> None:
        (self.top / ".git" / "index.lock").write_text("")
        self.is_judged(DIRT, "index.lock", self.judged())

    def test_a_lock_of_a_ref(self) -> None:
        (self.top / ".git" / "refs" / "heads" / "main.lock").write_text("")
        self.is_judged(DIRT, "main.lock", self.judged())

    def test_a_detached_head(self) -> None:
        self.git("checkout", "-q", "--detach")
        self.is_judged(DIRT, "detached", self.judged())

    def test_another_branch(self) -> None:
        self.git("switch", "-q", "-c", "feature/alpha")
        self.is_judged(DIRT, "feature/alpha", self.judged())

    def test_a_commit_of_the_users_that_was_rewritten(self) -> None:
        self.git("commit", "-q", "--amend", "--allow-empty", "-m", "Other")
        self.is_judged(DIRT, "last commit", self.judged())

    def test_an_ignored_file_in_a_commit(self) -> None:
        self.git("add", "-f", ".env")
        self.git("commit", "-q", "-m", "All")
        self.is_judged(DIRT, ".env", self.judged())

    def test_a_work_tree(self) -> None:
        self.git("worktree", "add", "-q", "--detach", str(Path(self.directory.name, "tree")))
        self.is_judged(DIRT, "work tree", self.judged())

    def test_an_unfinished_merge(self) -> None:
        (self.top / ".git" / "MERGE_HEAD").write_text(self.base + "\n")
        self.is_judged(DIRT, "MERGE_HEAD", self.judged())


class Ends(Planted):
    def test_no_end(self) -> None:
        self.is_judged(STUCK, "limit", self.judged(Ended(None, "")))

    def test_an_honest_failure(self) -> None:
        (self.top / scene.path("beta")).unlink()
        self.is_judged(NO_RESULT, "says so", self.judged(Ended(1, "beta failed")))

    def test_work_that_is_done_and_not_said(self) -> None:
        self.is_judged(NO_RESULT, "which they are", self.judged(Ended(1, "gave up")))


if __name__ == "__main__":
    unittest.main()
