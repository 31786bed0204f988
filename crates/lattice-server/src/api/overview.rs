//! `/api/v1/overview`: everything at one moment.

use axum::extract::{RawQuery, State};
use serde_json::{Value, json};

use super::{gather, views};
use crate::{
    answer::{Answer, Json},
    forward::is_forwarded,
    state::ServerState,
};

pub(crate) async fn overview(
    State(state): State<ServerState>,
    RawQuery(query): RawQuery,
) -> Answer {
    match is_forwarded(query.as_deref()) {
        true => Ok(Json(json!({ "connectors": own(&state).await }))),
        false => Ok(Json(snapshot(&state).await?)),
    }
}

/// The connectors as this worker alone sees them.
async fn own(state: &ServerState) -> Vec<Value> {
    let worker = state.worker().snapshot().await;
    worker.connectors.iter().map(|connector| views::connector(state, connector)).collect()
}

pub(crate) async fn snapshot(state: &ServerState) -> Answer<Value> {
    let worker = state.worker().snapshot().await;
    let topics = state.log().topics().await?;
    let mut connectors: Vec<Value> =
        worker.connectors.iter().map(|connector| views::connector(state, connector)).collect();
    gather::gather(state, &mut connectors).await;
    Ok(json!({
        "at_ms": worker.at_ms,
        "connectors": connectors,
        "topics": topics.iter().map(views::topic).collect::<Vec<_>>(),
        "log": views::log(&state.log().health()),
    }))
}
