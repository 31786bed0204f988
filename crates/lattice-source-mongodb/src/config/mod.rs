//! The connector's configuration: Debezium's keys, read once into real types.

pub mod filter;
pub mod keys;

use std::{collections::BTreeMap, time::Duration};

use lattice_core::{
    Error, Result,
    config::{Config, Key},
    secret::Secret,
};
use mongodb_bson::{Bson, Document};

use crate::{bson::json::Mode, fields::FieldRules, row::Serialization};
use filter::Filter;

/// `snapshot.mode`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotMode {
    /// At every start by a person.
    Always,
    /// When there is no position yet.
    Initial,
    /// As initial, and then the task ends.
    InitialOnly,
    /// Never.
    NoData,
    /// As initial, and when the position is lost.
    WhenNeeded,
}

/// What the change stream is opened on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All databases.
    Deployment,
    /// One.
    Database(String),
    /// One collection of it.
    Collection(String, String),
}

/// `cursor.oversize.handling.mode`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oversize {
    /// The task stops.
    Fail,
    /// Documents with more bytes are not captured.
    Skip(i64),
    /// The server sends them in parts.
    Split,
}

/// `cursor.pipeline.order`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Our stages first.
    InternalFirst,
    /// The user's first.
    UserFirst,
    /// The user's alone.
    UserOnly,
}

/// Where the deployment is.
#[derive(Debug, Clone)]
pub struct Target {
    /// `mongodb.connection.string`
    pub uri: Secret,
    /// `mongodb.user` and its password.
    pub user: Option<(String, Secret)>,
    /// `mongodb.authsource`
    pub auth_source: String,
    /// `mongodb.connect.timeout.ms`
    pub connect_timeout: Duration,
    /// `mongodb.server.selection.timeout.ms`
    pub selection_timeout: Duration,
    /// `mongodb.heartbeat.frequency.ms`
    pub heartbeat_frequency: Duration,
    /// `mongodb.ssl.enabled`
    pub tls: bool,
    /// `mongodb.ssl.truststore`, a PEM file.
    pub authorities: Option<String>,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the deployment is.
    pub target: Target,
    /// `topic.prefix`
    pub prefix: String,
    /// What is captured.
    pub filter: Filter,
    /// What of documents.
    pub fields: FieldRules,
    /// `capture.scope` and `capture.target`
    pub scope: Scope,
    /// Updates have their document.
    pub full_update: bool,
    /// It is the post-image, not a look-up.
    pub post_image: bool,
    /// Changes have the document before.
    pub pre_image: bool,
    /// `capture.start.op.time`
    pub start_time: Option<u64>,
    /// `skipped.operations`
    pub skipped: String,
    /// `json.serialization.mode`
    pub serialization: Serialization,
    /// `cursor.max.await.time.ms`
    pub max_await: Option<Duration>,
    /// `cursor.pipeline`
    pub pipeline: Vec<Document>,
    /// `cursor.pipeline.order`
    pub order: Order,
    /// `cursor.oversize.handling.mode`
    pub oversize: Oversize,
    /// `snapshot.mode`
    pub snapshot_mode: SnapshotMode,
    /// Queries of collections that are read in part.
    pub snapshot_filters: BTreeMap<String, Document>,
    /// `snapshot.max.threads`
    pub snapshot_threads: usize,
    /// `snapshot.fetch.size`
    pub fetch_size: Option<u32>,
    /// `heartbeat.interval.ms`; zero: none.
    pub heartbeat: Duration,
    /// `lattice.accept.gap`
    pub accept_gap: bool,
    /// `connection.validation.timeout.ms`
    pub validation_timeout: Duration,
}

