//! TLS before a service that has none.

use std::{net::SocketAddr, sync::Arc};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use crate::ca_certificate;

/// Ends TLS on a port of loopback and passes everything on to a real service, as a load balancer
/// does. Its certificate, for `localhost` and `127.0.0.1`, is the test authority's.
pub struct TlsFront {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl TlsFront {
    /// Starts one before `target` (`host:port`, or a URL of which these are taken).
    ///
    /// Panics if the certificate is missing or no port can be opened.
    pub async fn start(target: &str) -> Self {
        let acceptor = acceptor();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener =
            listener.unwrap_or_else(|error| panic!("open a port for the TLS front: {error}"));
        let address =
            listener.local_addr().unwrap_or_else(|error| panic!("address of the front: {error}"));
        let target = crate::services::address_of(target).to_owned();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (acceptor, target) = (acceptor.clone(), target.clone());
                // A handshake that the client refuses ends this connection alone.
                tokio::spawn(async move {
                    let mut client = acceptor.accept(client).await?;
                    let mut service = TcpStream::connect(target).await?;
                    copy_bidirectional(&mut client, &mut service).await
                });
            }
        });
        Self { address, task }
    }

    /// The port on 127.0.0.1 where clients connect to.
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn acceptor() -> TlsAcceptor {
    let authority = ca_certificate();
    let of = |name: &str| authority.with_file_name(name);
    let chain = CertificateDer::pem_file_iter(of("server.crt"))
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .unwrap_or_else(|error| panic!("read server.crt beside {}: {error}", authority.display()));
    let key = PrivateKeyDer::from_pem_file(of("server.key"))
        .unwrap_or_else(|error| panic!("read server.key beside {}: {error}", authority.display()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .unwrap_or_else(|error| panic!("use the test certificate: {error}"));
    TlsAcceptor::from(Arc::new(config))
}
