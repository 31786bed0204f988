//! The worker's handle: connectors are made, changed, moved between states, and deleted. What it
//! tells about them is in `inspect`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use lattice_core::{
    config::{Config, Severity},
    error::Result,
    secret::MASK,
};
use lattice_log::{Log, Membership, TopicConfig};
use lattice_registry::{Registries, SchemaRegistry};
use tokio::{sync::watch, task::JoinHandle, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::{
    connector::Connector,
    error::{WorkerError, WorkerResult},
    group::{Group, farewell, follow},
    model::{ConnectorInfo, ConnectorStatus, InitialState, State, TaskStatus},
    overrides,
    plugins::Plugins,
    providers::{Environment, Providers},
    report::lock,
    retry::Backoff,
    store::{Kept, Store},
};

/// What a worker is made of.
pub struct WorkerOptions {
    /// `host:port` by which others reach this worker; shown in statuses.
    pub worker_id: String,
    /// Where records, offsets and documents are.
    pub log: Arc<dyn Log>,
    /// Where schemas are of connectors that name no registry.
    pub registry: Arc<dyn SchemaRegistry>,
    /// Which connectors there are.
    pub plugins: Plugins,
    /// Reads environment variables for `${env:X}`.
    pub environment: Environment,
    /// The group of workers that share the connectors; `None`: this one runs them all.
    pub membership: Option<Arc<dyn Membership>>,
    /// The rest.
    pub config: WorkerConfig,
}

/// Settings of a worker; the defaults are right for one machine.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The worker's own connector keys: `key.converter`, `value.converter` and their options,
    /// for connectors that have none.
    pub defaults: Config,
    /// The worker's other settings, by Kafka Connect's names: `config.providers` and what belongs
    /// to them.
    pub settings: Config,
    /// How topics are made that no `topic.creation.*` speaks of.
    pub default_topic: TopicConfig,
    /// What a task may hold between source and log, or log and sink. Units: bytes.
    pub task_bytes: usize,
    /// How often a sink looks for new topics and partitions.
    pub topic_refresh: Duration,
    /// How often a sink's offsets are written at most; what is beyond them is delivered again
    /// after a crash.
    pub offset_flush_interval: Duration,
    /// How long a task may take to end before it is aborted.
    pub task_grace: Duration,
    /// How transient errors are retried.
    pub backoff: Backoff,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            defaults: Config::default(),
            settings: Config::default(),
            default_topic: TopicConfig::default(),
            task_bytes: 16 << 20,
            topic_refresh: Duration::from_secs(3),
            offset_flush_interval: Duration::from_millis(500),
            task_grace: Duration::from_secs(5),
            backoff: Backoff::default(),
        }
    }
}

/// What connectors and tasks share.
pub(crate) struct Shared {
    pub(crate) worker_id: String,
    pub(crate) log: Arc<dyn Log>,
    pub(crate) registries: Registries,
    pub(crate) plugins: Plugins,
    pub(crate) providers: Providers,
    pub(crate) store: Store,
    pub(crate) config: WorkerConfig,
    /// `None`: this worker runs everything.
    pub(crate) group: Option<Arc<Group>>,
    /// Goes up with every change of a state.
    pub(crate) changed: watch::Sender<u64>,
}

impl Shared {
    /// Whether this worker runs a task.
    pub(crate) fn runs(&self, connector: &str, task: u32) -> bool {
        self.group.as_ref().is_none_or(|group| group.runs(connector, Some(task)))
    }

    /// The registry that a connector's converters name.
    ///
    /// Errors: `Config`.
    pub(crate) fn registry(&self, config: &Config) -> Result<Arc<dyn SchemaRegistry>> {
        self.registries.of(lattice_codec::registry_of(config)?)
    }

    /// Adds the worker's converters and settings of Kafka's clients where the connector has none of its own. A
    /// converter that the connector names takes none of the worker's options, as in Kafka Connect.
    pub(crate) fn with_worker_defaults(&self, mut config: Config) -> Config {
        for converter in ["key.converter", "value.converter", "header.converter"] {
            if config.get(converter).is_some() {
                continue;
            }
            let options = format!("{converter}.");
            for (name, value) in self.config.defaults.iter() {
                let belongs = name == converter || name.starts_with(&options);
                if belongs && config.get(name).is_none() {
                    config.set(name, value);
                }
            }
        }
        overrides::with_worker_defaults(&mut config, &self.config.settings);
        config
    }
}

