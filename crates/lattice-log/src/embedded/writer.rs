//! The one writer: takes requests from a queue bounded in bytes, writes all that wait in one
//! transaction, and answers when it is on disk.

use std::{
    fs::File,
    path::PathBuf,
    sync::{
        Arc, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use lattice_core::{Error, Result};
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{
    EmbeddedOptions, Shared,
    book::{Book, Failure},
    catalog::Catalog,
    errors, file,
};
use crate::log::{AppendRequest, SourceOffsetChange, TopicConfig, TopicPartition};

/// Requests that may wait, besides the limit in bytes.
const QUEUE: usize = 1024;

/// What is written in one transaction at most, so that its end comes soon. Units: bytes.
const TRANSACTION_BYTES: usize = 16 << 20;

/// How soon the writer looks after an idle log: moves the WAL into the file, or tries whether a
/// full disk has room again.
const IDLE_CHECK: Duration = Duration::from_secs(1);

/// A change to the log.
pub(crate) enum Change {
    Append(AppendRequest),
    CreateTopic { name: String, config: TopicConfig },
    DeleteTopic { name: String },
    CommitOffsets { group: String, offsets: Vec<(TopicPartition, i64)> },
    DeleteOffsets { group: String, partitions: Option<Vec<TopicPartition>> },
    SetSourceOffsets { connector: String, offsets: Vec<SourceOffsetChange> },
    PutDocuments { namespace: String, documents: Vec<(String, Option<Bytes>)> },
    Close,
}

impl Change {
    /// What it takes in the queue. Units: bytes.
    fn weight(&self) -> usize {
        match self {
            Self::Append(request) => request.len_bytes(),
            Self::PutDocuments { documents, .. } => documents
                .iter()
                .map(|(key, bytes)| key.len() + bytes.as_ref().map_or(0, Bytes::len))
                .sum(),
            Self::CreateTopic { .. }
            | Self::DeleteTopic { .. }
            | Self::CommitOffsets { .. }
            | Self::DeleteOffsets { .. }
            | Self::SetSourceOffsets { .. }
            | Self::Close => 0,
        }
    }
}

struct Request {
    change: Change,
    weight: usize,
    answer: oneshot::Sender<Result<Vec<i64>>>,
    _permit: OwnedSemaphorePermit,
}

/// The way to the writer.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::SyncSender<Request>,
    bytes: Arc<Semaphore>,
    limit: usize,
}

impl Writer {
    /// Hands a change over and waits until it is durable. For an append: the base offsets; for
    /// making and deleting a topic: 1 when it was done, else 0.
    pub(crate) async fn send(&self, change: Change) -> Result<Vec<i64>> {
        let closed = || Error::transient("the log is closed");
        let weight = change.weight();
        // One request larger than the queue passes alone; the least weight keeps the number of
        // requests below the channel's places, so that sending never blocks.
        let permits = weight.clamp(self.limit.div_ceil(QUEUE), self.limit);
        let permits = u32::try_from(permits).unwrap_or(u32::MAX);
        let bytes = Arc::clone(&self.bytes);
        let permit = bytes.acquire_many_owned(permits).await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        let request = Request { change, weight, answer, _permit: permit };
        self.queue.try_send(request).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Asks the writer to end after what waits.
    pub(crate) async fn close(&self) {
        // Refused means that it has ended already.
        self.send(Change::Close).await.ok();
    }
}

/// Starts the writer's thread.
pub(crate) fn start(
    connection: Connection,
    lock: File,
    path: PathBuf,
    shared: Arc<Shared>,
    options: &EmbeddedOptions,
) -> Result<(Writer, JoinHandle<()>)> {
    let (queue, requests) = mpsc::sync_channel(QUEUE);
    let limit = options.queue_bytes.clamp(1 << 20, u32::MAX as usize >> 4);
    let writer = Writer { queue, bytes: Arc::new(Semaphore::new(limit)), limit };
    let catalog = shared.catalog.read(Catalog::clone);
    let mut state = State {
        book: Book::new(connection, catalog, options.default_topic.clone()),
        path,
        shared,
        wal_bytes: 0,
        reserve_bytes: options.reserve_bytes,
        retention_check: options.retention_check,
        next_retention: Instant::now() + options.retention_check,
        _lock: lock,
    };
    let thread = thread::Builder::new()
        .name("log-writer".to_owned())
        .spawn(move || state.run(&requests))
        .map_err(|error| {
            Error::transient("starting the log's writer thread failed").with_source(error)
        })?;
    Ok((writer, thread))
}

struct State {
    book: Book,
    path: PathBuf,
    shared: Arc<Shared>,
    /// Written since the WAL was last moved into the file, about.
    wal_bytes: u64,
    reserve_bytes: u64,
    retention_check: Duration,
    next_retention: Instant,
    /// Given free after the connection is closed: fields are dropped in order.
    _lock: File,
}

impl State {
    fn run(&mut self, requests: &mpsc::Receiver<Request>) {
        loop {
            match requests.recv_timeout(self.patience()) {
                Ok(first) => {
                    if self.write(collect(first, requests)) {
                        break;
                    }
                    if self.wal_bytes >= file::CHECKPOINT_BYTES {
                        self.checkpoint();
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.look_after(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() >= self.next_retention {
                self.retain();
            }
        }
        if let Err(error) = file::finish(self.book.connection()) {
            tracing::warn!(%error, "moving the write-ahead log into the log file failed");
        }
    }

    /// How long the writer may sleep.
    fn patience(&self) -> Duration {
        let retention = self.next_retention.saturating_duration_since(Instant::now());
        if self.wal_bytes > 0 || self.is_troubled() { retention.min(IDLE_CHECK) } else { retention }
    }

    /// Writes requests and answers them; true: one of them asked to close.
    fn write(&mut self, mut requests: Vec<Request>) -> bool {
        let close = requests.iter().any(|request| matches!(request.change, Change::Close));
        let mut outcome = self.transaction(&requests);
        if outcome.is_err() && requests.len() > 1 {
            // Whoever is at fault must not take the others down with it.
            for request in requests.drain(..) {
                let alone = [request];
                let outcome = self.transaction(&alone);
                self.answer(alone, outcome);
            }
            outcome = Ok(Vec::new());
        }
        self.answer(requests, outcome);
        close
    }

    fn answer(
        &mut self,
        requests: impl IntoIterator<Item = Request>,
        outcome: Result<Vec<Vec<i64>>, Error>,
    ) {
        let mut outcome = outcome.map(Vec::into_iter);
        for request in requests {
            let answer = match &mut outcome {
                Ok(answers) => Ok(answers.next().unwrap_or_default()),
                Err(error) => Err(again(error)),
            };
            // The asker may have gone; what was written stays.
            request.answer.send(answer).ok();
        }
    }

    fn transaction(&mut self, requests: &[Request]) -> Result<Vec<Vec<i64>>> {
        match self.try_transaction(requests) {
            Ok(answers) => {
                // A change without records says nothing about the room for them.
                if requests.iter().any(|request| matches!(request.change, Change::Append(_))) {
                    self.settle(None);
                }
                let written: usize = requests.iter().map(|request| request.weight).sum();
                self.wal_bytes += written as u64 + 1;
                self.shared.commits.send_modify(|count| *count += 1);
                Ok(answers)
            }
            Err(failure) => {
                self.book.undo(&self.shared.catalog);
                Err(match failure {
                    Failure::Refused(error) => error,
                    Failure::Sqlite(error) => self.failed(error),
                })
            }
        }
    }

    fn try_transaction(&mut self, requests: &[Request]) -> Result<Vec<Vec<i64>>, Failure> {
        let records = |request: &Request| matches!(&request.change, Change::Append(_));
        if requests.iter().any(records) {
            self.check_reserve()?;
        }
        self.book.begin()?;
        let answers: Result<Vec<_>, Failure> =
            requests.iter().map(|request| self.book.apply(&request.change)).collect();
        let answers = answers?;
        self.book.commit(&self.shared.catalog)?;
        Ok(answers)
    }

    /// Whether the disk has room for records besides the reserve.
    fn check_reserve(&self) -> Result<()> {
        let free = file::free_bytes(&self.shared.folder);
        if free.is_none_or(|bytes| bytes >= self.reserve_bytes) {
            return Ok(());
        }
        let error = errors::full(&self.path, free);
        self.settle(Some(error.chain()));
        Err(error)
    }

    /// A failure of the file itself, which health shows from now on.
    fn failed(&self, error: rusqlite::Error) -> Error {
        let error = errors::write(&self.path, file::free_bytes(&self.shared.folder), error);
        self.settle(Some(error.chain()));
        error
    }

    fn is_troubled(&self) -> bool {
        self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Remembers whether the log can be written, and says so when that changes.
    fn settle(&self, trouble: Option<String>) {
        let mut current = self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*current, &trouble) {
            (None, Some(error)) => tracing::error!(%error, "the log cannot be written"),
            (Some(_), None) => tracing::info!("the log can be written again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        *current = trouble;
    }

    /// What is done when nobody asks for anything.
    fn look_after(&mut self) {
        let troubled = self.is_troubled();
        match file::give_back(self.book.connection(), troubled) {
            // The file gets shorter when the WAL is moved into it.
            Ok(gave) => self.wal_bytes += u64::from(gave),
            Err(error) => tracing::warn!(%error, "giving free room back to the disk failed"),
        }
        if self.wal_bytes > 0 {
            self.checkpoint();
        }
        if troubled && self.check_reserve().is_ok() {
            match file::probe(self.book.connection()) {
                Ok(()) => self.settle(None),
                Err(error) => {
                    self.book.undo(&self.shared.catalog);
                    self.failed(error);
                }
            }
        }
    }

    /// Moves the WAL into the file. Never waits for readers.
    fn checkpoint(&mut self) {
        self.wal_bytes = 0;
        if let Err(error) = file::checkpoint(self.book.connection()) {
            // What was answered is safe in the WAL; it is only not moved yet.
            tracing::warn!(%error, "moving the write-ahead log into the log file failed");
        }
    }

    /// One pass of retention; another follows soon when there is more to do.
    fn retain(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let more = self.try_retain(now_ms).unwrap_or_else(|error| {
            self.book.undo(&self.shared.catalog);
            let error = errors::write(&self.path, file::free_bytes(&self.shared.folder), error);
            tracing::warn!(error = %error.chain(), "deleting old records of the log failed");
            false
        });
        let pause = if more { Duration::ZERO } else { self.retention_check };
        self.next_retention = Instant::now() + pause;
    }

    fn try_retain(&mut self, now_ms: i64) -> rusqlite::Result<bool> {
        self.book.begin()?;
        let more = self.book.trim(now_ms)?;
        self.book.commit(&self.shared.catalog)?;
        // What was deleted stands in the WAL.
        self.wal_bytes += 1;
        if !more {
            file::give_back(self.book.connection(), false)?;
        }
        Ok(more)
    }
}

/// Takes what waits, up to a transaction's size.
fn collect(first: Request, requests: &mpsc::Receiver<Request>) -> Vec<Request> {
    let mut bytes = first.weight;
    let mut collected = vec![first];
    while bytes < TRANSACTION_BYTES
        && let Ok(next) = requests.try_recv()
    {
        bytes += next.weight;
        collected.push(next);
    }
    collected
}

/// The same error for each of the requests that shared the transaction.
fn again(error: &Error) -> Error {
    let copy = Error::new(error.kind(), error.to_string());
    match error.remedy() {
        Some(remedy) => copy.with_remedy(remedy),
        None => copy,
    }
}
