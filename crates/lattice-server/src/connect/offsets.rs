//! `/connectors/{name}/offsets` (KIP-875).

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::HeaderMap,
};
use lattice_runtime::OffsetEntry;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    answer::{Answer, Json, Refusal, body},
    state::ServerState,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OffsetsBody {
    offsets: Option<Vec<EntryBody>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryBody {
    partition: Option<Map<String, Value>>,
    offset: Option<Map<String, Value>>,
}

pub(crate) fn entries_json(entries: &[OffsetEntry]) -> Vec<Value> {
    let entry =
        |entry: &OffsetEntry| json!({ "partition": entry.partition, "offset": entry.offset });
    entries.iter().map(entry).collect()
}

pub(crate) async fn get(State(state): State<ServerState>, Path(name): Path<String>) -> Answer {
    let entries = state.worker().offsets(&name).await?;
    Ok(Json(json!({ "offsets": entries_json(&entries) })))
}

pub(crate) async fn alter(
    State(state): State<ServerState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer {
    let body: OffsetsBody = body(&headers, &bytes)?;
    let given = body.offsets.unwrap_or_default();
    if given.is_empty() {
        return Err(Refusal::bad(
            "Partitions / offsets need to be provided for an alter offsets request",
        ));
    }
    let mut entries = Vec::with_capacity(given.len());
    for entry in given {
        let Some(partition) = entry.partition else {
            return Err(Refusal::bad(
                "each of \"offsets\" needs a \"partition\" and an \"offset\"",
            ));
        };
        entries.push(OffsetEntry { partition, offset: entry.offset });
    }
    state.worker().alter_offsets(&name, entries).await?;
    Ok(Json(json!({ "message": "The offsets for this connector have been altered successfully" })))
}

pub(crate) async fn reset(State(state): State<ServerState>, Path(name): Path<String>) -> Answer {
    state.worker().reset_offsets(&name).await?;
    Ok(Json(json!({ "message": "The offsets for this connector have been reset successfully" })))
}
