//! Unclosed blocks, and the boxes that they hide: a list with hidden parts is never complete.
//!
//! This module does not know the rest of a file.

use std::ops::Range;

use super::boxes::looks_open;
use super::document::Document;

/// An unclosed block that hides an open box.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Swallowed {
    /// The line on which the block begins.
    pub(super) line: usize,
    /// The line of the first open box in it.
    pub(super) open_box: usize,
    /// The name of the block's beginning.
    pub(super) what: &'static str,
}

impl Swallowed {
    /// Returns the first open box in the unclosed block `range`.
    pub(super) fn by(document: &Document<'_>, range: &Range<usize>, what: &'static str) -> Option<Self> {
        let mut start = range.start;
        let block = document.text().get(range.clone()).unwrap_or("");
        for line in block.split_inclusive(['\n', '\r']) {
            if looks_open(line.trim_start_matches([' ', '\t', '>'])) {
                return Some(Self {
                    line: document.line(range.start),
                    open_box: document.line(start),
                    what,
                });
            }
            start += line.len();
        }
        None
    }
}

/// Returns the name of an HTML block's beginning if only its missing end tag would have closed it. Other blocks end
/// with a blank line.
pub(super) fn html_without_end(html: &str) -> Option<&'static str> {
    const WHOLE: [&str; 4] = ["script", "pre", "style", "textarea"];
    let html = html.trim_start().to_ascii_lowercase();
    let begins = |name: &&str| html.get(1..).is_some_and(|rest| rest.starts_with(name));
    let (what, ends): (_, &[&str]) = if html.starts_with("<!--") {
        ("comment", &["-->"])
    } else if html.starts_with("<?") {
        ("HTML", &["?>"])
    } else if html.starts_with("<![cdata[") {
        ("HTML", &["]]>"])
    } else if html.starts_with("<!") {
        ("HTML", &[">"])
    } else if WHOLE.iter().any(begins) {
        ("HTML", &["</script>", "</pre>", "</style>", "</textarea>"])
    } else {
        return None;
    };
    let is_ended = ends.iter().any(|end| html.contains(end));
    (!is_ended).then_some(what)
}

#[cfg(test)]
mod tests {
    use super::super::outline::Outline;
    use super::*;

    #[test]
    fn an_open_box_that_an_unended_block_hides_is_noted() {
        let swallowed = |text: &str| {
            Outline::of(&Document::new(text.as_bytes()))
                .swallowed
                .map(|found| (found.line, found.open_box))
        };
        assert_eq!(swallowed("- [x] a\n\n```\n- [ ] b\n"), Some((3, 4)));
        assert_eq!(swallowed("- [x] a\n\n<!-- no\n- [ ] b\n"), Some((3, 4)));
        assert_eq!(swallowed("<!-- - [ ] b\n"), Some((1, 1)));
        assert_eq!(swallowed("<pre>\n\n- [x] a\n- [~] b\n"), Some((1, 4)));
        assert_eq!(swallowed("<?php\n- [ ] b\n"), Some((1, 2)));
        assert_eq!(swallowed("> ~~~\n> - [ ] b\n"), Some((1, 2)));
        for text in [
            "```\n- [ ] b\n```\n",
            "```\n- [x] b\n",
            "<!-- - [ ] b -->\n",
            "<!--\n- [ ] b\n-->\n",
            "<pre>\n- [ ] b\n</pre>\n",
            "<div>\n- [ ] b\n\n",
            "    - [ ] b\n",
        ] {
            assert_eq!(swallowed(text), None, "{text:?}");
        }
    }
}
