//! What the worker tells: offsets, validation, plugins, tables, mappings, and the snapshot that
//! console and metrics show.

use std::collections::HashMap;

use lattice_codec::{Decoder, DecoderOptions};
use lattice_core::{
    config::{Config, ConfigIssue},
    connector::{MappingPreview, TableInfo},
};

use crate::{
    error::{WorkerError, WorkerResult},
    model::{Definition, OffsetEntry, PluginClass, PluginInfo, Validation, WorkerSnapshot},
    offsets,
    plugins::{self, Plugin},
    preview,
    report::{lock, now_ms},
    validate,
    worker::Worker,
};

impl Worker {
    /// The configurations of a connector's tasks, references not resolved.
    ///
    /// Errors: `NotFound`.
    pub async fn task_configs(&self, name: &str) -> WorkerResult<Vec<(u32, Config)>> {
        Ok(self.find(name)?.task_configs())
    }

    /// The topics a connector has used since it was created or they were reset; none for an
    /// unknown connector.
    pub async fn topics(&self, name: &str) -> Vec<String> {
        self.get(name).map(|connector| connector.topics.list()).unwrap_or_default()
    }

    /// Forgets a connector's active topics; an unknown connector has none.
    ///
    /// Errors: the log's own.
    pub async fn reset_topics(&self, name: &str) -> WorkerResult<()> {
        match self.get(name) {
            Some(connector) => Ok(connector.topics.reset().await?),
            None => Ok(()),
        }
    }

    /// A connector's offsets, in any state.
    ///
    /// Errors: `NotFound`.
    pub async fn offsets(&self, name: &str) -> WorkerResult<Vec<OffsetEntry>> {
        offsets::list(&self.0.shared, &*self.find(name)?).await
    }

    /// Changes a stopped connector's offsets.
    ///
    /// Errors: `NotFound`, `BadRequest`.
    pub async fn alter_offsets(&self, name: &str, entries: Vec<OffsetEntry>) -> WorkerResult<()> {
        let connector = self.find(name)?;
        let _transition = connector.transition.lock().await;
        offsets::alter(&self.0.shared, &connector, entries).await
    }

    /// Deletes a stopped connector's offsets: it starts from the beginning.
    ///
    /// Errors: `NotFound`, `BadRequest`.
    pub async fn reset_offsets(&self, name: &str) -> WorkerResult<()> {
        let connector = self.find(name)?;
        let _transition = connector.transition.lock().await;
        offsets::reset(&self.0.shared, &connector).await
    }

    /// Checks a configuration for the plugin `class` (class, simple name or alias), in Kafka
    /// Connect's form. `nulls`: keys that were given without a value.
    ///
    /// Errors: `BadRequest` when the configuration names another class, an unknown one, or none.
    pub async fn validate(
        &self,
        class: &str,
        config: Config,
        nulls: &[String],
    ) -> WorkerResult<Validation> {
        let plugin = self.0.shared.plugins.of(&config)?;
        let asked = self.0.shared.plugins.find(class);
        if asked.is_none_or(|asked| asked.descriptor().class != plugin.descriptor().class) {
            let given = config.get("connector.class").unwrap_or_default();
            return Err(WorkerError::BadRequest(format!(
                "Included connector type {given} does not match request type {class}"
            )));
        }
        Ok(validate::validate(&plugin, &config, nulls, &self.0.shared).await)
    }

    /// The whole preflight: everything that is wrong or worth knowing, with remedies. Changes
    /// nothing.
    pub async fn check(&self, config: &Config) -> Vec<ConfigIssue> {
        match self.0.shared.plugins.of(config) {
            Ok(plugin) => validate::check(&plugin, config, &self.0.shared).await,
            Err(error) => {
                let issue = ConfigIssue::error("connector.class", error.to_string());
                vec![issue.remedy(error.remedy().unwrap_or_default())]
            }
        }
    }

