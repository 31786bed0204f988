//! Which brokers there are, who leads which partition, and the connections to them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Instant,
};

use kafka_protocol::{
    messages::{
        FindCoordinatorRequest, MetadataRequest, MetadataResponse, TopicName,
        metadata_request::MetadataRequestTopic,
    },
    protocol::StrBytes,
};
use lattice_core::{Error, Result};

use super::{
    connection::{Connection, Dial},
    fault::Fault,
    options::ClientOptions,
    socket::Address,
};

/// What a connection is for. A broker answers a connection's requests one after the other, so
/// what waits long must not stand before what is quick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Use {
    /// Records to be written.
    Produce,
    /// Everything short.
    Control,
}

/// What has a coordinator, by Kafka's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Coordinated {
    /// A consumer group.
    Group = 0,
    /// A transactional id.
    Transaction = 1,
}

/// The cluster as a broker described it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metadata {
    pub(crate) cluster_id: String,
    pub(crate) controller: i32,
    pub(crate) brokers: BTreeMap<i32, Address>,
    pub(crate) topics: BTreeMap<Arc<str>, TopicMetadata>,
}

/// A topic as a broker described it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TopicMetadata {
    /// Kafka's own.
    pub(crate) internal: bool,
    /// The leader of each partition; -1: none at the moment.
    pub(crate) leaders: Vec<i32>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Arc<Connection>>>>;

/// The way to the cluster.
pub(crate) struct Cluster {
    pub(crate) options: ClientOptions,
    metadata: RwLock<Arc<Metadata>>,
    refreshed: Mutex<Option<Instant>>,
    refreshing: tokio::sync::Mutex<()>,
    shared: Mutex<HashMap<(i32, Use), Slot>>,
    /// Connections for fetching, one caller each at a time.
    idle: Mutex<HashMap<i32, Vec<Connection>>>,
    coordinators: Mutex<HashMap<(Coordinated, String), i32>>,
}

impl Cluster {
    pub(crate) fn new(options: ClientOptions) -> Self {
        Self {
            options,
            metadata: RwLock::default(),
            refreshed: Mutex::default(),
            refreshing: tokio::sync::Mutex::default(),
            shared: Mutex::default(),
            idle: Mutex::default(),
            coordinators: Mutex::default(),
        }
    }

    /// What is known now.
    pub(crate) fn metadata(&self) -> Arc<Metadata> {
        Arc::clone(&self.metadata.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The leader of a partition, if it is known and there is one.
    pub(crate) fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        let metadata = self.metadata();
        let leaders = &metadata.topics.get(topic)?.leaders;
        leaders.get(usize::try_from(partition).ok()?).copied().filter(|leader| *leader >= 0)
    }

    /// Asks anew about topics (`None`: all of them) and brokers.
    pub(crate) async fn refresh(&self, topics: Option<&[Arc<str>]>) -> Result<(), Fault> {
        let began = Instant::now();
        let _one = self.refreshing.lock().await;
        // Whoever waited here while somebody else asked about everything has its answer.
        if topics.is_none() && self.refreshed().is_some_and(|at| at >= began) {
            return Ok(());
        }
        let names = topics.map(|topics| {
            let name = |topic: &Arc<str>| TopicName(StrBytes::from_string(topic.to_string()));
            topics
                .iter()
                .map(|topic| MetadataRequestTopic::default().with_name(Some(name(topic))))
                .collect()
        });
        let request =
            MetadataRequest::default().with_topics(names).with_allow_auto_topic_creation(false);
        let answer = self.any().await?.call(&request).await?;
        self.learn(&answer, topics);
        Ok(())
    }

    fn refreshed(&self) -> Option<Instant> {
        *self.refreshed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, answer: &MetadataResponse, asked: Option<&[Arc<str>]>) {
        let old = self.metadata();
        let mut new = Metadata {
            cluster_id: answer.cluster_id.as_deref().unwrap_or_default().to_owned(),
            controller: answer.controller_id.0,
            ..Metadata::default()
        };
        for broker in &answer.brokers {
            let port = u16::try_from(broker.port).unwrap_or_default();
            new.brokers.insert(broker.node_id.0, Address { host: broker.host.to_string(), port });
        }
        if let Some(asked) = asked {
            new.topics.clone_from(&old.topics);
            for topic in asked {
                new.topics.remove(topic);
            }
        }
        for topic in &answer.topics {
            let Some(name) = &topic.name else { continue };
            if topic.error_code != 0 && topic.partitions.is_empty() {
                continue;
            }
            let mut leaders = vec![-1; topic.partitions.len()];
            for partition in &topic.partitions {
                let slot = usize::try_from(partition.partition_index).ok();
                if let Some(leader) = slot.and_then(|slot| leaders.get_mut(slot)) {
                    *leader = partition.leader_id.0;
                }
            }
            let known = TopicMetadata { internal: topic.is_internal, leaders };
            new.topics.insert(Arc::from(name.as_str()), known);
        }
        self.forget_gone_brokers(&old, &new);
        *self.metadata.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        if asked.is_none() {
            *self.refreshed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    fn forget_gone_brokers(&self, old: &Metadata, new: &Metadata) {
        let gone = |id: &i32| old.brokers.get(id) != new.brokers.get(id);
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|(id, _), _| !gone(id));
        drop(shared);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|id, _| !gone(id));
    }

    /// A connection to whichever broker answers.
    pub(crate) async fn any(&self) -> Result<Arc<Connection>, Fault> {
        let brokers: Vec<i32> = self.metadata().brokers.keys().copied().collect();
        for id in brokers {
            match self.broker(id, Use::Control).await {
                Ok(connection) => return Ok(connection),
                Err(Fault::Final(error)) => return Err(Fault::Final(error)),
                Err(_) => {}
            }
        }
        let mut last = None;
        for address in &self.options.bootstrap {
            match self.open(address).await {
                Ok(connection) => return Ok(Arc::new(connection)),
                Err(Fault::Final(error)) => return Err(Fault::Final(error)),
                Err(fault) => last = Some(fault),
            }
        }
        Err(last.unwrap_or_else(|| Fault::Final(Error::config("no bootstrap server is given"))))
    }

    /// The shared connection to a broker.
    pub(crate) async fn broker(&self, id: i32, purpose: Use) -> Result<Arc<Connection>, Fault> {
        let slot = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(shared.entry((id, purpose)).or_default())
        };
        let mut slot = slot.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| connection.usable()) {
            return Ok(Arc::clone(connection));
        }
        *slot = None;
        let connection = Arc::new(self.open(&self.address(id)?).await?);
        *slot = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// A connection that nobody else uses until it is given back.
    pub(crate) async fn borrow(&self, id: i32) -> Result<Connection, Fault> {
        loop {
            let kept = {
                let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
                idle.get_mut(&id).and_then(Vec::pop)
            };
            match kept {
                Some(connection) if connection.usable() => return Ok(connection),
                Some(_) => {}
                None => return self.open(&self.address(id)?).await,
            }
        }
    }

