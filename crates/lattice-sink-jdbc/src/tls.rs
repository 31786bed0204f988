//! TLS as the URLs of databases ask for it.

use std::sync::Arc;

use lattice_core::error::{Error, Result};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject};

/// What of the server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    Nothing,
    /// That a known authority signed it.
    Chain,
    /// And that it is the host's.
    ChainAndName,
}

/// `identity`: PEM files of the client's certificate and its key.
///
/// Errors: `Config`.
pub(crate) fn client_config(
    check: Check,
    authority: Option<&str>,
    identity: Option<(String, String)>,
) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::fatal("set up TLS").with_source(error))?;
    let verifier: Arc<dyn ServerCertVerifier> = match check {
        Check::Nothing => Arc::new(Lenient { chain: None, provider }),
        Check::Chain => Arc::new(Lenient { chain: Some(web_pki(authority, &provider)?), provider }),
        Check::ChainAndName => web_pki(authority, &provider)?,
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let Some((certificate, key)) = identity else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates(&certificate)?;
    let key = PrivateKeyDer::from_pem_file(&key).map_err(|error| {
        Error::config(format!("read the key file \"{key}\" named in connection.url"))
            .with_source(error)
            .with_remedy("give a PEM file with an unencrypted private key")
    })?;
    builder.with_client_auth_cert(chain, key).map_err(|error| {
        Error::config("use the client's certificate named in connection.url").with_source(error)
    })
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>> {
    let unreadable = |error: rustls_pki_types::pem::Error| {
        Error::config(format!("read the certificate file \"{path}\" named in connection.url"))
            .with_source(error)
            .with_remedy("give a readable PEM file")
    };
    CertificateDer::pem_file_iter(path)
        .map_err(unreadable)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)
}

fn web_pki(
    authority: Option<&str>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    match authority {
        Some(path) => {
            for certificate in certificates(path)? {
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
                .with_remedy("name a PEM file of the authority in connection.url")
        })
}

/// Checks less than the web does: nothing but the signatures, or the chain without the host's name.
#[derive(Debug)]
struct Lenient {
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
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
