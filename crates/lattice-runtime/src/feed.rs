//! What a sink task reads: its share of the topics' partitions, fetched and decoded ahead of the
//! sink.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use lattice_codec::{Decoded, Decoder, FetchedRecords};
use lattice_core::{
    config::Config,
    error::{Error, Result},
};
use lattice_log::{
    Log, PartitionInfo, RecordBatchReader, RecordSet, StoredBatch, TopicInfo, TopicPartition,
};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
};

use crate::{
    keys, offsets, overrides,
    report::{Delivered, Report},
    source::{joined, permit},
    task::{ActiveTopics, TaskRun},
    validate::{full_match, named_topics},
};

/// How much is fetched at once: large enough to be worth a query, small enough to be decoded
/// while the sink writes the piece before; a connector may ask for less. Units: compressed bytes.
const FETCH_BYTES: usize = 512 << 10;

/// Batches are decoded together up to here: many small ones are one piece of work, and large ones
/// are not copied together. Units: compressed bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Decoding less than this takes well under half a millisecond and is not worth another thread.
const INLINE_BYTES: usize = 32 << 10;

/// What an event costs beside its record's bytes.
const EVENT_BYTES: usize = 160;

/// How soon a sink without any partition looks again at the latest.
const EMPTY_WAIT: Duration = Duration::from_millis(500);

/// A piece of work for the sink.
pub(crate) struct Fed {
    pub(crate) decoded: Decoded,
    /// Where each partition stands once this is durable.
    pub(crate) next: Vec<(TopicPartition, Delivered)>,
    /// Units: bytes, decompressed.
    pub(crate) bytes: u64,
    /// Its place in the task's budget, until the sink has it.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

/// Which topics a sink reads.
enum Subscription {
    Named(Vec<String>),
    Matching(regex::Regex),
}

/// Fetches and decodes.
pub(crate) struct Feed {
    log: Arc<dyn Log>,
    report: Arc<Report>,
    topics: Arc<ActiveTopics>,
    decoder: Option<Decoder>,
    subscription: Subscription,
    group: String,
    task: usize,
    tasks: usize,
    from_latest: bool,
    fetch_bytes: usize,
    refresh: Duration,
    /// Units: bytes, decompressed, between here and the sink.
    budget: Arc<Semaphore>,
    total: usize,
    positions: BTreeMap<TopicPartition, i64>,
    /// Where partitions stand in the target, if it keeps that: it wins over the group's offsets.
    in_target: BTreeMap<TopicPartition, i64>,
    refreshed: Option<Instant>,
}

impl Feed {
    /// Errors: `Config`.
    pub(crate) fn new(run: &TaskRun, decoder: Decoder) -> Result<Self> {
        let config = &run.config.config;
        // A few pieces are enough to keep the sink busy; the rest of the task's bytes is the sink's.
        let ahead = run.shared.config.task_bytes / 4;
        Ok(Self {
            log: Arc::clone(&run.shared.log),
            report: Arc::clone(&run.report),
            topics: Arc::clone(&run.topics),
            decoder: Some(decoder),
            subscription: subscription(config)?,
            group: offsets::group(&run.config.connector, config),
            task: run.config.task as usize,
            tasks: run.tasks,
            from_latest: from_latest(config)?,
            fetch_bytes: overrides::fetch_bytes(config, FETCH_BYTES)?,
            refresh: run.shared.config.topic_refresh,
            budget: Arc::new(Semaphore::new(ahead)),
            total: ahead,
            positions: BTreeMap::new(),
            in_target: BTreeMap::new(),
            refreshed: None,
        })
    }

    /// Where partitions stand in the target: there they are read on.
    pub(crate) fn resume(&mut self, positions: Vec<(Arc<str>, i32, i64)>) {
        let place = |(topic, partition, next)| (TopicPartition { topic, partition }, next);
        self.in_target = positions.into_iter().map(place).collect();
    }

