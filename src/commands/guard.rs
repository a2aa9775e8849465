//! `git-ralph guard-1 [--alone] <loop's directory> <hook> <argument>...`: called by the hooks around an agent's git. Not
//! for people, and called several times in a git command: therefore it is no part of `cli`.

use std::ffi::OsString;
use std::io::{self, Write};

use crate::exit::Exit;
use crate::guard::{self, Answer, HookCall};
use crate::ui::plain;

/// Parses the arguments, the program's name first; returns `None` if they are for `cli`.
pub fn asked(mut args: impl Iterator<Item = OsString>) -> Option<HookCall> {
    args.nth(1)
        .filter(|verb| guard::ANSWERED.iter().any(|known| verb == known))?;
    let first = args.next()?;
    let alone = first == "--alone";
    Some(HookCall {
        dir: if alone { args.next()? } else { first }.into(),
        hook: args.next()?.into_string().ok()?,
        args: args.collect(),
        alone,
    })
}

/// Answers git, and shows a refusal to the agent.
pub async fn run(asked: &HookCall) -> Exit {
    match guard::answer(asked, &mut io::stdin().lock()).await {
        Answer::GoOn => Exit::Done,
        Answer::HookFailed => Exit::Refused,
        Answer::Refused(words) => {
            // Git shows the agent its hooks' output. If it is not read, the move is refused all the same.
            let _ = io::stderr().lock().write_all(plain(&words).as_bytes());
            Exit::Refused
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn read(line: &str) -> Option<HookCall> {
        asked(line.split(' ').map(OsString::from))
    }

    #[test]
    fn what_the_hooks_ask_is_told_from_what_people_type() {
        let question = read("git-ralph guard-1 /r/.git/ralph/c reference-transaction prepared").unwrap();
        assert_eq!(question.dir, PathBuf::from("/r/.git/ralph/c"));
        assert_eq!(
            (question.hook.as_str(), question.alone),
            ("reference-transaction", false)
        );
        assert_eq!(question.args, ["prepared"]);
        let question = read("git-ralph guard /c pre-push").unwrap();
        assert_eq!(question.hook, "pre-push");
        let question = read("git-ralph guard-1 --alone /c pre-push --alone url").unwrap();
        assert_eq!((question.hook.as_str(), question.alone), ("pre-push", true));
        assert_eq!(question.args, ["--alone", "url"]);
        for typed in [
            "git-ralph",
            "git-ralph next guard-1 /c x",
            "git-ralph guard-2 /c x",
            "git-ralph guard-1",
            "git-ralph guard-1 /c",
        ] {
            assert!(read(typed).is_none(), "{typed}");
        }
    }
}
