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
    body::HttpBody as _,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post, put},
};
use serde_json::json;

pub(crate) use connectors::create_body;
pub(crate) use offsets::entries_json;
pub(crate) use secrets::masked;

use crate::{
    answer::{Json, Refusal, is_json, not_json},
    console,
    router::wants_page,
    state::ServerState,
};

/// A version that tools parse to switch features: the Kafka whose API this is.
const KAFKA_VERSION: &str = "4.4.0";

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
        .route("/connectors/{name}/tasks", get(connectors::tasks).post(connectors::internal))
        .route("/connectors/{name}/fence", put(connectors::internal))
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
        .layer(middleware::from_fn(media_types))
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
    (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
}

/// As Kafka Connect's resources: JSON goes in and comes out, whatever the route.
async fn media_types(request: Request, next: Next) -> Response {
    match refused(&request) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    }
}

fn refused(request: &Request) -> Option<Refusal> {
    let text = |name| {
        let value = request.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().trim()
    };
    let accept = text(header::ACCEPT);
    if !accepts_json(accept) && !wants_page(request.headers()) {
        let message = format!(
            "HTTP 406 Not Acceptable: answers are application/json, which Accept: {accept} leaves out"
        );
        return Some(Refusal::new(StatusCode::NOT_ACCEPTABLE, message));
    }
    let content_type = text(header::CONTENT_TYPE);
    let wrong = !request.body().is_end_stream() && !is_json(content_type);
    wrong.then(|| not_json(content_type))
}

fn accepts_json(accept: &str) -> bool {
    accept.is_empty()
        || accept.split(',').any(|range| {
            let range = range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            matches!(range.as_str(), "*/*" | "application/*" | "application/json")
        })
}
