//! `cargo x parity debezium`: the corpus of SQL cases, run against the real Debezium and recorded.

use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use lattice_testkit::parity::corpus::{Capture, Raw, Recorded, Run, Theme};
use serde_json::{Map, Value};

use super::connect::{Real, psql};
use crate::{
    bench::Topics,
    command::{capture, run, tool},
    place,
    services::{self, PortPolicy, connect},
};

/// Where the themes and what was recorded of them are.
const FOLDER: &str = "crates/lattice-cli/tests/parity/debezium";

/// A run takes some seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// `cargo x parity debezium [--record [THEME…] | --check]`.
pub(super) fn command(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((flag, themes)) if flag == "--record" => record(themes),
        Some((flag, [])) if flag == "--check" => check(),
        _ => bail!("cargo x parity debezium --record [THEME…] | --check"),
    }
}

fn check() -> Result<()> {
    run(tool("cargo").args(["build", "-q", "-p", "lattice-cli"]))?;
    run(tool("cargo").args(["nextest", "run", "-p", "lattice-cli", "-E", "test(debezium::)"]))
}

fn record(wanted: &[String]) -> Result<()> {
    let themes = themes(wanted)?;
    connect::fetch()?;
    let urls = Urls::get()?;
    let real = Real::start()?;
    for (name, file) in themes {
        let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        let theme = Theme::read(&name, &text);
        let server = urls.of(&theme.server)?;
        let mut databases = BTreeMap::new();
        for run in &theme.runs {
            let database =
                one(&real, &server, run).with_context(|| format!("record {}", run.name))?;
            databases.insert(run.name.clone(), database);
        }
        let raw = dump(&real.broker.address())?;
        let captures = theme
            .runs
            .iter()
            .map(|run| (run.name.clone(), Capture::new(run, &databases[&run.name], &raw)));
        let recorded = Recorded(captures.collect());
        let records: usize = recorded.0.values().map(Capture::len).sum();
        let cases: usize = theme.runs.iter().map(|run| run.cases.len()).sum();
        fs::write(file.with_extension("recorded.json"), recorded.write())
            .context("write what was recorded")?;
        println!("{name}: {cases} cases, {records} records");
    }
    drop(real);
    urls.stop()
}

/// All themes, or those named.
fn themes(wanted: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let folder = place::root().join(FOLDER);
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("list {}", folder.display()))? {
        let file = entry.context("list the themes")?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".json").filter(|name| !name.contains('.')) else {
            continue;
        };
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            found.push((name.to_owned(), file));
        }
    }
    found.sort();
    if found.is_empty() || found.len() < wanted.len() {
        bail!("not all of {wanted:?} are in {}", folder.display());
    }
    Ok(found)
}

/// One run against the real one. Gives the database's name.
fn one(real: &Real, server: &str, run: &Run) -> Result<String> {
    let database = format!("debezium_{}", run.name);
    drop_database(server, &database)?;
    psql(server, &[format!("create database {database}")])?;
    let (base, _) = server.rsplit_once('/').context("PostgreSQL's URL names a database")?;
    let url = format!("{base}/{database}");
    psql(&url, &run.before)?;
    let config: Map<String, Value> = run
        .config(parts(server, &database)?, &database)
        .into_iter()
        .map(|(key, value)| (key, Value::String(value)))
        .collect();
    create(real, &run.name, &Value::Object(config))?;
    let mut topics = Topics::connect(&real.broker.address())?;
    let check = || failure(real, &run.name);
    if !run.snapshot_only {
        let active = format!(
            "select count(*) from pg_replication_slots where slot_name = '{database}' and active"
        );
        wait("the slot to be read", check, || {
            Ok(psql(server, std::slice::from_ref(&active))?.trim() == "1")
        })?;
        if run.end_records > 1 {
            wait("the snapshot", check, || Ok(topics.records(&run.end_topic())? > 0))?;
        }
        psql(&url, &run.after)?;
    }
    wait("all records", check, || Ok(topics.records(&run.end_topic())? >= run.end_records))?;
    let deleted = format!("http://{}/connectors/{}", real.worker.address(), run.name);
    agent().delete(&deleted).call()?;
    drop_database(server, &database)?;
    Ok(database)
}

