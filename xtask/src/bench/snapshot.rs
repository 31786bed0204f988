//! The initial snapshot into the embedded log, beside `COPY … TO STDOUT` of the same table with
//! as many connections.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Map, Value};

use super::{
    Options,
    platform::Platform,
    postgres::{Database, TABLE, copy_out, fill},
    report::{self, Runs},
};

const THREADS: u64 = 2;

pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let rows = options.rows.unwrap_or(1_000_000);
    let database = Database::create("snapshot")?;
    database.sql(TABLE)?;
    database.sql(&fill(1, rows))?;
    database.sql("vacuum analyze public.items")?;
    let (mut ours, mut limit) = (Runs::default(), Runs::default());
    for run in 0..=options.runs {
        let seconds = copy_out(&database, THREADS)?;
        let platform = Platform::start("snapshot")?;
        let before = platform.usage()?;
        let started = Instant::now();
        let threads = THREADS.to_string();
        let config = [("slot.name", "bench_snapshot"), ("snapshot.max.threads", threads.as_str())];
        platform.create_source("bench", &database, &config)?;
        platform.wait_records("bench", rows)?;
        if run > 0 {
            let after = platform.usage()?;
            limit.seconds.push(seconds);
            ours.seconds.push(started.elapsed().as_secs_f64());
            ours.cpu.push(after.cpu - before.cpu);
            ours.rss_mb.push(after.peak_rss_mb);
        }
        platform.delete("bench")?;
        drop(platform);
        database.sql("select pg_drop_replication_slot('bench_snapshot')")?;
    }
    Ok(vec![report::object(report::throughput("snapshot", rows, &ours, &limit))])
}
