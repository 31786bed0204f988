//! `lattice takeover` and `lattice handback`: a connector moves between a Kafka Connect cluster and the server, where it
//! is, with its offsets. Both sides speak Kafka Connect's API, and both write to the same Kafka cluster.
//!
//! The order is what makes it safe to break off anywhere: the connector is made at its new place, stopped; then it is
//! stopped at the old one; then its offsets are carried over and read back; only then it goes on. Whoever breaks off
//! has a connector that is stopped in at least one place, and the same command goes on from there.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use lattice_server::path_segment;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::{print_json, text};
use crate::{
    arguments::{Global, Moving},
    client::Server,
};

/// How long a connector may take to stop or to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks at a state.
const PAUSE: Duration = Duration::from_millis(200);

/// Which way a connector goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From Kafka Connect to here.
    Here,
    /// From here to Kafka Connect.
    Back,
}

/// Moves the connectors that were named, or all that the other side has.
pub(super) async fn run(server: &Server, global: &Global, moving: &Moving, way: Way) -> Result<()> {
    let connect = Server::at(&moving.connect_url)?;
    same_cluster(&connect, server).await?;
    let (from, to) = match way {
        Way::Here => (&connect, server),
        Way::Back => (server, &connect),
    };
    let converters = match &moving.worker_config {
        Some(file) => converters(file)?,
        None => Map::new(),
    };
    let names = match moving.connectors.as_slice() {
        [] => names(from).await?,
        named => named.to_vec(),
    };
    let (mut told, mut refused) = (Vec::new(), 0);
    for name in names {
        let one = Move { from, to, name: &name, way, converters: &converters };
        let plan = one.plan().await.with_context(|| name.clone())?;
        let done = match &plan {
            Plan::No(reasons) => {
                refused += 1;
                format!("stays where it is: {}", reasons.join("; "))
            }
            Plan::Done => "is there already".to_owned(),
            Plan::Go { notes, .. } if moving.dry_run => {
                let notes: String = notes.iter().map(|note| format!("\n  {note}")).collect();
                format!("would move{notes}")
            }
            Plan::Go { config, runs, .. } => {
                one.go(config, *runs).await.with_context(|| name.clone())?
            }
        };
        if !global.json {
            println!("{name} {done}");
        }
        told.push(json!({ "name": name, "result": done, "dry_run": moving.dry_run }));
    }
    if global.json {
        print_json(&Value::Array(told))?;
    }
    if refused > 0 {
        bail!("{refused} connectors stay where they are");
    }
    Ok(())
}

/// Topics and consumer groups must be the same on both sides.
async fn same_cluster(connect: &Server, server: &Server) -> Result<()> {
    let [there, here] = [connect.get("/").await?, server.get("/").await?]
        .map(|root| text(&root, "kafka_cluster_id"));
    if there != here {
        bail!(
            "the two are not on one Kafka cluster ({there} and {here}): start lattice serve with \
             --bootstrap-servers and the brokers of the Kafka Connect cluster"
        );
    }
    Ok(())
}

async fn names(from: &Server) -> Result<Vec<String>> {
    let list = from.get("/connectors").await?;
    Ok(list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect())
}

