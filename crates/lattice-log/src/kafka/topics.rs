//! Topics: made, deleted, described.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use kafka_protocol::{
    error::ResponseError,
    messages::{
        CreateTopicsRequest, DeleteTopicsRequest, DescribeConfigsRequest, DescribeLogDirsRequest,
        TopicName,
        create_topics_request::{CreatableTopic, CreatableTopicConfig},
        describe_configs_request::DescribeConfigsResource,
        describe_configs_response::DescribeConfigsResult,
    },
    protocol::StrBytes,
};
use lattice_core::{Error, Result};

use super::{
    cluster::{Cluster, Metadata, Use},
    fault::{Fault, Refusal},
    offsets::{self, Isolation},
    retry::Retry,
};
use crate::log::{CleanupPolicy, PartitionInfo, TopicConfig, TopicInfo, TopicPartition};

/// Configurations and sizes are asked for at most so often: people look at them, nothing else.
const DESCRIBE_EVERY: Duration = Duration::from_secs(20);

/// The number that says "topic" where configurations are described.
const TOPIC_RESOURCE: i8 = 2;

/// How many copies a topic has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    /// The broker's `default.replication.factor`.
    Default,
    /// So many, or one on each broker where there are fewer.
    UpTo(usize),
}

/// Makes, deletes and describes topics.
pub(crate) struct Topics {
    cluster: Arc<Cluster>,
    /// The platform's own topics.
    own: Vec<String>,
    described: Mutex<Described>,
}

/// What was asked for lately.
#[derive(Default)]
struct Described {
    at: Option<Instant>,
    configs: HashMap<Arc<str>, TopicConfig>,
    bytes: HashMap<TopicPartition, u64>,
}

impl Topics {
    pub(crate) fn new(cluster: Arc<Cluster>, own: Vec<String>) -> Self {
        Self { cluster, own, described: Mutex::default() }
    }

    /// Makes a topic and waits until its partitions have leaders; `false`: it existed.
    pub(crate) async fn create(
        &self,
        name: &str,
        config: &TopicConfig,
        copies: Copies,
    ) -> Result<bool> {
        let mut retry = Retry::within(self.cluster.options.request_timeout);
        let created = loop {
            match self.try_create(name, config, copies).await {
                Ok(()) => break true,
                Err(fault) if fault.is(ResponseError::TopicAlreadyExists) => break false,
                Err(fault) => retry.after(fault, || format!("create topic {name}")).await?,
            }
        };
        self.wait(name, &mut retry, |metadata| {
            metadata.topics.get(name).is_some_and(|topic| topic.leaders.iter().all(|id| *id >= 0))
        })
        .await?;
        self.forget();
        Ok(created)
    }

    /// Deletes a topic and waits until it is gone; `false`: there was none.
    pub(crate) async fn delete(&self, name: &str) -> Result<bool> {
        let mut retry = Retry::within(self.cluster.options.request_timeout);
        loop {
            match self.try_delete(name).await {
                Ok(()) => break,
                Err(fault) if fault.is(ResponseError::UnknownTopicOrPartition) => return Ok(false),
                Err(fault) => retry.after(fault, || format!("delete topic {name}")).await?,
            }
        }
        self.wait(name, &mut retry, |metadata| !metadata.topics.contains_key(name)).await?;
        self.forget();
        Ok(true)
    }

