//! Live numbers of tasks that other workers run.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;

use crate::{forward, state::ServerState};

/// The overview is asked for every second: a worker that hangs must not hold it up.
const PATIENCE: Duration = Duration::from_secs(1);

/// Puts what other workers tell of their tasks in the place of what this one does not know. A
/// worker that does not answer leaves its tasks with their states alone.
pub(super) async fn gather(state: &ServerState, connectors: &mut [Value]) {
    let own = state.options().worker_id.as_str();
    let tasks = connectors.iter().filter_map(|connector| connector["tasks"].as_array()).flatten();
    let foreign: Vec<&str> = tasks.filter_map(|task| task["worker_id"].as_str()).collect();
    let others: Vec<_> = state
        .worker()
        .others()
        .into_iter()
        .filter(|other| other.worker_id != own && foreign.contains(&other.worker_id.as_str()))
        .collect();
    let asked = others.iter().map(|other| forward::get(&other.url, "/api/v1/overview", PATIENCE));
    for (other, told) in others.iter().zip(join_all(asked).await) {
        match told {
            Ok(told) => take(connectors, &told["connectors"], &other.worker_id),
            Err(refusal) => {
                let (worker, reason) = (&other.worker_id, refusal.message());
                tracing::debug!(worker, reason, "another worker's numbers");
            }
        }
    }
}

fn take(connectors: &mut [Value], told: &Value, worker_id: &str) {
    for connector in connectors {
        let same = |other: &&Value| other["name"] == connector["name"];
        let Some(other) = told.as_array().into_iter().flatten().find(same) else { continue };
        let theirs = other["tasks"].as_array().cloned().unwrap_or_default();
        let theirs = theirs.into_iter().filter(|task| task["worker_id"] == worker_id);
        let Some(tasks) = connector["tasks"].as_array_mut() else { continue };
        for task in theirs {
            if let Some(place) = tasks.iter_mut().find(|own| own["id"] == task["id"]) {
                *place = task;
            }
        }
        sum(connector);
    }
}

/// The connector's numbers anew from its tasks'.
fn sum(connector: &mut Value) {
    let tasks = connector["tasks"].as_array().cloned().unwrap_or_default();
    for rate in ["events_per_s", "bytes_per_s"] {
        connector[rate] = tasks.iter().filter_map(|task| task[rate].as_f64()).sum::<f64>().into();
    }
    let behind = tasks.iter().filter_map(|task| task["behind_ms"].as_i64()).max();
    connector["behind_ms"] = behind.into();
    if connector["type"] == "sink" {
        let topics = tasks.iter().filter_map(|task| task["behind_records"].as_object()).flatten();
        let behind: i64 = topics.filter_map(|(_, count)| count.as_i64()).sum();
        connector["behind_records"] = behind.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_of_other_workers_are_added_to_ones_own() {
        let task = |id: u32, worker: &str, rate: f64, behind: Value| {
            json!({
                "id": id, "worker_id": worker, "events_per_s": rate, "bytes_per_s": rate,
                "behind_ms": behind, "behind_records": { "t": 5 },
            })
        };
        let sink = |tasks: Vec<Value>| json!({ "name": "s", "type": "sink", "tasks": tasks });
        let mut own = vec![sink(vec![task(0, "a", 2.0, json!(7)), task(1, "b", 0.0, Value::Null)])];
        let told = json!([sink(vec![task(0, "a", 9.0, json!(1)), task(1, "b", 3.0, json!(9))])]);
        take(&mut own, &told, "b");
        assert_eq!((&own[0]["events_per_s"], &own[0]["behind_ms"]), (&json!(5.0), &json!(9)));
        assert_eq!(
            (&own[0]["behind_records"], &own[0]["tasks"][1]["events_per_s"]),
            (&json!(10), &json!(3.0))
        );
    }
}
