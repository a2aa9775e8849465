//! What an attempt leads outside of the repository, by a link or by a file that is also one of the user's outside: nothing
//! there is changed. The sweep goes through all places.

use std::fs;

use crate::support::Sandbox;

#[test]
fn files_beside_an_outside_list_stay() {
    let sandbox = Sandbox::new();
    let lists = sandbox.top.join("openspec");
    sandbox.write(".git/info/exclude", "openspec/\n");
    sandbox.git(&["rm", "-rq", "--cached", "openspec"]);
    sandbox.git(&["commit", "-q", "-m", "the list is ours alone"]);
    let text = fs::read_to_string(lists.join("changes/add-login/tasks.md")).unwrap();
    sandbox.start();
    let out = sandbox.outside("out");
    fs::create_dir(&out).unwrap();
    for name in [".git-ralph-mine", "tasks.md"] {
        fs::write(out.join(name), "of the user\n").unwrap();
    }
    let place = "openspec/changes/add-login";
    let agent = sandbox.failing(&format!("rm -r {place}; ln -s '{}' {place}", out.display()));
    sandbox.direct(&["next", "--", &agent]).run();
    for name in [".git-ralph-mine", "tasks.md"] {
        assert_eq!(fs::read_to_string(out.join(name)).unwrap(), "of the user\n");
    }
    assert_eq!(
        fs::read_to_string(lists.join("changes/add-login/tasks.md")).unwrap(),
        text
    );
}
