//! Makes the bwrap(1) command line of a sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use super::returns::{Returns, SHELL};
use crate::fs::seen;
use crate::names::quoted;

/// The first free file descriptor for content; a shell's redirections have one digit.
const FIRST_DESCRIPTOR: usize = 3;
/// Maximum number of files whose content is passed.
pub(super) const MOST_COPIES: usize = 7;
/// The line that ends a passed text.
pub(super) const END: &str = "# The end, says git-ralph.";

/// The options of every sandbox.
const ALWAYS: &[&str] = &[
    "--unshare-user-try",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    // Otherwise root has the capability to mount, and makes read-only paths writable.
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
];

/// A path that a process in the sandbox sees under its outside name. A later one hides earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    /// An empty directory in memory, which is discarded afterwards.
    Empty(PathBuf),
    /// The present content, read-only.
    Read(PathBuf),
    /// The present content, writable.
    Write(PathBuf),
    /// A copy of a file, whose changes are discarded afterwards.
    Copy(PathBuf),
    /// A copy of a file, whose changes are written to the file afterwards.
    Returned(PathBuf),
    /// An empty file, if the file exists.
    Nothing(PathBuf),
    /// A read-only file with this text, of complete lines none of which is [`END`].
    Text(PathBuf, String),
}

impl Mount {
    /// Returns the path.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Empty(path)
            | Self::Read(path)
            | Self::Write(path)
            | Self::Copy(path)
            | Self::Returned(path)
            | Self::Nothing(path)
            | Self::Text(path, _) => path,
        }
    }
}

/// A sandbox in which processes can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walls {
    /// The path of bwrap, which no process in the sandbox can write.
    pub bwrap: PathBuf,
    /// The visible parts of the file system, besides the read-only ones.
    pub mounts: Vec<Mount>,
    /// The names of hidden variables.
    pub hidden: Vec<OsString>,
}

impl Walls {
    /// Returns the command that runs `command` in the sandbox, in the directory `dir`.
    pub fn around(&self, dir: &Path, command: &[OsString]) -> Vec<OsString> {
        let mut args = vec![self.bwrap.clone().into()];
        args.extend(words(ALWAYS));
        // Its files belong to root, who can write them without any capability; for others a cover would only keep boxes
        // inside this one from having a /proc of their own.
        if geteuid().is_root() {
            args.extend(words(&["--ro-bind", "/proc/sys", "/proc/sys"]));
        }
        let (mut copies, mut texts) = (Vec::new(), String::new());
        let mut returns = Returns::default();
        // A key must stay hidden, while an agent can do without a copy.
        let handed = self
            .mounts
            .iter()
            .filter(|mount| matches!(mount, Mount::Text(..)));
        let mut room = MOST_COPIES.saturating_sub(handed.count());
        for mount in &self.mounts {
            match mount {
                // A path that is missing by now cannot be created on a read-only mount.
                Mount::Empty(dir) if seen(dir).is_some() => args.extend(["--tmpfs".into(), dir.into()]),
                Mount::Nothing(path) if seen(path).is_some() => {
                    args.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
                }
                Mount::Empty(_) | Mount::Nothing(_) => {}
                Mount::Read(path) => args.extend(["--ro-bind-try".into(), path.into(), path.into()]),
                Mount::Write(path) => args.extend(["--bind-try".into(), path.into(), path.into()]),
                // Git stops at an unreadable file: it stays visible unchanged.
                Mount::Text(..) if copies.len() == MOST_COPIES => {}
                Mount::Text(path, text) => {
                    let descriptor = FIRST_DESCRIPTOR + copies.len();
                    args.extend([
                        "--ro-bind-data".into(),
                        descriptor.to_string().into(),
                        path.into(),
                    ]);
                    copies.push(format!(" {descriptor}<<'{END}'"));
                    texts += &format!("\n{text}{END}");
                }
                Mount::Returned(path) => {
                    let place = returns.take(path).map_or_else(|| path.into(), OsString::from);
                    args.extend(["--bind-try".into(), path.into(), place]);
                }
                Mount::Copy(path) => {
                    let Some(name) = path.to_str().filter(|_| room > 0) else {
                        continue;
                    };
                    room -= 1;
                    let descriptor = FIRST_DESCRIPTOR + copies.len();
                    args.extend(["--file".into(), descriptor.to_string().into(), path.into()]);
                    copies.push(format!(" {descriptor}<{}", quoted(name)));
                }
            }
        }
        args.extend(["--chdir".into(), dir.into(), "--".into()]);
        args.extend(returns.around(command));
        if copies.is_empty() {
            return args;
        }
        let script = format!("exec \"$@\"{}{texts}", copies.concat());
        let mut shell = words(&[SHELL, "-c", &script, "sh"]);
        shell.extend(args);
        shell
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_list_mounts_in_order_and_the_command_last() {
        let walls = Walls {
            bwrap: "/usr/bin/bwrap".into(),
            mounts: vec![
                Mount::Empty("/tmp".into()),
                Mount::Empty("/tmp/gone/meanwhile".into()),
                Mount::Write("/home/u/work".into()),
                Mount::Read("/home/u/work/.git".into()),
            ],
            hidden: Vec::new(),
        };
        let args = walls.around(Path::new("/home/u/work"), &words(&["claude", "-p"]));
        let args: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
        let line = args.join(" ");
        assert!(
            line.starts_with("/usr/bin/bwrap ") && line.contains(" --cap-drop ALL "),
            "{line}"
        );
        assert!(
            line.ends_with(
                "--tmpfs /tmp --bind-try /home/u/work /home/u/work --ro-bind-try /home/u/work/.git \
                 /home/u/work/.git --chdir /home/u/work -- /bin/sh -c exec \"$@\" sh claude -p"
            ),
            "{line}"
        );
    }

    #[test]
    fn texts_go_before_copies() {
        let text = |number| Mount::Text(format!("/h/{number}").into(), format!("{number}\n"));
        let walls = Walls {
            bwrap: "/usr/bin/bwrap".into(),
            mounts: [Mount::Copy("/h/x".into())]
                .into_iter()
                .chain((0..8).map(text))
                .collect(),
            hidden: Vec::new(),
        };
        let args = walls.around(Path::new("/w"), &words(&["true"]));
        let script = args[2].to_str().unwrap();
        assert!(
            script.contains(&format!(" 9<<'{END}'\n0\n{END}\n1\n")) && !script.contains("/h/x"),
            "{script}"
        );
        assert!(!script.contains("\n7\n") && !args.iter().any(|arg| arg == "/h/7"));
    }

    #[test]
    fn copies_are_handed_over_by_a_shell() {
        let copies = (0..9).map(|number| Mount::Copy(format!("/h/it's {number}").into()));
        let walls = Walls {
            bwrap: "/usr/bin/bwrap".into(),
            mounts: copies.collect(),
            hidden: Vec::new(),
        };
        let args = walls.around(Path::new("/w"), &words(&["true"]));
        assert_eq!(args.first(), Some(&OsString::from("/bin/sh")));
        let script = args.get(2).unwrap().to_str().unwrap();
        assert!(script.starts_with("exec \"$@\" 3<"), "{script}");
        assert!(script.contains(" 9<") && !script.contains("10<"), "{script}");
    }
}
