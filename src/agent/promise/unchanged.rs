//! Finds what an agent says of a story that was done before: `<unchanged>what shows it</unchanged>`.

const OPEN: &str = "<unchanged>";
const CLOSE: &str = "</unchanged>";

/// Returns whether a message says in this tag what shows that nothing was left to do. The dots of the prompt say nothing.
pub fn says_unchanged(message: &str) -> bool {
    let says = |inner: &str| {
        inner
            .split_once(CLOSE)
            .is_some_and(|(text, _)| text.contains(char::is_alphanumeric))
    };
    message.split(OPEN).skip(1).any(says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_closed_tag_with_words_says_it() {
        for (message, says) in [
            ("<unchanged>form.html, since 1a2b3c</unchanged>\n", true),
            ("<unchanged>…</unchanged> and <unchanged>a</unchanged>", true),
            ("<unchanged>…</unchanged>", false),
            ("<unchanged> ... </unchanged>", false),
            ("<unchanged>form.html", false),
            ("form.html</unchanged>", false),
            ("", false),
        ] {
            assert_eq!(says_unchanged(message), says, "{message}");
        }
    }
}