fn wait(
    what: &str,
    check: impl Fn() -> Result<()>,
    mut done: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let start = Instant::now();
    while !done()? {
        check()?;
        if start.elapsed() > PATIENCE {
            bail!("waited {PATIENCE:?} for {what}");
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

pub(super) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().http_status_as_error(false).build().into()
}

pub(super) fn create(real: &Real, name: &str, config: &Value) -> Result<()> {
    let url = format!("http://{}/connectors/{name}/config", real.worker.address());
    let mut answer =
        agent().put(&url).header("content-type", "application/json").send(config.to_string())?;
    if !answer.status().is_success() {
        let text = answer.body_mut().read_to_string()?;
        bail!("Kafka Connect answers {}: {text}", answer.status());
    }
    Ok(())
}

/// Fails when the connector or its task did.
fn failure(real: &Real, name: &str) -> Result<()> {
    let url = format!("http://{}/connectors/{name}/status", real.worker.address());
    let text = agent().get(&url).call()?.body_mut().read_to_string()?;
    let status: Value = serde_json::from_str(&text).unwrap_or_default();
    let parts = status["tasks"].as_array().into_iter().flatten().chain([&status["connector"]]);
    match parts.into_iter().find(|part| part["state"] == "FAILED") {
        Some(part) => bail!("{name} failed: {}", part["trace"]),
        None => Ok(()),
    }
}

/// The `database.*` keys.
pub(super) fn parts(server: &str, database: &str) -> Result<Vec<(String, String)>> {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    let (login, place) = rest.split_once('@').context("PostgreSQL's URL has a user")?;
    let (user, password) = login.split_once(':').context("and a password")?;
    let place = place.split('/').next().unwrap_or_default();
    let (host, port) = place.split_once(':').context("and a port")?;
    let pairs = [
        ("hostname", host),
        ("port", port),
        ("user", user),
        ("password", password),
        ("dbname", database),
    ];
    Ok(pairs.map(|(key, value)| (format!("database.{key}"), value.to_owned())).to_vec())
}

/// A connector that was deleted may hold its slot a moment longer.
pub(super) fn drop_database(server: &str, database: &str) -> Result<()> {
    let slots = format!("from pg_replication_slots where database = '{database}'");
    let start = Instant::now();
    loop {
        let ended =
            format!("select pg_terminate_backend(active_pid) {slots} and active_pid is not null");
        psql(server, &[ended])?;
        let dropped = psql(
            server,
            &[
                format!("select pg_drop_replication_slot(slot_name) {slots}"),
                format!("drop database if exists {database} with (force)"),
            ],
        );
        if dropped.is_ok() || start.elapsed() > PATIENCE {
            return dropped.map(|_| ());
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Every record of the broker.
pub(super) fn dump(broker: &str) -> Result<Vec<Raw>> {
    let jars = connect::home().join("lib").join("*");
    let program = place::root().join("xtask/java/TopicDump.java");
    let text = capture(Command::new("java").arg("-cp").arg(jars).arg(program).arg(broker))?;
    let records = text.lines().filter(|line| line.starts_with('{'));
    Ok(records.map(Raw::from_line).collect())
}

/// Where the databases' servers are.
struct Urls {
    started: Vec<services::Running>,
}

impl Urls {
    fn get() -> Result<Self> {
        let given =
            ["LATTICE_TEST_PG15", "LATTICE_TEST_PG18"].iter().all(|name| env::var(name).is_ok());
        Ok(Self { started: if given { Vec::new() } else { services::up(PortPolicy::Any)? } })
    }

    fn of(&self, name: &str) -> Result<String> {
        let started = self.started.iter().find(|service| service.variable == name);
        env::var(name)
            .ok()
            .or_else(|| started.map(|service| service.url.clone()))
            .with_context(|| format!("no {name}"))
    }

    fn stop(&self) -> Result<()> {
        services::stop_started(&self.started)
    }
}
