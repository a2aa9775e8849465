//! Links gcc's unwinder into the program: a library less for the loader to find at every start, and git-ralph is
//! started often. Where it cannot be found, the shared library serves as well.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    say("rerun-if-changed=build.rs");
    let is = |key, value: &str| env::var(key).is_ok_and(|found| found == value);
    let with_shared_unwinder = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if with_shared_unwinder && linker_has("libgcc_eh.a") {
        // It comes before the standard library's own choice, which is then not needed.
        say("rustc-link-lib=gcc_eh");
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
