//! Decides which parts of a home directory are visible: its tools, and the agent's own files.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::patterns::{hidden, matches, shown};
use super::walls::Mount;

use crate::fs::{is_seen_as_file, may_exist, seen, seen_in};

/// The visible tools in the home directory.
const TOOLS: &str = include_str!("home.txt");

/// The parts of the home directory and of the environment that an agent needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Belongings {
    /// Its own directories and files.
    pub places: &'static [Place],
    /// The prefixes of its variables' names, which contain its keys.
    pub variables: &'static [&'static str],
    /// The variables that inform it about the sandbox.
    pub told: &'static [(&'static str, &'static str)],
    /// The arguments for the agent's own sandbox, which does not start in another one, and the argument for none.
    pub own_sandbox: Option<(&'static [&'static str], &'static str)>,
}

/// A place in the home directory that belongs to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory of which the agent can write a part.
    Directory(Directory),
    /// A file of which the agent gets a copy.
    Copied(&'static str),
    /// A read-only file or directory.
    Read(&'static str),
    /// A writable directory: nothing in it is run for the user later.
    Written(&'static str),
}

/// An agent's own directory, and names in it (`*` at one end matches any text). All other entries are read-only, and
/// new ones are discarded afterwards: such settings can contain commands, which the agent would run for the user later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The path from the home directory.
    pub path: &'static str,
    /// The variable that names another directory.
    pub variable: Option<&'static str>,
    /// The names that are written in place.
    pub written: &'static [&'static str],
    /// The names of files that the agent replaces (rename(2)), and that must be kept: its sign-in.
    pub returned: &'static [&'static str],
    /// The names of files that it replaces, and that need not be kept.
    pub copied: &'static [&'static str],
    /// The hidden names: files that it can recreate, and databases, which must not be written from two places that see
    /// different files beside them.
    pub hidden: &'static [&'static str],
}

impl Directory {
    /// Returns a read-only directory.
    pub const fn read(path: &'static str) -> Self {
        Self {
            path,
            variable: None,
            written: &[],
            returned: &[],
            copied: &[],
            hidden: &[],
        }
    }

    /// Returns the visible parts of the directory if it is at `dir`.
    fn mounts(&self, dir: PathBuf) -> Vec<Mount> {
        let Some(paths) = entries(&dir) else {
            return Vec::new();
        };
        let seen = paths.into_iter().filter_map(|path| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            let is_of = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, &name));
            if is_of(self.hidden) {
                None
            } else if is_of(self.written) {
                Some(Mount::Write(path))
            } else if is_of(self.returned) && is_seen_as_file(&path) {
                Some(Mount::Returned(path))
            } else if is_of(self.copied) && is_seen_as_file(&path) {
                Some(Mount::Copy(path))
            } else {
                Some(Mount::Read(path))
            }
        });
        [Mount::Empty(dir)].into_iter().chain(seen).collect()
    }
}

/// The directories of the home directory that a variable can rename, if the agent follows it.
const NAMED: &[(&str, &str)] = &[
    (".config/", "XDG_CONFIG_HOME"),
    (".local/share/", "XDG_DATA_HOME"),
    (".local/state/", "XDG_STATE_HOME"),
];

/// Returns the visible parts of an otherwise hidden home directory.
pub(super) fn tools(home: &Path) -> Vec<Mount> {
    let paths = shown(TOOLS).map(|path| home.join(path));
    paths.filter(|path| may_exist(path)).map(Mount::Read).collect()
}

/// Hides the files of tools that contain keys, within the visible parts of a home directory. Follows a symlink, on
/// which nothing can be mounted.
pub(super) fn keys(home: &Path) -> impl Iterator<Item = Mount> {
    let files = hidden(TOOLS).filter_map(|path| home.join(path).canonicalize().ok());
    files.map(Mount::Nothing)
}

/// Returns the installation directory of a program for the PATH entry `dir`: the parent of a `bin` belongs to it.
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

/// Hides the files beside the directories of an installation in a dot directory of the home directory: a service's
/// settings and keys. The files of known tools are no such settings.
pub(super) fn beside(installed: &Path, home: &Path) -> Vec<Mount> {
    let name = installed.strip_prefix(home).ok().and_then(Path::to_str);
    let is_of_service = name.is_some_and(|name| {
        name.starts_with('.') && !name.contains('/') && !shown(TOOLS).any(|tool| tool == name)
    });
    let files = seen_in(installed).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let files = files.filter(|_| is_of_service);
    files.map(|entry| Mount::Nothing(entry.path())).collect()
}

impl Belongings {
    /// Nothing.
    pub const NONE: Self = Self {
        places: &[],
        variables: &[],
        told: &[],
        own_sandbox: None,
    };

