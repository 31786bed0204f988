//! `cargo x services`: the real servers that tests use, on fixed ports of loopback.
//!
//! `up` starts what does not run and returns when all answer; `down` ends what it started, and nothing else.

pub(crate) mod apicurio;
pub(crate) mod clickhouse;
pub(crate) mod connect;
pub(crate) mod kafka;
pub(crate) mod mysql;
pub(crate) mod postgres;
pub(crate) mod process;

use std::{env, net::TcpListener, path::PathBuf};

use anyhow::{Context, Result, bail};

use self::{apicurio::Registry, clickhouse::Engine, kafka::Broker, postgres::Server};
use crate::place;

/// A service's name, the variable that tests read, the default port, and how it is reached.
struct Service {
    name: &'static str,
    variable: &'static str,
    port: u16,
}

const SERVICES: [Service; 9] = [
    Service { name: "pg15", variable: "LATTICE_TEST_PG15", port: 15415 },
    Service { name: "pg18", variable: "LATTICE_TEST_PG18", port: 15418 },
    Service { name: "pg15-standby", variable: "LATTICE_TEST_PG15_STANDBY", port: 15416 },
    Service { name: "ch", variable: "LATTICE_TEST_CH", port: 18200 },
    Service { name: "ch18", variable: "LATTICE_TEST_CH18", port: 18123 },
    Service { name: "apicurio", variable: "LATTICE_TEST_APICURIO", port: 19480 },
    Service { name: "kafka", variable: "LATTICE_TEST_KAFKA", port: 19292 },
    Service { name: "mysql", variable: "LATTICE_TEST_MYSQL", port: 13397 },
    Service { name: "mariadb", variable: "LATTICE_TEST_MARIADB", port: 13306 },
];

/// What to do when a service's usual port is held by something that is not ours.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum PortPolicy {
    /// Say so.
    Fixed,
    /// Take another one: whoever starts the services also tells the tests where they are.
    Any,
}

/// A running service, as tests are told of it.
pub(crate) struct Running {
    /// The variable that names it.
    pub(crate) variable: &'static str,
    /// Its URL.
    pub(crate) url: String,
    name: &'static str,
    started_now: bool,
}

/// `cargo x services ACTION [NAME...]`: without names all of them.
pub(crate) fn command(action: &str, names: &[String]) -> Result<()> {
    let known = |name: &String| SERVICES.iter().any(|service| service.name == name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = SERVICES.iter().map(|service| service.name).collect();
        bail!("no service is called {name}; there are {}", all.join(", "));
    }
    let meant = |service: &&Service| names.is_empty() || names.iter().any(|n| n == service.name);
    match action {
        "up" => {
            for service in start_all(SERVICES.iter().filter(meant), PortPolicy::Fixed)? {
                let how = if service.started_now { "started" } else { "was running" };
                println!("{:8} {how}: {}={}", service.name, service.variable, service.url);
            }
            println!("certificate authority: {}", postgres::certificate_authority()?.display());
            Ok(())
        }
        "down" => {
            for service in SERVICES.iter().filter(meant) {
                if down(service.name)? {
                    println!("{:8} stopped", service.name);
                }
            }
            Ok(())
        }
        "status" => status(),
        _ => bail!("unknown action {action}: cargo x services up|down|status [NAME...]"),
    }
}

/// Starts every service that does not run; returns when all answer.
pub(crate) fn up(policy: PortPolicy) -> Result<Vec<Running>> {
    start_all(SERVICES.iter(), policy)
}

fn start_all<'s>(
    services: impl Iterator<Item = &'s Service>,
    policy: PortPolicy,
) -> Result<Vec<Running>> {
    // All at once: each waits for its own start, mostly for the disk.
    let results: Vec<Result<Running>> = std::thread::scope(|scope| {
        postgres::certificate_authority().map_or_else(
            |error| vec![Err(error)],
            |_| {
                let starting: Vec<_> =
                    services.map(|service| scope.spawn(|| start(service, policy))).collect();
                starting
                    .into_iter()
                    .map(|thread| thread.join().unwrap_or_else(|_| bail!("a start panicked")))
                    .collect()
            },
        )
    });
    results.into_iter().collect()
}