/// A worker. Cheap to clone; all clones are the same worker.
#[derive(Clone)]
pub struct Worker(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) connectors: Mutex<BTreeMap<String, Arc<Connector>>>,
    /// Held while a connector is made or deleted.
    pub(crate) membership: tokio::sync::Mutex<()>,
    cancel: CancellationToken,
    sampler: Mutex<Option<JoinHandle<()>>>,
    follower: Mutex<Option<JoinHandle<()>>>,
}

impl Inner {
    /// A connector may have been deleted while one waited for its turn.
    pub(crate) fn refuse_deleted(&self, connector: &Arc<Connector>) -> WorkerResult<()> {
        match lock(&self.connectors).get(&connector.name) {
            Some(found) if Arc::ptr_eq(found, connector) => Ok(()),
            _ => Err(WorkerError::unknown_connector(&connector.name)),
        }
    }
}

impl Worker {
    /// Starts a worker and every connector it had before. Returns without waiting for them.
    ///
    /// Errors: the log's own; `Config` when the settings name an unknown config provider; `Fatal`
    /// when a kept document is damaged.
    pub async fn start(options: WorkerOptions) -> Result<Self> {
        overrides::check_worker(&options.config.settings)?;
        let store = Store::new(options.log.documents());
        let kept = store.load().await?;
        let group = options.membership.map(|membership| Group::new(&options.worker_id, membership));
        let shared = Arc::new(Shared {
            group: group.map(Arc::new),
            registries: Registries::new(options.registry, &options.worker_id),
            worker_id: options.worker_id,
            log: options.log,
            plugins: options.plugins,
            providers: Providers::new(options.environment, &options.config.settings)?,
            store,
            config: options.config,
            changed: watch::Sender::new(0),
        });
        let mut connectors = BTreeMap::new();
        for (name, kept) in kept {
            let connector = Arc::new(Connector::new(&name, kept, Arc::clone(&shared)));
            connector.start();
            connectors.insert(name, connector);
        }
        let worker = Self(Arc::new(Inner {
            shared,
            connectors: Mutex::new(connectors),
            membership: tokio::sync::Mutex::new(()),
            cancel: CancellationToken::new(),
            sampler: Mutex::new(None),
            follower: Mutex::new(None),
        }));
        *lock(&worker.0.sampler) = Some(tokio::spawn(sample(Arc::downgrade(&worker.0))));
        if let Some(group) = &worker.0.shared.group {
            let following = follow(Arc::downgrade(&worker.0), Arc::clone(group));
            *lock(&worker.0.follower) = Some(tokio::spawn(following));
        }
        Ok(worker)
    }

    /// The names of all connectors.
    pub async fn connectors(&self) -> Vec<String> {
        lock(&self.0.connectors).keys().cloned().collect()
    }

    /// A connector as it was created.
    ///
    /// Errors: `NotFound`.
    pub async fn connector(&self, name: &str) -> WorkerResult<ConnectorInfo> {
        Ok(self.find(name)?.info())
    }

    /// A connector's state.
    ///
    /// Errors: `NotFound`.
    pub async fn status(&self, name: &str) -> WorkerResult<ConnectorStatus> {
        let missing = || WorkerError::NotFound(format!("No status found for connector {name}"));
        Ok(self.get(name).ok_or_else(missing)?.status())
    }

    /// Creates a connector and brings it to its initial state.
    ///
    /// Errors: `BadRequest`, `Invalid`, `Conflict`.
    pub async fn create(
        &self,
        name: &str,
        config: Config,
        initial: InitialState,
    ) -> WorkerResult<ConnectorInfo> {
        let name = name.trim();
        let config = named(name, config)?;
        self.refuse_invalid(&config).await?;
        let _membership = self.0.membership.lock().await;
        if self.get(name).is_some() {
            return Err(WorkerError::Conflict(format!("Connector {name} already exists")));
        }
        self.insert(name, config, initial).await
    }

    async fn insert(
        &self,
        name: &str,
        config: Config,
        target: InitialState,
    ) -> WorkerResult<ConnectorInfo> {
        let shared = &self.0.shared;
        shared.store.put_target(name, target).await?;
        shared.store.put_config(name, &config).await?;
        let kept = Kept { config, target, topics: Default::default() };
        let connector = Arc::new(Connector::new(name, kept, Arc::clone(shared)));
        let _transition = connector.transition.lock().await;
        lock(&self.0.connectors).insert(name.to_owned(), Arc::clone(&connector));
        connector.start();
        Ok(connector.info())
    }

