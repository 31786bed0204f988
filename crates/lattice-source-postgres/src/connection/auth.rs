//! Start-up and authentication: cleartext, MD5, SCRAM-SHA-256.

use lattice_core::{Error, ErrorKind, Result};
use postgres_protocol::{
    authentication::{
        md5_hash,
        sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
    },
    message::frontend,
};

use super::{
    Connection, Purpose, Target,
    error::{server_error, sqlstate},
    malformed, quote_ident,
};
use crate::protocol::reader::Reader;

/// Session settings that make values read the same by snapshot and by stream, whatever the
/// server's, database's or role's defaults are.
const SETTINGS: &[(&str, &str)] = &[
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "iso_8601"),
    ("TimeZone", "UTC"),
    ("extra_float_digits", "3"),
    ("bytea_output", "hex"),
    ("lc_monetary", "C"),
    ("statement_timeout", "0"),
    ("lock_timeout", "0"),
    ("idle_in_transaction_session_timeout", "0"),
];

/// Sends the start-up message and answers until the server is ready.
pub(super) async fn start(
    connection: &mut Connection,
    target: &Target,
    purpose: Purpose,
) -> Result<()> {
    let mut parameters = vec![
        ("user", target.user.as_str()),
        ("database", target.database.as_str()),
        ("application_name", "lattice"),
    ];
    parameters.extend_from_slice(SETTINGS);
    if purpose == Purpose::Replication {
        parameters.push(("replication", "database"));
    }
    connection.send(|out| frontend::startup_message(parameters.iter().copied(), out)).await?;
    loop {
        let frame = connection.receive().await?;
        match frame.tag {
            b'R' => {
                let body = connection.body(frame).to_vec();
                authenticate(connection, target, &body).await?;
            }
            b'E' => {
                let doing = format!(
                    "connect to {}:{} as \"{}\" to database \"{}\"",
                    target.host, target.port, target.user, target.database
                );
                let error = server_error(connection.body(frame), &doing);
                if purpose == Purpose::Replication && sqlstate(&error) == Some("42501") {
                    let user = quote_ident(&target.user);
                    return Err(error.with_remedy(format!(
                        "ALTER ROLE {user} WITH REPLICATION (RDS: GRANT rds_replication TO {user})"
                    )));
                }
                return Err(error);
            }
            b'Z' => return Ok(()),
            _ => {}
        }
    }
}

async fn authenticate(connection: &mut Connection, target: &Target, body: &[u8]) -> Result<()> {
    let mut reader = Reader::new(body);
    let password = target.password.expose();
    match reader.u32().map_err(malformed)? {
        0 => Ok(()),
        3 => {
            need_password(target)?;
            connection.send(|out| frontend::password_message(password.as_bytes(), out)).await
        }
        5 => {
            need_password(target)?;
            let salt = reader.u32().map_err(malformed)?.to_be_bytes();
            let hash = md5_hash(target.user.as_bytes(), password.as_bytes(), salt);
            connection.send(|out| frontend::password_message(hash.as_bytes(), out)).await
        }
        10 => {
            need_password(target)?;
            scram(connection, target, reader.rest()).await
        }
        other => Err(Error::new(
            ErrorKind::Auth,
            format!("the server asks for authentication method {other}, which is not supported"),
        )
        .with_remedy("let pg_hba.conf ask for scram-sha-256, md5 or password")),
    }
}

fn need_password(target: &Target) -> Result<()> {
    if target.password.expose().is_empty() {
        let message = format!("the server asks for a password of \"{}\"", target.user);
        return Err(Error::new(ErrorKind::Auth, message).with_remedy("set \"database.password\""));
    }
    Ok(())
}

async fn scram(connection: &mut Connection, target: &Target, mechanisms: &[u8]) -> Result<()> {
    let offered = mechanisms.split(|byte| *byte == 0).any(|name| name == SCRAM_SHA_256.as_bytes());
    if !offered {
        return Err(Error::new(ErrorKind::Auth, "the server offers no SCRAM-SHA-256"));
    }
    let password = target.password.expose().as_bytes();
    let mut scram = ScramSha256::new(password, ChannelBinding::unsupported());
    connection
        .send(|out| frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), out))
        .await?;
    let challenge = sasl(connection, target, 11).await?;
    scram.update(&challenge).map_err(|error| not_genuine(target, error))?;
    connection.send(|out| frontend::sasl_response(scram.message(), out)).await?;
    let last = sasl(connection, target, 12).await?;
    scram.finish(&last).map_err(|error| not_genuine(target, error))
}

/// The data of the SASL message `expected`.
async fn sasl(connection: &mut Connection, target: &Target, expected: u32) -> Result<Vec<u8>> {
    let frame = connection.receive().await?;
    let body = connection.body(frame);
    if frame.tag == b'E' {
        let doing = format!("connect to {}:{} as \"{}\"", target.host, target.port, target.user);
        return Err(server_error(body, &doing));
    }
    let mut reader = Reader::new(body);
    if frame.tag != b'R' || reader.u32().map_err(malformed)? != expected {
        return Err(Error::new(ErrorKind::Auth, "the server broke off SCRAM authentication"));
    }
    Ok(reader.rest().to_vec())
}

fn not_genuine(target: &Target, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Auth, format!("authenticate \"{}\" by SCRAM", target.user))
        .with_source(error)
        .with_remedy("check \"database.password\"")
}
