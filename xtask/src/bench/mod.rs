//! `cargo x bench NAME [--rows N] [--runs N] [--json FILE] [--kafka]`: figures beside their limits.
//!
//! Each benchmark alternates the platform with its limit on the same data in one run, counts at
//! the destination, and reports medians with their spread. Services: PostgreSQL and ClickHouse of
//! `cargo x services up`.

mod capture;
mod clickhouse;
mod kafka;
mod latency;
mod memory;
mod platform;
mod postgres;
mod report;
mod sink;
mod snapshot;
mod sql_sink;
mod startup;

pub(crate) use kafka::Topics;
pub(crate) use platform::{Platform, binary};

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// What the command line asked for.
pub(crate) struct Options {
    /// Rows, where the benchmark has rows.
    pub(crate) rows: Option<u64>,
    /// Counted runs of each side.
    pub(crate) runs: usize,
    /// On Kafka, beside Debezium in Kafka Connect, instead of on the log of our own.
    pub(crate) kafka: bool,
    /// Where the JSON goes besides standard output.
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { rows: None, runs: 3, kafka: false, json: None };
        let mut arguments = arguments.iter();
        while let Some(flag) = arguments.next() {
            if flag == "--kafka" {
                options.kafka = true;
                continue;
            }
            let value = arguments.next().with_context(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--rows" => options.rows = Some(value.replace('_', "").parse()?),
                "--runs" => options.runs = value.parse()?,
                "--json" => options.json = Some(value.into()),
                _ => bail!("unknown flag {flag}: expected --rows, --runs, --json or --kafka"),
            }
        }
        if options.runs == 0 {
            bail!("--runs must be at least 1");
        }
        Ok(options)
    }
}

/// Runs the benchmark that the arguments name; `all` runs every one.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let names = ["capture", "snapshot", "sink", "sql-sink", "latency", "memory", "startup"];
    let Some((name, rest)) = arguments.split_first() else {
        bail!(
            "which one? cargo x bench {}|all [--rows N] [--runs N] [--json FILE] [--kafka]",
            names.join("|")
        );
    };
    let options = Options::parse(rest)?;
    let mut reports = Vec::new();
    for one in names.iter().filter(|one| name == "all" || name == *one) {
        reports.extend(match *one {
            "capture" if options.kafka => kafka::capture(&options)?,
            "latency" if options.kafka => kafka::latency(&options)?,
            _ if options.kafka => bail!("--kafka is for capture and latency"),
            "capture" => capture::run(&options)?,
            "snapshot" => snapshot::run(&options)?,
            "sink" => sink::run(&options)?,
            "sql-sink" => sql_sink::run(&options)?,
            "latency" => latency::run(&options)?,
            "memory" => memory::run(&options)?,
            _ => startup::run(&options)?,
        });
    }
    if reports.is_empty() {
        bail!("no benchmark \"{name}\": expected {} or all", names.join(", "));
    }
    report::write(&reports, options.json.as_deref())
}
