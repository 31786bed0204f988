//! Log-based capture into a topic of Kafka: Debezium and ours read copies of one slot and write to one broker in turn.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{Format, Side, Stage, wait};
use crate::bench::{
    Options,
    capture::{backlog, copy_slot},
    platform::Usage,
    postgres::Database,
    report::{self, Runs},
};

/// Runs of Debezium that are not counted: its Java is slow at first.
const WARM: usize = 2;

/// Workers' properties.
const AT_LEAST_ONCE: Option<&str> = None;
const EXACTLY_ONCE: Option<&str> = Some("exactly.once.source.support=enabled\n");

/// As its users tune it, and as the figures of its own documentation are made.
const TUNED: [(&str, &str); 5] = [
    ("producer.override.compression.type", "lz4"),
    ("producer.override.batch.size", "262144"),
    ("producer.override.linger.ms", "5"),
    ("max.queue.size", "32768"),
    ("max.batch.size", "8192"),
];

pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let rows = options.rows.unwrap_or(1_000_000);
    let database = Database::create("capture_kafka")?;
    backlog(&database, rows)?;
    let stage = Stage::start()?;
    let bench = Bench { stage: &stage, database: &database, rows };
    let mut reports = Vec::new();
    for format in [Format::Avro, Format::Json] {
        for run in 0..WARM {
            bench.debezium(format, &format!("warm{run}"))?;
        }
        bench.ours(format, "warm", AT_LEAST_ONCE)?;
        let (mut ours, mut once, mut debezium) =
            (Runs::default(), Runs::default(), Runs::default());
        for run in 0..options.runs {
            debezium.push(bench.debezium(format, &run.to_string())?);
            ours.push(bench.ours(format, &run.to_string(), AT_LEAST_ONCE)?);
            once.push(bench.ours(format, &format!("once{run}"), EXACTLY_ONCE)?);
        }
        let name = format!("capture-kafka-{}", format.name());
        let mut report = compared(&name, rows, &ours, &debezium);
        let cost = report::median(&once.seconds) / report::median(&ours.seconds) - 1.0;
        report.insert("exactly_once_cost".to_owned(), report::number(cost));
        reports.push(report);
    }
    Ok(reports)
}

/// The report of both sides, Debezium in the place of the limit.
#[allow(clippy::cast_precision_loss)] // rows are far below 2^52
fn compared(name: &str, rows: u64, ours: &Runs, debezium: &Runs) -> Map<String, Value> {
    let mut report = report::object(report::throughput(name, rows, ours, debezium));
    let rate = report.remove("limit_rows_per_s").unwrap_or_default();
    let million = |runs: &Runs| report::median(&runs.cpu) * 1e6 / rows as f64;
    let peak = debezium.rss_mb.iter().copied().fold(0.0, f64::max);
    report.extend([
        ("debezium_rows_per_s".to_owned(), rate),
        ("debezium_cpu_s_per_million_rows".to_owned(), report::number(million(debezium))),
        ("cpu_ratio".to_owned(), report::number(million(debezium) / million(ours))),
        ("debezium_peak_rss_mb".to_owned(), json!(peak.round())),
    ]);
    report
}

struct Bench<'a> {
    stage: &'a Stage,
    database: &'a Database,
    rows: u64,
}

impl Bench<'_> {
    fn debezium(&self, format: Format, run: &str) -> Result<[f64; 3]> {
        let name = format!("debezium-{}-{run}", format.name());
        let side = Side { name, slot: "bench_debezium", extra: TUNED.to_vec() };
        copy_slot(self.database, side.slot)?;
        self.stage.create_real(&side.name, &self.stage.config(&side, self.database, format)?)?;
        let measured =
            self.measure(&side, || self.stage.real_usage(), || self.stage.check_real(&side.name));
        self.stage.delete_real(&side.name)?;
        self.database.drop_slot(side.slot)?;
        measured
    }

    fn ours(&self, format: Format, run: &str, worker: Option<&str>) -> Result<[f64; 3]> {
        let name = format!("ours-{}-{run}", format.name());
        let side = Side { name, slot: "bench_ours", extra: TUNED.to_vec() };
        copy_slot(self.database, side.slot)?;
        let platform = self.stage.platform(&side.name, worker)?;
        platform.create(&side.name, &self.stage.config(&side, self.database, format)?)?;
        let measured = self.measure(&side, || platform.usage(), || platform.check(&side.name));
        drop(platform);
        self.database.drop_slot(side.slot)?;
        measured
    }

    /// Seconds, CPU seconds and peak memory (MB) from the first records in the topic to the last, told for all rows: how
    /// long a connector takes to start is another figure.
    #[allow(clippy::cast_precision_loss)] // rows are far below 2^52
    fn measure(
        &self,
        side: &Side,
        usage: impl Fn() -> Result<Usage>,
        check: impl Fn() -> Result<()>,
    ) -> Result<[f64; 3]> {
        let (mut topics, topic) = (self.stage.topics()?, side.topic());
        let (mut started, mut before, mut first) = (Instant::now(), usage()?, 0);
        let mut there = || topics.records(&topic);
        wait(
            "the first record",
            || {
                first = there()?;
                Ok(first > 0)
            },
            &check,
        )?;
        if first < self.rows {
            (started, before) = (Instant::now(), usage()?);
        } else {
            first = 0;
        }
        wait("all records", || Ok(there()? >= self.rows), &check)?;
        let (seconds, after) = (started.elapsed().as_secs_f64(), usage()?);
        let whole = self.rows as f64 / (self.rows - first) as f64;
        Ok([seconds * whole, (after.cpu - before.cpu) * whole, after.peak_rss_mb])
    }
}
