//! The hook scripts. Each also runs the former hook with the same arguments, standard input and directory. If the
//! program is gone, in an attempt, or if there is nothing to report, they do only that.

use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::guard::scripts::{PUSH, REFS, quoted};

/// Names of the hooks.
pub const NAMES: &[&str] = &["post-commit", "post-checkout", "post-rewrite", PUSH, REFS];

/// A line that is in each of these scripts, and in no other hook.
const MARK: &str = "# Made by git ralph hooks install; git ralph hooks uninstall takes it away.";

/// Suffix that is added to the name of a former hook.
pub const BESIDE: &str = ".before-ralph";

/// The text before the path of the program in a script, and the text after it.
const BEGIN: &str = " && [ -x ";
const END: &str = " ]; then\n";

/// Returns whether a hook is one of git-ralph's, of whatever version.
pub fn is_ours(script: &[u8]) -> bool {
    let mut lines = script.split(|byte| *byte == b'\n');
    lines.nth(1) == Some(MARK.as_bytes())
}

/// The place where a script finds the former hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// In the same directory.
    Beside,
    /// In the directory that the configuration would name without git-ralph's.
    Elsewhere,
    /// Git itself runs it.
    ByGit,
}

/// Returns the script for a hook; for a name without a task of git-ralph's, it only runs the former hook.
pub fn script(name: &str, program: &Path, before: Before) -> Vec<u8> {
    let former = match before {
        Before::Beside => format!("former=${{0%/*}}/{name}{BESIDE}\n"),
        Before::Elsewhere => format!("{FIND_FORMER}former=$dir/{name}\n"),
        Before::ByGit => "former=\n".to_owned(),
    };
    let head = format!("#!/bin/sh\n{MARK}\n{former}[ -f \"$former\" ] && [ -x \"$former\" ] || former=\n");
    let task = if NAMES.contains(&name) {
        task(name, program, before)
    } else {
        Vec::new()
    };
    let end = b"[ -n \"$former\" ] || exit 0\nexec \"$former\" \"$@\"\n";
    [head.as_bytes(), &task, end].concat()
}

/// Returns what the script does where a loop is live.
fn task(name: &str, program: &Path, before: Before) -> Vec<u8> {
    let ralph = match before {
        Before::Beside => "${0%/*}/../ralph",
        Before::Elsewhere | Before::ByGit => "${0%/*}/..",
    };
    let unless = match name {
        // Before or after the point at which git asks, there is nothing to judge.
        REFS => " && [ \"$1\" != aborted ] && [ \"$1\" != preparing ]",
        _ => "",
    };
    let begin =
        format!("ralph={ralph}\n{LIVE}if [ -n \"$live\" ] && [ -z \"$GIT_RALPH_RUN\" ]{unless}{BEGIN}");
    let no = Exit::Refused.code();
    let rest = match name {
        PUSH | REFS => format!("\"$former\" \"$@\"\n    case $? in 0) exit 0 ;; {no}) exit 1 ;; esac\n"),
        _ => "'' \"$@\" </dev/null\n".to_owned(),
    };
    let (program, call) = (quoted(program), format!(" hook git {name} {rest}fi\n"));
    let middle = format!("{END}    ");
    [
        begin.as_bytes(),
        &program,
        middle.as_bytes(),
        &program,
        call.as_bytes(),
    ]
    .concat()
}

/// Returns the path of the program that one of these scripts runs, if it is text.
pub fn program_of(script: &[u8]) -> Option<PathBuf> {
    let text = str::from_utf8(script).ok()?;
    let (_, rest) = text.rsplit_once(BEGIN)?;
    let (path, _) = rest.split_once(END)?;
    let path = path.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(path.replace(r"'\''", "'").into())
}

/// Shell code that finds out without a process whether any loop is live, by one line of its state.
const LIVE: &str = "live=
for state in \"$ralph\"/*.toml; do
    [ -f \"$state\" ] || continue
    live=$state
    while IFS= read -r line; do
        case $line in
        'phase = \"finished\"') live= && break ;;
        'phase = '*) break ;;
        esac
    done <\"$state\"
    [ -z \"$live\" ] || break
done
";

/// Shell code that finds the directory of the former hooks: from the repository's former configuration, else from the
/// user's or the system's, else git's own.
const FIND_FORMER: &str = "here=${0%/*}
if [ -f \"$here/former\" ]; then
    IFS= read -r dir <\"$here/former\"
    case $dir in '~/'*) dir=$HOME/${dir#??} ;; esac
else
    dir=$(git config --type=path --includes --global --get core.hooksPath 2>/dev/null) ||
        dir=$(git config --type=path --includes --system --get core.hooksPath 2>/dev/null) ||
        dir=$here/../../hooks
fi
! [ \"$dir\" -ef \"$here\" ] || dir=/dev/null
";
