//! `cargo x parity takeover [ROUNDS]`: a connector moves from the real Kafka Connect with Debezium to ours and back, under
//! load; every second move is killed in its middle. In the end each row is in the topic once, in order.

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    connect::{Real, psql},
    debezium::{agent, create, drop_database, dump, parts},
};
use crate::{
    bench::{Platform, Topics, binary},
    place,
    services::{self, PortPolicy, connect},
};

const NAME: &str = "orders";
const DATABASE: &str = "lattice_takeover";
const TOPIC: &str = "lattice_takeover.public.orders";

/// A move takes some seconds.
const PATIENCE: Duration = Duration::from_secs(180);

pub(super) fn command(arguments: &[String]) -> Result<()> {
    let rounds = match arguments {
        [] => 1,
        [rounds] => rounds.parse().context("a number of rounds")?,
        _ => bail!("cargo x parity takeover [ROUNDS]"),
    };
    connect::fetch()?;
    let given = std::env::var("LATTICE_TEST_PG15").ok();
    let started = if given.is_some() { Vec::new() } else { services::up(PortPolicy::Any)? };
    let found = started.iter().find(|service| service.variable == "LATTICE_TEST_PG15");
    let server =
        given.or_else(|| found.map(|service| service.url.clone())).context("no PostgreSQL 15")?;
    drop_database(&server, DATABASE)?;
    psql(&server, &[format!("create database {DATABASE}")])?;
    let told = moves(&server, rounds);
    drop_database(&server, DATABASE)?;
    services::stop_started(&started)?;
    println!("{}", told?);
    Ok(())
}

fn moves(server: &str, rounds: u32) -> Result<String> {
    let (base, _) = server.rsplit_once('/').context("PostgreSQL's URL names a database")?;
    let url = format!("{base}/{DATABASE}");
    let tables =
        ["create table orders (id bigserial primary key, note text)", "create table stop (id int)"];
    psql(&url, &tables.map(str::to_owned))?;
    let real = Real::start()?;
    let broker = real.broker.address();
    let ours =
        Platform::start_with("takeover", &["--bootstrap-servers", &broker, "--group-id", "ours"])?;
    create(&real, NAME, &config(server)?)?;
    let mut load = load(&url)?;
    let mut topics = Topics::connect(&broker)?;
    let mut grows = |what: &str| {
        let before = topics.records(TOPIC)?;
        wait(what, || Ok(topics.records(TOPIC)? > before))
    };
    grows("records of the real one")?;
    for round in 0..rounds {
        let there = format!("http://{}", real.worker.address());
        moved("takeover", &ours.url, &there, &there, round % 2 == 0)?;
        grows("records after the take-over")?;
        moved("handback", &ours.url, &there, &ours.url, round % 2 == 1)?;
        grows("records after the hand-back")?;
        println!("round {} is over", round + 1);
    }
    psql(&url, &["insert into stop values (1)".to_owned()])?;
    load.wait().context("the load")?;
    let rows: u64 = psql(&url, &["select count(*) from orders".to_owned()])?.trim().parse()?;
    wait("all records", || Ok(topics.records(TOPIC)? >= rows))?;
    let ids: Vec<u64> = dump(&broker)?
        .iter()
        .filter(|record| record.topic == TOPIC)
        .filter_map(|record| {
            serde_json::from_str::<Value>(record.value.as_deref()?).ok()?["after"]["id"].as_u64()
        })
        .collect();
    let wrong = ids.windows(2).filter(|pair| pair[0] >= pair[1]).count();
    if ids.len() as u64 != rows || wrong > 0 {
        bail!("{} records of {rows} rows, {wrong} out of order or twice", ids.len());
    }
    Ok(format!("{rows} rows, each once and in order, after {rounds} rounds there and back"))
}

fn config(server: &str) -> Result<Value> {
    let mut config = json!({
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput", "topic.prefix": DATABASE, "slot.name": DATABASE,
        "publication.autocreate.mode": "all_tables", "table.include.list": "public.orders",
        "poll.interval.ms": "50", "tasks.max": "1",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
    });
    for (key, value) in parts(server, DATABASE)? {
        config[key] = json!(value);
    }
    Ok(config)
}

/// One row a transaction, some hundreds a second, until a row is in the table `stop`.
fn load(url: &str) -> Result<Child> {
    let block = "do $$ begin loop exit when exists (select from stop); \
                 insert into orders (note) values ('x'); commit; perform pg_sleep(0.002); end loop; end $$";
    Command::new(place::system_postgres("15")?.join("psql"))
        .args(["-X", "-q", url, "-c", block])
        .stdin(Stdio::null())
        .spawn()
        .context("run psql")
}

/// Runs the command to its end; before that, perhaps, once more, killed when the connector has stopped at its old place.
fn moved(word: &str, ours: &str, connect: &str, from: &str, killed: bool) -> Result<()> {
    let run = || {
        Command::new(binary()?)
            .args(["--url", ours, word, "--connect-url", connect, "--connector", NAME])
            .spawn()
            .context("run lattice")
    };
    if killed {
        let mut child = run()?;
        wait("the connector to stop", || {
            let place = format!("{from}/connectors/{NAME}/status");
            let text = agent().get(&place).call()?.body_mut().read_to_string()?;
            let status: Value = serde_json::from_str(&text).unwrap_or_default();
            Ok(status["connector"]["state"] == "STOPPED")
        })?;
        child.kill().context("kill the command")?;
        child.wait().context("the command")?;
    }
    let status = run()?.wait().context("the command")?;
    if !status.success() {
        bail!("lattice {word} ended with {status}");
    }
    Ok(())
}

fn wait(what: &str, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !done()? {
        if start.elapsed() > PATIENCE {
            bail!("waited {PATIENCE:?} for {what}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
