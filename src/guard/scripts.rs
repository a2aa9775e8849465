//! The hooks of an attempt: small shell scripts.
//!
//! Git uses a single hooks directory, so each hook of the user's has a script there that runs it. The script looks the
//! hook up each time, because an installation may change `core.hooksPath` meanwhile. Hooks that the user does not have
//! cost nothing; one that is installed during an attempt runs from the first move of a ref after that. The scripts for
//! moves of refs and for pushes ask git-ralph first.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{env, process};

use super::rail::Rail;
use crate::exit::Exit;
use crate::fs::{Below, Durability, FileError, file_error, is_there, may_exist, seen};
use crate::slot::Slot;

/// Every hook that git looks for by name in the hooks directory (githooks(5)).
pub const NAMES: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    PUSH,
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    REFS,
    "sendemail-validate",
    "update",
];

/// The hook that git runs for moves of refs.
pub const REFS: &str = "reference-transaction";

/// The hook that git runs before a push.
pub const PUSH: &str = "pre-push";

/// The script that git 2.54 and later runs for both hooks.
pub(super) const ALONE: &str = "git-ralph";

/// A file in the slot: the path of the directory of the user's own hooks.
pub(super) const USERS: &str = "guard.users";

const HEAD: &str = "#!/bin/sh\n# Made by git-ralph for one attempt, for the agent's git alone.\n";

/// The script for moves of refs, below the values of its variables.
const MOVES: &str = include_str!("reference-transaction.sh");

/// The paths that the scripts use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    /// This program.
    pub program: &'a Program,
    /// The attempt.
    pub rail: Rail<'a>,
}

/// This program, in the ways in which a hook can start it.
#[derive(Debug)]
pub(super) struct Program {
    /// The path of its file. By the time of a hook, another version may be there, or none.
    path: PathBuf,
    /// A path that leads to the file which this process runs, as long as it lives, even after the file was replaced or
    /// deleted; empty where the system has none.
    running: PathBuf,
    /// The number of that file: in a sandbox, or after this process, `running` may name another file.
    inode: u64,
}

impl Program {
    /// Finds this program.
    pub(super) fn find() -> io::Result<Self> {
        let running = PathBuf::from(format!("/proc/{}/exe", process::id()));
        let path = env::current_exe()?;
        // What Linux adds to the path of a file that is gone.
        let former = path.as_os_str().as_bytes().strip_suffix(b" (deleted)");
        let path = match former {
            Some(former) if !may_exist(&path) => PathBuf::from(OsStr::from_bytes(former)),
            _ => path,
        };
        let inode = seen(&running).map(|metadata| metadata.ino());
        Ok(Self {
            path,
            running: inode.map_or_else(PathBuf::new, |_| running),
            inode: inode.unwrap_or(0),
        })
    }
}

/// The verb by which a hook asks. It has the version of the questions and answers in it: a program of another version,
/// which may be at the same path, does not answer a question that it would misunderstand.
pub const VERB: &str = "guard-2";

/// The verbs of earlier hooks, which may run when the program is replaced: they name the loop's directory alone.
pub const EARLIER: [&str; 2] = ["guard-1", "guard"];

/// Writes the scripts into the directory `hooks`, in which none of them may be.
pub(super) fn write(hooks: &Path, places: Places<'_>) -> Result<(), FileError> {
    let door = places.rail.slot.door();
    door.make_dir(hooks, 0o700)?;
    if let Some(users) = places.rail.users_hooks {
        write_users(places.rail.slot, users)?;
    }
    let may_be = |name: &str| {
        places
            .rail
            .users_hooks
            .is_none_or(|users| is_program(&users.join(name)))
    };
    add(&door, hooks, may_be)?;
    write_script(&door, &hooks.join(PUSH), &push(places, ""))?;
    write_script(&door, &hooks.join(REFS), &moves(places, ""))?;
    write_script(&door, &hooks.join(ALONE), &alone(places))
}

/// Writes the path of the directory of the user's own hooks to a file.
pub(super) fn write_users(slot: &Slot, users: &Path) -> Result<(), FileError> {
    let line = [users.as_os_str().as_bytes(), b"\n"].concat();
    slot.door()
        .write(&slot.file(USERS), &line, 0o600, Durability::Atomic)
}

/// Adds a script that runs the user's own hook for each name that `may_be` one of the user's and has none yet.
pub(super) fn add(door: &Below, hooks: &Path, may_be: impl Fn(&str) -> bool) -> Result<(), FileError> {
    for name in NAMES.iter().filter(|name| !matches!(**name, REFS | PUSH)) {
        let script = hooks.join(name);
        if may_be(name) && !is_there(&script)? {
            write_script(door, &script, format!("{HEAD}{}", chain(name)).as_bytes())?;
        }
    }
    Ok(())
}

