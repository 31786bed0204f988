//! Kafka Connect's and Debezium's transformations, run on the cases of `lattice-transform` without any broker.

use std::process::Command;

use anyhow::Result;

use crate::{command::run, place, services::connect};

/// Where the cases and what the real ones gave are.
const FOLDER: &str = "crates/lattice-transform/tests/golden";

/// Runs the real transformations and writes what they give.
pub(crate) fn record() -> Result<()> {
    connect::fetch()?;
    let jars = ["lib", "plugins/debezium-postgres"]
        .map(|folder| connect::home().join(folder).join("*").display().to_string());
    let folder = place::root().join(FOLDER);
    run(Command::new("java")
        .arg("-cp")
        .arg(jars.join(":"))
        .arg(place::root().join("xtask/java/TransformRecorder.java"))
        .arg(folder.join("cases.json"))
        .arg(folder.join("recorded.json")))
}
