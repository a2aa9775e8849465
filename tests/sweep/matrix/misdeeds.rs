//! What agents do, each a script in the top directory; `g` is git without the
//! user's hooks.

/// One misdeed.
pub struct Misdeed {
    /// Its name.
    pub name: &'static str,
    /// What the agent runs.
    pub script: &'static str,
    /// Whether a story may count as failed because of it, whatever the agent promises.
    pub fails: bool,
}

/// Something that is known not to hold yet.
pub struct Limit {
    /// The misdeeds after which it does not hold.
    pub misdeeds: &'static [&'static str],
    /// The states in which it does not; all, when empty.
    pub states: &'static [&'static str],
    /// Parts of paths or refs; `index`, `commit`, `status` and `permission to write` for those comparisons.
    pub what: &'static [&'static str],
    /// Why.
    pub why: &'static str,
}

/// What is known not to hold, and why.
pub const LIMITS: &[Limit] = &[
    Limit {
        misdeeds: &["delete_all", "delete_hidden", "clean_all"],
        states: &[],
        what: &["target"],
        why: "the content of ignored directories is not kept",
    },
    Limit {
        misdeeds: &["delete_all", "delete_hidden", "clean_all"],
        states: &["ignored_only"],
        what: &["large.log"],
        why: "an ignored file of more than 1 MiB is not kept, and named",
    },
    Limit {
        misdeeds: &["exclude"],
        states: &[],
        what: &["secretfile", "status"],
        why: "what an exclude rule of an attempt hid is left out of the checkpoint, and told",
    },
    Limit {
        misdeeds: &["attributes"],
        states: &["large_files", "lossy_filter", "attributes_at_home"],
        what: &["commit"],
        why: "git looks at a file that nobody touched only by its time: the commit has what earlier rules made of it",
    },
    Limit {
        misdeeds: &["fifos", "unstorable"],
        states: &[],
        what: &["commit", "status", "git~1", ".GIT"],
        why: "what git cannot store a complete story leaves where the agent made it",
    },
    Limit {
        misdeeds: &["no_state"],
        states: &["modes", "special_files", "widened_umask", "narrowed_umask"],
        what: &["src/f1", "src/f2", "secret", "dir", "empty"],
        why: "what brings modes and empty directories back was deleted",
    },
    Limit {
        misdeeds: &["closed_ignored", "nothing_writable", "nothing_readable"],
        states: &[],
        what: &[".env", "target", "a.log"],
        why: "what is ignored keeps the permissions that an agent gave it",
    },
    Limit {
        misdeeds: &["nothing_writable"],
        states: &[],
        what: &["permission to write"],
        why: "a file that lost no more than the right to write it is like the checkpoint's for git",
    },
    Limit {
        misdeeds: &["stash", "stash_elsewhere"],
        states: &[],
        what: &["refs/stash"],
        why: "entries that an attempt put into the stash stay there, above the user's",
    },
    Limit {
        misdeeds: &["stash_dropped"],
        states: &["linked_worktree"],
        what: &["refs/stash"],
        why: "where another work tree may have taken an entry, it is kept in a ref and named",
    },
];

const fn harmless(name: &'static str, script: &'static str) -> Misdeed {
    Misdeed {
        name,
        script,
        fails: false,
    }
}

const fn grave(name: &'static str, script: &'static str) -> Misdeed {
    Misdeed {
        name,
        script,
        fails: true,
    }
}

