//! The connectors a worker has. Which ones, only the binary says.

use std::sync::Arc;

use lattice_core::{
    config::{Config, Key, did_you_mean},
    connector::{Descriptor, SinkConnector, SourceConnector},
    error::{Error, Result},
};

use crate::model::{ConnectorKind, PluginClass};

/// What configurations may name besides connectors, in Kafka Connect's order.
pub(crate) fn others() -> Vec<PluginClass> {
    let of = |kind: &'static str| move |class: &'static str| PluginClass { class, kind };
    let converters = lattice_codec::converters();
    let records = converters.iter().filter(|one| one.records).map(|one| one.class);
    let headers = converters.iter().filter(|one| one.headers).map(|one| one.class);
    let mut all: Vec<PluginClass> =
        lattice_transform::transforms().map(|one| of("transformation")(one.class)).collect();
    all.extend(lattice_transform::predicates().map(|one| of("predicate")(one.class)));
    all.extend(records.map(of("converter")));
    all.extend(headers.map(of("header_converter")));
    all
}

/// The options of a plugin that is no connector; `None`: there is none of this name.
pub(crate) fn options_of(name: &str) -> Option<Vec<&'static Key>> {
    let called = |class: &str| {
        let simple = class.rsplit('.').next().unwrap_or(class);
        name == class || name == simple || simple.strip_suffix("Converter") == Some(name)
    };
    if let Ok(found) = lattice_transform::find_transform(name) {
        return Some(found.keys.iter().collect());
    }
    if let Ok(found) = lattice_transform::find_predicate(name) {
        return Some(found.keys.iter().collect());
    }
    let found = lattice_codec::converters().iter().find(|one| called(one.class))?;
    Some(found.keys.iter().flat_map(|table| table.iter()).collect())
}

/// The table of connectors.
#[derive(Clone, Default)]
pub struct Plugins {
    /// Sources.
    pub sources: Vec<Arc<dyn SourceConnector>>,
    /// Sinks.
    pub sinks: Vec<Arc<dyn SinkConnector>>,
}

/// A connector found by its class.
#[derive(Clone)]
pub(crate) enum Plugin {
    Source(Arc<dyn SourceConnector>),
    Sink(Arc<dyn SinkConnector>),
}

impl Plugin {
    pub(crate) fn descriptor(&self) -> &'static Descriptor {
        match self {
            Self::Source(source) => source.descriptor(),
            Self::Sink(sink) => sink.descriptor(),
        }
    }
}

impl Plugins {
    /// All descriptors, sinks first as Kafka Connect lists them.
    pub fn descriptors(&self) -> impl Iterator<Item = &'static Descriptor> + '_ {
        let sinks = self.sinks.iter().map(|sink| sink.descriptor());
        sinks.chain(self.sources.iter().map(|source| source.descriptor()))
    }

    /// The connector that `class` means: its class, simple name (with or without `Connector`) or
    /// alias.
    pub(crate) fn find(&self, class: &str) -> Option<Plugin> {
        let called = |descriptor: &'static Descriptor| {
            descriptor.is_called(class)
                || descriptor
                    .class
                    .strip_suffix("Connector")
                    .is_some_and(|short| short == class || short.rsplit('.').next() == Some(class))
        };
        let source = self.sources.iter().find(|source| called(source.descriptor()));
        if let Some(source) = source {
            return Some(Plugin::Source(Arc::clone(source)));
        }
        let sink = self.sinks.iter().find(|sink| called(sink.descriptor()));
        sink.map(|sink| Plugin::Sink(Arc::clone(sink)))
    }

    /// The connector a configuration names.
    ///
    /// Errors: `Config`, with the class that was probably meant.
    pub(crate) fn of(&self, config: &Config) -> Result<Plugin> {
        let class = config.get("connector.class").unwrap_or_default().trim();
        if class.is_empty() {
            return Err(Error::config("connector config contains no connector type")
                .with_remedy("set \"connector.class\""));
        }
        self.find(class).ok_or_else(|| {
            let known = || self.descriptors().flat_map(|known| [known.class, known.alias]);
            let remedy = match did_you_mean(class, known()) {
                Some(close) => format!("did you mean \"{close}\"?"),
                None => format!(
                    "use one of: {}",
                    self.descriptors().map(|known| known.class).collect::<Vec<_>>().join(", ")
                ),
            };
            Error::config(format!(
                "failed to find any class that implements Connector and which name matches {class}"
            ))
            .with_remedy(remedy)
        })
    }

    /// The version of the connector that a configuration names.
    pub(crate) fn version(&self, config: &Config) -> Option<&'static str> {
        self.of(config).ok().map(|plugin| plugin.descriptor().version)
    }

    pub(crate) fn kind(&self, config: &Config) -> ConnectorKind {
        match self.of(config) {
            Ok(plugin) => plugin.descriptor().direction.into(),
            Err(_) => ConnectorKind::Unknown,
        }
    }
}
