//! `/api/v1/topics`: topics with their partitions, schemas and consumers.

use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use lattice_log::TopicInfo;
use lattice_registry::{RegisteredSchema, SchemaRegistry};
use serde_json::{Value, json};

use super::{groups, views};
use crate::{
    answer::{Answer, Json, Refusal},
    state::ServerState,
};

pub(crate) async fn list(State(state): State<ServerState>) -> Answer {
    let topics = state.log().topics().await?;
    Ok(Json(topics.iter().map(views::topic).collect::<Vec<_>>().into()))
}

/// The topic, or a refusal that names it.
pub(crate) async fn find(state: &ServerState, name: &str) -> Answer<TopicInfo> {
    state
        .log()
        .topic(name)
        .await?
        .ok_or_else(|| Refusal::not_found(format!("Topic {name} not found")))
}

pub(crate) async fn detail(State(state): State<ServerState>, Path(name): Path<String>) -> Answer {
    let topic = find(&state, &name).await?;
    let partition = |info: &lattice_log::PartitionInfo| {
        json!({
            "partition": info.partition,
            "log_start_offset": info.log_start_offset,
            "end_offset": info.end_offset,
            "bytes": info.bytes,
            "records": info.records,
        })
    };
    let snapshot = state.worker().snapshot().await;
    let producers: Vec<&str> = snapshot
        .connectors
        .iter()
        .filter(|connector| connector.status.kind.as_str() == "source")
        .filter(|connector| connector.topics.contains(&name))
        .map(|connector| connector.status.name.as_str())
        .collect();
    Ok(Json(json!({
        "name": *topic.name,
        "internal": topic.internal,
        "cleanup_policy": topic.config.cleanup_policy.as_str(),
        "retention_ms": topic.config.retention_ms,
        "retention_bytes": topic.config.retention_bytes,
        "partitions": topic.partitions.iter().map(partition).collect::<Vec<_>>(),
        "key_schemas": schemas(&state, &format!("{name}-key")).await?,
        "value_schemas": schemas(&state, &format!("{name}-value")).await?,
        "consumers": consumers(&state, &topic).await?,
        "producers": producers,
    })))
}

async fn schemas(state: &ServerState, subject: &str) -> Answer<Vec<Value>> {
    let version = |version: &RegisteredSchema| {
        json!({
            "subject": *version.subject,
            "version": version.version,
            "id": version.id.0,
            "schema": *version.schema,
        })
    };
    Ok(state.registry().versions(subject).await?.iter().map(version).collect())
}

async fn consumers(state: &ServerState, topic: &TopicInfo) -> Answer<Vec<Value>> {
    let mut consumers = Vec::new();
    for group in state.log().groups().await? {
        for (place, offset) in state.log().committed_offsets(&group).await? {
            if place.topic != topic.name {
                continue;
            }
            let end = groups::end(topic, place.partition).unwrap_or(0);
            consumers.push(json!({
                "group": group,
                "connector": groups::connector(&group),
                "partition": place.partition,
                "offset": offset,
                "behind": groups::behind(end, offset),
            }));
        }
    }
    Ok(consumers)
}

pub(crate) async fn delete(
    State(state): State<ServerState>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    if state.log().delete_topic(&name).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Refusal::not_found(format!("Topic {name} not found")))
}
