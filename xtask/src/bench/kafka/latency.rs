//! Commit to readable in the topic, at 1,000 one-row transactions a second.

use std::{
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::{Format, Side, Stage, Topics, wait};
use crate::bench::{
    Options,
    latency::{RANGE, RATE, WRITERS, row, write},
    platform::Usage,
    postgres::{Database, TABLE},
    report,
};

/// How a row's number stands in its record.
const MARK: &[u8] = b"\"after\":{\"id\":";

/// Whoever writes nothing for so long does not write.
const SILENCE: Duration = Duration::from_secs(120);

pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let rows = options.rows.unwrap_or(20_000) / WRITERS * WRITERS;
    let stage = Stage::start()?;
    // Not compressed: the rows' numbers are looked for in the batches as they stand there.
    let extra = vec![("producer.override.compression.type", "none")];
    let side =
        |name: &str| Side { name: name.to_owned(), slot: "bench_latency", extra: extra.clone() };
    let mut reports = Vec::new();

    let (debezium, database) = (side("debezium"), prepare()?);
    let config = stage.config(&debezium, &database, Format::Json)?;
    for measured in [false, true] {
        let name = if measured { "debezium" } else { "warm" };
        let mut config = config.clone();
        config["topic.prefix"] = json!(name);
        // Its newest words for how soon it looks again.
        config["poll.interval.ms"] = json!("50");
        let side = side(name);
        stage.create_real(name, &config)?;
        let figures = measure(
            &stage,
            &database,
            &side,
            if measured { rows } else { rows.min(5000) / WRITERS * WRITERS },
            || stage.real_usage(),
            || stage.check_real(name),
        )?;
        stage.delete_real(name)?;
        database.drop_slot(side.slot)?;
        database.sql("truncate public.items")?;
        if measured {
            reports.push(told("latency-kafka-debezium", rows, figures));
        }
    }

    let ours = side("ours");
    let platform = stage.platform("ours", None)?;
    platform.create("ours", &stage.config(&ours, &database, Format::Json)?)?;
    let figures =
        measure(&stage, &database, &ours, rows, || platform.usage(), || platform.check("ours"))?;
    drop(platform);
    reports.insert(0, told("latency-kafka", rows, figures));
    Ok(reports)
}

fn prepare() -> Result<Database> {
    let database = Database::create("latency_kafka")?;
    database.sql(TABLE)?;
    database.sql("create publication bench for table public.items")?;
    Ok(database)
}

struct Figures {
    latencies: Vec<f64>,
    cpu: f64,
    peak_rss_mb: f64,
}

#[allow(clippy::cast_precision_loss)] // rows are far below 2^52
fn told(name: &str, rows: u64, mut figures: Figures) -> Map<String, Value> {
    report::object(json!({
        "name": name,
        "rows": rows,
        "rows_per_s": RATE,
        "p50_ms": report::number(report::percentile(&mut figures.latencies, 0.50)),
        "p99_ms": report::number(report::percentile(&mut figures.latencies, 0.99)),
        "max_ms": report::number(report::percentile(&mut figures.latencies, 1.0)),
        "cpu_s_per_million_rows": report::number(figures.cpu * 1e6 / rows as f64),
        "peak_rss_mb": report::number(figures.peak_rss_mb),
    }))
}

fn measure(
    stage: &Stage,
    database: &Database,
    side: &Side,
    rows: u64,
    usage: impl Fn() -> Result<Usage>,
    check: impl Fn() -> Result<()>,
) -> Result<Figures> {
    let active = format!(
        "select count(*) from pg_replication_slots where slot_name = '{}' and active",
        side.slot
    );
    wait("the slot to be read", || Ok(database.sql(&active)? == "1"), &check)?;
    // One row through the whole path first: topics and connections are made.
    database.sql(&row(0))?;
    let mut topics = stage.topics()?;
    wait("the first row", || Ok(topics.records(&side.topic())? > 0), &check)?;
    let before = usage()?;
    let writers: Vec<_> = (1..=WRITERS)
        .map(|writer| {
            let url = database.url.clone();
            thread::spawn(move || write(&url, writer, rows / WRITERS))
        })
        .collect();
    let seen = follow(&mut topics, &side.topic(), rows)?;
    for writer in writers {
        writer.join().map_err(|_| anyhow::anyhow!("a writer panicked"))??;
    }
    let after = usage()?;
    let latencies = latencies(database, seen)?;
    Ok(Figures { latencies, cpu: after.cpu - before.cpu, peak_rss_mb: after.peak_rss_mb })
}

/// When each row was readable, by its number. Units: seconds since the Unix epoch.
fn follow(topics: &mut Topics, topic: &str, rows: u64) -> Result<Vec<(u64, f64)>> {
    let (mut seen, mut next) = (Vec::new(), 0);
    let rows = usize::try_from(rows)?;
    let mut last = Instant::now();
    while seen.len() < rows {
        let fetched = topics.fetch(topic, next, Duration::from_secs(5))?;
        let when = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
        if fetched.next != next {
            last = Instant::now();
        } else if last.elapsed() > SILENCE {
            bail!("{} of {rows} rows came, and then nothing for {SILENCE:?}", seen.len());
        }
        next = fetched.next;
        seen.extend(numbers(&fetched.bytes).filter(|number| *number >= RANGE).map(|id| (id, when)));
    }
    Ok(seen)
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let marks = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    marks.filter_map(|(at, _)| {
        let digits: Vec<u8> =
            bytes[at + MARK.len()..].iter().copied().take_while(u8::is_ascii_digit).collect();
        String::from_utf8(digits).ok()?.parse().ok()
    })
}

/// From each row's own time, set by the server just before its commit, to when it was readable.
/// Units: ms.
fn latencies(database: &Database, mut seen: Vec<(u64, f64)>) -> Result<Vec<f64>> {
    let created = database.sql(&format!(
        "select id, extract(epoch from created) from public.items where id >= {RANGE} order by id"
    ))?;
    seen.sort_by_key(|(id, _)| *id);
    seen.dedup_by_key(|(id, _)| *id);
    let mut latencies = Vec::with_capacity(seen.len());
    for (line, (id, when)) in created.lines().zip(&seen) {
        let (number, created) = line.split_once('|').context("a row of two cells")?;
        if number.parse() != Ok(*id) {
            bail!("row {number} is not in the topic");
        }
        latencies.push((when - created.parse::<f64>()?) * 1000.0);
    }
    Ok(latencies)
}
