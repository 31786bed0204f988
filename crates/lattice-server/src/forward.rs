//! Requests that another worker of the group has to answer.
//!
//! As in Kafka Connect, a forwarded request says so in its query: whoever gets one answers it or
//! refuses, so that two workers that disagree about a task's place cannot play ball with it.

use std::{sync::OnceLock, time::Duration};

use axum::http::{HeaderMap, Method, StatusCode, header};
use futures_util::future::join_all;
use reqwest::Client;
use serde_json::Value;

use crate::{
    answer::{Answer, Refusal},
    query,
    state::ServerState,
};

const PATIENCE: Duration = Duration::from_secs(30);
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// The largest answer taken. Units: bytes.
const MAX_ANSWER: usize = 64 << 20;

/// Whether a request came from another worker.
pub(crate) fn is_forwarded(query: Option<&str>) -> bool {
    query::value(query, "forward").is_some()
}

/// Sends a POST to the worker that has to answer it.
///
/// Errors: what it refuses; 409 when it was forwarded already.
pub(crate) async fn to(
    url: &str,
    query: Option<&str>,
    headers: &HeaderMap,
    path: &str,
) -> Answer<Value> {
    if is_forwarded(query) {
        return Err(Refusal::rebalancing());
    }
    send(Method::POST, url, headers, path, PATIENCE).await
}

/// Sends a POST to all other workers, unless one of them sent it. What a worker does not do is
/// told in the log: it may be gone, and its tasks with it.
pub(crate) async fn to_all(
    state: &ServerState,
    query: Option<&str>,
    headers: &HeaderMap,
    path: &str,
) {
    if is_forwarded(query) {
        return;
    }
    let others = state.worker().others();
    let sent = others.iter().map(|other| send(Method::POST, &other.url, headers, path, PATIENCE));
    for (other, answer) in others.iter().zip(join_all(sent).await) {
        if let Err(refusal) = answer {
            let reason = refusal.message();
            tracing::warn!(worker = other.worker_id, path, reason, "another worker refused");
        }
    }
}

/// Gets something from another worker; `patience` bounds the wait.
pub(crate) async fn get(url: &str, path: &str, patience: Duration) -> Answer<Value> {
    send(Method::GET, url, &HeaderMap::new(), path, patience).await
}

async fn send(
    method: Method,
    url: &str,
    headers: &HeaderMap,
    path: &str,
    patience: Duration,
) -> Answer<Value> {
    let joint = if path.contains('?') { '&' } else { '?' };
    let mut request = client()?
        .request(method, format!("{url}{path}{joint}forward=false"))
        .timeout(patience)
        .header(header::ACCEPT, "application/json");
    if let Some(login) = headers.get(header::AUTHORIZATION) {
        request = request.header(header::AUTHORIZATION, login);
    }
    let failed = |error: reqwest::Error| {
        Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!(
                "the worker at {url} does not answer ({}): is it reached by this address \
                 (--advertised-listener)?",
                error.without_url()
            ),
        )
    };
    let mut response = request.send().await.map_err(failed)?;
    let status = response.status();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if bytes.len() + chunk.len() > MAX_ANSWER {
            let message = format!("the answer of {url} has more than {MAX_ANSWER} bytes");
            return Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message));
        }
        bytes.extend_from_slice(&chunk);
    }
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if status.is_success() {
        return Ok(body);
    }
    let reason = body["message"].as_str().unwrap_or("no reason is given");
    Err(Refusal::new(status, reason))
}

fn client() -> Answer<Client> {
    static HTTP: OnceLock<Client> = OnceLock::new();
    if let Some(http) = HTTP.get() {
        return Ok(http.clone());
    }
    let builder = Client::builder()
        .connect_timeout(CONNECT_PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .build();
    let http = builder.map_err(|error| {
        let message = format!("make an HTTP client: {error}");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    })?;
    Ok(HTTP.get_or_init(|| http).clone())
}
