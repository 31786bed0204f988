//! The connection's options, and its encryption as `sslmode` says.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use lattice_core::error::{Error, Result};
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::{
    Config,
    config::{SslMode, TargetSessionAttrs},
    tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream},
};
use tokio_rustls::{TlsConnector, client};

use crate::{
    tls::{Check, client_config},
    url::Server,
};

/// Parameters that have an effect.
const KNOWN: [&str; 17] = [
    "user",
    "password",
    "sslmode",
    "ssl",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "currentSchema",
    "options",
    "ApplicationName",
    "connectTimeout",
    "loginTimeout",
    "socketTimeout",
    "tcpKeepAlive",
    "targetServerType",
    "prepareThreshold",
    "reWriteBatchedInserts",
];

/// What a URL asks for.
pub(super) fn options(server: &Server) -> Result<(Config, Tls)> {
    let mut config = Config::new();
    for (host, port) in &server.hosts {
        config.host(host).port(*port);
    }
    config.dbname(&server.database);
    if !server.user.is_empty() {
        config.user(&server.user);
    }
    if !server.password.expose().is_empty() {
        config.password(server.password.expose());
    }
    config.application_name(server.parameter("ApplicationName").unwrap_or("lattice"));
    if let Some(options) = server.parameter("options") {
        config.options(options);
    }
    let seconds = ["connectTimeout", "loginTimeout"].iter().find_map(|name| server.parameter(name));
    let seconds =
        seconds.and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0).unwrap_or(10);
    config.connect_timeout(Duration::from_secs(seconds));
    match server.parameter("targetServerType") {
        Some("primary" | "master" | "preferPrimary") => {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Some("any") | None => {}
        Some(word) => return Err(unknown("targetServerType", word, "any or primary")),
    }
    for name in server.parameters() {
        if !KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            tracing::warn!(parameter = name, "a parameter of connection.url has no effect");
        }
    }
    let check = check(server)?;
    config.ssl_mode(match check {
        None => SslMode::Disable,
        Some((_, false)) => SslMode::Prefer,
        Some((_, true)) => SslMode::Require,
    });
    let files = |name: &str| server.parameter(name).map(str::to_owned);
    let tls = client_config(
        check.map_or(Check::Nothing, |(check, _)| check),
        files("sslrootcert").as_deref(),
        files("sslcert").zip(files("sslkey")),
    )?;
    Ok((config, Tls(Arc::new(tls))))
}

/// What of a certificate is checked, and whether TLS must be; `None`: no TLS.
fn check(server: &Server) -> Result<Option<(Check, bool)>> {
    let word = match (server.parameter("sslmode"), server.parameter("ssl")) {
        (Some(word), _) => word,
        (None, Some("true" | "")) => "verify-full",
        (None, _) => "prefer",
    };
    Ok(match word {
        "disable" | "allow" => None,
        "prefer" => Some((Check::Nothing, false)),
        "require" => Some((Check::Nothing, true)),
        "verify-ca" => Some((Check::Chain, true)),
        "verify-full" => Some((Check::ChainAndName, true)),
        word => {
            return Err(unknown(
                "sslmode",
                word,
                "disable, allow, prefer, require, verify-ca or verify-full",
            ));
        }
    })
}

fn unknown(name: &str, word: &str, expected: &str) -> Error {
    Error::config(format!("{name} in connection.url is \"{word}\""))
        .with_remedy(format!("expected {expected}"))
}

/// Encrypts connections.
#[derive(Clone)]
pub(super) struct Tls(Arc<rustls::ClientConfig>);

/// Encrypts one connection.
pub(super) struct ToHost {
    config: Arc<rustls::ClientConfig>,
    name: Result<ServerName<'static>, rustls_pki_types::InvalidDnsNameError>,
}

/// An encrypted connection.
pub(super) struct Encrypted<S>(Box<client::TlsStream<S>>);

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = ToHost;
    type Error = std::convert::Infallible;

    fn make_tls_connect(&mut self, host: &str) -> Result<ToHost, Self::Error> {
        Ok(ToHost { config: Arc::clone(&self.0), name: ServerName::try_from(host.to_owned()) })
    }
}

impl<S> TlsConnect<S> for ToHost
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = std::io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = self.name.map_err(std::io::Error::other)?;
            let encrypted = TlsConnector::from(self.config).connect(name, stream).await?;
            Ok(Encrypted(Box::new(encrypted)))
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, buffer)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}
