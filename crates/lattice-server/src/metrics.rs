//! `/metrics`: Prometheus text, from the same snapshot that the console gets.

mod jmx;

use std::fmt::Write as _;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use lattice_runtime::WorkerSnapshot;

use crate::{answer::Answer, state::ServerState};

/// One measure: name, type, help, and its samples as (labels, value).
struct Family {
    name: String,
    kind: &'static str,
    help: &'static str,
    samples: Vec<(String, f64)>,
}

pub(crate) async fn metrics(State(state): State<ServerState>) -> Answer<Response> {
    let snapshot = state.worker().snapshot().await;
    let mut families = connectors(&snapshot);
    families.extend(tables(&snapshot));
    families.extend(gauges(&snapshot));
    families.extend(log(&state).await?);
    families.extend(jmx::families(&state, &snapshot).await);
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        write_family(&mut text, family);
    }
    let headers = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((headers, text).into_response())
}

fn write_family(text: &mut String, family: &Family) {
    let Family { name, kind, help, samples } = family;
    // Writing to a String cannot fail.
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
    for (labels, value) in samples {
        writeln!(text, "{name}{{{labels}}} {value}").ok();
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn labels(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    pairs.join(",")
}

#[allow(clippy::cast_precision_loss)] // Prometheus counts in doubles
fn connectors(snapshot: &WorkerSnapshot) -> Vec<Family> {
    let mut running = Vec::new();
    let (mut events, mut bytes, mut dead) = (Vec::new(), Vec::new(), Vec::new());
    let (mut retries, mut behind, mut lag) = (Vec::new(), Vec::new(), Vec::new());
    for connector in &snapshot.connectors {
        let name = connector.status.name.as_str();
        let kind = connector.status.kind.as_str();
        for status in &connector.status.tasks {
            let task = status.id.to_string();
            let own = labels(&[
                ("connector", name),
                ("task", &task),
                ("type", kind),
                ("state", status.state.as_str()),
            ]);
            running.push((own, 1.0));
        }
        for live in &connector.tasks {
            let task = live.id.to_string();
            let own = labels(&[("connector", name), ("task", &task)]);
            events.push((own.clone(), live.events as f64));
            bytes.push((own.clone(), live.bytes as f64));
            dead.push((own.clone(), live.dead_letters as f64));
            retries.push((own.clone(), live.retries as f64));
            if let Some(ms) = live.behind_ms {
                behind.push((own.clone(), ms as f64 / 1000.0));
            }
            for (topic, records) in &live.behind_records {
                let own = labels(&[("connector", name), ("task", &task), ("topic", topic)]);
                lag.push((own, *records as f64));
            }
        }
    }
    let family =
        |name: &str, kind, help, samples| Family { name: name.to_owned(), kind, help, samples };
    vec![
        family("lattice_task_state", "gauge", "1 for the state a task is in", running),
        family(
            "lattice_task_events_total",
            "counter",
            "Events made durable since the task started",
            events,
        ),
        family("lattice_task_bytes_total", "counter", "Bytes of events before compression", bytes),
        family(
            "lattice_task_dead_letters_total",
            "counter",
            "Records that could not be processed",
            dead,
        ),
        family(
            "lattice_task_retries_total",
            "counter",
            "Times a task was opened again after a passing error",
            retries,
        ),
        family(
            "lattice_task_behind_seconds",
            "gauge",
            "How far a task is behind its source",
            behind,
        ),
        family("lattice_sink_behind_records", "gauge", "Records of a topic not yet delivered", lag),
    ]
}

#[allow(clippy::cast_precision_loss)] // Prometheus counts in doubles
fn tables(snapshot: &WorkerSnapshot) -> Vec<Family> {
    let (mut events, mut rows, mut expected, mut errors) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for connector in &snapshot.connectors {
        for table in connector.tasks.iter().flat_map(|task| &task.tables) {
            let own = labels(&[("connector", &connector.status.name), ("table", &table.name)]);
            events.push((own.clone(), table.events as f64));
            rows.push((own.clone(), table.snapshot_rows as f64));
            expected.push((own.clone(), table.snapshot_rows_expected as f64));
            errors.push((own, table.errors as f64));
        }
    }
    let family =
        |name: &str, kind, help, samples| Family { name: name.to_owned(), kind, help, samples };
    vec![
        family("lattice_table_events_total", "counter", "Events of a table", events),
        family(
            "lattice_table_snapshot_rows",
            "gauge",
            "Rows the snapshot has read (Debezium: RowsScanned)",
            rows,
        ),
        family(
            "lattice_table_snapshot_rows_expected",
            "gauge",
            "Rows the snapshot expects, an estimate",
            expected,
        ),
        family(
            "lattice_table_errors_total",
            "counter",
            "Rows of a table that could not be processed",
            errors,
        ),
    ]
}

/// The gauges that connectors name themselves.
#[allow(clippy::cast_precision_loss)] // Prometheus counts in doubles
fn gauges(snapshot: &WorkerSnapshot) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for connector in &snapshot.connectors {
        for task in &connector.tasks {
            for (gauge, value) in &task.gauges {
                let name = format!("lattice_{gauge}");
                let id = task.id.to_string();
                let own = labels(&[("connector", &connector.status.name), ("task", &id)]);
                let sample = (own, *value as f64);
                match families.iter_mut().find(|family| family.name == name) {
                    Some(family) => family.samples.push(sample),
                    None => families.push(Family {
                        name,
                        kind: "gauge",
                        help: "A connector's own measure",
                        samples: vec![sample],
                    }),
                }
            }
        }
    }
    families
}

#[allow(clippy::cast_precision_loss)] // Prometheus counts in doubles
async fn log(state: &ServerState) -> Answer<Vec<Family>> {
    let health = state.log().health();
    let mut records = Vec::new();
    let mut bytes = Vec::new();
    for topic in state.log().topics().await? {
        let own = labels(&[("topic", &topic.name)]);
        let end: i64 = topic.partitions.iter().map(|partition| partition.end_offset).sum();
        let size: u64 = topic.partitions.iter().map(|partition| partition.bytes).sum();
        records.push((own.clone(), end as f64));
        bytes.push((own, size as f64));
    }
    let family =
        |name: &str, kind, help, samples| Family { name: name.to_owned(), kind, help, samples };
    let plain = |value: f64| vec![(String::new(), value)];
    Ok(vec![
        family(
            "lattice_log_writable",
            "gauge",
            "1 when the log takes records",
            plain(f64::from(health.writable)),
        ),
        family(
            "lattice_log_bytes",
            "gauge",
            "What the log takes on its disk",
            plain(health.bytes as f64),
        ),
        family(
            "lattice_log_free_bytes",
            "gauge",
            "What the log's disk has left",
            health.free_bytes.map(|free| plain(free as f64)).unwrap_or_default(),
        ),
        family(
            "lattice_topic_records_total",
            "counter",
            "Records ever appended to a topic",
            records,
        ),
        family("lattice_topic_bytes", "gauge", "What a topic takes, compressed", bytes),
    ])
}
