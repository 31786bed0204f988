//! Offsets of consumer groups, also of groups whose members are others.

use std::{collections::BTreeMap, sync::Arc};

use kafka_protocol::{
    error::ResponseError,
    messages::{
        DeleteGroupsRequest, GroupId, ListGroupsRequest, OffsetCommitRequest, OffsetDeleteRequest,
        OffsetFetchRequest, TopicName,
        offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic},
        offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic},
    },
    protocol::StrBytes,
};
use lattice_core::Result;

use super::{
    cluster::{Cluster, Use},
    fault::Fault,
    retry::Retry,
};
use crate::log::TopicPartition;

/// The commit is nobody's in particular: it is taken when the group has no members.
const NO_GENERATION: i32 = -1;

/// Offsets of groups.
pub(crate) struct Groups {
    cluster: Arc<Cluster>,
}

impl Groups {
    pub(crate) fn new(cluster: Arc<Cluster>) -> Self {
        Self { cluster }
    }

    pub(crate) async fn commit(
        &self,
        group: &str,
        offsets: &[(TopicPartition, i64)],
    ) -> Result<()> {
        if offsets.is_empty() {
            return Ok(());
        }
        let mut retry = self.retry();
        loop {
            let Err(fault) = self.try_commit(group, offsets).await else { return Ok(()) };
            self.moved(group, &fault);
            retry.after(fault, || format!("commit offsets of consumer group {group}")).await?;
        }
    }

    pub(crate) async fn committed(&self, group: &str) -> Result<Vec<(TopicPartition, i64)>> {
        let mut retry = self.retry();
        loop {
            match self.try_committed(group).await {
                Ok(offsets) => return Ok(offsets),
                Err(fault) => {
                    self.moved(group, &fault);
                    let what = || format!("read the offsets of consumer group {group}");
                    retry.after(fault, what).await?;
                }
            }
        }
    }

    pub(crate) async fn delete(
        &self,
        group: &str,
        partitions: Option<&[TopicPartition]>,
    ) -> Result<()> {
        let mut retry = self.retry();
        loop {
            let deleted = match partitions {
                Some(partitions) => self.try_delete_some(group, partitions).await,
                None => self.try_delete(group).await,
            };
            let Err(fault) = deleted else { return Ok(()) };
            if fault.is(ResponseError::GroupIdNotFound) {
                return Ok(());
            }
            self.moved(group, &fault);
            retry.after(fault, || format!("delete offsets of consumer group {group}")).await?;
        }
    }

    /// The groups that have offsets, ordered.
    pub(crate) async fn list(&self) -> Result<Vec<String>> {
        let mut retry = self.retry();
        let names = loop {
            match self.try_list().await {
                Ok(names) => break names,
                Err(fault) => {
                    retry.after(fault, || "list the consumer groups".to_owned()).await?;
                }
            }
        };
        let mut with_offsets = Vec::new();
        for name in names {
            if !self.committed(&name).await?.is_empty() {
                with_offsets.push(name);
            }
        }
        Ok(with_offsets)
    }

    fn retry(&self) -> Retry {
        Retry::within(self.cluster.options.request_timeout)
    }

    fn moved(&self, group: &str, fault: &Fault) {
        let moved = fault.is(ResponseError::NotCoordinator)
            || fault.is(ResponseError::CoordinatorNotAvailable)
            || matches!(fault, Fault::Broken(_));
        if moved {
            self.cluster.forget_coordinator(group);
        }
    }

