//! What agents write is nothing but text in a report, and no secret is in it.

use crate::support::Sandbox;

#[test]
fn hostile_words_are_nothing_but_text() {
    let sandbox = Sandbox::started();
    let hostile =
        "</pre><script>alert(1)</script><img src=x onerror=alert(1)> ]]> --> \" ' `x` @all \\u202e\\u0007";
    let reason = format!("<promise>FAILED: {}</promise>", hostile.replace('"', "\\\""));
    let long = "x".repeat(200_000);
    let agent = sandbox.agent(&format!(
        r#"cat <<'END' >'</script><b>'
{hostile}
{long}
END
printf 'a\0\377b\r\n' >bytes
cat <<'END'
{{"type":"result","subtype":"success","is_error":false,"result":"{reason}"}}
END"#
    ));
    sandbox.step("next", &agent).exits(3);
    let page = sandbox.ralph(&["report", "--logs", "-o", "-"]).exits(0).stdout;
    for bad in ["<script", "<img", "<b>", "javascript:", "\u{202e}", "\0", "\u{7}"] {
        assert!(!page.contains(bad), "{bad:?}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(page.contains("&lt;U+202E&gt;^G"), "{page}");
    assert!(page.len() < 100_000, "{}", page.len());
    let markdown = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    assert!(
        markdown.contains(
            ": ``</pre><script>alert(1)</script><img src=x onerror=alert(1)> ]]> --> \" ' `x` @all"
        ),
        "{markdown}"
    );
    let junit = sandbox.ralph(&["report", "--junit"]).exits(0).stdout;
    assert!(
        junit.contains("&lt;script&gt;") && !junit.contains('\u{7}'),
        "{junit}"
    );
}

#[test]
fn report_contains_no_redacted_text() {
    let sandbox = Sandbox::started();
    sandbox.configure("ralph.redact", "hunter[0-9]");
    let lines = "for i in 1 2 3 4 5 6 7 8; do printf '%0600d hunter5 ' 0; echo tok-79; done";
    let agent = sandbox.failing(&format!(
        "echo hunter2 tok-77 >hunter3; echo hunter4 tok-78; {lines}"
    ));
    sandbox.step("next", &agent).exits(3);
    for form in ["--markdown", "--json", "--junit", "--logs"] {
        let text = sandbox
            .ralph(&["report", form, "--redact", "tok-[0-9]+", "-o", "-"])
            .exits(0)
            .stdout;
        assert!(!text.contains("hunter") && !text.contains("tok-"), "{text}");
        assert!(form == "--junit" || text.contains("***"), "{text}");
    }
}

#[test]
fn lines_of_a_command_and_of_a_notice_stay_lines() {
    let sandbox = Sandbox::new();
    sandbox.configure("ralph.verify", "true &&\ntrue");
    sandbox.start();
    let agent = sandbox.agent("echo x >x; echo first words; echo '2. second words'");
    sandbox.step("next", &agent).exits(3);
    let page = sandbox.ralph(&["report", "-o", "-"]).exits(0).stdout;
    assert!(
        !page.contains("^J") && page.contains("true &amp;&amp;\ntrue"),
        "{page}"
    );
    assert!(page.contains("first words\n     2. second words"), "{page}");
    let markdown = sandbox.ralph(&["report", "--markdown"]).exits(0).stdout;
    assert!(!markdown.contains("^J"), "{markdown}");
    assert!(markdown.contains("\\\n  `      2. second words `"), "{markdown}");
    assert!(markdown.contains("Gate: `true &&`\\\n  `true`"), "{markdown}");
}
