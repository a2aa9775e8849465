//! The guard when git-ralph's own file is replaced or deleted during an attempt, as by an upgrade.

use std::fs;
use std::path::PathBuf;

use super::guard::{TRY, all};
use crate::support::Sandbox;

const PROGRAM: &str = env!("CARGO_BIN_EXE_git-ralph");

/// Puts a copy of the program where an agent can replace it, and returns its path.
fn copy_of_the_program(sandbox: &Sandbox) -> PathBuf {
    let dir = sandbox.outside("its bin");
    fs::create_dir(&dir).unwrap();
    let copy = dir.join("git-ralph");
    fs::hard_link(PROGRAM, &copy)
        .or_else(|_| fs::copy(PROGRAM, &copy).map(|_| ()))
        .unwrap();
    copy
}

#[test]
fn the_guard_outlives_the_programs_file() {
    for replace in [
        "rm \"$program\"",
        "mv \"$program\" \"$program.old\"; printf '#!/bin/sh\nexit 0\n' >\"$program\"; chmod +x \"$program\"",
    ] {
        let sandbox = Sandbox::new();
        let program = copy_of_the_program(&sandbox);
        let remote = sandbox.outside("remote");
        sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
        sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        sandbox.start();
        let agent = sandbox.completing(&format!(
            "{TRY}program='{}'
             {replace}
             t git push origin HEAD
             t git branch -f main HEAD
             t git commit --amend --allow-empty -qm mine
             t git update-ref refs/ralph/add-login/start HEAD",
            program.display()
        ));
        let next = sandbox.cmd(program.to_str().unwrap());
        let output = next.args(["next", "--", &agent]).run().exits(0);
        all(&sandbox.noted("tried"), false);
        assert!(!output.stderr.contains("could not be asked"), "{}", output.stderr);
        let refs = sandbox.git_cmd(&["for-each-ref"]).dir(&remote).run().exits(0);
        assert_eq!(refs.stdout, "");
    }
}

#[test]
fn unanswered_guard_refuses_pushes_and_is_reported() {
    let sandbox = Sandbox::new();
    let program = copy_of_the_program(&sandbox);
    let remote = sandbox.outside("remote");
    sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox.start();
    // As in a sandbox that shows neither the program nor the process.
    let agent = sandbox.completing(&format!(
        "{TRY}rm '{}'; cd \"$(command git rev-parse --absolute-git-dir)/ralph/add-login/slots/1/hooks\"
         sed -i \"s/^running=.*/running=''/\" pre-push reference-transaction; cd \"$OLDPWD\"
         t git push origin HEAD",
        program.display()
    ));
    let next = sandbox.cmd(program.to_str().unwrap());
    next.args(["next", "--", &agent])
        .run()
        .exits(0)
        .says("could not be asked every time");
    let tried = sandbox.noted("tried");
    all(&tried, false);
    assert!(tried.contains("the guard cannot be asked"), "{tried}");
    // Another version at the same place does not misunderstand: it does not answer.
    sandbox
        .direct(&["guard-2", "/no/loop", "pre-push"])
        .run()
        .exits(2);
}

#[test]
fn scripts_of_earlier_versions_are_answered_and_an_unknown_answer_refuses() {
    // They have their files in the loop's own directory, and name that alone.
    let earlier =
        r#"-e "s|^slot=\(.*\)/slots/1'|slot=\1'|" -e 's/ "$loop"//' -e 's/"$4" = prepared/"$3" = prepared/'"#;
    // What the scripts ask for, and whether a branch of its own may be made.
    for (verb, is_answered) in [("guard", true), ("guard-1", true), ("guard-3", false)] {
        let (place, edits) = if is_answered {
            ("$loop", earlier)
        } else {
            ("$slot", "")
        };
        let sandbox = Sandbox::new();
        let remote = sandbox.outside("remote");
        sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
        sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        sandbox.start();
        let agent = sandbox.completing(&format!(
            "{TRY}loop=$(command git rev-parse --absolute-git-dir)/ralph/add-login slot=$loop/slots/1; cd \"$slot/hooks\"
             sed -i -e \"s/^verb=.*/verb={verb}/\" {edits} pre-push reference-transaction git-ralph; cd \"$OLDPWD\"
             if [ {place} = \"$loop\" ]; then
                 cp $slot/guard.config $slot/away; mv $slot/guard.* $loop; mv $slot/away $slot/guard.config
             fi
             t git push origin HEAD
             t git branch -f main HEAD
             t git update-ref refs/ralph/add-login/start HEAD
             git branch mine && echo made >made; git add -A; git commit -qm mine && echo committed >committed
             [ {place} = \"$slot\" ] || mv $loop/guard.* $slot"
        ));
        let output = sandbox.step("next", &agent).exits(0);
        all(&sandbox.noted("tried"), false);
        for file in ["made", "committed"] {
            assert_eq!(sandbox.top.join(file).exists(), is_answered, "{verb}: {file}");
        }
        let is_told = output.stderr.contains("could not be asked every time");
        assert_eq!(is_told, !is_answered, "{}", output.stderr);
        let refs = sandbox.git_cmd(&["for-each-ref"]).dir(&remote).run().exits(0);
        assert_eq!(refs.stdout, "");
    }
}