    /// All topics (`None`) or some, ordered by name.
    pub(crate) async fn list(&self, only: Option<&str>) -> Result<Vec<TopicInfo>> {
        let mut retry = Retry::within(self.cluster.options.request_timeout);
        let asked = only.map(|name| vec![Arc::<str>::from(name)]);
        while let Err(fault) = self.cluster.refresh(asked.as_deref()).await {
            retry.after(fault, || "ask for the cluster's topics".to_owned()).await?;
        }
        let metadata = self.cluster.metadata();
        let wanted = |name: &str| only.is_none_or(|only| only == name);
        let topics = metadata.topics.iter().filter(|(name, _)| wanted(name));
        let topics: BTreeMap<_, _> = topics.collect();
        let places: Vec<TopicPartition> = topics
            .iter()
            .flat_map(|(name, topic)| {
                (0..).zip(&topic.leaders).map(|(id, _)| TopicPartition::new(Arc::clone(name), id))
            })
            .collect();
        let bounds = offsets::bounds(&self.cluster, &places, Isolation::Written).await?;
        self.describe(&metadata).await;
        let described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        // A topic whose ends are not known is as good as not there: a wrong end would move readers.
        let whole = |(name, topic): &(&Arc<str>, &super::cluster::TopicMetadata)| {
            let ids = (0..).zip(&topic.leaders).map(|(id, _)| id);
            ids.map(|id| TopicPartition::new(Arc::clone(name), id))
                .all(|place| bounds.contains_key(&place))
        };
        let info = |(name, topic): (&Arc<str>, &super::cluster::TopicMetadata)| {
            let mut config = described.configs.get(name).cloned().unwrap_or_default();
            config.partitions = i32::try_from(topic.leaders.len()).unwrap_or(i32::MAX);
            let partitions = (0..config.partitions).map(|id| {
                let place = TopicPartition::new(Arc::clone(name), id);
                let (start, end) = bounds.get(&place).copied().unwrap_or_default();
                PartitionInfo {
                    partition: id,
                    log_start_offset: start,
                    end_offset: end,
                    bytes: described.bytes.get(&place).copied().unwrap_or_default(),
                    records: u64::try_from(end - start).unwrap_or_default(),
                }
            });
            let partitions = partitions.collect();
            let own = self.own.iter().any(|own| *own == **name);
            let internal = topic.internal || own || name.starts_with("__");
            TopicInfo { name: Arc::clone(name), config, partitions, internal }
        };
        Ok(topics.into_iter().filter(whole).map(info).collect())
    }

    /// What the topics take on the brokers' disks, as it was last described.
    pub(crate) fn bytes(&self) -> u64 {
        let described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        described.bytes.values().sum()
    }

    fn forget(&self) {
        self.described.lock().unwrap_or_else(PoisonError::into_inner).at = None;
    }

    async fn wait(
        &self,
        name: &str,
        retry: &mut Retry,
        there: impl Fn(&Metadata) -> bool,
    ) -> Result<()> {
        let topics = [Arc::from(name)];
        loop {
            match self.cluster.refresh(Some(&topics)).await {
                Ok(()) if there(&self.cluster.metadata()) || retry.over() => return Ok(()),
                Ok(()) => retry.pause().await,
                Err(fault) => retry.after(fault, || format!("look for topic {name}")).await?,
            }
        }
    }

    async fn try_create(
        &self,
        name: &str,
        config: &TopicConfig,
        copies: Copies,
    ) -> Result<(), Fault> {
        let copies = match copies {
            Copies::Default => config.replication_factor.unwrap_or(-1),
            Copies::UpTo(most) => {
                let brokers = self.cluster.metadata().brokers.len().max(1);
                i16::try_from(brokers.min(most)).unwrap_or(1)
            }
        };
        let topic = CreatableTopic::default()
            .with_name(TopicName(StrBytes::from_string(name.to_owned())))
            .with_num_partitions(config.partitions)
            .with_replication_factor(copies)
            .with_configs(words(config));
        let request = CreateTopicsRequest::default()
            .with_topics(vec![topic])
            .with_timeout_ms(self.timeout_ms());
        let answer = self.cluster.controller().await?.call(&request).await?;
        let result = answer.topics.first();
        let result = result.ok_or_else(|| Error::fatal("an answer without the topic"))?;
        Fault::check(result.error_code, result.error_message.as_deref())
    }

    async fn try_delete(&self, name: &str) -> Result<(), Fault> {
        let request = DeleteTopicsRequest::default()
            .with_topic_names(vec![TopicName(StrBytes::from_string(name.to_owned()))])
            .with_timeout_ms(self.timeout_ms());
        let answer = self.cluster.controller().await?.call(&request).await?;
        let result = answer.responses.first();
        let result = result.ok_or_else(|| Error::fatal("an answer without the topic"))?;
        Fault::check(result.error_code, result.error_message.as_deref())
    }

    fn timeout_ms(&self) -> i32 {
        i32::try_from(self.cluster.options.request_timeout.as_millis()).unwrap_or(i32::MAX)
    }

