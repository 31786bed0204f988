//! `/admin/loggers`.

use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use crate::{
    answer::{Answer, Json, Refusal, body},
    state::ServerState,
};

fn level_json(level: &str) -> Value {
    json!({ "level": level, "last_modified": null })
}

fn levels(state: &ServerState) -> Vec<(String, String)> {
    state.options().log_levels.as_ref().map(|levels| levels.levels()).unwrap_or_default()
}

pub(crate) async fn list(State(state): State<ServerState>) -> Json {
    let all: Map<String, Value> =
        levels(&state).into_iter().map(|(name, level)| (name, level_json(&level))).collect();
    Json(all.into())
}

pub(crate) async fn get(State(state): State<ServerState>, Path(logger): Path<String>) -> Answer {
    match levels(&state).into_iter().find(|(name, _)| *name == logger) {
        Some((_, level)) => Ok(Json(level_json(&level))),
        None => Err(Refusal::not_found(format!("Logger {logger} not found."))),
    }
}

pub(crate) async fn set(
    State(state): State<ServerState>,
    Path(logger): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    let body: Map<String, Value> = body(&headers, &bytes)?;
    let Some(level) = body.get("level").and_then(Value::as_str) else {
        return Err(Refusal::bad("Desired 'level' parameter was not specified in request."));
    };
    let Some(levels) = &state.options().log_levels else {
        return Err(Refusal::not_found("log levels cannot be changed here"));
    };
    levels.set(&logger, level).map_err(Refusal::not_found)?;
    if query.unwrap_or_default().contains("scope=cluster") {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(Json(json!([logger])).into_response())
}
