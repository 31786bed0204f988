//! A plain or an encrypted socket to a broker.

use std::{sync::Arc, time::Duration};

use lattice_core::Error;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::fault::Fault;

/// What is read from.
pub(crate) type ReadHalf = Box<dyn AsyncRead + Send + Sync + Unpin>;
/// What is written to.
pub(crate) type WriteHalf = Box<dyn AsyncWrite + Send + Sync + Unpin>;

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Connects, and encrypts when there is a `tls` configuration.
pub(crate) async fn connect(
    address: &Address,
    tls: Option<&Arc<ClientConfig>>,
    patience: Duration,
) -> Result<(ReadHalf, WriteHalf), Fault> {
    let stream = timeout(patience, TcpStream::connect((address.host.as_str(), address.port)))
        .await
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
        .map_err(|error| Fault::Broken(unreachable(address, error)))?;
    let Some(tls) = tls else {
        let (read, write) = stream.into_split();
        return Ok((Box::new(read), Box::new(write)));
    };
    let name = ServerName::try_from(address.host.clone()).map_err(|error| {
        Error::config(format!("\"{}\" is not a host name", address.host)).with_source(error)
    })?;
    let connecting = TlsConnector::from(Arc::clone(tls)).connect(name, stream);
    let encrypted = timeout(patience, connecting)
        .await
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        .map_err(|error| not_encrypted(address, error))?;
    let (read, write) = tokio::io::split(encrypted);
    Ok((Box::new(read), Box::new(write)))
}

fn unreachable(address: &Address, error: std::io::Error) -> Error {
    Error::transient(format!("connect to the Kafka broker {address}")).with_source(error).with_remedy(
        "check the bootstrap servers and the brokers' advertised.listeners, that the brokers run, \
         and firewalls",
    )
}

fn not_encrypted(address: &Address, error: std::io::Error) -> Fault {
    let message = format!("encrypt the connection to the Kafka broker {address}");
    let text = error.to_string();
    if text.contains("certificate") {
        return Fault::Final(Error::config(message).with_source(error).with_remedy(
            "give the authority that signed the brokers' certificates by \
             \"ssl.truststore.location\" (a PEM file, \"ssl.truststore.type=PEM\"), and use the \
             host names that the certificates are for",
        ));
    }
    Fault::Broken(
        Error::transient(message)
            .with_source(error)
            .with_remedy("check that this port of the broker speaks TLS (\"security.protocol\")"),
    )
}
