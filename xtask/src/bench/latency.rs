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

/// Transactions a second.
pub(crate) const RATE: u64 = 1000;

/// Connections that write; one alone cannot commit so often on a slow disk.
pub(crate) const WRITERS: u64 = 4;

/// Each writer's ids begin at a multiple of this.
pub(crate) const RANGE: u64 = 10_000_000;

/// The highest number of each writer that is in the target; writers count from 1.
type Highest = [u64; WRITERS as usize + 1];

#[allow(clippy::cast_precision_loss)] // milliseconds of a short run
pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let rows = options.rows.unwrap_or(20_000) / WRITERS * WRITERS;
    let database = Database::create("latency")?;
    database.sql(TABLE)?;
    let target = Target::create("latency")?;
    let platform = Platform::start("latency")?;
    platform.create_source("bench", &database, &[("slot.name", "bench_latency")])?;
    platform.create_sink("bench-sink", "bench", &target)?;
    // One row through the whole path first: tables and connections are made.
    database.sql(&row(0))?;
    platform.wait_for("bench-sink", "the first row", || {
        let first = format!("select id from {}.`bench.public.items`", target.name);
        Ok(target.query(&first).is_ok_and(|text| !text.is_empty()))
    })?;

    let before = platform.usage()?;
    let writers: Vec<_> = (1..=WRITERS)
        .map(|writer| {
            let url = database.url.clone();
            thread::spawn(move || write(&url, writer, rows / WRITERS))
        })
        .collect();
    // When each writer's rows were first seen up to which number.
    let mut seen: Vec<(f64, Highest)> = Vec::new();
    let mut highest = Highest::default();
    platform.wait_for("bench-sink", "all rows", || {
        if let Some(when) = see(&target, &mut highest)? {
            seen.push((when, highest));
        }
        Ok(highest[1..].iter().all(|number| *number >= rows / WRITERS))
    })?;
    for writer in writers {
        writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
    }
    let after = platform.usage()?;
    let mut latencies = latencies(&database, &seen)?;
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

/// Asks for what came since the last time, so that the asking costs the target little. Gives the
/// server's time at which the question saw it, in seconds since the Unix epoch; `None`: nothing came.
/// How long the answer then takes is the asking's own cost.
fn see(target: &Target, highest: &mut Highest) -> Result<Option<f64>> {
    let newer = highest.iter().zip(0..).skip(1).map(|(number, writer)| {
        let (from, to) = (writer * RANGE + number, (writer + 1) * RANGE);
        format!("id > {from} and id < {to}")
    });
    let newest = format!(
        "select intDiv(id, {RANGE}) as writer, max(id) % {RANGE}, \
         toFloat64(toUnixTimestamp64Micro(now64(6))) / 1e6 from {}.`bench.public.items` \
         where {} group by writer",
        target.name,
        newer.collect::<Vec<_>>().join(" or ")
    );
    let mut when = None;
    for line in target.query(&newest)?.lines() {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().context("a row of three cells");
        let (writer, number): (usize, u64) = (cell()?.parse()?, cell()?.parse()?);
        *highest.get_mut(writer).context("a writer nobody knows")? = number;
        when = Some(cell()?.parse()?);
    }
    Ok(when)
}

/// From each row's own time, set by the server just before its commit, to when it was seen.
/// Units: ms.
fn latencies(database: &Database, seen: &[(f64, Highest)]) -> Result<Vec<f64>> {
    let rows = database.sql(&format!(
        "select id / {RANGE}, id % {RANGE}, extract(epoch from created) from public.items \
         where id >= {RANGE} order by id"
    ))?;
    let mut latencies = Vec::new();
    let (mut at, mut current) = (0, 0);
    for line in rows.lines() {
        let mut cells = line.split('|');
        let mut cell = || cells.next().context("a row of three cells");
        let (writer, number): (usize, u64) = (cell()?.parse()?, cell()?.parse()?);
        let created: f64 = cell()?.parse()?;
        if writer != current {
            (at, current) = (0, writer);
        }
        while seen.get(at).is_some_and(|(_, highest)| highest[writer] < number) {
            at += 1;
        }
        let (when, _) = seen.get(at).context("a row was never seen")?;
        latencies.push((when - created) * 1000.0);
    }
    Ok(latencies)
}

/// The statement that inserts a row.
pub(crate) fn row(id: u64) -> String {
    format!(
        "insert into public.items values ({id}, 1, 'sku', 1, 1.50, 0.5, true, null, clock_timestamp(), \
         '00000000-0000-0000-0000-000000000000');\n"
    )
}

/// Writes one-row transactions at its share of the rate through one psql.
pub(crate) fn write(url: &str, writer: u64, rows: u64) -> Result<()> {
    let mut child = Command::new("psql")
        .args([url, "-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1"])
        .stdin(Stdio::piped())
        .spawn()
        .context("run psql")?;
    let mut input = child.stdin.take().context("psql's input")?;
    let started = Instant::now();
    for number in 1..=rows {
        let due = started + Duration::from_micros((number - 1) * 1_000_000 * WRITERS / RATE);
        if let Some(early) = due.checked_duration_since(Instant::now()) {
            thread::sleep(early);
        }
        input.write_all(row(writer * RANGE + number).as_bytes())?;
    }
    drop(input);
    child.wait()?;
    Ok(())
}