/// Every misdeed.
pub const MISDEEDS: &[Misdeed] = &[
    harmless("nothing", "true"),
    harmless(
        "edit",
        "echo e >>src/f1; echo n >nf; mkdir -p nd/e; echo n >nd/e/f; rm src/f2; chmod +x src/f3; chmod -x tool",
    ),
    grave("delete_all", "rm -rf ./*"),
    grave("delete_hidden", "rm -rf ./* .gitignore .env"),
    harmless("commit", "echo e >>src/f1; g add -A; g commit -qm agent"),
    grave(
        "amend",
        "echo e >>src/f1; g add -A; g commit -q --amend -m amended",
    ),
    grave("rewind", "g reset -q --hard HEAD~1"),
    grave("soft_rewind", "g reset -q --soft HEAD~1; echo e >>src/f1"),
    grave("other_branch", "g checkout -q -f other; echo z >>o"),
    grave(
        "other_branch_moved",
        "g checkout -q -f other; echo z >>o; g commit -qam moved",
    ),
    harmless(
        "new_branch",
        "g checkout -q -b feat; echo z >z; g add -A; g commit -qm z",
    ),
    harmless(
        "detach",
        "g checkout -q --detach; echo z >z; g add -A; g commit -qm z",
    ),
    grave(
        "delete_branch",
        "g checkout -q --detach; g branch -q -D ralph/add-login; echo z >z",
    ),
    grave(
        "merge",
        "g checkout -q -b t1; echo A >src/f1; g commit -qam A; g checkout -q ralph/add-login; echo B >src/f1
         g commit -qam B; g merge t1",
    ),
    grave(
        "rebase",
        "echo A >src/f1; g commit -qam A; echo B >src/f1; g commit -qam B; GIT_SEQUENCE_EDITOR='sed -i 1d' g rebase -q -i HEAD~2",
    ),
    grave(
        "cherry_pick",
        "echo B >o; g add o; g commit -qm B; g cherry-pick other",
    ),
    grave("bisect", "echo e >>src/f1; g bisect start"),
    harmless(
        "index_lock",
        "touch \"$(git rev-parse --git-path index.lock)\"; echo e >>src/f1",
    ),
    harmless(
        "contradictory_index",
        r"o=$(git hash-object -w src/f1); printf '100644 %s 1\tsrc/f1\n100644 %s 2\tsrc/f1\n' $o $o | git update-index --index-info; echo e >>src/f1",
    ),
    grave("clean_all", "g clean -qfdx; echo e >>src/f1"),
    harmless(
        "hide",
        "echo 'hid*' >>.gitignore; echo h >hidden; mkdir hiddir; echo h >hiddir/h",
    ),
    harmless(
        "hide_tracked",
        "g rm -q --cached src/f1; echo src/f1 >>.gitignore",
    ),
    harmless(
        "hide_deeper",
        "echo '*' >src/.gitignore; echo e >>src/f1; echo n >src/new",
    ),
    harmless("unignore", ": >.gitignore; g add -A"),
    harmless("add_ignored", "g add -f .env target; echo e >>src/f1"),
    harmless(
        "commit_ignored",
        "g add -f .env a.log; echo e >>src/f1; rm .gitignore",
    ),
    harmless("no_ignore", "rm .gitignore; g add -A"),
    harmless(
        "exclude",
        "d=$(git rev-parse --git-path info); mkdir -p $d; echo 'secret*' >>$d/exclude; echo s >secretfile",
    ),
    harmless(
        "closed",
        "chmod 000 src/f1; mkdir cant; echo x >cant/x; chmod 000 cant",
    ),
    harmless("read_only", "echo e >src/new; chmod 555 src"),
    harmless("fifos", "rm src/f1; mkfifo src/f1; mkfifo newfifo"),
    harmless(
        "swap_kinds",
        "rm src/f1; mkdir src/f1; echo x >src/f1/x; rm -r src/deep; echo f >src/deep",
    ),
    harmless(
        "links_out",
        "rm -rf src; ln -s ../outside src; rm link; mkdir link; echo l >link/l",
    ),
    harmless(
        "nested",
        "mkdir app; cd app; git init -q; echo a >a; g add a; g commit -qm a; cd ..; mkdir app2; cd app2; git init -q; echo b >b",
    ),
    harmless(
        "bad_index",
        "echo garbage >\"$(git rev-parse --git-path index)\"; echo e >>src/f1",
    ),
    harmless(
        "no_index",
        "rm -f \"$(git rev-parse --git-path index)\"; echo e >>src/f1",
    ),
    harmless(
        "flags",
        "git update-index --assume-unchanged src/f2; git update-index --skip-worktree src/f3; echo h >>src/f2; echo h >>src/f3",
    ),
    harmless(
        "attributes",
        "echo '* text eol=crlf' >.gitattributes; rm src/f1; g checkout -q src/f1; echo e >>src/f3",
    ),
    harmless(
        "sparse_checkout",
        "g sparse-checkout set src openspec; echo e >>src/f1",
    ),
    harmless(
        "plant_hooks",
        r"h=$(git rev-parse --git-path hooks); mkdir -p $h; printf '#!/bin/sh\ntouch ../outside/evil\nexit 1\n' >$h/post-index-change
         chmod +x $h/post-index-change; cp $h/post-index-change $h/reference-transaction; git config core.hooksPath ../outside; echo e >>src/f1",
    ),
    harmless(
        "same_time",
        "cp -p src/f2 \"$notes/f2\"; printf 'FILE 2\\n' >src/f2; touch -r \"$notes/f2\" src/f2",
    ),
    harmless(
        "no_state",
        "rm -rf \"$(git rev-parse --git-common-dir)/ralph\"; echo e >>src/f1",
    ),
    harmless(
        "background",
        "setsid sh -c 'while :; do echo x >>src/f1; echo y >>bg; sleep 0.01; done' & while [ ! -s bg ]; do :; done",
    ),
    grave("no_directory", "cd ..; rm -rf repo/src repo/dir"),
    grave("stash", "echo e >>src/f1; g stash -q -u"),
    harmless("stash_dropped", "echo e >>src/f1; g stash drop -q"),
    harmless(
        "stash_elsewhere",
        "g worktree add -q --detach \"$notes/tree\"; echo t >>\"$notes/tree/README.md\"; g -C \"$notes/tree\" stash -q; echo e >>src/f1",
    ),
    harmless(
        "submodule_moved",
        "[ ! -e part ] || g mv part moved; echo e >>src/f1",
    ),
    harmless("tags", "git tag -f v1 HEAD; git tag new; echo e >>src/f1"),
    harmless("bare", "git config core.bare true; echo e >>src/f1"),
    harmless("no_modes", "git config core.fileMode false; chmod +x src/f1"),
    grave("no_stories", "rm -rf openspec"),
    grave(
        "stories_are_a_directory",
        "rm openspec/changes/add-login/tasks.md; mkdir openspec/changes/add-login/tasks.md",
    ),
    grave(
        "stories_are_broken",
        "printf '\\377\\000' >openspec/changes/add-login/tasks.md",
    ),
    harmless(
        "gc",
        "echo e >>src/f1; g add -A; g commit -qm agent; g gc -q --prune=now",
    ),
    harmless(
        "unstorable",
        "echo e >>src/f1; mkdir new; echo x >new/.GIT; echo x >git~1; echo x >new/ok",
    ),
    harmless(
        "submodule",
        "git init -q \"$notes/other\"; (cd \"$notes/other\"; g commit -q --allow-empty -m x)
         g -c protocol.file.allow=always submodule add -q \"$notes/other\" sub; echo e >>src/f1",
    ),
    harmless("pack_refs", "git pack-refs --all; echo e >>src/f1"),
    harmless(
        "many",
        "mkdir many; i=0; while [ $i -lt 300 ]; do echo $i >many/$i; i=$((i + 1)); done",
    ),
    harmless(
        "odd_names",
        r#"printf x >"$(printf 'new\nline')"; printf y >"$(printf '\376\377')"; echo q >'a "quote"'; echo m >-rf; echo s >' '"#,
    ),
    harmless(
        "binaries",
        r"for f in ./*.bin src/*.bin; do [ ! -e $f ] || printf 'by the agent\0' >$f; done; rm -f src/2.bin
         printf 'new\0' >agents.bin; g add -A; g commit -qm agent; printf 'more\0' >>agents.bin",
    ),
];

