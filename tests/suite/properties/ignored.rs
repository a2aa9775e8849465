//! What git ignores, in directories where there is nothing else: it stays where it is, whatever becomes of
//! an attempt.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::Sandbox;

/// More than git-ralph copies.
const LARGE: usize = 2_000_000;

/// Ignored files in directories without a tracked file, and directories that ignore themselves.
fn with_ignored() -> Sandbox {
    let sandbox = Sandbox::dirty();
    sandbox.write("data/large.log", &"x".repeat(LARGE));
    sandbox.write("data/deep/.env", "SECRET=2\n");
    sandbox.write("src/logs/small.log", "line\n");
    sandbox.write("only/target/built", "built\n");
    sandbox.write(".venv/.gitignore", "*\n");
    sandbox.write(".venv/bin/python", "python\n");
    sandbox.write(".venv/lib/large", &"y".repeat(LARGE));
    sandbox.write(".husky/_/.gitignore", "*");
    sandbox.write(".husky/_/pre-commit", "hook\n");
    fs::create_dir_all(sandbox.top.join("data/empty")).unwrap();
    sandbox
}

/// Does something to a loop, and asserts that the work tree is byte for byte, and file for file, as before.
#[track_caller]
fn touches_nothing(sandbox: &Sandbox, what: impl FnOnce()) {
    let before = (sandbox.files(), sandbox.mtimes());
    what();
    let after = (sandbox.files(), sandbox.mtimes());
    let names = |files: &std::collections::BTreeMap<std::path::PathBuf, String>| {
        files.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&before.0), names(&after.0));
    assert!(before == after, "a file was changed");
}

#[test]
fn abort_leaves_ignored_files_where_they_are() {
    let sandbox = with_ignored();
    touches_nothing(&sandbox, || {
        sandbox.start();
        sandbox.ralph(&["abort"]).exits(0);
    });
    touches_nothing(&sandbox, || {
        sandbox.start();
        sandbox.ralph(&["start", "add-login", "--restart"]).exits(0);
    });
}

#[test]
fn a_failed_attempt_leaves_ignored_files_where_they_are() {
    let sandbox = with_ignored();
    touches_nothing(&sandbox, || {
        sandbox.start();
        sandbox.step("next", &sandbox.failing("")).exits(3);
    });
    touches_nothing(&sandbox, || {
        sandbox.step("retry", &sandbox.failing("echo x >new")).exits(3);
    });
    touches_nothing(&sandbox, || {
        sandbox.ralph(&["revert"]).exits(0);
        sandbox.ralph(&["abort"]).exits(0);
    });
}

#[test]
fn ignored_files_that_an_attempt_deleted_come_back_or_are_named() {
    let sandbox = with_ignored();
    sandbox.write("only/target/large", &"x".repeat(LARGE));
    let before = sandbox.files();
    sandbox.start();
    let output = sandbox
        .step("next", &sandbox.failing("rm -rf data/deep only"))
        .exits(3)
        .says("gone from its place, and there is no copy to put back: only/target");
    output.says("back at checkpoint");
    assert_eq!(sandbox.read("data/deep/.env"), "SECRET=2\n");
    let output = sandbox
        .step("retry", &sandbox.failing("rm data/large.log"))
        .exits(3);
    output.says("gone from its place, and there is no copy to put back: data/large.log");
    let output = sandbox.ralph(&["abort"]).exits(0);
    output.says("gone from its place, and there is no copy to put back: data/large.log, only/target");
    let after = sandbox.files();
    let missing = before.keys().filter(|path| !after.contains_key(*path));
    let missing: Vec<_> = missing.map(|path| path.to_str().unwrap()).collect();
    assert_eq!(
        missing,
        [
            "data/large.log",
            "only",
            "only/target",
            "only/target/built",
            "only/target/large"
        ]
    );
}

#[test]
fn a_repository_of_the_users_that_an_attempt_deleted_is_named() {
    let sandbox = Sandbox::new();
    sandbox.git(&["init", "-q", "vendor/tool"]);
    sandbox.write("vendor/tool/f", "x\n");
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("rm -rf vendor/tool"))
        .exits(3)
        .says("gone from its place, and there is no copy to put back: vendor/tool");
}