    /// Runs until the sink no longer listens, or an error.
    pub(crate) async fn run(mut self, out: mpsc::Sender<Fed>) -> Result<()> {
        while !out.is_closed() {
            let wait = self.assign_if_due().await?;
            if self.positions.is_empty() {
                tokio::select! {
                    () = out.closed() => return Ok(()),
                    () = tokio::time::sleep(wait) => continue,
                }
            }
            let from = self.positions.iter().map(|(place, next)| (place.clone(), *next)).collect();
            let batches = tokio::select! {
                () = out.closed() => return Ok(()),
                batches = self.log.fetch(from, self.fetch_bytes, wait) => batches,
            };
            let batches = match batches {
                Ok(batches) => batches,
                Err(error) if self.moved().await? => {
                    tracing::warn!(error = error.chain(), "positions were corrected");
                    continue;
                }
                Err(error) => return Err(error),
            };
            if batches.is_empty() {
                continue;
            }
            for piece in pieces(batches) {
                if !self.feed(piece, &out).await? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Decodes a piece and gives it to the sink. False: the sink no longer listens.
    async fn feed(&mut self, piece: Vec<StoredBatch>, out: &mpsc::Sender<Fed>) -> Result<bool> {
        let mut fed = self.decode(piece).await?;
        for (place, delivered) in &fed.next {
            self.positions.insert(place.clone(), delivered.next);
        }
        let topics: BTreeSet<_> = fed.next.iter().map(|(place, _)| &*place.topic).collect();
        self.topics.add(topics.into_iter()).await?;
        let bytes = usize::try_from(fed.bytes).unwrap_or(usize::MAX);
        let events = fed.decoded.batch.events.len() * EVENT_BYTES;
        let cost = bytes.saturating_add(events).clamp(1, self.total);
        fed.permit = tokio::select! {
            () = out.closed() => return Ok(false),
            permit = permit(&self.budget, Some(cost)) => Some(permit?),
        };
        Ok(out.send(fed).await.is_ok())
    }

    /// Looks for new topics and partitions when it is time. Returns how long until the next time.
    async fn assign_if_due(&mut self) -> Result<Duration> {
        let every = match self.positions.is_empty() {
            true => self.refresh.min(EMPTY_WAIT),
            false => self.refresh,
        };
        let since = self.refreshed.map(|at| at.elapsed());
        if let Some(since) = since.filter(|since| *since < every) {
            return Ok(every - since);
        }
        self.refreshed = Some(Instant::now());
        let topics = self.log.topics().await?;
        let mine = self.share(&topics);
        self.positions.retain(|place, _| mine.contains_key(place));
        if mine.keys().any(|place| !self.positions.contains_key(place)) {
            let committed = self.log.committed_offsets(&self.group).await?;
            let committed: BTreeMap<_, _> = committed.into_iter().collect();
            for (place, info) in &mine {
                if !self.positions.contains_key(place) {
                    let known = self.in_target.get(place).or(committed.get(place)).copied();
                    let start = self.start(known, info);
                    self.positions.insert(place.clone(), start);
                }
            }
        }
        for (place, next) in &mut self.positions {
            if let Some(info) = mine.get(place) {
                *next = within(*next, info, place, &self.report);
            }
        }
        self.report.assign(&self.positions);
        Ok(every)
    }

    /// Looks at the partitions anew. True: a position had to move, for example since a topic was
    /// made anew, so that a failed fetch is worth another try.
    async fn moved(&mut self) -> Result<bool> {
        let before = self.positions.clone();
        self.refreshed = None;
        self.assign_if_due().await?;
        Ok(self.positions != before)
    }

    /// This task's partitions: every `tasks`-th of all, by topic and number.
    fn share(&self, topics: &[TopicInfo]) -> BTreeMap<TopicPartition, PartitionInfo> {
        let wanted = |topic: &&TopicInfo| match &self.subscription {
            Subscription::Named(names) => names.iter().any(|name| **name == *topic.name),
            Subscription::Matching(regex) => !topic.internal && regex.is_match(&topic.name),
        };
        let mut all: Vec<_> = topics
            .iter()
            .filter(wanted)
            .flat_map(|topic| {
                topic.partitions.iter().map(|info| {
                    let topic = Arc::clone(&topic.name);
                    (TopicPartition { topic, partition: info.partition }, *info)
                })
            })
            .collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        let mine = all.into_iter().enumerate();
        let mine = mine.filter(|(index, _)| index % self.tasks.max(1) == self.task);
        mine.map(|(_, partition)| partition).collect()
    }

    fn start(&self, committed: Option<i64>, info: &PartitionInfo) -> i64 {
        match committed {
            Some(offset) => offset,
            None if self.from_latest => info.end_offset,
            None => info.log_start_offset,
        }
    }

    async fn decode(&mut self, batches: Vec<StoredBatch>) -> Result<Fed> {
        let positions = self.positions.clone();
        let Some(decoder) = self.decoder.take() else {
            return Err(Error::fatal("the decoder was lost"));
        };
        let size: usize = batches.iter().map(|batch| batch.bytes.len()).sum();
        let (decoder, fed) = if size < INLINE_BYTES {
            decode(decoder, batches, &positions).await?
        } else {
            let handle = Handle::current();
            let work = move || handle.block_on(decode(decoder, batches, &positions));
            joined(tokio::task::spawn_blocking(work).await)?
        };
        self.decoder = Some(decoder);
        Ok(fed)
    }
}

/// What is decoded at once, in order.
fn pieces(batches: Vec<StoredBatch>) -> Vec<Vec<StoredBatch>> {
    let mut pieces: Vec<Vec<StoredBatch>> = Vec::new();
    let mut room = 0;
    for batch in batches {
        let size = batch.bytes.len();
        match pieces.last_mut().filter(|_| size <= room) {
            Some(piece) => {
                room -= size;
                piece.push(batch);
            }
            None => {
                room = PIECE_BYTES.saturating_sub(size);
                pieces.push(vec![batch]);
            }
        }
    }
    pieces
}

async fn decode(
    mut decoder: Decoder,
    batches: Vec<StoredBatch>,
    positions: &BTreeMap<TopicPartition, i64>,
) -> Result<(Decoder, Fed)> {
    let mut fetched = Vec::with_capacity(batches.len());
    let mut next: BTreeMap<TopicPartition, Delivered> = BTreeMap::new();
    let mut bytes = 0;
    for batch in batches {
        let from = positions.get(&batch.partition).copied().unwrap_or(0);
        let reader = RecordBatchReader::new(&batch.bytes)?;
        let timestamp_ms = reader.max_timestamp_ms();
        let delivered = Delivered { next: batch.last_offset + 1, timestamp_ms };
        next.insert(batch.partition.clone(), delivered);
        if reader.is_control() {
            continue;
        }
        let records = reader.read()?;
        bytes += records.data.len() as u64;
        fetched.push(fetched_records(&batch.partition, records, from));
    }
    let decoded = decoder.decode(fetched).await?;
    Ok((decoder, Fed { decoded, next: next.into_iter().collect(), bytes, permit: None }))
}

/// A batch's records from an offset on, as the decoder takes them.
pub(crate) fn fetched_records(place: &TopicPartition, set: RecordSet, from: i64) -> FetchedRecords {
    let mut records = set.records;
    records.retain(|record| record.offset >= from);
    FetchedRecords {
        topic: Arc::clone(&place.topic),
        partition: place.partition,
        data: set.data,
        records,
    }
}

/// A position that lies outside of what the partition has moves inside, and says so: it is a gap
/// that a person must know of.
fn within(next: i64, info: &PartitionInfo, place: &TopicPartition, report: &Report) -> i64 {
    let text = if next < info.log_start_offset {
        format!(
            "records {next} to {} of {place} were deleted by retention before they were delivered; \
             raise the topic's retention, and snapshot the table again",
            info.log_start_offset - 1
        )
    } else if next > info.end_offset {
        format!(
            "offset {next} of {place} is beyond its end {}: the topic was made anew, it is read \
             from its beginning",
            info.end_offset
        )
    } else {
        return next;
    };
    tracing::warn!(partition = %place, text, "offset out of range");
    report.note("offsets", Some(text));
    info.log_start_offset
}

fn subscription(config: &Config) -> Result<Subscription> {
    let regex = config.text(&keys::TOPICS_REGEX).unwrap_or_default().trim();
    if regex.is_empty() {
        return Ok(Subscription::Named(named_topics(config)));
    }
    let regex = full_match(regex).map_err(|error| {
        config.invalid(&keys::TOPICS_REGEX, "not a regular expression").with_source(error)
    })?;
    Ok(Subscription::Matching(regex))
}

fn from_latest(config: &Config) -> Result<bool> {
    let name = "consumer.override.auto.offset.reset";
    match config.get(name).map(str::trim) {
        None | Some("earliest") => Ok(false),
        Some("latest") => Ok(true),
        Some(word) => {
            Err(Error::config(format!("invalid value for configuration \"{name}\": \"{word}\""))
                .with_remedy("use earliest or latest"))
        }
    }
}
