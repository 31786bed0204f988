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
    logging::LogLevel,
    query,
    state::ServerState,
};

fn level_json(level: &LogLevel) -> Value {
    json!({ "level": level.level, "last_modified": level.last_modified })
}

fn levels(state: &ServerState) -> Vec<LogLevel> {
    state.options().log_levels.as_ref().map(|levels| levels.levels()).unwrap_or_default()
}

pub(crate) async fn list(State(state): State<ServerState>) -> Json {
    let all: Map<String, Value> = levels(&state)
        .into_iter()
        .map(|level| (level.target.clone(), level_json(&level)))
        .collect();
    Json(all.into())
}

pub(crate) async fn get(State(state): State<ServerState>, Path(logger): Path<String>) -> Answer {
    match levels(&state).into_iter().find(|level| level.target == logger) {
        Some(level) => Ok(Json(level_json(&level))),
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
    let level = match body.get("level") {
        None | Some(Value::Null) => {
            let message = "Desired 'level' parameter was not specified in request.";
            return Err(Refusal::bad(message));
        }
        Some(Value::String(level)) => level.clone(),
        Some(other) => other.to_string(),
    };
    if level.is_empty() {
        return Err(Refusal::bad("\"level\" is empty: use OFF, ERROR, WARN, INFO, DEBUG or TRACE"));
    }
    let Some(levels) = &state.options().log_levels else {
        return Err(Refusal::not_found("log levels cannot be changed here"));
    };
    let changed = levels.set(&logger, &level).map_err(Refusal::not_found)?;
    let scope = query::value(query.as_deref(), "scope").unwrap_or_default();
    if scope.eq_ignore_ascii_case("cluster") {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(Json(json!(changed)).into_response())
}
