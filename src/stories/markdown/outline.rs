//! Parses a file once: its headings, its boxes, and the lines that only look like boxes.
//!
//! A `CommonMark` parser finds the list items; a box counts if the text of an item begins with it. Headings inside
//! lists and quotes do not divide the file and are ignored.
//!
//! Invariant: headings and boxes are in the order of the file, and
//! [`Heading::boxes_before`] places each heading between two boxes.
//!
//! This module does not know how boxes become stories.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::boxes::{looks_like_box, looks_marked, looks_open, read_box, touches_marker};
use super::document::Document;
use super::prose::{Prose, Teller};
use super::unended::{Swallowed, html_without_end};

/// A heading that divides the file.
pub(super) struct Heading {
    /// 1 to 6.
    pub(super) level: usize,
    /// The source of the heading on one line, without its markers.
    pub(super) title: String,
    pub(super) line: usize,
    /// The heading with its markers.
    pub(super) range: Range<usize>,
    /// The number of boxes above the heading.
    pub(super) boxes_before: usize,
}

/// A list item that begins with a box.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CheckBox {
    /// The bytes between the brackets.
    pub(super) mark: Range<usize>,
    pub(super) done: bool,
    /// True if it, or a box around it, is marked optional.
    pub(super) optional: bool,
    /// True if no other box contains it.
    pub(super) outermost: bool,
    /// The source of the item's first paragraph on one line, without the box.
    pub(super) text: String,
    pub(super) line: usize,
    /// The rest of the item.
    pub(super) body: Range<usize>,
}

/// A line that looks like a box where it cannot be one.
pub(super) struct Lookalike {
    pub(super) line: usize,
    /// The reason why it is no box, as the end of a sentence.
    pub(super) why: &'static str,
    /// True if it is an open box in fenced code.
    pub(super) open_in_fence: bool,
}

/// The structure of a file.
#[derive(Default)]
pub(super) struct Outline {
    pub(super) headings: Vec<Heading>,
    pub(super) boxes: Vec<CheckBox>,
    pub(super) lookalikes: Vec<Lookalike>,
    /// The lines of unclosed code fences.
    pub(super) unclosed: Vec<usize>,
    /// The first unclosed block that hides an open box.
    pub(super) swallowed: Option<Swallowed>,
}

impl Outline {
    /// Parses `document`; every text has an outline.
    pub(super) fn of(document: &Document<'_>) -> Self {
        let (markdown, start) = document.markdown();
        let mut walker = Walker {
            document,
            outline: Self::default(),
            containers: Vec::new(),
            item_begins: false,
            prose: None,
        };
        for (event, range) in Parser::new_ext(markdown, Options::empty()).into_offset_iter() {
            walker.visit(&event, range.start + start..range.end + start);
        }
        walker.outline
    }
}

/// A list item or a quote around the current event.
struct Container {
    /// The innermost box that contains it.
    owner: Option<usize>,
    end: usize,
}

struct Walker<'a> {
    document: &'a Document<'a>,
    outline: Outline,
    containers: Vec<Container>,
    /// True if the next event is the first of a list item.
    item_begins: bool,
    prose: Option<Prose>,
}

