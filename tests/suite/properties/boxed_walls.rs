//! What the box is made of (`ralph.box`): programs, rights and settings that no attempt decides.

use std::fs;

use crate::support::{COMPLETE, Sandbox};

#[test]
fn root_has_no_rights_in_the_box() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.start();
    let agent = sandbox.completing(
        "grep CapEff: /proc/self/status >rights
        for setting in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness; do
            [ ! -r $setting ] || { value=$(cat $setting); echo \"$value\" >$setting; } 2>/dev/null && echo $setting >>open
        done
        mount -o remount,rw,bind \"$PWD/.git\" 2>/dev/null && echo .git >>open
        mount -o remount,rw,bind / 2>/dev/null && echo / >>open; true",
    );
    sandbox.ralph(&["next", "--box", "--", &agent]).exits(0);
    assert_eq!(sandbox.read("rights"), "CapEff:\t0000000000000000\n");
    let open = fs::read_to_string(sandbox.top.join("open")).unwrap_or_default();
    assert_eq!(open, "");
}

#[test]
fn box_uses_no_program_from_a_writable_directory() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.start();
    let no_box = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n";
    let programs = sandbox.top.join("target/bin");
    fs::create_dir_all(&programs).unwrap();
    let agent = sandbox.agent(&format!(
        "for name in bwrap sh; do printf '{}' >target/bin/$name; chmod +x target/bin/$name; done
        (echo x >\"$notes/out\") 2>/dev/null; echo $RALPH_STORY >>work; echo '{COMPLETE}'",
        no_box.replace('\n', "\\n")
    ));
    let first = |more: &std::ffi::OsStr| {
        let dirs = std::iter::once(programs.clone()).chain(std::env::split_paths(more));
        std::env::join_paths(dirs).unwrap()
    };
    for _ in 0..2 {
        let next = sandbox.direct(&["next", "--box", "--", &agent]);
        next.env("PATH", first(&sandbox.search_path())).run().exits(0);
        assert!(!sandbox.notes.join("out").exists());
    }
    assert_eq!(sandbox.read("work"), "1\n2\n");
    // A directory with git alone.
    let git = sandbox.outside("git alone");
    fs::create_dir(&git).unwrap();
    std::os::unix::fs::symlink(sandbox.git_program(), git.join("git")).unwrap();
    let next = sandbox.direct(&["next", "--box", "--", &agent]);
    next.env("PATH", first(git.as_os_str()))
        .run()
        .exits(1)
        .says("target/bin/bwrap, which makes it")
        .says("hint: use one that is outside of the work tree");
}

#[test]
fn attempt_inherits_no_open_files() {
    let sandbox = Sandbox::new();
    sandbox.start();
    for mode in ["off", "require"] {
        if mode != "off" && !sandbox.has_boxes() {
            continue;
        }
        let agent =
            sandbox.completing("echo $RALPH_STORY >>work; ls /dev/fd/8 /dev/fd/12 >open 2>/dev/null || true");
        let line = format!(
            "exec 8<\"$HOME\"; exec git ralph next --box={mode} --verify 'test ! -e /dev/fd/8' -- {agent}"
        );
        sandbox.cmd("sh").args(["-c", &line]).run().exits(0);
        assert_eq!(sandbox.read("open"), "", "{mode}");
    }
}

#[test]
fn a_file_of_the_work_tree_does_not_open_the_box() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.write("team.cfg", "[ralph]\n\tbox = require\n");
    sandbox.configure("include.path", "../team.cfg");
    sandbox.start();
    let agent = sandbox.completing(
        "printf '[ralph]\n\tbox = off\n\tboxAllow = write:%s\n' \"$notes\" >team.cfg
        (echo x >\"$notes/out\") 2>/dev/null; echo $RALPH_STORY >>work",
    );
    sandbox.step("next", &agent).exits(0);
    sandbox
        .step("next", &agent)
        .exits(0)
        .says("ralph.boxAllow=write:")
        .says("is ignored: a file of the work tree can only make the box stronger")
        .says("asked for a stronger box when the loop began; that still holds for this loop");
    assert_eq!(sandbox.read("work"), "1\n2\n");
    assert!(!sandbox.notes.join("out").exists());
    let message = sandbox.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("Ralph-Box: bubblewrap"), "{message}");
    let doctor = sandbox.ralph(&["doctor", "--json"]).stdout;
    assert!(doctor.contains("is ignored: a file of the work tree"), "{doctor}");
}

#[test]
fn box_shows_only_usual_variables_and_those_that_the_user_names() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.start();
    sandbox.configure("ralph.boxAllow", "env:MY_NAMED");
    let agent = sandbox.completing("env >seen; git status >/dev/null && echo works >>seen");
    let mut next = sandbox.direct(&["next", "--box", "--verify", "env >of-gate", "--", &agent]);
    for name in ["MY_NAMED", "MY_SERVICE", "CARGO_TERM_COLOR", "GIT_CONFIG_VALUE_7"] {
        next = next.env(name, format!("value-of-{name}"));
    }
    next.run().exits(0);
    for file in ["seen", "of-gate"] {
        let seen = sandbox.read(file);
        assert!(
            seen.contains("value-of-MY_NAMED") && seen.contains("value-of-CARGO"),
            "{seen}"
        );
        assert!(
            !seen.contains("MY_SERVICE") && !seen.contains("VALUE_7"),
            "{seen}"
        );
        assert!(seen.contains("RALPH_CHANGE="), "{seen}");
    }
    assert!(sandbox.read("seen").ends_with("works\n"));
}

#[test]
fn files_beside_a_directory_on_the_path_are_not_seen() {
    let sandbox = Sandbox::new();
    if !sandbox.has_boxes() {
        return;
    }
    sandbox.start();
    let service = sandbox.outside("home/.service");
    fs::create_dir_all(service.join("bin")).unwrap();
    fs::write(service.join("config.yml"), "KEY\n").unwrap();
    fs::write(service.join("bin/data"), "data\n").unwrap();
    let agent = sandbox.completing("cat \"$HOME\"/.service/config.yml \"$HOME\"/.service/bin/data >seen");
    let path = sandbox.search_path();
    let dirs = std::iter::once(service.join("bin")).chain(std::env::split_paths(&path));
    let next = sandbox.direct(&["next", "--box", "--", &agent]);
    next.env("PATH", std::env::join_paths(dirs).unwrap())
        .run()
        .exits(0);
    assert_eq!(sandbox.read("seen"), "data\n");
}