#[test]
fn permissions_of_ignored_files_come_back_even_if_the_copies_lost_theirs() {
    let sandbox = with_ignored();
    let env = sandbox.top.join("data/deep/.env");
    fs::set_permissions(&env, Permissions::from_mode(0o600)).unwrap();
    sandbox.start();
    sandbox.step("next", &sandbox.failing("chmod -R 755 .")).exits(3);
    assert_eq!(env.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn failed_attempt_returns_ignored_files_renamed_with_a_directory() {
    let sandbox = with_ignored();
    for path in ["pk/web/a.js", "pk/web/node_modules/.gitignore"] {
        sandbox.write(path, "*\n");
    }
    sandbox.write("pk/web/node_modules/i.js", &"i".repeat(LARGE));
    sandbox.write("pk/web/dev.log", &"d".repeat(LARGE));
    sandbox.git(&["add", "pk/web/a.js"]);
    let before = sandbox.files();
    sandbox.start();
    let output = sandbox
        .step("next", &sandbox.failing("git mv pk apps; mv data data.old"))
        .exits(3)
        .says("it is back in its place: data/deep");
    assert!(!output.stderr.contains("no copy"), "{}", output.stderr);
    assert_eq!(sandbox.files(), before);
    // A complete story may do it; abort knows where things were.
    let agent = sandbox.completing("git mv pk apps");
    sandbox.step("retry", &agent).exits(0);
    assert!(sandbox.top.join("apps/web/node_modules/i.js").exists());
    sandbox
        .ralph(&["abort"])
        .exits(0)
        .says("it is back in its place: pk/web/dev.log, pk/web/node_modules");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn step_does_not_take_a_hard_link_for_a_renamed_file() {
    let sandbox = with_ignored();
    sandbox.write("mine.txt", "mine\n");
    fs::hard_link(sandbox.top.join("mine.txt"), sandbox.top.join("data/mine.log")).unwrap();
    let before = sandbox.files();
    sandbox.start();
    let agent = sandbox.failing("rm data/mine.log");
    let output = sandbox.step("next", &agent).exits(3);
    assert!(!output.stderr.contains("renamed"), "{}", output.stderr);
    let kept = sandbox.git(&["ls-tree", "--name-only", "refs/ralph/add-login/attempts/1/1"]);
    assert!(kept.contains("mine.txt"), "{kept}");
    assert_eq!(sandbox.files(), before);
}

#[test]
fn failed_attempt_removes_only_its_own_files_beside_ignored_ones() {
    let sandbox = with_ignored();
    sandbox.start();
    touches_nothing(&sandbox, || {
        let script =
            "echo x >data/new; mkdir data/deep/er .venv/new; echo x >data/deep/er/x; mkfifo data/pipe
             mkdir data/log; echo x >data/log/a.log";
        sandbox.step("next", &sandbox.failing(script)).exits(3);
        // Ignored as a whole, as what an attempt builds: it may stay.
        fs::remove_dir(sandbox.top.join(".venv/new")).unwrap();
    });
}

#[test]
fn ignored_files_made_after_the_start_stay_too() {
    let sandbox = Sandbox::started();
    sandbox
        .step(
            "next",
            &sandbox.completing("mkdir venv; echo '*' >venv/.gitignore; echo p >venv/python; echo x >x"),
        )
        .exits(0);
    sandbox.write("later/large.log", &"x".repeat(LARGE));
    touches_nothing(&sandbox, || {
        sandbox.step("next", &sandbox.failing("echo x >y")).exits(3);
        sandbox
            .step("retry", &sandbox.failing("rm venv/.gitignore"))
            .exits(3);
    });
    sandbox.write("after/large.log", &"x".repeat(LARGE));
    sandbox.write("edited", "by hand\n");
    sandbox.ralph(&["revert"]).exits(0);
    assert!(!sandbox.top.join("edited").exists());
    sandbox.ralph(&["abort"]).exits(0);
    for large in ["later/large.log", "after/large.log"] {
        assert_eq!(sandbox.read(large).len(), LARGE, "{large}");
    }
}

#[test]
fn a_complete_story_may_put_files_beside_ignored_ones() {
    let sandbox = Sandbox::dirty();
    sandbox.write("pkg/m.log", "old\n");
    sandbox.start();
    let output = sandbox
        .step("next", &sandbox.completing("echo code >pkg/m.py"))
        .exits(0);
    assert!(!output.stderr.contains("left out"), "{}", output.stderr);
    assert_eq!(sandbox.git(&["show", "HEAD:pkg/m.py"]), "code");
    sandbox
        .step("next", &sandbox.failing("echo x >>README.md"))
        .exits(3);
    assert_eq!(sandbox.read("pkg/m.py"), "code\n");
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.read("pkg/m.py"), "code\n");
    assert_eq!(sandbox.read("pkg/m.log"), "old\n");
}

#[test]
fn undo_removes_a_new_directory_with_its_ignored_files() {
    let sandbox = Sandbox::started();
    let before = sandbox.files();
    let script = "mkdir -p p/q r/target; echo x >p/m; echo x >p/q/m.log; echo x >r/target/o";
    sandbox.step("next", &sandbox.failing(script)).exits(3);
    assert_eq!(sandbox.files(), before);
    // Of a story that is undone too.
    sandbox.step("retry", &sandbox.completing(script)).exits(0);
    sandbox
        .ralph(&["abort"])
        .exits(0)
        .says("what git ignores in p/ went with it to ");
    assert!(!sandbox.top.join("p").exists());
    // Nothing of it was ever in a checkpoint: it may be anybody's.
    assert_eq!(sandbox.read("r/target/o"), "x\n");
}

#[test]
fn step_reads_an_older_record_with_whole_directories() {
    let sandbox = with_ignored();
    sandbox.start();
    let unversioned = sandbox.top.join(".git/ralph/add-login/slots/1/unversioned");
    for kept in ["inventory", "inventory.start"] {
        let _ = fs::remove_file(unversioned.join(kept));
    }
    let ignored = sandbox.git(&["ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory"]);
    assert!(ignored.contains("src/logs/\0") && ignored.contains(".venv/\0"));
    fs::write(unversioned.join("ignored"), ignored).unwrap();
    fs::write(unversioned.join("empty"), "data/empty/\0").unwrap();
    touches_nothing(&sandbox, || {
        sandbox.step("next", &sandbox.failing("echo x >y")).exits(3);
        sandbox.ralph(&["abort"]).exits(0);
    });
}

#[test]
fn ignored_files_stay_if_the_record_is_gone() {
    let sandbox = with_ignored();
    sandbox.start();
    touches_nothing(&sandbox, || {
        let script = "rm -r .git/ralph/add-login/slots/1/unversioned; echo x >data/new";
        sandbox.step("next", &sandbox.failing(script)).exits(3);
    });
}

#[test]
fn ignored_files_of_a_submodule_stay() {
    let sandbox = Sandbox::new();
    sandbox.add_submodule();
    sandbox.write(".git/modules/lib/info/exclude", "*.log\n");
    sandbox.write("lib/logs/large.log", &"x".repeat(LARGE));
    sandbox.start();
    touches_nothing(&sandbox, || {
        sandbox
            .step("next", &sandbox.failing("echo x >lib/new; echo x >lib/logs/new"))
            .exits(3);
    });
}

/// What `git clean -fdxq` takes in a repository with settings, an environment and what was built.
fn with_built() -> Sandbox {
    let sandbox = Sandbox::new();
    let ignore = "*.local\n*.o\n*.tsbuildinfo\n.installed\n.idea/\n.deps/\ndist/\nenv/\n";
    sandbox.write(".gitignore", ignore);
    sandbox.git(&["commit", "-qam", "ignore"]);
    for (path, text) in [
        ("src/settings.local", "SECRET=1\n"),
        ("src/main.o", "object\n"),
        ("main.tsbuildinfo", "{}\n"),
        (".installed", ""),
        (".idea/workspace.xml", "<x/>\n"),
        (".idea/codeStyles/Project.xml", "<y/>\n"),
        (".deps/main.d", "main.o: main.h\n"),
        ("dist/main.js", "js\n"),
        ("env/bin/python", "python\n"),
    ] {
        sandbox.write(path, text);
    }
    symlink("python", sandbox.top.join("env/bin/python3")).unwrap();
    symlink("workspace.xml", sandbox.top.join(".idea/link")).unwrap();
    for path in [".idea/workspace.xml", ".idea/codeStyles"] {
        fs::set_permissions(sandbox.top.join(path), Permissions::from_mode(0o700)).unwrap();
    }
    sandbox
}

#[test]
fn small_ignored_directories_come_back() {
    let sandbox = with_built();
    let mut before = sandbox.files();
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("chmod -R go+rwx .; git clean -fdxq"))
        .exits(3)
        .says("there is no copy to put back: main.tsbuildinfo, src/main.o");
    for built in ["main.tsbuildinfo", "src/main.o"] {
        before.remove(Path::new(built));
    }
    assert_eq!(sandbox.files(), before);
    // What is there, and what a complete story deleted, is left alone.
    let agent = sandbox.completing("rm -r .deps; rm .idea/codeStyles/Project.xml");
    sandbox.step("retry", &agent).exits(0);
    sandbox.step("next", &sandbox.failing("rm .idea/link")).exits(3);
    assert!(!sandbox.top.join(".deps").exists() && !sandbox.top.join(".idea/link").exists());
    sandbox.step("retry", &sandbox.failing("rm -r .idea")).exits(3);
    assert!(!sandbox.top.join(".idea/codeStyles/Project.xml").exists());
    assert_eq!(sandbox.read(".idea/workspace.xml"), "<x/>\n");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.read(".deps/main.d"), "main.o: main.h\n");
}

