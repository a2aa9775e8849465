//! `git-ralph hook git <hook> <former hook> <argument>...`: called by git's hooks in a repository. Not for users, and
//! called several times per git command: so it is not part of `cli`.

use std::ffi::OsString;
use std::io;

use super::guard::shown;
use crate::exit::Exit;
use crate::repository_hooks::{self, HookCall};

/// Parses the arguments, the program's name first; returns `None` if they are for other commands.
pub fn asked(args: impl Iterator<Item = OsString>) -> Option<HookCall> {
    let mut args = args.skip(1);
    args.next().filter(|verb| verb == "hook")?;
    args.next().filter(|whose| whose == "git")?;
    HookCall::read(args)
}

/// Answers git, and prints a refusal.
pub async fn run(asked: &HookCall) -> Exit {
    shown(&repository_hooks::answer(asked, &mut io::stdin().lock()).await)
}
