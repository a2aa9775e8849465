//! Adds the reason for a further round to the prompt of an attempt.

use super::{beginning, neutral, quotation};
use crate::events::Further;

/// Maximum size of the agent's text about the work that is left, in bytes; its beginning is kept.
const MAX_LEFT: usize = 4 * 1024;
/// Maximum number of changed files that are named.
const MAX_FILES: usize = 40;

/// The work tree at the beginning of a further round.
#[derive(Clone, Copy, Debug)]
pub struct Begins<'a> {
    /// The commit of the last checkpoint, abbreviated.
    pub checkpoint: &'a str,
    /// The files that differ from it, with the lines that were added and removed.
    pub files: &'a [String],
    /// The work that is left, in the words of the round before.
    pub left: &'a str,
    /// True if the prompt of the attempt offers another process, and this is the last one.
    pub is_last: bool,
}

/// Returns the prompt of a further round: the prompt of the attempt, and the reason for the round.
pub fn further(prompt: &str, why: Further, begins: Begins<'_>) -> String {
    let Begins {
        checkpoint,
        files,
        left,
        is_last,
    } = begins;
    let files = first_of(files);
    let said = quotation(&beginning(left, MAX_LEFT));
    let also = match left {
        "" => String::new(),
        _ => format!("\nThis speaks against it, too:\n\n{said}\n"),
    };
    let text = match why {
        Further::Continue => {
            format!(
                "## This attempt continues\n\nAn earlier process of this attempt did a part of the story. Its work is in the work \
                 tree\n(`git diff {checkpoint}` shows it without new files):\n\n{files}\n\nIt said that this is left:\n\n{said}\n\nContinue from there, and \
                 finish as described above.\n"
            )
        }
        Further::Unchanged => format!(
            "## Asked once more\n\nAn earlier process of this attempt said that the story is complete, but git sees \
             no change outside\nthe story list since the last checkpoint. If the story was done before, name for each of its tasks the file or commit \
             that shows it,\nand finish as described above; a promise that names none is not accepted. Otherwise do it now. Run nothing again that acts outside of this \
             repository.\n{also}"
        ),
        Further::Doubtful => format!(
            "## Asked once more\n\nAn earlier process of this attempt said that the story is complete. Its work is in the work tree\n\
             (`git diff {checkpoint}` shows it without new files):\n\n{files}\n\nThis speaks against it:\n\n{said}\n\nCheck whether \
             the story is complete, do what is missing, and finish as described above.\n"
        ),
        Further::Unsaid => format!(
            "## Asked once more\n\nAn earlier process of this attempt ended without saying whether the story is done. Its work is in \
             the work\ntree (`git diff {checkpoint}` shows it without new files):\n\n{files}\n\nCheck it, complete it, and finish \
             as described above.\n{also}"
        ),
    };
    let last = if is_last {
        "\nNo other process of this attempt follows: if the rest needs one, the attempt has failed.\n"
    } else {
        ""
    };
    format!("{}\n\n{text}{last}", prompt.trim_end())
}

/// Returns the first of these files as a list.
fn first_of(files: &[String]) -> String {
    let mut lines: Vec<String> = files
        .iter()
        .take(MAX_FILES)
        .map(|file| format!("- {}", neutral(file)))
        .collect();
    if files.len() > MAX_FILES {
        lines.push(format!("- and {} more", files.len() - MAX_FILES));
    }
    lines.join("\n")
}
