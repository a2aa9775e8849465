//! Markdown, rendered as the roff of a manual page.
//!
//! The sources in `man/src` use a part of Markdown: headings, paragraphs, lists, definition lists, code, emphasis, and
//! links to other pages. A line `{{…}}` stands for a part that is generated. Anything else fails the test.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::DATE;

/// A page that is being written.
#[derive(Default)]
pub struct Page {
    roff: String,
    /// Whether the next paragraph needs no macro of its own, because a heading or a term came before it.
    opened: bool,
    /// How deep the text is in definitions and list items.
    depth: usize,
    in_code: bool,
}

/// Renders a source, and has `generate` write what its `{{…}}` lines stand for.
pub fn render(source: &str, generate: impl Fn(&mut Page, &str)) -> String {
    let (title, body) = source.split_once('\n').unwrap();
    let mut page = Page::titled(title);
    let mut markdown = String::new();
    for line in body.lines() {
        let part = line.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        if let Some(part) = part {
            page.markdown(&std::mem::take(&mut markdown));
            generate(&mut page, part);
        } else {
            markdown.push_str(line);
            markdown.push('\n');
        }
    }
    page.markdown(&markdown);
    page.roff
}

/// The blocks of code in a Markdown text: what follows the opening fence, and the code.
pub fn code_blocks(markdown: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_DEFINITION_LIST) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                blocks.push((info.to_string(), String::new()));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                panic!("a block of code without fences in\n{markdown}")
            }
            Event::Text(text) => {
                if let Some((_, code)) = blocks.last_mut() {
                    code.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.push((String::new(), String::new())),
            _ => {}
        }
    }
    // What stands between two blocks is gathered without an info string.
    blocks.retain(|(info, _)| !info.is_empty());
    blocks
}

/// The targets of the links in a Markdown text.
pub fn links(markdown: &str) -> Vec<String> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES)
        .filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.to_string())
            }
            _ => None,
        })
        .collect()
}

impl Page {
    /// Begins the page that a heading such as `# git-ralph-run(1)` names.
    fn titled(heading: &str) -> Self {
        let title = heading.strip_prefix("# ").unwrap();
        let (name, section) = title.strip_suffix(')').unwrap().split_once('(').unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let mut page = Self::default();
        // The parts that clap_mangen writes quote with this string.
        page.roff.push_str(".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n");
        page.roff.push_str(&format!(
            ".TH {name} {section} {DATE} \"git-ralph {version}\" \"git-ralph manual\"\n"
        ));
        // As in git's pages: no hyphens in paths, no gaps in commands.
        page.roff.push_str(".nh\n.ad l\n");
        page
    }

    /// Appends what is roff already.
    pub fn raw(&mut self, roff: &str) {
        self.roff.push_str(roff);
        self.opened = false;
    }

    /// Appends plain text as a paragraph.
    pub fn text(&mut self, text: &str) {
        self.paragraph();
        self.roff.push_str(&line_escaped(text));
        self.roff.push('\n');
    }

    /// Appends lines that are not filled; what they begin with of the name is bold.
    pub fn lines(&mut self, name: &str, lines: &[String]) {
        let lines = lines.iter().map(|line| match line.strip_prefix(name) {
            Some(rest) => format!("{}{}\n", bold(&code(name)), code(rest)),
            None => format!("{}\n", code(line)),
        });
        self.raw(&format!(".nf\n{}.fi\n", lines.collect::<String>()));
    }

    /// Appends a term and its definition, both plain text.
    pub fn item(&mut self, term: &str, definition: &str) {
        let term = code(term);
        let definition = line_escaped(definition);
        self.raw(&format!(".TP\n\\fB{term}\\fR\n{definition}\n"));
    }

    fn paragraph(&mut self) {
        if !std::mem::take(&mut self.opened) {
            self.macro_line(if self.depth == 0 { ".PP" } else { ".IP" });
        }
    }

    /// Appends a line that is a macro; it begins on a line of its own.
    fn macro_line(&mut self, line: &str) {
        if !self.roff.ends_with('\n') {
            self.roff.push('\n');
        }
        self.roff.push_str(line);
        self.roff.push('\n');
    }

