//! Reads ranges, each worker on its own connection with the one exported snapshot.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use lattice_core::{Error, Result, connector::TaskContext, event::Span};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

use super::{Delivered, Piece, Unit, permit, plan::Planned};
use crate::{
    buffers::Buffers,
    config::Settings,
    connection::{Connection, Purpose, quote_ident, quote_literal, sqlstate},
    row::append_copy_row,
};

/// A piece is handed over at this size.
const PIECE_BYTES: usize = 1 << 20;

/// A range to read, or to look through for what changed since.
#[derive(Debug, Clone)]
struct Job {
    unit: usize,
    /// The table's quoted name.
    table: String,
    chunk: u32,
    sql: String,
    columns: usize,
    again: bool,
}

struct Worker {
    connection: Connection,
    jobs: Arc<Mutex<VecDeque<Job>>>,
    sender: mpsc::Sender<Delivered>,
    budget: Arc<Semaphore>,
    budget_bytes: usize,
    max_rows: usize,
    user: String,
    buffers: Buffers,
}

pub(super) async fn start(
    settings: &Settings,
    snapshot: &str,
    planned: &Planned,
    xmin: u64,
    context: &TaskContext,
    sender: mpsc::Sender<Delivered>,
) -> Result<JoinSet<()>> {
    let jobs: VecDeque<Job> = planned
        .units
        .iter()
        .enumerate()
        .flat_map(|(index, unit)| (0..unit.chunks).map(move |chunk| job(index, unit, chunk, xmin)))
        .collect();
    let threads = settings.snapshot_threads.min(jobs.len());
    let jobs = Arc::new(Mutex::new(jobs));
    let budget_bytes = context.buffer_bytes.clamp(1 << 20, Semaphore::MAX_PERMITS.min(1 << 30));
    let budget = Arc::new(Semaphore::new(budget_bytes));
    let mut workers = JoinSet::new();
    for _ in 0..threads {
        let mut connection = Connection::open(&settings.target, Purpose::General).await?;
        connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let import = format!("SET TRANSACTION SNAPSHOT {}", quote_literal(snapshot));
        connection.query(&import).await?;
        let worker = Worker {
            connection,
            jobs: Arc::clone(&jobs),
            sender: sender.clone(),
            budget: Arc::clone(&budget),
            budget_bytes,
            max_rows: settings.max_batch,
            user: settings.target.user.clone(),
            buffers: Buffers::default(),
        };
        workers.spawn(Box::pin(worker.run()));
    }
    Ok(workers)
}

fn job(index: usize, unit: &Unit, chunk: u32, xmin: u64) -> Job {
    let again = unit.done.contains(&chunk);
    let mut conditions = Vec::new();
    if let Some(filter) = &unit.filter {
        conditions.push(format!("({filter})"));
    }
    let first = u64::from(chunk) * unit.pages;
    if chunk > 0 {
        conditions.push(format!("ctid >= '({first},0)'::tid"));
    }
    // The last range has no end: the table may have grown.
    if chunk + 1 < unit.chunks {
        conditions.push(format!("ctid < '({},0)'::tid", first + unit.pages));
    }
    if again {
        // Written by a transaction that the first snapshot did not see in full. Only the lower
        // half of an id stands in a row; ages compare them.
        let low = xmin & 0xffff_ffff;
        conditions.push(format!("age(xmin) <= age('{low}'::xid)"));
    }
    let clause = if conditions.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", conditions.join(" AND "))
    };
    let sql = format!("COPY ({}{clause}) TO STDOUT", unit.select);
    Job { unit: index, table: unit.key.clone(), chunk, sql, columns: unit.columns, again }
}

/// Says which table could not be read, and by which right it could be.
fn of_table(error: Error, table: &str, user: &str) -> Error {
    let remedy = if sqlstate(&error) == Some("42501") {
        let user = quote_ident(user);
        Some(format!("GRANT SELECT ON {table} TO {user}; and USAGE on its schema"))
    } else {
        error.remedy().map(str::to_owned)
    };
    let named = Error::new(error.kind(), format!("read the table {table}")).with_source(error);
    match remedy {
        Some(remedy) => named.with_remedy(remedy),
        None => named,
    }
}

impl Worker {
    async fn run(mut self) {
        loop {
            let job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(job) = job else { break };
            match self.read(&job).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    // The receiver may be gone; then nobody wants to know.
                    let error = of_table(error, &job.table, &self.user);
                    let _ = self.sender.send(Err(error)).await;
                    return;
                }
            }
        }
        self.connection.close().await;
    }

    /// Reads a range. False: nobody listens.
    async fn read(&mut self, job: &Job) -> Result<bool> {
        self.connection.copy_out(&job.sql).await?;
        let (mut data, mut rows) = (self.buffer(), Vec::new());
        loop {
            let mut bad = None;
            let more = self
                .connection
                .copy_rows(|row| {
                    let start = data.len();
                    bad = append_copy_row(row, job.columns, &mut data).err().or(bad);
                    rows.push((start, data.len() - start));
                })
                .await?;
            if let Some(reason) = bad {
                return Err(Error::fatal(format!("a row of COPY cannot be read: {reason}")));
            }
            if !more {
                break;
            }
            if data.len() >= PIECE_BYTES || rows.len() >= self.max_rows {
                let next = self.buffer();
                let full = std::mem::replace(&mut data, next);
                if !self.give(job, full, std::mem::take(&mut rows), false).await? {
                    return Ok(false);
                }
            }
        }
        self.give(job, data, rows, !job.again).await
    }

    fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.buffers.take_vec();
        buffer.reserve(PIECE_BYTES + PIECE_BYTES / 4);
        buffer
    }

    async fn give(
        &mut self,
        job: &Job,
        data: Vec<u8>,
        rows: Vec<(usize, usize)>,
        done: bool,
    ) -> Result<bool> {
        let span = |(start, len): (usize, usize)| match (u32::try_from(start), u32::try_from(len)) {
            (Ok(start), Ok(len)) => Ok(Span { start, len }),
            _ => Err(Error::data("a row lies beyond 4 GiB in its batch")),
        };
        let rows = rows.into_iter().map(span).collect::<Result<Vec<_>>>()?;
        let cost = data.len() + rows.len() * 160;
        let Some(permit) = permit(&self.budget, cost, self.budget_bytes).await else {
            return Ok(false);
        };
        let data = Bytes::from(data);
        self.buffers.remember(&data);
        let piece = Piece { unit: job.unit, data, rows, done: done.then_some(job.chunk) };
        Ok(self.sender.send(Ok((piece, permit))).await.is_ok())
    }
}
