//! The log that `lattice serve` runs on: a file of its own, or a Kafka cluster.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, sync::Arc};

use anyhow::{Context, Result};
use lattice_core::{Error, store::DocumentStore};
use lattice_log::{
    EmbeddedLog, EmbeddedOptions, GroupOptions, KafkaLog, KafkaOptions, Log, Membership,
    TopicConfig, client_keys,
};
use lattice_runtime::properties;

use crate::{
    arguments::{Kafka, Serve},
    group::{self, Advertised, GroupSettings},
};

/// An open log.
pub(crate) enum OpenLog {
    /// One SQLite file.
    Embedded(Arc<EmbeddedLog>),
    /// A Kafka cluster.
    Kafka(Arc<KafkaLog>, GroupSettings),
}

impl OpenLog {
    /// Opens what the arguments ask for.
    pub(crate) async fn open(serve: &Serve, default_topic: TopicConfig) -> Result<Self> {
        let properties = client_properties(serve)?;
        if !properties.contains_key("bootstrap.servers") && serve.kafka.command_config.is_none() {
            let options =
                EmbeddedOptions { default_topic, ..EmbeddedOptions::new(serve.data.clone()) };
            return Ok(Self::Embedded(EmbeddedLog::open(options).map_err(told)?));
        }
        let group = GroupSettings::read(&serve.kafka, &properties)?;
        let options = kafka_options(&serve.kafka, properties, default_topic)?;
        Ok(Self::Kafka(KafkaLog::open(options).await.map_err(told)?, group))
    }

    /// As everybody else sees it.
    pub(crate) fn shared(&self) -> Arc<dyn Log> {
        match self {
            Self::Embedded(log) => Arc::clone(log) as Arc<dyn Log>,
            Self::Kafka(log, _) => Arc::clone(log) as Arc<dyn Log>,
        }
    }

    /// The log's documents.
    pub(crate) fn documents(&self) -> Arc<dyn DocumentStore> {
        self.shared().documents()
    }

    /// The identity that a cluster has by itself.
    pub(crate) fn own_cluster_id(&self) -> Option<String> {
        match self {
            Self::Embedded(_) => None,
            Self::Kafka(log, _) => Some(log.cluster_id().to_owned()),
        }
    }

    /// Joins the workers that share the log; alone where it is this machine's own.
    pub(crate) async fn join_group(
        &self,
        address: &Advertised,
    ) -> Result<Option<Arc<dyn Membership>>> {
        let Self::Kafka(log, settings) = self else { return Ok(None) };
        let mut options =
            GroupOptions::new(&address.worker_id, &address.url, env!("CARGO_PKG_VERSION"));
        settings.apply(&mut options);
        Ok(Some(log.join_group(options).await.map_err(told)?))
    }

    /// The name of this worker for others, where it listens there.
    pub(crate) fn advertised(&self, listening: SocketAddr) -> Result<Advertised> {
        match self {
            Self::Embedded(_) => Ok(Advertised::of(listening)),
            Self::Kafka(_, settings) => settings.advertised(listening),
        }
    }

    /// Where it keeps its records, for people.
    pub(crate) fn place(&self, data: &Path) -> String {
        match self {
            Self::Embedded(_) => data.display().to_string(),
            Self::Kafka(log, _) => format!("Kafka cluster {}", log.cluster_id()),
        }
    }

    /// Ends it after everything that was answered is safe.
    pub(crate) async fn close(&self) -> Result<()> {
        match self {
            Self::Embedded(log) => log.close().await.map_err(told),
            // Nothing waits here: appends are answered by the brokers.
            Self::Kafka(..) => Ok(()),
        }
    }
}

/// The properties of the worker's file, under those of the client's file, under what the command line says.
fn client_properties(serve: &Serve) -> Result<BTreeMap<String, String>> {
    let mut of_client = BTreeMap::new();
    if let Some(file) = &serve.worker_config {
        // What else stands there is about converters, connectors and the REST API.
        of_client.extend(read(file)?.into_iter().filter(|(name, _)| is_of_cluster(name)));
    }
    if let Some(file) = &serve.kafka.command_config {
        of_client.extend(read(file)?);
    }
    if let Some(servers) = &serve.kafka.bootstrap_servers {
        of_client.insert("bootstrap.servers".to_owned(), servers.clone());
    }
    Ok(of_client)
}

fn read(file: &Path) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("read the properties file {}", file.display()))?;
    Ok(properties(&text).into_iter().collect())
}

/// Whether a property of a worker's file is about its cluster, its group or its client there.
fn is_of_cluster(name: &str) -> bool {
    let of_group = name == "group.id" || group::KEYS.contains(&name);
    let of_topics = ["config.", "offset.", "status."];
    of_group
        || client_keys::OF_THE_WORKER.contains(&name)
        || client_keys::is_of_connection(name)
        || client_keys::of_any(name).is_some()
        || of_topics.iter().any(|topic| name.starts_with(topic) && name.contains(".storage."))
}

fn kafka_options(
    kafka: &Kafka,
    mut properties: BTreeMap<String, String>,
    default_topic: TopicConfig,
) -> Result<KafkaOptions> {
    properties.retain(|name, _| !group::KEYS.contains(&name.as_str()));
    // A worker's properties of Kafka Connect name the same things in these words.
    let mut named = |given: &Option<String>, word: &str| {
        let kept = properties.remove(word);
        given.clone().or(kept).filter(|name| !name.trim().is_empty())
    };
    let group_id = named(&kafka.group_id, "group.id").unwrap_or_else(|| "lattice".to_owned());
    let config_topic = named(&kafka.config_topic, "config.storage.topic");
    let offset_topic = named(&kafka.offset_topic, "offset.storage.topic");
    let status_topic = named(&kafka.status_topic, "status.storage.topic");
    let mut partitions = |word: &str, default: i32| match named(&None, word) {
        Some(count) => count.trim().parse().with_context(|| format!("\"{word}\" is \"{count}\"")),
        None => Ok(default),
    };
    let defaults = KafkaOptions::new("");
    let offset_partitions = partitions("offset.storage.partitions", defaults.offset_partitions)?;
    let status_partitions = partitions("status.storage.partitions", defaults.status_partitions)?;
    Ok(KafkaOptions {
        properties,
        group_id,
        config_topic,
        offset_topic,
        offset_partitions,
        status_topic,
        status_partitions,
        default_topic,
        ..defaults
    })
}

/// The error with its causes and its remedy.
pub(crate) fn told(error: Error) -> anyhow::Error {
    anyhow::anyhow!(error.chain())
}
