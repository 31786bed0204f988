//! A real Apache Kafka Connect worker with Debezium's connectors, from Maven Central.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result};

use super::process;
use crate::{
    command::{run, tool},
    place,
};

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

/// What Apicurio's Avro converter 3.0.9 needs from outside. Its own parent is not served: its jars come one by one, without
/// their descriptions.
const CONVERTER: [&str; 3] = [
    "io.apicurio:apicurio-registry-java-sdk:3.0.7",
    "org.apache.avro:avro:1.12.0",
    "com.networknt:json-schema-validator:1.5.4",
];

/// The converter's own jars: `io.apicurio:apicurio-registry-NAME:3.0.9`.
const CONVERTER_PARTS: [&str; 9] = [
    "utils-converter",
    "avro-serde-kafka",
    "jsonschema-serde-kafka",
    "serde-kafka-common",
    "serde-common",
    "serde-common-avro",
    "serde-common-jsonschema",
    "schema-resolver",
    "common",
];

const JACKSON: &str = "<dependencyManagement><dependencies><dependency>\
    <groupId>com.fasterxml.jackson</groupId><artifactId>jackson-bom</artifactId>\
    <version>2.18.2</version><type>pom</type><scope>import</scope>\
    </dependency></dependencies></dependencyManagement>";

const LOG_SETTINGS: &str = "status=error
appender.console.type=Console
appender.console.name=STDOUT
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=WARN
rootLogger.appenderRefs=stdout
rootLogger.appenderRef.stdout.ref=STDOUT
";

pub(crate) fn home() -> PathBuf {
    place::cache().join("kafka-connect-4.4.0")
}

/// Brings the jars into the cache; once.
pub(crate) fn fetch() -> Result<()> {
    for (name, artifacts) in PROGRAMS {
        let folder = home().join(name);
        once(&folder, || {
            copy_dependencies(&folder, &pom_of(artifacts, ""))?;
            if name.ends_with("jdbc") { remove(&folder, &DOUBLE) } else { Ok(()) }
        })?;
    }
    Ok(())
}

/// Brings Apicurio's converter for Kafka Connect into the cache; once. Gives the plugin folder.
pub(crate) fn fetch_converter() -> Result<PathBuf> {
    let converters = home().join("converters");
    let folder = converters.join("apicurio");
    once(&folder, || {
        copy_dependencies(&folder, &pom_of(&CONVERTER, JACKSON))?;
        for part in CONVERTER_PARTS {
            let artifact = format!("-Dartifact=io.apicurio:apicurio-registry-{part}:3.0.9");
            let output = format!("-DoutputDirectory={}", folder.display());
            let maven = ["-q", "-B", "dependency:copy", &artifact, &output];
            run(tool(maven_program()?).args(maven))?;
        }
        remove(&folder, &["slf4j-api-"])
    })?;
    Ok(converters)
}

/// Fills a folder unless it was filled before.
fn once(folder: &Path, fill: impl Fn() -> Result<()>) -> Result<()> {
    if folder.join("complete").is_file() {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    fill()?;
    fs::write(folder.join("complete"), "").context("note that the jars are complete")
}

fn maven_program() -> Result<PathBuf> {
    place::program("mvn").context("no mvn is installed: apt-get install maven")
}

fn copy_dependencies(folder: &Path, pom: &str) -> Result<()> {
    let file = folder.join("pom.xml");
    fs::write(&file, pom).context("write a pom")?;
    run(tool(maven_program()?)
        .args(["-q", "-B", "-f"])
        .arg(&file)
        .args(["dependency:copy-dependencies", "-DincludeScope=runtime"])
        .arg(format!("-DoutputDirectory={}", folder.display())))
}

fn remove(folder: &Path, beginnings: &[&str]) -> Result<()> {
    for entry in fs::read_dir(folder).context("list the jars")? {
        let entry = entry.context("list the jars")?;
        let file = entry.file_name().to_string_lossy().into_owned();
        if beginnings.iter().any(|start| file.starts_with(start)) {
            fs::remove_file(entry.path()).context("remove a jar")?;
        }
    }
    Ok(())
}

fn pom_of(artifacts: &[&str], management: &str) -> String {
    let mut pom = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
        <groupId>lattice</groupId><artifactId>connect</artifactId><version>1</version>\
        <packaging>pom</packaging>{management}<dependencies>"
    );
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

/// What a worker is started with.
pub(crate) struct Setup {
    /// `-Xmx` of its Java.
    pub(crate) heap: &'static str,
    /// Plugin folders besides Debezium's.
    pub(crate) plugins: Vec<PathBuf>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { heap: "768m", plugins: Vec::new() }
    }
}

/// One worker: its folder (settings and log) and its REST port on 127.0.0.1.
pub(crate) struct Worker {
    folder: PathBuf,
    port: u16,
}

impl Worker {
    pub(crate) fn new(folder: PathBuf, port: u16) -> Self {
        Self { folder, port }
    }

    /// `host:port` of its REST API.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Starts it and waits until it answers.
    pub(crate) fn start(&self, broker: &str, setup: &Setup) -> Result<()> {
        let folder = &self.folder;
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        fs::write(folder.join("log4j2.properties"), LOG_SETTINGS).context("write settings")?;
        fs::write(folder.join("connect.properties"), self.settings(broker, setup))
            .context("write settings")?;
        let mut java = Command::new("java");
        java.arg(format!("-Xmx{}", setup.heap))
            .args(["-Dlog4j2.configurationFile=log4j2.properties", "-cp"])
            .arg(format!("{}/lib/*", home().display()))
            .args(["org.apache.kafka.connect.cli.ConnectDistributed", "connect.properties"]);
        let mut child = process::start(java, folder, self.port)?;
        let url = format!("http://{}/health", self.address());
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(5)))
            .build()
            .into();
        process::wait_ready(&mut child, folder, || agent.get(&url).call().is_ok())
    }

    fn settings(&self, broker: &str, setup: &Setup) -> String {
        let mut settings = format!(
            "bootstrap.servers={broker}\ngroup.id=connect\n\
             listeners=http://127.0.0.1:{}\nplugin.discovery=service_load\n\
             connector.client.config.override.policy=All\n\
             offset.storage.partitions=1\nstatus.storage.partitions=1\n\
             config.providers=env,file,directory\n",
            self.port
        );
        let plugins = [home().join("plugins")].into_iter().chain(setup.plugins.iter().cloned());
        let plugins: Vec<String> = plugins.map(|path| path.display().to_string()).collect();
        let _ = writeln!(settings, "plugin.path={}", plugins.join(","));
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
        settings
    }

    /// The process, if it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        process::of_folder(&self.folder)
    }

    /// Stops it if it runs.
    pub(crate) fn stop(&self) -> Result<()> {
        self.pid().map_or(Ok(()), |pid| process::stop(pid, "TERM"))
    }
}
