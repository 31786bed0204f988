//! Log-based capture into the embedded log, beside what the walsender sends to a client that
//! discards: both read copies of one slot, so the backlog is the same.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Map, Value};

use super::{
    Options,
    platform::Platform,
    postgres::{Database, TABLE, fill},
    report::{self, Runs},
};

const FORMATS: [(&str, &str); 2] = [
    ("avro", "io.confluent.connect.avro.AvroConverter"),
    ("json", "org.apache.kafka.connect.json.JsonConverter"),
];

pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let rows = options.rows.unwrap_or(1_000_000);
    let database = Database::create("capture")?;
    backlog(&database, rows)?;
    let end = database.sql("select pg_current_wal_lsn()")?;
    let mut reports = Vec::new();
    for (format, converter) in FORMATS {
        let (mut ours, mut limit) = (Runs::default(), Runs::default());
        for run in 0..=options.runs {
            copy_slot(&database, "bench_limit")?;
            let seconds = database.discard("bench_limit", "bench", &end)?;
            database.sql("select pg_drop_replication_slot('bench_limit')")?;
            let measured = capture(&database, converter, rows)?;
            if run > 0 {
                limit.seconds.push(seconds);
                ours.seconds.push(measured.0);
                ours.cpu.push(measured.1);
                ours.rss_mb.push(measured.2);
            }
        }
        let report = report::throughput(&format!("capture-{format}"), rows, &ours, &limit);
        reports.push(report::object(report));
    }
    Ok(reports)
}

/// A table full of rows, all of them in the log behind the slot `bench_origin`.
pub(crate) fn backlog(database: &Database, rows: u64) -> Result<()> {
    database.sql(TABLE)?;
    database.sql("create publication bench for table public.items")?;
    database.sql("select pg_create_logical_replication_slot('bench_origin', 'pgoutput')")?;
    let mut next = 1;
    while next <= rows {
        // Transactions of 1,000 rows, as applications write them in bulk.
        let statements: Vec<String> = (0..100)
            .map(|step| next + step * 1000)
            .take_while(|from| *from <= rows)
            .map(|from| fill(from, (from + 999).min(rows)))
            .collect();
        for statement in statements {
            database.sql(&statement)?;
        }
        next += 100_000;
    }
    Ok(())
}

/// Another slot at the place of `bench_origin`.
pub(crate) fn copy_slot(database: &Database, name: &str) -> Result<()> {
    database.sql(&format!("select pg_copy_logical_replication_slot('bench_origin', '{name}')"))?;
    Ok(())
}

fn capture(database: &Database, converter: &str, rows: u64) -> Result<(f64, f64, f64)> {
    copy_slot(database, "bench_ours")?;
    let platform = Platform::start("capture")?;
    let before = platform.usage()?;
    let started = Instant::now();
    let config = [
        ("slot.name", "bench_ours"),
        ("publication.name", "bench"),
        ("publication.autocreate.mode", "disabled"),
        ("snapshot.mode", "no_data"),
        ("key.converter", converter),
        ("value.converter", converter),
        ("key.converter.schemas.enable", "false"),
        ("value.converter.schemas.enable", "false"),
    ];
    platform.create_source("bench", database, &config)?;
    platform.wait_records("bench", rows)?;
    let seconds = started.elapsed().as_secs_f64();
    let after = platform.usage()?;
    drop(platform);
    database.sql("select pg_drop_replication_slot('bench_ours')")?;
    Ok((seconds, after.cpu - before.cpu, after.peak_rss_mb))
}
