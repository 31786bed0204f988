//! The worker's and the log's answers as JSON.

use lattice_core::config::{ConfigIssue, Severity};
use lattice_log::{LogHealth, PartitionInfo, TopicInfo};
use lattice_runtime::{ConnectorSnapshot, State, TableSnapshot, TaskSnapshot, TaskStatus};
use serde_json::{Map, Value, json};

use crate::state::ServerState;

pub(crate) fn log(health: &LogHealth) -> Value {
    json!({
        "writable": health.writable,
        "message": health.message,
        "bytes": health.bytes,
        "free_bytes": health.free_bytes,
    })
}

pub(crate) fn issue(issue: &ConfigIssue) -> Value {
    let severity = match issue.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    json!({
        "key": issue.key, "severity": severity, "message": issue.message, "remedy": issue.remedy,
    })
}

pub(crate) fn topic(topic: &TopicInfo) -> Value {
    let sum = |part: fn(&PartitionInfo) -> u64| topic.partitions.iter().map(part).sum::<u64>();
    let end: i64 = topic.partitions.iter().map(|partition| partition.end_offset).sum();
    json!({
        "name": *topic.name,
        "partitions": topic.partitions.len(),
        "records": sum(|partition| partition.records),
        "bytes": sum(|partition| partition.bytes),
        "end_offset": end,
        "internal": topic.internal,
        "cleanup_policy": topic.config.cleanup_policy.as_str(),
        "retention_ms": topic.config.retention_ms,
        "retention_bytes": topic.config.retention_bytes,
    })
}

fn table(table: &TableSnapshot) -> Value {
    json!({
        "name": table.name,
        "state": table.state.as_str(),
        "snapshot_rows": table.snapshot_rows,
        "snapshot_rows_expected": table.snapshot_rows_expected,
        "snapshot_chunks": table.snapshot_chunks,
        "snapshot_chunks_expected": table.snapshot_chunks_expected,
        "events": table.events,
        "bytes": table.bytes,
        "errors": table.errors,
        "last_event_ms": table.last_event_ms,
        "message": table.message,
    })
}

/// One digit after the point is what a person reads.
fn rate(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn task(status: &TaskStatus, live: Option<&TaskSnapshot>) -> Value {
    let empty = TaskSnapshot::default();
    let live = live.unwrap_or(&empty);
    let gauges: Map<String, Value> =
        live.gauges.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    let notes: Map<String, Value> =
        live.notes.iter().map(|(name, text)| ((*name).to_owned(), text.clone().into())).collect();
    json!({
        "id": status.id,
        "state": status.state.as_str(),
        "worker_id": status.worker_id,
        "trace": status.trace,
        "events": live.events,
        "bytes": live.bytes,
        "events_per_s": rate(live.events_per_s),
        "bytes_per_s": rate(live.bytes_per_s),
        "dead_letters": live.dead_letters,
        "retries": live.retries,
        "behind_ms": live.behind_ms,
        "behind_records": live.behind_records,
        "gauges": gauges,
        "notes": notes,
        "tables": live.tables.iter().map(table).collect::<Vec<_>>(),
    })
}

/// A connector live. Its state is the worst of its own and its tasks'.
pub(crate) fn connector(state: &ServerState, snapshot: &ConnectorSnapshot) -> Value {
    let status = &snapshot.status;
    let failed = status.tasks.iter().find(|task| task.state == State::Failed);
    let shown = if failed.is_some() { State::Failed } else { status.state };
    let trace = status.trace.as_ref().or_else(|| failed.and_then(|task| task.trace.as_ref()));
    let plugins = state.worker().plugins();
    let title = plugins
        .iter()
        .find(|plugin| plugin.descriptor.is_called(&snapshot.class))
        .map_or(snapshot.class.as_str(), |plugin| plugin.descriptor.title);
    let tasks: Vec<Value> = status
        .tasks
        .iter()
        .map(|one| task(one, snapshot.tasks.iter().find(|live| live.id == one.id)))
        .collect();
    json!({
        "name": status.name,
        "type": status.kind.as_str(),
        "class": snapshot.class,
        "title": title,
        "state": shown.as_str(),
        "trace": trace,
        "worker_id": status.worker_id,
        "topics": snapshot.topics,
        "events_per_s": rate(snapshot.events_per_s),
        "bytes_per_s": rate(snapshot.bytes_per_s),
        "behind_ms": snapshot.behind_ms,
        "behind_records": snapshot.behind_records,
        "tasks": tasks,
    })
}
