//! Questions about a configuration before it runs: preflight, tables, mapping.

use axum::{body::Bytes, extract::State, http::HeaderMap};
use lattice_core::{
    config::Severity,
    connector::TableInfo,
    schema::{Schema, Type},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::views;
use crate::{
    answer::{Answer, Json, Refusal, body},
    connect::create_body,
    state::ServerState,
};

pub(crate) async fn check(
    State(state): State<ServerState>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer {
    let (name, mut config, _) = create_body(&state, &headers, &bytes)?;
    if !name.is_empty() {
        config.set("name", name.clone());
    }
    let issues = state.worker().check(&config).await;
    let ok = issues.iter().all(|issue| issue.severity != Severity::Error);
    // Clients see masks where secrets are; only here can a written-out secret be compared.
    let unchanged = match state.worker().connector(&name).await {
        Ok(stored) => stored.config == config,
        Err(_) => false,
    };
    Ok(Json(json!({
        "ok": ok,
        "issues": issues.iter().map(views::issue).collect::<Vec<_>>(),
        "unchanged": unchanged,
    })))
}

pub(crate) async fn tables(
    State(state): State<ServerState>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer {
    let (_, config, _) = create_body(&state, &headers, &bytes)?;
    let tables = state.worker().tables(&config).await?;
    Ok(Json(tables.iter().map(table_json).collect::<Vec<_>>().into()))
}

fn table_json(table: &TableInfo) -> Value {
    let column = |(name, schema, database_type): &(String, std::sync::Arc<Schema>, String)| {
        json!({
            "name": name,
            "type": schema_text(schema),
            "database_type": database_type,
            "optional": schema.optional,
        })
    };
    json!({
        "name": table.name,
        "columns": table.columns.iter().map(column).collect::<Vec<_>>(),
        "key": table.key,
        "rows": table.rows,
        "bytes": table.bytes,
        "captured": table.captured,
        "issues": table.issues.iter().map(views::issue).collect::<Vec<_>>(),
    })
}

/// A schema in a few letters: the semantic name's last word, else the physical type.
fn schema_text(schema: &Schema) -> String {
    if let Some(name) = &schema.name {
        return name.rsplit('.').next().unwrap_or(name).to_owned();
    }
    match schema.kind {
        Type::Int8 => "int8",
        Type::Int16 => "int16",
        Type::Int32 => "int32",
        Type::Int64 => "int64",
        Type::Float32 => "float32",
        Type::Float64 => "float64",
        Type::Boolean => "boolean",
        Type::String => "string",
        Type::Bytes => "bytes",
        Type::Array => "array",
        Type::Map => "map",
        Type::Struct => "struct",
    }
    .to_owned()
}

#[derive(Deserialize)]
struct TopicBody {
    topic: Option<String>,
}

pub(crate) async fn preview(
    State(state): State<ServerState>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer {
    let wanted: TopicBody = body(&headers, &bytes)?;
    let Some(topic) = wanted.topic else {
        return Err(Refusal::bad("the body names no \"topic\""));
    };
    // By the connector's name, masks of secrets become the stored ones.
    let (_, config, _) = create_body(&state, &headers, &bytes)?;
    let preview = state.worker().preview(&config, &topic).await?;
    let column = |[field, field_type, column, column_type]: &[String; 4]| {
        json!({
            "field": field, "field_type": field_type,
            "column": column, "column_type": column_type,
        })
    };
    Ok(Json(json!({
        "table": preview.table,
        "exists": preview.exists,
        "columns": preview.columns.iter().map(column).collect::<Vec<_>>(),
        "statements": preview.statements,
        "issues": preview.issues.iter().map(views::issue).collect::<Vec<_>>(),
    })))
}
