//! The lines that docs/parallel.md shows.

use crate::support::Sandbox;
use crate::support::document::block;

#[test]
fn three_changes_run_side_by_side_and_the_line_can_be_typed_again() {
    let sandbox = Sandbox::new();
    for change in ["add-search", "tidy-up"] {
        let list = "## 1. One\n- [ ] 1.1 a\n\n## 2. Two\n- [ ] 2.1 b\n";
        sandbox.write(&format!("openspec/changes/{change}/tasks.md"), list);
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "changes"]);
    let agent =
        sandbox.agent("test $RALPH_STORY = 1 || test -e \"$notes/go\" || exit 1; echo x >>x; complete");
    sandbox.configure("ralph.agent", &agent);
    sandbox.configure("ralph.maxRetries", "0");
    let type_it = || {
        let line = block("run: side by side");
        sandbox.cmd("sh").args(["-c", &line]).patiently().run().exits(4)
    };
    let stories = |change: &str| {
        let branch = format!("ralph/{change}");
        let subjects = sandbox.subjects(&branch);
        subjects
            .iter()
            .filter(|subject| subject.starts_with("checkpoint: "))
            .count()
    };
    // One story of each, and then there are no retries left.
    type_it();
    assert_eq!(["add-login", "add-search", "tidy-up"].map(stories), [1, 1, 1]);
    std::fs::write(sandbox.notes.join("go"), "").unwrap();
    sandbox.configure("ralph.maxRetries", "1");
    let line = block("run: side by side");
    sandbox.cmd("sh").args(["-c", &line]).patiently().run().exits(0);
    assert_eq!(["add-login", "add-search", "tidy-up"].map(stories), [3, 2, 2]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}
