//! `cargo x deploy`: the OpenTofu modules checked without AWS.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{command, place};

/// `cargo x deploy ACTION`.
pub(crate) fn command(action: &str) -> Result<()> {
    match action {
        "check" => command::run(&mut modules()?),
        _ => bail!("unknown action {action}: cargo x deploy check"),
    }
}

/// The check of `deploy/tofu`: its format, validity, tests and rules (dev/deploy/README.md).
pub(crate) fn modules() -> Result<Command> {
    let python = place::cache().join("deploy/bin/python");
    if !python.is_file() {
        bail!("the tools that check deploy/tofu are not installed; run dev/setup.sh");
    }
    let mut check = command::tool(python);
    check.arg("dev/deploy/check.py");
    Ok(check)
}
