//! Reads batches as the brokers keep them.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use kafka_protocol::{
    error::ResponseError,
    messages::{
        FetchRequest, FetchResponse, TopicName,
        fetch_request::{FetchPartition, FetchTopic},
        fetch_response::PartitionData,
    },
    protocol::StrBytes,
};
use lattice_core::{Error, Result};
use tokio::sync::mpsc;

use super::{
    cluster::Cluster,
    fault::Fault,
    offsets::{self, Isolation},
    retry::Retry,
};
use crate::{
    log::{StoredBatch, TopicPartition},
    record_batch::{Head, withheld},
};

/// How soon topics and leaders that are not there are looked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A cluster that does not answer is asked for so long before whoever fetches is told.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a partition is read from.
type Places = Vec<(TopicPartition, i64)>;

/// Fetches.
pub(crate) struct Fetcher {
    cluster: Arc<Cluster>,
    /// Lets each fetch begin at another partition, so that none is always last.
    turn: AtomicUsize,
}

/// What the brokers gave, and what is to be done before they are asked again.
#[derive(Default)]
struct Catch {
    batches: Vec<StoredBatch>,
    /// Read from outside of what the partition has.
    outside: Vec<(TopicPartition, i64)>,
    fault: Option<Fault>,
}

impl Fetcher {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self { cluster, turn: AtomicUsize::new(0) }
    }

    /// The contract is [`Log::fetch`](crate::Log::fetch)'s. What aborted transactions wrote comes
    /// as batches without records for readers.
    pub(crate) async fn fetch(
        &self,
        mut from: Places,
        max_bytes: usize,
        max_wait: Duration,
    ) -> Result<Vec<StoredBatch>> {
        let deadline = Instant::now() + max_wait;
        let mut retry = Retry::within(max_wait.max(PATIENCE));
        if !from.is_empty() {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % from.len();
            from.rotate_left(turn);
        }
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut caught = self.round(&from, max_bytes, left).await;
            if !caught.batches.is_empty() {
                return Ok(limited(caught.batches, max_bytes));
            }
            if !caught.outside.is_empty() {
                for (place, offset) in caught.outside {
                    let start = self.start_of(&place, offset).await?;
                    from.iter_mut().filter(|(known, _)| *known == place).for_each(|p| p.1 = start);
                }
                continue;
            }
            match caught.fault.take() {
                Some(fault) if !fault.may_pass() => return Err(fault.told("fetch records")),
                Some(fault) => retry.after(fault, || "fetch records".to_owned()).await?,
                None if Instant::now() >= deadline => return Ok(Vec::new()),
                // What is not there yet may come.
                None => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    tokio::time::sleep(left.min(LOOK_AGAIN)).await;
                }
            }
        }
    }

    /// Asks every leader once. With several, whatever comes first is taken.
    async fn round(&self, from: &Places, max_bytes: usize, wait: Duration) -> Catch {
        let (by_leader, lost) = self.by_leader(from);
        let mut caught = Catch::default();
        if !lost.is_empty() {
            let mut topics: Vec<Arc<str>> = lost;
            topics.sort();
            topics.dedup();
            match self.cluster.refresh(Some(&topics)).await {
                Ok(()) => {}
                Err(fault) => {
                    caught.fault = Some(fault);
                    return caught;
                }
            }
        }
        // Those without a leader are looked for in between.
        let (again, still_lost) = self.by_leader(from);
        let wait = if still_lost.is_empty() { wait } else { wait.min(LOOK_AGAIN) };
        let by_leader = if again.is_empty() { by_leader } else { again };
        if by_leader.is_empty() {
            tokio::time::sleep(wait).await;
            return caught;
        }
        let share = (max_bytes / by_leader.len()).max(1);
        let (answers, mut answered) = mpsc::channel(by_leader.len());
        for (leader, places) in by_leader {
            // Goes on when its answer is no longer wanted: the connection is whole afterwards.
            let (cluster, answers) = (Arc::clone(&self.cluster), answers.clone());
            tokio::spawn(async move {
                let answer = ask(&cluster, leader, &places, share, wait).await;
                let _ = answers.send((places, answer)).await;
            });
        }
        drop(answers);
        while let Some((places, answer)) = answered.recv().await {
            self.collect(&places, answer, &mut caught).await;
            if !caught.batches.is_empty() && answered.is_empty() {
                break;
            }
        }
        caught
    }

    fn by_leader(&self, from: &Places) -> (BTreeMap<i32, Places>, Vec<Arc<str>>) {
        let mut by_leader: BTreeMap<i32, Places> = BTreeMap::new();
        let mut lost = Vec::new();
        for (place, offset) in from {
            match self.cluster.leader(&place.topic, place.partition) {
                Some(leader) => by_leader.entry(leader).or_default().push((place.clone(), *offset)),
                None => lost.push(Arc::clone(&place.topic)),
            }
        }
        (by_leader, lost)
    }

    async fn collect(
        &self,
        places: &Places,
        answer: Result<FetchResponse, Fault>,
        caught: &mut Catch,
    ) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(fault) => {
                self.look_for(places).await;
                caught.fault = Some(fault);
                return;
            }
        };
        if let Some(fault) = Fault::of_code(answer.error_code, None) {
            caught.fault = Some(fault);
            return;
        }
        let mut moved = Places::new();
        for topic in &answer.responses {
            for partition in &topic.partitions {
                let name = topic.topic.as_str();
                let known = places.iter().find(|(place, _)| {
                    place.partition == partition.partition_index && &*place.topic == name
                });
                let Some((place, offset)) = known else { continue };
                match take(partition, place, *offset) {
                    Ok(batches) => caught.batches.extend(batches),
                    Err(Fault::Refused(refusal)) if refusal.is(ResponseError::OffsetOutOfRange) => {
                        caught.outside.push((place.clone(), *offset));
                    }
                    Err(Fault::Refused(refusal)) if refusal.moved() => {
                        moved.push((place.clone(), *offset));
                    }
                    Err(fault) => caught.fault = Some(fault),
                }
            }
        }
        if !moved.is_empty() {
            self.look_for(&moved).await;
        }
    }

    /// Asks where partitions are. That it fails is found out by the next fetch.
    async fn look_for(&self, places: &Places) {
        let mut topics: Vec<Arc<str>> =
            places.iter().map(|(place, _)| Arc::clone(&place.topic)).collect();
        topics.sort();
        topics.dedup();
        if let Err(fault) = self.cluster.refresh(Some(&topics)).await {
            tracing::debug!(?fault, "leaders could not be asked for");
        }
    }

    /// Where a partition begins, for an offset that is below it.
    async fn start_of(&self, place: &TopicPartition, offset: i64) -> Result<i64> {
        let bounds =
            offsets::bounds(&self.cluster, std::slice::from_ref(place), Isolation::Committed)
                .await?;
        let Some((start, end)) = bounds.get(place).copied() else {
            return Err(Error::transient(format!("find the offsets of {place}")));
        };
        if offset > end {
            return Err(Error::fatal(format!(
                "offset {offset} of {place} is beyond its end {end}"
            ))
            .with_remedy(
                "the topic was made anew or lost records; reset the offsets of its readers",
            ));
        }
        Ok(start)
    }
}