    /// Replaces a connector's configuration, or creates the connector. True: it was created. A
    /// value that is the mask of a secret keeps the secret it had.
    ///
    /// Errors: `BadRequest`, `Invalid`.
    pub async fn put_config(
        &self,
        name: &str,
        config: Config,
    ) -> WorkerResult<(bool, ConnectorInfo)> {
        let config = named(name, config)?;
        let Some(connector) = self.get(name) else {
            return Ok((true, self.create(name, config, InitialState::Running).await?));
        };
        let config = self.with_kept_secrets(name, config);
        self.refuse_invalid(&config).await?;
        let _transition = connector.transition.lock().await;
        self.refuse_deleted(&connector)?;
        self.0.shared.store.put_config(name, &config).await?;
        connector.set_config(config);
        connector.restart(self.grace()).await;
        Ok((false, connector.info()))
    }

    /// Changes some keys of a connector's configuration; `None` removes a key.
    ///
    /// Errors: `NotFound`, `Invalid`.
    pub async fn patch_config(
        &self,
        name: &str,
        changes: Vec<(String, Option<String>)>,
    ) -> WorkerResult<ConnectorInfo> {
        let mut config = self.find(name)?.config();
        for (key, value) in changes {
            match value {
                Some(value) if value == MASK => {}
                Some(value) => config.set(key, value),
                None => {
                    config.remove(&key);
                }
            }
        }
        Ok(self.put_config(name, config).await?.1)
    }

    /// Deletes a connector. Its offsets stay, so that one of the same name goes on from them.
    ///
    /// Errors: `NotFound`.
    pub async fn delete(&self, name: &str) -> WorkerResult<()> {
        let connector = self.find(name)?;
        let _membership = self.0.membership.lock().await;
        let _transition = connector.transition.lock().await;
        self.refuse_deleted(&connector)?;
        self.0.shared.store.remove(name).await?;
        connector.end_tasks(self.grace()).await;
        lock(&self.0.connectors).remove(name);
        self.0.shared.changed.send_modify(|version| *version += 1);
        Ok(())
    }

    /// Holds a connector: its tasks keep their resources and move nothing.
    ///
    /// Errors: `NotFound`.
    pub async fn pause(&self, name: &str) -> WorkerResult<()> {
        self.change_target(name, InitialState::Paused).await
    }

    /// Lets a paused or stopped connector run.
    ///
    /// Errors: `NotFound`.
    pub async fn resume(&self, name: &str) -> WorkerResult<()> {
        self.change_target(name, InitialState::Running).await
    }

    /// Ends a connector's tasks; needed before its offsets are changed.
    ///
    /// Errors: `NotFound`.
    pub async fn stop(&self, name: &str) -> WorkerResult<()> {
        self.change_target(name, InitialState::Stopped).await
    }

    async fn change_target(&self, name: &str, target: InitialState) -> WorkerResult<()> {
        let unknown = || WorkerError::NotFound(format!("Unknown connector {name}"));
        let connector = self.get(name).ok_or_else(unknown)?;
        let _transition = connector.transition.lock().await;
        self.refuse_deleted(&connector)?;
        Ok(connector.change_target(target, self.grace()).await?)
    }

    /// Restarts a connector and, if asked for, its tasks; with `only_failed`, those of them that
    /// failed. Gives the status with what is being restarted as RESTARTING.
    ///
    /// Errors: `NotFound`.
    pub async fn restart(
        &self,
        name: &str,
        include_tasks: bool,
        only_failed: bool,
    ) -> WorkerResult<ConnectorStatus> {
        let unknown = || WorkerError::NotFound(format!("Unknown connector: {name}"));
        let connector = self.get(name).ok_or_else(unknown)?;
        let _transition = connector.transition.lock().await;
        self.refuse_deleted(&connector)?;
        let mut status = connector.status();
        // On another worker it may have failed alone, or been restarted already.
        let failed = status.state == State::Failed || connector.state() == State::Failed;
        let wanted = |task: &&TaskStatus| !only_failed || task.state == State::Failed;
        let tasks: Vec<u32> = match include_tasks {
            false => Vec::new(),
            true => status.tasks.iter().filter(wanted).map(|task| task.id).collect(),
        };
        if failed || !only_failed {
            status.state = State::Restarting;
            status.trace = None;
        }
        for task in status.tasks.iter_mut().filter(|task| tasks.contains(&task.id)) {
            task.state = State::Restarting;
            task.trace = None;
        }
        if failed || (include_tasks && !only_failed) {
            connector.restart(self.grace()).await;
        } else {
            for id in tasks {
                connector.restart_task(id, self.grace()).await?;
            }
        }
        Ok(status)
    }

