//! `/api/v1/connectors/{name}`: all that is known of one connector.

use axum::extract::{Path, State};
use serde_json::json;

use super::{gather, views};
use crate::{
    answer::{Answer, Json, Refusal},
    connect::{entries_json, masked},
    state::ServerState,
};

pub(crate) async fn detail(State(state): State<ServerState>, Path(name): Path<String>) -> Answer {
    let info = state.worker().connector(&name).await?;
    let snapshot = state.worker().snapshot().await;
    let live = snapshot.connectors.iter().find(|connector| connector.status.name == name);
    let Some(live) = live else {
        return Err(Refusal::not_found(format!("Connector {name} not found")));
    };
    // Offsets of a connector that cannot be read are no reason to hide the rest.
    let offsets = state.worker().offsets(&name).await.unwrap_or_default();
    let mut connectors = vec![views::connector(&state, live)];
    gather::gather(&state, &mut connectors).await;
    Ok(Json(json!({
        "connector": connectors.pop(),
        "config": masked(&state, &info.config),
        "offsets": entries_json(&offsets),
    })))
}
