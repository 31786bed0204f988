//! The platform on Kafka beside Debezium in a real Kafka Connect: one broker, one registry, one backlog, in turn.

mod capture;
mod latency;
mod topic;

use std::{fs, path::PathBuf, thread, time::Duration, time::Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

pub(crate) use self::{capture::run as capture, latency::run as latency, topic::Topics};
use super::{
    clickhouse::agent,
    platform::{Platform, Usage, usage_of},
    postgres::Database,
};
use crate::{
    place,
    services::{
        apicurio::Registry,
        connect::{self, Setup, Worker},
        free_port,
        kafka::Broker,
        process,
    },
};

/// How often the topic's end is asked for: it costs the broker next to nothing.
const OFTEN: Duration = Duration::from_millis(5);

/// No run takes longer.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A broker, a registry and a Connect worker of the benchmark's own; they end with this.
pub(crate) struct Stage {
    folders: PathBuf,
    broker: Broker,
    registry: Registry,
    worker: Worker,
}

impl Stage {
    pub(crate) fn start() -> Result<Self> {
        connect::fetch()?;
        let converters = connect::fetch_converter()?;
        let folders = place::dev().join("bench-kafka");
        let folder = |name: &str| folders.join(name);
        for name in ["broker", "registry", "worker"] {
            if let Some(pid) = process::of_folder(&folder(name)) {
                process::stop(pid, "KILL")?;
            }
        }
        let _ = fs::remove_dir_all(&folders);
        let stage = Self {
            broker: Broker::new(folder("broker"), free_port()?),
            registry: Registry::new(folder("registry"), free_port()?),
            worker: Worker::new(folder("worker"), free_port()?),
            folders: folders.clone(),
        };
        stage.broker.start(false)?;
        stage.registry.start(false)?;
        // The heap of the figures that people know of it.
        let setup = Setup { heap: "4g", plugins: vec![converters] };
        stage.worker.start(&stage.broker.address(), &setup)?;
        Ok(stage)
    }

    pub(crate) fn topics(&self) -> Result<Topics> {
        Topics::connect(&self.broker.address())
    }

    /// The configuration that both sides run with.
    fn config(&self, side: &Side, database: &Database, format: Format) -> Result<Value> {
        let [host, port, user, password] = database.parts()?;
        let mut config = json!({
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "tasks.max": "1", "database.hostname": host, "database.port": port,
            "database.user": user, "database.password": password,
            "database.dbname": database.name, "topic.prefix": side.name,
            "plugin.name": "pgoutput", "slot.name": side.slot, "slot.drop.on.stop": "false",
            "publication.name": "bench", "publication.autocreate.mode": "disabled",
            "snapshot.mode": "no_data", "table.include.list": "public.items",
            "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "1",
            "producer.override.acks": "all",
        });
        for converter in ["key.converter", "value.converter"] {
            let mut set = |option: &str, value: &str| {
                config[format!("{converter}{option}")] = json!(value);
            };
            match format {
                Format::Avro => {
                    set("", "io.apicurio.registry.utils.converter.AvroConverter");
                    let url = format!("{}/apis/registry/v3", self.registry.url());
                    set(".apicurio.registry.url", &url);
                    set(".apicurio.registry.auto-register", "true");
                }
                Format::Json => {
                    set("", "org.apache.kafka.connect.json.JsonConverter");
                    set(".schemas.enable", "false");
                }
            }
        }
        for (key, value) in &side.extra {
            config[*key] = json!(value);
        }
        Ok(config)
    }

    /// Makes a connector of the real Connect.
    fn create_real(&self, name: &str, config: &Value) -> Result<()> {
        let url = format!("http://{}/connectors", self.worker.address());
        let body = json!({ "name": name, "config": config }).to_string();
        let mut answer =
            agent().post(&url).header("content-type", "application/json").send(body)?;
        let text = answer.body_mut().read_to_string()?;
        if !answer.status().is_success() {
            bail!("Kafka Connect answers {}: {text}", answer.status());
        }
        Ok(())
    }

    /// Fails when a task of the real Connect does.
    fn check_real(&self, name: &str) -> Result<()> {
        let url = format!("http://{}/connectors/{name}/status", self.worker.address());
        let text = agent().get(&url).call()?.body_mut().read_to_string()?;
        let status: Value = serde_json::from_str(&text).unwrap_or_default();
        let failed = status["tasks"].as_array().into_iter().flatten();
        match failed.into_iter().find(|task| task["state"] == "FAILED") {
            Some(task) => bail!("{name} failed: {}", task["trace"]),
            None => Ok(()),
        }
    }

    fn delete_real(&self, name: &str) -> Result<()> {
        let url = format!("http://{}/connectors/{name}", self.worker.address());
        agent().delete(&url).call()?;
        Ok(())
    }

    fn real_usage(&self) -> Result<Usage> {
        usage_of(self.worker.pid().context("the Connect worker has ended")?)
    }

    /// The platform on the stage's broker.
    fn platform(&self, name: &str, file: Option<&str>) -> Result<Platform> {
        let address = self.broker.address();
        let mut arguments = vec!["--bootstrap-servers", &address, "--group-id", name];
        let path = self.folders.join("worker.properties");
        let shown = path.display().to_string();
        if let Some(text) = file {
            fs::write(&path, text).context("write the worker's properties")?;
            arguments.extend(["--worker-config", &shown]);
        }
        Platform::start_with(name, &arguments)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.worker.stop();
        let _ = self.registry.stop();
        let _ = self.broker.stop();
        let _ = fs::remove_dir_all(&self.folders);
    }
}

/// What is written.
#[derive(Clone, Copy)]
enum Format {
    Avro,
    Json,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Avro => "avro",
            Self::Json => "json",
        }
    }
}

/// A side's own names.
struct Side {
    /// The topics' prefix, and the connector's name.
    name: String,
    slot: &'static str,
    extra: Vec<(&'static str, &'static str)>,
}

impl Side {
    fn topic(&self) -> String {
        format!("{}.public.items", self.name)
    }
}

/// Waits for a condition, asking every few milliseconds; `check` is asked now and then whether waiting still makes sense.
fn wait(
    what: &str,
    mut done: impl FnMut() -> Result<bool>,
    check: impl Fn() -> Result<()>,
) -> Result<()> {
    let (started, mut checked) = (Instant::now(), Instant::now());
    while !done()? {
        if started.elapsed() > PATIENCE {
            bail!("waited {PATIENCE:?} for {what}");
        }
        if checked.elapsed() > Duration::from_secs(1) {
            check()?;
            checked = Instant::now();
        }
        thread::sleep(OFTEN);
    }
    Ok(())
}
