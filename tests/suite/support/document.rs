//! README.md and the files of docs/: the blocks that tests run, and the parts that are generated.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use snapbox::{Data, assert_data_eq};

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads the documents, by their paths from the top directory.
pub fn all() -> BTreeMap<String, String> {
    let docs = fs::read_dir(top().join("docs")).unwrap();
    let docs = docs.map(|entry| format!("docs/{}", entry.unwrap().file_name().to_str().unwrap()));
    let markdown = docs.filter(|path| Path::new(path).extension().is_some_and(|end| end == "md"));
    let paths = markdown.chain(["README.md".to_owned(), "CONTRIBUTING.md".to_owned()]);
    paths
        .map(|path| {
            let text = fs::read_to_string(top().join(&path)).unwrap();
            (path, text)
        })
        .collect()
}

/// Returns the block of code that follows a comment in one of the documents.
#[track_caller]
pub fn block(comment: &str) -> String {
    let comment = format!("<!-- {comment} -->\n```");
    let documents = all();
    let found: Vec<&str> = documents
        .values()
        .filter_map(|text| text.split_once(&comment).map(|(_, rest)| rest))
        .collect();
    let [rest] = found[..] else {
        panic!("{} documents have a block after {comment}", found.len());
    };
    let (_, block) = rest.split_once('\n').unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// Compares a generated part of a document, which stands between `<!-- generated: name -->` and `<!-- end -->`, with
/// this text. `SNAPSHOTS=overwrite` writes it anew.
#[track_caller]
pub fn has_part(path: &str, name: &str, text: &str) {
    let file = top().join(path);
    let document = fs::read_to_string(&file).unwrap();
    let begin = format!("<!-- generated: {name} -->\n");
    let (before, rest) = document
        .split_once(&begin)
        .unwrap_or_else(|| panic!("{path} has no {begin}"));
    let (_, after) = rest.split_once("<!-- end -->").unwrap();
    let wanted = format!("{before}{begin}{text}<!-- end -->{after}");
    assert_data_eq!(wanted, Data::read_from(&file, None).raw());
}

/// Returns a row of a table, in which a bar is text.
pub fn row(cells: &[&str]) -> String {
    let plain = cells.iter().map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", plain.collect::<Vec<_>>().join(" | "))
}
