//! The hooks of an attempt: small shell scripts, one for every hook that git knows, and the settings that
//! lead git to them.
//!
//! Git looks into one hooks directory only, so each of ours runs the user's own hook of its name, found when it is
//! needed: an installation may change `core.hooksPath` in the middle. Those for moves of refs and for pushes ask
//! git-ralph first. Since 2.54 git runs hooks of its configuration beside those of a directory; there the user's stay
//! where they are, and only those two are ours.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::exit::Exit;

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

/// The hook that git asks about moves of refs.
pub const REFS: &str = "reference-transaction";

/// The hook that git asks before a push.
pub const PUSH: &str = "pre-push";

/// What git 2.54 and later runs for both.
const ALONE: &str = "git-ralph";

/// The first version of git that runs hooks of its configuration.
pub const CONFIGURED_HOOKS: (u32, u32) = (2, 54);

/// Makes the directory `hooks`, which must not be there, for the loop with the directory `loop_dir`.
pub(super) fn write(hooks: &Path, program: &Path, loop_dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(hooks)?;
    let asks = |words: &str| {
        let mut line = quoted(program);
        line.extend_from_slice(b" guard ");
        line.extend_from_slice(words.as_bytes());
        line.extend_from_slice(&quoted(loop_dir));
        line
    };
    for name in NAMES {
        let script = match *name {
            REFS | PUSH => judged(name, &quoted(program), &asks("")),
            _ => chained(name),
        };
        write_script(&hooks.join(name), &script)?;
    }
    write_script(&hooks.join(ALONE), &alone(&quoted(program), &asks("--alone ")))
}

/// Returns the settings for the agent's git, by its version.
pub(super) fn settings(version: Option<(u32, u32)>, hooks: &Path) -> Vec<(&'static str, OsString)> {
    if version.is_some_and(|version| version >= CONFIGURED_HOOKS) {
        let command = OsString::from_vec(quoted(&hooks.join(ALONE)));
        vec![
            ("hook.git-ralph.command", command),
            ("hook.git-ralph.event", REFS.into()),
            ("hook.git-ralph.event", PUSH.into()),
        ]
    } else {
        vec![("core.hooksPath", hooks.as_os_str().to_owned())]
    }
}

const HEAD: &str = "#!/bin/sh\n# Made by git-ralph for one attempt, for the agent's git alone.\n";

/// Runs the user's own hook as git would: from where git would, and only when it may be run.
fn chained(name: &str) -> Vec<u8> {
    format!("{HEAD}{}", chain(name)).into_bytes()
}

fn chain(name: &str) -> String {
    format!(
        "dir=$(GIT_CONFIG_COUNT=0 git rev-parse --git-path hooks 2>/dev/null) || exit 0\n\
         hook=$dir/{name}\n\
         [ -f \"$hook\" ] && [ -x \"$hook\" ] && ! [ \"$dir\" -ef \"${{0%/*}}\" ] || exit 0\n\
         exec \"$hook\" \"$@\"\n"
    )
}

/// Asks git-ralph, which runs the user's own hook too. Whatever is not a refusal of git-ralph's lets git go on.
fn judged(name: &str, program: &[u8], asks: &[u8]) -> Vec<u8> {
    let no = Exit::Refused.code();
    let mut script = format!("{HEAD}if [ -x ").into_bytes();
    script.extend_from_slice(program);
    // There is nothing left to judge, and git reports this state often.
    let unless: &[u8] = if name == REFS {
        b" ] && [ \"$1\" != aborted"
    } else {
        b""
    };
    script.extend_from_slice(unless);
    script.extend_from_slice(b" ]; then\n    ");
    script.extend_from_slice(asks);
    script.extend_from_slice(
        format!(
            " {name} \"$@\"\n    [ $? -ne {no} ]\n    exit\nfi\n{}",
            chain(name)
        )
        .as_bytes(),
    );
    script
}

/// Asks git-ralph where git itself runs the user's hooks; there git does not say which hook is run.
fn alone(program: &[u8], asks: &[u8]) -> Vec<u8> {
    let no = Exit::Refused.code();
    let mut script = format!("{HEAD}name={PUSH}\n[ $# -ne 1 ] || name={REFS}\n[ -x ").into_bytes();
    script.extend_from_slice(program);
    script.extend_from_slice(b" ] || exit 0\n");
    script.extend_from_slice(asks);
    script.extend_from_slice(format!(" \"$name\" \"$@\"\n[ $? -ne {no} ]\n").as_bytes());
    script
}

/// Quotes a path as one word of a shell, whatever its bytes.
pub fn quoted(path: &Path) -> Vec<u8> {
    let bytes: &OsStr = path.as_os_str();
    let mut word = vec![b'\''];
    for byte in bytes.as_bytes() {
        match byte {
            b'\'' => word.extend_from_slice(br"'\''"),
            _ => word.push(*byte),
        }
    }
    word.push(b'\'');
    word
}

/// Writes a script that can be run; nothing may be there.
///
/// # Errors
/// When it cannot be written.
pub fn write_script(path: &Path, script: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o700).open(path)?;
    file.write_all(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_git_is_led_to_the_hooks_in_its_own_way() {
        let hooks = Path::new("/it's here/hooks");
        let plain = vec![("core.hooksPath", OsString::from("/it's here/hooks"))];
        for version in [None, Some((2, 39)), Some((2, 53)), Some((1, 99))] {
            assert_eq!(settings(version, hooks), plain, "{version:?}");
        }
        for version in [Some((2, 54)), Some((2, 55)), Some((3, 0))] {
            assert_eq!(
                settings(version, hooks),
                [
                    (
                        "hook.git-ralph.command",
                        r"'/it'\''s here/hooks/git-ralph'".into()
                    ),
                    ("hook.git-ralph.event", OsString::from("reference-transaction")),
                    ("hook.git-ralph.event", OsString::from("pre-push")),
                ],
                "{version:?}"
            );
        }
    }
}
