//! `git-ralph hook git <hook> <former hook> <argument>...`: what git's hooks in a repository ask. Not for people, and asked
//! several times a git command: so it is no part of what `cli` reads.

use std::ffi::OsString;
use std::io::{self, Write};

use crate::exit::Exit;
use crate::repository_hooks::{self, Answer, HookCall};
use crate::ui::plain;

/// Reads the arguments, the program's name first; `None` when they are for others.
pub fn asked(args: impl Iterator<Item = OsString>) -> Option<HookCall> {
    let mut args = args.skip(1);
    args.next().filter(|verb| verb == "hook")?;
    args.next().filter(|whose| whose == "git")?;
    HookCall::read(args)
}

/// Answers, and tells the person why not.
pub async fn run(asked: &HookCall) -> Exit {
    match repository_hooks::answer(asked, &mut io::stdin().lock()).await {
        Answer::GoOn => Exit::Done,
        Answer::HookFailed => Exit::Refused,
        Answer::Refused(words) => {
            let words = format!("git-ralph: refused: {words}\n");
            let _ = io::stderr().lock().write_all(plain(&words).as_bytes());
            Exit::Refused
        }
    }
}
