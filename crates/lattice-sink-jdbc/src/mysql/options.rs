//! What a URL says of the connection.

use std::{path::PathBuf, time::Duration};

use lattice_core::error::{Error, Result};
use mysql_async::{ClientIdentity, Conn, DriverError, OptsBuilder, SslOpts};

use super::error;
use crate::url::Server;

/// How the connection is encrypted.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Plain,
    /// If the server can.
    Preferred,
    Required,
    Chain,
    ChainAndName,
}

/// How each host is connected to.
pub(super) struct Options {
    builder: OptsBuilder,
    mode: Mode,
    timeout: Duration,
}

/// The options for each of the URL's hosts.
///
/// Errors: `Config`.
pub(super) fn options(server: &Server) -> Result<Vec<Options>> {
    let mode = mode(server)?;
    let tls = tls(server, mode);
    let timeout = server.parameter("connectTimeout").and_then(|text| text.parse().ok());
    let timeout = Duration::from_millis(timeout.filter(|ms| *ms > 0).unwrap_or(30_000));
    let of = |(host, port): &(String, u16)| {
        let builder = OptsBuilder::default()
            .ip_or_hostname(host.clone())
            .tcp_port(*port)
            .user(Some(server.user.clone()))
            .pass(Some(server.password.expose().to_owned()))
            .db_name(Some(server.database.clone()))
            .prefer_socket(false)
            .client_found_rows(true)
            .ssl_opts(tls.clone());
        Options { builder, mode, timeout }
    };
    Ok(server.hosts.iter().map(of).collect())
}

/// Connects; without encryption if that is allowed and the server has none.
pub(super) async fn open(server: &Server, options: Options) -> Result<Conn> {
    let connect = async |builder: OptsBuilder| match tokio::time::timeout(
        options.timeout,
        Conn::new(builder),
    )
    .await
    {
        Ok(connected) => connected.map_err(Some),
        Err(_) => Err(None),
    };
    let mut connected = connect(options.builder.clone()).await;
    let no_tls = mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer);
    let refused = connected.as_ref().err().and_then(Option::as_ref);
    if options.mode == Mode::Preferred
        && refused.is_some_and(|error| error.to_string() == no_tls.to_string())
    {
        connected = connect(options.builder.ssl_opts(None::<SslOpts>)).await;
    }
    connected.map_err(|failed| match failed {
        Some(failed) => error::connect(server, &failed),
        None => Error::transient(format!("connect to {}: no answer", server.shown()))
            .with_remedy("check connection.url, that the server runs, and firewalls"),
    })
}

fn mode(server: &Server) -> Result<Mode> {
    let says =
        |name: &str| server.parameter(name).is_some_and(|word| word.eq_ignore_ascii_case("true"));
    let denies =
        |name: &str| server.parameter(name).is_some_and(|word| word.eq_ignore_ascii_case("false"));
    let Some(word) = server.parameter("sslMode") else {
        return Ok(match () {
            () if denies("useSSL") => Mode::Plain,
            () if says("verifyServerCertificate") => Mode::Chain,
            () if says("requireSSL") || says("useSSL") => Mode::Required,
            () => Mode::Preferred,
        });
    };
    Ok(match word.to_ascii_lowercase().replace('-', "_").as_str() {
        "disabled" | "disable" => Mode::Plain,
        "preferred" => Mode::Preferred,
        "required" | "trust" => Mode::Required,
        "verify_ca" => Mode::Chain,
        "verify_identity" | "verify_full" => Mode::ChainAndName,
        _ => {
            return Err(Error::config(format!(
                "sslMode \"{word}\" of connection.url is not known"
            ))
            .with_remedy("expected DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY"));
        }
    })
}

fn tls(server: &Server, mode: Mode) -> Option<SslOpts> {
    if mode == Mode::Plain {
        return None;
    }
    let path = |name: &str| {
        let text = server.parameter(name)?;
        Some(PathBuf::from(text.strip_prefix("file:").unwrap_or(text)))
    };
    let lenient = matches!(mode, Mode::Preferred | Mode::Required);
    let mut tls = SslOpts::default()
        .with_danger_accept_invalid_certs(lenient)
        .with_danger_skip_domain_validation(mode != Mode::ChainAndName);
    // A PEM file, whoever's driver the parameter is of.
    let authority =
        ["serverSslCert", "trustCertificateKeyStoreUrl", "sslrootcert"].into_iter().find_map(path);
    if let Some(authority) = authority {
        tls = tls.with_root_certs(vec![authority.into()]).with_disable_built_in_roots(true);
    }
    if let (Some(certificate), Some(key)) = (path("sslcert"), path("sslkey")) {
        tls = tls.with_client_identity(Some(ClientIdentity::new(certificate.into(), key.into())));
    }
    Some(tls)
}
