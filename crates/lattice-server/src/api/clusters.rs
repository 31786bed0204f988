//! `/api/v1/clusters`: other Kafka Connect clusters, listed and steered beside the own connectors.

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use lattice_core::{
    config::{Config, looks_secret},
    secret::MASK,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::remote::Remote;
use crate::{
    answer::{Answer, Json, Refusal, body},
    paths::path_segment,
    state::ServerState,
};

/// Where clusters are kept.
const NAMESPACE: &str = "clusters";

/// A cluster as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cluster {
    /// Its REST URL.
    pub(super) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) username: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) password: Option<String>,
}

async fn all(state: &ServerState) -> Answer<Vec<(String, Cluster)>> {
    let documents = state.log().documents().scan(NAMESPACE).await?;
    let cluster =
        |(name, bytes): (String, Bytes)| Some((name, serde_json::from_slice(&bytes).ok()?));
    Ok(documents.into_iter().filter_map(cluster).collect())
}

async fn find(state: &ServerState, name: &str) -> Answer<Cluster> {
    let found = all(state).await?.into_iter().find(|(other, _)| other == name);
    let missing = || {
        Refusal::not_found(format!(
            "Cluster {name} not found: add it with PUT /api/v1/clusters/{name}"
        ))
    };
    found.map(|(_, cluster)| cluster).ok_or_else(missing)
}

/// All clusters, each asked who it is; one that does not answer is told with the reason.
pub(crate) async fn list(State(state): State<ServerState>) -> Answer {
    let clusters = all(&state).await?;
    let asked = clusters.iter().map(|(name, cluster)| told(name, cluster));
    Ok(Json(futures_util::future::join_all(asked).await.into()))
}

async fn told(name: &str, cluster: &Cluster) -> Value {
    let mut told = json!({
        "name": name, "url": cluster.url, "username": cluster.username,
        "version": null, "kafka_cluster_id": null, "connectors": null, "message": null,
    });
    let remote = match Remote::new(cluster) {
        Ok(remote) => remote,
        Err(refusal) => {
            told["message"] = refusal.message().into();
            return told;
        }
    };
    let (root, names) = futures_util::join!(remote.get("/"), remote.get("/connectors"));
    match (root, names) {
        (Ok(root), Ok(names)) => {
            told["version"] = root["version"].clone();
            told["kafka_cluster_id"] = root["kafka_cluster_id"].clone();
            told["connectors"] = names.as_array().map_or(Value::Null, |names| names.len().into());
        }
        (Err(refusal), _) | (_, Err(refusal)) => told["message"] = refusal.message().into(),
    }
    told
}

pub(crate) async fn put(
    State(state): State<ServerState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    let mut cluster: Cluster = body(&headers, &bytes)?;
    cluster.url = checked(&cluster.url)?;
    let before = all(&state).await?.into_iter().find(|(other, _)| *other == name);
    if cluster.password.as_deref() == Some(MASK) {
        cluster.password = before.as_ref().and_then(|(_, before)| before.password.clone());
    }
    let document = serde_json::to_vec(&cluster).unwrap_or_default();
    state.log().documents().put(NAMESPACE, vec![(name.clone(), Some(document.into()))]).await?;
    let status = if before.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(told(&name, &cluster).await)).into_response())
}

/// The URL without what belongs elsewhere.
fn checked(url: &str) -> Answer<String> {
    let url = url.trim().trim_end_matches('/');
    let parsed: Option<Uri> = url.parse().ok();
    let web = parsed.as_ref().is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.authority().is_some()
            && uri.query().is_none()
    });
    if !web {
        return Err(Refusal::bad(
            "\"url\" must be the REST URL of a Kafka Connect worker, such as http://connect:8083",
        ));
    }
    if url.contains('@') {
        return Err(Refusal::bad(
            "\"url\" holds a user: give \"username\" and \"password\" instead",
        ));
    }
    Ok(url.to_owned())
}

