//! TLS towards a registry: the system's authorities or those of a file, and our own certificate.

use std::sync::Arc;

use lattice_core::{Error, Result};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// Errors: `Config` when a file is not what it should be.
pub(super) fn client(trusted: Option<&str>, identity: Option<&str>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match trusted {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| unreadable(path, &error))?;
            }
        }
        None => {
            for certificate in rustls_native_certs::load_native_certs().certs {
                // A root that cannot be used is as good as absent.
                let _ = roots.add(certificate);
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::config("set up TLS").with_source(error))?
        .with_root_certificates(roots);
    let Some(path) = identity else { return Ok(builder.with_no_client_auth()) };
    let key = PrivateKeyDer::from_pem_file(path).map_err(|error| unreadable(path, &error))?;
    builder
        .with_client_auth_cert(certificates(path)?, key)
        .map_err(|error| unreadable(path, &error))
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>> {
    let unreadable = |error| unreadable(path, &error);
    let list: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(unreadable)?
        .collect::<std::result::Result<_, _>>()
        .map_err(|error| self::unreadable(path, &error))?;
    if list.is_empty() {
        return Err(Error::config(format!("no certificate in {path}"))
            .with_remedy("give a PEM file (-----BEGIN CERTIFICATE-----)"));
    }
    Ok(list)
}

fn unreadable(path: &str, error: &dyn std::fmt::Display) -> Error {
    Error::config(format!("read certificates from {path}: {error}"))
        .with_remedy("give a PEM file (-----BEGIN CERTIFICATE-----) that this process may read")
}
