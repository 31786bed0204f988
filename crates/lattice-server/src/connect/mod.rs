//! Kafka Connect's REST API: its routes, bodies and status codes.
//!
//! Source: Apache Kafka's `org.apache.kafka.connect.runtime.rest`.

mod admin;
mod connectors;
mod offsets;
mod plugins;
mod secrets;

use axum::{
    Router,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
    routing::{get, post, put},
};
use serde_json::json;

pub(crate) use connectors::create_body;
pub(crate) use offsets::entries_json;
pub(crate) use secrets::masked;

use crate::{answer::Json, console, router::wants_page, state::ServerState};

/// A version that tools parse to switch features: the Kafka whose API this is.
const KAFKA_VERSION: &str = "4.1.0";

pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/", get(root))
        .route("/health", get(health))
        .route("/connectors", get(connectors::list).post(connectors::create))
        .route("/connectors/{name}", get(connectors::get).delete(connectors::delete))
        .route(
            "/connectors/{name}/config",
            get(connectors::config).put(connectors::put_config).patch(connectors::patch_config),
        )
        .route("/connectors/{name}/status", get(connectors::status))
        .route("/connectors/{name}/restart", post(connectors::restart))
        .route("/connectors/{name}/pause", put(connectors::pause))
        .route("/connectors/{name}/resume", put(connectors::resume))
        .route("/connectors/{name}/stop", put(connectors::stop))
        .route("/connectors/{name}/tasks", get(connectors::tasks))
        .route("/connectors/{name}/tasks/{task}/status", get(connectors::task_status))
        .route("/connectors/{name}/tasks/{task}/restart", post(connectors::restart_task))
        .route("/connectors/{name}/topics", get(connectors::topics))
        .route("/connectors/{name}/topics/reset", put(connectors::reset_topics))
        .route(
            "/connectors/{name}/offsets",
            get(offsets::get).patch(offsets::alter).delete(offsets::reset),
        )
        .route("/connector-plugins", get(plugins::list))
        .route("/connector-plugins/{plugin}/config", get(plugins::config))
        .route("/connector-plugins/{plugin}/config/validate", put(plugins::validate))
        .route("/admin/loggers", get(admin::list))
        .route("/admin/loggers/{logger}", get(admin::get).put(admin::set))
}

async fn root(State(state): State<ServerState>, headers: HeaderMap) -> Response {
    if wants_page(&headers) {
        return console::page();
    }
    let options = state.options();
    let commit = if options.commit.is_empty() { options.version } else { options.commit };
    Json(json!({
        "version": KAFKA_VERSION,
        "commit": commit,
        "kafka_cluster_id": options.cluster_id,
    }))
    .into_response()
}

async fn health(State(state): State<ServerState>) -> Response {
    let log = state.log().health();
    if log.writable {
        let message = "Worker has completed startup and is ready to handle requests.";
        return Json(json!({ "status": "healthy", "message": message })).into_response();
    }
    let body = json!({ "status": "unhealthy", "message": log.message });
    (axum::http::StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
}
