//! `/api/v1/workers`: the workers that share the connectors.

use axum::extract::State;
use serde_json::{Value, json};

use crate::{answer::Json, state::ServerState};

pub(crate) async fn list(State(state): State<ServerState>) -> Json {
    let worker = state.worker();
    let options = state.options();
    let Some(view) = worker.group() else {
        let snapshot = worker.connectors().await;
        let mut tasks = Vec::new();
        for name in snapshot {
            if let Ok(info) = worker.connector(&name).await {
                tasks.extend(info.tasks.iter().map(|task| format!("{name}-{task}")));
            }
        }
        return Json(json!({
            "generation": null, "leases": null, "fenced": null,
            "workers": [{
                "worker_id": options.worker_id,
                "url": format!("http://{}", options.worker_id),
                "version": options.version, "leader": true, "this": true,
                "leases": [], "tasks": tasks,
            }],
        }));
    };
    let told: Vec<Value> = view
        .members
        .iter()
        .map(|member| {
            json!({
                "worker_id": member.worker_id, "url": member.url, "version": member.version,
                "leader": member.leader, "this": member.worker_id == options.worker_id,
                "leases": member.leases, "tasks": worker.tasks_of(member),
            })
        })
        .collect();
    Json(json!({
        "generation": view.generation, "leases": view.leases, "fenced": view.fenced,
        "workers": told,
    }))
}
