//! Apache Kafka Connect with Debezium's connectors, from Maven Central, on ports of its own.

use std::{env, fs, process::Command};

use anyhow::{Context, Result, bail};
use lattice_testkit::parity::{Recording, Table};

use crate::{
    command::capture,
    place,
    services::{
        self, PortPolicy,
        connect::{self, Setup, Worker},
        free_port,
        kafka::Broker,
        process,
    },
};

/// Where the table and its recording are.
const FOLDER: &str = "crates/lattice-cli/tests/parity";

const DATABASE: &str = "lattice_parity";

/// Sends the table to the real one and writes what it answers.
pub(crate) fn record() -> Result<()> {
    let folder = place::root().join(FOLDER);
    let text = fs::read_to_string(folder.join("connect.json")).context("read the table")?;
    connect::fetch()?;
    let given = env::var("LATTICE_TEST_PG15").ok();
    let services = if given.is_some() { Vec::new() } else { services::up(PortPolicy::Any)? };
    let started = services.iter().find(|service| service.variable == "LATTICE_TEST_PG15");
    let postgres = given
        .or_else(|| started.map(|service| service.url.clone()))
        .context("PostgreSQL 15 is among the services")?;
    make_database(&postgres)?;
    let (host, port) = postgres
        .rsplit_once('@')
        .and_then(|(_, rest)| rest.split('/').next())
        .and_then(|place| place.split_once(':'))
        .context("PostgreSQL's URL has host and port")?;
    let table = Table::read(
        &text,
        "real",
        &[
            ("host", host),
            ("port", port),
            ("user", "postgres"),
            ("password", "postgres"),
            ("database", DATABASE),
            ("slot", DATABASE),
        ],
    );
    let real = Real::start()?;
    let (mut answers, mut missed) = (Vec::with_capacity(table.0.len()), Vec::new());
    for request in &table.0 {
        match request.send(&real.worker.address()) {
            _ if request.ignored => {}
            Ok(answer) => answers.push((request, answer)),
            Err(error) => missed.push(format!("{}: {error}", request.name)),
        }
    }
    drop(real);
    drop_slots(&postgres)?;
    services::stop_started(&services)?;
    let file = folder.join("connect.recorded.json");
    fs::write(&file, Recording::write(&answers)).context("write the recording")?;
    println!("{} answers are in {}", answers.len(), file.display());
    if !missed.is_empty() {
        bail!("no answer to {} requests:\n{}", missed.len(), missed.join("\n"));
    }
    Ok(())
}

pub(super) fn psql(url: &str, statements: &[String]) -> Result<String> {
    let mut command = Command::new(place::system_postgres("15")?.join("psql"));
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url]);
    for statement in statements {
        command.args(["-c", statement]);
    }
    capture(&mut command)
}

/// An empty database with the table that the requests name.
fn make_database(url: &str) -> Result<()> {
    drop_slots(url)?;
    let make = [
        format!("drop database if exists {DATABASE} with (force)"),
        format!("create database {DATABASE}"),
    ];
    psql(url, &make)?;
    let (server, _) = url.rsplit_once('/').context("PostgreSQL's URL names a database")?;
    let table = [
        "create table orders (id int primary key, note text)",
        "insert into orders values (1, 'a')",
    ];
    psql(&format!("{server}/{DATABASE}"), &table.map(str::to_owned))?;
    Ok(())
}

fn drop_slots(url: &str) -> Result<()> {
    let ended = format!(
        "select pg_terminate_backend(active_pid) from pg_replication_slots \
         where database = '{DATABASE}' and active_pid is not null"
    );
    psql(url, &[ended])?;
    let dropped = format!(
        "select pg_drop_replication_slot(slot_name) from pg_replication_slots \
         where database = '{DATABASE}' and not active"
    );
    psql(url, &[dropped])?;
    Ok(())
}

/// A broker and a worker; both end with this.
pub(super) struct Real {
    pub(super) worker: Worker,
    pub(super) broker: Broker,
}

impl Real {
    pub(super) fn start() -> Result<Self> {
        let base = place::dev().join("parity");
        let [worker, broker] = ["worker", "broker"].map(|name| base.join(name));
        for folder in [&worker, &broker] {
            if let Some(pid) = process::of_folder(folder) {
                process::stop(pid, "KILL")?;
            }
            let _ = fs::remove_dir_all(folder);
        }
        let broker = Broker::new(broker, free_port()?);
        let real = Self { worker: Worker::new(worker, free_port()?), broker };
        real.broker.start(false)?;
        real.worker.start(&real.broker.address(), &Setup::default())?;
        Ok(real)
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        // A recording that is whole is not spoilt by a process that ends late.
        let _ = self.worker.stop();
        let _ = self.broker.stop();
    }
}
