//! The log in one SQLite file, for one machine.
//!
//! One thread writes (`writer`): all requests that wait become one transaction, answered when
//! it is on disk. Readers have connections of their own and see WAL snapshots, so neither waits
//! for the other. What every append and fetch asks first is in memory (`catalog`).
//!
//! Durability: WAL with `synchronous=FULL`, so that SQLite syncs the WAL before a commit returns,
//! and an answer is given only after the commit. A crash of the process or of the machine thus
//! loses nothing that was answered, and a transaction is there wholly or not at all.

mod book;
mod catalog;
mod documents;
mod errors;
mod file;
mod readers;
mod retention;
mod statements;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use lattice_core::{BoxFuture, Error, Result, position::Position, store::DocumentStore};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use self::{
    catalog::SharedCatalog,
    documents::Documents,
    readers::Readers,
    writer::{Change, Writer},
};
use crate::log::{
    AppendRequest, Log, LogHealth, SourceOffsetChange, StoredBatch, TopicConfig, TopicInfo,
    TopicPartition,
};

/// How the embedded log is opened.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    /// The data folder; made if it is not there. The file in it is `lattice.db`.
    pub path: PathBuf,
    /// The configuration of topics that an append creates.
    pub default_topic: TopicConfig,
    /// What may wait to be written; beyond it appends wait to be queued. Units: bytes.
    pub queue_bytes: usize,
    /// How often retention and compaction look for old records.
    pub retention_check: Duration,
    /// What the file may take at most; beyond it the log behaves as on a full disk. Units: bytes.
    pub max_file_bytes: Option<u64>,
    /// What appends leave free on the disk, so that deleting topics and retention, which write
    /// before they free, still work when it is full. Units: bytes.
    pub reserve_bytes: u64,
}

impl EmbeddedOptions {
    /// The defaults, in a data folder.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            default_topic: TopicConfig::default(),
            queue_bytes: 32 << 20,
            retention_check: Duration::from_secs(30),
            max_file_bytes: None,
            reserve_bytes: 64 << 20,
        }
    }
}

/// What the writer tells the others.
pub(crate) struct Shared {
    folder: PathBuf,
    catalog: SharedCatalog,
    /// Counts commits; waiting fetches watch it.
    commits: watch::Sender<u64>,
    /// Why the log cannot be written at the moment.
    trouble: Mutex<Option<String>>,
}

/// The embedded log.
pub struct EmbeddedLog {
    shared: Arc<Shared>,
    writer: Writer,
    readers: Arc<Readers>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl EmbeddedLog {
    /// Opens the log, making it when the folder has none. Blocks for moments: call it at start.
    ///
    /// Errors: `Config` for a folder that cannot be written or that another process uses, for a
    /// file that is not a log or that a newer Lattice wrote; `Fatal` for a damaged file.
    pub fn open(options: EmbeddedOptions) -> Result<Arc<Self>> {
        let lock = file::lock(&options.path)?;
        let path = options.path.join(file::NAME);
        let connection = file::open_writer(&path, options.max_file_bytes)?;
        let catalog = catalog::load(&connection).map_err(|error| errors::open(&path, error))?;
        let shared = Arc::new(Shared {
            folder: options.path.clone(),
            catalog: SharedCatalog::new(catalog),
            commits: watch::Sender::new(0),
            trouble: Mutex::new(None),
        });
        let readers = Arc::new(Readers::new(path.clone()));
        let (writer, thread) =
            writer::start(connection, lock, path, Arc::clone(&shared), &options)?;
        Ok(Arc::new(Self { shared, writer, readers, thread: Mutex::new(Some(thread)) }))
    }

    /// Writes what waits, moves everything into the one file and gives the folder free.
    /// Requests that come later get an error.
    pub async fn close(&self) -> Result<()> {
        self.writer.close().await;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.readers.close();
        let Some(thread) = thread else { return Ok(()) };
        let ended = tokio::task::spawn_blocking(move || thread.join()).await;
        match ended {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Error::fatal("the log's writer thread panicked")
                .with_remedy("report it with the log output before it")),
        }
    }

    /// The file that holds everything.
    #[must_use]
    pub fn file(&self) -> &Path {
        self.readers.path()
    }

    async fn read_batches(
        &self,
        readable: Vec<catalog::Readable>,
        max_bytes: usize,
    ) -> Result<Vec<StoredBatch>> {
        let read = move |connection: &rusqlite::Connection| {
            readers::batches(connection, &readable, max_bytes)
        };
        let found = self.readers.run(read).await?;
        for stored in &found {
            crate::RecordBatchReader::new(&stored.bytes)
                .map_err(|error| errors::damaged_batch(self.file(), stored, error))?;
        }
        Ok(found)
    }
}

