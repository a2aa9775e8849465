//! `git-ralph guard-2 [--alone] <slot's directory> <change> <hook> <argument>...`: called by the hooks around an
//! agent's git. Not for users, and called several times per git command: so it is not part of `cli`.

use std::ffi::OsString;
use std::io::{self, Write};

use crate::exit::Exit;
use crate::guard::{self, Answer, HookCall};
use crate::ui::plain;

/// Parses the arguments, the program's name first; returns `None` if they are for `cli`.
pub fn asked(args: impl Iterator<Item = OsString>) -> Option<HookCall> {
    HookCall::read(args.skip(1))
}

/// Answers git, and shows a refusal to the agent.
pub async fn run(asked: &HookCall) -> Exit {
    shown(&guard::answer(asked, &mut io::stdin().lock()).await)
}

/// Returns the exit code of a hook with this answer; prints a refusal.
pub(super) fn shown(answer: &Answer) -> Exit {
    match answer {
        Answer::GoOn => Exit::Done,
        Answer::HookFailed => Exit::Refused,
        Answer::Refused(why) => {
            // Git shows its hooks' output to its caller. A failed write does not allow the move.
            let words = format!("git-ralph: refused: {why}\n");
            let _ = io::stderr().lock().write_all(plain(&words).as_bytes());
            Exit::Refused
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::slot::Slot;

    fn read(line: &str) -> Option<HookCall> {
        asked(line.split(' ').map(OsString::from))
    }

    #[test]
    fn guard_distinguishes_calls_of_hooks_from_typed_commands() {
        let line = "git-ralph guard-2 /r/.git/ralph/c/slots/1 c reference-transaction prepared";
        let question = read(line).unwrap();
        assert_eq!(question.slot, Slot::of(Path::new("/r/.git/ralph/c")));
        assert_eq!(
            (question.change.as_str(), question.hook.as_str(), question.alone),
            ("c", "reference-transaction", false)
        );
        assert_eq!(question.args, ["prepared"]);
        for verb in ["guard", "guard-1"] {
            let question = read(&format!("git-ralph {verb} /r/ralph/c pre-push")).unwrap();
            assert_eq!(question.slot, Slot::of_earlier(Path::new("/r/ralph/c")));
            assert_eq!(
                (question.change.as_str(), question.hook.as_str()),
                ("c", "pre-push")
            );
        }
        let question = read("git-ralph guard-2 --alone /c c pre-push --alone url").unwrap();
        assert_eq!((question.hook.as_str(), question.alone), ("pre-push", true));
        assert_eq!(question.args, ["--alone", "url"]);
        for typed in [
            "git-ralph",
            "git-ralph next guard-2 /c x",
            "git-ralph guard-3 /c x",
            "git-ralph guard-2",
            "git-ralph guard-2 /c",
            "git-ralph guard-2 /c c",
        ] {
            assert!(read(typed).is_none(), "{typed}");
        }
    }
}
