//! Record of the ref moves of an attempt: a file, limited in size, that the hooks append to.
//!
//! Git reports each move twice, before and after it happens, and the second report may lack the old value. So both are
//! recorded, and only moves that git completed count. Each line has a letter, the old value, the new value and the
//! name: `p` (prepared), `c` (committed), `r` (refused). A refused push is the line `push`, a question without an answer
//! the line `unasked`.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use super::rules::Move;
use crate::fs::{Below, Links, open_regular, seen};

/// Name of the file in the slot.
pub(super) const FILE: &str = "guard.log";

/// Maximum size of the file, in bytes; later moves are not recorded.
const MAX_SIZE: u64 = 1 << 20;

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub(super) enum Kind {
    #[strum(to_string = "p")]
    Prepared,
    #[strum(to_string = "c")]
    Committed,
    #[strum(to_string = "r")]
    Refused,
}

/// Lines to be written, limited to the maximum size of the file.
#[derive(Default)]
pub(super) struct Lines(String);

impl Lines {
    /// Adds a move.
    pub fn push(&mut self, kind: Kind, moved: &Move) {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let (old, new) = (value(&moved.old), value(&moved.new));
        let line = format!("{kind} {old} {new} {}\n", moved.name);
        if (self.0.len() + line.len()) as u64 <= MAX_SIZE {
            self.0.push_str(&line);
        }
    }

    /// Adds a refused push.
    pub fn push_refused(&mut self) {
        self.0.push_str("push\n");
    }

    /// Appends the lines to a file if they fit. A write that fails is ignored.
    pub fn append(&self, door: &Below, path: &Path) {
        let size = seen(path).map_or(0, |found| found.len());
        if self.0.is_empty() || size + self.0.len() as u64 > MAX_SIZE {
            return;
        }
        let _ = door.append(path, self.0.as_bytes());
    }
}

/// A move that happened or was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenMove {
    /// The ref's full name.
    pub name: String,
    /// Its old value: an object id, or `ref:` and a name.
    pub old: Option<String>,
    /// Its new value.
    pub new: Option<String>,
    /// True if the guard refused it.
    pub refused: bool,
}

/// The content of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenMoves {
    /// The moves, in order.
    pub moves: Vec<SeenMove>,
    /// Number of refused pushes.
    pub pushes: usize,
    /// Number of questions of the hooks without an answer.
    pub unasked: usize,
    /// True if the hooks are gone.
    pub was_removed: bool,
}

/// Reads a record; returns an empty one if the file is missing or is no regular file.
pub(super) fn read(path: &Path) -> SeenMoves {
    let mut text = Vec::new();
    if let Ok(file) = open_regular(path, Links::Refused) {
        let _ = file.take(MAX_SIZE).read_to_end(&mut text);
    }
    parse(&String::from_utf8_lossy(&text))
}

/// Reads a value of a ref; returns `None` if the ref does not exist, for which git writes zeros.
fn value(text: &str) -> Option<&str> {
    (text != "-" && text.bytes().any(|byte| byte != b'0')).then_some(text)
}

fn parse(text: &str) -> SeenMoves {
    let mut record = SeenMoves::default();
    let mut prepared: HashMap<&str, (Option<&str>, Option<&str>)> = HashMap::new();
    let mut last: HashMap<&str, Option<&str>> = HashMap::new();
    for line in text.lines() {
        record.pushes += usize::from(line == "push");
        record.unasked += usize::from(line == "unasked");
        let mut parts = line.splitn(4, ' ');
        let (Some(kind), Some(old), Some(new), Some(name)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (mut old, new) = (value(old), value(new));
        match kind {
            "p" => {
                prepared.insert(name, (old, new));
                continue;
            }
            "c" => {
                // Deletions are reported twice: for the packed refs and for the ref's own file.
                if last.get(name) == Some(&new) {
                    continue;
                }
                match prepared.remove(name) {
                    Some((known, wanted)) if wanted == new => old = known,
                    _ => continue,
                }
                last.insert(name, new);
            }
            "r" => {}
            _ => continue,
        }
        record.moves.push(SeenMove {
            name: name.to_owned(),
            old: old.map(ToOwned::to_owned),
            new: new.map(ToOwned::to_owned),
            refused: kind == "r",
        });
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_counts_only_committed_and_refused_moves() {
        let text = "p a b refs/heads/x\nc - b refs/heads/x\np b c refs/heads/x\np c - refs/heads/y\n\
                    c - - refs/heads/y\np c - refs/heads/y\nc - - refs/heads/y\nr d e refs/heads/main\npush\nunasked\nodd\n";
        let record = parse(text);
        let moves: Vec<String> = record
            .moves
            .iter()
            .map(|seen| format!("{} {:?} {:?} {}", seen.name, seen.old, seen.new, seen.refused))
            .collect();
        assert_eq!(
            moves,
            [
                "refs/heads/x Some(\"a\") Some(\"b\") false",
                "refs/heads/y Some(\"c\") None false",
                "refs/heads/main Some(\"d\") Some(\"e\") true",
            ]
        );
        assert_eq!((record.pushes, record.unasked), (1, 1));
    }

    #[test]
    fn log_reads_its_own_lines_and_stays_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let moved = Move {
            name: "refs/tags/a b".to_owned(),
            old: None,
            new: Some("f".repeat(40)),
        };
        let mut lines = Lines::default();
        lines.push(Kind::Prepared, &moved);
        lines.push(Kind::Committed, &moved);
        lines.push_refused();
        lines.append(&Below::new(dir.path()), &path);
        let record = read(&path);
        assert_eq!(record.moves[0].name, moved.name);
        assert_eq!((record.moves.len(), record.pushes), (1, 1));
        let mut many = Lines::default();
        for _ in 0..20_000 {
            many.push(Kind::Refused, &moved);
        }
        for _ in 0..3 {
            many.append(&Below::new(dir.path()), &path);
        }
        assert!(path.metadata().unwrap().len() <= MAX_SIZE);
    }
}