#[test]
fn step_does_not_restore_build_stamps_without_their_build() {
    let sandbox = with_built();
    sandbox.write("env/large", &"x".repeat(LARGE));
    sandbox.start();
    let output = sandbox
        .step("next", &sandbox.failing("git clean -fdxq; echo x >src/main.o"))
        .exits(3);
    output
        .says("there is no copy to put back: env, main.tsbuildinfo")
        .says("not put back without env, which may be what it was made with: .deps, .installed");
    let left = |name: &str| sandbox.top.join(name).exists();
    assert_eq!(
        [".installed", ".deps", "env", "dist", ".idea"].map(left),
        [false, false, false, true, true]
    );
    assert_eq!(sandbox.read("src/settings.local"), "SECRET=1\n");
    let agent = sandbox.failing("cat >\"$notes/prompt\"");
    sandbox.step("retry", &agent).exits(3);
    let prompt = sandbox.noted("prompt");
    assert!(prompt.contains("it is red"), "{prompt}");
    assert!(
        prompt.contains("could not be put back: env, main.tsbuildinfo, .deps, .installed"),
        "{prompt}"
    );
}

#[test]
fn many_ignored_files_do_not_take_the_place_of_a_small_one() {
    let sandbox = with_built();
    for number in 0..1100 {
        sandbox.write(&format!("src/a{number}.local"), "some generated thing\n");
    }
    sandbox.start();
    let agent = sandbox.failing("rm src/*.local");
    let output = sandbox.step("next", &agent).exits(3);
    assert!(!output.stderr.contains("no copy"), "{}", output.stderr);
    assert_eq!(sandbox.read("src/settings.local"), "SECRET=1\n");
    assert_eq!(sandbox.read("src/a1099.local"), "some generated thing\n");
}

