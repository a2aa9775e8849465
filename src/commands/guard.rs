//! What the hooks around an agent's git ask; not for people.

use std::io::{self, Write};

use crate::cli;
use crate::engine::guard::{self, Answer, Asked};
use crate::exit::Exit;

pub(super) async fn run(args: cli::Guard) -> Exit {
    let asked = Asked {
        dir: args.dir,
        hook: args.hook,
        args: args.args,
        alone: args.alone,
    };
    match guard::answer(&asked, &mut io::stdin().lock()).await {
        Answer::GoOn => Exit::Done,
        Answer::HookFailed => Exit::Refused,
        Answer::Refused(words) => {
            // Git shows the agent what its hooks say. An agent that does not listen is refused all the same.
            let _ = io::stderr().lock().write_all(words.as_bytes());
            Exit::Refused
        }
    }
}
