//! Writes batches: idempotent, in order, acknowledged by all in-sync replicas.
//!
//! A partition's batches go one after the other, each with a sequence number of its own; those
//! of different partitions go together. A batch whose answer was lost is sent again under its
//! number, so that the broker recognises it. When a whole append fails, what was written of it
//! and what is in doubt is remembered: the same append tried again writes nothing twice.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::join_all;
use kafka_protocol::{error::ResponseError, messages::InitProducerIdRequest};
use lattice_core::{Error, Result};
use tokio::sync::OwnedMutexGuard;

use super::{
    cluster::{Cluster, Use},
    fault::{Fault, Refusal},
    retry::Retry,
    sent::{Sent, copied, no_such_partition, request, soften},
};
use crate::{
    log::{EncodedBatch, TopicPartition},
    record_batch::{Stamp, checksum, stamped},
};

/// An append gives up after so long without success. Whoever appends tries again, and can tell
/// people meanwhile that the log takes no records.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who we are to the brokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
}

/// Writes batches.
pub(crate) struct Producer {
    cluster: Arc<Cluster>,
    lanes: Mutex<HashMap<TopicPartition, Arc<tokio::sync::Mutex<Lane>>>>,
    identity: tokio::sync::Mutex<Option<Identity>>,
    /// The id under which it writes in transactions. Its identity is then given to it.
    transaction: Option<String>,
}

/// What is known of a partition: whoever holds it writes.
#[derive(Default)]
struct Lane {
    identity: Option<Identity>,
    next_sequence: i32,
    /// Batches of a failed append that were written, and where.
    written: VecDeque<(Print, i64)>,
    /// A batch of a failed append of which nobody knows whether it was written. It has the next
    /// sequence number.
    doubt: Option<Print>,
}

/// Tells batches apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Print {
    checksum: u32,
    length: usize,
}

impl Print {
    pub(crate) fn of(batch: &EncodedBatch) -> Self {
        Self { checksum: checksum(&batch.bytes), length: batch.bytes.len() }
    }
}

/// A partition's part of an append.
struct Part {
    lane: OwnedMutexGuard<Lane>,
    /// Indexes into the append's batches.
    waiting: VecDeque<usize>,
}

