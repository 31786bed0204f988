//! From the start of the process to the first event in the topic.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{
    Options,
    clickhouse::agent,
    platform::Platform,
    postgres::{Database, TABLE, fill},
    report,
};

pub(crate) fn run(options: &Options) -> Result<Vec<Map<String, Value>>> {
    let database = Database::create("startup")?;
    database.sql(TABLE)?;
    let mut platform = Platform::start("startup")?;
    let config = [("slot.name", "bench_startup"), ("snapshot.mode", "no_data")];
    platform.create_source("bench", &database, &config)?;
    database.sql(&fill(1, 1))?;
    platform.wait_records("bench", 1)?;
    let mut first = Vec::new();
    let runs = u64::try_from(options.runs.max(5))?;
    for run in 1..=runs {
        let waiting = run + 1;
        // The row waits while the platform is down: its capture is what is measured.
        platform.stop()?;
        database.sql(&fill(waiting, waiting))?;
        let started = Instant::now();
        platform.start_again()?;
        loop {
            let answered = agent().get(format!("{}/health", platform.url)).call().is_ok();
            if answered && platform.records("bench").unwrap_or(0) >= waiting {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
            anyhow::ensure!(started.elapsed().as_secs() < 60, "no event within a minute");
        }
        first.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(vec![report::object(json!({
        "name": "startup",
        "runs": runs,
        "first_event_ms": report::number(report::median(&first)),
        "first_event_max_ms": report::number(first.iter().copied().fold(0.0, f64::max)),
    }))])
}
