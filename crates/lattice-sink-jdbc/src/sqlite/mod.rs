//! SQLite: prepared statements in one transaction, on a thread of its own.

pub(crate) mod apply;
pub(crate) mod catalog;
mod error;

use std::{
    path::{Path, PathBuf},
    sync::mpsc,
    time::Duration,
};

use lattice_core::{
    error::{Error, Result},
    value::{Binary, Text},
};
use rusqlite::{Connection, types::ValueRef};
use tokio::sync::oneshot;

use crate::{
    layout::{Slot, Wire},
    table::Column,
    target::{Failure, Rows},
    url::find,
    value::{Cell, Meaning, fit::Form, hex},
};

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A connection to a file of SQLite. Its thread ends when it is dropped.
pub(crate) struct Sqlite {
    jobs: mpsc::Sender<Job>,
}

/// Parameters that are settings of the connection.
const PRAGMAS: [&str; 6] =
    ["journal_mode", "synchronous", "foreign_keys", "cache_size", "temp_store", "mmap_size"];

impl Sqlite {
    /// Opens the file, and makes it if there is none.
    ///
    /// Errors: `Config`, `Transient`.
    pub(crate) async fn open(path: &Path, parameters: &[(String, String)]) -> Result<Self> {
        let pragmas = pragmas(parameters)?;
        let busy =
            find(parameters, "busy_timeout").and_then(|text| text.parse().ok()).unwrap_or(5000);
        let path = path.to_owned();
        let (jobs, waiting) = mpsc::channel::<Job>();
        let (opened, answer) = oneshot::channel();
        let work = move || {
            let connection = open(&path, &pragmas, Duration::from_millis(busy));
            let mut connection = match connection {
                Ok(connection) => connection,
                Err(error) => {
                    let _ = opened.send(Err(error::open(&path, &error)));
                    return;
                }
            };
            if opened.send(Ok(())).is_ok() {
                for job in waiting {
                    job(&mut connection);
                }
            }
        };
        std::thread::Builder::new()
            .name("sqlite-sink".to_owned())
            .spawn(work)
            .map_err(|error| Error::transient("start a thread for SQLite").with_source(error))?;
        answer.await.map_err(|_| Error::transient("the thread of SQLite ended"))??;
        Ok(Self { jobs })
    }

    /// Does something with the connection, on its thread.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let gone = || Failure::Other(Error::transient("the thread of SQLite ended"));
        let (done, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let _ = done.send(work(connection));
        });
        self.jobs.send(job).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?.map_err(error::failure)
    }

    pub(crate) async fn query(&self, sql: &str) -> Result<Rows, Failure> {
        let sql = sql.to_owned();
        self.run(move |connection| query(connection, &sql)).await
    }

    pub(crate) async fn execute(&self, sql: &str) -> Result<u64, Failure> {
        let sql = sql.to_owned();
        self.run(move |connection| Ok(connection.execute(&sql, [])? as u64)).await
    }

    /// `deferred`: foreign keys are checked at the transaction's end.
    pub(crate) async fn begin(&self, deferred: bool) -> Result<(), Failure> {
        self.execute("BEGIN IMMEDIATE").await?;
        if deferred {
            self.query("PRAGMA defer_foreign_keys = ON").await?;
        }
        Ok(())
    }
}

fn pragmas(parameters: &[(String, String)]) -> Result<Vec<String>> {
    let mut pragmas = vec!["PRAGMA temp_store = MEMORY".to_owned()];
    let word =
        |text: &str| text.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char));
    for name in PRAGMAS {
        let default = match name {
            "journal_mode" => Some("WAL"),
            // A lost transaction is lost with its offsets, and written again.
            "synchronous" => Some("NORMAL"),
            _ => None,
        };
        let Some(value) = find(parameters, name).or(default) else { continue };
        if !word(value) {
            return Err(Error::config(format!("{name} in connection.url is \"{value}\""))
                .with_remedy("expected one of SQLite's words for it, or a number"));
        }
        pragmas.push(format!("PRAGMA {name} = {value}"));
    }
    for (name, _) in parameters {
        if !PRAGMAS.contains(&name.as_str()) && name != "busy_timeout" {
            tracing::warn!(parameter = name, "a parameter of connection.url has no effect");
        }
    }
    Ok(pragmas)
}

