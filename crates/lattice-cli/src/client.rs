//! Calls to a server's API.

use anyhow::{Context, Result, bail};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::Value;

use crate::arguments::Global;

/// A server.
pub(crate) struct Server {
    http: Client,
    url: String,
}

impl Server {
    pub(crate) fn new(global: &Global) -> Result<Self> {
        Self::at(&global.url)
    }

    /// The server at a URL.
    pub(crate) fn at(url: &str) -> Result<Self> {
        let http = Client::builder().build().context("make an HTTP client")?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned() })
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Response> {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send().await.with_context(|| {
            format!("no answer from {}: is lattice serve running there? Name another server with --url or LATTICE_URL", self.url)
        })
    }

    /// The answer's status and body; refusals are answers too.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value)> {
        let response = self.send(method, path, body).await?;
        let status = response.status();
        let text = response.text().await.context("read the server's answer")?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok((status, body))
    }

    /// The answer's body; a refusal is an error with the server's reason.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        let (status, body) = self.call(method, path, body).await?;
        if status.is_success() {
            return Ok(body);
        }
        match body["message"].as_str() {
            Some(message) => bail!("{message}"),
            None => bail!("the server answered {status}: {body}"),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.ask(Method::GET, path, None).await
    }

    /// Reads a stream of server-sent events; `each` ends it by `false`.
    pub(crate) async fn events(
        &self,
        path: &str,
        mut each: impl FnMut(&str, Value) -> Result<bool>,
    ) -> Result<()> {
        let mut response = self.send(Method::GET, path, None).await?;
        if !response.status().is_success() {
            let body: Value = response.json().await.unwrap_or_default();
            bail!("{}", body["message"].as_str().unwrap_or("the server refuses the stream"));
        }
        let mut buffer = Vec::new();
        while let Some(chunk) = response.chunk().await.context("read the server's stream")? {
            buffer.extend_from_slice(&chunk);
            while let Some(end) = find(&buffer, b"\n\n") {
                let event: Vec<u8> = buffer.drain(..end + 2).collect();
                let (name, data) = parse(&String::from_utf8_lossy(&event));
                if !data.is_empty() {
                    let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
                    if !each(&name, data)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn parse(event: &str) -> (String, String) {
    let (mut name, mut data) = (String::new(), String::new());
    for line in event.lines() {
        if let Some(rest) = line.strip_prefix("event:") {
            rest.trim().clone_into(&mut name);
        } else if let Some(rest) = line.strip_prefix("data:") {
            data.push_str(rest.trim_start());
        }
    }
    (name, data)
}
