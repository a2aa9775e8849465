//! What git does not see because it converts files: bytes that an attempt changed, and git drops, are undone too.

use std::fs;

use crate::support::{CHANGE, Cmd, Sandbox};

const STRIP: &str = "filter.strip.clean=sed s/out:.*/out:/";

/// A repository with these attributes and this setting, and a committed file of these bytes.
fn converting(setting: &str, attributes: &str, text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    if let Some((name, value)) = setting.split_once('=') {
        sandbox.configure(name, value);
    }
    if !attributes.is_empty() {
        sandbox.write(".gitattributes", attributes);
    }
    sandbox.write("b.txt", text);
    sandbox.write("other.txt", text);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "b"]);
    sandbox.git(&["checkout-index", "-f", "-a"]);
    sandbox
}

/// Each with the bytes at the start and the command that changes what git does not see.
const UNSEEN: [(&str, &str, &str, &str); 6] = [
    ("core.autocrlf=input", "", "a\nb\n", "sed -i 's/$/\\r/' b.txt"),
    ("core.autocrlf=true", "", "a\r\nb\r\n", "sed -i 's/\\r//' b.txt"),
    ("", "* text=auto\n", "a\nb\n", "sed -i 's/$/\\r/' b.txt"),
    ("", "*.txt crlf\n", "a\nb\n", "sed -i 's/$/\\r/' b.txt"),
    ("", "*.txt eol=crlf\n", "a\r\nb\r\n", "sed -i 's/\\r//' b.txt"),
    (
        STRIP,
        "b.txt filter=strip\n",
        "x\nout:\n",
        "echo x >b.txt; echo out: 1 2 3 >>b.txt",
    ),
];

#[test]
fn failed_attempt_undoes_changes_that_a_conversion_hides() {
    for (setting, attributes, text, script) in UNSEEN {
        let sandbox = converting(setting, attributes, text);
        let (files, mtimes) = (sandbox.files(), sandbox.mtimes());
        sandbox.start();
        let output = sandbox.step("next", &sandbox.failing(script)).exits(3);
        assert_eq!(sandbox.files(), files, "{setting} {attributes}");
        sandbox.is_at_checkpoint();
        output.says("bytes that git would not give back are kept in");
        let raw = sandbox.top.join(".git/ralph/add-login/trash/1.1/raw/b.txt");
        assert_ne!(std::fs::read_to_string(raw).unwrap(), text);
        // By a complete story too, until the loop is aborted.
        sandbox.step("retry", &sandbox.completing(script)).exits(0);
        assert_ne!(sandbox.files(), files, "{setting} {attributes}");
        let now = sandbox.files();
        sandbox
            .step("next", &sandbox.failing("echo else >b.txt"))
            .exits(3);
        assert_eq!(sandbox.files(), now, "{setting} {attributes}");
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), files, "{setting} {attributes}");
        let mut untouched = (mtimes, sandbox.mtimes());
        for times in [&mut untouched.0, &mut untouched.1] {
            times.retain(|path, _| !path.ends_with("b.txt") && !path.ends_with("tasks.md"));
        }
        assert_eq!(untouched.0, untouched.1);
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    }
}

/// Runs a command line as a person would.
fn type_in(sandbox: &Sandbox, line: &str) {
    sandbox.cmd("sh").args(["-c", line]).run().exits(0);
}

/// What a person types while a loop lives, after which git would write other bytes.
const RULES_SINCE: [(&str, &str); 5] = [
    ("", "git config core.autocrlf true"),
    (
        "",
        "git config -f .git/on-branch core.autocrlf true; git config 'includeIf.onbranch:ralph/**.path' on-branch",
    ),
    ("* text=auto\n", "git config core.eol crlf"),
    (
        "",
        "mkdir -p .git/info; echo '*.txt text eol=crlf' >.git/info/attributes",
    ),
    (
        "",
        "git config filter.up.smudge 'tr a-z A-Z'; git config filter.up.clean 'tr A-Z a-z'
        mkdir -p .git/info; echo '*.txt filter=up' >.git/info/attributes",
    ),
];