    /// Returns the visible parts; `variable` returns the value of a variable.
    pub(super) fn mounts(&self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<Mount> {
        let mut mounts = Vec::new();
        let found = |path: &str| {
            let configured = NAMED.iter().find_map(|(beginning, name)| {
                let dir = variable(name).filter(|dir| dir.is_absolute())?;
                Some(dir.join(path.strip_prefix(beginning)?))
            });
            let configured = configured.filter(|path| seen(path).is_some());
            configured.unwrap_or_else(|| home.join(path))
        };
        for place in self.places {
            match *place {
                Place::Copied(path) => {
                    let path = found(path);
                    if is_seen_as_file(&path) {
                        mounts.push(Mount::Copy(path));
                    }
                }
                Place::Read(path) => mounts.push(Mount::Read(found(path))),
                Place::Written(path) => mounts.push(Mount::Write(found(path))),
                Place::Directory(directory) => {
                    let named = directory.variable.and_then(&variable);
                    let named = named.filter(|dir| dir.is_absolute());
                    mounts.extend(directory.mounts(named.unwrap_or_else(|| found(directory.path))));
                }
            }
        }
        mounts
    }
}

/// Returns the entries of a directory, sorted; `None` if it cannot be read.
fn entries(dir: &Path) -> Option<Vec<PathBuf>> {
    seen(dir).filter(Metadata::is_dir)?;
    let mut paths: Vec<PathBuf> = seen_in(dir).map(|entry| entry.path()).collect();
    paths.sort();
    Some(paths)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn mounts_open_only_written_parts_of_an_agents_directory() {
        const BELONGINGS: Belongings = Belongings {
            places: &[Place::Directory(Directory {
                variable: Some("AGENT_HOME"),
                written: &["sessions", "log*"],
                returned: &["auth.json"],
                copied: &["index.json"],
                hidden: &["*.sqlite"],
                ..Directory::read(".agent")
            })],
            variables: &[],
            told: &[],
            own_sandbox: None,
        };
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        fs::create_dir_all(home.join(".agent/sessions")).unwrap();
        for name in [
            "auth.json",
            "settings.json",
            "log-1",
            "index.json",
            "state.sqlite",
        ] {
            fs::write(home.join(".agent").join(name), "").unwrap();
        }
        let dir = home.join(".agent");
        let wanted = [
            Mount::Empty(dir.clone()),
            Mount::Returned(dir.join("auth.json")),
            Mount::Copy(dir.join("index.json")),
            Mount::Write(dir.join("log-1")),
            Mount::Write(dir.join("sessions")),
            Mount::Read(dir.join("settings.json")),
        ];
        assert_eq!(BELONGINGS.mounts(home, |_| None), wanted);
        let nowhere = |_: &str| Some(PathBuf::from("/nowhere"));
        assert_eq!(BELONGINGS.mounts(home, nowhere), []);
    }

    #[test]
    fn mounts_follow_a_system_variable_if_its_place_exists() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        fs::create_dir_all(home.join("data/agent")).unwrap();
        let belongings = Belongings {
            places: &[
                Place::Written(".local/share/agent"),
                Place::Written(".local/share/other"),
                Place::Read(".config/agent"),
            ],
            ..Belongings::default()
        };
        let named = |name: &str| (name == "XDG_DATA_HOME").then(|| home.join("data"));
        let wanted = [
            Mount::Write(home.join("data/agent")),
            Mount::Write(home.join(".local/share/other")),
            Mount::Read(home.join(".config/agent")),
        ];
        assert_eq!(belongings.mounts(home, named), wanted);
    }

    #[test]
    fn mounts_hide_the_keys_of_tools() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        fs::create_dir(home.join(".cargo")).unwrap();
        fs::write(home.join(".cargo/credentials.toml"), "key").unwrap();
        fs::create_dir(home.join(".ssh")).unwrap();
        let wanted = [
            Mount::Read(home.join(".cargo")),
            Mount::Nothing(home.join(".cargo/credentials.toml")),
        ];
        let found: Vec<Mount> = tools(home).into_iter().chain(keys(home)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn files_beside_a_service_s_programs_are_hidden() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        for dir in [".fly/bin", ".cargo/bin", ".nvm/versions/bin"] {
            fs::create_dir_all(home.join(dir)).unwrap();
            fs::write(home.join(dir).with_file_name("config"), "key").unwrap();
        }
        assert_eq!(
            beside(&home.join(".fly"), home),
            [Mount::Nothing(home.join(".fly/config"))]
        );
        assert_eq!(beside(&home.join(".cargo"), home), []);
        assert_eq!(beside(&home.join(".nvm/versions"), home), []);
    }

    #[test]
    fn installation_is_the_directory_that_holds_its_bin() {
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
