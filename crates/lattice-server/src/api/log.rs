//! `/api/v1/log`: the log, the brokers that hold it, and the schema registries in use.

use std::collections::BTreeMap;

use axum::extract::State;
use lattice_codec::{ConverterConfig, registry_of};
use lattice_core::config::Config;
use lattice_log::Broker;
use serde_json::{Value, json};

use super::views;
use crate::{
    answer::{Answer, Json},
    state::ServerState,
};

pub(crate) async fn detail(State(state): State<ServerState>) -> Answer {
    let brokers = state.log().brokers();
    let mut told = views::log(&state.log().health());
    told["kind"] = if brokers.is_empty() { "embedded" } else { "kafka" }.into();
    told["brokers"] = brokers.iter().map(broker).collect();
    told["registries"] = registries(&state).await;
    Ok(Json(told))
}

fn broker(broker: &Broker) -> Value {
    json!({
        "id": broker.id,
        "host": broker.host,
        "port": broker.port,
        "controller": broker.controller,
    })
}

/// The registries that connectors use, and which do; `url` is `null` for Lattice's own.
async fn registries(state: &ServerState) -> Value {
    let mut users: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
    for name in state.worker().connectors().await {
        // One that was deleted meanwhile, or whose configuration is refused, uses none.
        let Ok(info) = state.worker().connector(&name).await else { continue };
        if let Some(registry) = registry(&info.config) {
            users.entry(registry).or_default().push(name);
        }
    }
    let told =
        users.into_iter().map(|(url, connectors)| json!({ "url": url, "connectors": connectors }));
    told.collect()
}

/// The registry of a connector's converters: none, Lattice's own (`None` within), or another, as
/// `host:port` so that no credential of a URL is told.
fn registry(config: &Config) -> Option<Option<String>> {
    if let Some(settings) = registry_of(config).ok()? {
        let servers = settings.authorities().map(|(host, port)| format!("{host}:{port}"));
        return Some(Some(servers.collect::<Vec<_>>().join(",")));
    }
    let avro =
        |side| matches!(ConverterConfig::parse(side, config), Ok(ConverterConfig::Avro { .. }));
    (avro("key") || avro("value")).then_some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> Config {
        let mut config = Config::default();
        for (name, value) in pairs {
            config.set(*name, *value);
        }
        config
    }

    #[test]
    fn the_registry_of_a_connector_is_told_without_its_credentials() {
        assert_eq!(registry(&config(&[])), Some(None), "Avro by Lattice's own is the default");
        let json = "org.apache.kafka.connect.json.JsonConverter";
        let none = config(&[("key.converter", json), ("value.converter", json)]);
        assert_eq!(registry(&none), None);
        let url = "http://user:s3cret@registry:8081";
        let other = config(&[("value.converter.schema.registry.url", url)]);
        assert_eq!(registry(&other), Some(Some("registry:8081".to_owned())));
    }
}