#[test]
fn rules_that_change_while_a_loop_lives_change_no_bytes() {
    for (attributes, rules) in RULES_SINCE {
        let sandbox = converting("", attributes, "a\nb\n");
        sandbox.write("b.txt", "a\nmine\n");
        sandbox.write("new.txt", "new\n");
        let files = sandbox.files();
        sandbox.start();
        type_in(&sandbox, rules);
        let agent = sandbox.failing("echo z | tee -a b.txt other.txt >>new.txt");
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.files(), files, "{rules}");
        let agent = sandbox.completing("echo z | tee -a b.txt other.txt >>new.txt");
        sandbox.step("retry", &agent).exits(0);
        let agent = sandbox.failing("rm b.txt other.txt new.txt");
        let done = sandbox.files();
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.files(), done, "{rules}");
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), files, "{rules}");
    }
}

#[test]
fn rules_that_do_not_allow_the_bytes_of_a_file_stop_nothing() {
    for (rules, text) in [
        ("*.txt text", "a\r\nb\r\n"),
        ("*.txt text eol=crlf", "a\r\nb\r\n"),
        ("*.txt text eol=crlf", "a\r\nb\n"),
    ] {
        let sandbox = converting("", "", text);
        let print = sandbox.files();
        sandbox.start();
        type_in(
            &sandbox,
            &format!("mkdir -p .git/info; echo '{rules}' >.git/info/attributes"),
        );
        for step in ["next", "retry"] {
            let agent = sandbox.failing("echo q >b.txt; chmod 755 other.txt");
            sandbox.step(step, &agent).exits(3);
            assert_eq!(sandbox.files(), print, "{rules}");
        }
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), print, "{rules}");
    }
}

#[test]
fn kept_bytes_come_back_where_git_alone_takes_them_for_changed() {
    let sandbox = converting("core.autocrlf=input", "", "a\nb\n");
    sandbox.write("b.txt", "a\r\nb\r\n");
    type_in(
        &sandbox,
        "git add b.txt; touch -d '1 hour ago' b.txt; git update-index --refresh",
    );
    sandbox.start();
    sandbox.git(&["config", "core.autocrlf", "false"]);
    let agent = sandbox.failing("echo x >b.txt");
    for args in [
        &["next", "--", &agent][..],
        &["revert"],
        &["retry", "--", &agent],
        &["revert"],
        &["abort"],
    ] {
        sandbox.ralph(args);
        assert_eq!(sandbox.read("b.txt"), "a\r\nb\r\n", "{args:?}");
    }
}

#[test]
fn bytes_of_rules_that_are_gone_are_told() {
    let sandbox = converting("core.eol=crlf", "* text=auto\n", "a\r\nb\r\n");
    sandbox.start();
    sandbox.git(&["config", "core.eol", "lf"]);
    sandbox
        .step("next", &sandbox.failing("echo z >>b.txt"))
        .exits(3)
        .says("these have the bytes that git stores, and not those that they had: b.txt");
    assert_eq!(sandbox.read("b.txt"), "a\nb\n");
    assert_eq!(sandbox.read("other.txt"), "a\r\nb\r\n");
}

#[test]
fn bytes_of_rules_that_a_story_removed_come_back() {
    let sandbox = converting("", "*.txt text eol=crlf\n", "a\r\nb\r\n");
    type_in(
        &sandbox,
        "touch -d '1 hour ago' b.txt; git update-index --refresh",
    );
    sandbox.start();
    let files = sandbox.files();
    let agent = sandbox.completing("rm .gitattributes");
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &sandbox.failing("echo z >b.txt")).exits(3);
    assert_eq!(sandbox.read("b.txt"), "a\r\nb\r\n");
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn a_filter_that_fails_stops_no_step() {
    for script in ["", "echo z >>b.txt"] {
        let sandbox = converting("", "*.txt text eol=crlf\n", "a\r\nb\r\n");
        sandbox.configure("filter.closed.clean", "cat");
        sandbox.configure("filter.closed.smudge", "false");
        sandbox.configure("filter.closed.required", "true");
        sandbox.start();
        let files = sandbox.files();
        let rules = "echo '*.txt filter=closed' >.gitattributes";
        let agent = sandbox.completing(&format!("{rules}; {script}"));
        sandbox.step("next", &agent).exits(0);
        let done = sandbox.files();
        sandbox
            .step("next", &sandbox.failing("echo z >b.txt; rm other.txt"))
            .exits(3);
        assert_eq!(sandbox.files(), done, "{script}");
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), files, "{script}");
    }
}

