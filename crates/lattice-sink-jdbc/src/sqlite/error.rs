//! What SQLite's errors mean.

use std::path::Path;

use lattice_core::error::Error;
use rusqlite::ErrorCode as Code;

use crate::target::Failure;

/// Why the file cannot be opened.
pub(super) fn open(path: &Path, error: &rusqlite::Error) -> Error {
    let message = format!("open {}: {error}", path.display());
    match error.sqlite_error_code() {
        Some(Code::CannotOpen | Code::PermissionDenied) => Error::config(message).with_remedy(
            "check the path in connection.url, and that the worker may write its folder",
        ),
        Some(Code::NotADatabase) => Error::config(message)
            .with_remedy("the file is none of SQLite's; name another in connection.url"),
        _ => Error::transient(message),
    }
}

/// Why a statement failed.
pub(super) fn failure(error: rusqlite::Error) -> Failure {
    let message = error.to_string();
    match error.sqlite_error_code() {
        Some(Code::ConstraintViolation | Code::TypeMismatch | Code::TooBig) => {
            Failure::Row(Error::data(message))
        }
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => Failure::Again(
            Error::transient(format!("another program writes the file: {message}"))
                .with_remedy("raise busy_timeout in connection.url"),
        ),
        Some(Code::ReadOnly) => Failure::Other(
            Error::transient(format!("the target only reads: {message}"))
                .with_remedy("let the worker write the file and its folder"),
        ),
        Some(Code::DiskFull) => Failure::Other(
            Error::transient(format!("the target is full: {message}"))
                .with_remedy("make room on its disk"),
        ),
        Some(Code::DatabaseCorrupt | Code::NotADatabase) => Failure::Other(Error::fatal(message)),
        // Somebody changed the tables, or the file is out of reach: it is looked at anew.
        _ => Failure::Other(Error::transient(message)),
    }
}
