//! Apache Kafka Connect with Debezium's connectors, from Maven Central, on ports of its own.

use std::{env, fmt::Write as _, fs, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, Result, bail};
use lattice_testkit::parity::{Recording, Table};

use crate::{
    command::{capture, run, tool},
    place,
    services::{self, PortPolicy, free_port, process},
};

/// Where the table and its recording are.
const FOLDER: &str = "crates/lattice-cli/tests/parity";

/// The programs, each with its Maven artifacts, in a folder of its own.
const PROGRAMS: [(&str, &[&str]); 3] = [
    (
        "lib",
        &[
            "org.apache.kafka:kafka_2.13:4.4.0",
            "org.apache.kafka:connect-runtime:4.4.0",
            "org.apache.kafka:connect-json:4.4.0",
            "org.apache.kafka:connect-transforms:4.4.0",
            "org.apache.kafka:kafka-tools:4.4.0",
            "org.apache.logging.log4j:log4j-slf4j-impl:2.25.1",
            "org.apache.logging.log4j:log4j-core:2.25.1",
        ],
    ),
    ("plugins/debezium-postgres", &["io.debezium:debezium-connector-postgres:3.6.1.Final"]),
    ("plugins/debezium-jdbc", &["io.debezium:debezium-connector-jdbc:3.5.0.Final"]),
];

/// Jars of the worker's own that the JDBC connector brings again, in versions that its task cannot use. (Debezium's
/// PostgreSQL connector needs its own: Kafka 4.4 has moved classes that it names.)
const DOUBLE: [&str; 4] = ["jackson-", "connect-api-", "kafka-clients-", "slf4j-api-"];

const LOG_SETTINGS: &str = "status=error
appender.console.type=Console
appender.console.name=STDOUT
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=WARN
rootLogger.appenderRefs=stdout
rootLogger.appenderRef.stdout.ref=STDOUT
";

const DATABASE: &str = "lattice_parity";

