//! Lattice's own API under `/api/v1`: what the console and the command line ask for.

mod check;
mod clusters;
mod connector;
mod events;
mod gather;
mod groups;
mod log;
mod messages;
mod overview;
mod remote;
mod topics;
mod views;
mod workers;

use axum::{
    Router,
    extract::State,
    routing::{any, get, post, put},
};
use serde_json::json;

use crate::{answer::Json, state::ServerState};

pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/api/v1/info", get(info))
        .route("/api/v1/overview", get(overview::overview))
        .route("/api/v1/workers", get(workers::list))
        .route("/api/v1/groups", get(groups::list))
        .route("/api/v1/log", get(log::detail))
        .route("/api/v1/events", get(events::events))
        .route("/api/v1/connectors/{name}", get(connector::detail))
        .route("/api/v1/check", post(check::check))
        .route("/api/v1/tables", post(check::tables))
        .route("/api/v1/preview", post(check::preview))
        .route("/api/v1/clusters", get(clusters::list))
        .route("/api/v1/clusters/{cluster}", put(clusters::put).delete(clusters::delete))
        .route(
            "/api/v1/clusters/{cluster}/connectors",
            get(clusters::connectors).post(clusters::create),
        )
        .route("/api/v1/clusters/{cluster}/connectors/{name}", any(clusters::call_plain))
        .route("/api/v1/clusters/{cluster}/connectors/{name}/{action}", any(clusters::call))
        .route("/api/v1/topics", get(topics::list))
        .route("/api/v1/topics/{topic}", get(topics::detail).delete(topics::delete))
        .route("/api/v1/topics/{topic}/messages", get(messages::messages))
        .route("/api/v1/topics/{topic}/stream", get(messages::stream))
}

async fn info(State(state): State<ServerState>) -> Json {
    let options = state.options();
    Json(json!({
        "version": options.version,
        "worker_id": options.worker_id,
        "started_ms": state.started_ms(),
        "data_folder": options.data_folder.display().to_string(),
        "log": views::log(&state.log().health()),
    }))
}
