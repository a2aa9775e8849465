//! Files that git converts between the work tree and its objects: filters, line endings, encodings
//! (gitattributes(5)).

use std::ffi::OsString;
use std::path::Path;

use super::command::{GitError, joined_z, split_z};
use super::discover::Repo;
use super::index_file::IndexFile;

/// Attributes that make git convert a file.
const ATTRIBUTES: [&str; 5] = ["filter", "ident", "working-tree-encoding", "text", "eol"];

impl Repo {
    /// Returns whether the configuration, or an attributes file that the index knows, can make git convert
    /// files. `file` is that index as it was read. Starts no git process for an index that we can read ourselves.
    ///
    /// # Errors
    /// If git cannot tell.
    pub async fn may_convert(&self, index: &Path, file: &IndexFile) -> Result<bool, GitError> {
        if self.converts || self.common_dir.join("info/attributes").exists() {
            return Ok(true);
        }
        if let Some(index) = file.index() {
            return Ok(index.entries().any(|entry| is_attributes(entry.path)));
        }
        let pattern = ":(top,glob)**/.gitattributes";
        let args = ["-z", "--", pattern];
        let files = self.git.cmd("ls-files", args).index(index).fields().await?;
        Ok(!files.is_empty())
    }

    /// Returns those of `paths` that git may convert. The large files of `filter=lfs` are left out: their
    /// filter loses nothing.
    ///
    /// # Errors
    /// If git cannot tell.
    pub async fn converted_paths(&self, index: &Path, paths: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, GitError> {
        let autocrlf = self.git.cmd("config", ["core.autocrlf"]).any_exit().await?;
        if matches!(autocrlf.stdout.trim_ascii(), b"true" | b"input") {
            return Ok(paths.to_vec());
        }
        let mut args = vec!["-z", "--stdin"];
        args.extend(ATTRIBUTES);
        let told = self
            .git
            .cmd("check-attr", args)
            .index(index)
            .stdin(joined_z(paths))
            .bytes()
            .await?;
        // "<path> NUL <attribute> NUL <value> NUL"
        let mut converted: Vec<Vec<u8>> = split_z(&told)
            .chunks_exact(3)
            .filter_map(|record| match record {
                [path, attribute, value] => {
                    let plain = matches!(value.as_slice(), b"unspecified" | b"unset");
                    let lossless = attribute == b"filter" && value == b"lfs";
                    (!plain && !lossless).then(|| path.clone())
                }
                _ => None,
            })
            .collect();
        converted.dedup();
        Ok(converted)
    }

    /// Writes these paths of an index into another directory, converted as git converts them on checkout.
    ///
    /// # Errors
    /// If a file cannot be written, or a filter fails.
    pub async fn write_copies(&self, index: &Path, paths: &[Vec<u8>], dir: &Path) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut prefix = OsString::from("--prefix=");
        prefix.push(dir);
        prefix.push("/");
        let args = ["--ignore-skip-worktree-bits", "-z", "--stdin"]
            .map(OsString::from)
            .into_iter()
            .chain([prefix]);
        self.git
            .cmd("checkout-index", args)
            .index(index)
            .stdin(joined_z(paths))
            .done()
            .await
    }
}

fn is_attributes(path: &[u8]) -> bool {
    path.strip_suffix(b".gitattributes")
        .is_some_and(|dir| dir.is_empty() || dir.ends_with(b"/"))
}