/// Sends the table to the real one and writes what it answers.
pub(crate) fn record() -> Result<()> {
    let folder = place::root().join(FOLDER);
    let text = fs::read_to_string(folder.join("connect.json")).context("read the table")?;
    fetch()?;
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
        match request.send(&real.address) {
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

fn home() -> PathBuf {
    place::cache().join("kafka-connect-4.4.0")
}

/// Brings the jars into the cache; once.
fn fetch() -> Result<()> {
    let maven = place::program("mvn").context("no mvn is installed: apt-get install maven")?;
    for (name, artifacts) in PROGRAMS {
        let folder = home().join(name);
        if folder.join("complete").is_file() {
            continue;
        }
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let pom = folder.join("pom.xml");
        fs::write(&pom, pom_of(artifacts)).context("write a pom")?;
        run(tool(&maven)
            .args(["-q", "-B", "-f"])
            .arg(&pom)
            .args(["dependency:copy-dependencies", "-DincludeScope=runtime"])
            .arg(format!("-DoutputDirectory={}", folder.display())))?;
        if name.ends_with("jdbc") {
            for entry in fs::read_dir(&folder).context("list the jars")? {
                let entry = entry.context("list the jars")?;
                let file = entry.file_name().to_string_lossy().into_owned();
                if DOUBLE.iter().any(|start| file.starts_with(start)) {
                    fs::remove_file(entry.path()).context("remove a jar")?;
                }
            }
        }
        fs::write(folder.join("complete"), "").context("note that the jars are complete")?;
    }
    Ok(())
}

fn pom_of(artifacts: &[&str]) -> String {
    let mut pom =
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
        <groupId>lattice</groupId><artifactId>parity</artifactId><version>1</version>\
        <packaging>pom</packaging><dependencies>"
            .to_owned();
    for artifact in artifacts {
        let mut parts = artifact.split(':');
        for tag in ["<dependency><groupId>", "</groupId><artifactId>", "</artifactId><version>"] {
            pom.push_str(tag);
            pom.push_str(parts.next().unwrap_or_default());
        }
        pom.push_str("</version></dependency>");
    }
    pom.push_str("</dependencies></project>");
    pom
}

fn psql(url: &str, statements: &[String]) -> Result<String> {
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
struct Real {
    address: String,
    folders: [PathBuf; 2],
}

impl Real {
    fn start() -> Result<Self> {
        let base = place::dev().join("parity");
        let folders = ["worker", "broker"].map(|name| base.join(name));
        for folder in &folders {
            if let Some(pid) = process::of_folder(folder) {
                process::stop(pid, "KILL")?;
            }
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
            fs::write(folder.join("log4j2.properties"), LOG_SETTINGS).context("write settings")?;
        }
        let (broker_port, worker_port) = (free_port()?, free_port()?);
        let mut real = Self { address: format!("127.0.0.1:{worker_port}"), folders };
        real.start_broker(broker_port)?;
        real.start_worker(broker_port, worker_port)?;
        Ok(real)
    }

    fn java(&self, folder: usize, main: &str) -> Command {
        let mut command = Command::new("java");
        command
            .args(["-Xmx768m", "-Dlog4j2.configurationFile=log4j2.properties", "-cp"])
            .arg(format!("{}/lib/*", home().display()))
            .arg(main)
            .current_dir(&self.folders[folder]);
        command
    }

    fn start_broker(&mut self, port: u16) -> Result<()> {
        let (folder, controller) = (&self.folders[1], free_port()?);
        let mut settings = format!(
            "process.roles=broker,controller\nnode.id=1\n\
             controller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
             controller.listener.names=CONTROLLER\ngroup.initial.rebalance.delay.ms=0\n\
             offsets.topic.num.partitions=1\n"
        );
        let _ = writeln!(settings, "log.dirs={}", folder.join("data").display());
        for name in ["offsets.topic", "transaction.state.log", "share.coordinator.state.topic"] {
            let _ = writeln!(settings, "{name}.replication.factor=1");
        }
        settings.push_str("transaction.state.log.min.isr=1\n");
        fs::write(folder.join("server.properties"), settings).context("write settings")?;
        let id = capture(self.java(1, "kafka.tools.StorageTool").arg("random-uuid"))?;
        let format = ["format", "-t", id.trim(), "-c", "server.properties"];
        capture(self.java(1, "kafka.tools.StorageTool").args(format))?;
        let mut java = self.java(1, "kafka.Kafka");
        java.arg("server.properties");
        let mut child = process::start(java, folder, port)?;
        process::wait_ready(&mut child, folder, || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        })
    }

    fn start_worker(&mut self, broker: u16, port: u16) -> Result<()> {
        let folder = &self.folders[0];
        let mut settings = format!(
            "bootstrap.servers=127.0.0.1:{broker}\ngroup.id=connect\n\
             listeners=http://127.0.0.1:{port}\nplugin.discovery=service_load\n\
             connector.client.config.override.policy=All\n\
             offset.storage.partitions=1\nstatus.storage.partitions=1\n\
             config.providers=env,file,directory\n"
        );
        let _ = writeln!(settings, "plugin.path={}", home().join("plugins").display());
        for name in ["config", "offset", "status"] {
            let _ = writeln!(settings, "{name}.storage.topic=connect-{name}");
            let _ = writeln!(settings, "{name}.storage.replication.factor=1");
        }
        for name in ["key", "value"] {
            let class = "org.apache.kafka.connect.json.JsonConverter";
            let _ = writeln!(settings, "{name}.converter={class}");
        }
        for (name, class) in [("env", "EnvVar"), ("file", "File"), ("directory", "Directory")] {
            let package = "org.apache.kafka.common.config.provider";
            let _ =
                writeln!(settings, "config.providers.{name}.class={package}.{class}ConfigProvider");
        }
        fs::write(folder.join("connect.properties"), settings).context("write settings")?;
        let mut java = self.java(0, "org.apache.kafka.connect.cli.ConnectDistributed");
        java.arg("connect.properties");
        let mut child = process::start(java, folder, port)?;
        let url = format!("http://{}/health", self.address);
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(5)))
            .build()
            .into();
        process::wait_ready(&mut child, folder, || agent.get(&url).call().is_ok())
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        for folder in &self.folders {
            if let Some(pid) = process::of_folder(folder) {
                // A recording that is whole is not spoilt by a process that ends late.
                let _ = process::stop(pid, "TERM");
            }
        }
    }
}
