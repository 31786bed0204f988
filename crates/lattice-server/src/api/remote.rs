//! Calls to another Kafka Connect cluster.

use std::{sync::OnceLock, time::Duration};

use axum::http::{Method, StatusCode};
use reqwest::Client;
use serde_json::Value;

use super::clusters::Cluster;
use crate::answer::{Answer, Refusal};

/// A worker that rebalances answers late; one that is not there must not hold up a list.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(30);

/// The largest answer taken. Units: bytes. A thousand connectors with their configurations have a few megabytes.
const MAX_ANSWER: usize = 64 << 20;

/// A cluster's REST API.
pub(super) struct Remote {
    http: Client,
    url: String,
    user: Option<(String, Option<String>)>,
}

impl Remote {
    pub(super) fn new(cluster: &Cluster) -> Answer<Self> {
        static HTTP: OnceLock<Client> = OnceLock::new();
        let http = match HTTP.get() {
            Some(http) => http.clone(),
            None => {
                let builder = Client::builder()
                    .connect_timeout(CONNECT_PATIENCE)
                    .timeout(PATIENCE)
                    .redirect(reqwest::redirect::Policy::none());
                let http = builder.build().map_err(|error| {
                    let message = format!("make an HTTP client: {error}");
                    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
                })?;
                HTTP.get_or_init(|| http).clone()
            }
        };
        let user = cluster.username.clone().map(|name| (name, cluster.password.clone()));
        Ok(Self { http, url: cluster.url.clone(), user })
    }

    /// Status and body of an answer; `Null`: it has none.
    ///
    /// Errors: 502 when there is no answer of a Kafka Connect worker, 504 when it is late.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Answer<(StatusCode, Value)> {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        request = request.header("Accept", "application/json");
        if let Some((name, password)) = &self.user {
            request = request.basic_auth(name, password.as_ref());
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(|error| self.failed(&error))?;
        let status = response.status();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if bytes.len() + chunk.len() > MAX_ANSWER {
                return Err(self.bad(format!("its answer has more than {MAX_ANSWER} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        if bytes.is_empty() {
            return Ok((status, Value::Null));
        }
        match serde_json::from_slice(&bytes) {
            Ok(told) => Ok((status, told)),
            Err(_) => Err(self.bad(format!("it answered {status} with something that is no JSON: is a Kafka Connect worker there?"))),
        }
    }

    /// The body of an answer; a refusal is given on as it is.
    pub(super) async fn get(&self, path: &str) -> Answer<Value> {
        let (status, told) = self.send(Method::GET, path, None).await?;
        if status.is_success() {
            return Ok(told);
        }
        let reason = told["message"].as_str().unwrap_or("no reason is given");
        Err(Refusal::new(status, format!("{} answered {status}: {reason}", self.url)))
    }

    fn failed(&self, error: &reqwest::Error) -> Refusal {
        if error.is_timeout() {
            let message = format!(
                "{} does not answer in time: is the worker overloaded, or behind a firewall?",
                self.url
            );
            return Refusal::new(StatusCode::GATEWAY_TIMEOUT, message);
        }
        let mut reason = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(next) = cause {
            reason = next.to_string();
            cause = next.source();
        }
        self.bad(format!("no answer ({reason}): check the URL, and that the worker runs"))
    }

    fn bad(&self, reason: String) -> Refusal {
        Refusal::new(StatusCode::BAD_GATEWAY, format!("{}: {reason}", self.url))
    }
}
