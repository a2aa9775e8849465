//! What git does not see because it converts files: bytes that an attempt changed, and git drops, are undone too.

use crate::support::Sandbox;

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
const UNSEEN: [(&str, &str, &str, &str); 5] = [
    ("core.autocrlf=input", "", "a\nb\n", "sed -i 's/$/\\r/' b.txt"),
    ("core.autocrlf=true", "", "a\r\nb\r\n", "sed -i 's/\\r//' b.txt"),
    ("", "* text=auto\n", "a\nb\n", "sed -i 's/$/\\r/' b.txt"),
    ("", "*.txt eol=crlf\n", "a\r\nb\r\n", "sed -i 's/\\r//' b.txt"),
    (
        STRIP,
        "b.txt filter=strip\n",
        "x\nout:\n",
        "echo x >b.txt; echo out: 1 2 3 >>b.txt",
    ),
];

#[test]
fn what_a_conversion_hides_is_undone() {
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

#[test]
fn without_the_record_bytes_that_git_does_not_have_stay() {
    let sandbox = converting("core.autocrlf=true", "", "a\r\nb\r\n");
    sandbox.write("b.txt", "a\nb\n");
    sandbox.start();
    let agent = sandbox.failing("rm -rf .git/ralph/add-login/unversioned; touch b.txt");
    sandbox.step("next", &agent).exits(3);
    assert_eq!(sandbox.read("b.txt"), "a\nb\n");
}
