//! `lattice`: the platform's server, its client and its tools in one program.
//!
//! Only this crate reads arguments and environment, installs the tracing subscriber, names
//! concrete connectors ([`plugins`]) and exits the process.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a command line speaks to people

mod arguments;
mod client;
mod commands;
mod documents;
mod group;
mod log;
mod logging;
mod plugins;
mod serve;
mod table;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        eprintln!("error: a TLS provider was installed twice");
        return ExitCode::FAILURE;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: start the async runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(Box::pin(commands::run(arguments)));
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
