#!/usr/bin/env node
// Runs the program in the package for this system, which npm installed as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@git-ralph/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/git-ralph`);
} catch {
  console.error(`git-ralph: npm did not install the package ${name}

There are packages for Linux with glibc and for macOS, on x64 and arm64. If this is one of
them, install git-ralph without --omit=optional. On other systems, install it with cargo.`);
  process.exit(1);
}

const args = process.argv.slice(2);
if (process.execve) {
  process.execve(program, [program, ...args], process.env);
}
// Node before 22.15 cannot become the program. It stays in between: the terminal sends its signals to both, others
// send them to this process only.
const child = spawn(program, args, { stdio: "inherit" });
process.on("SIGINT", () => {});
process.on("SIGQUIT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`git-ralph: cannot run ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