impl Producer {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self {
            cluster,
            lanes: Mutex::default(),
            identity: tokio::sync::Mutex::default(),
            transaction: None,
        }
    }

    /// Writes in transactions under this id only.
    pub(crate) fn in_transactions(cluster: Arc<Cluster>, id: String) -> Self {
        Self { transaction: Some(id), ..Self::new(cluster) }
    }

    /// Begins anew as somebody: what was written before is forgotten.
    pub(crate) async fn begin_as(&self, identity: Identity) {
        *self.identity.lock().await = Some(identity);
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Writes batches, and when all of them are there, the last one. Gives the batches' offsets.
    ///
    /// Errors: `Transient` when it does not succeed in time.
    pub(crate) async fn append(
        &self,
        batches: &[EncodedBatch],
        last: Option<&EncodedBatch>,
    ) -> Result<Vec<i64>> {
        let mut parts = self.parts(batches).await;
        let mut offsets = vec![-1; batches.len()];
        let mut outcome = self.write(&mut parts, batches, &mut offsets).await;
        if let (Ok(()), Some(last)) = (&outcome, last) {
            // Its partition is taken only now: many share it.
            let last = std::slice::from_ref(last);
            let mut last_parts = self.parts(last).await;
            outcome = self.write(&mut last_parts, last, &mut [-1]).await;
            leave(last_parts, last, outcome.is_ok());
        }
        leave(parts, batches, outcome.is_ok());
        outcome.map(|()| offsets)
    }

    /// A topic was deleted: one made anew under its name begins anew.
    pub(crate) fn forget_topic(&self, topic: &str) {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.retain(|place, _| &*place.topic != topic);
    }

    /// Appends were cut off in the middle: nobody knows the numbers of what they sent.
    pub(crate) async fn begin_anew(&self) {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.forget_identity().await;
    }

    /// Takes the partitions, in order: two appends cannot wait for each other.
    async fn parts(&self, batches: &[EncodedBatch]) -> BTreeMap<TopicPartition, Part> {
        let mut indexes: BTreeMap<TopicPartition, VecDeque<usize>> = BTreeMap::new();
        for (index, batch) in batches.iter().enumerate() {
            let place = TopicPartition { topic: batch.topic.clone(), partition: batch.partition };
            indexes.entry(place).or_default().push_back(index);
        }
        let mut parts = BTreeMap::new();
        for (place, waiting) in indexes {
            let lane = {
                let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(lanes.entry(place.clone()).or_default())
            };
            parts.insert(place, Part { lane: lane.lock_owned().await, waiting });
        }
        parts
    }

    async fn write(
        &self,
        parts: &mut BTreeMap<TopicPartition, Part>,
        batches: &[EncodedBatch],
        offsets: &mut [i64],
    ) -> Result<()> {
        let mut retry = Retry::within(PATIENCE);
        for part in parts.values_mut() {
            part.recall(batches, offsets);
        }
        while parts.values().any(|part| !part.waiting.is_empty()) {
            let round = self.round(parts, batches).await;
            let mut troubled = None;
            let mut progress = false;
            for (place, sent) in round {
                let Some(part) = parts.get_mut(&place) else { continue };
                match sent {
                    Sent::Written(offset) => {
                        part.settle(batches, offset, offsets);
                        progress = true;
                    }
                    Sent::Again(fault) => troubled = Some((place, fault)),
                    Sent::Anew(fault) => {
                        tracing::warn!(
                            partition = %place, ?fault,
                            "Kafka no longer knows what was written before; a new producer id is taken"
                        );
                        part.lane.identity = None;
                        self.forget_identity().await;
                        troubled = Some((place, fault));
                    }
                    Sent::Failed(error) => return Err(error),
                }
            }
            let Some((place, fault)) = troubled else { continue };
            if progress {
                retry = Retry::within(PATIENCE);
            }
            retry.after(soften(fault), || format!("write to {place}")).await?;
        }
        Ok(())
    }

    /// Sends the first waiting batch of every partition.
    async fn round(
        &self,
        parts: &mut BTreeMap<TopicPartition, Part>,
        batches: &[EncodedBatch],
    ) -> Vec<(TopicPartition, Sent)> {
        let mut outcome = Vec::new();
        if let Err(fault) = self.identify(parts).await {
            let first = parts.keys().next().cloned();
            return first.map(|place| (place, Sent::of(fault))).into_iter().collect();
        }
        let mut by_leader: BTreeMap<i32, Vec<(TopicPartition, Bytes, usize)>> = BTreeMap::new();
        let mut lost = Vec::new();
        for (place, part) in parts.iter() {
            let Some(index) = part.waiting.front() else { continue };
            let bytes = part.stamp(&batches[*index], self.transaction.is_some());
            match self.cluster.leader(&place.topic, place.partition) {
                Some(leader) => {
                    by_leader.entry(leader).or_default().push((place.clone(), bytes, *index));
                }
                None => lost.push(place.clone()),
            }
        }
        let sending = by_leader.into_iter().map(|(leader, sent)| self.send(leader, sent, batches));
        for answers in join_all(sending).await {
            outcome.extend(answers);
        }
        self.find_leaders(lost, &mut outcome).await;
        outcome
    }

    /// Asks for leaders that moved or are not known.
    async fn find_leaders(
        &self,
        lost: Vec<TopicPartition>,
        outcome: &mut Vec<(TopicPartition, Sent)>,
    ) {
        let moved = outcome.iter().filter(|(_, sent)| sent.asks_for_leader());
        let mut topics: Vec<Arc<str>> = moved.map(|(place, _)| Arc::clone(&place.topic)).collect();
        topics.extend(lost.iter().map(|place| Arc::clone(&place.topic)));
        topics.sort();
        topics.dedup();
        let refreshed = match topics.is_empty() {
            true => Ok(()),
            false => self.cluster.refresh(Some(&topics)).await,
        };
        let fault = refreshed.err();
        for place in lost {
            let metadata = self.cluster.metadata();
            let sent = match metadata.topics.get(&place.topic).map(|topic| topic.leaders.len()) {
                Some(partitions)
                    if usize::try_from(place.partition).is_ok_and(|p| p >= partitions) =>
                {
                    Sent::Failed(no_such_partition(&place, partitions))
                }
                _ => match &fault {
                    Some(Fault::Final(error)) => Sent::Failed(copied(error)),
                    _ => Sent::Again(Fault::Refused(Refusal {
                        code: ResponseError::LeaderNotAvailable.code(),
                        message: None,
                    })),
                },
            };
            outcome.push((place, sent));
        }
    }

    /// Sends batches to one leader, in one request.
    async fn send(
        &self,
        leader: i32,
        sent: Vec<(TopicPartition, Bytes, usize)>,
        batches: &[EncodedBatch],
    ) -> Vec<(TopicPartition, Sent)> {
        let request =
            request(&sent, self.cluster.options.request_timeout, self.transaction.as_deref());
        let answered = match self.cluster.broker(leader, Use::Produce).await {
            Ok(connection) => connection.call(&request).await,
            Err(fault) => Err(fault),
        };
        match answered {
            Ok(answer) => sent
                .into_iter()
                .map(|(place, bytes, index)| {
                    let outcome = Sent::in_answer(
                        &answer,
                        &place,
                        &bytes,
                        &batches[index],
                        self.transaction.is_some(),
                    );
                    (place, outcome)
                })
                .collect(),
            Err(Fault::Final(error)) => {
                sent.into_iter().map(|(place, ..)| (place, Sent::Failed(copied(&error)))).collect()
            }
            Err(fault) => {
                let text = fault.told("").chain();
                let broken = || Fault::Broken(Error::transient(text.trim_start_matches(": ")));
                sent.into_iter().map(|(place, ..)| (place, Sent::Again(broken()))).collect()
            }
        }
    }

    /// Gives every partition an identity and sequence numbers.
    async fn identify(&self, parts: &mut BTreeMap<TopicPartition, Part>) -> Result<(), Fault> {
        for part in parts.values_mut() {
            if part.lane.identity.is_none() {
                part.lane.identity = Some(self.identity().await?);
                part.lane.next_sequence = 0;
            }
        }
        Ok(())
    }

    async fn identity(&self) -> Result<Identity, Fault> {
        let mut identity = self.identity.lock().await;
        if let Some(identity) = *identity {
            return Ok(identity);
        }
        if let Some(id) = &self.transaction {
            let lost = format!("the transactional id {id} has no producer id");
            return Err(Fault::Final(Error::transient(lost)));
        }
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_transaction_timeout_ms(i32::MAX);
        let answer = self.cluster.any().await?.call(&request).await?;
        Fault::check(answer.error_code, None)?;
        let new = Identity { id: answer.producer_id.0, epoch: answer.producer_epoch };
        *identity = Some(new);
        Ok(new)
    }

    async fn forget_identity(&self) {
        *self.identity.lock().await = None;
    }
}

