//! States of a user's tree at the start, each a script in the repository.

use std::os::unix::fs::lchown;

use crate::installed;
use crate::support::Sandbox;

/// One state.
pub struct State {
    /// Its name.
    pub name: &'static str,
    /// Makes it of the standard repository.
    pub script: &'static str,
    /// Where the commands are typed, below the top.
    pub dir: &'static str,
    /// The umask of every command up to the start.
    pub umask: &'static str,
    /// The umask of the commands after it.
    pub later_umask: &'static str,
    /// What the environment holds besides.
    pub env: &'static [(&'static str, &'static str)],
    /// Whether `git status` tells of differences that are none of the loop's.
    pub status_differs: bool,
    /// A program besides git without which it cannot be made.
    pub program: Option<&'static str>,
    /// What belongs to root then, as a container leaves it, while the commands are somebody else's.
    pub of_root: &'static [&'static str],
}

impl State {
    /// Returns a sandbox for it; `None`, and says why, where what it needs is missing.
    pub fn sandbox(&self) -> Option<Sandbox> {
        if self.of_root.is_empty() {
            return self.program.is_none_or(installed).then(Sandbox::new);
        }
        Sandbox::unprivileged().filter(|_| gives_away())
    }

    /// Gives root what belongs to it.
    pub fn give(&self, sandbox: &Sandbox) {
        for path in self.of_root {
            lchown(sandbox.top.join(path), Some(0), Some(0)).unwrap();
        }
    }
}

/// Returns whether whoever runs the tests can give files to root; says so if not.
#[expect(clippy::print_stderr, reason = "what a test leaves out has to be told")]
pub fn gives_away() -> bool {
    let is_root = nix::unistd::Uid::effective().is_root();
    if !is_root {
        eprintln!("only root gives files away: what needs files of root's is left out");
    }
    is_root
}

/// What every state begins with: more files, another branch, a tag, a stash, ignored files.
pub const COMMON: &str = r#"
for i in 1 2 3 4 5; do echo "file $i" >src/f$i; done
mkdir dir; echo x >dir/x; ln -s nowhere dangling
git add -A; git commit -qm second
git checkout -q -b other; echo other >o; git add o; git commit -qm other; git checkout -q main
git tag v1; echo stashed >>src/f5; git stash -q
chmod 600 .env; mkdir -p target/x; echo built >target/x/o; echo line >a.log
"#;

const fn state(name: &'static str, script: &'static str) -> State {
    State {
        name,
        script,
        dir: "",
        umask: "022",
        later_umask: "022",
        env: &[],
        status_differs: false,
        program: None,
        of_root: &[],
    }
}