    async fn try_commit(
        &self,
        group: &str,
        offsets: &[(TopicPartition, i64)],
    ) -> Result<(), Fault> {
        let mut topics: BTreeMap<&str, Vec<OffsetCommitRequestPartition>> = BTreeMap::new();
        for (place, offset) in offsets {
            let partition = OffsetCommitRequestPartition::default()
                .with_partition_index(place.partition)
                .with_committed_offset(*offset)
                .with_committed_metadata(Some(StrBytes::new()));
            topics.entry(&place.topic).or_default().push(partition);
        }
        let topics = topics.into_iter().map(|(topic, partitions)| {
            OffsetCommitRequestTopic::default().with_name(name(topic)).with_partitions(partitions)
        });
        let request = OffsetCommitRequest::default()
            .with_group_id(id(group))
            .with_generation_id_or_member_epoch(NO_GENERATION)
            .with_topics(topics.collect());
        let coordinator = self.cluster.coordinator(group).await?;
        let answer = coordinator.call(&request).await?;
        for topic in &answer.topics {
            for partition in &topic.partitions {
                Fault::check(partition.error_code, Some(topic.name.as_str()))?;
            }
        }
        Ok(())
    }

    async fn try_committed(&self, group: &str) -> Result<Vec<(TopicPartition, i64)>, Fault> {
        let request = OffsetFetchRequest::default().with_group_id(id(group)).with_topics(None);
        let coordinator = self.cluster.coordinator(group).await?;
        let answer = coordinator.call(&request).await?;
        Fault::check(answer.error_code, None)?;
        let mut offsets = Vec::new();
        for topic in &answer.topics {
            let name: Arc<str> = Arc::from(topic.name.as_str());
            for partition in &topic.partitions {
                Fault::check(partition.error_code, Some(&name))?;
                if partition.committed_offset >= 0 {
                    let place = TopicPartition::new(Arc::clone(&name), partition.partition_index);
                    offsets.push((place, partition.committed_offset));
                }
            }
        }
        offsets.sort();
        Ok(offsets)
    }

    async fn try_delete(&self, group: &str) -> Result<(), Fault> {
        let request = DeleteGroupsRequest::default().with_groups_names(vec![id(group)]);
        let coordinator = self.cluster.coordinator(group).await?;
        let answer = coordinator.call(&request).await?;
        for result in &answer.results {
            Fault::check(result.error_code, None)?;
        }
        Ok(())
    }

    async fn try_delete_some(
        &self,
        group: &str,
        partitions: &[TopicPartition],
    ) -> Result<(), Fault> {
        let mut topics: BTreeMap<&str, Vec<OffsetDeleteRequestPartition>> = BTreeMap::new();
        for place in partitions {
            let partition =
                OffsetDeleteRequestPartition::default().with_partition_index(place.partition);
            topics.entry(&place.topic).or_default().push(partition);
        }
        let topics = topics.into_iter().map(|(topic, partitions)| {
            OffsetDeleteRequestTopic::default().with_name(name(topic)).with_partitions(partitions)
        });
        let request =
            OffsetDeleteRequest::default().with_group_id(id(group)).with_topics(topics.collect());
        let coordinator = self.cluster.coordinator(group).await?;
        let answer = coordinator.call(&request).await?;
        Fault::check(answer.error_code, None)?;
        for topic in &answer.topics {
            for partition in &topic.partitions {
                let fault = Fault::of_code(partition.error_code, Some(topic.name.as_str()));
                // What has no offset needs none deleted.
                if let Some(fault) = fault
                    && !fault.is(ResponseError::UnknownTopicOrPartition)
                {
                    return Err(fault);
                }
            }
        }
        Ok(())
    }

    async fn try_list(&self) -> Result<Vec<String>, Fault> {
        let mut names = Vec::new();
        let brokers: Vec<i32> = self.cluster.metadata().brokers.keys().copied().collect();
        for broker in brokers {
            let connection = self.cluster.broker(broker, Use::Control).await?;
            let answer = connection.call(&ListGroupsRequest::default()).await?;
            Fault::check(answer.error_code, None)?;
            // Other protocols' groups (Connect workers, share groups) commit no offsets.
            let groups = answer.groups.iter().filter(|group| {
                group.protocol_type.is_empty() || group.protocol_type.as_str() == "consumer"
            });
            names.extend(groups.map(|group| group.group_id.0.to_string()));
        }
        names.sort();
        names.dedup();
        Ok(names)
    }
}

fn id(group: &str) -> GroupId {
    GroupId(StrBytes::from_string(group.to_owned()))
}

fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}
