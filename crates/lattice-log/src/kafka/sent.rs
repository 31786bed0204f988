//! What became of a batch that was sent, and what is done about it.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::{
    error::ResponseError,
    messages::{
        ProduceRequest, ProduceResponse, TopicName, TransactionalId,
        produce_request::{PartitionProduceData, TopicProduceData},
    },
    protocol::StrBytes,
};
use lattice_core::Error;

use super::fault::{Fault, Refusal};
use crate::log::{EncodedBatch, TopicPartition};

/// What became of a batch that was sent.
pub(crate) enum Sent {
    Written(i64),
    /// It may be sent again.
    Again(Fault),
    /// The broker does not know our numbers: it goes again under a new identity.
    Anew(Fault),
    Failed(Error),
}

impl Sent {
    pub(crate) fn of(fault: Fault) -> Self {
        match fault {
            Fault::Refused(refusal) if refusal.may_pass() => Self::Again(Fault::Refused(refusal)),
            Fault::Broken(error) => Self::Again(Fault::Broken(error)),
            fault => Self::Failed(fault.told("get a producer id")),
        }
    }

    pub(crate) fn asks_for_leader(&self) -> bool {
        match self {
            Self::Again(Fault::Refused(refusal)) => refusal.moved(),
            Self::Again(Fault::Broken(_)) => true,
            _ => false,
        }
    }

    pub(crate) fn in_answer(
        answer: &ProduceResponse,
        place: &TopicPartition,
        bytes: &Bytes,
        batch: &EncodedBatch,
        in_transaction: bool,
    ) -> Self {
        let topic = answer.responses.iter().find(|topic| topic.name.as_str() == &*place.topic);
        let partition = topic.and_then(|topic| {
            topic.partition_responses.iter().find(|answer| answer.index == place.partition)
        });
        let Some(partition) = partition else {
            let message = format!("the answer to a write to {place} does not speak of it");
            return Self::Again(Fault::Broken(Error::transient(message)));
        };
        let refusal = Refusal {
            code: partition.error_code,
            message: partition.error_message.as_deref().map(str::to_owned),
        };
        use ResponseError as R;
        let is = |error| refusal.is(error);
        if refusal.code == 0 || is(R::DuplicateSequenceNumber) {
            return Self::Written(partition.base_offset);
        }
        if in_transaction && !refusal.may_pass() && !refusal.says_for_good() {
            return Self::Failed(Fault::Refused(refusal).aborting(&format!("write to {place}")));
        }
        if is(R::OutOfOrderSequenceNumber)
            || is(R::UnknownProducerId)
            || is(R::InvalidProducerEpoch)
            || is(R::InvalidProducerIdMapping)
        {
            return Self::Anew(Fault::Refused(refusal));
        }
        if is(R::MessageTooLarge) || is(R::RecordListTooLarge) {
            return Self::Failed(too_large(place, bytes.len(), batch.records));
        }
        if refusal.may_pass() {
            return Self::Again(Fault::Refused(refusal));
        }
        Self::Failed(Fault::Refused(refusal).told(&format!("write to {place}")))
    }
}

/// A new identity makes any refusal pass.
pub(crate) fn soften(fault: Fault) -> Fault {
    match fault {
        Fault::Refused(refusal) if !refusal.may_pass() => {
            Fault::Broken(Error::transient(refusal.text()))
        }
        fault => fault,
    }
}

pub(crate) fn request(
    sent: &[(TopicPartition, Bytes, usize)],
    timeout: Duration,
    transaction: Option<&str>,
) -> ProduceRequest {
    let mut topics: Vec<TopicProduceData> = Vec::new();
    for (place, bytes, _) in sent {
        let data = PartitionProduceData::default()
            .with_index(place.partition)
            .with_records(Some(bytes.clone()));
        // Places are in order: those of a topic follow each other.
        match topics.last_mut() {
            Some(last) if last.name.as_str() == &*place.topic => last.partition_data.push(data),
            _ => topics.push(
                TopicProduceData::default()
                    .with_name(TopicName(StrBytes::from_string(place.topic.to_string())))
                    .with_partition_data(vec![data]),
            ),
        }
    }
    // The broker answers before we stop to wait.
    let timeout_ms = i32::try_from(timeout.as_millis() * 4 / 5).unwrap_or(i32::MAX);
    let id = |id: &str| TransactionalId(StrBytes::from_string(id.to_owned()));
    ProduceRequest::default()
        .with_transactional_id(transaction.map(id))
        .with_acks(-1)
        .with_timeout_ms(timeout_ms)
        .with_topic_data(topics)
}

fn too_large(place: &TopicPartition, bytes: usize, records: i32) -> Error {
    let what = match records {
        1 => format!("a record of {bytes} bytes"),
        _ => format!("a batch of {records} records and {bytes} bytes"),
    };
    Error::data(format!(
        "{what} is larger than Kafka takes in topic {} (\"max.message.bytes\")",
        place.topic
    ))
    .with_remedy(format!(
        "raise \"max.message.bytes\" of the topic above {bytes} \
         (kafka-configs --alter --entity-type topics --entity-name {} --add-config …), or exclude \
         the large column",
        place.topic
    ))
}

pub(crate) fn no_such_partition(place: &TopicPartition, partitions: usize) -> Error {
    Error::config(format!(
        "topic {} has {partitions} partitions, none with number {}",
        place.topic, place.partition
    ))
    .with_remedy("write to a partition that it has")
}

/// The same error for another of those that wait for it.
pub(crate) fn copied(error: &Error) -> Error {
    let copy = Error::new(error.kind(), error.to_string());
    let copy = match std::error::Error::source(error) {
        Some(source) => copy.with_source(std::io::Error::other(source.to_string())),
        None => copy,
    };
    match error.remedy() {
        Some(remedy) => copy.with_remedy(remedy),
        None => copy,
    }
}
