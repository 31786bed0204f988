//! A Kafka broker and an Apicurio registry of the demo's own, for `LOG=kafka`.

use std::{env, path::Path};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::services::{apicurio::Registry, free_port, kafka::Broker};

/// Both; stopped when dropped.
pub(crate) struct Cluster {
    broker: Broker,
    registry: Registry,
}

impl Cluster {
    /// Starts them when `LOG=kafka` asks for it; `None`: the log is Lattice's own.
    pub(crate) fn open(folder: &Path) -> Result<Option<Self>> {
        match env::var("LOG").as_deref() {
            Ok("kafka") => {}
            Err(_) | Ok("" | "embedded") => return Ok(None),
            Ok(other) => bail!("LOG={other}: expected kafka or embedded"),
        }
        let cluster = Self {
            broker: Broker::new(folder.join("kafka"), free_port()?),
            registry: Registry::new(folder.join("apicurio"), free_port()?),
        };
        cluster.broker.start(true).context("start Kafka")?;
        cluster.registry.start(true).context("start Apicurio")?;
        Ok(Some(cluster))
    }

    pub(crate) fn broker(&self) -> String {
        self.broker.address()
    }

    pub(crate) fn registry(&self) -> String {
        self.registry.url()
    }

    /// Makes a connector write, or read, Avro with its schemas in Apicurio.
    pub(crate) fn convert(&self, config: &mut Value) {
        for converter in ["key.converter", "value.converter"] {
            let registry = format!("{converter}.apicurio.registry");
            config[converter] = json!("io.apicurio.registry.utils.converter.AvroConverter");
            config[format!("{registry}.url")] =
                json!(format!("{}/apis/registry/v3", self.registry()));
            config[format!("{registry}.auto-register")] = json!("true");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // They end with this process at the latest.
        let _ = self.registry.stop();
        let _ = self.broker.stop();
    }
}
