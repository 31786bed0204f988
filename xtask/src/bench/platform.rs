//! The platform under measurement: a `lattice serve` of the release build, its REST API, and
//! what the kernel says of the process.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{clickhouse::Target, clickhouse::agent, postgres::Database};

/// How often a condition is asked for where the answer's time is the figure.
const OFTEN: Duration = Duration::from_millis(5);

/// A running platform with a data folder of its own.
pub(crate) struct Platform {
    binary: PathBuf,
    child: Child,
    /// The REST API's URL.
    pub(crate) url: String,
    data: PathBuf,
    listen: String,
    arguments: Vec<String>,
}

/// What the kernel accounted to the process so far.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    /// User and system time. Units: seconds.
    pub(crate) cpu: f64,
    /// Highest resident memory. Units: MB.
    pub(crate) peak_rss_mb: f64,
    /// Resident memory now. Units: MB.
    pub(crate) rss_mb: f64,
}

/// The release binary; built when it is not there.
pub(crate) fn binary() -> Result<PathBuf> {
    if let Ok(path) = env::var("LATTICE_BENCH_BIN") {
        return Ok(path.into());
    }
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--package", "lattice-cli"])
        .status()
        .context("run cargo build --release")?;
    if !status.success() {
        bail!("cargo build --release ended with {status}");
    }
    let target =
        env::var("CARGO_TARGET_DIR").map_or_else(|_| PathBuf::from("target"), PathBuf::from);
    Ok(target.join("release/lattice"))
}

impl Platform {
    /// Starts it with an empty data folder.
    pub(crate) fn start(name: &str) -> Result<Self> {
        Self::start_with(name, &[])
    }