impl Settings {
    /// Reads and checks a configuration.
    ///
    /// Errors: `Config`, naming the key.
    pub fn from_config(config: &Config) -> Result<Self> {
        refuse_unsupported(config)?;
        let mode = word(config, &keys::CAPTURE_MODE)?;
        let start = config.number(&keys::START_OP_TIME)?;
        Ok(Self {
            target: target(config)?,
            prefix: checked(config, &keys::TOPIC_PREFIX)?,
            filter: Filter::from_config(config)?,
            fields: FieldRules::from_config(config)?,
            scope: scope(config)?,
            full_update: mode.starts_with("change_streams_update_full"),
            post_image: word(config, &keys::FULL_UPDATE)? == "post_image",
            pre_image: mode.ends_with("with_pre_image"),
            start_time: u64::try_from(start).ok(),
            skipped: skipped(config)?,
            serialization: match word(config, &keys::SERIALIZATION_MODE)?.as_str() {
                "strict" => Serialization::Plain(Mode::Strict),
                "extended" => Serialization::Plain(Mode::Canonical),
                "relaxed" => Serialization::Plain(Mode::Relaxed),
                _ => Serialization::Legacy,
            },
            max_await: Some(config.millis(&keys::MAX_AWAIT)?).filter(|wait| !wait.is_zero()),
            pipeline: pipeline(config)?,
            order: match word(config, &keys::PIPELINE_ORDER)?.as_str() {
                "user_first" => Order::UserFirst,
                "user_only" => Order::UserOnly,
                _ => Order::InternalFirst,
            },
            oversize: oversize(config)?,
            snapshot_mode: match word(config, &keys::SNAPSHOT_MODE)?.as_str() {
                "always" => SnapshotMode::Always,
                "initial_only" => SnapshotMode::InitialOnly,
                "no_data" | "never" => SnapshotMode::NoData,
                "when_needed" => SnapshotMode::WhenNeeded,
                _ => SnapshotMode::Initial,
            },
            snapshot_filters: snapshot_filters(config)?,
            snapshot_threads: match config.get(keys::SNAPSHOT_MAX_THREADS.name) {
                Some(_) => {
                    usize::try_from(config.number(&keys::SNAPSHOT_MAX_THREADS)?).unwrap_or(1)
                }
                None => std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 4),
            },
            fetch_size: u32::try_from(config.number(&keys::SNAPSHOT_FETCH_SIZE)?)
                .ok()
                .filter(|size| *size > 0),
            heartbeat: config.millis(&keys::HEARTBEAT_INTERVAL_MS)?,
            accept_gap: config.boolean(&keys::ACCEPT_GAP)?,
            validation_timeout: config.millis(&keys::VALIDATION_TIMEOUT)?,
        })
    }
}

/// The value of a key after its own rule.
fn checked(config: &Config, key: &Key) -> Result<String> {
    let text = config.required(key)?.trim();
    match key.check(text) {
        Some(reason) => Err(config.invalid(key, &reason)),
        None => Ok(text.to_owned()),
    }
}

fn word(config: &Config, key: &Key) -> Result<String> {
    Ok(checked(config, key)?.to_ascii_lowercase())
}

fn optional(config: &Config, key: &Key) -> Option<String> {
    config.get(key.name).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn refuse_unsupported(config: &Config) -> Result<()> {
    for (name, value) in config.iter().filter(|(_, value)| !value.trim().is_empty()) {
        if let Some((_, remedy)) = keys::REFUSED.iter().find(|(prefix, _)| name.starts_with(prefix))
            && value.trim() != "false"
        {
            return Err(Error::config(format!("configuration \"{name}\" is not supported"))
                .with_remedy(*remedy));
        }
    }
    let hostnames = "mongodb.ssl.invalid.hostname.allowed";
    if config.get(hostnames).is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
        return Err(Error::config(format!("configuration \"{hostnames}\" is not supported"))
            .with_remedy(
                "connect by a name that stands in the server's certificate, and remove it",
            ));
    }
    Ok(())
}

