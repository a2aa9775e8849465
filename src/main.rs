//! The program: completions, arguments, one runtime, one exit code.

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;
use git_ralph::cli::Cli;
use git_ralph::{commands, trace};

fn main() -> ExitCode {
    CompleteEnv::with_factory(Cli::command).complete();
    let cli = Cli::parse();
    trace::begin(cli.verbose);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            trace::no_runtime(&error);
            return ExitCode::FAILURE;
        }
    };
    let exit = runtime.block_on(commands::run(cli));
    // A question that nobody answered must not keep the program from ending.
    runtime.shutdown_background();
    ExitCode::from(exit.code())
}
