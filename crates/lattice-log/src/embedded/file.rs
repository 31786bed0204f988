//! The log's file: where it is, who may have it, what version it has.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
    time::Duration,
};

use lattice_core::{Error, Result};
use rusqlite::{Connection, OpenFlags};

use super::{errors, statements::SCHEMA};

/// The file's name in the data folder.
pub(crate) const NAME: &str = "lattice.db";

/// "LATT": marks the file as ours.
const APPLICATION_ID: i32 = 0x4c41_5454;

/// The version of the file's format that this program writes and reads.
const FORMAT_VERSION: i32 = 1;

/// Large pages suit large batches: fewer overflow pages a blob. Units: bytes.
const PAGE_BYTES: u64 = 16_384;

/// The WAL is moved into the file beyond this. Units: pages (64 MiB).
const CHECKPOINT_PAGES: u32 = 4096;

/// Makes the folder and takes it for this process.
pub(crate) fn lock(folder: &Path) -> Result<File> {
    let shown = folder.display();
    let refused = |error: io::Error| {
        Error::config(format!("cannot write in data folder {shown}: {error}")).with_remedy(
            "give the user that runs lattice write access to the folder, or name another one \
             with --data",
        )
    };
    fs::create_dir_all(folder).map_err(refused)?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join("lattice.lock"))
        .map_err(refused)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::config(format!("data folder {shown} is in use by another process"))
                .with_remedy("stop the other lattice serve, or name another folder with --data"))
        }
        Err(TryLockError::Error(error)) => Err(refused(error)),
    }
}

/// Opens the file for the writer, making it when it is not there.
pub(crate) fn open_writer(path: &Path, max_bytes: Option<u64>) -> Result<Connection> {
    let prepare = || -> rusqlite::Result<(Connection, i32, i32)> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.pragma_update(None, "page_size", PAGE_BYTES)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "cache_size", -4096)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.pragma_update(None, "journal_size_limit", PAGE_BYTES * u64::from(CHECKPOINT_PAGES))?;
        if let Some(bytes) = max_bytes {
            connection.pragma_update(None, "max_page_count", bytes / PAGE_BYTES)?;
        }
        let number = |name| connection.pragma_query_value(None, name, |row| row.get(0));
        let (application, version) = (number("application_id")?, number("user_version")?);
        Ok((connection, application, version))
    };
    let (connection, application, version) = prepare().map_err(|error| errors::open(path, error))?;
    match (application, version) {
        (0, 0) => make(&connection).map_err(|error| errors::open(path, error))?,
        (APPLICATION_ID, FORMAT_VERSION) => {}
        (APPLICATION_ID, newer) => {
            return Err(Error::fatal(format!(
                "{} has format version {newer}, this lattice reads version {FORMAT_VERSION}",
                path.display()
            ))
            .with_remedy("run the lattice version that wrote it, or name another folder with --data"));
        }
        _ => {
            return Err(Error::fatal(format!("{} is not a log of lattice", path.display()))
                .with_remedy("name another folder with --data"));
        }
    }
    Ok(connection)
}

fn make(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    connection.execute_batch(SCHEMA)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", FORMAT_VERSION)?;
    connection.execute_batch("COMMIT")
}

/// Opens the file for a reader.
pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.pragma_update(None, "cache_size", -512)?;
        Ok(connection)
    };
    open().map_err(|error| errors::open(path, error))
}

/// What the log takes. Units: bytes.
pub(crate) fn size(folder: &Path) -> u64 {
    let of = |name: String| fs::metadata(folder.join(name)).map_or(0, |file| file.len());
    of(NAME.to_owned()) + of(format!("{NAME}-wal"))
}

/// What the folder's disk has left. Units: bytes.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}
