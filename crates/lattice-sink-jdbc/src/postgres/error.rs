//! What the server's errors mean.

use lattice_core::error::{Error, ErrorKind};

use crate::{target::Failure, url::Server};

/// Why there is no connection.
pub(super) fn connect(server: &Server, error: tokio_postgres::Error) -> Error {
    let shown = server.shown();
    let Some(db) = error.as_db_error() else {
        let text = chain(&error);
        if text.contains("certificate") || text.contains("TLS") {
            return Error::config(format!("encrypt the connection to {shown}: {text}"))
                .with_remedy("check sslmode and sslrootcert in connection.url");
        }
        if text.contains("password") {
            return Error::new(ErrorKind::Auth, format!("log in to {shown}: {text}"))
                .with_remedy("set connection.password");
        }
        return Error::transient(format!("connect to {shown}: {text}"))
            .with_remedy("check connection.url, that the server runs, and firewalls");
    };
    let message = format!("connect to {shown}: {}", db.message());
    match db.code().code() {
        "28P01" | "28000" => Error::new(ErrorKind::Auth, message).with_remedy(
            "check connection.username and connection.password, and the server's pg_hba.conf",
        ),
        "3D000" => {
            Error::config(message).with_remedy("create the database, or correct connection.url")
        }
        "42501" => {
            Error::new(ErrorKind::Auth, message).with_remedy("grant CONNECT on the database")
        }
        _ => Error::transient(message),
    }
}

/// Why a statement failed.
pub(super) fn failure(error: tokio_postgres::Error) -> Failure {
    let Some(db) = error.as_db_error() else {
        return Failure::Other(
            Error::transient(format!("the connection to the target was lost: {}", chain(&error)))
                .with_remedy("it is made anew, and goes on where the target stands"),
        );
    };
    let code = db.code().code();
    let mut message = format!("{} (SQLSTATE {code})", db.message());
    if let Some(detail) = db.detail() {
        message.push_str(": ");
        message.push_str(detail);
    }
    match code {
        "40001" | "40P01" | "55P03" => Failure::Again(Error::transient(message)),
        // 42804 and 42846: a text that has no cast to its column's type; P0001: raised by a trigger.
        "42804" | "42846" | "P0001" => Failure::Row(Error::data(message)),
        "25006" => Failure::Other(
            Error::transient(format!("the target only reads: {message}"))
                .with_remedy("is it a replica? Name the primary in connection.url, or targetServerType=primary"),
        ),
        "42501" => Failure::Other(
            Error::new(ErrorKind::Auth, message)
                .with_remedy("grant the user SELECT, INSERT, UPDATE and DELETE on the table, and TEMPORARY on the database"),
        ),
        // Somebody changed the tables: they are looked at anew.
        "42P01" | "42703" | "42P10" | "0A000" => Failure::Other(Error::transient(message)),
        _ => match code.get(..2) {
            Some("22" | "23") => Failure::Row(Error::data(message)),
            Some("08" | "53" | "57" | "58" | "25" | "40") => Failure::Other(Error::transient(message)),
            _ => Failure::Other(Error::fatal(message)),
        },
    }
}

fn chain(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
