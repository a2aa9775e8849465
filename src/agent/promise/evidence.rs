//! Finds an agent's evidence that a story was done before: files, commits, and `<unchanged>…</unchanged>`.

use std::collections::HashSet;

use memchr::memmem;

const OPEN: &str = "<unchanged>";
const CLOSE: &str = "</unchanged>";

/// Lengths of an abbreviated or full object id, in hexadecimal digits.
const ID_LENGTHS: std::ops::RangeInclusive<usize> = 7..=64;

/// Returns whether a message has evidence in this tag. The dots of the prompt are no evidence.
pub fn says_unchanged(message: &str) -> bool {
    let says = |inner: &str| {
        inner
            .split_once(CLOSE)
            .is_some_and(|(text, _)| text.contains(char::is_alphanumeric))
    };
    message.split(OPEN).skip(1).any(says)
}

/// The lines of a message that can name a file or a commit.
#[derive(Debug, Default)]
pub struct Evidence {
    lines: Vec<String>,
}

impl Evidence {
    /// Returns the evidence of a message. Lines that repeat the prompt do not count, with or without a box before them.
    pub fn of(message: &str, prompt: &str) -> Self {
        let asked: HashSet<&str> = prompt.lines().map(without_box).collect();
        let lines = message.lines().filter(|line| !asked.contains(without_box(line)));
        Self {
            lines: lines.map(|line| line.replace("%20", " ")).collect(),
        }
    }

    /// Returns whether a message names the file with this path in the work tree `top`: by its path, or by trailing
    /// whole components of it. A name without a dot or a slash must be the whole path, and be marked as a name.
    pub fn names_file(&self, path: &str, top: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.lines.iter().any(|line| {
            memmem::find_iter(line.as_bytes(), name).any(|at| names(line, at + name.len(), path, top))
        })
    }

    /// Returns the words that can be commit ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let is_id = |word: &&str| {
            ID_LENGTHS.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        self.lines
            .iter()
            .flat_map(|line| line.split(|char: char| !char.is_ascii_alphanumeric()))
            .filter(is_id)
    }
}

/// Returns a line without the markers of a list item or of a quotation.
fn without_box(line: &str) -> &str {
    line.trim_start_matches(|char: char| char.is_whitespace() || "-*>#[xX]".contains(char))
        .trim_end_matches(|char: char| char.is_whitespace() || "*.".contains(char))
}

/// Returns whether the text up to `end`, which ends with the last name of a path, names the path.
fn names(line: &str, end: usize, path: &str, top: &str) -> bool {
    let (until, after) = line.split_at(end);
    let mut after = after.chars();
    let (next, second) = (after.next(), after.next());
    let is_longer = match next {
        Some('.') => second.is_some_and(|char| char.is_ascii_alphanumeric()),
        Some(char) => char.is_ascii_alphanumeric() || char == '/',
        None => false,
    };
    let mut endings = std::iter::once(path).chain(path.match_indices('/').map(|(at, _)| &path[at + 1..]));
    let Some(ending) = endings.find(|ending| !is_longer && until.ends_with(ending)) else {
        return false;
    };
    let is_whole = ending == path;
    let before = &until[..until.len() - ending.len()];
    let before = before.strip_suffix("./").unwrap_or(before);
    let previous = before.chars().next_back();
    let begins = match previous {
        // A root file must be in this work tree; a longer path may be part of a URL.
        Some('/') => is_whole && (path.contains('/') || before.trim_end_matches('/').ends_with(top)),
        Some(char) => !char.is_ascii_alphanumeric() && !"-_.".contains(char),
        None => true,
    };
    // Between two tags there is only the name.
    let is_alone = previous == Some('>') && next == Some('<');
    let is_marked = is_alone
        || previous.is_some_and(|char| "`*\"'“„«「".contains(char))
        || (next == Some(':') && second.is_some_and(|char| char.is_ascii_digit()));
    begins && (ending.contains(['.', '/']) || (is_whole && is_marked))
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
            ("see @src/form.html", "src/form.html", true),
            ("die src/form.html-Datei", "src/form.html", true),
            ("/home/me/project/src/form.html has it", "src/form.html", true),
            ("/etc/form.html", "src/form.html", false),
            ("[form](src/form.html)", "src/form.html", true),
            ("入力欄はsrc/form.htmlにあります", "src/form.html", true),
            ("<unchanged>form.html</unchanged>", "form.html", true),
            ("/home/me/project/form.html, ./form.html", "form.html", true),
            ("see ./form.html", "form.html", true),
            ("https://example.org/form.html", "form.html", false),
            ("node_modules/a/package.json", "package.json", false),
            ("„docs/Größe.md“", "docs/Größe.md", true),
            ("`docs/Größe.md:3`", "docs/Größe.md", true),
            ("src/한글.md에 있습니다", "src/한글.md", true),
            ("see \"docs/my notes.md\"", "docs/my notes.md", true),
            ("[n](docs/my%20notes.md)", "docs/my notes.md", true),
            ("app/[id]/page.tsx:12", "app/[id]/page.tsx", true),
            ("the test is green", "test", false),
            ("the script `test` is green", "test", true),
            ("I ran `check`", "ci/check", false),
            ("**Makefile**, line 3", "Makefile", true),
            ("see Makefile:12", "Makefile", true),
            ("<unchanged>Makefile</unchanged>", "Makefile", true),
            ("<unchanged>base is fine</unchanged>", "base", false),
            ("<unchanged>it is in base</unchanged>", "base", false),
            ("a <base element", "base", false),
            ("see src/form.html", "src/form.htm", false),
            ("see src/form.html.erb", "src/form.html", false),
            ("see other.html", "her.html", false),
            ("see my-form.html", "form.html", false),
            ("everything is done", "src/form.html", false),
        ] {
            let evidence = Evidence::of(message, "");
            assert_eq!(evidence.names_file(path, "/home/me/project"), names, "{message}");
        }
    }

    #[test]
    fn lines_of_the_prompt_name_nothing() {
        let prompt = "- [ ] write src/form.html\nand finish";
        for (message, names) in [
            ("- [ ] write src/form.html", false),
            ("- [x] write src/form.html", false),
            ("> **write src/form.html.**", false),
            ("src/form.html has it", true),
        ] {
            let evidence = Evidence::of(message, prompt);
            assert_eq!(evidence.names_file("src/form.html", "/"), names, "{message}");
        }
    }

    #[test]
    fn long_hexadecimal_words_can_be_ids() {
        let message = "since 1a2b3c4, not 1a2b, faded, g123456 (https://example.org/commit/0123456789), aaaaaaa..bbbbbbb";
        let evidence = Evidence::of(message, "");
        let ids: Vec<&str> = evidence.ids().collect();
        assert_eq!(ids, ["1a2b3c4", "0123456789", "aaaaaaa", "bbbbbbb"]);
    }
}
