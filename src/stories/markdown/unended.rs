//! Blocks that nothing ends, and the boxes that they hide: a list of which a part is missing is never complete.
//!
//! This module must not know what else a file holds.

use std::ops::Range;

use super::boxes::looks_open;
use super::document::Document;

/// A block that hides an open box because nothing ends it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Swallowed {
    /// The line on which the block begins.
    pub(super) line: usize,
    /// The line of the first open box in it.
    pub(super) open_box: usize,
    /// The name of what begins there.
    pub(super) what: &'static str,
}

impl Swallowed {
    /// Returns the first open box in the block `range`, which nothing ends.
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

/// Returns the name of what an HTML block begins with if only its own end, which is missing, would have ended it. Other
/// blocks end with a blank line.
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