/// The converters that a worker's properties give to connectors that name none.
fn converters(file: &Path) -> Result<Map<String, Value>> {
    let content =
        std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let properties = lattice_runtime::properties(&content);
    let wanted = |name: &str| {
        ["key.converter", "value.converter", "header.converter"].iter().any(|side| {
            name.strip_prefix(side).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let chosen = properties.into_iter().filter(|(name, _)| wanted(name));
    Ok(chosen.map(|(name, value)| (name, Value::String(value))).collect())
}

/// What is to be done with a connector.
enum Plan {
    /// It cannot move, for these reasons.
    No(Vec<String>),
    /// It runs at its new place already.
    Done,
    /// It moves.
    Go {
        /// With this configuration.
        config: Map<String, Value>,
        /// Whether it goes on there.
        runs: bool,
        /// What a person should know.
        notes: Vec<String>,
    },
}

struct Move<'a> {
    from: &'a Server,
    to: &'a Server,
    name: &'a str,
    way: Way,
    converters: &'a Map<String, Value>,
}

impl Move<'_> {
    fn path(&self, rest: &str) -> String {
        format!("/connectors/{}{rest}", path_segment(self.name))
    }

    /// The connector's state on a side; `None`: it is not there.
    async fn state(&self, side: &Server) -> Result<Option<String>> {
        let (status, body) = side.call(Method::GET, &self.path("/status"), None).await?;
        match status {
            StatusCode::OK => Ok(Some(text(&body["connector"], "state"))),
            StatusCode::NOT_FOUND => Ok(None),
            _ => bail!("{}", text(&body, "message")),
        }
    }

    async fn plan(&self) -> Result<Plan> {
        let (old, new) = (self.state(self.from).await?, self.state(self.to).await?);
        let Some(old) = old else {
            return Ok(Plan::No(vec!["there is no such connector".to_owned()]));
        };
        match new.as_deref() {
            Some("STOPPED") | None => {}
            Some(_) if old == "STOPPED" => return Ok(Plan::Done),
            Some(state) => {
                return Ok(Plan::No(vec![format!(
                    "it is {state} at the new place and {old} at the old one: stop one of them"
                )]));
            }
        }
        // One that was made there by an attempt before was running then.
        let runs = old != "STOPPED" || new.is_some();
        let (mut reasons, mut notes) = (Vec::new(), Vec::new());
        if new.is_some() {
            // It has its configuration there already.
            return Ok(Plan::Go { config: Map::new(), runs, notes });
        }
        let mut config = self.configuration().await?;
        if self.way == Way::Here {
            reasons.extend(self.add_converters(&mut config));
        }
        self.validate(&config, &mut reasons, &mut notes).await?;
        if !reasons.is_empty() {
            return Ok(Plan::No(reasons));
        }
        Ok(Plan::Go { config, runs, notes })
    }

    /// Gives the configuration the worker's converters, where it names none; what is still missing then.
    fn add_converters(&self, config: &mut Map<String, Value>) -> Vec<String> {
        let mut missing = Vec::new();
        for side in ["key.converter", "value.converter", "header.converter"] {
            if config.contains_key(side) {
                continue;
            }
            let own = self.converters.iter().filter(|(key, _)| key.starts_with(side));
            config.extend(own.map(|(key, value)| (key.clone(), value.clone())));
            if !config.contains_key(side) && side != "header.converter" {
                missing.push(format!(
                    "it leaves {side} to the Kafka Connect worker: name the worker's properties with --worker-config"
                ));
            }
        }
        missing
    }

    /// What it is made with at its new place.
    async fn configuration(&self) -> Result<Map<String, Value>> {
        let config = self.from.get(&self.path("/config")).await?;
        let Value::Object(config) = config else { bail!("its configuration is no object") };
        let masked =
            config.iter().find(|(_, value)| value.as_str() == Some(lattice_core::secret::MASK));
        if let Some((key, _)) = masked {
            bail!(
                "\"{key}\" is a secret that is not shown: create the connector at its new place with \
                 \"initial_state\": \"STOPPED\", then move it"
            );
        }
        Ok(config)
    }

    /// Whether the new place takes the configuration.
    async fn validate(
        &self,
        config: &Map<String, Value>,
        reasons: &mut Vec<String>,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let class = config.get("connector.class").and_then(Value::as_str).unwrap_or_default();
        let path = format!("/connector-plugins/{}/config/validate", path_segment(class));
        let (status, answer) =
            self.to.call(Method::PUT, &path, Some(&Value::Object(config.clone()))).await?;
        if !status.is_success() {
            reasons.push(text(&answer, "message"));
            return Ok(());
        }
        for one in answer["configs"].as_array().into_iter().flatten() {
            let value = &one["value"];
            let name = text(value, "name");
            let lines = |member: &str| {
                let list = value[member].as_array().cloned().unwrap_or_default();
                list.into_iter()
                    .filter_map(|line| line.as_str().map(str::to_owned))
                    .collect::<Vec<_>>()
            };
            reasons.extend(lines("errors").into_iter().map(|line| format!("{name}: {line}")));
            if config.contains_key(&name) {
                notes.extend(lines("warnings").into_iter().map(|line| format!("{name}: {line}")));
            }
        }
        Ok(())
    }

    /// Moves it. Gives what was done.
    async fn go(&self, config: &Map<String, Value>, runs: bool) -> Result<String> {
        if self.state(self.to).await?.is_none() {
            let body = json!({ "name": self.name, "config": config, "initial_state": "STOPPED" });
            self.to.ask(Method::POST, "/connectors", Some(&body)).await?;
        }
        self.wait(self.to, "STOPPED").await?;
        self.from.ask(Method::PUT, &self.path("/stop"), None).await?;
        self.wait(self.from, "STOPPED").await?;
        let offsets = self.carry().await?;
        if runs {
            self.to.ask(Method::PUT, &self.path("/resume"), None).await?;
            self.wait(self.to, "RUNNING").await?;
        }
        let there = if runs { "runs" } else { "is stopped, as it was," };
        Ok(format!("{there} at its new place, from {offsets}"))
    }

    async fn offsets(&self, side: &Server) -> Result<Vec<Value>> {
        let answer = side.get(&self.path("/offsets")).await?;
        Ok(answer["offsets"].as_array().cloned().unwrap_or_default())
    }

    /// Carries the offsets over. A sink's are its consumer group's, which both sides share.
    async fn carry(&self) -> Result<String> {
        let offsets = self.offsets(self.from).await?;
        let shared = offsets.iter().any(|one| one["partition"].get("kafka_topic").is_some());
        if shared {
            return Ok("its consumer group's offsets".to_owned());
        }
        if offsets.is_empty() {
            return Ok("its beginning: it had no offset".to_owned());
        }
        let body = json!({ "offsets": offsets });
        self.to.ask(Method::PATCH, &self.path("/offsets"), Some(&body)).await?;
        let started = Instant::now();
        while self.offsets(self.to).await? != offsets {
            if started.elapsed() > PATIENCE {
                bail!("the offsets that were set are not those that are read back");
            }
            tokio::time::sleep(PAUSE).await;
        }
        let places = offsets.iter().map(|one| one["offset"].to_string()).collect::<Vec<_>>();
        Ok(places.join(", "))
    }

    /// Waits until the connector and its tasks are in a state.
    async fn wait(&self, side: &Server, wanted: &str) -> Result<()> {
        let started = Instant::now();
        loop {
            let (_, body) = side.call(Method::GET, &self.path("/status"), None).await?;
            let tasks = body["tasks"].as_array().cloned().unwrap_or_default();
            if let Some(failed) =
                tasks.iter().find(|task| task["state"] == "FAILED" && wanted == "RUNNING")
            {
                bail!("its task failed: {}", text(failed, "trace"));
            }
            let ready = match wanted {
                "STOPPED" => tasks.is_empty(),
                _ => !tasks.is_empty() && tasks.iter().all(|task| task["state"] == wanted),
            };
            if ready && body["connector"]["state"] == wanted {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                bail!("it is not {wanted} after {PATIENCE:?}: {body}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