    /// Asks for configurations and sizes when the last time is long ago or topics are new. Who
    /// may not see them goes on without.
    async fn describe(&self, metadata: &Metadata) {
        let fresh = {
            let described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
            described.at.is_some_and(|at| at.elapsed() < DESCRIBE_EVERY)
                && metadata.topics.keys().all(|name| described.configs.contains_key(name))
        };
        if fresh {
            return;
        }
        let configs = self.configs(metadata).await;
        let bytes = self.sizes(metadata).await;
        let mut described = self.described.lock().unwrap_or_else(PoisonError::into_inner);
        described.at = Some(Instant::now());
        match configs {
            Ok(configs) => described.configs = configs,
            Err(fault) => tracing::debug!(?fault, "topic configurations were not described"),
        }
        match bytes {
            Ok(bytes) => described.bytes = bytes,
            Err(fault) => tracing::debug!(?fault, "topic sizes were not described"),
        }
    }

    async fn configs(&self, metadata: &Metadata) -> Result<HashMap<Arc<str>, TopicConfig>, Fault> {
        let keys = ["cleanup.policy", "retention.ms", "retention.bytes"];
        let keys: Vec<StrBytes> = keys.into_iter().map(StrBytes::from_static_str).collect();
        let resources = metadata.topics.keys().map(|name| {
            DescribeConfigsResource::default()
                .with_resource_type(TOPIC_RESOURCE)
                .with_resource_name(StrBytes::from_string(name.to_string()))
                .with_configuration_keys(Some(keys.clone()))
        });
        let request = DescribeConfigsRequest::default().with_resources(resources.collect());
        let answer = self.cluster.any().await?.call(&request).await?;
        let read = answer.results.iter();
        Ok(read.map(|topic| (Arc::from(topic.resource_name.as_str()), config(topic))).collect())
    }

    async fn sizes(&self, metadata: &Metadata) -> Result<HashMap<TopicPartition, u64>, Fault> {
        let mut sizes: HashMap<TopicPartition, u64> = HashMap::new();
        for broker in metadata.brokers.keys() {
            let connection = self.cluster.broker(*broker, Use::Control).await?;
            let request = DescribeLogDirsRequest::default().with_topics(None);
            let answer = connection.call(&request).await?;
            for folder in &answer.results {
                Fault::check(folder.error_code, None)?;
                for topic in &folder.topics {
                    let name: Arc<str> = Arc::from(topic.name.as_str());
                    for partition in &topic.partitions {
                        let place =
                            TopicPartition::new(Arc::clone(&name), partition.partition_index);
                        let size = u64::try_from(partition.partition_size).unwrap_or_default();
                        // Followers may lag: the largest copy counts.
                        let known = sizes.entry(place).or_default();
                        *known = size.max(*known);
                    }
                }
            }
        }
        Ok(sizes)
    }
}

/// A topic's configuration in Kafka's words.
fn words(config: &TopicConfig) -> Vec<CreatableTopicConfig> {
    let mut words = BTreeMap::from([
        ("cleanup.policy".to_owned(), config.cleanup_policy.as_str().to_owned()),
        ("retention.ms".to_owned(), config.retention_ms.unwrap_or(-1).to_string()),
    ]);
    if let Some(bytes) = config.retention_bytes {
        words.insert("retention.bytes".to_owned(), bytes.to_string());
    }
    words.extend(config.other.clone());
    let word = |(name, value)| {
        CreatableTopicConfig::default()
            .with_name(StrBytes::from_string(name))
            .with_value(Some(StrBytes::from_string(value)))
    };
    words.into_iter().map(word).collect()
}

fn config(described: &DescribeConfigsResult) -> TopicConfig {
    let refusal = Refusal { code: described.error_code, message: None };
    if refusal.code != 0 {
        tracing::debug!(
            topic = described.resource_name.as_str(),
            why = refusal.text(),
            "not described"
        );
    }
    let value = |name: &str| {
        let found = described.configs.iter().find(|config| config.name.as_str() == name);
        found.and_then(|config| config.value.as_deref())
    };
    let limit = |name| value(name).and_then(|text| text.parse::<i64>().ok()).filter(|n| *n >= 0);
    let compact = value("cleanup.policy").is_some_and(|policy| policy.contains("compact"));
    TopicConfig {
        partitions: 1,
        cleanup_policy: if compact { CleanupPolicy::Compact } else { CleanupPolicy::Delete },
        retention_ms: limit("retention.ms"),
        retention_bytes: limit("retention.bytes"),
        ..TopicConfig::default()
    }
}