fn target(config: &Config) -> Result<Target> {
    let authorities = optional(config, &keys::SSL_TRUSTSTORE);
    let form = word(config, &keys::SSL_TRUSTSTORE_TYPE)?;
    if authorities.as_deref().is_some_and(|path| form != "pem" && !path.ends_with(".pem")) {
        let reason = "a Java keystore cannot be read here";
        return Err(config.invalid(&keys::SSL_TRUSTSTORE_TYPE, reason));
    }
    checked(config, &keys::CONNECTION_STRING)?;
    let uri = config.secret(&keys::CONNECTION_STRING);
    Ok(Target {
        uri: Secret::new(uri.expose().trim()),
        user: optional(config, &keys::USER).map(|user| (user, config.secret(&keys::PASSWORD))),
        auth_source: checked(config, &keys::AUTH_SOURCE)?,
        connect_timeout: config.millis(&keys::CONNECT_TIMEOUT)?,
        selection_timeout: config.millis(&keys::SELECTION_TIMEOUT)?,
        heartbeat_frequency: config.millis(&keys::HEARTBEAT_FREQUENCY)?,
        tls: config.boolean(&keys::SSL_ENABLED)?,
        authorities,
    })
}

fn scope(config: &Config) -> Result<Scope> {
    let scope = word(config, &keys::CAPTURE_SCOPE)?;
    if scope == "deployment" {
        return Ok(Scope::Deployment);
    }
    let key = &keys::CAPTURE_TARGET;
    let target = optional(config, key)
        .ok_or_else(|| config.invalid(key, &format!("capture.scope={scope} needs it")))?;
    if scope == "database" {
        return Ok(Scope::Database(target));
    }
    // A collection's name may have dots, a database's may not.
    match target.split_once('.') {
        Some((database, collection)) if !database.is_empty() && !collection.is_empty() => {
            Ok(Scope::Collection(database.to_owned(), collection.to_owned()))
        }
        _ => Err(config.invalid(key, "capture.scope=collection needs <database>.<collection>")),
    }
}

fn skipped(config: &Config) -> Result<String> {
    let key = &keys::SKIPPED_OPERATIONS;
    let letters = config.list(key);
    for letter in &letters {
        if !matches!(letter.as_str(), "c" | "u" | "d" | "t" | "r" | "none") {
            return Err(config.invalid(key, &format!("\"{letter}\" is none of c, u, d, t, none")));
        }
    }
    Ok(if letters.iter().any(|letter| letter == "none") { String::new() } else { letters.concat() })
}

fn pipeline(config: &Config) -> Result<Vec<Document>> {
    let key = &keys::PIPELINE;
    let Some(text) = optional(config, key) else { return Ok(Vec::new()) };
    let stages = match extended_json(&text) {
        Ok(Bson::Array(stages)) => stages,
        Ok(_) => return Err(config.invalid(key, "it is not a JSON array of stages")),
        Err(reason) => return Err(config.invalid(key, &reason)),
    };
    let stage = |stage| match stage {
        Bson::Document(stage) => Ok(stage),
        other => Err(config.invalid(key, &format!("{other} is not a stage"))),
    };
    stages.into_iter().map(stage).collect()
}

fn extended_json(text: &str) -> Result<Bson, String> {
    let json: serde_json::Value =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    Bson::try_from(json).map_err(|error| format!("it is not Extended JSON: {error}"))
}

fn oversize(config: &Config) -> Result<Oversize> {
    Ok(match word(config, &keys::OVERSIZE_MODE)?.as_str() {
        "skip" => {
            let threshold = config.number(&keys::OVERSIZE_THRESHOLD)?;
            if threshold == 0 {
                let reason = "cursor.oversize.handling.mode=skip needs a threshold above 0";
                return Err(config.invalid(&keys::OVERSIZE_THRESHOLD, reason));
            }
            Oversize::Skip(threshold)
        }
        "split" => Oversize::Split,
        _ => Oversize::Fail,
    })
}

fn snapshot_filters(config: &Config) -> Result<BTreeMap<String, Document>> {
    let key = &keys::SNAPSHOT_FILTERS;
    let mut filters = BTreeMap::new();
    for collection in config.list(key) {
        let name = format!("{}.{collection}", key.name);
        let text = config
            .get(&name)
            .ok_or_else(|| config.invalid(key, &format!("\"{name}\" is not given")))?;
        match extended_json(text) {
            Ok(Bson::Document(query)) => filters.insert(collection, query),
            Ok(_) => return Err(config.invalid(key, &format!("\"{name}\" is not a query"))),
            Err(reason) => return Err(config.invalid(key, &format!("\"{name}\": {reason}"))),
        };
    }
    Ok(filters)
}
