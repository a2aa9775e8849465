//! Finds the version of an installed program without running it: most agents are installed as packages, whose file has
//! it. A program that does not know `--version` may begin to work.

use std::ffi::OsStr;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::command::AgentCommand;
use crate::async_cmd::find_program;
use crate::fs::{Links, read_regular_text};

/// Maximum number of directories above a program that are searched for its package.
const MOST_ABOVE: usize = 5;

/// Maximum size of a package's file, in bytes.
const MOST: u64 = 1 << 20;

/// Maximum length of a version, in characters.
const VERSION_CHARS: usize = 40;

/// The part of a `package.json` that names the package's programs.
#[derive(Deserialize)]
struct Package {
    #[serde(default)]
    name: String,
    version: String,
    #[serde(default)]
    bin: Value,
}

impl Package {
    /// Returns whether this program belongs to the package.
    fn has(&self, program: &str) -> bool {
        match &self.bin {
            Value::Object(programs) => programs.contains_key(program),
            // The program is named like the package, without its scope.
            Value::String(_) => self.name.rsplit('/').next() == Some(program),
            _ => false,
        }
    }
}

impl AgentCommand {
    /// Returns the version of the package that installed the program, if the package has one; `dir` is the base of a
    /// relative path.
    pub fn installed_version(&self, dir: &Path) -> Option<String> {
        let program = self.first_word()?;
        let name = program.to_string_lossy().into_owned();
        let name = name.rsplit('/').next().unwrap_or(&name);
        version_of(&find_program(&program, dir)?, name)
    }
}

fn version_of(file: &Path, program: &str) -> Option<String> {
    // A package manager installs a symlink on PATH.
    let file = file.canonicalize().ok()?;
    let dirs = file.ancestors().skip(1).take(MOST_ABOVE);
    let packages = dirs.filter_map(|dir| {
        if dir.file_name() == Some(OsStr::new("node_modules")) {
            return None;
        }
        let text = read_regular_text(&dir.join("package.json"), Links::Followed, MOST);
        serde_json::from_str::<Package>(&text.ok()?).ok()
    });
    let package = packages.into_iter().find(|package| package.has(program))?;
    short(&package.version)
}

/// Returns the first word of a version, without control characters; `None` if nothing is left.
pub fn short(version: &str) -> Option<String> {
    let word = version.split_whitespace().next()?;
    let shown = word.chars().filter(|char| !char.is_control());
    let short: String = shown.take(VERSION_CHARS).collect();
    Some(short).filter(|short| !short.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn package_gives_the_version_of_its_own_programs_only() {
        let temp = tempfile::tempdir().unwrap();
        let package = temp.path().join("lib/node_modules/@maker/agent");
        fs::create_dir_all(package.join("dist/bin")).unwrap();
        let program = package.join("dist/bin/main.js");
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(temp.path().join("bin")).unwrap();
        let link = temp.path().join("bin/agent");
        symlink(&program, &link).unwrap();
        let say = |text: &str| fs::write(package.join("package.json"), text).unwrap();
        let of = |line: &str| AgentCommand::Shell(line.to_owned()).installed_version(temp.path());
        assert_eq!(of("bin/agent -p"), None);
        say(r#"{"name":"@maker/agent","version":"1.2.3","bin":{"agent":"dist/bin/main.js"}}"#);
        assert_eq!(of("KEY=x bin/agent -p").as_deref(), Some("1.2.3"));
        let given = AgentCommand::Args(vec![link.into(), "-p".into()]);
        assert_eq!(given.installed_version(Path::new("/")).as_deref(), Some("1.2.3"));
        say(r#"{"name":"@maker/agent","version":"1.2.3","bin":"dist/bin/main.js"}"#);
        assert_eq!(of("bin/agent").as_deref(), Some("1.2.3"));
        // A package of the same directories that has another program, or none.
        say(r#"{"name":"x","version":"1.2.3","bin":{"other":"y"}}"#);
        assert_eq!(of("bin/agent"), None);
        say(r#"{"version":3,"bin":{"agent":1}}"#);
        assert_eq!(of("bin/agent"), None);
        assert_eq!(of("sh -c x"), None);
        assert_eq!(of("bin/none"), None);
    }

    #[test]
    fn a_version_is_one_short_word() {
        assert_eq!(short(" 1.2\u{1b}[1m.3 (x)\n").as_deref(), Some("1.2[1m.3"));
        assert_eq!(short(&"1".repeat(99)).map(|text| text.len()), Some(VERSION_CHARS));
        assert_eq!(short(" \n"), None);
    }
}