/// A filter as that of git-lfs, whose content is not brought back on checkout.
const POINTER: &str = r#"f=$(mktemp); cat >"$f"; if grep -q ^version "$f"; then cat "$f"; rm "$f"; exit; fi; n=$(sha256sum <"$f" | cut -c1-64); s=$(wc -c <"$f")
d=.git/lfs/objects/$(printf %s "$n" | cut -c1-2)/$(printf %s "$n" | cut -c3-4); mkdir -p "$d"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$n" "$s"; mv "$f" "$d/$n""#;

#[test]
fn large_files_come_back_where_checkout_leaves_their_pointers() {
    // The other filter has this name and keeps nothing.
    for clean in [POINTER, "sed s/out:.*/out:/"] {
        let sandbox = converting("", "b.txt filter=lfs -text\n", "x\nout:\n");
        sandbox.configure("filter.lfs.clean", clean);
        sandbox.write("b.txt", "x\nout: 1\n");
        let files = sandbox.files();
        sandbox.start();
        let agent = sandbox.failing("rm b.txt");
        sandbox.step("next", &agent).exits(3);
        assert_eq!(sandbox.files(), files, "{clean}");
        sandbox.step("retry", &sandbox.completing("rm b.txt")).exits(0);
        sandbox.ralph(&["abort"]).exits(0);
        assert_eq!(sandbox.files(), files, "{clean}");
    }
}

#[test]
fn large_files_come_with_their_content_where_git_writes_pointers() {
    let sandbox = converting("", "b.txt filter=lfs -text\n", "x\nout:\n");
    let pointer = POINTER.replace(".git/lfs", "$(git rev-parse --git-common-dir)/lfs");
    sandbox.configure("filter.lfs.clean", &pointer);
    sandbox.git(&["add", "--renormalize", "b.txt"]);
    sandbox.git(&["commit", "-qm", "a pointer"]);
    sandbox.start();
    let agent = sandbox.failing("echo large >b.txt");
    sandbox.step("next", &agent).exits(3);
    sandbox.ralph(&["restore", CHANGE, "1@1"]).exits(0);
    assert_eq!(sandbox.read("b.txt"), "large\n");
    sandbox.ralph(&["abort"]).exits(0);
    sandbox.ralph(&["start", CHANGE, "--worktree"]).exits(0);
    let agent = sandbox.completing("echo larger >b.txt");
    sandbox.step("next", &agent).exits(0);
    sandbox.step("next", &sandbox.completing("echo 2 >two")).exits(0);
    sandbox.ralph(&["finish", "--cleanup", CHANGE]).exits(0);
    assert_eq!(sandbox.read("b.txt"), "larger\n");
}

#[test]
fn restore_reads_no_file_by_the_rules_of_the_attempt() {
    let sandbox = converting("filter.swap.clean=tr X Y", "b.txt filter=swap\n", "X\n");
    sandbox.configure("filter.swap.smudge", "tr Y X");
    // Git reads a file that is newer than its index.
    type_in(
        &sandbox,
        "git rm -q --cached b.txt; git add b.txt; git commit -qm b; touch -d tomorrow b.txt",
    );
    sandbox.start();
    let rules = "echo '* text=auto' >.gitattributes; git add --renormalize .; git commit -qm rules";
    let agent = sandbox.failing(&format!("{rules}; echo more >>other.txt"));
    sandbox.step("next", &agent).exits(3);
    sandbox.ralph(&["restore", CHANGE, "1@1"]).exits(0);
    assert_eq!(sandbox.read("other.txt"), "X\nmore\n");
}

#[test]
fn kept_bytes_come_back_without_the_permissions_that_an_attempt_gave_them() {
    let sandbox = converting(STRIP, "b.txt filter=strip\n", "x\nout:\n");
    sandbox.write("b.txt", "x\nout: 1 2 3\n");
    let files = sandbox.files();
    sandbox.start();
    for step in ["next", "retry"] {
        let agent = sandbox.failing("chmod -R 777 .; echo else >b.txt");
        sandbox.step(step, &agent).exits(3);
        assert_eq!(sandbox.files(), files);
        sandbox.git(&["diff", "--cached", "--quiet"]);
    }
    sandbox.ralph(&["abort"]).exits(0);
    assert_eq!(sandbox.files(), files);
}