    /// Gives a borrowed connection back, after its request was answered.
    pub(crate) fn give_back(&self, id: i32, connection: Connection) {
        if connection.usable() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.entry(id).or_default().push(connection);
        }
    }

    /// A connection to the controller; where brokers pass its requests on, to any.
    pub(crate) async fn controller(&self) -> Result<Arc<Connection>, Fault> {
        let metadata = self.metadata();
        if metadata.brokers.contains_key(&metadata.controller) {
            return self.broker(metadata.controller, Use::Control).await;
        }
        self.any().await
    }

    /// A connection to the coordinator of a consumer group.
    pub(crate) async fn coordinator(&self, group: &str) -> Result<Arc<Connection>, Fault> {
        self.coordinator_of(Coordinated::Group, group).await
    }

    /// A connection to the coordinator of a group or of a transactional id.
    pub(crate) async fn coordinator_of(
        &self,
        kind: Coordinated,
        name: &str,
    ) -> Result<Arc<Connection>, Fault> {
        let id = self.coordinator_id(kind, name).await?;
        self.broker(id, Use::Control).await
    }

    /// The broker that coordinates a group or a transactional id.
    pub(crate) async fn coordinator_id(&self, kind: Coordinated, name: &str) -> Result<i32, Fault> {
        let place = (kind, name.to_owned());
        let known =
            self.coordinators.lock().unwrap_or_else(PoisonError::into_inner).get(&place).copied();
        if let Some(id) = known {
            return Ok(id);
        }
        let request = FindCoordinatorRequest::default()
            .with_key(StrBytes::from_string(name.to_owned()))
            .with_key_type(kind as i8);
        let answer = self.any().await?.call(&request).await?;
        Fault::check(answer.error_code, answer.error_message.as_deref())?;
        let id = answer.node_id.0;
        if !self.metadata().brokers.contains_key(&id) {
            self.refresh(Some(&[])).await?;
        }
        self.coordinators.lock().unwrap_or_else(PoisonError::into_inner).insert(place, id);
        Ok(id)
    }

    /// The coordinator was not the right one, or its broker is gone.
    pub(crate) fn forget_coordinator(&self, group: &str) {
        self.forget_coordinator_of(Coordinated::Group, group);
    }

    /// The same for a group or a transactional id.
    pub(crate) fn forget_coordinator_of(&self, kind: Coordinated, name: &str) {
        let mut known = self.coordinators.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&(kind, name.to_owned()));
    }

    fn address(&self, id: i32) -> Result<Address, Fault> {
        self.metadata().brokers.get(&id).cloned().ok_or_else(|| {
            Fault::Broken(Error::transient(format!("the Kafka broker {id} is not in the cluster")))
        })
    }

    async fn open(&self, address: &Address) -> Result<Connection, Fault> {
        let connection = Connection::open(&Dial {
            address,
            tls: self.options.tls.as_ref(),
            client_id: &self.options.client_id,
            connect_timeout: self.options.connect_timeout,
            request_timeout: self.options.request_timeout,
        })
        .await?;
        if let Some(login) = &self.options.login {
            login.log_in(&connection).await?;
        }
        Ok(connection)
    }
}