fn start(service: &Service, policy: PortPolicy) -> Result<Running> {
    let Service { name, variable, .. } = *service;
    let describe = || format!("start service {name}");
    let running = running_port(name)?;
    let port = match running {
        Some(port) => port,
        None => choose_port(service, policy)?,
    };
    let started_now = running.is_none();
    let url = if name.starts_with("pg") {
        let server = server(name, port)?;
        if started_now {
            server.start(false).with_context(describe)?;
        }
        server.url("postgres")
    } else if name == "apicurio" {
        let registry = Registry::new(folder(name)?, port);
        if started_now {
            registry.start(false).with_context(describe)?;
        }
        registry.url()
    } else if name == "kafka" {
        let broker = Broker::new(folder(name)?, port);
        if started_now {
            broker.start(false).with_context(describe)?;
        }
        broker.address()
    } else if name == "mysql" || name == "mariadb" {
        let server = sql_server(name, port)?;
        if started_now {
            server.start().with_context(describe)?;
        }
        server.url()
    } else {
        let engine = engine(name, port)?;
        if started_now {
            engine.start(false).with_context(describe)?;
        }
        engine.url()
    };
    Ok(Running { variable, url, name, started_now })
}

/// Stops one service; says whether it ran.
fn down(name: &str) -> Result<bool> {
    let ran = running_port(name)?.is_some();
    if name.starts_with("pg") {
        server(name, 0)?.stop()?;
    } else if name == "apicurio" {
        Registry::new(folder(name)?, 0).stop()?;
    } else if name == "kafka" {
        Broker::new(folder(name)?, 0).stop()?;
    } else if name == "mysql" || name == "mariadb" {
        sql_server(name, 0)?.stop()?;
    } else {
        engine(name, 0)?.stop()?;
    }
    Ok(ran)
}

/// Stops the services that this `up` started; those that ran before go on.
pub(crate) fn stop_started(services: &[Running]) -> Result<()> {
    for service in services.iter().filter(|service| service.started_now) {
        down(service.name)?;
    }
    Ok(())
}

fn status() -> Result<()> {
    for service in &SERVICES {
        match running_port(service.name)? {
            Some(port) => println!("{:8} runs on port {port}", service.name),
            None => println!("{:8} does not run", service.name),
        }
    }
    Ok(())
}

fn folder(name: &str) -> Result<PathBuf> {
    let base = if name.starts_with("pg") || name.starts_with('m') {
        place::databases()?
    } else {
        place::dev()
    };
    Ok(base.join("services").join(name))
}

fn server(name: &str, port: u16) -> Result<Server> {
    let bin = match name {
        "pg18" => place::cache().join("postgres18/bin"),
        _ => place::system_postgres("15")?,
    };
    Ok(Server { bin, folder: folder(name)?, port, standby: name.ends_with("standby") })
}

fn sql_server(name: &str, port: u16) -> Result<mysql::Server> {
    let root = (name == "mysql").then(|| place::cache().join("mysql"));
    Ok(mysql::Server { root, folder: folder(name)?, port })
}

fn engine(name: &str, port: u16) -> Result<Engine> {
    let folder = folder(name)?;
    Ok(if name == "ch" { Engine::embedded(folder, port) } else { Engine::debian(folder, port) })
}

/// The port of a service that runs and is ours.
fn running_port(name: &str) -> Result<Option<u16>> {
    let folder = folder(name)?;
    let process = if name.starts_with("pg") {
        postgres::process_of(&folder)
    } else {
        process::of_folder(&folder)
    };
    Ok(process.and_then(|_| process::saved_port(&folder)))
}

/// The port to start on: what the environment says, else the usual one.
fn choose_port(service: &Service, policy: PortPolicy) -> Result<u16> {
    let variable = format!("LATTICE_DEV_PORT_{}", service.name.to_uppercase());
    let given = env::var(&variable).ok();
    let port = match &given {
        Some(text) => {
            text.parse().with_context(|| format!("{variable}={text} is no port number"))?
        }
        None => service.port,
    };
    if is_free(port) {
        return Ok(port);
    }
    if policy == PortPolicy::Any && given.is_none() {
        let other = free_port()?;
        println!("port {port} is held by another program: {} goes to port {other}", service.name);
        return Ok(other);
    }
    bail!(
        "port {port} for service {} is held by another program (see: ss -ltnp 'sport = :{port}'); \
         end it, or take another port with {variable}=NUMBER",
        service.name
    )
}

/// Whether nothing listens on this port of loopback.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

/// A port that nothing listens on.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .context("find a free port")?
        .port())
}
