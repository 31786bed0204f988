//! The group of workers, by Kafka's consumer group protocol (`docs/adr/0007-leases.md`).
//!
//! The partitions of a small topic without records are leases. Workers keep what they hold while
//! the leases are shared out anew; a lease changes hands in two rounds, of which the first only
//! takes it from its holder. Read `standing` (what this worker holds and why), then `round`.

mod lease;
mod requests;
mod round;
mod share;
mod standing;
mod words;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lattice_core::{BoxFuture, Error, Result};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

pub(crate) use self::lease::Lease;
use self::standing::Standing;
use super::{
    Inner,
    documents::Documents,
    topics::{Copies, Topics},
};
use crate::{
    log::{CleanupPolicy, TopicConfig},
    membership::{GroupView, Kept, Membership},
};

/// Leases of a group that is made.
const LEASES: i32 = 32;

/// How long one look at what is new may wait.
const LOOK: Duration = Duration::from_secs(5);

/// How a worker joins its group.
#[derive(Debug, Clone)]
pub struct GroupOptions {
    /// `host:port` of its REST API: its name in the group.
    pub worker_id: String,
    /// Where other workers reach that API.
    pub url: String,
    /// The version it runs.
    pub version: String,
    /// Kafka's `session.timeout.ms`: how long after its last sign of life others take over.
    pub session_timeout: Duration,
    /// Kafka's `heartbeat.interval.ms`.
    pub heartbeat_interval: Duration,
    /// Kafka's `rebalance.timeout.ms`: how long the group waits for a worker to join again.
    pub rebalance_timeout: Duration,
}

impl GroupOptions {
    /// The defaults, Kafka Connect's.
    #[must_use]
    pub fn new(worker_id: &str, url: &str, version: &str) -> Self {
        Self {
            worker_id: worker_id.to_owned(),
            url: url.to_owned(),
            version: version.to_owned(),
            session_timeout: Duration::from_secs(10),
            heartbeat_interval: Duration::from_secs(3),
            rebalance_timeout: Duration::from_secs(60),
        }
    }

    /// Without a sign of the coordinator for so long, the worker ends its tasks.
    fn patience(&self) -> Duration {
        self.session_timeout * 2 / 3
    }

    /// Without one for so long, nothing is written any more.
    fn limit(&self) -> Duration {
        self.session_timeout * 5 / 6
    }

    fn check(&self) -> Result<()> {
        if self.heartbeat_interval * 2 > self.session_timeout {
            return Err(Error::config(format!(
                "the heartbeat interval ({:?}) is more than half of the session timeout ({:?})",
                self.heartbeat_interval, self.session_timeout
            ))
            .with_remedy("give a third of the session timeout"));
        }
        Ok(())
    }
}

/// What the parts of a membership share.
struct Core {
    inner: Arc<Inner>,
    group: String,
    topic: String,
    leases: i32,
    options: GroupOptions,
    views: watch::Sender<Arc<GroupView>>,
    released: watch::Sender<u64>,
    standing: Mutex<Standing>,
}

/// A membership by Kafka's group protocol.
pub(crate) struct KafkaMembership {
    core: Arc<Core>,
    documents: Arc<Documents>,
    running: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// Joins, and stays until the membership is ended.
///
/// Errors: `Config` for times that do not fit together; the log's own.
pub(super) async fn join(
    inner: Arc<Inner>,
    documents: Arc<Documents>,
    group: &str,
    options: GroupOptions,
) -> Result<Arc<KafkaMembership>> {
    options.check()?;
    let topic = lease_topic(group);
    let leases = lease_count(&inner.ground.topics, &topic).await?;
    let core = Arc::new(Core {
        standing: Mutex::new(Standing::new()),
        inner,
        group: group.to_owned(),
        topic,
        leases,
        options,
        views: watch::Sender::new(Arc::default()),
        released: watch::Sender::new(0),
    });
    // Nothing is written before the group was joined.
    core.inner.lease.cut();
    let run = Arc::clone(&core);
    let running = tokio::spawn(async move {
        tokio::select! {
            () = run.run() => {}
            () = run.watch_over() => {}
        }
    });
    let running = Mutex::new(Some(AbortOnDropHandle::new(running)));
    Ok(Arc::new(KafkaMembership { core, documents, running }))
}

/// The topic whose partitions are the leases.
pub(super) fn lease_topic(group: &str) -> String {
    format!("__{group}_leases")
}

async fn lease_count(topics: &Topics, topic: &str) -> Result<i32> {
    let config = TopicConfig {
        partitions: LEASES,
        cleanup_policy: CleanupPolicy::Compact,
        retention_ms: None,
        ..TopicConfig::default()
    };
    topics.create(topic, &config, Copies::UpTo(super::table::COPIES)).await?;
    let found = topics.list(Some(topic)).await?.pop();
    found
        .map(|topic| topic.config.partitions)
        .ok_or_else(|| Error::transient(format!("find topic {topic}")))
}

impl Membership for KafkaMembership {
    fn views(&self) -> watch::Receiver<Arc<GroupView>> {
        self.core.views.subscribe()
    }

    fn released(&self, epoch: u64) {
        self.core.released.send_modify(|newest| *newest = epoch.max(*newest));
    }

    fn fenced_grace(&self) -> Duration {
        self.core.options.session_timeout / 6
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.core.inner.lease.settled())
    }

    fn changed(&self, what: Kept) -> BoxFuture<'_, Result<()>> {
        let table = match what {
            Kept::Configs => &self.documents.connect,
            Kept::Statuses => &self.documents.status,
        };
        Box::pin(async move { table.unread(LOOK).await.map(drop) })
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(running) = running {
                running.abort();
                // Aborted on purpose.
                let _ = running.await;
            }
            self.core.leave_if_last().await;
        })
    }
}