impl Walker<'_> {
    fn visit(&mut self, event: &Event<'_>, range: Range<usize>) {
        let first_of_item = std::mem::take(&mut self.item_begins);
        match event {
            Event::Start(tag) => self.start(tag, range, first_of_item),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_)) | Event::Rule => self.end_prose(),
            Event::End(TagEnd::Item | TagEnd::BlockQuote(_)) => {
                self.end_prose();
                self.containers.pop();
            }
            Event::End(_) => self.extend_prose(range.end..range.end),
            Event::SoftBreak | Event::HardBreak => self.pause_prose(range.start),
            Event::InlineHtml(html) if html.starts_with("<!--") => {
                self.pause_prose(range.end);
            }
            Event::Text(_) => {
                if first_of_item {
                    self.start_box(range.start);
                } else {
                    self.note_touching(range.start);
                }
                self.extend_prose(range);
            }
            _ => self.extend_prose(range),
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>, first_of_item: bool) {
        match tag {
            Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. } => {
                return self.extend_prose(range.start..range.start);
            }
            _ => self.end_prose(),
        }
        match tag {
            Tag::Paragraph => self.item_begins = first_of_item,
            Tag::Heading { level, .. } if self.containers.is_empty() => {
                self.prose = Some(Prose::new(Teller::Heading, range.start));
                self.outline.headings.push(Heading {
                    level: *level as usize,
                    title: String::new(),
                    line: self.document.line(range.start),
                    range,
                    boxes_before: self.outline.boxes.len(),
                });
            }
            Tag::Item | Tag::BlockQuote(_) => {
                self.item_begins = matches!(tag, Tag::Item);
                self.containers.push(Container {
                    owner: self.containers.last().and_then(|outer| outer.owner),
                    end: range.end,
                });
            }
            Tag::CodeBlock(kind) => {
                let is_fenced = matches!(kind, CodeBlockKind::Fenced(_));
                if is_fenced && self.note_fence(&range) {
                    self.note_swallowed(&range, "code fence");
                }
                self.note_lookalikes(range, "is inside a code block", is_fenced);
            }
            Tag::HtmlBlock => {
                let html = self.document.text().get(range.clone()).unwrap_or("");
                let comment = html.trim_start().starts_with("<!--");
                let why = if comment {
                    "is inside an HTML comment"
                } else {
                    "is inside an HTML block"
                };
                if let Some(what) = html_without_end(html) {
                    self.note_swallowed(&range, what);
                }
                self.note_lookalikes(range, why, false);
            }
            _ => {}
        }
    }

    /// Records a box if one begins at `offset`, where the text of an item begins.
    fn start_box(&mut self, offset: usize) {
        let text = self.document.text();
        let escaped = text.get(..offset).is_some_and(|left| left.ends_with('\\'));
        let Some(found) = read_box(text, offset).filter(|_| !escaped) else {
            if !escaped && text.get(offset..).is_some_and(looks_marked) {
                let why = "has a letter or a digit for a mark: write [ ] or [x]";
                self.note_lookalike(offset, why, false);
            }
            return;
        };
        let Some(item) = self.containers.last_mut() else {
            return;
        };
        let outer = item.owner.and_then(|index| self.outline.boxes.get(index));
        let check_box = CheckBox {
            mark: found.mark,
            done: found.done,
            optional: found.optional || outer.is_some_and(|outer| outer.optional),
            outermost: outer.is_none(),
            text: String::new(),
            line: self.document.line(offset),
            body: item.end..item.end,
        };
        item.owner = Some(self.outline.boxes.len());
        self.outline.boxes.push(check_box);
        self.prose = Some(Prose::new(Teller::CheckBox, found.end));
    }

    fn extend_prose(&mut self, range: Range<usize>) {
        if let Some(prose) = &mut self.prose {
            prose.extend(range);
        }
    }

    fn pause_prose(&mut self, end: usize) {
        if let Some(prose) = &mut self.prose {
            prose.pause(self.document, end);
        }
    }

    fn end_prose(&mut self) {
        let Some(mut prose) = self.prose.take() else {
            return;
        };
        prose.pause(self.document, prose.end);
        match prose.teller {
            Teller::Heading => {
                if let Some(heading) = self.outline.headings.last_mut() {
                    heading.title = prose.text;
                }
            }
            Teller::CheckBox => {
                if let Some(check_box) = self.outline.boxes.last_mut() {
                    check_box.text = prose.text;
                    let start = self.document.line_start_from(prose.end);
                    check_box.body.start = start.min(check_box.body.end);
                }
            }
        }
    }

    /// Records an unclosed code fence, and returns whether it is unclosed: all following text is code.
    fn note_fence(&mut self, range: &Range<usize>) -> bool {
        let block = self.document.text().get(range.clone()).unwrap_or("").trim_end();
        let fence = block.chars().next().unwrap_or('`');
        let opening = block.chars().take_while(|c| *c == fence).count();
        let (above, last) = block.rsplit_once(['\n', '\r']).unwrap_or(("", block));
        let last = last.trim_start_matches([' ', '\t', '>']).trim_end();
        let closes = last.len() >= opening && last.chars().all(|c| c == fence);
        let is_open = above.is_empty() || !closes;
        if is_open {
            self.outline.unclosed.push(self.document.line(range.start));
        }
        is_open
    }

    /// Records an unclosed block if it is the first that hides an open box.
    fn note_swallowed(&mut self, range: &Range<usize>, what: &'static str) {
        let swallowed = &mut self.outline.swallowed;
        *swallowed = swallowed
            .take()
            .or_else(|| Swallowed::by(self.document, range, what));
    }

    /// Records a line that would begin with a box if a space preceded it.
    fn note_touching(&mut self, offset: usize) {
        let (above, line) = self.document.text().split_at_checked(offset).unwrap_or_default();
        let begins = above.trim_end_matches([' ', '\t', '>']);
        if touches_marker(line) && (begins.is_empty() || begins.ends_with(['\n', '\r'])) {
            let why = "touches the marker of its item: write a space between them";
            self.note_lookalike(offset, why, false);
        }
    }

    fn note_lookalike(&mut self, offset: usize, why: &'static str, open_in_fence: bool) {
        self.outline.lookalikes.push(Lookalike {
            line: self.document.line(offset),
            why,
            open_in_fence,
        });
    }

    fn note_lookalikes(&mut self, range: Range<usize>, why: &'static str, is_fenced: bool) {
        let mut start = range.start;
        let block = self.document.text().get(range).unwrap_or("");
        for line in block.split_inclusive(['\n', '\r']) {
            if looks_like_box(line) {
                self.note_lookalike(start, why, is_fenced && looks_open(line));
            }
            start += line.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Outline {
        Outline::of(&Document::new(text.as_bytes()))
    }

    fn texts(text: &str) -> Vec<String> {
        let boxes = outline(text).boxes;
        boxes.into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn finds_boxes_in_items_of_every_marker() {
        let text = "- [ ] a\n* [x] b\n+ [X] c\n1. [-] d\n2) [] e\n> - [ ] f\n\n-\n  [ ] g\n";
        assert_eq!(texts(text), ["a", "b", "c", "d", "e", "f", "g"]);
        let done: Vec<bool> = outline(text).boxes.iter().map(|found| found.done).collect();
        assert_eq!(done, [false, true, true, false, false, false, false]);
    }

    #[test]
    fn a_box_must_begin_the_text_of_its_item() {
        for text in [
            "[ ] a\n",
            "- a [ ] b\n",
            "- **[ ] a**\n",
            "- # [ ] a\n",
            "- > [ ] a\n",
            "- \\[ ] a\n",
            "- &#91; ] a\n",
            "- [`] a`\n",
            "- [x](https://example.org)\n",
            "- [x]: https://example.org\n",
            "- [1] a\n\n[1]: https://example.org\n",
            "- a\n\n  [ ] b\n",
        ] {
            assert!(texts(text).is_empty(), "{text:?}");
        }
        assert_eq!(texts("- - [ ] a\n"), ["a"]);
        assert_eq!(texts("- [x] [a](b)\n"), ["[a](b)"]);
    }

    #[test]
    fn boxes_in_code_comments_and_html_are_lookalikes() {
        let text = "```\n- [ ] a\n```\n\n    - [ ] b\n\n<!-- - [ ] c\n- [x] d -->\n\n<div>\n- [ ] e\n</div>\n\n- [ ] f <!-- g -->\n- [ ] h `[ ] i`\n";
        let found = outline(text);
        assert_eq!(
            found.boxes.iter().map(|found| &found.text).collect::<Vec<_>>(),
            ["f", "h `[ ] i`"]
        );
        let lookalikes: Vec<_> = found
            .lookalikes
            .iter()
            .map(|lookalike| (lookalike.line, lookalike.why))
            .collect();
        assert_eq!(
            lookalikes,
            [
                (2, "is inside a code block"),
                (5, "is inside a code block"),
                (7, "is inside an HTML comment"),
                (8, "is inside an HTML comment"),
                (11, "is inside an HTML block"),
            ]
        );
    }

    #[test]
    fn labels_and_boxes_without_a_space_are_lookalikes() {
        let text = "- [P] a\n- b\n-[ ] c\n\n> *[x] d\n\ne -[ ] f\n- \\[P] g\n- [1] h\n\n[1]: u\n";
        let found = outline(text);
        assert!(found.boxes.is_empty());
        let lookalikes: Vec<_> = found
            .lookalikes
            .iter()
            .map(|found| (found.line, found.why))
            .collect();
        let label = "has a letter or a digit for a mark: write [ ] or [x]";
        let touching = "touches the marker of its item: write a space between them";
        assert_eq!(lookalikes, [(1, label), (3, touching), (5, touching)]);
    }

    #[test]
    fn a_fence_that_nothing_closes_is_noted() {
        let unclosed = |text: &str| outline(text).unclosed;
        assert_eq!(unclosed("# a\n\n```sh\n- [ ] b\n"), [3]);
        assert_eq!(unclosed("~~~~\n~~~\n"), [1]);
        assert_eq!(unclosed("```"), [1]);
        for closed in [
            "```\n```\n",
            "~~~ x\na\n~~~~  \n",
            "- ```\n  a\n  ```\n",
            "> ```\n> a\n> ```\n",
            "    ```\n",
        ] {
            assert_eq!(unclosed(closed), [0; 0], "{closed:?}");
        }
    }

    #[test]
    fn text_is_the_first_paragraph_on_one_line() {
        let text = "- [ ] **a**  b\r\n  `c` *d\r\n  e*\r\n\r\n  more\r\n- [ ]* f <!-- g --> h\r\n- [ ]\r\n";
        assert_eq!(texts(text), ["**a** b `c` *d e*", "f h", ""]);
        assert_eq!(texts("> - [ ] a\n>   b\n"), ["a b"]);
        let found = outline(text);
        assert_eq!(&text[found.boxes[0].body.clone()], "\r\n  more\r\n");
        assert_eq!(found.boxes[1].line, 6);
    }

    #[test]
    fn nesting_counts_boxes_and_hands_optional_down() {
        let text = "- [ ]* a\n  - plain\n    - [ ] b\n- plain\n  - [ ] c\n    > - [x]* d\n- [ ] e\n";
        let found: Vec<_> = outline(text)
            .boxes
            .into_iter()
            .map(|found| (found.text, found.outermost, found.optional))
            .collect();
        let expected = [
            ("a", true, true),
            ("b", false, true),
            ("c", true, false),
            ("d", false, true),
            ("e", true, false),
        ];
        assert_eq!(
            found,
            expected.map(|(text, outermost, optional)| (text.to_owned(), outermost, optional))
        );
    }

    #[test]
    fn headings_know_their_title_line_and_boxes() {
        let text = "---\nk: v\n---\nA *b*\n=====\n- [ ] a\n- # no\n> # no\n\n##  2. `c` ##\n- [ ] d\n#\n";
        let found: Vec<_> = outline(text)
            .headings
            .into_iter()
            .map(|found| (found.level, found.title, found.line, found.boxes_before))
            .collect();
        assert_eq!(
            found,
            [
                (1, "A *b*".to_owned(), 4, 0),
                (2, "2. `c`".to_owned(), 10, 1),
                (1, String::new(), 12, 2),
            ]
        );
    }

    #[test]
    fn offsets_hold_behind_a_byte_order_mark_and_in_invalid_text() {
        let bytes = b"\xef\xbb\xbf- [ ] a\xff\n  - [\xfe] b\n";
        let boxes = Outline::of(&Document::new(bytes)).boxes;
        let marks: Vec<&[u8]> = boxes.iter().map(|found| &bytes[found.mark.clone()]).collect();
        assert_eq!(marks, [b" ".as_slice(), b"\xfe"]);
        assert_eq!(boxes[0].text, "a\u{fffd}");
        assert!(!boxes[1].outermost);
    }
}