fn open(path: &PathBuf, pragmas: &[String], busy: Duration) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(busy)?;
    connection.set_prepared_statement_cache_capacity(256);
    for pragma in pragmas {
        query(&connection, pragma)?;
    }
    Ok(connection)
}

fn query(connection: &Connection, sql: &str) -> rusqlite::Result<Rows> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut found = statement.query([])?;
    let mut rows = Rows::new();
    while let Some(row) = found.next()? {
        let mut values = Vec::with_capacity(columns);
        for column in 0..columns {
            values.push(match row.get_ref(column)? {
                ValueRef::Null => None,
                ValueRef::Integer(number) => Some(number.to_string()),
                ValueRef::Real(number) => Some(number.to_string()),
                ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(bytes) => Some(hex(bytes)),
            });
        }
        rows.push(values);
    }
    Ok(rows)
}

/// How values of this meaning go into a column.
pub(crate) fn slot(column: &Column, meaning: &Meaning) -> Slot {
    let decimal = matches!(meaning, Meaning::Decimal { .. } | Meaning::VariableDecimal);
    let float = matches!(meaning, Meaning::Float32 | Meaning::Float64);
    let form = match &column.form {
        // Both make doubles of what looks like a number.
        Form::Float64 { .. } | Form::Digits(_) if decimal => Form::Digits(15),
        Form::Digits(_) | Form::Bytes if float => Form::Float64 { nan: false, infinite: true },
        other => other.clone(),
    };
    Slot {
        name: column.name.clone(),
        form,
        nullable: column.nullable,
        wire: Wire::Sqlite,
        stage: String::new(),
        cast: None,
    }
}

/// Appends a value: a letter for its storage class, and its bytes.
///
/// Errors: it cannot be stored.
pub(crate) fn write(cell: &Cell<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let mut put = |class: u8, bytes: &[u8]| {
        out.push(class);
        out.extend_from_slice(bytes);
    };
    match cell {
        Cell::Bool(flag) => put(b'i', &i64::from(*flag).to_be_bytes()),
        Cell::Int(number) => put(b'i', &number.to_be_bytes()),
        Cell::Float32(number) => put(b'f', &f64::from(*number).to_be_bytes()),
        Cell::Float64(number) if number.is_nan() => {
            return Err("the column holds no NaN".to_owned());
        }
        Cell::Float64(number) => put(b'f', &number.to_be_bytes()),
        Cell::Bytes(bytes) => put(b'b', bytes.as_slice()),
        cell => put(b't', cell.text().as_bytes()),
    }
    Ok(())
}

/// A written value.
pub(crate) fn read(bytes: &[u8]) -> Cell<'_> {
    let (class, rest) = bytes.split_first().unwrap_or((&b't', &[]));
    let number = || rest.try_into().map(i64::from_be_bytes).unwrap_or(0);
    match class {
        b'i' => Cell::Int(number()),
        b'f' => Cell::Float64(f64::from_bits(number().cast_unsigned())),
        b'b' => Cell::Bytes(Binary::borrowed(rest)),
        _ => Cell::Text(Text::borrowed(std::str::from_utf8(rest).unwrap_or_default())),
    }
}

/// The type of a new column.
pub(crate) fn type_for(meaning: &Meaning) -> String {
    match meaning {
        Meaning::Bool | Meaning::Int(_) => "INTEGER",
        Meaning::Float32 | Meaning::Float64 => "REAL",
        Meaning::Bytes => "BLOB",
        _ => "TEXT",
    }
    .to_owned()
}
