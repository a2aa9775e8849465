//! Files that git converts between the work tree and its objects: filters, line endings, encodings
//! (gitattributes(5)).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::command::{Git, joined_z, split_z};
use super::discover::Repo;
use super::error::GitError;

/// Attributes that make git convert a file; `crlf` is the former name of `text`.
const ATTRIBUTES: [&str; 6] = ["filter", "ident", "working-tree-encoding", "text", "eol", "crlf"];

/// Files that git may convert.
#[derive(Debug, Default)]
pub struct Conversions {
    /// The files of all filters and rules except git-lfs.
    pub paths: Vec<Vec<u8>>,
    /// The files of `filter=lfs`.
    pub large: BTreeSet<Vec<u8>>,
}

impl Repo {
    /// Returns whether an index that only git can read has attributes files.
    pub async fn tracks_attributes(&self, index: &Path) -> Result<bool, GitError> {
        let args = ["-z", "--", ":(top,glob)**/.gitattributes"];
        let files = self.git.cmd("ls-files", args).index(index).fields().await?;
        Ok(!files.is_empty())
    }

    /// Returns the `paths` that git may convert.
    pub async fn conversions(&self, index: &Path, paths: &[Vec<u8>]) -> Result<Conversions, GitError> {
        let mut found = Conversions::default();
        let autocrlf = self.git.cmd("config", ["core.autocrlf"]).any_exit().await?;
        let mut args = vec!["-z", "--stdin"];
        args.extend(ATTRIBUTES);
        let output = self
            .git
            .cmd("check-attr", args)
            .index(index)
            .stdin(joined_z(paths))
            .bytes()
            .await?;
        // "<path> NUL <attribute> NUL <value> NUL"
        for record in split_z(&output).chunks_exact(3) {
            if let [path, attribute, value] = record
                && !matches!(value.as_slice(), b"unspecified" | b"unset")
            {
                let is_large = attribute == b"filter" && value == b"lfs";
                if is_large {
                    found.large.insert(path.clone());
                } else {
                    found.paths.push(path.clone());
                }
            }
        }
        if matches!(autocrlf.stdout.trim_ascii(), b"true" | b"input") {
            let plain = paths.iter().filter(|path| !found.large.contains(*path));
            found.paths.extend(plain.cloned());
        }
        found.paths.sort();
        found.paths.dedup();
        Ok(found)
    }

    /// Writes these paths of an index into another directory, converted as on checkout.
    pub async fn write_copies(&self, index: &Path, paths: &[Vec<u8>], dir: &Path) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut prefix = OsString::from("--prefix=");
        prefix.push(dir);
        prefix.push("/");
        self.check_out(index, &[&prefix], paths).await
    }
}

/// The system's attributes files of a git older than 2.42, which cannot print their path.
const OLD_PLACES: [&str; 3] = [
    "/etc/gitattributes",
    "/usr/local/etc/gitattributes",
    "/opt/homebrew/etc/gitattributes",
];

impl Git {
    /// Returns the system's attributes file (git-var(1), `GIT_ATTR_SYSTEM`), whether it exists or not; nothing if git
    /// uses none.
    pub async fn system_attributes(&self) -> Result<Vec<PathBuf>, GitError> {
        let answer = self.cmd("var", ["GIT_ATTR_SYSTEM"]).any_exit().await?;
        let path = answer.stdout.trim_ascii_end();
        Ok(match answer.code {
            Some(0) if !path.is_empty() => vec![OsString::from_vec(path.to_vec()).into()],
            // Git uses none.
            Some(0 | 1) => Vec::new(),
            _ => OLD_PLACES.map(PathBuf::from).into(),
        })
    }
}