/// Returns whether git would run this hook.
pub(super) fn is_program(hook: &Path) -> bool {
    seen(hook).is_some_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Returns commands that run the user's own hook as git would, if it exists and is executable.
fn chain(name: &str) -> String {
    format!(
        "dir=$(GIT_CONFIG_COUNT=0 git rev-parse --git-path hooks 2>/dev/null) || exit 0\n\
         hook=$dir/{name}\n\
         [ -f \"$hook\" ] && [ -x \"$hook\" ] && ! [ \"$dir\" -ef \"${{0%/*}}\" ] || exit 0\n\
         exec \"$hook\" \"$@\"\n"
    )
}

/// Returns the script for moves of refs. `alone` is `--alone` where git itself runs the user's hooks.
fn moves(places: Places<'_>, alone: &str) -> Vec<u8> {
    let names = NAMES.join(" ");
    let head = head(
        places,
        &[
            ("git_dir", places.rail.git_dir.as_os_str()),
            ("common_dir", places.rail.common_dir.as_os_str()),
            ("alone", OsStr::new(alone)),
            ("names", OsStr::new(&names)),
            ("name", OsStr::new(REFS)),
        ],
    );
    let instead = if alone.is_empty() {
        chain(REFS)
    } else {
        "exit 0\n".to_owned()
    };
    let unless_there = format!("[ -x \"$program\" ] || {{\nunasked\n{instead}}}\n");
    [&head, unless_there.as_bytes(), MOVES.as_bytes()].concat()
}

/// Returns the script for pushes; git-ralph runs the user's own hook too. `alone` as for `moves`.
fn push(places: Places<'_>, alone: &str) -> Vec<u8> {
    // What is pushed cannot be undone, so git does not go on unless git-ralph says so.
    let ask = format!(
        "\"$program\" \"$verb\" {alone} \"$slot\" \"$loop\" {PUSH} \"$@\"\n\
         case $? in 0) exit 0 ;; \"$refused\") exit 1 ;; esac\n\
         unasked\n\
         echo \"git-ralph: nothing is pushed during an attempt; the guard cannot be asked: $program\" >&2\n\
         exit 1\n"
    );
    [&head(places, &[]), ask.as_bytes()].concat()
}

/// Returns the script for a git that runs the user's hooks itself. Such a git does not pass the hook's name; only a
/// push has two arguments.
fn alone(places: Places<'_>) -> Vec<u8> {
    let head = format!("{HEAD}if [ $# -ne 1 ]; then\n");
    let (push, moves) = (push(places, "--alone"), moves(places, "--alone"));
    [head.as_bytes(), &push, b"exit\nfi\n", &moves].concat()
}

/// Returns the head of a script, with the variables that it needs.
fn head(places: Places<'_>, more: &[(&str, &OsStr)]) -> Vec<u8> {
    let refused = Exit::Refused.code().to_string();
    let inode = places.program.inode.to_string();
    let common = [
        ("program", places.program.path.as_os_str()),
        ("running", places.program.running.as_os_str()),
        ("inode", OsStr::new(&inode)),
        ("verb", OsStr::new(VERB)),
        ("slot", places.rail.slot.dir().as_os_str()),
        ("loop", OsStr::new(places.rail.change.as_str())),
        ("refused", OsStr::new(&refused)),
    ];
    let mut script = HEAD.as_bytes().to_vec();
    for (name, value) in common.iter().chain(more) {
        script.extend([name.as_bytes(), b"=", &quoted(Path::new(value)), b"\n"].concat());
    }
    script.extend_from_slice(FIND.as_bytes());
    script
}

/// Shell code that finds the program which made the script although its file was replaced or deleted since, and notes a
/// question without an answer.
const FIND: &str = r#"if ! [ "$program" -ef "$running" ] && [ -x "$running" ]; then
    case " $(ls -dLi "$running" 2>/dev/null)" in *" $inode "*) program=$running ;; esac
fi
unasked() {
    [ -f "$slot/guard.log" ] && ! [ -h "$slot/guard.log" ] && echo unasked >>"$slot/guard.log"
} 2>/dev/null
"#;

/// Quotes a path, of any bytes, as one word of the shell.
pub fn quoted(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\'').collect();
    [b"'", &*parts.join(&br"'\''"[..]), b"'"].concat()
}

/// Writes an executable script to a path where nothing exists.
pub fn write_script(door: &Below, path: &Path, script: &[u8]) -> Result<(), FileError> {
    write_new(door, path, script, 0o700)
}

/// Writes a file to a path where nothing exists.
pub(super) fn write_new(door: &Below, path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let made = door.make_file(path, mode);
    made.and_then(|mut file| file.write_all(bytes))
        .map_err(|source| file_error("make", path, source))
}
