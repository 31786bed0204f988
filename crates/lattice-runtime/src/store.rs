//! What the worker keeps: configurations, target states and active topics, as documents in the
//! log, so that a restart resumes all.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use lattice_core::{
    config::Config,
    error::{Error, Result},
    store::DocumentStore,
};
use serde_json::{Value, json};

use crate::model::InitialState;

const CONFIGS: &str = "connector-configs";
const STATES: &str = "connector-states";
const TOPICS: &str = "connector-topics";

/// A connector as it was kept.
pub(crate) struct Kept {
    pub(crate) config: Config,
    pub(crate) target: InitialState,
    pub(crate) topics: BTreeSet<String>,
}

/// Reads and writes the worker's documents.
#[derive(Clone)]
pub(crate) struct Store(Arc<dyn DocumentStore>);

impl Store {
    pub(crate) fn new(documents: Arc<dyn DocumentStore>) -> Self {
        Self(documents)
    }

    /// Everything that was kept, by connector.
    ///
    /// Errors: the store's own; `Fatal` when a document cannot be read, naming it.
    pub(crate) async fn load(&self) -> Result<BTreeMap<String, Kept>> {
        let mut kept = BTreeMap::new();
        for (name, bytes) in self.0.scan(CONFIGS).await? {
            let document = parse(CONFIGS, &name, &bytes)?;
            let config = read_properties(&document)
                .ok_or_else(|| damaged(CONFIGS, &name, "it has no properties"))?;
            let topics = BTreeSet::new();
            kept.insert(name, Kept { config, target: InitialState::Running, topics });
        }
        for (name, bytes) in self.0.scan(STATES).await? {
            let document = parse(STATES, &name, &bytes)?;
            let word = document["state.v2"].as_str().or(document["state"].as_str());
            let target = word.and_then(InitialState::from_word);
            if let (Some(kept), Some(target)) = (kept.get_mut(&name), target) {
                kept.target = target;
            }
        }
        for (name, bytes) in self.0.scan(TOPICS).await? {
            let document = parse(TOPICS, &name, &bytes)?;
            let topics = document["topics"].as_array().into_iter().flatten();
            if let Some(kept) = kept.get_mut(&name) {
                kept.topics.extend(topics.filter_map(Value::as_str).map(str::to_owned));
            }
        }
        Ok(kept)
    }

    pub(crate) async fn put_config(&self, name: &str, config: &Config) -> Result<()> {
        self.put(CONFIGS, name, Some(json!({ "properties": config.as_map() }))).await
    }

    pub(crate) async fn put_target(&self, name: &str, target: InitialState) -> Result<()> {
        // `state` knows no STOPPED, `state.v2` does; both as Kafka Connect writes them.
        let old = match target {
            InitialState::Running => "STARTED",
            InitialState::Paused | InitialState::Stopped => "PAUSED",
        };
        let document = json!({ "state": old, "state.v2": target.target_word() });
        self.put(STATES, name, Some(document)).await
    }

    pub(crate) async fn put_topics(&self, name: &str, topics: &BTreeSet<String>) -> Result<()> {
        self.put(TOPICS, name, Some(json!({ "topics": topics }))).await
    }

    pub(crate) async fn remove(&self, name: &str) -> Result<()> {
        // The configuration goes first: what is left behind without one is ignored at start.
        self.put(CONFIGS, name, None).await?;
        self.put(STATES, name, None).await?;
        self.put(TOPICS, name, None).await
    }

    /// The statuses that workers tell each other.
    pub(crate) async fn statuses(&self, namespace: &str) -> Result<Vec<(String, Bytes)>> {
        self.0.scan(namespace).await
    }

    pub(crate) async fn put_statuses(
        &self,
        namespace: &str,
        statuses: Vec<(String, Option<Bytes>)>,
    ) -> Result<()> {
        self.0.put(namespace, statuses).await
    }

    async fn put(&self, namespace: &str, name: &str, document: Option<Value>) -> Result<()> {
        let bytes = document.map(|document| Bytes::from(document.to_string()));
        self.0.put(namespace, vec![(name.to_owned(), bytes)]).await
    }
}

fn read_properties(document: &Value) -> Option<Config> {
    let properties = document.get("properties")?.as_object()?;
    let mut config = Config::default();
    for (key, value) in properties {
        config.set(key, value.as_str()?);
    }
    Some(config)
}

fn parse(namespace: &str, name: &str, bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|error| damaged(namespace, name, &error.to_string()))
}

fn damaged(namespace: &str, name: &str, why: &str) -> Error {
    Error::fatal(format!("read the document {namespace}/{name}: {why}"))
        .with_remedy("restore the data folder from a backup, or delete the connector's documents")
}
