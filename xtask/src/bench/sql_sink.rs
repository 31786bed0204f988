//! Topic to a SQL table by upserts, beside a hand-made binary `COPY` of the same rows to a staging
//! table and `INSERT … ON CONFLICT`.

use std::{env, fs, time::Instant};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::{
    Options,
    platform::Platform,
    postgres::{Database, TABLE, fill},
    report::{self, Runs},
};

pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let rows = options.rows.unwrap_or(1_000_000);
    let source = Database::create("sql_source")?;
    source.sql(TABLE)?;
    source.sql(&fill(1, rows))?;
    let target = Database::create("sql_target")?;
    let file = env::temp_dir().join(format!("lattice-bench-{}.copy", std::process::id()));
    let path = file.to_str().context("the temporary folder has a name that is no text")?;
    source.script(&format!("\\copy public.items to '{path}' (format binary)\n"))?;
    let mut platform = Platform::start("sql_sink")?;
    platform.create_source("bench", &source, &[("slot.name", "bench_sql_sink")])?;
    platform.wait_records("bench", rows)?;
    platform.delete("bench")?;
    // The memory that is told is the sink's, not what the source needed.
    platform.restart()?;
    let (mut ours, mut limit) = (Runs::default(), Runs::default());
    for run in 0..=options.runs {
        target.sql("drop table if exists items")?;
        let before = platform.usage()?;
        let seconds = sink(&platform, &target, run, rows)?;
        let after = platform.usage()?;
        target.sql(
            "create table if not exists by_hand (like items including all); truncate by_hand",
        )?;
        let by_hand = by_hand(&target, path)?;
        if run > 0 {
            ours.seconds.push(seconds);
            ours.cpu.push(after.cpu - before.cpu);
            ours.rss_mb.push(after.peak_rss_mb);
            limit.seconds.push(by_hand);
        }
    }
    fs::remove_file(&file).ok();
    Ok(vec![report::object(report::throughput("sql-sink-postgres", rows, &ours, &limit))])
}

/// Upserts the topic into an empty table; gives the seconds.
fn sink(platform: &Platform, target: &Database, run: usize, rows: u64) -> Result<f64> {
    let [host, port, user, password] = target.parts()?;
    let name = format!("bench-sql-{run}");
    let config = json!({
        "connector.class": "jdbc", "topics": "bench.public.items",
        "connection.url": format!("jdbc:postgresql://{host}:{port}/{}", target.name),
        "connection.username": user, "connection.password": password,
        "insert.mode": "upsert", "primary.key.mode": "record_key", "delete.enabled": "true",
        "schema.evolution": "basic", "collection.name.format": "items",
    });
    let started = Instant::now();
    platform.call("POST", "/connectors", Some(&json!({ "name": name, "config": config })))?;
    let reached = format!(
        "select coalesce(sum(next_offset), 0) from _lattice_offsets where connector = '{name}'"
    );
    platform.wait_slowly(&name, "rows in the target", || {
        // There is no table of offsets before the first task was opened.
        Ok(target.sql(&reached).is_ok_and(|next| next.parse().unwrap_or(0) >= rows))
    })?;
    let seconds = started.elapsed().as_secs_f64();
    platform.delete(&name)?;
    Ok(seconds)
}

/// The same by psql; gives the seconds.
fn by_hand(target: &Database, path: &str) -> Result<f64> {
    let started = Instant::now();
    target.script(&format!(
        "begin;\ncreate temp table staged (like by_hand) on commit drop;\n\
         \\copy staged from '{path}' (format binary)\n\
         insert into by_hand select * from staged on conflict (id) do update set \
         customer = excluded.customer, sku = excluded.sku, quantity = excluded.quantity, price = excluded.price, \
         weight = excluded.weight, active = excluded.active, note = excluded.note, created = excluded.created, \
         ref = excluded.ref;\ncommit;\n"
    ))?;
    Ok(started.elapsed().as_secs_f64())
}
