//! SQLite's errors as what users can act on.

use std::path::Path;

use lattice_core::{Error, ErrorKind};
use rusqlite::ErrorCode;

fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(code(error), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

fn damaged(path: &Path, error: rusqlite::Error) -> Error {
    Error::fatal(format!("log file {} is damaged", path.display()))
        .with_remedy(
            "restore it from a backup, or move the data folder away, start anew and let the \
             connectors snapshot again",
        )
        .with_source(error)
}

/// An error of opening the file.
pub(crate) fn open(path: &Path, error: rusqlite::Error) -> Error {
    if is_damage(&error) {
        return damaged(path, error);
    }
    Error::config(format!("cannot open log file {}", path.display()))
        .with_remedy(
            "give the user that runs lattice write access to the data folder and room on its \
             disk, or name another one with --data",
        )
        .with_source(error)
}

/// An error of reading.
pub(crate) fn read(path: &Path, error: rusqlite::Error) -> Error {
    if is_damage(&error) {
        return damaged(path, error);
    }
    Error::transient(format!("read from log file {}", path.display())).with_source(error)
}

/// An error of a commit: what was in it is not written.
pub(crate) fn write(path: &Path, free_bytes: Option<u64>, error: rusqlite::Error) -> Error {
    if is_damage(&error) {
        return damaged(path, error);
    }
    let full = code(&error) == Some(ErrorCode::DiskFull);
    if full {
        let free = free_bytes.map_or_else(String::new, |bytes| format!(" ({bytes} bytes free)"));
        return Error::transient(format!("the disk of log file {} is full{free}", path.display()))
            .with_remedy(
                "make room on the disk or shorten the topics' retention; sources wait meanwhile \
                 and go on by themselves, nothing is lost",
            )
            .with_source(error);
    }
    let kind = match code(&error) {
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => ErrorKind::Config,
        _ => ErrorKind::Transient,
    };
    Error::new(kind, format!("write to log file {}", path.display()))
        .with_remedy("check the disk and the rights on the data folder")
        .with_source(error)
}
