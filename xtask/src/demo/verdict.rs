//! The verdict: every table of source and target, compared by content.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use lattice_testkit::content::{self, Diff, SourceColumn, TargetShape};

use super::{
    databases::{Source, Target},
    shop,
};

/// Compares until all are equal, or `patience` is over; gives the line that says how it ended.
pub(crate) fn compare(
    stop: &AtomicBool,
    source: &Source,
    target: &Target,
    patience: Duration,
) -> Result<String> {
    let start = Instant::now();
    let goal = source.rows()?;
    // The last changes are on their way: a full comparison is worth it once the numbers agree.
    while target.rows() != goal && start.elapsed() < patience && !stop.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(100));
    }
    loop {
        let diffs = shop::TABLES
            .map(|table| compare_table(source, target, table).map(|diff| (table, diff)));
        let diffs: Vec<(&str, Diff)> = diffs.into_iter().collect::<Result<_>>()?;
        let equal = diffs.iter().all(|(_, diff)| diff.is_empty());
        if equal || start.elapsed() > patience || stop.load(Ordering::SeqCst) {
            return Ok(report(&diffs, equal));
        }
        thread::sleep(Duration::from_millis(300));
    }
}

fn report(diffs: &[(&str, Diff)], equal: bool) -> String {
    for (table, diff) in diffs {
        println!("  {table:12} {diff}");
    }
    let rows: usize = diffs.iter().map(|(_, diff)| diff.source_rows).sum();
    if equal {
        return format!("demo: OK all {} tables are equal by content ({rows} rows)", diffs.len());
    }
    let different: Vec<&str> =
        diffs.iter().filter(|(_, diff)| !diff.is_empty()).map(|(table, _)| *table).collect();
    format!("demo: DIFFERENT {}", different.join(", "))
}

fn compare_table(source: &Source, target: &Target, table: &str) -> Result<Diff> {
    let columns = source.sql(&content::source_columns("public", table))?;
    let columns: Vec<SourceColumn> = columns.lines().map(source_column).collect();
    let name = format!("{}.public.{table}", shop::DATABASE);
    let shape = TargetShape::parse(&target.query(&content::target_columns("default", &name))?);
    let Some(shape) = shape else {
        let rows = source
            .sql(&format!("SELECT count(*) FROM {table}"))?
            .trim()
            .parse()
            .context("count rows")?;
        return Ok(Diff::of_absent_target(rows, Vec::new()));
    };
    let queries = content::queries(("public", table), &columns, ("default", &name), &shape);
    let lines = |text: String| text.lines().map(str::to_owned).collect();
    let of_source = source.sql(&format!("COPY ({}) TO STDOUT", queries.source))?;
    let of_target = target.query(&queries.target)?;
    Ok(Diff::of(&queries, lines(of_source), lines(of_target)))
}

/// A line of `psql -A`: name, type, whether it is a part of the key.
fn source_column(line: &str) -> SourceColumn {
    let mut values = line.split('|').map(str::to_owned);
    let mut next = || values.next().unwrap_or_default();
    SourceColumn { name: next(), data_type: next(), key: next() == "1" }
}
