//! `cargo x parity NAME`: what the real program answers to the table of requests, recorded.
//!
//! The normal tests compare ours with the recording and need no Java.

mod connect;
mod registry;
mod transforms;

use anyhow::{Result, bail};

/// `cargo x parity NAME`.
pub(crate) fn command(name: &str) -> Result<()> {
    match name {
        "connect" => connect::record(),
        "registry" => registry::record(),
        "transforms" => transforms::record(),
        _ => bail!("unknown program {name}: cargo x parity connect|registry|transforms"),
    }
}
