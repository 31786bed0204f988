//! `/connector-plugins`.

use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::HeaderMap,
};
use lattice_core::{config::Config, connector::Direction};
use lattice_runtime::{ConfigInfo, Definition};
use serde_json::{Map, Value, json};

use crate::{
    answer::{Answer, Json, Refusal, body},
    state::ServerState,
};

/// Converters that configurations may name.
const CONVERTERS: [&str; 4] = [
    "io.apicurio.registry.utils.converter.AvroConverter",
    "io.confluent.connect.avro.AvroConverter",
    "org.apache.kafka.connect.json.JsonConverter",
    "org.apache.kafka.connect.storage.StringConverter",
];

pub(crate) async fn list(State(state): State<ServerState>, RawQuery(query): RawQuery) -> Json {
    let plugins = state.worker().plugins();
    let one = |descriptor: &'static lattice_core::connector::Descriptor| {
        let kind = match descriptor.direction {
            Direction::Source => "source",
            Direction::Sink => "sink",
        };
        json!({
            "class": descriptor.class, "type": kind, "version": descriptor.version,
            "alias": descriptor.alias, "title": descriptor.title, "doc": descriptor.doc,
        })
    };
    let mut list: Vec<Value> = plugins.iter().map(|plugin| one(plugin.descriptor)).collect();
    if query.unwrap_or_default().contains("connectorsOnly=false") {
        let version = state.options().version;
        list.extend(CONVERTERS.iter().map(|class| {
            let title = class.rsplit('.').next().unwrap_or(class);
            json!({
                "class": class, "type": "converter", "version": version,
                "alias": title, "title": title, "doc": "",
            })
        }));
    }
    Json(list.into())
}

fn definition_json(definition: &Definition) -> Value {
    json!({
        "name": definition.name,
        "type": definition.kind,
        "required": definition.required,
        "default_value": definition.default_value,
        "importance": definition.importance,
        "documentation": definition.documentation,
        "group": definition.group,
        "width": definition.width,
        "display_name": definition.display_name,
        "dependents": definition.dependents,
        "order": definition.order_in_group,
        "ignored": definition.ignored,
    })
}

fn config_json(info: &ConfigInfo) -> Value {
    let value = &info.value;
    json!({
        "definition": info.definition.as_ref().map(definition_json),
        "value": {
            "name": value.name,
            "value": value.value,
            "recommended_values": value.recommended_values,
            "errors": value.errors,
            "warnings": value.warnings,
            "visible": value.visible,
        },
    })
}

pub(crate) async fn config(State(state): State<ServerState>, Path(plugin): Path<String>) -> Answer {
    let definitions = state.worker().plugin_config(&plugin)?;
    Ok(Json(definitions.iter().map(definition_json).collect::<Vec<_>>().into()))
}

pub(crate) async fn validate(
    State(state): State<ServerState>,
    Path(plugin): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer {
    let given: Map<String, Value> = body(&headers, &bytes)?;
    let mut config = Config::default();
    for (key, value) in given {
        match value {
            Value::String(text) => config.set(key, text),
            Value::Null => {}
            Value::Number(_) | Value::Bool(_) => config.set(key, value.to_string()),
            Value::Array(_) | Value::Object(_) => {
                return Err(Refusal::bad(format!("configuration \"{key}\" must be a text")));
            }
        }
    }
    let name = config.get("name").unwrap_or_default().to_owned();
    super::secrets::unmask(&state, &name, &mut config).await;
    let validation = state.worker().validate(&plugin, config).await?;
    Ok(Json(json!({
        "name": validation.name,
        "error_count": validation.error_count,
        "groups": validation.groups,
        "configs": validation.configs.iter().map(config_json).collect::<Vec<_>>(),
    })))
}