#[test]
fn bytes_unknown_to_git_stay_if_the_record_is_gone() {
    let sandbox = converting("core.autocrlf=true", "", "a\r\nb\r\n");
    sandbox.write("b.txt", "a\nb\n");
    sandbox.start();
    let agent = sandbox.failing("rm -rf .git/ralph/add-login/slots/1/unversioned; touch b.txt");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read("b.txt"), "a\nb\n");
}

/// The places from which git reads attributes, with what puts `b.txt filter=strip` there.
type Source = (&'static str, fn(&Sandbox));

const RULE: &str = "b.txt filter=strip\n";

fn put(sandbox: &Sandbox, place: &str) {
    let file = sandbox.outside(place);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, RULE).unwrap();
}

const SOURCES: [Source; 8] = [
    ("tracked", |sandbox| {
        sandbox.write(".gitattributes", RULE);
        sandbox.git(&["add", ".gitattributes"]);
        sandbox.git(&["commit", "-qm", "rules"]);
    }),
    ("untracked", |sandbox| sandbox.write(".gitattributes", RULE)),
    ("ignored", |sandbox| {
        sandbox.write(".git/info/exclude", ".gitattributes\n");
        sandbox.write(".gitattributes", RULE);
    }),
    ("of the repository", |sandbox| {
        sandbox.write(".git/info/attributes", RULE);
    }),
    ("core.attributesFile", |sandbox| {
        put(sandbox, "notes/rules");
        let rules = sandbox.notes.join("rules");
        sandbox.configure("core.attributesFile", rules.to_str().unwrap());
    }),
    ("XDG_CONFIG_HOME", |sandbox| put(sandbox, "config/git/attributes")),
    ("~/.config", |sandbox| put(sandbox, "home/.config/git/attributes")),
    ("attr.tree", |sandbox| {
        sandbox.git(&["checkout", "-q", "-b", "rules"]);
        sandbox.write(".gitattributes", RULE);
        sandbox.git(&["add", ".gitattributes"]);
        sandbox.git(&["commit", "-qm", "rules"]);
        sandbox.git(&["checkout", "-q", "main"]);
        sandbox.configure("attr.tree", "refs/heads/rules");
    }),
];

/// Runs `git ralph` as the source has it.
fn ralph(sandbox: &Sandbox, source: &str, args: &[&str]) -> Cmd {
    let command = sandbox.ralph_cmd(args);
    match source {
        "~/.config" => command.env("XDG_CONFIG_HOME", ""),
        _ => command,
    }
}

#[test]
fn attributes_are_obeyed_wherever_git_reads_them() {
    for (source, place) in SOURCES {
        let sandbox = converting(STRIP, "", "x\nout:\n");
        place(&sandbox);
        let git = |args: &[&str]| match source {
            "~/.config" => sandbox.git_cmd(args).env("XDG_CONFIG_HOME", "").run().stdout,
            _ => sandbox.git_cmd(args).run().stdout,
        };
        // `attr.tree` came with git 2.43.
        if !git(&["check-attr", "filter", "b.txt"]).contains("strip") {
            assert_eq!(source, "attr.tree");
            continue;
        }
        // Git does not see what the filter drops.
        sandbox.write("b.txt", "x\nout: mine\n");
        git(&["add", "b.txt"]);
        assert!(!git(&["status", "--porcelain"]).contains("b.txt"), "{source}");
        ralph(&sandbox, source, &["start", CHANGE]).run().exits(0);
        let agent = sandbox.failing("rm b.txt");
        ralph(&sandbox, source, &["next", "--", &agent]).run().exits(3);
        assert_eq!(sandbox.read("b.txt"), "x\nout: mine\n", "{source}");
        let agent = sandbox.completing("echo y >>b.txt");
        ralph(&sandbox, source, &["retry", "--", &agent]).run().exits(0);
        ralph(&sandbox, source, &["abort"]).run().exits(0);
        assert_eq!(sandbox.read("b.txt"), "x\nout: mine\n", "{source}");
    }
}