/// What only permissions stop: gone through as somebody whom they bind.
pub const CLOSING: &[Misdeed] = &[
    harmless(
        "closed",
        "chmod 000 src/f1; mkdir cant; echo x >cant/x; chmod 000 cant",
    ),
    harmless("read_only", "echo e >src/new; chmod 555 src"),
    harmless(
        "closed_directory",
        "echo e >>src/f1; chmod 000 src/f2; chmod 000 src",
    ),
    harmless(
        "closed_new",
        "mkdir -p new/deep/er; echo x >new/deep/x; chmod 000 new/deep/x; chmod 500 new/deep/er; chmod 000 new/deep; chmod 555 new",
    ),
    harmless(
        "read_only_top",
        "echo e >>src/f1; echo n >new; rm src/f2; chmod 555 .",
    ),
    harmless("closed_top", "echo e >>src/f1; chmod 000 ."),
    harmless(
        "no_entry",
        "echo e >>src/f1; chmod 600 src; mkdir new; echo x >new/x; chmod 644 new",
    ),
    harmless(
        "closed_ignored",
        "chmod 000 target/x; chmod 000 .env; echo e >>src/f1",
    ),
    harmless(
        "closed_files",
        "chmod 000 src/f3 dir/x tool; chmod 444 src/f2; rm src/f4; mkdir src/f4; chmod 000 src/f4",
    ),
    harmless(
        "closed_repository",
        "mkdir app; cd app; git init -q; echo a >a; g add a; g commit -qm a; chmod 000 .git a; cd ..; chmod 500 app",
    ),
    harmless(
        "closed_rules",
        "echo new >.gitignore; chmod 000 .gitignore; echo x >new; mkdir d; echo '*' >d/.gitignore; chmod 555 d",
    ),
    harmless(
        "closed_git",
        "echo e >>src/f1; g add -A; g commit -qm mine; chmod 444 \"$(git rev-parse --git-path index)\"; chmod 000 \"$(git rev-parse --git-path config)\"",
    ),
    grave(
        "nothing_writable",
        "echo e >>src/f1; mkdir new; echo n >new/n; chmod -R a-w .",
    ),
    grave(
        "nothing_readable",
        "echo e >>src/f1; find . -depth -exec chmod 000 {} +",
    ),
];
