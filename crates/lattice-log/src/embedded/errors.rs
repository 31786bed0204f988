//! SQLite's errors as what users can act on.

use std::path::Path;

use lattice_core::{Error, ErrorKind};
use rusqlite::ErrorCode;

use crate::log::StoredBatch;

fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(code(error), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

const DAMAGE_REMEDY: &str = "restore it from a backup, or move the data folder away, start anew \
                             and let the connectors snapshot again";

fn damaged(path: &Path, error: rusqlite::Error) -> Error {
    Error::fatal(format!("log file {} is damaged", path.display()))
        .with_remedy(DAMAGE_REMEDY)
        .with_source(error)
}

/// A batch whose bytes are not what was written.
pub(crate) fn damaged_batch(path: &Path, stored: &StoredBatch, error: Error) -> Error {
    let message = format!(
        "log file {} is damaged at {} offset {}",
        path.display(),
        stored.partition,
        stored.base_offset
    );
    Error::fatal(message).with_remedy(DAMAGE_REMEDY).with_source(error)
}

/// A source offset that is not JSON.
pub(crate) fn damaged_offset(path: &Path, connector: &str, error: serde_json::Error) -> Error {
    let message = format!("log file {} is damaged at the offsets of {connector}", path.display());
    Error::fatal(message).with_remedy(DAMAGE_REMEDY).with_source(error)
}

/// A file shorter than its header says.
pub(crate) fn cut(path: &Path, found: u64, stated: u64) -> Error {
    let message = format!(
        "log file {} is damaged: it has {found} bytes of the {stated} its header states",
        path.display()
    );
    Error::fatal(message).with_remedy(DAMAGE_REMEDY)
}

/// A file of a later format.
pub(crate) fn newer(path: &Path, found: i32, known: i32) -> Error {
    let message = format!(
        "log file {} has format version {found}, this lattice reads up to version {known}",
        path.display()
    );
    Error::config(message)
        .with_remedy("run the lattice version that wrote it, or name another folder with --data")
}

/// A file of another program.
pub(crate) fn foreign(path: &Path) -> Error {
    Error::config(format!("{} is a database, but not a log of lattice", path.display()))
        .with_remedy("name another folder with --data")
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
    Error::transient(format!("reading log file {} failed", path.display())).with_source(error)
}

/// A disk without room for records.
pub(crate) fn full(path: &Path, free_bytes: Option<u64>) -> Error {
    let free = free_bytes.map_or_else(String::new, |bytes| format!(", {bytes} bytes are free"));
    Error::transient(format!("log disk is full: {}{free}", path.display())).with_remedy(
        "make room on the disk, shorten the topics' retention or delete topics; sources wait \
         meanwhile and go on by themselves, nothing is lost",
    )
}

/// An error of a commit: what was in it is not written.
pub(crate) fn write(path: &Path, free_bytes: Option<u64>, error: rusqlite::Error) -> Error {
    if is_damage(&error) {
        return damaged(path, error);
    }
    if code(&error) == Some(ErrorCode::DiskFull) {
        return full(path, free_bytes).with_source(error);
    }
    if code(&error) == Some(ErrorCode::TooBig) {
        return Error::data(format!("a value is too large for log file {}", path.display()))
            .with_remedy("exclude the column that holds it, or shorten it")
            .with_source(error);
    }
    let kind = match code(&error) {
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => ErrorKind::Config,
        _ => ErrorKind::Transient,
    };
    Error::new(kind, format!("writing log file {} failed", path.display()))
        .with_remedy("check the disk and the rights on the data folder")
        .with_source(error)
}
