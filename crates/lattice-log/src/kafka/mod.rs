//! The log on Apache Kafka.
//!
//! A thin client of our own: our batches are Kafka's already, encoded and compressed, so writing
//! and reading them costs no more than their bytes (`docs/adr/0004-kafka-client.md`). Read
//! `connection` first (requests and answers), then `cluster` (who answers what), `producer` and
//! `fetch` (records), `table` (compacted topics) and what is built on it.

mod api;
mod cluster;
mod connection;
mod documents;
mod fault;
mod fetch;
mod groups;
mod membership;
mod offsets;
mod options;
mod producer;
mod retry;
mod sasl;
mod sent;
mod socket;
mod source_offsets;
mod table;
mod tls;
mod topics;
mod transaction;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lattice_core::{BoxFuture, Error, Result, position::Position, store::DocumentStore};

use self::{
    cluster::Cluster,
    documents::{Documents, Handle},
    fetch::Fetcher,
    groups::Groups,
    membership::Lease,
    options::ClientOptions,
    producer::Producer,
    retry::Retry,
    socket::Address,
    source_offsets::SourceOffsets,
    table::{Ground, Table},
    topics::{Copies, Topics},
    transaction::{OfTask, Transaction},
};
pub use self::{membership::GroupOptions, options::KafkaOptions};
use crate::log::{
    AppendRequest, Broker, Log, LogHealth, SourceOffsetChange, StoredBatch, TopicConfig, TopicInfo,
    TopicPartition, Transactions,
};
use crate::membership::Membership;

/// The log on a Kafka cluster.
pub struct KafkaLog {
    inner: Arc<Inner>,
    groups: Groups,
    documents: Arc<Documents>,
    cluster_id: String,
    group_id: String,
}

/// What an append needs, which goes on when its caller is gone: the sequence numbers must stay
/// known.
struct Inner {
    ground: Ground,
    source_offsets: SourceOffsets,
    default_topic: TopicConfig,
    /// Whether this worker may write.
    lease: Lease,
    /// Why the log cannot be written at the moment.
    trouble: Mutex<Option<String>>,
}

impl KafkaLog {
    /// Connects, and makes the platform's own topics where they are missing. A cluster that does
    /// not answer is waited for, up to `start_timeout`.
    ///
    /// Errors: `Config` and `Auth` for properties that are wrong, `Transient` for a cluster that
    /// does not answer.
    pub async fn open(options: KafkaOptions) -> Result<Arc<Self>> {
        let client = ClientOptions::read(&options.properties)?;
        let group = &options.group_id;
        let named = |given: &Option<String>, default: String| given.clone().unwrap_or(default);
        let config_topic = named(&options.config_topic, format!("{group}-configs"));
        let offset_topic = named(&options.offset_topic, format!("{group}-offsets"));
        let document_topic = format!("__{group}_documents");
        let status_topic = named(&options.status_topic, format!("{group}-status"));
        let own = vec![
            config_topic.clone(),
            offset_topic.clone(),
            status_topic.clone(),
            document_topic.clone(),
            membership::lease_topic(group),
        ];

        let cluster = Arc::new(Cluster::new(client));
        reach(&cluster, options.start_timeout).await?;
        let ground = Ground {
            fetcher: Arc::new(Fetcher::new(Arc::clone(&cluster))),
            producer: Arc::new(Producer::new(Arc::clone(&cluster))),
            topics: Arc::new(Topics::new(Arc::clone(&cluster), own)),
            cluster,
        };
        let (connect, status, own, offsets) = tokio::try_join!(
            Table::open(&ground, &config_topic, 1),
            Table::open(&ground, &status_topic, options.status_partitions),
            Table::open(&ground, &document_topic, 1),
            Table::open(&ground, &offset_topic, options.offset_partitions),
        )?;
        Ok(Arc::new(Self {
            groups: Groups::new(Arc::clone(&ground.cluster)),
            documents: Arc::new(Documents { connect, status, own }),
            cluster_id: ground.cluster.metadata().cluster_id.clone(),
            group_id: options.group_id.clone(),
            inner: Arc::new(Inner {
                ground,
                source_offsets: SourceOffsets::new(offsets),
                default_topic: options.default_topic,
                lease: Lease::default(),
                trouble: Mutex::default(),
            }),
        }))
    }

    /// Joins the workers of this log's group. From then on the log takes records only as long as
    /// this worker is a member.
    ///
    /// Errors: `Config` for times that do not fit together; the log's own.
    pub async fn join_group(&self, options: GroupOptions) -> Result<Arc<dyn Membership>> {
        let (inner, documents) = (Arc::clone(&self.inner), Arc::clone(&self.documents));
        Ok(membership::join(inner, documents, &self.group_id, options).await?)
    }

    /// The cluster's own identity.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }
}

/// Waits for an append that goes on without its caller; a panic in it goes on here.
async fn appended(append: tokio::task::JoinHandle<Result<Vec<i64>>>) -> Result<Vec<i64>> {
    match append.await {
        Ok(outcome) => outcome,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(Error::fatal("an append was cancelled").with_source(error)),
    }
}

async fn reach(cluster: &Cluster, patience: Duration) -> Result<()> {
    let mut retry = Retry::within(patience);
    let mut told = false;
    while let Err(fault) = cluster.refresh(None).await {
        if fault.may_pass() && !told {
            tracing::warn!(?fault, "the Kafka cluster does not answer yet; it is waited for");
            told = true;
        }
        retry.after(fault, || "reach the Kafka cluster".to_owned()).await?;
    }
    Ok(())
}

