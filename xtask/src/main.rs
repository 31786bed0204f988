//! `cargo x`: the project's own commands.
//!
//! Each is a module here; none needs anything that `dev/setup.sh` does not install. This crate stays small
//! in dependencies, since it is built before everything else.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a command-line tool speaks to its user

mod bench;
mod command;
mod demo;
mod deploy;
mod dist;
mod gate;
mod parity;
mod place;
mod services;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "cargo x COMMAND

  services up|down|status   the real servers that tests use, all or those named
  test [nextest arguments]  everything: format, lints, docs, tidy, licences, all tests, the console's tests
  check                     the quick part: format, lints, unit tests
  tidy                      the rules of the house that no other tool checks
  deploy check              the OpenTofu modules of deploy/tofu, without AWS
  dist npm FOLDER           the packages for npm, of binaries in FOLDER/linux-x64/lattice and so on
  demo                      PostgreSQL to ClickHouse before your eyes (DEMO=forever goes on)
  bench NAME                figures beside their limits (cargo x bench all)
  parity NAME               record anew what the real ones give: connect, registry (answers to requests), transforms;
                            debezium --record [THEME…] runs the SQL cases, --check compares ours; takeover [ROUNDS]
  docs                      the API documentation of all crates, every link checked";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let (command, rest) =
        arguments.split_first().map_or(("help", &[][..]), |(first, rest)| (first.as_str(), rest));
    match (command, rest) {
        ("services", [action, names @ ..]) => services::command(action, names),
        ("test", extra) => gate::test(extra),
        ("check", []) => gate::check(),
        ("tidy", []) => tidy::command(),
        ("deploy", [action]) => deploy::command(action),
        ("dist", [kind, binaries]) if kind == "npm" => dist::npm(binaries.as_ref()),
        ("demo", []) => demo::run(),
        ("bench", rest) => bench::run(rest),
        ("parity", [name, rest @ ..]) => parity::command(name, rest),
        ("docs", []) => gate::docs(),
        ("help" | "--help" | "-h", _) => {
            println!("{HELP}");
            Ok(())
        }
        _ => bail!("unknown command: cargo x {}\n\n{HELP}", arguments.join(" ")),
    }
}