    fn markdown(&mut self, markdown: &str) {
        for event in Parser::new_ext(markdown, Options::ENABLE_DEFINITION_LIST) {
            match event {
                Event::Start(tag) => self.start(&tag),
                Event::End(tag) => self.end(tag),
                Event::Text(text) if self.in_code => {
                    for line in text.split_inclusive('\n') {
                        let at_start = self.roff.ends_with('\n');
                        self.roff.push_str(&guarded(&code(line), at_start));
                    }
                }
                Event::Text(text) => {
                    self.opened = false;
                    let at_start = self.roff.ends_with('\n');
                    let text = references(&text);
                    self.roff.push_str(&guarded(&text, at_start));
                }
                Event::Code(text) => {
                    self.opened = false;
                    self.roff.push_str(&bold(&code(&text)));
                }
                Event::SoftBreak => self.roff.push('\n'),
                other => panic!("the manual has no {other:?} in\n{markdown}"),
            }
        }
    }

    fn start(&mut self, tag: &Tag) {
        match tag {
            Tag::Heading { level, .. } => {
                let name = if *level as usize == 2 { "SH" } else { "SS" };
                self.macro_line(&format!(".{name} \""));
                // The title follows on the same line.
                self.roff.pop();
            }
            Tag::Paragraph => self.paragraph(),
            Tag::CodeBlock(_) => {
                self.paragraph();
                self.macro_line(".RS 4");
                self.macro_line(".nf");
                self.in_code = true;
            }
            Tag::Item => {
                self.macro_line(".IP \\(bu 3");
                self.opened = true;
                self.depth += 1;
            }
            Tag::DefinitionListTitle => self.macro_line(".TP"),
            Tag::DefinitionListDefinition => {
                self.opened = true;
                self.depth += 1;
            }
            Tag::Emphasis => self.roff.push_str("\\fI"),
            Tag::Strong => self.roff.push_str("\\fB"),
            Tag::List(None) | Tag::DefinitionList | Tag::Link { .. } => {}
            other => panic!("the manual has no {other:?}"),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.roff.push_str("\"\n");
                self.opened = true;
            }
            TagEnd::Emphasis | TagEnd::Strong => self.roff.push_str("\\fR"),
            TagEnd::CodeBlock => {
                self.in_code = false;
                self.macro_line(".fi");
                self.macro_line(".RE");
                self.opened = false;
            }
            TagEnd::Item | TagEnd::DefinitionListDefinition => {
                self.depth -= 1;
                self.end_line();
                self.opened = false;
            }
            TagEnd::Paragraph | TagEnd::DefinitionListTitle => self.end_line(),
            _ => {}
        }
    }

    fn end_line(&mut self) {
        if !self.roff.ends_with('\n') {
            self.roff.push('\n');
        }
    }
}

fn bold(text: &str) -> String {
    format!("\\fB{text}\\fR")
}

/// Text that roff prints as it is, in prose.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\(rs")
        .replace('-', "\\-")
        .replace('`', "\\(ga")
}

/// Code that roff prints as it is typed: no quote or tilde becomes a typographic one.
fn code(text: &str) -> String {
    escaped(text)
        .replace('\'', "\\(aq")
        .replace('^', "\\(ha")
        .replace('~', "\\(ti")
}

/// Keeps the beginning of a line from being read as a macro.
fn guarded(text: &str, at_start: bool) -> String {
    if at_start && text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text.to_owned()
    }
}

fn line_escaped(text: &str) -> String {
    guarded(&references(text), true)
}

/// Prose, in which the names of manual pages, such as git-gc(1), are bold.
fn references(text: &str) -> String {
    let words = text.split_inclusive(' ').map(|word| {
        let bare = word.trim_start_matches('(');
        let (before, word) = word.split_at(word.len() - bare.len());
        let page = word.split_once('(').filter(|(name, rest)| {
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let mut rest = rest.chars();
            is_name && rest.next().is_some_and(|c| c.is_ascii_digit()) && rest.next() == Some(')')
        });
        match page {
            Some((name, rest)) => format!("{before}{}({}", bold(&escaped(name)), escaped(rest)),
            None => format!("{before}{}", escaped(word)),
        }
    });
    words.collect()
}