/// Gives partitions back. After a failure they remember what was done.
fn leave(mut parts: BTreeMap<TopicPartition, Part>, batches: &[EncodedBatch], done: bool) {
    for part in parts.values_mut() {
        if done {
            part.lane.written.clear();
        } else {
            part.lane.doubt = part.waiting.front().map(|index| Print::of(&batches[*index]));
        }
    }
}

impl Part {
    /// Finds what a failed append of the same batches did.
    fn recall(&mut self, batches: &[EncodedBatch], offsets: &mut [i64]) {
        while let Some(index) = self.waiting.front().copied() {
            let print = Print::of(&batches[index]);
            if let Some((known, offset)) = self.lane.written.pop_front() {
                if known == print {
                    offsets[index] = offset;
                    self.waiting.pop_front();
                    continue;
                }
                self.lane.written.clear();
            }
            break;
        }
        let next = self.waiting.front().map(|index| Print::of(&batches[*index]));
        if self.lane.doubt.take().is_some_and(|doubt| next != Some(doubt)) {
            // Whether the number is used up is unknown: another batch must not take it.
            self.lane.identity = None;
        }
    }

    fn stamp(&self, batch: &EncodedBatch, transactional: bool) -> Bytes {
        let identity = self.lane.identity.unwrap_or(Identity { id: -1, epoch: -1 });
        let sequence = self.lane.next_sequence;
        stamped(
            &batch.bytes,
            Stamp { id: identity.id, epoch: identity.epoch, sequence, transactional },
        )
    }

    fn settle(&mut self, batches: &[EncodedBatch], offset: i64, offsets: &mut [i64]) {
        let Some(index) = self.waiting.pop_front() else { return };
        let batch = &batches[index];
        offsets[index] = offset;
        self.lane.next_sequence = sequence_after(self.lane.next_sequence, batch.records);
        self.lane.written.push_back((Print::of(batch), offset));
    }
}

/// Sequence numbers go on at 0 after the greatest.
fn sequence_after(sequence: i32, records: i32) -> i32 {
    let next = (i64::from(sequence) + i64::from(records)) % (i64::from(i32::MAX) + 1);
    i32::try_from(next).unwrap_or(0)
}
