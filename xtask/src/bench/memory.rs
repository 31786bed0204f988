//! Resident memory: idle, through one huge transaction, and with huge rows.

use std::{thread, time::Duration};

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{
    Options,
    platform::Platform,
    postgres::{Database, TABLE, fill},
    report,
};

pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let rows = options.rows.unwrap_or(5_000_000);
    let idle = {
        let platform = Platform::start("memory-idle")?;
        // Long enough for start-up's own garbage to be gone.
        thread::sleep(Duration::from_secs(3));
        platform.usage()?
    };
    let one_transaction = one_transaction(rows)?;
    let huge_rows = huge_rows()?;
    Ok(vec![report::object(json!({
        "name": "memory",
        "rows": rows,
        "idle_rss_mb": report::number(idle.rss_mb),
        "one_transaction_peak_rss_mb": report::number(one_transaction),
        "rows_of_10_mb_peak_rss_mb": report::number(huge_rows),
        "peak_rss_mb": report::number(one_transaction.max(huge_rows)),
    }))])
}

fn one_transaction(rows: u64) -> Result<f64> {
    let database = Database::create("memory")?;
    database.sql(TABLE)?;
    let platform = Platform::start("memory")?;
    let config = [("slot.name", "bench_memory"), ("snapshot.mode", "no_data")];
    platform.create_source("bench", &database, &config)?;
    wait_for_slot(&platform, &database, "bench_memory")?;
    database.sql(&fill(1, rows))?;
    platform.wait_records("bench", rows)?;
    Ok(platform.usage()?.peak_rss_mb)
}

fn huge_rows() -> Result<f64> {
    let database = Database::create("memory_huge")?;
    database.sql(TABLE)?;
    let platform = Platform::start("memory-huge")?;
    let config = [("slot.name", "bench_memory_huge"), ("snapshot.mode", "no_data")];
    platform.create_source("bench", &database, &config)?;
    wait_for_slot(&platform, &database, "bench_memory_huge")?;
    // Twenty rows of 10 MB that do not compress away.
    database.sql(
        "insert into public.items select i, 1, 'sku', 1, 1, 1, true, \
         (select string_agg(md5((i * 1000000 + j)::text), '') from generate_series(1, 327680) j), \
         now(), gen_random_uuid() from generate_series(1, 20) i",
    )?;
    platform.wait_records("bench", 20)?;
    Ok(platform.usage()?.peak_rss_mb)
}

fn wait_for_slot(platform: &Platform, database: &Database, slot: &str) -> Result<()> {
    let active =
        format!("select count(*) from pg_replication_slots where slot_name = '{slot}' and active");
    platform.wait_for("bench", "the slot", || Ok(database.sql(&active)? == "1"))
}
