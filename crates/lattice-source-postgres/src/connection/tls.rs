//! Opens the socket and encrypts it as `database.sslmode` says.

use std::sync::Arc;

use bytes::BytesMut;
use lattice_core::{Error, Result};
use postgres_protocol::message::frontend;
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{SslMode, Target, socket::Socket, tcp::Tcp};

pub(super) async fn connect(target: &Target) -> Result<Socket> {
    let address = (target.host.as_str(), target.port);
    let mut stream =
        TcpStream::connect(address).await.map_err(|error| unreachable(target, error))?;
    stream.set_nodelay(true).map_err(|error| unreachable(target, error))?;
    if target.ssl_mode == SslMode::Disable {
        return plain(target, stream);
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).await.map_err(|error| unreachable(target, error))?;
    let answer = stream.read_u8().await.map_err(|error| unreachable(target, error))?;
    match answer {
        b'S' => encrypt(target, stream).await,
        b'N' if target.ssl_mode == SslMode::Prefer => plain(target, stream),
        b'N' => Err(Error::config(format!(
            "the server at {}:{} does not offer TLS, but \"database.sslmode\" asks for it",
            target.host, target.port
        ))
        .with_remedy("set ssl = on in postgresql.conf, or \"database.sslmode\" to prefer")),
        _ => Err(Error::config(format!(
            "what answers at {}:{} is not PostgreSQL",
            target.host, target.port
        ))
        .with_remedy("check \"database.hostname\" and \"database.port\"")),
    }
}

fn plain(target: &Target, stream: TcpStream) -> Result<Socket> {
    Tcp::new(stream).map(Socket::Plain).map_err(|error| unreachable(target, error))
}

fn unreachable(target: &Target, error: std::io::Error) -> Error {
    Error::transient(format!("connect to {}:{}", target.host, target.port))
        .with_source(error)
        .with_remedy(
            "check \"database.hostname\" and \"database.port\", that the server runs, its \
             listen_addresses, and firewalls",
        )
}

async fn encrypt(target: &Target, stream: TcpStream) -> Result<Socket> {
    let config = client_config(target)?;
    let name = ServerName::try_from(target.host.clone()).map_err(|error| {
        Error::config(format!("\"{}\" is not a host name", target.host)).with_source(error)
    })?;
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = Tcp::new(stream).map_err(|error| unreachable(target, error))?;
    let encrypted = connector.connect(name, stream).await.map_err(|error| {
        let certificate = error.to_string().contains("certificate");
        let message = format!("encrypt the connection to {}:{}", target.host, target.port);
        let error = if certificate {
            Error::config(message).with_source(error)
        } else {
            Error::transient(message).with_source(error)
        };
        error.with_remedy(
            "give the authority that signed the server's certificate by \"database.sslrootcert\", \
             use the host name that the certificate is for, or set \"database.sslmode\" to require",
        )
    })?;
    Ok(Socket::Tls(Box::new(encrypted)))
}

fn client_config(target: &Target) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::fatal("set up TLS").with_source(error))?;
    let verifier: Arc<dyn ServerCertVerifier> = match target.ssl_mode {
        SslMode::Disable | SslMode::Prefer | SslMode::Require => {
            Arc::new(Verifier { inner: None, provider })
        }
        SslMode::VerifyCa => {
            Arc::new(Verifier { inner: Some(web_pki(target, &provider)?), provider })
        }
        SslMode::VerifyFull => web_pki(target, &provider)?,
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let (Some(cert), Some(key)) = (&target.ssl_cert, &target.ssl_key) else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = certificates(cert, "database.sslcert")?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| {
        Error::config(format!("read the key file \"{key}\" of \"database.sslkey\""))
            .with_source(error)
            .with_remedy("give a PEM file with an unencrypted private key")
    })?;
    builder.with_client_auth_cert(chain, key).map_err(|error| {
        Error::config("use \"database.sslcert\" and \"database.sslkey\"").with_source(error)
    })
}

fn certificates(path: &str, key: &str) -> Result<Vec<CertificateDer<'static>>> {
    let unreadable = |error: rustls_pki_types::pem::Error| {
        Error::config(format!("read the certificate file \"{path}\" of \"{key}\""))
            .with_source(error)
            .with_remedy("give a readable PEM file")
    };
    CertificateDer::pem_file_iter(path)
        .map_err(unreadable)?
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(unreadable)
}

fn web_pki(target: &Target, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    match &target.ssl_root_cert {
        Some(path) => {
            for certificate in certificates(path, "database.sslrootcert")? {
                roots.add(certificate).map_err(|error| {
                    Error::config(format!("use the certificate file \"{path}\"")).with_source(error)
                })?;
            }
        }
        None => {
            let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| {
            Error::config("verify the server's certificate without any known authority")
                .with_source(error)
                .with_remedy("set \"database.sslrootcert\" to a PEM file")
        })
}

/// Checks less than the web does, as libpq's modes ask for: nothing but the signatures, or the
/// chain without the host's name.
#[derive(Debug)]
struct Verifier {
    inner: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        let verdict =
            inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verdict {
            // The chain is checked before the name.
            Err(rustls::Error::InvalidCertificate(
                rustls::CertificateError::NotValidForName
                | rustls::CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
