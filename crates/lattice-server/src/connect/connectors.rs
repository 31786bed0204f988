//! `/connectors` and below.

use std::collections::BTreeMap;

use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use lattice_core::config::Config;
use lattice_runtime::{ConnectorInfo, ConnectorStatus, InitialState, Place, TaskStatus};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::secrets::masked;
use crate::{
    answer::{Answer, Json, Refusal, body},
    console, forward,
    paths::path_segment,
    query,
    router::wants_page,
    state::ServerState,
};

/// The body of `POST /connectors`, and of the calls that take a configuration before it exists.
#[derive(Deserialize)]
pub(crate) struct CreateBody {
    name: Option<Value>,
    config: Option<Map<String, Value>>,
    initial_state: Option<String>,
}

/// Name, configuration and initial state of a [`CreateBody`].
pub(crate) fn create_body(
    state: &ServerState,
    headers: &HeaderMap,
    bytes: &Bytes,
) -> Answer<(String, Config, InitialState)> {
    let body: CreateBody = body(headers, bytes)?;
    let name = match body.name {
        Some(Value::String(name)) => name.trim().to_owned(),
        Some(name @ (Value::Number(_) | Value::Bool(_))) => name.to_string(),
        None | Some(Value::Null) => String::new(),
        Some(other) => return Err(Refusal::bad(format!("\"name\" must be a text, got {other}"))),
    };
    let Some(config) = body.config else {
        return Err(Refusal::bad(
            "the body has no \"config\": expected {\"name\": …, \"config\": {…}}",
        ));
    };
    let config = flat(config)?;
    let initial = match body.initial_state.as_deref() {
        None => InitialState::default(),
        Some(word) => InitialState::from_word(word).ok_or_else(|| {
            Refusal::bad(format!("initial_state \"{word}\" is none of RUNNING, PAUSED, STOPPED"))
        })?,
    };
    let name =
        if name.is_empty() { config.get("name").unwrap_or_default().to_owned() } else { name };
    let config = state.worker().with_kept_secrets(&name, config);
    Ok((name, config, initial))
}

/// A flat map of texts. Numbers and booleans become their text, as Kafka Connect's parser does.
pub(super) fn flat(map: Map<String, Value>) -> Answer<Config> {
    let mut config = BTreeMap::new();
    for (key, value) in map {
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null => {
                return Err(Refusal::bad(format!(
                    "configuration \"{key}\" is null: leave the key out; only PATCH removes a key by null"
                )));
            }
            Value::Array(_) | Value::Object(_) => {
                return Err(Refusal::bad(format!(
                    "configuration \"{key}\" must be a text, a number or a boolean; write lists as comma-separated text"
                )));
            }
        };
        config.insert(key, text);
    }
    Ok(Config::new(config))
}

fn info_json(state: &ServerState, info: &ConnectorInfo) -> Value {
    let task = |task: &u32| json!({ "connector": info.name, "task": task });
    json!({
        "name": info.name,
        "config": masked(state, &info.config),
        "tasks": info.tasks.iter().map(task).collect::<Vec<_>>(),
        "type": info.kind.as_str(),
    })
}

fn task_json(status: &ConnectorStatus, task: &TaskStatus) -> Value {
    let mut body = json!({
        "id": task.id, "state": task.state.as_str(), "worker_id": task.worker_id,
        "version": status.version,
    });
    if let Some(trace) = &task.trace {
        body["trace"] = trace.as_str().into();
    }
    body
}

fn status_json(status: &ConnectorStatus) -> Value {
    let mut connector = json!({
        "state": status.state.as_str(), "worker_id": status.worker_id, "version": status.version,
    });
    if let Some(trace) = &status.trace {
        connector["trace"] = trace.as_str().into();
    }
    json!({
        "name": status.name,
        "connector": connector,
        "tasks": status.tasks.iter().map(|task| task_json(status, task)).collect::<Vec<_>>(),
        "type": status.kind.as_str(),
    })
}

pub(crate) async fn list(
    State(state): State<ServerState>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if wants_page(&headers) {
        return console::page();
    }
    let expand: Vec<_> = query::values(query.as_deref(), "expand").collect();
    let names = state.worker().connectors().await;
    if expand.is_empty() {
        return Json(names.into()).into_response();
    }
    let mut all = Map::new();
    for name in names {
        let mut one = Map::new();
        if expand.iter().any(|what| what == "info")
            && let Ok(info) = state.worker().connector(&name).await
        {
            one.insert("info".to_owned(), info_json(&state, &info));
        }
        if expand.iter().any(|what| what == "status")
            && let Ok(status) = state.worker().status(&name).await
        {
            one.insert("status".to_owned(), status_json(&status));
        }
        all.insert(name, one.into());
    }
    Json(all.into()).into_response()
}

pub(crate) async fn create(
    State(state): State<ServerState>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    let fields: Map<String, Value> = body(&headers, &bytes)?;
    let known = ["name", "config", "initial_state"];
    if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(Refusal::bad(format!(
            "unknown field \"{unknown}\": the body has \"name\", \"config\" and perhaps \"initial_state\""
        )));
    }
    let (name, config, initial) = create_body(&state, &headers, &bytes)?;
    let info = state.worker().create(&name, config, initial).await?;
    Ok(created(&state, &info))
}