async fn ask(
    cluster: &Cluster,
    leader: i32,
    places: &Places,
    max_bytes: usize,
    wait: Duration,
) -> Result<FetchResponse, Fault> {
    let connection = cluster.borrow(leader).await?;
    let patience = cluster.options.request_timeout + wait;
    let answer = connection.call_within(&request(places, max_bytes, wait), patience).await?;
    cluster.give_back(leader, connection);
    Ok(answer)
}

fn request(places: &Places, max_bytes: usize, wait: Duration) -> FetchRequest {
    let max_bytes = i32::try_from(max_bytes).unwrap_or(i32::MAX);
    let mut topics: Vec<FetchTopic> = Vec::new();
    for (place, offset) in places {
        let partition = FetchPartition::default()
            .with_partition(place.partition)
            .with_fetch_offset(*offset)
            .with_partition_max_bytes(max_bytes);
        match topics.last_mut() {
            Some(last) if last.topic.as_str() == &*place.topic => last.partitions.push(partition),
            _ => topics.push(
                FetchTopic::default()
                    .with_topic(TopicName(StrBytes::from_string(place.topic.to_string())))
                    .with_partitions(vec![partition]),
            ),
        }
    }
    FetchRequest::default()
        .with_max_wait_ms(i32::try_from(wait.as_millis()).unwrap_or(i32::MAX))
        .with_min_bytes(1)
        .with_max_bytes(max_bytes)
        .with_isolation_level(1)
        .with_topics(topics)
}

/// The batches of a partition's answer that reach the offset or lie behind it.
fn take(
    answer: &PartitionData,
    place: &TopicPartition,
    offset: i64,
) -> Result<Vec<StoredBatch>, Fault> {
    Fault::check(answer.error_code, None)?;
    let mut found = Vec::new();
    let mut rest = answer.records.clone().unwrap_or_default();
    let mut aborted = Aborted::of(answer);
    // The last batch may be cut off.
    while let Some(head) = Head::read(&rest) {
        if head.magic != 2 {
            return Err(Fault::Final(
                Error::config(format!(
                    "{place} has records in a format from before Kafka 0.11 (magic byte {})",
                    head.magic
                ))
                .with_remedy("copy the topic with a newer client, and read the copy"),
            ));
        }
        if head.bytes > rest.len() {
            break;
        }
        let bytes = rest.split_to(head.bytes);
        if head.last_offset < offset {
            continue;
        }
        let bytes = if aborted.hides(&head, &bytes) { withheld(&bytes) } else { bytes };
        found.push(StoredBatch {
            partition: place.clone(),
            base_offset: head.base_offset,
            last_offset: head.last_offset,
            records: head.records,
            bytes,
        });
    }
    Ok(found)
}

/// Transactions that were aborted, while a partition's batches are gone through.
struct Aborted {
    /// By first offset, the latest first.
    coming: Vec<(i64, i64)>,
    producers: HashSet<i64>,
}

impl Aborted {
    fn of(answer: &PartitionData) -> Self {
        let all = answer.aborted_transactions.iter().flatten();
        let mut coming: Vec<_> = all.map(|one| (one.first_offset, one.producer_id.0)).collect();
        coming.sort_unstable_by(|one, other| other.cmp(one));
        Self { coming, producers: HashSet::new() }
    }

    /// Whether a batch is part of an aborted transaction.
    fn hides(&mut self, head: &Head, bytes: &Bytes) -> bool {
        while self.coming.last().is_some_and(|(first, _)| *first <= head.last_offset) {
            self.producers.extend(self.coming.pop().map(|(_, producer)| producer));
        }
        if head.control {
            if head.is_abort(bytes) {
                self.producers.remove(&head.producer_id);
            }
            return false;
        }
        head.transactional && self.producers.contains(&head.producer_id)
    }
}

/// No more than so many bytes, but at least one batch.
fn limited(mut batches: Vec<StoredBatch>, max_bytes: usize) -> Vec<StoredBatch> {
    let mut total = 0_usize;
    let fitting = batches.iter().take_while(|batch| {
        total = total.saturating_add(batch.bytes.len());
        total <= max_bytes
    });
    let count = fitting.count().max(1);
    batches.truncate(count);
    batches
}
