//! Writes a source's batches: encode, compress, append, each while the next batch is encoded.
//!
//! Batches are grouped while an append is in flight or more of them wait: idle, each goes at
//! once; under load they grow to [`GROUP_BYTES`], so that compression and the log's transactions
//! are worth their cost. Order is kept, since one group at a time is compressed and one appended.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use lattice_codec::Encoder;
use lattice_core::{error::Result, event::SourceBatch, position::Position};
use lattice_log::{
    AppendRequest, BatchSetBuilder, EncodedBatch, RawBatch, SourceOffset, Transactions,
};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    creation::Creation,
    dead_letter::{self, Tolerance},
    exactly_once::ExactlyOnce,
    overrides,
    press::{Press, compression},
    report::{Report, lock, now_ms},
    retry::{self, Backoff, Decision},
    source::joined,
    task::{ActiveTopics, TaskRun},
    worker::Shared,
};

/// A group is full from here. Units: bytes before compression.
const GROUP_BYTES: usize = 1 << 20;

/// A waiting group is compressed during an append from here on.
const EARLY_BYTES: usize = 512 << 10;

/// A group has at most so many batches, also when they have no records, so that positions move.
const GROUP_BATCHES: usize = 1024;

/// Work on fewer bytes than these takes well under half a millisecond and is not worth another
/// thread.
const INLINE_BYTES: usize = 32 << 10;

/// A full disk is looked at again this often at the latest.
const LONGEST_LOG_WAIT: Duration = Duration::from_secs(2);

/// A batch on its way, with its place in the budget.
pub(crate) struct Work {
    pub(crate) batch: SourceBatch,
    /// Units: bytes.
    pub(crate) cost: usize,
    pub(crate) permit: OwnedSemaphorePermit,
}

/// Batches that become durable together.
#[derive(Default)]
struct Group {
    /// Where the last of them ends; `None`: there is none.
    position: Option<Position>,
    permits: Vec<OwnedSemaphorePermit>,
    events: u64,
    bytes: u64,
    /// Source time of the last event. Units: ms since the Unix epoch; 0: no event.
    last_event_ms: i64,
}

/// A group, compressed.
struct Packed {
    batches: Vec<EncodedBatch>,
    group: Group,
}

/// A transaction that ends by the clock.
struct Open {
    /// When it began.
    since: Instant,
    /// What is in it so far.
    group: Group,
}

/// How an append stands in its transaction.
#[derive(Clone, Copy)]
struct Place {
    /// Nothing was written in the transaction before.
    first: bool,
    /// It ends with this.
    last: bool,
}

/// Partitions of the topics written so far.
#[derive(Default)]
struct TopicBook {
    partitions: HashMap<String, i32>,
    /// Not known to the log yet.
    new: Vec<String>,
}

/// What appending needs; shared with the append in flight.
struct Appender {
    shared: Arc<Shared>,
    report: Arc<Report>,
    topics: Arc<ActiveTopics>,
    book: Arc<Mutex<TopicBook>>,
    connector: String,
    creation: Arc<Creation>,
    transactions: Option<Arc<dyn Transactions>>,
}

/// Writes what comes out of a task's queue.
pub(crate) struct Writer {
    press: Option<Press>,
    appender: Arc<Appender>,
    durable: watch::Sender<Option<Position>>,
    open: Group,
    compressing: Option<AbortOnDropHandle<Result<Packed>>>,
    packed: Option<Packed>,
    appending: Option<AbortOnDropHandle<Result<(Group, Place)>>>,
    /// How long a transaction lasts; `None`: as long as an append.
    interval: Option<Duration>,
    /// The transaction that is open between appends.
    transaction: Option<Open>,
    /// Some position is durable: until then a crash would begin everything again.
    positioned: bool,
    /// Nothing comes any more.
    closed: bool,
}

