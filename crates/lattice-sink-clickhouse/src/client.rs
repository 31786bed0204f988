//! ClickHouse over HTTP: statements, inserts, and what its errors mean.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use futures_util::stream;
use lattice_core::error::{Error, ErrorKind, Result};
use reqwest::{RequestBuilder, header};

use crate::config::Settings;

/// Too many parts: the server wants fewer and larger inserts.
pub(crate) const TOO_MANY_PARTS: u32 = 252;

/// No server's code: its certificate was not accepted.
const BAD_CERTIFICATE: u32 = u32::MAX;

/// A longer statement goes before its data instead of into the URL: servers and proxies take URLs
/// of 8 or 16 KiB, which a thousand columns fill. Units: bytes, before they are escaped.
const LONGEST_IN_URL: usize = 4096;

/// Codes that pass by themselves: network, memory, time, keeper, replicas, overload.
const TRANSIENT: &[u32] = &[
    3, 107, 159, 164, 202, 203, 209, 210, 225, 236, 241, 242, 243, 252, 285, 286, 319, 394, 425,
    439, 999,
];
/// Codes that mean the user: wrong password, unknown user, no rights.
const AUTH: &[u32] = &[192, 193, 194, 195, 291, 497, 516];
/// Codes that a row's values cause.
const DATA: &[u32] = &[
    6, 20, 26, 27, 32, 33, 38, 41, 49, 53, 69, 70, 72, 117, 131, 190, 321, 349, 376, 407, 441, 467,
    469, 675, 676, 691,
];
/// Codes that mean that the table is not what it was.
const SHAPE: &[u32] = &[8, 10, 16, 36, 47, 60, 122, 473];

/// A failed request.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The server's code; 0: there was no answer.
    pub(crate) code: u32,
    /// The boundary error.
    pub(crate) error: Error,
}

impl Failure {
    /// Whether a row's values are the cause.
    pub(crate) fn is_data(&self) -> bool {
        DATA.contains(&self.code)
    }

    /// Whether the table has changed under us.
    pub(crate) fn is_shape(&self) -> bool {
        SHAPE.contains(&self.code)
    }

    /// Whether trying again may help.
    pub(crate) fn is_transient(&self) -> bool {
        self.error.kind() == ErrorKind::Transient
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// A connection pool to one server. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    settings: Arc<Settings>,
}

impl Client {
    /// Errors: `Config` when the certificate authority's file is not one.
    pub(crate) fn new(settings: Arc<Settings>) -> Result<Self> {
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(settings.timeout)
            // Servers close idle connections after 3 to 30 seconds, by version.
            .pool_idle_timeout(Duration::from_millis(2500))
            .tcp_nodelay(true)
            .use_preconfigured_tls(tls(&settings)?);
        if settings.ssl {
            builder = builder.https_only(true);
        }
        let http = builder
            .build()
            .map_err(|error| Error::config("make an HTTP client").with_source(error))?;
        Ok(Self { http, settings })
    }

    /// Runs a statement and gives its answer.
    pub(crate) async fn query(&self, sql: &str) -> Result<String, Failure> {
        let request = self.request(&[("database", &self.settings.database)]);
        let request = request.timeout(self.settings.timeout).body(sql.to_owned());
        self.send(request, sql).await
    }

    /// Rows of an answer in TabSeparated, unescaped.
    pub(crate) async fn rows(&self, sql: &str) -> Result<Vec<Vec<String>>, Failure> {
        let text = self.query(&format!("{sql} FORMAT TabSeparated")).await?;
        Ok(text.lines().map(|line| line.split('\t').map(unescape).collect()).collect())
    }

