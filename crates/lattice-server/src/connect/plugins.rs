//! `/connector-plugins`.

use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::HeaderMap,
};
use lattice_core::connector::Direction;
use lattice_runtime::{ConfigInfo, Definition};
use serde_json::{Map, Value, json};

use super::connectors::flat;
use crate::{
    answer::{Answer, Json, Refusal, body},
    query,
    state::ServerState,
};

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
    let connectors_only = query::value(query.as_deref(), "connectorsOnly").unwrap_or("true".into());
    if !connectors_only.eq_ignore_ascii_case("true") {
        let version = state.options().version;
        list.extend(state.worker().other_plugins().iter().map(|plugin| {
            let title = plugin.class.rsplit('.').next().unwrap_or(plugin.class);
            json!({
                "class": plugin.class, "type": plugin.kind, "version": version,
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
        "group": (!definition.group.is_empty()).then_some(&definition.group),
        "width": definition.width,
        "display_name": definition.display_name,
        "dependents": definition.dependents,
        "order_in_group": definition.order_in_group,
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

pub(crate) async fn config(
    State(state): State<ServerState>,
    Path(plugin): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer {
    let wanted = query::value(query.as_deref(), "version");
    if let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) {
        let version = state.worker().plugin_version(&plugin).unwrap_or(state.options().version);
        if *wanted != *version {
            return Err(Refusal::bad(format!(
                "Plugin {plugin} not found that matches the version {wanted}: there is {version}"
            )));
        }
    }
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
    let (nulls, given): (Map<String, Value>, Map<String, Value>) =
        given.into_iter().partition(|(_, value)| value.is_null());
    let nulls: Vec<String> = nulls.into_iter().map(|(key, _)| key).collect();
    let config = flat(given)?;
    let name = config.get("name").unwrap_or_default().to_owned();
    let config = state.worker().with_kept_secrets(&name, config);
    let validation = state.worker().validate(&plugin, config, &nulls).await?;
    Ok(Json(json!({
        "name": validation.name,
        "error_count": validation.error_count,
        "groups": validation.groups,
        "configs": validation.configs.iter().map(config_json).collect::<Vec<_>>(),
    })))
}
