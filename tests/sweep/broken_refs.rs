//! Refs that an attempt makes name nothing.

use crate::support::Sandbox;

#[test]
fn a_ref_that_names_nothing_is_put_back() {
    let nothing = "1234567890123456789012345678901234567890";
    let before = |sandbox: &Sandbox| sandbox.git(&["for-each-ref", "refs/heads/main", "refs/tags"]);
    // A ref that is a link is left to git.
    let link = "ln -s ralph/add-login .git/refs/heads/link";
    let cases = [
        ("refs/heads/ralph/add-login", nothing, "true"),
        ("./HEAD", nothing, "true"),
        ("refs/heads/main", nothing, "true"),
        ("refs/heads/main", nothing, link),
        ("refs/heads/main", "half a ref", "true"),
        ("refs/tags/v1", nothing, "true"),
        ("refs/tags/new", nothing, "true"),
    ];
    for (name, content, also) in cases.into_iter().step_by(crate::stride(5, 1)) {
        for (promise, code) in [("complete", 0), ("failed red", 3)] {
            let sandbox = Sandbox::new();
            sandbox.git(&["tag", "v1"]);
            sandbox.git(&["pack-refs", "--all"]);
            sandbox.start();
            let was = before(&sandbox);
            let (dir, short) = name.rsplit_once('/').unwrap();
            let script =
                format!("{also}; mkdir -p .git/{dir}; echo {content} >.git/{name}; echo >work; {promise}");
            let output = sandbox.step("next", &sandbox.agent(&script)).exits(code);
            assert!(output.stderr.contains(short), "{name}: {}", output.stderr);
            assert_eq!(before(&sandbox), was, "{name} {content}");
            sandbox.git(&["fsck", "--strict"]);
            sandbox.git(&["gc", "-q"]);
            sandbox.ralph(&["abort"]).exits(0);
        }
    }
}