#[test]
fn bytes_that_a_merge_replaces_are_kept() {
    for own in [false, true] {
        let sandbox = converting(STRIP, "b.txt filter=strip\n", "x\n1\n2\n3\nout:\n");
        sandbox.write("b.txt", "x\n1\n2\n3\nout: mine\n");
        let start = ["start", CHANGE, "--worktree"];
        let start = if own { &start[..] } else { &start[..2] };
        sandbox.ralph(start).exits(0);
        let agent = sandbox.completing("sed -i 's/^x/y/; s/out:.*/out: of the agent/' b.txt");
        sandbox.ralph(&["next", CHANGE, "--", &agent]).exits(0);
        // The original branch gets another line of the file.
        let other = sandbox.outside("other");
        let place = other.to_str().unwrap();
        if own {
            sandbox.write("other.txt", "else\n");
            sandbox.git(&["commit", "-qam", "other"]);
        } else {
            sandbox.git(&["worktree", "add", "-q", place, "main"]);
            fs::write(other.join("b.txt"), "x\n1\n2\n3\nout:\nmore\n").unwrap();
            sandbox
                .git_cmd(&["commit", "-qam", "other"])
                .dir(&other)
                .run()
                .exits(0);
            sandbox.git(&["worktree", "remove", place]);
        }
        sandbox
            .ralph(&["finish", "--cleanup", CHANGE])
            .exits(0)
            .says("bytes that git would not give back are kept in");
        let trash = |path: &str| sandbox.read(&format!(".git/ralph/add-login/trash/{path}/raw/b.txt"));
        if own {
            assert_eq!(sandbox.read("b.txt"), "y\n1\n2\n3\nout:\n");
            assert_eq!(trash("finish"), "x\n1\n2\n3\nout: mine\n");
            assert_eq!(trash("removed"), "y\n1\n2\n3\nout: of the agent\n");
        } else {
            assert_eq!(sandbox.read("b.txt"), "y\n1\n2\n3\nout:\nmore\n");
            assert_eq!(trash("finish"), "y\n1\n2\n3\nout: of the agent\n");
        }
    }
}

#[test]
fn no_two_gits_run_a_filter_at_once() {
    let sandbox = converting("", "b.txt filter=lone\n", "x\n");
    let (busy, met) = (sandbox.notes.join("busy"), sandbox.notes.join("met"));
    let (busy, met) = (busy.display(), met.display());
    let filter = format!("mkdir '{busy}' || echo >>'{met}'; sleep 0.05; cat; rmdir '{busy}'");
    sandbox.configure("filter.lone.clean", &filter);
    // Git has to look at the content.
    sandbox.write("b.txt", "y\n");
    sandbox.start();
    for agent in [
        sandbox.completing("echo z >b.txt"),
        sandbox.failing("echo a >b.txt"),
    ] {
        sandbox.write("b.txt", "edited\n");
        sandbox.step("next", &agent);
    }
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert!(!sandbox.notes.join("met").exists());
}

#[test]
fn a_filter_without_a_program_has_a_hint_that_helps() {
    for key in ["process", "clean"] {
        let sandbox = Sandbox::new();
        sandbox.write(".gitattributes", "*.bin filter=lost\n");
        sandbox.write("a.bin", "x\n");
        sandbox.configure(&format!("filter.lost.{key}"), "no-such-program %f");
        sandbox.configure("filter.lost.required", "true");
        sandbox
            .ralph(&["start", CHANGE])
            .exits(1)
            .says("git config --show-origin --get-regexp '^filter'");
    }
}

#[test]
fn redo_that_was_killed_leaves_kept_bytes_in_the_trash() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.strip.clean", "sed /OUTPUT/d"]);
    sandbox.git(&["config", "filter.strip.smudge", "cat"]);
    sandbox.write(".gitattributes", "*.nb filter=strip\n");
    sandbox.write("u.nb", "old\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "notebook"]);
    sandbox.start();
    let undone = sandbox.completing("printf 'new\\nOUTPUT of the agent\\n' >u.nb; echo x >x");
    sandbox.step("next", &undone).exits(0);
    let git = sandbox.git_program().display().to_string();
    // Once the file is written.
    let shim = format!(
        "grep -q old u.nb && case \" $* \" in *' update-index '*|*' ls-files '*|*' check-attr '*) kill -9 $PPID; exit 1;; esac\nexec {git} \"$@\"\n"
    );
    sandbox.install("git", &shim);
    sandbox.direct(&["redo", "1"]).run().exits(137);
    fs::remove_file(sandbox.outside("programs/git")).unwrap();
    sandbox.ralph(&["redo", "1"]);
    let kept = sandbox.read(".git/ralph/add-login/trash/redo.1.1/raw/u.nb");
    assert!(kept.ends_with("OUTPUT of the agent\n"), "{kept}");
}
