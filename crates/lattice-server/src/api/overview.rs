//! `/api/v1/overview`: everything at one moment.

use axum::extract::State;
use serde_json::{Value, json};

use super::views;
use crate::{
    answer::{Answer, Json},
    state::ServerState,
};

pub(crate) async fn overview(State(state): State<ServerState>) -> Answer {
    Ok(Json(snapshot(&state).await?))
}

pub(crate) async fn snapshot(state: &ServerState) -> Answer<Value> {
    let worker = state.worker().snapshot().await;
    let topics = state.log().topics().await?;
    let connectors: Vec<Value> =
        worker.connectors.iter().map(|connector| views::connector(state, connector)).collect();
    Ok(json!({
        "at_ms": worker.at_ms,
        "connectors": connectors,
        "topics": topics.iter().map(views::topic).collect::<Vec<_>>(),
        "log": views::log(&state.log().health()),
    }))
}
