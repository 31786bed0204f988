//! TLS as the `ssl.*` properties say, from PEM files and texts.

use std::sync::Arc;

use lattice_core::{Error, Result};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::ring,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject};

use super::options::{Properties, secret};

/// Reads every `ssl.*` property.
///
/// Errors: `Config`, naming the property.
pub(crate) fn configuration(properties: &mut Properties) -> Result<Arc<ClientConfig>> {
    for name in ["ssl.truststore.type", "ssl.keystore.type"] {
        if let Some(kind) = properties.take(name).filter(|kind| !kind.eq_ignore_ascii_case("PEM")) {
            return Err(Error::config(format!("\"{name}\" is {kind}"))
                .with_remedy("export it to PEM (keytool, openssl pkcs12) and set it to PEM"));
        }
    }
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots(properties)?), provider.clone())
            .build()
            .map_err(|error| {
                Error::config("verify certificates without any known authority")
                    .with_source(error)
                    .with_remedy("give \"ssl.truststore.location\", a PEM file")
            })?;
    // An empty value switches the check of the host name off, as in Java.
    let check_name = properties.take_raw("ssl.endpoint.identification.algorithm");
    let check_name = check_name.is_none_or(|algorithm| !algorithm.is_empty());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::fatal("set up TLS").with_source(error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { inner: verifier, check_name }));
    let config = match key_pair(properties)? {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(|error| {
            Error::config("use the certificate and the key of \"ssl.keystore.*\"")
                .with_source(error)
        })?,
    };
    Ok(Arc::new(config))
}

fn roots(properties: &mut Properties) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let given = match properties.take("ssl.truststore.certificates") {
        Some(pem) => Some((pem.into_bytes(), "ssl.truststore.certificates")),
        None => match properties.take("ssl.truststore.location") {
            Some(path) => {
                Some((read_file(&path, "ssl.truststore.location")?, "ssl.truststore.location"))
            }
            None => None,
        },
    };
    let Some((pem, name)) = given else {
        let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    for certificate in certificates(&pem, name)? {
        roots.add(certificate).map_err(|error| {
            Error::config(format!("use the certificates of \"{name}\"")).with_source(error)
        })?;
    }
    Ok(roots)
}

type KeyPair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn key_pair(properties: &mut Properties) -> Result<Option<KeyPair>> {
    if secret(properties, "ssl.key.password").is_some() {
        return Err(Error::config("\"ssl.key.password\" is set: encrypted keys are not supported")
            .with_remedy("decrypt the key (openssl pkcs8 -topk8 -nocrypt) and protect the file"));
    }
    let chain = properties.take("ssl.keystore.certificate.chain");
    let key = secret(properties, "ssl.keystore.key");
    let (name, chain, key) = match (chain, key, properties.take("ssl.keystore.location")) {
        (Some(chain), Some(key), _) => {
            ("ssl.keystore.key", chain.into_bytes(), key.expose().as_bytes().to_vec())
        }
        // One file has the key and the certificates.
        (None, None, Some(path)) => {
            let pem = read_file(&path, "ssl.keystore.location")?;
            ("ssl.keystore.location", pem.clone(), pem)
        }
        (None, None, None) => return Ok(None),
        _ => {
            return Err(Error::config(
                "only one of \"ssl.keystore.certificate.chain\" and \"ssl.keystore.key\" is set",
            )
            .with_remedy("give both"));
        }
    };
    let chain = certificates(&chain, name)?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| {
        Error::config(format!("read the private key of \"{name}\""))
            .with_source(error)
            .with_remedy("give an unencrypted PKCS #8 key in PEM")
    })?;
    Ok(Some((chain, key)))
}

fn read_file(path: &str, name: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| {
        Error::config(format!("read the file \"{path}\" of \"{name}\"")).with_source(error)
    })
}

fn certificates(pem: &[u8], name: &str) -> Result<Vec<CertificateDer<'static>>> {
    let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| {
        Error::config(format!("read the certificates of \"{name}\"")).with_source(error)
    })?;
    if found.is_empty() {
        return Err(Error::config(format!("\"{name}\" has no certificate"))
            .with_remedy("give certificates in PEM"));
    }
    Ok(found)
}

/// The web's checks, the host name's on demand.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    check_name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let verdict = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verdict {
            // The chain is checked before the name.
            Err(rustls::Error::InvalidCertificate(
                rustls::CertificateError::NotValidForName
                | rustls::CertificateError::NotValidForNameContext { .. },
            )) if !self.check_name => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
