//! The program: calls of hooks, completions, arguments, one runtime, one exit code. Part of the library, so that
//! everything is compiled once.

use std::env;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use super::beside::One;
use super::groups::grouped;
use super::{Cli, Command, beside, git_hook, guard, hook, to_complete, usage};
use crate::agent::runner;
use crate::cli::Verb;
use crate::error::Error;
use crate::exit::Exit;
use crate::settings::Colour;
use crate::trace;
use crate::ui::github;
use clap::{CommandFactory, FromArgMatches};
use clap_complete::CompleteEnv;

/// Runs the program with its arguments, and returns its exit code.
pub fn main() -> ExitCode {
    if let Some(asked) = guard::asked(env::args_os()) {
        return with_runtime(guard::run(&asked));
    }
    if let Some(asked) = git_hook::asked(env::args_os()) {
        return with_runtime(git_hook::run(&asked));
    }
    // Open files of the calling shell are not inherited: a directory would lead out of a sandbox.
    close_fds::set_fds_cloexec(3, &[]);
    if runner::is_asked(env::args_os()) {
        return with_runtime(runner::run());
    }
    if let Some(event) = hook::asked(env::args_os()) {
        return hook::look(&event).map_or(ExitCode::SUCCESS, |work| with_runtime(hook::run(work)));
    }
    let one = beside::asked(env::args_os());
    if one.is_none() {
        CompleteEnv::with_factory(to_complete).complete();
    }
    let typed = match &one {
        Some(one) => grouped(Cli::command()).try_get_matches_from(&one.typed),
        None => grouped(Cli::command()).try_get_matches(),
    };
    let cli = match typed.and_then(|typed| Cli::from_arg_matches(&typed)) {
        Ok(cli) => match one {
            Some(one) => only(cli, one),
            None => cli,
        },
        Err(asked) => return print_instead(&usage::explained(asked)),
    };
    trace::begin(cli.verbose);
    with_runtime(super::run(cli))
}

/// Returns the command of a process for one part of a run: the run's command, limited to this part.
fn only(mut cli: Cli, one: One) -> Cli {
    cli.colour = Some(Colour::Never);
    github::leave_the_log();
    if let Command::Run(Verb(args)) = &mut cli.command {
        args.leave_one(one.change, one.part);
    }
    cli
}

/// Prints the help, the version, or the error in the command line.
fn print_instead(asked: &clap::Error) -> ExitCode {
    let printed = if asked.use_stderr() {
        write!(anstream::stderr(), "{}", usage::text(asked, env::args_os()))
    } else {
        asked.print()
    };
    match printed {
        Err(error) if !asked.use_stderr() && error.kind() != ErrorKind::BrokenPipe => {
            let error = Error::system("write to standard output")(error);
            let _ = writeln!(anstream::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
        _ => u8::try_from(asked.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

fn with_runtime(work: impl Future<Output = Exit>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!("cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let exit = runtime.block_on(work);
    // A pending question must not keep the program from ending.
    runtime.shutdown_background();
    ExitCode::from(exit.code())
}
