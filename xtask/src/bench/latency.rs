//! Commit to visible in ClickHouse, at 1,000 one-row transactions a second.

use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::{
    Options,
    clickhouse::Target,
    platform::Platform,
    postgres::{Database, TABLE},
    report,
};

const RATE: u64 = 1000;

#[allow(clippy::cast_precision_loss)] // milliseconds of a short run
pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let rows = options.rows.unwrap_or(20_000);
    let database = Database::create("latency")?;
    database.sql(TABLE)?;
    let target = Target::create("latency")?;
    let platform = Platform::start("latency")?;
    platform.create_source("bench", &database, &[("slot.name", "bench_latency")])?;
    platform.create_sink("bench-sink", "bench", &target)?;
    // One row through the whole path first: tables and connections are made.
    insert_one(&database, 0)?;
    let count = format!("select max(id) from {}.`bench.public.items`", target.name);
    platform.wait_for("bench-sink", "the first row", || {
        Ok(target.query(&count).is_ok_and(|text| text == "0"))
    })?;

    let before = platform.usage()?;
    let writer = thread::spawn({
        let url = database.url.clone();
        move || write(&url, rows)
    });
    let mut seen: Vec<(Instant, u64)> = Vec::new();
    platform.wait_for("bench-sink", "all rows", || {
        let max = target.query(&count)?.parse().unwrap_or(0);
        seen.push((Instant::now(), max));
        Ok(max >= rows)
    })?;
    let committed = writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
    let after = platform.usage()?;
    let mut latencies = Vec::with_capacity(committed.len());
    let mut visible = seen.iter();
    let mut current = visible.next();
    for (id, at) in (1..).zip(&committed) {
        while current.is_some_and(|(_, max)| *max < id) {
            current = visible.next();
        }
        let (when, _) = current.context("a row was never seen")?;
        latencies.push(when.saturating_duration_since(*at).as_secs_f64() * 1000.0);
    }
    Ok(vec![report::object(json!({
        "name": "latency",
        "rows": rows,
        "rows_per_s": RATE,
        "p50_ms": report::number(report::percentile(&mut latencies, 0.50)),
        "p99_ms": report::number(report::percentile(&mut latencies, 0.99)),
        "max_ms": report::number(report::percentile(&mut latencies, 1.0)),
        "cpu_s_per_million_rows": report::number((after.cpu - before.cpu) * 1e6 / rows as f64),
        "peak_rss_mb": report::number(after.peak_rss_mb),
    }))])
}

fn row(id: u64) -> String {
    format!(
        "insert into public.items values ({id}, 1, 'sku', 1, 1.50, 0.5, true, null, now(), \
         '00000000-0000-0000-0000-000000000000');\n"
    )
}

fn insert_one(database: &Database, id: u64) -> Result<()> {
    database.sql(&row(id)).map(drop)
}

/// Writes one-row transactions at the rate through one psql; gives when each was sent. The time
/// of sending is before the commit, so latencies are never told shorter than they are.
fn write(url: &str, rows: u64) -> Result<Vec<Instant>> {
    let mut child = Command::new("psql")
        .args([url, "-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1"])
        .stdin(Stdio::piped())
        .spawn()
        .context("run psql")?;
    let mut input = child.stdin.take().context("psql's input")?;
    let started = Instant::now();
    let mut sent = Vec::new();
    for id in 1..=rows {
        let due = started + Duration::from_micros((id - 1) * 1_000_000 / RATE);
        if let Some(early) = due.checked_duration_since(Instant::now()) {
            thread::sleep(early);
        }
        sent.push(Instant::now());
        input.write_all(row(id).as_bytes())?;
    }
    drop(input);
    child.wait()?;
    Ok(sent)
}