    /// Restarts one task.
    ///
    /// Errors: `NotFound`.
    pub async fn restart_task(&self, name: &str, id: u32) -> WorkerResult<()> {
        let unknown = || WorkerError::NotFound(format!("Unknown connector: {name}"));
        let connector = self.get(name).ok_or_else(unknown)?;
        let _transition = connector.transition.lock().await;
        self.refuse_deleted(&connector)?;
        if connector.restart_task(id, self.grace()).await? {
            return Ok(());
        }
        Err(WorkerError::NotFound(format!("Unknown task: {name}-{id}")))
    }

    /// Tells when any state or note changed; the value only counts changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.shared.changed.subscribe()
    }

    /// Ends all tasks gracefully, at the latest after `deadline`. What was not made durable by
    /// then is read or delivered again at the next start.
    pub async fn shutdown(&self, deadline: Duration) {
        self.0.cancel.cancel();
        end_helper(&self.0.follower).await;
        let connectors: Vec<_> = lock(&self.0.connectors).values().cloned().collect();
        let own: Vec<_> = connectors.iter().map(|connector| connector.own_statuses()).collect();
        let endings = connectors.iter().map(|connector| connector.end_tasks(deadline));
        futures_util::future::join_all(endings).await;
        end_helper(&self.0.sampler).await;
        if let Some(group) = &self.0.shared.group {
            let own = connectors.iter().map(|connector| connector.name.clone()).zip(own);
            farewell(&self.0.shared.store, group, own).await;
            group.membership.end().await;
        }
    }

    /// The configuration with the connector's own secrets where a client sent back the masks it was shown.
    #[must_use]
    pub fn with_kept_secrets(&self, name: &str, mut config: Config) -> Config {
        let Some(connector) = self.get(name) else { return config };
        let before = connector.config();
        let shown = config.iter().filter(|(_, value)| *value == MASK);
        let shown: Vec<String> = shown.map(|(key, _)| key.to_owned()).collect();
        for key in shown {
            if let Some(secret) = before.get(&key) {
                config.set(key, secret);
            }
        }
        config
    }

    fn grace(&self) -> Duration {
        self.0.shared.config.task_grace
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<Connector>> {
        lock(&self.0.connectors).get(name).cloned()
    }

    pub(crate) fn find(&self, name: &str) -> WorkerResult<Arc<Connector>> {
        self.get(name).ok_or_else(|| WorkerError::unknown_connector(name))
    }

    fn refuse_deleted(&self, connector: &Arc<Connector>) -> WorkerResult<()> {
        self.0.refuse_deleted(connector)
    }

    async fn refuse_invalid(&self, config: &Config) -> WorkerResult<()> {
        let mut issues = self.check(config).await;
        issues.retain(|issue| issue.severity == Severity::Error);
        if issues.is_empty() { Ok(()) } else { Err(WorkerError::Invalid(issues)) }
    }
}

async fn end_helper(helper: &Mutex<Option<JoinHandle<()>>>) {
    let helper = lock(helper).take();
    if let Some(helper) = helper {
        helper.abort();
        // Aborted on purpose.
        let _ = helper.await;
    }
}

/// The configuration with its name in it.
fn named(name: &str, mut config: Config) -> WorkerResult<Config> {
    match config.get("name") {
        Some(given) if given != name => Err(WorkerError::BadRequest(format!(
            "Connector name configuration ({given}) doesn't match connector name in the URL ({name})"
        ))),
        Some(_) => Ok(config),
        None => {
            config.set("name", name);
            Ok(config)
        }
    }
}

/// Samples every task's counters each second, for the rates.
async fn sample(worker: std::sync::Weak<Inner>) {
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(worker) = worker.upgrade() else { return };
        if worker.cancel.is_cancelled() {
            return;
        }
        let connectors: Vec<_> = lock(&worker.connectors).values().cloned().collect();
        let now = Instant::now();
        connectors.iter().for_each(|connector| connector.sample(now));
        for connector in connectors.iter().filter(|connector| connector.is_outdated()) {
            let _transition = connector.transition.lock().await;
            if worker.refuse_deleted(connector).is_ok() {
                tracing::info!(
                    connector = connector.name,
                    "restarted: a config provider gives other values"
                );
                connector.restart(worker.shared.config.task_grace).await;
            }
        }
    }
}