/// Every state.
pub const STATES: &[State] = &[
    state("clean", ""),
    state(
        "mixed",
        "echo staged >>src/f1; git add src/f1; echo edited >>src/f1; echo un >untracked; mkdir newd; echo n >newd/n
         rm src/f2; git rm -q --cached src/f3; git mv src/f4 src/f44; chmod +x src/f5; echo i >ita; git add -N ita
         git rm -q old.txt",
    ),
    state(
        "links",
        r#"rm link; ln -s src/f2 link; ln -s ../.. up; printf 'a b' >'sp ace'
         printf x >"$(printf 'nl\nname')"; printf y >"$(printf '\377bin')"; printf z >'q"uo\te'; printf m >-minus"#,
    ),
    state(
        "crlf",
        r"git config core.autocrlf true; git config core.safecrlf true
         printf 'a\r\nb\r\n' >src/f1; printf 'n\r\n' >newcr; printf 'mixed\r\nends\n' >src/f2",
    ),
    state("modes", "chmod 600 src/f1; mkdir -p empty/dir; chmod 700 dir; chmod 777 src/f2; echo s >secret; chmod 400 secret"),
    state(
        "hooks",
        r"mkdir -p .git/hooks
         for h in pre-commit commit-msg post-checkout reference-transaction post-commit post-index-change; do
             printf '#!/bin/sh\nexit 1\n' >.git/hooks/$h; chmod +x .git/hooks/$h
         done
         git config commit.gpgsign true; git config merge.ff false; git config branch.main.mergeOptions --no-ff",
    ),
    state(
        "names",
        "git tag ralph/add-login; git tag HEAD1; echo h >HEAD; echo m >main; git branch main2; echo r >ralph
         git tag main; mkdir refs; echo x >refs/heads",
    ),
    state("detached", "git checkout -q --detach; echo w >>src/f1"),
    state("unborn", "git checkout -q --orphan fresh; git rm -q -r --cached ."),
    State {
        dir: "src/deep",
        ..state("subdirectory", "echo w >>src/f1; echo u >untracked; echo u >src/deep/untracked")
    },
    state(
        "linked_worktree",
        "cp .env a.log ..; cd ..; mv repo store; cd store; git worktree add -q -b side ../repo; cd ../repo
         mv ../.env ../a.log .; mkdir -p target/x; echo built >target/x/o; echo w >>src/f1; echo u >untracked",
    ),
    state(
        "lossy_filter",
        r"git config filter.strip.clean 'sed /^output/d'; echo '*.nb filter=strip' >.gitattributes
         printf 'code\noutput 8 hours\n' >tracked.nb; git add -A; git commit -qm notebook
         printf 'code\noutput 9 hours\n' >tracked.nb; printf 'code\noutput 2\n' >untracked.nb",
    ),
    state(
        "flagged",
        "git update-index --assume-unchanged src/f1; echo mine >>src/f1
         git update-index --skip-worktree src/f2; echo mine >>src/f2",
    ),
    State {
        status_differs: true,
        ..state(
            "sparse",
            "git sparse-checkout set src openspec; mkdir dir; echo mine >dir/x; echo new >dir/new; echo w >>src/f1",
        )
    },
    state(
        "nested",
        "mkdir -p target/lib; cd target/lib; git init -q; echo a >a; cd ../..; echo w >>src/f1",
    ),
    state(
        "ignored_only",
        "mkdir -p logs/deep .venv/bin; echo l >logs/deep/a.log; head -c 2000000 /dev/zero >logs/large.log
         echo '*' >.venv/.gitignore; echo p >.venv/bin/python; echo w >>src/f1",
    ),
    state("special_files", "mkfifo target/pipe; echo w >>src/f1; mkdir -p empty"),
    state(
        "split_index",
        "git config core.splitIndex true; git update-index --split-index; echo w >>src/f1; git add src/f1
         git config core.untrackedCache true; git config index.skipHash false; echo u >untracked",
    ),
    state(
        "many_files",
        "git config feature.manyFiles true; git config core.splitIndex true; git config index.skipHash true
         git update-index --split-index; echo w >>src/f1; git add src/f1; echo u >untracked",
    ),
    state(
        "lying_monitor",
        r"printf '#!/bin/sh\nprintf token\\\\0\n' >.git/monitor; chmod +x .git/monitor; git config core.fsmonitor .git/monitor
         git update-index --fsmonitor; git status >/dev/null; echo w >>src/f1; echo w >>src/f2",
    ),
    state(
        "stale_settings",
        "git config color.ui always; git config status.showUntrackedFiles no; git config core.quotePath true
         git config column.ui always; git config core.ignoreStat true; git config core.checkStat minimal
         git config branch.autoSetupMerge always; git config i18n.commitEncoding latin1; git config submodule.recurse true
         git config merge.verifySignatures true; git config core.logAllRefUpdates false; echo w >>src/f1; echo u >untracked",
    ),
    State {
        env: &[
            ("GIT_INDEX_FILE", "/nonexistent/index"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_EXTERNAL_DIFF", "false"),
            ("LC_ALL", "de_DE.UTF-8"),
            ("LANGUAGE", "de"),
        ],
        ..state("environment", "echo w >>src/f1; echo u >untracked; git add untracked")
    },
    state(
        "no_identity",
        "git config --unset user.name; git config --unset user.email; git config user.useConfigOnly true; echo w >>src/f1",
    ),
    state(
        "attributes_at_home",
        r"git config filter.strip.clean 'sed /^output/d'; mkdir -p $XDG_CONFIG_HOME/git
         echo '*.nb filter=strip' >$XDG_CONFIG_HOME/git/attributes
         printf 'code\noutput 8 hours\n' >tracked.nb; git add -A; git commit -qm notebook
         printf 'code\noutput 9 hours\n' >tracked.nb; printf 'code\noutput 2\n' >untracked.nb",
    ),
    State {
        umask: "077",
        later_umask: "077",
        ..state("strict_umask", "echo w >>src/f1; chmod 644 src/f2; echo u >untracked; mkdir -p empty")
    },
    State {
        umask: "002",
        later_umask: "002",
        ..state("shared_umask", "echo w >>src/f1; chmod 600 src/f2; echo u >untracked; chmod 664 src/f3")
    },
    State {
        umask: "077",
        later_umask: "002",
        ..state("widened_umask", "echo w >>src/f1; chmod 644 src/f2; echo u >untracked; mkdir -p empty; mkdir keys; echo k >keys/k")
    },
    State {
        umask: "002",
        later_umask: "077",
        ..state("narrowed_umask", "echo w >>src/f1; chmod 600 src/f2; echo u >untracked; mkdir -p empty; mkdir keys; echo k >keys/k")
    },
    state(
        "modules",
        "git init -q ../module; cd ../module; git config user.name m; git config user.email m@example.org; echo 1 >m; git add m; git commit -qm m; echo 2 >m; git commit -qam m2
         cd ../repo; git -c protocol.file.allow=always submodule --quiet add ../module part 2>/dev/null
         git commit -qm module; git -C part checkout -q HEAD~1; echo w >>src/f1",
    ),
    // Pointers stay where git-lfs does not bring the content, as on many hosts of CI.
    State {
        program: Some("git-lfs"),
        ..state(
            "large_files",
            r"git lfs install --local --skip-smudge >/dev/null; git lfs track '*.bin' >/dev/null
             for n in 1 2 3; do printf 'large\0%s\n' $n >src/$n.bin; done; git add -A; git commit -qm large
             rm src/3.bin; git checkout -q -- src/3.bin; grep -q '^oid sha256:' src/3.bin
             printf 'changed\0' >src/2.bin; printf 'new\0' >untracked.bin; printf 'staged\0' >staged.bin; git add staged.bin",
        )
    },
    State {
        of_root: &["src/f1", "out/made", "out", "target/x/o", "target/x", "untracked"],
        ..state(
            "of_a_container",
            "mkdir out; echo made >out/made; echo u >untracked; echo w >>src/f1; echo w >>src/f2",
        )
    },
];
