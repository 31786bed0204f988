//! One HTTP exchange with a registry: several URLs, credentials, bounded retries.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use lattice_core::{Error, ErrorKind, Result};
use reqwest::{Method, Url, header};

use super::{auth::Tokens, settings::ClientSettings, tls};

/// A schema's text is some kilobytes; a list of all subjects some megabytes.
const MAX_BODY: usize = 32 << 20;
/// However long the configured wait is, none is longer.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// What is asked.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// Path segments below the base URL, not yet encoded.
    pub(super) path: &'a [&'a str],
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) body: Option<(&'static str, String)>,
    pub(super) headers: &'a [(&'static str, &'a str)],
}

impl<'a> Call<'a> {
    pub(super) fn get(path: &'a [&'a str]) -> Self {
        Self { method: Method::GET, path, query: &[], body: None, headers: &[] }
    }

    pub(super) fn post(path: &'a [&'a str], content_type: &'static str, body: String) -> Self {
        let body = Some((content_type, body));
        Self { method: Method::POST, path, query: &[], body, headers: &[] }
    }

    pub(super) fn query(mut self, query: &'a [(&'a str, &'a str)]) -> Self {
        self.query = query;
        self
    }
}

/// What the registry said: any status below 500 that is no matter of credentials.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

pub(super) struct Transport {
    http: reqwest::Client,
    tokens: Tokens,
    /// The URL that answered last.
    current: AtomicUsize,
}

impl Transport {
    pub(super) fn new(settings: &ClientSettings) -> Result<Self> {
        let tls = tls::client(settings.trusted.as_deref(), settings.identity.as_deref())?;
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(30))
            .pool_idle_timeout(Duration::from_secs(20))
            .user_agent(concat!("lattice/", env!("CARGO_PKG_VERSION")))
            .use_preconfigured_tls(tls);
        if let Some(proxy) = &settings.proxy {
            let proxy = reqwest::Proxy::all(proxy).map_err(|error| {
                Error::config("invalid proxy for the schema registry").with_source(error)
            })?;
            builder = builder.proxy(proxy);
        }
        let http = builder.build().map_err(|error| {
            Error::config("make an HTTP client for the schema registry").with_source(error)
        })?;
        Ok(Self { http, tokens: Tokens::default(), current: AtomicUsize::new(0) })
    }

    /// Asks each URL in turn, from the one that answered last; when none answers, again after a
    /// pause that grows, as often as the settings say.
    ///
    /// Errors: `Transient` when none answers, `Auth` when the credentials are not taken.
    pub(super) async fn send(&self, settings: &ClientSettings, call: Call<'_>) -> Result<Answer> {
        let mut wait = settings.backoff;
        let mut attempt = 0;
        loop {
            let error = match self.round(settings, &call).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.kind() != ErrorKind::Transient => return Err(error),
                Err(error) => error,
            };
            if attempt >= settings.retries {
                return Err(error);
            }
            attempt += 1;
            tracing::debug!(attempt, error = error.chain(), "the schema registry is asked again");
            tokio::time::sleep(wait.min(MAX_WAIT)).await;
            wait = wait.saturating_mul(2);
        }
    }

    async fn round(&self, settings: &ClientSettings, call: &Call<'_>) -> Result<Answer> {
        let first = self.current.load(Ordering::Relaxed);
        let mut last = Error::transient("no schema registry is configured");
        for step in 0..settings.urls.len() {
            let index = (first + step) % settings.urls.len();
            let Some(base) = settings.urls.get(index) else { continue };
            match self.ask(settings, base, call).await {
                Ok(answer) => {
                    self.current.store(index, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(error) if error.kind() == ErrorKind::Transient => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    async fn ask(&self, settings: &ClientSettings, base: &Url, call: &Call<'_>) -> Result<Answer> {
        let mut url = base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(call.path);
        }
        let mut request = self
            .http
            .request(call.method.clone(), url)
            .header(header::ACCEPT, "application/vnd.schemaregistry.v1+json, application/json, */*")
            .query(call.query);
        for (name, value) in call.headers {
            request = request.header(*name, *value);
        }
        if let Some((content_type, body)) = &call.body {
            request = request.header(header::CONTENT_TYPE, *content_type).body(body.clone());
        }
        let request = self.tokens.authorize(&self.http, &settings.auth, request).await?;
        let mut answer = request.send().await.map_err(|error| lost(base, error))?;
        let status = answer.status().as_u16();
        match status {
            401 | 403 => {
                self.tokens.forget();
                return Err(refused(base, status));
            }
            408 | 429 | 500.. => {
                let words = self::body(&mut answer, base).await.map(|body| super::words(&body));
                let words = words.unwrap_or_default();
                return Err(Error::transient(format!(
                    "the schema registry at {base} answered HTTP {status}: {words}"
                ))
                .with_remedy("it is asked again; see the registry's own log"));
            }
            _ => {}
        }
        Ok(Answer { status, body: body(&mut answer, base).await? })
    }
}

async fn body(answer: &mut reqwest::Response, base: &Url) -> Result<Bytes> {
    let mut body = BytesMut::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| lost(base, error))? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err(Error::config(format!(
                "the schema registry at {base} sent more than {MAX_BODY} bytes"
            ))
            .with_remedy("check that the URL is a schema registry's"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Redirects that go round in circles do not pass by themselves; all else may.
fn lost(base: &Url, error: reqwest::Error) -> Error {
    if error.is_redirect() {
        return Error::config(format!("the schema registry at {base} redirects without end"))
            .with_remedy("give the URL that it redirects to")
            .with_source(error.without_url());
    }
    let what = if error.is_timeout() {
        "no answer in time from the schema registry"
    } else {
        "cannot reach the schema registry"
    };
    Error::transient(format!("{what} at {base}"))
        .with_remedy("check the converter's registry URL, its certificate and that it runs")
        .with_source(error.without_url())
}

fn refused(base: &Url, status: u16) -> Error {
    let what = if status == 401 { "takes no such credentials" } else { "denies access" };
    Error::new(ErrorKind::Auth, format!("the schema registry at {base} {what} (HTTP {status})"))
        .with_remedy(
            "check the converter's credentials: basic.auth.user.info, bearer.auth.token or \
             apicurio.registry.auth.*",
        )
}
