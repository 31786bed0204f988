//! Medians, spreads and the JSON they are told in.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// Median, minimum and maximum of a figure over the runs.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[length / 2],
        length => f64::midpoint(sorted[length / 2 - 1], sorted[length / 2]),
    }
}

/// The value below which `share` of the sorted values lie.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    if values.is_empty() {
        return f64::NAN;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let index = ((values.len() - 1) as f64 * share).round() as usize;
    values[index]
}

/// Rounded to three digits after the point.
pub(crate) fn number(value: f64) -> Value {
    json!((value * 1000.0).round() / 1000.0)
}

/// One side's runs of a throughput benchmark.
#[derive(Default)]
pub(crate) struct Runs {
    /// Seconds of each run.
    pub(crate) seconds: Vec<f64>,
    /// CPU seconds of the measured process in each run.
    pub(crate) cpu: Vec<f64>,
    /// Peak resident memory. Units: MB.
    pub(crate) rss_mb: Vec<f64>,
}

impl Runs {
    /// Adds a run: seconds, CPU seconds, peak memory.
    pub(crate) fn push(&mut self, [seconds, cpu, rss_mb]: [f64; 3]) {
        self.seconds.push(seconds);
        self.cpu.push(cpu);
        self.rss_mb.push(rss_mb);
    }
}

/// The report of a throughput benchmark against its limit.
#[allow(clippy::cast_precision_loss)] // rows are far below 2^52
pub(crate) fn throughput(name: &str, rows: u64, ours: &Runs, limit: &Runs) -> Value {
    let rate = |seconds: f64| rows as f64 / seconds;
    let ratios: Vec<f64> =
        ours.seconds.iter().zip(&limit.seconds).map(|(ours, limit)| limit / ours).collect();
    // A/A: the limit against itself, run by run, tells how much of a ratio is noise.
    let control: Vec<f64> = limit.seconds.windows(2).map(|pair| pair[0] / pair[1]).collect();
    let spread = |values: &[f64]| {
        json!([
            number(values.iter().copied().fold(f64::NAN, f64::min)),
            number(values.iter().copied().fold(f64::NAN, f64::max))
        ])
    };
    json!({
        "name": name,
        "rows": rows,
        "runs": ours.seconds.len(),
        "rows_per_s": number(rate(median(&ours.seconds)).round()),
        "limit_rows_per_s": number(rate(median(&limit.seconds)).round()),
        "ratio": number(median(&ratios)),
        "ratio_spread": spread(&ratios),
        "control_spread": spread(&control),
        "cpu_s_per_million_rows": number(median(&ours.cpu) * 1e6 / rows as f64),
        "peak_rss_mb": number(ours.rss_mb.iter().copied().fold(0.0, f64::max)),
    })
}

/// Prints the reports, and writes them to a file when one is named.
#[allow(clippy::print_stdout)] // what the command is for
pub(crate) fn write(reports: &[Map<String, Value>], file: Option<&Path>) -> Result<()> {
    for report in reports {
        println!("{}", serde_json::to_string(report)?);
    }
    if let Some(file) = file {
        fs::write(file, serde_json::to_string_pretty(reports)?)
            .with_context(|| format!("write {}", file.display()))?;
    }
    Ok(())
}

/// A report as the object it is.
pub(crate) fn object(report: Value) -> Map<String, Value> {
    match report {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}
