//! The log's file: where it is, who may have it, what version it has.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _},
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

/// The WAL is moved into the file beyond this. Units: bytes.
pub(crate) const CHECKPOINT_BYTES: u64 = 32 << 20;

/// Free pages given back to the disk in one go, so that appends wait only moments.
const GIVE_BACK_PAGES: u32 = 1024;

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
    check_whole(path)?;
    let opened = Connection::open(path).and_then(|connection| {
        connection.busy_timeout(Duration::from_secs(10))?;
        let marks = marks(&connection)?;
        Ok((connection, marks))
    });
    let (connection, marks) = opened.map_err(|error| errors::open(path, error))?;
    match marks {
        (0, 0, 0) | (APPLICATION_ID, FORMAT_VERSION, _) => {}
        (APPLICATION_ID, newer, _) => return Err(errors::newer(path, newer, FORMAT_VERSION)),
        _ => return Err(errors::foreign(path)),
    }
    settle(&connection, max_bytes)
        .and_then(|()| if marks.0 == 0 { make(&connection) } else { Ok(()) })
        .map_err(|error| errors::open(path, error))?;
    Ok(connection)
}

/// Application id, format version, and how many tables there are.
fn marks(connection: &Connection) -> rusqlite::Result<(i32, i32, i32)> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    let tables =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok((number("application_id")?, number("user_version")?, tables))
}

fn settle(connection: &Connection, max_bytes: Option<u64>) -> rusqlite::Result<()> {
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "cache_size", -4096)?;
    // The writer moves the WAL itself, after it has answered.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", CHECKPOINT_BYTES)?;
    if let Some(bytes) = max_bytes {
        connection.pragma_update(None, "max_page_count", bytes / PAGE_BYTES)?;
    }
    Ok(())
}

fn make(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    connection.execute_batch(SCHEMA)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", FORMAT_VERSION)?;
    connection.execute_batch("COMMIT")
}

/// Finds a file that was cut, which SQLite notices only where something is missing.
///
/// Source: <https://www.sqlite.org/fileformat.html>, section 1.3.
fn check_whole(path: &Path) -> Result<()> {
    let mut header = [0_u8; 100];
    let read = File::open(path).and_then(|mut file| {
        file.read_exact(&mut header)?;
        Ok(file.metadata()?.len())
    });
    // No file yet, or one too short for a header: SQLite says what is wrong with it.
    let Ok(found) = read else { return Ok(()) };
    let wal = fs::metadata(wal_of(path)).map_or(0, |file| file.len());
    // With a WAL, the file may have been left in the middle of taking it over.
    if wal > 0 || !header.starts_with(b"SQLite format 3\0") {
        return Ok(());
    }
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let pages = u32::from_be_bytes([header[28], header[29], header[30], header[31]]);
    let stated = page * u64::from(pages);
    if found < stated { Err(errors::cut(path, found, stated)) } else { Ok(()) }
}

fn wal_of(path: &Path) -> std::path::PathBuf {
    path.with_extension("db-wal")
}

/// Moves the WAL into the file, without waiting for readers: they may hold back a part of it.
pub(crate) fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Moves all of the WAL into the file and empties it.
pub(crate) fn finish(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Tries whether the file can be written. Takes as much room as a batch, so that a disk with a
/// last free page does not look healthy.
pub(crate) fn probe(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "BEGIN IMMEDIATE;
         INSERT INTO documents VALUES ('', 'probe', zeroblob(1048576));
         DELETE FROM documents WHERE namespace = '' AND name = 'probe';
         COMMIT",
    )
}

/// Gives some free pages back to the disk, once they are a quarter of the file, or any when the
/// disk needs them; says whether it did.
pub(crate) fn give_back(connection: &Connection, needed: bool) -> rusqlite::Result<bool> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (free, all) = (number("freelist_count")?, number("page_count")?);
    // A small file is not worth the work.
    let many = free * 4 >= all && free > i64::from(GIVE_BACK_PAGES);
    if !(many || needed && free > 0) {
        return Ok(false);
    }
    // Each row of the answer is a page given back.
    let mut statement =
        connection.prepare(&format!("PRAGMA incremental_vacuum({GIVE_BACK_PAGES})"))?;
    let mut pages = statement.query([])?;
    while pages.next()?.is_some() {}
    Ok(true)
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
    let path = folder.join(NAME);
    let of = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    of(&path) + of(&wal_of(&path))
}

/// What the folder's disk has left. Units: bytes.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}
