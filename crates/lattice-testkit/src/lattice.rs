//! The built `lattice` binary as a process of its own: started, asked, killed, started again.

use std::{
    fs::OpenOptions,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use serde_json::{Map, Value, json};

use crate::{
    clickhouse::http_client,
    services::free_port,
    wait::{wait_for, wait_until},
};

/// A start, or an orderly end, takes well below a second; a loaded machine gets much more.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// `lattice serve` on a data folder and a port of its own. Killed when dropped.
///
/// The binary is the one in `LATTICE_BIN`, else `target/debug/lattice`; `cargo x test` builds it first.
pub struct LatticeProcess {
    child: Option<Child>,
    folder: PathBuf,
    /// Set when the folder is ours to remove.
    _temporary: Option<tempfile::TempDir>,
    port: u16,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    http: reqwest::Client,
}

/// Status and body of an answer. The body is `Null` where it is empty, a string where it is no JSON.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl LatticeProcess {
    /// Starts it on an empty temporary folder and waits until it answers `/health`.
    pub async fn start() -> Self {
        Self::start_with(&[], &[]).await
    }

    /// As [`start`](Self::start), with further arguments after `serve` and variables of the environment.
    pub async fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let temporary = tempfile::Builder::new().prefix("lattice-test-").tempdir();
        let temporary =
            temporary.unwrap_or_else(|error| panic!("make a temporary folder: {error}"));
        let folder = temporary.path().join("data");
        let mut process = Self {
            child: None,
            folder,
            _temporary: Some(temporary),
            port: free_port(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            http: http_client(),
        };
        process.start_again().await;
        process
    }

    /// The binary that tests run. Panics if it has not been built, with the remedy.
    pub fn binary() -> PathBuf {
        let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/debug/lattice");
        let path =
            std::env::var_os("LATTICE_BIN").map_or_else(|| PathBuf::from(built), PathBuf::from);
        assert!(
            path.is_file(),
            "no lattice binary at {}; build it with: cargo build -p lattice-cli",
            path.display()
        );
        path
    }

    /// Starts it again on the same folder and the same port, and waits until it answers.
    pub async fn start_again(&mut self) {
        assert!(self.child.is_none(), "lattice is still running");
        self.child = Some(self.spawn());
        let url = format!("{}/health", self.url());
        wait_for(START_DEADLINE, "lattice to answer /health", async || {
            if let Some(status) = self.exited() {
                panic!("lattice ended at its start with {status}:\n{}", self.log());
            }
            let answered = self.http.get(&url).send().await;
            answered.is_ok_and(|answer| answer.status().is_success()).then_some(())
        })
        .await;
    }

    fn spawn(&self) -> Child {
        let log = OpenOptions::new().create(true).append(true).open(self.log_file());
        let log = log.unwrap_or_else(|error| panic!("open {}: {error}", self.log_file().display()));
        let errors = log.try_clone().unwrap_or_else(|error| panic!("share the log file: {error}"));
        let mut command = Command::new(Self::binary());
        command.arg("serve").arg("--data").arg(&self.folder);
        command.arg("--listen").arg(format!("127.0.0.1:{}", self.port));
        command.args(&self.arguments).envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        command
            .spawn()
            .unwrap_or_else(|error| panic!("start {}: {error}", Self::binary().display()))
    }

    fn exited(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().and_then(|child| child.try_wait().ok().flatten())
    }

    /// The API's URL, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The process' identifier. Panics if it does not run.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map(Child::id).unwrap_or_else(|| panic!("lattice does not run"))
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        &self.folder
    }

    /// Everything it has printed so far, in all its lives.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.with_extension("log")
    }

    /// Ends it as `kill -9` does: nothing is flushed, nothing said goodbye to.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Asks it to stop (SIGTERM) and waits until it has; gives its exit code.
    pub async fn stop(&mut self) -> Option<i32> {
        let sent = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "send SIGTERM to lattice");
        let status =
            wait_for(START_DEADLINE, "lattice to stop after SIGTERM", async || self.exited()).await;
        self.child = None;
        status.code()
    }

    /// Sends a request; `path` begins with a slash. Panics if there is no answer at all.
    pub async fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let method =
            method.parse().unwrap_or_else(|error| panic!("no HTTP method {method}: {error}"));
        let mut request = self.http.request(method, format!("{}{path}", self.url()));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request
            .send()
            .await
            .unwrap_or_else(|error| panic!("ask lattice for {path}: {error:?}\n{}", self.log()));
        let status = answer.status().as_u16();
        let text = answer
            .text()
            .await
            .unwrap_or_else(|error| panic!("read lattice's answer to {path}: {error:?}"));
        let body = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        };
        Answer { status, body }
    }

    /// GET; gives the body. Panics unless the status is 2xx.
    pub async fn get(&self, path: &str) -> Value {
        self.request("GET", path, None).await.expect_success(path)
    }

    /// POST; gives the body. Panics unless the status is 2xx.
    pub async fn post(&self, path: &str, body: &Value) -> Value {
        self.request("POST", path, Some(body)).await.expect_success(path)
    }

    /// PUT; gives the body. Panics unless the status is 2xx.
    pub async fn put(&self, path: &str, body: &Value) -> Value {
        self.request("PUT", path, Some(body)).await.expect_success(path)
    }

    /// DELETE; gives the body. Panics unless the status is 2xx.
    pub async fn delete(&self, path: &str) -> Value {
        self.request("DELETE", path, None).await.expect_success(path)
    }

    /// Creates a connector from its config's keys and values.
    pub async fn create_connector<K: Into<String>, V: Into<String>>(
        &self,
        name: &str,
        config: impl IntoIterator<Item = (K, V)>,
    ) {
        let config: Map<String, Value> = config
            .into_iter()
            .map(|(key, value)| (key.into(), Value::String(value.into())))
            .collect();
        self.post("/connectors", &json!({ "name": name, "config": config })).await;
    }

    /// The state of a connector and of its tasks, as `RUNNING` each; empty strings where there is none yet.
    pub async fn states(&self, connector: &str) -> Vec<String> {
        let status =
            self.request("GET", &format!("/connectors/{connector}/status"), None).await.body;
        let state = |value: &Value| value["state"].as_str().unwrap_or_default().to_owned();
        let mut states = vec![state(&status["connector"])];
        states.extend(status["tasks"].as_array().into_iter().flatten().map(state));
        states
    }

    /// Waits until a connector and at least one task of it are RUNNING.
    pub async fn wait_running(&self, connector: &str) {
        self.wait_state(connector, "RUNNING").await;
    }

    /// Waits until one of a connector's tasks is FAILED and gives the cause (`trace`).
    pub async fn wait_failed(&self, connector: &str) -> String {
        let path = format!("/connectors/{connector}/status");
        let what = format!("a task of {connector} to be FAILED");
        wait_for(START_DEADLINE, &what, async || {
            let status = self.request("GET", &path, None).await.body;
            let parts =
                status["tasks"].as_array().into_iter().flatten().chain([&status["connector"]]);
            let failed = parts.into_iter().find(|part| part["state"] == "FAILED");
            failed.map(|part| part["trace"].as_str().unwrap_or_default().to_owned())
        })
        .await
    }

    /// Waits until a connector and its tasks are in this state. A task that fails on the way is a panic with its cause.
    pub async fn wait_state(&self, connector: &str, wanted: &str) {
        wait_until(START_DEADLINE, &format!("{connector} to be {wanted}"), async || {
            let states = self.states(connector).await;
            if wanted != "FAILED" && states.iter().any(|state| state == "FAILED") {
                let status = self
                    .request("GET", &format!("/connectors/{connector}/status"), None)
                    .await
                    .body;
                panic!("{connector} failed: {status:#}");
            }
            (wanted == "STOPPED" || states.len() > 1) && states.iter().all(|state| state == wanted)
        })
        .await;
    }
}

impl Answer {
    /// The body of a 2xx answer. Panics with the whole answer otherwise.
    fn expect_success(self, path: &str) -> Value {
        assert!(
            (200..300).contains(&self.status),
            "lattice answered {} to {path}: {:#}",
            self.status,
            self.body
        );
        self.body
    }

    /// Connect's `message` of an error answer; empty where there is none.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

impl Drop for LatticeProcess {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(60).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            // The log goes with the folder, and a failed test needs it.
            std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("--- lattice's log:\n{}\n", tail.join("\n")).as_bytes(),
            )
            .ok();
        }
    }
}
