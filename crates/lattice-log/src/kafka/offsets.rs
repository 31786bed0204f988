//! Where partitions begin and end.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use futures_util::future::join_all;
use kafka_protocol::{
    error::ResponseError,
    messages::{
        ListOffsetsRequest, ListOffsetsResponse, TopicName,
        list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic},
    },
    protocol::StrBytes,
};
use lattice_core::Result;

use super::{
    cluster::{Cluster, Use},
    fault::{Fault, Refusal},
    retry::Retry,
};
use crate::log::TopicPartition;

/// Kafka's words for "the first" and "the next" offset.
const EARLIEST: i64 = -2;
const LATEST: i64 = -1;

/// What counts as a partition's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Everything that is written.
    Written,
    /// What readers of committed records get.
    Committed,
}

/// First and next offset of partitions; those that are not there are left out.
///
/// Errors: `Transient` when leaders do not answer in time.
pub(crate) async fn bounds(
    cluster: &Cluster,
    places: &[TopicPartition],
    isolation: Isolation,
) -> Result<HashMap<TopicPartition, (i64, i64)>> {
    let mut retry = Retry::within(cluster.options.request_timeout);
    loop {
        match try_bounds(cluster, places, isolation).await {
            Ok(bounds) => return Ok(bounds),
            Err(fault) => {
                if let Err(again) = refresh_for(cluster, places, &fault).await {
                    retry.after(again, || "ask for the cluster's brokers".to_owned()).await?;
                }
                retry.after(fault, || "ask for the offsets of partitions".to_owned()).await?;
            }
        }
    }
}

async fn refresh_for(
    cluster: &Cluster,
    places: &[TopicPartition],
    fault: &Fault,
) -> Result<(), Fault> {
    if !fault.may_pass() {
        return Ok(());
    }
    let mut topics: Vec<Arc<str>> = places.iter().map(|place| Arc::clone(&place.topic)).collect();
    topics.sort();
    topics.dedup();
    cluster.refresh(Some(&topics)).await
}

async fn try_bounds(
    cluster: &Cluster,
    places: &[TopicPartition],
    isolation: Isolation,
) -> Result<HashMap<TopicPartition, (i64, i64)>, Fault> {
    let mut by_leader: BTreeMap<i32, Vec<&TopicPartition>> = BTreeMap::new();
    let metadata = cluster.metadata();
    for place in places {
        let Some(topic) = metadata.topics.get(&place.topic) else { continue };
        let slot = usize::try_from(place.partition).ok();
        match slot.and_then(|slot| topic.leaders.get(slot)).copied() {
            None => {}
            Some(leader) if leader >= 0 => by_leader.entry(leader).or_default().push(place),
            Some(_) => {
                return Err(Fault::Refused(Refusal {
                    code: ResponseError::LeaderNotAvailable.code(),
                    message: Some(format!("{place} has no leader")),
                }));
            }
        }
    }
    let asking = by_leader.into_iter().map(|(leader, mut places)| async move {
        places.sort();
        let connection = cluster.broker(leader, Use::Control).await?;
        let (first, next) =
            (request(&places, EARLIEST, isolation), request(&places, LATEST, isolation));
        let (first, next) = tokio::try_join!(connection.call(&first), connection.call(&next))?;
        let (first, next) = (offsets(&first)?, offsets(&next)?);
        Ok::<_, Fault>((first, next))
    });
    let mut bounds = HashMap::new();
    for answer in join_all(asking).await {
        let (first, next) = answer?;
        for (place, start) in first {
            if let Some(end) = next.get(&place) {
                bounds.insert(place, (start, *end));
            }
        }
    }
    Ok(bounds)
}

fn request(places: &[&TopicPartition], moment: i64, isolation: Isolation) -> ListOffsetsRequest {
    let mut topics: Vec<ListOffsetsTopic> = Vec::new();
    for place in places {
        let partition = ListOffsetsPartition::default()
            .with_partition_index(place.partition)
            .with_timestamp(moment);
        match topics.last_mut() {
            Some(last) if last.name.as_str() == &*place.topic => last.partitions.push(partition),
            _ => topics.push(
                ListOffsetsTopic::default()
                    .with_name(TopicName(StrBytes::from_string(place.topic.to_string())))
                    .with_partitions(vec![partition]),
            ),
        }
    }
    ListOffsetsRequest::default()
        .with_replica_id((-1).into())
        .with_isolation_level(match isolation {
            Isolation::Written => 0,
            Isolation::Committed => 1,
        })
        .with_topics(topics)
}

fn offsets(answer: &ListOffsetsResponse) -> Result<HashMap<TopicPartition, i64>, Fault> {
    let mut found = HashMap::new();
    for topic in &answer.topics {
        let name: Arc<str> = Arc::from(topic.name.as_str());
        for partition in &topic.partitions {
            Fault::check(partition.error_code, Some(&name))?;
            let place = TopicPartition::new(Arc::clone(&name), partition.partition_index);
            found.insert(place, partition.offset);
        }
    }
    Ok(found)
}