fn created(state: &ServerState, info: &ConnectorInfo) -> Response {
    let location = format!("/connectors/{}", path_segment(&info.name));
    (StatusCode::CREATED, [(header::LOCATION, location)], Json(info_json(state, info)))
        .into_response()
}

pub(crate) async fn get(State(state): State<ServerState>, Path(name): Path<String>) -> Answer {
    let info = state.worker().connector(&name).await?;
    Ok(Json(info_json(&state, &info)))
}

pub(crate) async fn delete(
    State(state): State<ServerState>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    state.worker().delete(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn config(State(state): State<ServerState>, Path(name): Path<String>) -> Answer {
    let info = state.worker().connector(&name).await?;
    Ok(Json(json!(masked(&state, &info.config))))
}

pub(crate) async fn put_config(
    State(state): State<ServerState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    let config = flat(body(&headers, &bytes)?)?;
    let (new, info) = state.worker().put_config(&name, config).await?;
    if new {
        return Ok(created(&state, &info));
    }
    Ok(Json(info_json(&state, &info)).into_response())
}

pub(crate) async fn patch_config(
    State(state): State<ServerState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer {
    let given: Map<String, Value> = body(&headers, &bytes)?;
    let (removed, given): (Map<String, Value>, Map<String, Value>) =
        given.into_iter().partition(|(_, value)| value.is_null());
    if removed.contains_key("name") {
        return Err(Refusal::bad("a connector's name cannot be removed: leave \"name\" out"));
    }
    let config = flat(given)?;
    let set = config.iter().map(|(key, value)| (key.to_owned(), Some(value.to_owned())));
    let patch = set.chain(removed.into_iter().map(|(key, _)| (key, None))).collect();
    let info = state.worker().patch_config(&name, patch).await?;
    Ok(Json(info_json(&state, &info)))
}

pub(crate) async fn status(State(state): State<ServerState>, Path(name): Path<String>) -> Answer {
    let status = state.worker().status(&name).await?;
    Ok(Json(status_json(&status)))
}

pub(crate) async fn restart(
    State(state): State<ServerState>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer<Response> {
    let include_tasks = query::flag(query.as_deref(), "includeTasks");
    let only_failed = query::flag(query.as_deref(), "onlyFailed");
    let status = state.worker().restart(&name, include_tasks, only_failed).await?;
    let path = format!(
        "/connectors/{}/restart?includeTasks={include_tasks}&onlyFailed={only_failed}",
        path_segment(&name)
    );
    forward::to_all(&state, query.as_deref(), &headers, &path).await;
    if !include_tasks && !only_failed {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok((StatusCode::ACCEPTED, Json(status_json(&status))).into_response())
}

pub(crate) async fn pause(
    State(state): State<ServerState>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    state.worker().pause(&name).await?;
    Ok(StatusCode::ACCEPTED)
}

pub(crate) async fn resume(
    State(state): State<ServerState>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    state.worker().resume(&name).await?;
    Ok(StatusCode::ACCEPTED)
}

pub(crate) async fn stop(
    State(state): State<ServerState>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    state.worker().stop(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn tasks(State(state): State<ServerState>, Path(name): Path<String>) -> Answer {
    let tasks = state.worker().task_configs(&name).await?;
    let task = |(id, config): &(u32, Config)| json!({ "id": { "connector": name, "task": id }, "config": masked(&state, config) });
    Ok(Json(tasks.iter().map(task).collect::<Vec<_>>().into()))
}

fn task_number(name: &str, task: &str) -> Answer<u32> {
    task.parse().map_err(|_| Refusal::not_found(format!("Unknown task: {name}-{task}")))
}

pub(crate) async fn task_status(
    State(state): State<ServerState>,
    Path((name, task)): Path<(String, String)>,
) -> Answer {
    let id = task_number(&name, &task)?;
    let status = state.worker().status(&name).await?;
    match status.tasks.iter().find(|task| task.id == id) {
        Some(task) => Ok(Json(task_json(&status, task))),
        None => Err(Refusal::not_found(format!("No status found for task {name}-{id}"))),
    }
}

pub(crate) async fn restart_task(
    State(state): State<ServerState>,
    Path((name, task)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer<StatusCode> {
    let id = task_number(&name, &task)?;
    let known = state
        .worker()
        .status(&name)
        .await
        .is_ok_and(|status| status.tasks.iter().any(|task| task.id == id));
    match state.worker().place(&name, id) {
        Place::Elsewhere(url) if known => {
            let path = format!("/connectors/{}/tasks/{id}/restart", path_segment(&name));
            forward::to(&url, query.as_deref(), &headers, &path).await?;
        }
        Place::Nowhere if known => return Err(Refusal::rebalancing()),
        Place::Here | Place::Elsewhere(_) | Place::Nowhere => {
            state.worker().restart_task(&name, id).await?;
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn topics(State(state): State<ServerState>, Path(name): Path<String>) -> Json {
    let topics = state.worker().topics(&name).await;
    Json(json!({ name: { "topics": topics } }))
}

pub(crate) async fn reset_topics(
    State(state): State<ServerState>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    state.worker().reset_topics(&name).await?;
    Ok(StatusCode::ACCEPTED)
}

/// What the workers of a Kafka Connect cluster ask of each other, signed with the cluster's key.
pub(crate) async fn internal(Path(name): Path<String>) -> Refusal {
    Refusal::bad(format!(
        "Internal request missing required signature: only workers of a Kafka Connect cluster call this; to change the \
         tasks of {name}, change its configuration"
    ))
}