impl Inner {
    async fn append(&self, request: AppendRequest) -> Result<Vec<i64>> {
        self.make_topics(&request).await?;
        let offset = match &request.source_offset {
            Some(offset) => Some(self.source_offsets.batch(offset).await?),
            None => None,
        };
        self.ground.producer.append(&request.batches, offset.as_ref()).await
    }

    async fn append_to(
        &self,
        transaction: &Transaction,
        request: AppendRequest,
    ) -> Result<Vec<i64>> {
        // Not cut off in the middle: the broker refuses a transaction whose task runs elsewhere.
        let _under_way = self.lease.begin()?;
        self.make_topics(&request).await?;
        let offset = match &request.source_offset {
            Some(offset) => Some(self.source_offsets.batch(offset).await?),
            None => None,
        };
        transaction.append(&request.batches, offset.as_ref()).await
    }

    /// Topics that are not there are made with the default configuration.
    async fn make_topics(&self, request: &AppendRequest) -> Result<()> {
        let metadata = self.ground.cluster.metadata();
        let unknown = request.batches.iter().map(|batch| &batch.topic);
        let mut unknown: Vec<Arc<str>> =
            unknown.filter(|topic| !metadata.topics.contains_key(*topic)).cloned().collect();
        unknown.sort();
        unknown.dedup();
        for topic in unknown {
            self.ground.topics.create(&topic, &self.default_topic, Copies::Default).await?;
        }
        Ok(())
    }

    fn note(&self, outcome: &Result<Vec<i64>>) {
        let message = match outcome {
            Ok(_) => None,
            Err(error) if error.kind() == lattice_core::ErrorKind::Data => return,
            Err(error) => Some(error.chain()),
        };
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = message;
    }
}

impl Log for KafkaLog {
    fn create_topic<'a>(
        &'a self,
        name: &'a str,
        config: TopicConfig,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(
            async move { self.inner.ground.topics.create(name, &config, Copies::Default).await },
        )
    }

    fn delete_topic<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let deleted = self.inner.ground.topics.delete(name).await?;
            self.inner.ground.producer.forget_topic(name);
            Ok(deleted)
        })
    }

    fn topics(&self) -> BoxFuture<'_, Result<Vec<TopicInfo>>> {
        Box::pin(self.inner.ground.topics.list(None))
    }

    fn topic<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<TopicInfo>>> {
        Box::pin(async move { Ok(self.inner.ground.topics.list(Some(name)).await?.pop()) })
    }

    fn append(&self, request: AppendRequest) -> BoxFuture<'_, Result<Vec<i64>>> {
        let inner = Arc::clone(&self.inner);
        let append = tokio::spawn(async move {
            let mut under_way = inner.lease.begin()?;
            let outcome = tokio::select! {
                outcome = inner.append(request) => outcome,
                given_up = under_way.given_up() => Err(given_up),
            };
            inner.note(&outcome);
            outcome
        });
        Box::pin(appended(append))
    }

    fn needs_transactions(&self) -> bool {
        true
    }

    fn transactions<'a>(
        &'a self,
        connector: &'a str,
        task: u32,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn Transactions>>>> {
        Box::pin(async move {
            // Kafka Connect's form: its tasks and ours fence each other.
            let id = format!("{}-{connector}-{task}", self.group_id);
            let cluster = Arc::clone(&self.inner.ground.cluster);
            let transaction = Transaction::begin(cluster, id, timeout).await?;
            let inner = Arc::clone(&self.inner);
            Ok(Some(Arc::new(OfTask::new(inner, transaction)) as Arc<dyn Transactions>))
        })
    }

    fn fetch(
        &self,
        from: Vec<(TopicPartition, i64)>,
        max_bytes: usize,
        max_wait: Duration,
    ) -> BoxFuture<'_, Result<Vec<StoredBatch>>> {
        Box::pin(self.inner.ground.fetcher.fetch(from, max_bytes, max_wait))
    }

    fn commit_offsets<'a>(
        &'a self,
        group: &'a str,
        offsets: Vec<(TopicPartition, i64)>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.inner.lease.check()?;
            self.groups.commit(group, &offsets).await
        })
    }

    fn committed_offsets<'a>(
        &'a self,
        group: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(TopicPartition, i64)>>> {
        Box::pin(self.groups.committed(group))
    }

    fn delete_offsets<'a>(
        &'a self,
        group: &'a str,
        partitions: Option<Vec<TopicPartition>>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.groups.delete(group, partitions.as_deref()).await })
    }

    fn groups(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(self.groups.list())
    }

    fn source_offsets<'a>(&'a self, connector: &'a str) -> BoxFuture<'a, Result<Vec<Position>>> {
        Box::pin(self.inner.source_offsets.read(connector))
    }

    fn set_source_offsets<'a>(
        &'a self,
        connector: &'a str,
        offsets: Vec<SourceOffsetChange>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.inner.source_offsets.set(connector, offsets))
    }

    fn documents(&self) -> Arc<dyn DocumentStore> {
        Arc::new(Handle(Arc::clone(&self.documents)))
    }

    fn health(&self) -> LogHealth {
        let message = self.inner.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        LogHealth {
            writable: message.is_none(),
            message,
            bytes: self.inner.ground.topics.bytes(),
            free_bytes: None,
        }
    }

    fn brokers(&self) -> Vec<Broker> {
        let told = self.inner.ground.cluster.metadata();
        let broker = |(id, address): (&i32, &Address)| Broker {
            id: *id,
            host: address.host.clone(),
            port: address.port,
            controller: *id == told.controller,
        };
        told.brokers.iter().map(broker).collect()
    }
}
