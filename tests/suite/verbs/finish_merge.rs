//! `git ralph finish --cleanup` into an original that moved on: what an attempt wrote has no say in the merge.

use crate::support::Sandbox;

/// A loop whose attempt changes a line of `src/lib.txt` and leaves these attributes; the original changes the same line.
fn moved(attributes: &str, of_original: Option<&str>) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure("merge.ours.driver", "true");
    let ran = sandbox.notes.join("ran");
    sandbox.configure("merge.run.driver", &format!("touch '{}'; true", ran.display()));
    if let Some(rules) = of_original {
        sandbox.write("src/.gitattributes", rules);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-q", "-m", "rules"]);
    }
    sandbox.start();
    let agent = sandbox.completing(&format!(
        "printf 'one\\nloop\\nthree\\n' >src/lib.txt; echo '{attributes}' >.gitattributes"
    ));
    sandbox.step("next", &agent).exits(0);
    let linked = sandbox.outside("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    std::fs::write(linked.join("src/lib.txt"), "one\nmain\nthree\n").unwrap();
    let commit = ["commit", "-q", "-a", "-m", "meanwhile"];
    sandbox.git_cmd(&commit).dir(&linked).run().exits(0);
    sandbox.git(&["worktree", "remove", linked.to_str().unwrap()]);
    sandbox
}

#[test]
fn merge_ignores_attributes_of_an_attempt() {
    for rules in ["* merge=ours", "* merge=union", "* merge=run", "*.txt -merge"] {
        let sandbox = moved(rules, None);
        sandbox
            .ralph(&["finish", "--cleanup"])
            .exits(7)
            .says("conflicts with the loop in\n  src/lib.txt");
        assert_eq!(sandbox.read("src/lib.txt"), "one\nloop\nthree\n", "{rules}");
        assert!(!sandbox.notes.join("ran").exists(), "{rules}");
    }
}

#[test]
fn merge_uses_attributes_of_the_original_branch_but_no_driver() {
    let sandbox = moved("* -merge", Some("*.txt merge=union\n"));
    sandbox.ralph(&["finish", "--cleanup"]).exits(0);
    assert_eq!(sandbox.read("src/lib.txt"), "one\nmain\nloop\nthree\n");
    for rules in ["*.txt merge=run\n", "*.txt merge=ours\n"] {
        let sandbox = moved("* merge=union", Some(rules));
        sandbox.ralph(&["finish", "--cleanup"]).exits(7);
        assert!(!sandbox.notes.join("ran").exists());
    }
}
