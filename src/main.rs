//! The program.

use std::process::ExitCode;

fn main() -> ExitCode {
    git_ralph::main()
}
