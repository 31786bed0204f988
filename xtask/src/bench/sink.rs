//! Topic to ClickHouse, beside the same rows sent as ready-made Native blocks.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Map, Value};

use super::{
    Options,
    clickhouse::Target,
    platform::Platform,
    postgres::{Database, TABLE, fill},
    report::{self, Runs},
};

/// Rows of a ready-made block: what a well-made loader sends at once.
const BLOCK_ROWS: u64 = 200_000;

pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let rows = options.rows.unwrap_or(1_000_000);
    let database = Database::create("sink")?;
    database.sql(TABLE)?;
    database.sql(&fill(1, rows))?;
    let target = Target::create("sink")?;
    let mut platform = Platform::start("sink")?;
    platform.create_source("bench", &database, &[("slot.name", "bench_sink")])?;
    platform.wait_records("bench", rows)?;
    platform.delete("bench")?;
    // The memory that is told is the sink's, not what the source needed.
    platform.restart()?;
    let (mut ours, mut limit) = (Runs::default(), Runs::default());
    let mut blocks = Vec::new();
    for run in 0..=options.runs {
        let before = platform.usage()?;
        let started = Instant::now();
        let name = format!("bench-sink-{run}");
        platform.create_sink(&name, "bench", &target)?;
        platform.wait_slowly(&name, "rows in the target", || {
            let count = target.query(&format!("select sum(rows) from system.parts where active and database = '{}' and table = 'bench.public.items'", target.name))?;
            Ok(count.parse().unwrap_or(0) >= rows)
        })?;
        let seconds = started.elapsed().as_secs_f64();
        let after = platform.usage()?;
        platform.delete(&name)?;
        let table = format!("{}.`bench.public.items`", target.name);
        if blocks.is_empty() {
            for from in (0..rows).step_by(usize::try_from(BLOCK_ROWS)?) {
                let select = format!(
                    "select * from {table} where id > {from} and id <= {} format Native",
                    from + BLOCK_ROWS
                );
                blocks.push(target.post("", select.as_bytes())?);
            }
        }
        let seconds_of_blocks = insert(&target, &table, &blocks)?;
        target.query(&format!("truncate table {table}"))?;
        if run > 0 {
            ours.seconds.push(seconds);
            ours.cpu.push(after.cpu - before.cpu);
            ours.rss_mb.push(after.peak_rss_mb);
            limit.seconds.push(seconds_of_blocks);
        }
    }
    Ok(vec![report::object(report::throughput("sink-clickhouse", rows, &ours, &limit))])
}

fn insert(target: &Target, table: &str, blocks: &[Vec<u8>]) -> Result<f64> {
    target.query(&format!("create table {}.ready as {table}", target.name))?;
    let started = Instant::now();
    for block in blocks {
        target.post(&format!("insert into {}.ready format Native", target.name), block)?;
    }
    let seconds = started.elapsed().as_secs_f64();
    target.query(&format!("drop table {}.ready", target.name))?;
    Ok(seconds)
}