    /// Runs an insert whose data are `chunks`.
    pub(crate) async fn insert(
        &self,
        sql: &str,
        chunks: &[Bytes],
        settings: &[(&str, &str)],
    ) -> Result<(), Failure> {
        let mut query =
            vec![("database", self.settings.database.as_str()), ("wait_end_of_query", "1")];
        let mut chunks = chunks.to_vec();
        if sql.len() <= LONGEST_IN_URL {
            query.push(("query", sql));
        } else {
            chunks.insert(0, Bytes::from(format!("{sql}\n")));
        }
        let id = query_id();
        query.push(("query_id", &id));
        query.extend(settings);
        let given = self.settings.insert_settings.iter();
        query.extend(given.map(|(name, value)| (name.as_str(), value.as_str())));
        let chunks = if self.settings.lz4 { compress(&chunks) } else { chunks };
        let length: usize = chunks.iter().map(Bytes::len).sum();
        let mut request = self.request(&query).timeout(self.settings.insert_timeout);
        if self.settings.lz4 {
            request = request.header(header::CONTENT_ENCODING, "lz4");
        }
        let body = stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>));
        let request =
            request.header(header::CONTENT_LENGTH, length).body(reqwest::Body::wrap_stream(body));
        self.send(request, sql).await.map(|_| ())
    }

    fn request(&self, query: &[(&str, &str)]) -> RequestBuilder {
        self.http
            .post(&self.settings.url)
            .query(query)
            .header("X-ClickHouse-User", &self.settings.username)
            .header("X-ClickHouse-Key", self.settings.password.expose())
    }

    async fn send(&self, request: RequestBuilder, sql: &str) -> Result<String, Failure> {
        let url = &self.settings.url;
        let lost = |error: reqwest::Error| {
            if is_certificate(&error) {
                let error = Error::config(format!("the certificate of {url} is not accepted"))
                    .with_remedy(
                        "set ssl.ca.location to the file of the authority that signed it, and \
                         hostname to a name that is in it",
                    )
                    .with_source(error.without_url());
                return Failure { code: BAD_CERTIFICATE, error };
            }
            let what = if error.is_timeout() { "no answer in time from" } else { "cannot reach" };
            let error = Error::transient(format!("{what} ClickHouse at {url}"))
                .with_remedy("check hostname, port, ssl and that the server runs")
                .with_source(error.without_url());
            Failure { code: 0, error }
        };
        let answer = request.send().await.map_err(lost)?;
        let status = answer.status();
        let code = answer.headers().get("X-ClickHouse-Exception-Code");
        let code = code.and_then(|code| code.to_str().ok()).and_then(|code| code.parse().ok());
        let text = answer.bytes().await.map_err(lost)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        if status.is_success() && code.is_none() {
            return Ok(text);
        }
        let code = code.or_else(|| code_in(&text)).unwrap_or(0);
        Err(self.failure(status.as_u16(), code, &text, sql))
    }

    fn failure(&self, status: u16, code: u32, text: &str, sql: &str) -> Failure {
        let said: String = text.trim().chars().take(600).collect();
        let verb: String = sql.chars().take(100).collect();
        let kind = match code {
            code if TRANSIENT.contains(&code) => ErrorKind::Transient,
            code if AUTH.contains(&code) => ErrorKind::Auth,
            code if DATA.contains(&code) => ErrorKind::Data,
            0 if matches!(status, 401 | 403) => ErrorKind::Auth,
            0 if matches!(status, 408 | 429 | 500..) => ErrorKind::Transient,
            _ => ErrorKind::Config,
        };
        let error = Error::new(kind, format!("ClickHouse answered \"{said}\" to \"{verb}\""));
        let error = match (kind, code) {
            (ErrorKind::Auth, 497) => error.with_remedy(
                "grant the user SELECT, INSERT, CREATE TABLE, CREATE VIEW, ALTER on the database",
            ),
            (ErrorKind::Auth, _) => error.with_remedy("check username and password"),
            (_, 81) => error.with_remedy(format!(
                "create the database: CREATE DATABASE `{}`, or set database to one that exists",
                self.settings.database
            )),
            (_, TOO_MANY_PARTS) => error.with_remedy("raise batch.latency.ms"),
            _ => error,
        };
        Failure { code, error }
    }
}

/// Whether a connection failed for the server's certificate, which does not pass by itself.
fn is_certificate(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    while let Some(error) = cause {
        // TLS errors come inside of I/O errors, which hide them from `source`.
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let tls = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if matches!(tls, Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        cause = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}

/// A name of an attempt, by which it is found in the server's query log.
fn query_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("lattice-{now:x}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The number in `Code: N`, which servers before the exception header have alone.
fn code_in(text: &str) -> Option<u32> {
    let rest = text.split_once("Code: ")?.1;
    let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// One LZ4 frame over all chunks.
fn compress(chunks: &[Bytes]) -> Vec<Bytes> {
    use std::io::Write;
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    for chunk in chunks {
        if encoder.write_all(chunk).is_err() {
            return chunks.to_vec(); // writing to memory does not fail
        }
    }
    encoder.finish().map(|body| vec![Bytes::from(body)]).unwrap_or_default()
}

fn tls(settings: &Settings) -> Result<rustls::ClientConfig> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let mut roots = rustls::RootCertStore::empty();
    if let Some(path) = &settings.ca {
        let bad = |error: String| {
            Error::config(format!("read certificates of \"ssl.ca.location\" ({path}): {error}"))
                .with_remedy("give a PEM file with the authority's certificate")
        };
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| bad(error.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| bad(error.to_string()))?;
            roots.add(certificate).map_err(|error| bad(error.to_string()))?;
        }
    } else if settings.ssl {
        for certificate in rustls_native_certs::load_native_certs().certs {
            // A root that cannot be used is as good as absent.
            let _ = roots.add(certificate);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::config("set up TLS").with_source(error))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// A TabSeparated field's text.
fn unescape(field: &str) -> String {
    if !field.contains('\\') {
        return field.to_owned();
    }
    let mut text = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            text.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('0') => text.push('\0'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some(other) => text.push(other),
            None => {}
        }
    }
    text
}

/// An identifier in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// A text literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_an_old_servers_error_is_read_from_its_text() {
        assert_eq!(code_in("Code: 252, e.displayText() = DB::Exception"), Some(252));
        assert_eq!(code_in("no code"), None);
    }

    #[test]
    fn names_with_backticks_and_backslashes_are_quoted() {
        assert_eq!(quoted("a`b\\c"), "`a\\`b\\\\c`");
        assert_eq!(literal("it's"), "'it\\'s'");
    }
}