    /// The same, with further arguments.
    pub(crate) fn start_with(name: &str, arguments: &[&str]) -> Result<Self> {
        let data = env::temp_dir().join(format!("lattice-bench-{}-{name}", std::process::id()));
        if data.try_exists()? {
            fs::remove_dir_all(&data)?;
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let listen = format!("127.0.0.1:{port}");
        let binary = binary()?;
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let child = spawn(&binary, &data, &listen, &arguments)?;
        let url = format!("http://{listen}");
        let platform = Self { binary, child, url, data, listen, arguments };
        platform.wait_ready()?;
        Ok(platform)
    }

    fn wait_ready(&self) -> Result<()> {
        wait(Duration::from_secs(20), "the platform to answer", || {
            Ok(agent()
                .get(format!("{}/health", self.url))
                .call()
                .is_ok_and(|answer| answer.status() == 200))
        })
    }

    /// Starts it again on the same data; does not wait until it answers.
    pub(crate) fn start_again(&mut self) -> Result<()> {
        self.child = spawn(&self.binary, &self.data, &self.listen, &self.arguments)?;
        Ok(())
    }

    /// Stops it and starts it again on the same data: what it used before is forgotten.
    pub(crate) fn restart(&mut self) -> Result<()> {
        self.stop()?;
        self.start_again()?;
        self.wait_ready()
    }

    /// Stops it as a service manager does.
    pub(crate) fn stop(&mut self) -> Result<()> {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        self.child.wait()?;
        Ok(())
    }

    /// Calls the REST API; refusals are errors.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let url = format!("{}{path}", self.url);
        let agent = agent();
        let mut response = match (method, body) {
            ("GET", _) => agent.get(&url).call(),
            ("DELETE", _) => agent.delete(&url).call(),
            ("PUT", body) => agent
                .put(&url)
                .header("content-type", "application/json")
                .send(body.map(Value::to_string).unwrap_or_default()),
            (_, body) => agent
                .post(&url)
                .header("content-type", "application/json")
                .send(body.map(Value::to_string).unwrap_or_default()),
        }
        .with_context(|| format!("{method} {url}"))?;
        let text = response.body_mut().read_to_string()?;
        if !response.status().is_success() {
            bail!("{method} {path}: {} {text}", response.status());
        }
        Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// Creates a source connector that captures `public.items` through `slot`.
    pub(crate) fn create_source(
        &self,
        name: &str,
        database: &Database,
        extra: &[(&str, &str)],
    ) -> Result<()> {
        let [host, port, user, password] = database.parts()?;
        let mut config = json!({
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": host, "database.port": port, "database.user": user,
            "database.password": password, "database.dbname": database.name,
            "topic.prefix": name, "plugin.name": "pgoutput",
            "table.include.list": "public.items", "slot.drop.on.stop": "false",
        });
        for (key, value) in extra {
            config[*key] = json!(value);
        }
        self.create(name, &config)
    }

    /// Creates a connector.
    pub(crate) fn create(&self, name: &str, config: &Value) -> Result<()> {
        self.call("POST", "/connectors", Some(&json!({ "name": name, "config": config })))?;
        Ok(())
    }

    /// Creates a sink connector from the topic of source `source`.
    pub(crate) fn create_sink(&self, name: &str, source: &str, target: &Target) -> Result<()> {
        let (host, port) = target.parts()?;
        let config = json!({
            "connector.class": "com.clickhouse.kafka.connect.ClickHouseSinkConnector",
            "topics": format!("{source}.public.items"), "hostname": host, "port": port,
            "database": target.name, "username": "default", "password": "", "ssl": "false",
        });
        self.call("POST", "/connectors", Some(&json!({ "name": name, "config": config })))?;
        Ok(())
    }

    /// Deletes a connector and waits until it is gone.
    pub(crate) fn delete(&self, name: &str) -> Result<()> {
        self.call("DELETE", &format!("/connectors/{name}"), None)?;
        Ok(())
    }

    /// Records in the topic of source `source`.
    pub(crate) fn records(&self, source: &str) -> Result<u64> {
        let topics = self.call("GET", "/api/v1/topics", None)?;
        let list = topics.as_array().cloned().or_else(|| topics["topics"].as_array().cloned());
        let name = format!("{source}.public.items");
        let topic = list.unwrap_or_default().into_iter().find(|topic| topic["name"] == name);
        Ok(topic.map_or(0, |topic| topic["records"].as_u64().unwrap_or(0)))
    }

    /// Waits until the topic holds `rows` records; fails when the connector does.
    pub(crate) fn wait_records(&self, source: &str, rows: u64) -> Result<()> {
        self.wait_slowly(source, "records in the topic", || Ok(self.records(source)? >= rows))
    }

    /// The same as [`Self::wait_for`] for a run of seconds: answering costs the measured process
    /// half a millisecond of CPU, which would be in the figure if it were asked as often as for a
    /// latency.
    pub(crate) fn wait_slowly(
        &self,
        connector: &str,
        what: &str,
        done: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        self.wait_every(Duration::from_millis(50), connector, what, done)
    }

    /// Waits for a condition; fails as soon as the connector's task does.
    pub(crate) fn wait_for(
        &self,
        connector: &str,
        what: &str,
        done: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        self.wait_every(OFTEN, connector, what, done)
    }

    fn wait_every(
        &self,
        interval: Duration,
        connector: &str,
        what: &str,
        mut done: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        let mut asked = Instant::now();
        ask(interval, Duration::from_secs(1800), what, || {
            if done()? {
                return Ok(true);
            }
            if asked.elapsed() < Duration::from_millis(200) {
                return Ok(false);
            }
            asked = Instant::now();
            self.check(connector)?;
            Ok(false)
        })
    }

    /// Fails when the connector's task does.
    pub(crate) fn check(&self, connector: &str) -> Result<()> {
        let status = self.call("GET", &format!("/connectors/{connector}/status"), None)?;
        if let Some(tasks) = status["tasks"].as_array()
            && let Some(failed) = tasks.iter().find(|task| task["state"] == "FAILED")
        {
            bail!("{connector} failed: {}", failed["trace"]);
        }
        Ok(())
    }

    /// What the kernel accounted so far.
    pub(crate) fn usage(&self) -> Result<Usage> {
        usage_of(self.child.id())
    }
}

/// What the kernel accounted to a process so far.
pub(crate) fn usage_of(pid: u32) -> Result<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok());
    let (user, system) = (ticks(11).context("utime")?, ticks(12).context("stime")?);
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kilobytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or(0.0)
    };
    // 100 clock ticks a second on every Linux that Lattice runs on.
    Ok(Usage {
        cpu: (user + system) / 100.0,
        peak_rss_mb: kilobytes("VmHWM:") / 1024.0,
        rss_mb: kilobytes("VmRSS:") / 1024.0,
    })
}

impl Drop for Platform {
    fn drop(&mut self) {
        self.stop().ok();
        fs::remove_dir_all(&self.data).ok();
    }
}

#[allow(clippy::print_stderr)] // the platform's own warnings belong to the benchmark's log
fn spawn(binary: &Path, data: &Path, listen: &str, arguments: &[String]) -> Result<Child> {
    let mut child = Command::new(binary)
        .args(["serve", "--listen", listen, "--data"])
        .arg(data)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("start lattice serve")?;
    if let Some(stderr) = child.stderr.take() {
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if line.contains("WARN") || line.contains("ERROR") {
                    eprintln!("{line}");
                }
            }
        });
    }
    Ok(child)
}

/// Waits for a condition, asking every few milliseconds.
pub(crate) fn wait(
    patience: Duration,
    what: &str,
    done: impl FnMut() -> Result<bool>,
) -> Result<()> {
    ask(OFTEN, patience, what, done)
}

fn ask(
    interval: Duration,
    patience: Duration,
    what: &str,
    mut done: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let deadline = Instant::now() + patience;
    while !done()? {
        if Instant::now() > deadline {
            bail!("waited {patience:?} for {what}");
        }
        thread::sleep(interval);
    }
    Ok(())
}
