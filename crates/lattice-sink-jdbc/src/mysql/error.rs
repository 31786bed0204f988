//! What the servers' errors mean.

use lattice_core::error::{Error, ErrorKind};
use mysql_async::{Error as Driver, IoError};

use crate::{target::Failure, url::Server};

/// Why there is no connection.
pub(super) fn connect(server: &Server, error: &Driver) -> Error {
    let shown = server.shown();
    let message = format!("connect to {shown}: {}", words(error));
    match error {
        Driver::Server(of_server) => match of_server.code {
            1044 | 1045 | 1698 | 1862 => Error::new(ErrorKind::Auth, message).with_remedy(
                "check connection.username and connection.password, and what the user is granted from this host",
            ),
            1049 => Error::config(message).with_remedy("create the database, or correct connection.url"),
            _ => Error::transient(message),
        },
        Driver::Io(IoError::Tls(_)) => {
            Error::config(format!("encrypt the connection to {shown}: {}", words(error)))
                .with_remedy("check sslMode and the certificate files in connection.url")
        }
        Driver::Io(_) => Error::transient(message)
            .with_remedy("check connection.url, that the server runs, and firewalls"),
        _ => Error::config(message).with_remedy("check sslMode and the user's way of logging in"),
    }
}

/// Why a statement failed.
pub(super) fn failure(error: Driver) -> Failure {
    let Driver::Server(server) = &error else {
        let message = format!("the connection to the target was lost: {}", words(&error));
        return Failure::Other(
            Error::transient(message)
                .with_remedy("it is made anew, and goes on where the target stands"),
        );
    };
    let message = words(&error);
    match server.code {
        // Deadlock, lock wait, a row that changed meanwhile, NOWAIT.
        1213 | 1205 | 1020 | 3572 => Failure::Again(Error::transient(message)),
        1021 | 1114 | 1041 => Failure::Other(
            Error::transient(format!("the target is full: {message}"))
                .with_remedy("make room on it"),
        ),
        1290 | 1792 | 1836 => Failure::Other(
            Error::transient(format!("the target only reads: {message}"))
                .with_remedy("is it a replica? Name the primary in connection.url"),
        ),
        1044 | 1142 | 1143 | 1227 => {
            Failure::Other(Error::new(ErrorKind::Auth, message).with_remedy(
                "grant the user SELECT, INSERT, UPDATE, DELETE, CREATE and ALTER on the database",
            ))
        }
        // Somebody changed the tables: they are looked at anew.
        1146 | 1054 => Failure::Other(Error::transient(message)),
        // Values that do not fit, constraints, JSON, checks, what a trigger raises.
        1048 | 1062 | 1169 | 1216 | 1217 | 1264 | 1265 | 1292 | 1364 | 1366 | 1367 | 1406
        | 1411 | 1416 | 1451 | 1452 | 1644 | 1690 | 1761 | 1762 | 3140 | 3141 | 3819 | 4025 => {
            Failure::Row(Error::data(message))
        }
        _ => match server.state.get(..2) {
            Some("22" | "23" | "45") => Failure::Row(Error::data(message)),
            Some("08" | "53" | "57" | "70") => Failure::Other(Error::transient(message)),
            Some("40") => Failure::Again(Error::transient(message)),
            _ => Failure::Other(Error::fatal(message)),
        },
    }
}

/// The error and its causes; of the server's: its words and its number.
fn words(error: &Driver) -> String {
    if let Driver::Server(server) = error {
        return format!("{} (error {}, SQLSTATE {})", server.message, server.code, server.state);
    }
    error.to_string()
}