    /// The tables of the source that a configuration points to.
    ///
    /// Errors: `BadRequest` for a sink's configuration, or what the source says.
    pub async fn tables(&self, config: &Config) -> WorkerResult<Vec<TableInfo>> {
        let resolved = self.0.shared.providers.resolve(config)?;
        match self.0.shared.plugins.of(config)? {
            Plugin::Source(source) => Ok(source.tables(&resolved).await?),
            Plugin::Sink(_) => Err(WorkerError::BadRequest("a sink has no tables".to_owned())),
        }
    }

    /// What a sink's configuration would do with a topic, judged by the topic's newest records.
    ///
    /// Errors: `BadRequest` for a source's configuration or a topic without records, or what the
    /// sink says.
    pub async fn preview(&self, config: &Config, topic: &str) -> WorkerResult<MappingPreview> {
        let resolved = self.0.shared.providers.resolve(config)?;
        let Plugin::Sink(sink) = self.0.shared.plugins.of(config)? else {
            return Err(WorkerError::BadRequest("a source has no mapping".to_owned()));
        };
        let resolved = self.0.shared.with_worker_defaults(resolved);
        let options = DecoderOptions::from_config(&resolved)?;
        let decoder = Decoder::new(options, self.0.shared.registry(&resolved)?);
        let (row, key) = preview::newest_structure(&*self.0.shared.log, decoder, topic).await?;
        Ok(sink.preview(&resolved, topic, &row, &key).await?)
    }

    /// The connectors this worker has.
    #[must_use]
    pub fn plugins(&self) -> Vec<PluginInfo> {
        let descriptors = self.0.shared.plugins.descriptors();
        descriptors.map(|descriptor| PluginInfo { descriptor }).collect()
    }

    /// The plugins that are no connectors.
    #[must_use]
    pub fn other_plugins(&self) -> Vec<PluginClass> {
        plugins::others()
    }

    /// The keys of a plugin. A connector's: its own, the converters' and Kafka Connect's.
    ///
    /// Errors: `NotFound`.
    pub fn plugin_config(&self, class: &str) -> WorkerResult<Vec<Definition>> {
        if let Some(options) = plugins::options_of(class) {
            return Ok(validate::definitions(&options));
        }
        // The connector's own come first here, and last in a validation.
        let plugin = self.plugin(class)?;
        let mut keys: Vec<_> = plugin.descriptor().keys().collect();
        let own: Vec<_> = keys.iter().map(|key| key.name).collect();
        keys.extend(validate::keys_of(&plugin).into_iter().filter(|key| !own.contains(&key.name)));
        Ok(validate::definitions(&keys))
    }

    /// A connector plugin's version; `None`: it is no connector.
    #[must_use]
    pub fn plugin_version(&self, class: &str) -> Option<&'static str> {
        Some(self.plugin(class).ok()?.descriptor().version)
    }

    /// A configuration with its secrets masked, by the keys of the connector it names.
    #[must_use]
    pub fn masked(&self, config: &Config) -> Config {
        match self.0.shared.plugins.of(config) {
            Ok(plugin) => config.masked(&validate::keys_of(&plugin)),
            Err(_) => config.masked(&[]),
        }
    }

    /// Everything at this moment.
    pub async fn snapshot(&self) -> WorkerSnapshot {
        let at_ms = now_ms();
        let mut ends = HashMap::new();
        let mut log_message = self.0.shared.log.health().message;
        match self.0.shared.log.topics().await {
            Ok(topics) => {
                for topic in topics {
                    for partition in &topic.partitions {
                        let place = (topic.name.to_string(), partition.partition);
                        ends.insert(place, partition.end_offset);
                    }
                }
            }
            Err(error) => log_message = Some(error.chain()),
        }
        let end = |topic: &str, partition| ends.get(&(topic.to_owned(), partition)).copied();
        let connectors: Vec<_> = lock(&self.0.connectors).values().cloned().collect();
        let connectors =
            connectors.iter().map(|connector| connector.snapshot(at_ms, end)).collect();
        WorkerSnapshot { at_ms, connectors, log_message }
    }

    fn plugin(&self, class: &str) -> WorkerResult<Plugin> {
        let found = self.0.shared.plugins.find(class);
        found.ok_or_else(|| WorkerError::NotFound(format!("Unknown plugin {class}.")))
    }
}
