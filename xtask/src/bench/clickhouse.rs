//! The target database of a benchmark.

use std::{env, sync::LazyLock, time::Duration};

use anyhow::{Context, Result, bail};

/// A database of the benchmark's own; dropped at the end.
pub(crate) struct Target {
    /// The server's URL.
    pub(crate) url: String,
    /// The database's name.
    pub(crate) name: String,
}

impl Target {
    /// Makes a database on the server of `cargo x services up`.
    pub(crate) fn create(name: &str) -> Result<Self> {
        let url = env::var("LATTICE_BENCH_CH").or_else(|_| env::var("LATTICE_TEST_CH"));
        let url = url.unwrap_or_else(|_| "http://127.0.0.1:18200".to_owned());
        let target = Self { url, name: format!("bench_{name}") };
        target
            .query(&format!("drop database if exists {}", target.name))
            .context("is ClickHouse running? cargo x services up")?;
        target.query(&format!("create database {}", target.name))?;
        Ok(target)
    }

    /// Runs a statement; the answer as text.
    pub(crate) fn query(&self, sql: &str) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.post("", sql.as_bytes())?).trim().to_owned())
    }

    /// Runs a statement given in the URL with `body` as its data; the answer as bytes.
    pub(crate) fn post(&self, query: &str, body: &[u8]) -> Result<Vec<u8>> {
        let agent = agent();
        let mut request = agent.post(&self.url);
        if !query.is_empty() {
            // The settings that the sink sends.
            request = request.query("query", query).query("async_insert", "0");
            request = request.query("optimize_on_insert", "0");
        }
        let mut response = request.send(body).context("send to ClickHouse")?;
        let status = response.status();
        let answer = response.body_mut().with_config().limit(u64::MAX).read_to_vec()?;
        if !status.is_success() {
            bail!("ClickHouse: {}", String::from_utf8_lossy(&answer).trim());
        }
        Ok(answer)
    }

    /// Host and port for a connector's configuration.
    pub(crate) fn parts(&self) -> Result<(String, String)> {
        let address = self.url.trim_start_matches("http://").trim_end_matches('/');
        let (host, port) = address.split_once(':').context("the URL is not http://host:port")?;
        Ok((host.to_owned(), port.to_owned()))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // The next run drops what this one could not.
        self.query(&format!("drop database if exists {}", self.name)).ok();
    }
}

/// An HTTP client that gives refusals as answers. Its connections are kept: making one for every
/// question would be work for those who answer.
pub(crate) fn agent() -> ureq::Agent {
    static AGENT: LazyLock<ureq::Agent> = LazyLock::new(|| {
        // Servers close idle connections after three seconds, some of them.
        let idle = Duration::from_secs(1);
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        config.max_idle_age(idle).build().into()
    });
    AGENT.clone()
}
