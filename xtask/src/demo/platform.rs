//! `lattice serve` and its REST API, as a user has them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    cluster::Cluster,
    databases::{Source, Target},
    shop,
};
use crate::services::{free_port, is_free, process};

/// Lattice's usual port.
const PORT: u16 = 8083;

const SOURCE: &str = "fulfillment-source";
const SINK: &str = "fulfillment-clickhouse";

/// The running platform; stopped when dropped.
pub(crate) struct Platform {
    pub(crate) url: String,
    pub(crate) log: PathBuf,
    child: Child,
    agent: ureq::Agent,
}

impl Platform {
    /// Starts it on an empty data folder, or on a cluster, and waits until it answers.
    pub(crate) fn start(binary: &Path, folder: &Path, cluster: Option<&Cluster>) -> Result<Self> {
        let port = if is_free(PORT) { PORT } else { free_port()? };
        let home = folder.join("lattice");
        fs::create_dir_all(&home).with_context(|| format!("make {}", home.display()))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]).arg(binary).arg("serve");
        command
            .arg("--data")
            .arg(home.join("data"))
            .args(["--listen", &format!("127.0.0.1:{port}")]);
        if let Some(cluster) = cluster {
            command.args(["--bootstrap-servers", &cluster.broker(), "--group-id", "demo"]);
        }
        let mut child = process::start(command, &home, port).context("start lattice serve")?;
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)));
        let agent: ureq::Agent = config.build().into();
        let url = format!("http://127.0.0.1:{port}");
        let health = format!("{url}/health");
        process::wait_ready(&mut child, &home, || {
            agent.get(&health).call().is_ok_and(|answer| answer.status().is_success())
        })?;
        Ok(Self { url, log: home.join("log"), child, agent })
    }

    /// Creates both connectors as a user of Kafka Connect would.
    pub(crate) fn create_connectors(
        &self,
        source: &Source,
        target: &Target,
        cluster: Option<&Cluster>,
    ) -> Result<()> {
        let [host, port, user, password] = source.parts()?;
        let convert = |mut config: Value| {
            if let Some(cluster) = cluster {
                cluster.convert(&mut config);
            }
            config
        };
        self.create(
            SOURCE,
            &convert(json!({
                "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
                "database.hostname": host,
                "database.port": port,
                "database.user": user,
                "database.password": password,
                "database.dbname": shop::DATABASE,
                "topic.prefix": shop::DATABASE,
                "plugin.name": "pgoutput",
                "snapshot.mode": "initial",
                "table.include.list": shop::TABLES.map(|table| format!("public.{table}")).join(","),
            })),
        )?;
        let (host, port, tls) = target.parts();
        self.create(SINK, &convert(json!({
            "connector.class": "com.clickhouse.kafka.connect.ClickHouseSinkConnector",
            "hostname": host,
            "port": port,
            "ssl": tls.to_string(),
            "database": "default",
            "username": target.user,
            "password": target.password,
            "topics": shop::TABLES.map(|table| format!("{}.public.{table}", shop::DATABASE)).join(","),
        })))
    }

    fn create(&self, name: &str, config: &Value) -> Result<()> {
        let body = json!({ "name": name, "config": config }).to_string();
        let request = self
            .agent
            .post(format!("{}/connectors", self.url))
            .header("content-type", "application/json");
        let mut answer = request.send(&body).with_context(|| format!("create connector {name}"))?;
        if !answer.status().is_success() {
            bail!(
                "lattice refuses connector {name}: {}",
                answer.body_mut().read_to_string().unwrap_or_default()
            );
        }
        Ok(())
    }

    /// An error, with its cause, when the platform has ended or a connector has failed.
    pub(crate) fn check(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait().context("look after lattice")? {
            bail!("lattice ended with {status}; see {}", self.log.display());
        }
        for name in [SOURCE, SINK] {
            let answer = self.agent.get(format!("{}/connectors/{name}/status", self.url)).call();
            let text = answer
                .ok()
                .and_then(|mut answer| answer.body_mut().read_to_string().ok())
                .unwrap_or_default();
            let status: Value = serde_json::from_str(&text).unwrap_or_default();
            let parts =
                status["tasks"].as_array().into_iter().flatten().chain([&status["connector"]]);
            if let Some(failed) = parts.into_iter().find(|part| part["state"] == "FAILED") {
                bail!(
                    "connector {name} failed: {}",
                    failed["trace"].as_str().unwrap_or("no cause given")
                );
            }
        }
        Ok(())
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        let _ = process::stop(self.child.id(), "TERM");
        let _ = self.child.wait();
    }
}