#[test]
fn step_treats_a_directory_that_ignores_itself_as_a_whole() {
    let sandbox = with_ignored();
    sandbox.start();
    sandbox
        .step("next", &sandbox.failing("rm -r .venv .husky"))
        .exits(3)
        .says("there is no copy to put back: .venv\n");
    assert_eq!(sandbox.read(".husky/_/pre-commit"), "hook\n");
    assert!(!sandbox.top.join(".venv").exists());
}

#[test]
fn complete_story_names_deleted_ignored_files_and_their_copy() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "*.local\nbuilt.o\n");
    sandbox.write("secret.local", "mine\n");
    sandbox.write("built.o", "made\n");
    sandbox.start();
    let told = sandbox
        .step("next", &sandbox.completing("rm secret.local built.o; echo x >x"))
        .exits(0)
        .stderr;
    let line = told.lines().find(|line| line.contains("it stays deleted"));
    let (names, copy) = line.unwrap().split_once("; a copy is ").unwrap();
    assert!(names.ends_with(": secret.local"), "{names}");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "mine\n");
    let next = sandbox.step("next", &sandbox.completing("echo y >y")).exits(0);
    assert!(!next.stderr.contains("it stays deleted"), "told once");
}

#[test]
fn failed_attempt_restores_an_ignored_link_with_its_target() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "/link*\n");
    sandbox.write("link-target/file", "mine\n");
    for (name, target) in [
        ("link-1", "link-target/file"),
        ("link-2", "/nowhere"),
        ("link-3", "link-target"),
    ] {
        symlink(target, sandbox.top.join(name)).unwrap();
    }
    sandbox.start();
    let before = sandbox.files();
    let output = sandbox
        .step("next", &sandbox.failing("rm link-1 link-2 link-3"))
        .exits(3);
    assert!(!output.stderr.contains("no copy"), "{}", output.stderr);
    assert_eq!(sandbox.files(), before);
    // What an agent puts in its place stays, and one that is where it was is no news.
    let harm = "rm link-3; mkdir link-3; ln -sfn elsewhere link-2";
    let output = sandbox.step("retry", &sandbox.failing(harm)).exits(3);
    assert!(!output.stderr.contains("link-1"), "{}", output.stderr);
    assert_eq!(
        fs::read_link(sandbox.top.join("link-2")).unwrap(),
        Path::new("elsewhere")
    );
    assert!(sandbox.top.join("link-3").is_dir());
}

