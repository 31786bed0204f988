//! A Kafka broker of a test's own: to be killed, restarted and reached through a proxy.

use std::{
    fs::{self, File},
    io::{Seek as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{
    services::{free_port, listens},
    wait::wait_until,
};

/// A start takes some seconds; a loaded machine gets much more.
const START_DEADLINE: Duration = Duration::from_secs(240);

/// A broker that is its own controller, on ports and in a folder of its own. Killed when dropped.
///
/// It is the real one, from the jars that `dev/setup.sh` puts into the cache.
pub struct KafkaBroker {
    child: Option<Child>,
    folder: tempfile::TempDir,
    port: u16,
}

/// What a broker is started with.
#[derive(Debug, Clone, Default)]
pub struct KafkaBrokerOptions {
    /// Where it listens; 0: a port of its own.
    pub port: u16,
    /// Where it tells its clients to come to; 0: where it listens.
    pub advertised: u16,
    /// Further lines of its `server.properties`; `{port}` and `{controller}` stand for its ports.
    pub properties: Vec<String>,
    /// SCRAM users, as `SCRAM-SHA-256=[name=alice,password=secret]`.
    pub scram: Vec<String>,
}

impl KafkaBroker {
    /// Starts a broker and waits until it listens.
    pub async fn start() -> Self {
        Self::start_with(KafkaBrokerOptions::default()).await
    }

    /// As [`start`](Self::start), with options.
    pub async fn start_with(options: KafkaBrokerOptions) -> Self {
        let mut broker = Self::launched(options);
        broker.listening().await;
        broker
    }

    /// Starts a broker. Blocks while its folder is made ready.
    fn launched(options: KafkaBrokerOptions) -> Self {
        let folder = tempfile::Builder::new().prefix("lattice-kafka-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("make a temporary folder: {error}"));
        let or = |port: u16, other: u16| if port == 0 { other } else { port };
        let port = or(options.port, free_port());
        let (advertised, controller) = (or(options.advertised, port), free_port());
        let text = format!(
            "process.roles=broker,controller\nnode.id=1\n\
             controller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{advertised}\n\
             controller.listener.names=CONTROLLER\nlog.dirs={}\n\
             offsets.topic.replication.factor=1\noffsets.topic.num.partitions=2\n\
             transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n\
             transaction.state.log.num.partitions=2\n\
             share.coordinator.state.topic.replication.factor=1\n\
             group.initial.rebalance.delay.ms=0\nauto.create.topics.enable=false\n{}\n",
            folder.path().join("data").display(),
            options.properties.join("\n")
        );
        let text = text
            .replace("{port}", &port.to_string())
            .replace("{controller}", &controller.to_string());
        let file = folder.path().join("server.properties");
        fs::write(&file, text).unwrap_or_else(|error| panic!("write {}: {error}", file.display()));
        let mut broker = Self { child: None, folder, port };
        broker.format(&options.scram);
        broker.launch();
        broker
    }

    fn format(&self, scram: &[String]) {
        let mut command = self.java("kafka.tools.StorageTool");
        command.args(["format", "-t", "lattice-test-cluster-id", "-c", "server.properties"]);
        for user in scram {
            command.args(["--add-scram", user]);
        }
        let output = command.output().unwrap_or_else(|error| panic!("run java: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "format the broker's folder: {said}");
    }

    /// Starts it again on its data and its port, and waits until it listens.
    pub async fn start_again(&mut self) {
        self.launch();
        self.listening().await;
    }

    fn launch(&mut self) {
        assert!(self.child.is_none(), "the broker still runs");
        let log = File::options().create(true).append(true).open(self.folder.path().join("log"));
        let log = log.unwrap_or_else(|error| panic!("open the broker's log: {error}"));
        let errors = log.try_clone().unwrap_or_else(|error| panic!("share the log: {error}"));
        let mut command = self.java("kafka.Kafka");
        command.arg("server.properties").stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = command.spawn().unwrap_or_else(|error| panic!("run java: {error}"));
        self.child = Some(child);
    }

    async fn listening(&mut self) {
        let url = self.address();
        wait_until(START_DEADLINE, "the Kafka broker to listen", async || {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            assert!(ended.is_none(), "the broker ended at its start:\n{}", self.log());
            listens(&url)
        })
        .await;
    }

    /// `host:port` of the broker itself.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends it as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Asks it to stop (SIGTERM) and waits until it has.
    pub async fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "send SIGTERM to the broker");
        wait_until(START_DEADLINE, "the Kafka broker to stop", async || {
            child.try_wait().ok().flatten().is_some()
        })
        .await;
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn java(&self, class: &str) -> Command {
        let mut command = java(class);
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for KafkaBroker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Three brokers that keep three copies of everything and take a record when two have it. Killed when dropped.
pub struct KafkaCluster {
    /// By id, from 1 on.
    brokers: Vec<KafkaBroker>,
}

impl KafkaCluster {
    /// Starts all three at once and waits until they listen.
    pub async fn start() -> Self {
        let controllers = [free_port(), free_port(), free_port()];
        let voters: Vec<String> = controllers
            .iter()
            .zip(1..)
            .map(|(port, id)| format!("{id}@127.0.0.1:{port}"))
            .collect();
        let options = controllers.into_iter().zip(1..).map(|(controller, id)| {
            // Of two lines for one property the last one holds.
            let properties = vec![
                format!("node.id={id}\ncontroller.quorum.voters={}", voters.join(",")),
                format!(
                    "listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{controller}"
                ),
                "default.replication.factor=3\nmin.insync.replicas=2".to_owned(),
                "offsets.topic.replication.factor=3".to_owned(),
                "transaction.state.log.replication.factor=3".to_owned(),
                "transaction.state.log.min.isr=2".to_owned(),
                // A dead broker is noticed soon.
                "broker.session.timeout.ms=3000\nbroker.heartbeat.interval.ms=500".to_owned(),
            ];
            KafkaBrokerOptions { properties, ..KafkaBrokerOptions::default() }
        });
        // All at once: none of them listens before two are there.
        let mut brokers: Vec<KafkaBroker> = std::thread::scope(|scope| {
            let launch = |options| scope.spawn(move || KafkaBroker::launched(options));
            let launching: Vec<_> = options.map(launch).collect();
            let launched = launching.into_iter().map(|thread| thread.join());
            launched.map(|one| one.unwrap_or_else(|_| panic!("a broker did not start"))).collect()
        });
        for broker in &mut brokers {
            broker.listening().await;
        }
        Self { brokers }
    }

    /// All of them, as `bootstrap.servers`.
    pub fn address(&self) -> String {
        let all: Vec<String> = self.brokers.iter().map(KafkaBroker::address).collect();
        all.join(",")
    }

    /// One of them by its id.
    pub fn broker(&mut self, id: usize) -> &mut KafkaBroker {
        let count = self.brokers.len();
        id.checked_sub(1)
            .and_then(|index| self.brokers.get_mut(index))
            .unwrap_or_else(|| panic!("no broker {id} among {count}"))
    }
}

/// Runs a tool of Kafka's own (`org.apache.kafka.tools.…`) and gives what it printed. Blocks.
///
/// Panics when it fails.
pub fn kafka_tool(class: &str, arguments: &[&str]) -> String {
    kafka_tool_with_input(class, arguments, "")
}

/// As [`kafka_tool`], with what the tool reads from its standard input.
pub fn kafka_tool_with_input(class: &str, arguments: &[&str], input: &str) -> String {
    let mut file = tempfile::tempfile().unwrap_or_else(|error| panic!("make a file: {error}"));
    let filled = file.write_all(input.as_bytes()).and_then(|()| file.rewind());
    filled.unwrap_or_else(|error| panic!("write the tool's input: {error}"));
    let output = java(class).args(arguments).stdin(file).output();
    let output = output.unwrap_or_else(|error| panic!("run java: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{class} {arguments:?}: {said}{errors}");
    said
}

fn java(class: &str) -> Command {
    let jars = jars();
    let mut command = Command::new("java");
    command.args(["-Xmx384m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
    command.arg(jars.join("*")).arg(class);
    command
}

/// Kafka's jars. Panics if they are missing, with the remedy.
fn jars() -> PathBuf {
    let cache = std::env::var_os("LATTICE_DEV_CACHE").map_or_else(default_cache, PathBuf::from);
    let jars = cache.join("kafka");
    assert!(jars.is_dir(), "no Kafka in {}; get it with: dev/setup.sh", jars.display());
    jars
}

/// Where `dev/setup.sh` puts programs: for root, where every user can read them.
fn default_cache() -> PathBuf {
    let system = Path::new("/var/cache/lattice-dev");
    let folder = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let own = folder.map(|folder| folder.join("lattice-dev"));
    own.filter(|own| own.join("kafka").is_dir()).unwrap_or_else(|| system.to_owned())
}