impl Log for EmbeddedLog {
    fn create_topic<'a>(
        &'a self,
        name: &'a str,
        config: TopicConfig,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            catalog::check_name(name)?;
            catalog::check_config(name, &config)?;
            let change = Change::CreateTopic { name: name.to_owned(), config };
            Ok(self.writer.send(change).await? == [1])
        })
    }

    fn delete_topic<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let change = Change::DeleteTopic { name: name.to_owned() };
            Ok(self.writer.send(change).await? == [1])
        })
    }

    fn topics(&self) -> BoxFuture<'_, Result<Vec<TopicInfo>>> {
        Box::pin(async { Ok(self.shared.catalog.read(catalog::Catalog::infos)) })
    }

    fn topic<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<TopicInfo>>> {
        Box::pin(async move { Ok(self.shared.catalog.read(|catalog| catalog.info(name))) })
    }

    fn append(&self, request: AppendRequest) -> BoxFuture<'_, Result<Vec<i64>>> {
        Box::pin(self.writer.send(Change::Append(request)))
    }

    fn fetch(
        &self,
        from: Vec<(TopicPartition, i64)>,
        max_bytes: usize,
        max_wait: Duration,
    ) -> BoxFuture<'_, Result<Vec<StoredBatch>>> {
        Box::pin(async move {
            let deadline = Instant::now() + max_wait;
            let mut commits = self.shared.commits.subscribe();
            loop {
                commits.borrow_and_update();
                let readable = self.shared.catalog.read(|catalog| catalog.readable(&from))?;
                if !readable.is_empty() {
                    let found = self.read_batches(readable, max_bytes).await?;
                    if !found.is_empty() {
                        return Ok(found);
                    }
                }
                let Ok(Ok(())) = timeout_at(deadline, commits.changed()).await else {
                    return Ok(Vec::new());
                };
            }
        })
    }

    fn commit_offsets<'a>(
        &'a self,
        group: &'a str,
        offsets: Vec<(TopicPartition, i64)>,
    ) -> BoxFuture<'a, Result<()>> {
        let change = Change::CommitOffsets { group: group.to_owned(), offsets };
        Box::pin(async move { self.writer.send(change).await.map(drop) })
    }

    fn committed_offsets<'a>(
        &'a self,
        group: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(TopicPartition, i64)>>> {
        let group = group.to_owned();
        Box::pin(self.readers.run(move |connection| readers::committed_offsets(connection, &group)))
    }

    fn delete_offsets<'a>(
        &'a self,
        group: &'a str,
        partitions: Option<Vec<TopicPartition>>,
    ) -> BoxFuture<'a, Result<()>> {
        let change = Change::DeleteOffsets { group: group.to_owned(), partitions };
        Box::pin(async move { self.writer.send(change).await.map(drop) })
    }

    fn groups(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(self.readers.run(readers::groups))
    }

    fn source_offsets<'a>(&'a self, connector: &'a str) -> BoxFuture<'a, Result<Vec<Position>>> {
        let name = connector.to_owned();
        Box::pin(async move {
            let read = move |db: &rusqlite::Connection| readers::source_offsets(db, &name);
            let stored = self.readers.run(read).await?;
            let position = |(partition, offset): (String, String)| {
                let parse = |text: &str| {
                    serde_json::from_str(text)
                        .map_err(|error| errors::damaged_offset(self.file(), connector, error))
                };
                Ok(Position { partition: parse(&partition)?, offset: parse(&offset)? })
            };
            stored.into_iter().map(position).collect()
        })
    }

    fn set_source_offsets<'a>(
        &'a self,
        connector: &'a str,
        offsets: Vec<SourceOffsetChange>,
    ) -> BoxFuture<'a, Result<()>> {
        let change = Change::SetSourceOffsets { connector: connector.to_owned(), offsets };
        Box::pin(async move { self.writer.send(change).await.map(drop) })
    }

    fn documents(&self) -> Arc<dyn DocumentStore> {
        Arc::new(Documents::new(self.writer.clone(), Arc::clone(&self.readers)))
    }

    fn health(&self) -> LogHealth {
        let message = self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        LogHealth {
            writable: message.is_none(),
            message,
            bytes: file::size(&self.shared.folder),
            free_bytes: file::free_bytes(&self.shared.folder),
        }
    }
}