impl Writer {
    /// Errors: `Config`, and the log's own.
    pub(crate) async fn new(
        run: &TaskRun,
        encoder: Encoder,
        durable: watch::Sender<Option<Position>>,
        exactly_once: Option<ExactlyOnce>,
    ) -> Result<Self> {
        let positioned = exactly_once.as_ref().is_none_or(|exactly_once| exactly_once.positioned);
        let interval = exactly_once.as_ref().and_then(|exactly_once| exactly_once.interval);
        let config = &run.config.config;
        let shared = &run.shared.config;
        let creation = Creation::from_config(config, &shared.default_topic, &shared.settings)?;
        let creation = Arc::new(creation);
        let mut book = TopicBook::default();
        for topic in run.shared.log.topics().await? {
            book.partitions.insert(topic.name.to_string(), topic.config.partitions);
        }
        let book = Arc::new(Mutex::new(book));
        let partitions_of = partitions_of(Arc::clone(&book), Arc::clone(&creation));
        let builder = BatchSetBuilder::new(partitions_of, compression(config)?)
            .with_max_batch_bytes(overrides::batch_bytes(config, GROUP_BYTES)?);
        let max_request = overrides::max_request(config)?;
        let connector = run.config.connector.clone();
        let press = Press {
            encoder,
            builder,
            tolerance: Tolerance::from_config(config)?,
            report: Arc::clone(&run.report),
            connector: connector.clone(),
            max_request,
        };
        let appender = Appender {
            shared: Arc::clone(&run.shared),
            report: Arc::clone(&run.report),
            topics: Arc::clone(&run.topics),
            book,
            connector,
            creation,
            transactions: exactly_once.map(|exactly_once| exactly_once.transactions),
        };
        Ok(Self {
            press: Some(press),
            appender: Arc::new(appender),
            durable,
            open: Group::default(),
            compressing: None,
            packed: None,
            appending: None,
            interval,
            transaction: None,
            positioned,
            closed: false,
        })
    }

