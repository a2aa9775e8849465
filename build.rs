//! Makes the program start faster, for git-ralph is started often.
//!
//! Links gcc's unwinder into it: a library less for the loader to find. Where it cannot be found, the shared library
//! serves as well. A program for tests is linked to a fixed address too: it has 125,000 addresses that the loader would
//! relocate at each start, which takes half of the time of `git-ralph --version`.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    say("rerun-if-changed=build.rs");
    let is = |key, value: &str| env::var(key).is_ok_and(|found| found == value);
    let for_glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if for_glibc && linker_has("libgcc_eh.a") {
        // It comes before the standard library's own choice, which is then not needed.
        say("rustc-link-lib=gcc_eh");
    }
    if for_glibc && is("PROFILE", "debug") {
        say("rustc-link-arg-bins=-no-pie");
    }
}

/// Returns whether the linker of the target has this library.
fn linker_has(library: &str) -> bool {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    #[expect(clippy::disallowed_methods, reason = "it has nothing of the program's own")]
    let asked = Command::new(linker)
        .arg(format!("-print-file-name={library}"))
        .output();
    asked.is_ok_and(|answer| {
        // gcc and clang answer with the name alone if they do not know it.
        let path = String::from_utf8_lossy(&answer.stdout);
        Path::new(path.trim()).is_absolute()
    })
}

fn say(instruction: &str) {
    println!("cargo::{instruction}");
}
