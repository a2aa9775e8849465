//! Decides what is seen of a home directory: the tools in it, and what the agent itself needs.

use std::fs;
use std::path::{Path, PathBuf};

use super::walls::Mount;

/// Tools and settings that can be read, from the home directory. Whatever is not here is not seen.
const TOOLS: &[&str] = &[
    ".asdf",
    ".bun",
    ".cargo",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno",
    ".dotnet",
    ".gitconfig",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go/bin",
    "go/pkg/mod",
];

/// Keys that are among those tools.
const KEYS: &[&str] = &[".cargo/credentials", ".cargo/credentials.toml"];

/// The part of the home directory and of the environment that an agent needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Belongings {
    /// Its own directories and files.
    pub places: &'static [Place],
    /// The beginnings of the names of its variables, which hold its keys.
    pub variables: &'static [&'static str],
    /// The variables by which it is told that it is in a box.
    pub told: &'static [(&'static str, &'static str)],
    /// The arguments that ask for a sandbox of its own, which does not start in another one, and that which asks for none.
    pub own_sandbox: Option<(&'static [&'static str], &'static str)>,
}

/// A place in the home directory that belongs to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory, and the names in it that the agent writes (`*` at one end stands for anything). Whatever else is
    /// there can only be read, and what is new is gone afterwards: such settings can hold commands, which the agent
    /// would run for a person later.
    Directory {
        /// The path from the home directory.
        path: &'static str,
        /// The variable that names another directory.
        variable: Option<&'static str>,
        /// The names that are written.
        written: &'static [&'static str],
    },
    /// A file of which the agent gets a copy.
    Copied(&'static str),
    /// A file or directory that can only be read.
    Read(&'static str),
}

/// Returns what is seen of a home directory in which nothing is seen yet.
pub(super) fn tools(home: &Path) -> Vec<Mount> {
    let existing = |paths: &[&str]| -> Vec<PathBuf> {
        let paths = paths.iter().map(|path| home.join(path));
        paths.filter(|path| path.exists()).collect()
    };
    let keys = existing(KEYS).into_iter().map(Mount::Nothing);
    existing(TOOLS).into_iter().map(Mount::Read).chain(keys).collect()
}

/// Returns the directory of a program's installation where PATH names `dir`: what is beside a `bin` belongs to it.
pub(super) fn installation<'d>(dir: &'d Path, home: &Path) -> &'d Path {
    let is_shared = |parent: &Path| {
        home.starts_with(parent)
            || parent
                .file_name()
                .is_some_and(|name| name == ".local" || name == "usr")
    };
    match dir.parent() {
        Some(parent)
            if (dir.ends_with("bin") || dir.ends_with(".bin"))
                && !is_shared(parent)
                && parent.parent().is_some() =>
        {
            parent
        }
        _ => dir,
    }
}

impl Belongings {
    /// Returns what is seen of it; `variable` returns the value of a variable.
    pub(super) fn mounts(&self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<Mount> {
        let mut mounts = Vec::new();
        for place in self.places {
            match *place {
                Place::Copied(path) => {
                    let path = home.join(path);
                    if path.is_file() {
                        mounts.push(Mount::Copy(path));
                    }
                }
                Place::Read(path) => mounts.push(Mount::Read(home.join(path))),
                Place::Directory {
                    path,
                    variable: name,
                    written,
                } => {
                    let named = name.and_then(&variable).filter(|dir| dir.is_absolute());
                    directory(&named.unwrap_or_else(|| home.join(path)), written, &mut mounts);
                }
            }
        }
        mounts
    }
}

fn directory(dir: &Path, written: &[&str], mounts: &mut Vec<Mount>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    mounts.push(Mount::Empty(dir.to_owned()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_written = name.is_some_and(|name| written.iter().any(|pattern| matches(pattern, &name)));
        mounts.push(if is_written {
            Mount::Write(path)
        } else {
            Mount::Read(path)
        });
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(beginning), _) => name.starts_with(beginning),
        (None, Some(end)) => name.ends_with(end),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_agents_directory_only_what_it_writes_is_written() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        fs::create_dir_all(home.join(".agent/sessions")).unwrap();
        for name in ["auth.json", "settings.json", "log-1"] {
            fs::write(home.join(".agent").join(name), "").unwrap();
        }
        let belongings = Belongings {
            places: &[Place::Directory {
                path: ".agent",
                variable: Some("AGENT_HOME"),
                written: &["auth.json", "sessions", "log*"],
            }],
            variables: &[],
            told: &[],
            own_sandbox: None,
        };
        let dir = home.join(".agent");
        let wanted = [
            Mount::Empty(dir.clone()),
            Mount::Write(dir.join("auth.json")),
            Mount::Write(dir.join("log-1")),
            Mount::Write(dir.join("sessions")),
            Mount::Read(dir.join("settings.json")),
        ];
        assert_eq!(belongings.mounts(home, |_| None), wanted);
        let elsewhere = |_: &str| Some(PathBuf::from("/nowhere"));
        assert_eq!(belongings.mounts(home, elsewhere), []);
    }

    #[test]
    fn of_the_tools_the_keys_are_not_seen() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        fs::create_dir(home.join(".cargo")).unwrap();
        fs::write(home.join(".cargo/credentials.toml"), "key").unwrap();
        fs::create_dir(home.join(".ssh")).unwrap();
        let wanted = [
            Mount::Read(home.join(".cargo")),
            Mount::Nothing(home.join(".cargo/credentials.toml")),
        ];
        assert_eq!(tools(home), wanted);
    }

    #[test]
    fn an_installation_is_what_is_beside_its_bin() {
        let home = Path::new("/home/u");
        for (dir, wanted) in [
            (
                "/home/u/.nvm/versions/node/v22/bin",
                "/home/u/.nvm/versions/node/v22",
            ),
            ("/home/u/.local/bin", "/home/u/.local/bin"),
            ("/tmp/x/node_modules/.bin", "/tmp/x/node_modules"),
            ("/home/u/bin", "/home/u/bin"),
            ("/home/u/tools", "/home/u/tools"),
            ("/home/bin", "/home/bin"),
        ] {
            assert_eq!(installation(Path::new(dir), home), Path::new(wanted), "{dir}");
        }
    }
}
