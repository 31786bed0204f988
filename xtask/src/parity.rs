//! `cargo x parity NAME`: what the real program answers to the table of requests, recorded.
//!
//! The normal tests compare ours with the recording and need no Java.

mod connect;
mod debezium;
mod registry;
mod takeover;
mod transforms;

use anyhow::{Result, bail};

/// `cargo x parity NAME`.
pub(crate) fn command(name: &str, arguments: &[String]) -> Result<()> {
    match (name, arguments) {
        ("connect", []) => connect::record(),
        ("debezium", arguments) => debezium::command(arguments),
        ("registry", []) => registry::record(),
        ("takeover", arguments) => takeover::command(arguments),
        ("transforms", []) => transforms::record(),
        _ => bail!("cargo x parity connect|debezium|registry|takeover|transforms"),
    }
}
