#!/usr/bin/env node
"use strict";

// Starts the binary of the package for this platform, and ends as it ends.

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const NAME = "lattice-platform-cli";

function fail(message) {
  process.stderr.write(`lattice: ${message}\n`);
  process.exit(1);
}

function binary() {
  if (process.env.LATTICE_BINARY) return process.env.LATTICE_BINARY;
  const platform = `${process.platform}-${process.arch}`;
  const { optionalDependencies } = require("../package.json");
  const version = optionalDependencies[`${NAME}-${platform}`];
  if (!version) {
    const offered = Object.keys(optionalDependencies).map((name) => name.slice(NAME.length + 1));
    fail(`there is no build for ${platform} (there is: ${offered.join(", ")}); ` +
      "build it from source and name it in LATTICE_BINARY");
  }
  try {
    return require.resolve(`${NAME}-${platform}/bin/lattice`);
  } catch {
    fail(`the package ${NAME}-${platform} is not installed, probably because optional packages were left out; ` +
      `run: npm install ${NAME}-${platform}@${version}`);
  }
}

const program = binary();
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    // A terminal's Ctrl-C goes to the whole group: passed on, it would count as pressed twice.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("error", (error) => fail(`start ${program}: ${error.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Where the signal does not end us, the status says it as a shell does.
  process.exitCode = 128 + constants.signals[signal];
});
