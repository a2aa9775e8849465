//! Finds what an agent names to show that a story was done before: files, commits, and `<unchanged>what shows it</unchanged>`.

use std::collections::HashSet;

const OPEN: &str = "<unchanged>";
const CLOSE: &str = "</unchanged>";

/// Lengths of an abbreviated or whole object id, in hexadecimal digits.
const ID_LENGTHS: std::ops::RangeInclusive<usize> = 7..=64;

/// Returns whether a message says in this tag what shows that nothing was left to do. The dots of the prompt say nothing.
pub fn says_unchanged(message: &str) -> bool {
    let says = |inner: &str| {
        inner
            .split_once(CLOSE)
            .is_some_and(|(text, _)| text.contains(char::is_alphanumeric))
    };
    message.split(OPEN).skip(1).any(says)
}

/// The words of a message that can name a file or a commit.
#[derive(Debug, Default)]
pub struct Evidence<'a> {
    words: HashSet<&'a str>,
    /// What stands in backticks, and so names a file without a dot or a slash too.
    quoted: HashSet<&'a str>,
}

impl<'a> Evidence<'a> {
    /// Returns that of a message. Lines that repeat the prompt name nothing.
    pub fn of(message: &'a str, prompt: &str) -> Self {
        let asked: HashSet<&str> = prompt.lines().map(str::trim).collect();
        let mut evidence = Self::default();
        for line in message.lines().filter(|line| !asked.contains(line.trim())) {
            evidence.quoted.extend(line.split('`').skip(1).step_by(2));
            let words = line.split(|char: char| !char.is_ascii_alphanumeric() && !"._/-+@".contains(char));
            let trimmed = words.map(|word| word.trim_end_matches(['.', '-', '/']).trim_start_matches("./"));
            evidence.words.extend(trimmed);
        }
        evidence
    }

    /// Returns whether the file with this path, or an ending of it that consists of whole names, is named. A word without a dot or a
    /// slash can be any word.
    pub fn names_file(&self, path: &str) -> bool {
        let endings = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        let is_ending = |name: &str| {
            self.quoted.contains(name) || (name.contains(['.', '/']) && self.words.contains(name))
        };
        let is_absolute = |word: &&str| word.strip_suffix(path).is_some_and(|dir| dir.ends_with('/'));
        std::iter::once(path).chain(endings).any(is_ending) || self.words.iter().any(is_absolute)
    }

    /// Returns the words that can be ids of commits.
    pub fn ids(&self) -> impl Iterator<Item = &'a str> {
        let is_id = |word: &&str| {
            ID_LENGTHS.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        self.words.iter().copied().filter(is_id)
    }
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

    #[test]
    fn message_names_files_by_whole_names() {
        for (message, path, names) in [
            ("1.1: src/form.html", "src/form.html", true),
            ("- [x] it is in `src/form.html:12`.", "src/form.html", true),
            ("see form.html.", "src/form.html", true),
            ("see ./src/form.html#L3", "src/form.html", true),
            ("/home/me/project/src/form.html has it", "src/form.html", true),
            ("/etc/form.html", "src/form.html", false),
            ("[form](src/form.html)", "src/form.html", true),
            ("入力欄はsrc/form.htmlにあります", "src/form.html", true),
            ("<unchanged>form.html</unchanged>", "form.html", true),
            ("the test is green", "test", false),
            ("the script `test` is green", "test", true),
            ("see `my notes.md`", "docs/my notes.md", true),
            ("see src/form.html", "src/form.htm", false),
            ("see other.html", "her.html", false),
            ("everything is done", "src/form.html", false),
        ] {
            assert_eq!(Evidence::of(message, "").names_file(path), names, "{message}");
        }
    }

    #[test]
    fn lines_of_the_prompt_name_nothing() {
        let prompt = "- write src/form.html\nand finish";
        let echo = format!("{prompt}\n<promise>COMPLETE</promise>");
        assert!(!Evidence::of(&echo, prompt).names_file("src/form.html"));
        let answer = format!("{prompt}\nsrc/form.html has it");
        assert!(Evidence::of(&answer, prompt).names_file("src/form.html"));
    }

    #[test]
    fn long_hexadecimal_words_can_be_ids() {
        let evidence = Evidence::of(
            "since 1a2b3c4, not 1a2b, faded, g123456 (commit `0123456789`)",
            "",
        );
        let mut ids: Vec<&str> = evidence.ids().collect();
        ids.sort_unstable();
        assert_eq!(ids, ["0123456789", "1a2b3c4"]);
    }
}