    /// Runs until the queue is closed and all of it is durable, or an error.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Work>) -> Result<()> {
        loop {
            self.advance(queue.is_empty())?;
            let full = self.held_bytes() >= GROUP_BYTES;
            let idle = self.compressing.is_none()
                && self.appending.is_none()
                && self.packed.is_none()
                && self.open.position.is_none();
            if self.closed && idle {
                if self.transaction.is_none() {
                    return Ok(());
                }
                self.end_transaction();
            }
            let end = self.transaction.as_ref().zip(self.interval);
            let end = end.map(|(open, interval)| open.since + interval);
            tokio::select! {
                biased;
                appended = stage(&mut self.appending), if self.appending.is_some() => {
                    self.appending = None;
                    let (group, place) = appended?;
                    self.settle(group, place);
                }
                () = at(end), if idle && end.is_some() && self.appending.is_none() => {
                    self.end_transaction();
                }
                packed = stage(&mut self.compressing), if self.compressing.is_some() => {
                    self.compressing = None;
                    self.packed = Some(packed?);
                }
                work = queue.recv(), if !self.closed && !full => match work {
                    Some(work) => self.take(work).await?,
                    None => self.closed = true,
                },
            }
        }
    }

    fn held_bytes(&self) -> usize {
        self.press.as_ref().map_or(0, |press| press.builder.len_bytes())
    }

    /// Starts every stage that can start. `idle`: no batch waits to join the open group.
    fn advance(&mut self, idle: bool) -> Result<()> {
        if self.appending.is_none()
            && let Some(packed) = self.packed.take()
        {
            self.append(packed);
        }
        let large = self.held_bytes() >= EARLY_BYTES || self.open.permits.len() >= GROUP_BATCHES;
        let worth = (self.appending.is_none() && idle) || large;
        let free = self.compressing.is_none() && self.packed.is_none();
        if free && worth && self.open.position.is_some() {
            self.compress()?;
        }
        Ok(())
    }

    fn compress(&mut self) -> Result<()> {
        let Some(press) = &mut self.press else { return Ok(()) };
        let small = press.builder.len_bytes() < INLINE_BYTES;
        let mut raw = press.builder.finish();
        press.sift(&mut raw)?;
        let mut group = std::mem::take(&mut self.open);
        group.bytes = raw.iter().map(|batch| batch.len_bytes() as u64).sum();
        if small && self.appending.is_none() {
            let packed = pack(raw, group)?;
            self.append(packed);
        } else {
            let compress = tokio::task::spawn_blocking(move || pack(raw, group));
            self.compressing = Some(AbortOnDropHandle::new(compress));
        }
        Ok(())
    }

    /// Starts an append.
    fn append(&mut self, packed: Packed) {
        let mut place = Place { first: true, last: true };
        if let Some(interval) = self.interval {
            place.first = self.transaction.is_none();
            let new = || Open { since: Instant::now(), group: Group::default() };
            let open = self.transaction.get_or_insert_with(new);
            place.last = self.closed || !self.positioned || open.since.elapsed() >= interval;
        }
        let appender = Arc::clone(&self.appender);
        let append = async move { Ok((appender.append(packed, place).await?, place)) };
        self.appending = Some(AbortOnDropHandle::new(tokio::spawn(append)));
    }

    /// Ends a transaction whose time has come, or after which nothing comes.
    fn end_transaction(&mut self) {
        let position = self.transaction.as_ref().and_then(|open| open.group.position.clone());
        let group = Group { position, ..Group::default() };
        self.append(Packed { batches: Vec::new(), group });
    }

    /// Encodes a batch into the open group.
    async fn take(&mut self, work: Work) -> Result<()> {
        let Some(mut press) = self.press.take() else { return Ok(()) };
        press.encoder.prepare(&work.batch).await?;
        let Work { batch, cost, permit } = work;
        let (press, batch) = if cost < INLINE_BYTES {
            press.encode(&batch)?;
            (press, batch)
        } else {
            let encode = tokio::task::spawn_blocking(move || {
                press.encode(&batch)?;
                Ok((press, batch))
            });
            joined(encode.await)?
        };
        self.press = Some(press);
        let group = &mut self.open;
        group.events += batch.events.len() as u64;
        if let Some(last) = batch.events.last() {
            group.last_event_ms = last.origin.ts_us / 1000;
        }
        group.position = Some(batch.position);
        group.permits.push(permit);
        Ok(())
    }

    /// A group was appended. When it is durable with all of its transaction, and not before, its position moves.
    fn settle(&mut self, mut group: Group, place: Place) {
        if let Some(open) = self.transaction.as_mut().map(|open| &mut open.group) {
            group.events += open.events;
            group.bytes += open.bytes;
            group.last_event_ms = group.last_event_ms.max(open.last_event_ms);
            if !place.last {
                // Its room is free for others: what is in the log needs none.
                group.permits.clear();
                *open = group;
                return;
            }
        }
        self.transaction = None;
        self.positioned = true;
        let report = &self.appender.report;
        report.durable(group.events, group.bytes);
        if group.last_event_ms > 0 {
            report.set_behind_ms(now_ms() - group.last_event_ms);
        } else {
            // Only the position moved: the source has come to the end of its own log.
            report.set_behind_ms(0);
        }
        self.durable.send_replace(group.position);
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

/// Waits for a stage; a panic in it goes on here.
async fn stage<T>(stage: &mut Option<AbortOnDropHandle<Result<T>>>) -> Result<T> {
    match stage {
        Some(handle) => joined(handle.await),
        None => std::future::pending().await,
    }
}

fn pack(raw: Vec<RawBatch>, group: Group) -> Result<Packed> {
    let batches = raw.into_iter().map(RawBatch::compress).collect::<Result<_>>()?;
    Ok(Packed { batches, group })
}

impl Appender {
    /// Appends until it is durable. While the log cannot be written, it waits and says so:
    /// reading then stops by itself when the budget is used up, and nothing is lost.
    async fn append(&self, packed: Packed, place: Place) -> Result<Group> {
        let Packed { batches, group } = packed;
        let source_offset = group
            .position
            .clone()
            .filter(|_| place.last)
            .map(|position| SourceOffset { connector: self.connector.clone(), position });
        let longest = self.shared.config.backoff.longest.min(LONGEST_LOG_WAIT);
        let backoff = Backoff { longest, ..self.shared.config.backoff };
        let mut attempt = 0;
        loop {
            let request =
                AppendRequest { batches: batches.clone(), source_offset: source_offset.clone() };
            let Err(error) = self.try_append(request).await else { break };
            if !place.first {
                // What was written before in the transaction is undone too: all of it is read again.
                return Err(error);
            }
            let Decision::Retry(wait) = retry::decide(&error, attempt, None, backoff) else {
                return Err(error);
            };
            attempt += 1;
            let text = format!(
                "the log takes no records ({}); reading is held and goes on when it does",
                error.chain()
            );
            tracing::warn!(error = error.chain(), attempt, "append is tried again");
            self.report.note("log", Some(text));
            tokio::time::sleep(wait).await;
        }
        if attempt > 0 {
            self.report.note("log", None);
        }
        Ok(group)
    }

    async fn try_append(&self, request: AppendRequest) -> Result<()> {
        let new = lock(&self.book).new.clone();
        for topic in &new {
            self.creation.allowed(topic)?;
            let mut config = self.creation.of(topic);
            if *topic == dead_letter::source_topic(&self.connector) {
                config.partitions = 1;
            }
            self.shared.log.create_topic(topic, config).await?;
        }
        lock(&self.book).new.retain(|topic| !new.contains(topic));
        self.topics.add(request.batches.iter().map(|batch| &*batch.topic)).await?;
        match &self.transactions {
            Some(transactions) => transactions.append(request).await?,
            None => self.shared.log.append(request).await?,
        };
        Ok(())
    }
}

fn partitions_of(
    book: Arc<Mutex<TopicBook>>,
    creation: Arc<Creation>,
) -> Box<dyn FnMut(&str) -> i32 + Send> {
    Box::new(move |topic| {
        let mut book = lock(&book);
        if let Some(partitions) = book.partitions.get(topic) {
            return *partitions;
        }
        let partitions =
            if topic.starts_with("lattice.errors.") { 1 } else { creation.of(topic).partitions };
        book.partitions.insert(topic.to_owned(), partitions);
        book.new.push(topic.to_owned());
        partitions
    })
}