/// A rule that hides itself hides what is made later, too, and git lists none of it.
#[test]
fn rules_that_a_gate_or_a_reviewer_makes_do_not_stay() {
    for setting in ["ralph.verify", "ralph.review"] {
        let sandbox = Sandbox::new();
        let script = sandbox.agent("if test -e new; then echo '*' >src/.gitignore; fi; accept");
        sandbox.configure(setting, &script);
        sandbox.ralph(&["start", "--allow-red"]).exits(0);
        sandbox
            .step("next", &sandbox.completing("echo 1 >new"))
            .exits(0)
            .says("src/.gitignore was made during");
        assert!(!sandbox.top.join("src/.gitignore").exists());
        sandbox
            .step("next", &sandbox.completing("echo 2 >src/two"))
            .exits(0);
        assert_eq!(sandbox.git(&["show", "HEAD:src/two"]), "2");
    }
}

#[test]
fn files_are_named_that_a_rule_of_the_attempt_hides() {
    let sandbox = Sandbox::started();
    let agent = sandbox.completing("echo '*' >src/.gitignore; echo 1 >src/one; echo new >new");
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("warning: not in the checkpoint, because src/.gitignore hides them: src/one");
    sandbox
        .step("next", &sandbox.completing("echo 2 >src/two; echo new >>new"))
        .exits(0)
        .says("src/two");
}

#[test]
fn new_files_of_the_work_that_an_older_rule_ignores_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "lib/\nnode_modules/\n*.log\n");
    sandbox.write("src/a.py", "1\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "rules"]);
    sandbox.start();
    let agent = sandbox.completing(
        "mkdir -p lib/deep node_modules/x; for f in lib/b.py lib/deep/c.py node_modules/x/d.py lib/e.log; do
             echo 1 >$f; done; echo 2 >src/a.py",
    );
    let words = "git ignores these new files, so no checkpoint has them (git add -f takes them in): ";
    let told = sandbox.step("next", &agent).exits(0).stderr;
    let names = told.lines().find_map(|line| line.strip_prefix(words));
    assert_eq!(names, Some("lib/b.py, lib/deep/c.py"), "{told}");
    // They are not new any more.
    let told = sandbox
        .step("next", &sandbox.completing("echo 3 >src/a.py"))
        .exits(0);
    assert!(!told.stderr.contains(words), "{}", told.stderr);
}