pub(crate) async fn delete(
    State(state): State<ServerState>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    find(&state, &name).await?;
    state.log().documents().put(NAMESPACE, vec![(name, None)]).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Its connectors with their states and configurations.
pub(crate) async fn connectors(
    State(state): State<ServerState>,
    Path(name): Path<String>,
) -> Answer {
    let remote = Remote::new(&find(&state, &name).await?)?;
    let mut all = remote.get("/connectors?expand=info&expand=status").await?;
    for connector in all.as_object_mut().into_iter().flat_map(Map::values_mut) {
        mask(&mut connector["info"]);
    }
    Ok(Json(all))
}

pub(crate) async fn create(
    State(state): State<ServerState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    let wanted: Value = body(&headers, &bytes)?;
    let remote = Remote::new(&find(&state, &name).await?)?;
    forwarded(remote.send(Method::POST, "/connectors", Some(&wanted)).await?)
}

/// What may be asked of a connector there: the method and what follows its name.
const CALLS: [(&str, &str); 10] = [
    ("GET", ""),
    ("DELETE", ""),
    ("GET", "config"),
    ("PUT", "config"),
    ("GET", "status"),
    ("GET", "tasks"),
    ("PUT", "pause"),
    ("PUT", "resume"),
    ("PUT", "stop"),
    ("POST", "restart"),
];

/// A call for one connector, given on to the cluster.
pub(crate) async fn call(
    State(state): State<ServerState>,
    Path((name, connector, action)): Path<(String, String, String)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    if !CALLS.contains(&(method.as_str(), action.as_str())) {
        let message =
            format!("HTTP 405 Method Not Allowed: {method} is not known at {}", uri.path());
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message));
    }
    let remote = Remote::new(&find(&state, &name).await?)?;
    let mut path = format!("/connectors/{}", path_segment(&connector));
    if !action.is_empty() {
        path = format!("{path}/{action}");
    }
    let wanted = match action.as_str() {
        "config" if method == Method::PUT => {
            Some(unmasked(&remote, &path, body(&headers, &bytes)?).await?)
        }
        _ => None,
    };
    if let Some(query) = uri.query().filter(|_| method == Method::POST) {
        path = format!("{path}?{query}");
    }
    forwarded(remote.send(method, &path, wanted.as_ref()).await?)
}

/// A call for one connector without an action.
pub(crate) async fn call_plain(
    state: State<ServerState>,
    Path((name, connector)): Path<(String, String)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    call(state, Path((name, connector, String::new())), method, uri, headers, bytes).await
}

/// The configuration with the cluster's own secrets where masks were sent back.
async fn unmasked(remote: &Remote, path: &str, mut config: Map<String, Value>) -> Answer<Value> {
    if config.values().any(|value| value == MASK) {
        let before = remote.get(path).await?;
        for (key, value) in config.iter_mut().filter(|(_, value)| *value == MASK) {
            *value = before.get(key).cloned().unwrap_or(Value::Null);
        }
    }
    Ok(config.into())
}

fn forwarded((status, mut told): (StatusCode, Value)) -> Answer<Response> {
    if told.is_null() {
        return Ok(status.into_response());
    }
    mask(&mut told);
    Ok((status, Json(told)).into_response())
}

/// Masks secrets: the other cluster shows them as they are.
fn mask(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(text) if looks_secret(name) => {
                        let config = Config::new([(name.clone(), text.clone())].into());
                        *text = config.masked(&[]).get(name).unwrap_or(MASK).to_owned();
                    }
                    other => mask(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_other_clusters_are_masked_and_references_are_not() {
        let mut told = json!({"config": {"database.password": "x", "a.token": "${env:T}", "b": "x"}, "tasks": [{"c.secret": "y"}]});
        mask(&mut told);
        assert_eq!(
            told,
            json!({"config": {"database.password": MASK, "a.token": "${env:T}", "b": "x"}, "tasks": [{"c.secret": MASK}]})
        );
    }

    #[test]
    fn a_url_is_one_of_a_worker() {
        assert_eq!(checked(" http://connect:8083/ ").unwrap(), "http://connect:8083");
        for url in [
            "",
            "connect:8083",
            "ftp://connect",
            "http://u:p@connect:8083",
            "http://c/?x=1",
            "/connectors",
        ] {
            assert!(checked(url).is_err(), "{url}");
        }
    }
}
