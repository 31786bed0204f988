//! PostgreSQL: binary COPY to a staging table, and from there by one statement.

pub(crate) mod apply;
pub(crate) mod catalog;
pub(crate) mod encode;
mod error;
mod tls;
pub(crate) mod types;

use std::{collections::HashSet, time::Duration};

use lattice_core::error::{Error, Result};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::{
    target::{Failure, Rows},
    url::Server,
};

/// A connection to PostgreSQL.
pub(crate) struct Postgres {
    client: Client,
    /// Reads and writes the socket.
    driver: JoinHandle<()>,
    timeout: Option<Duration>,
    /// Staging tables that the session has, by layout and kind.
    stages: HashSet<String>,
    /// Those made by the transaction that runs: gone if it is taken back.
    new_stages: HashSet<String>,
    /// Those with rows.
    filled: HashSet<String>,
    /// Behind a pooler, what is not of the transaction is of nobody.
    pooled: bool,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Postgres {
    /// Connects to the first host that answers.
    ///
    /// Errors: `Config`, `Auth`, `Transient`.
    pub(crate) async fn connect(server: &Server) -> Result<Self> {
        let (config, tls) = tls::options(server)?;
        let connected = config.connect(tls).await;
        let (client, connection) = connected.map_err(|error| error::connect(server, error))?;
        let shown = server.shown();
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(target = shown, %error, "connection ended");
            }
        });
        let seconds = server.parameter("socketTimeout").and_then(|text| text.parse().ok());
        let connected = Self {
            client,
            driver,
            timeout: seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
            stages: HashSet::new(),
            new_stages: HashSet::new(),
            filled: HashSet::new(),
            pooled: server.parameter("prepareThreshold") == Some("0"),
        };
        let settings =
            "SET standard_conforming_strings = on; SET timezone = 'UTC'; SET datestyle = 'ISO'";
        connected.execute(settings).await?;
        if let Some(schema) = server.parameter("currentSchema") {
            let path: Vec<String> = schema
                .split(',')
                .map(|name| crate::url::Dialect::Postgres.quoted(name.trim()))
                .collect();
            connected.execute(&format!("SET search_path = {}", path.join(", "))).await?;
        }
        Ok(connected)
    }

    /// Awaits an answer no longer than is allowed. What became of the statement is not known then.
    async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        let answered = match self.timeout {
            None => answer.await,
            Some(timeout) => {
                match tokio::time::timeout(timeout, answer).await {
                    Ok(answered) => answered,
                    Err(_) => {
                        return Err(Failure::Other(
                        Error::transient(format!("the server did not answer within {} s", timeout.as_secs()))
                            .with_remedy("raise socketTimeout in connection.url if statements may take longer"),
                    ));
                    }
                }
            }
        };
        answered.map_err(error::failure)
    }

    pub(crate) async fn query(&self, sql: &str) -> Result<Rows, Failure> {
        let messages = self.within(self.client.simple_query(sql)).await?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    pub(crate) async fn execute(&self, sql: &str) -> Result<u64, Failure> {
        let messages = self.within(self.client.simple_query(sql)).await?;
        let counts = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::CommandComplete(count) => Some(*count),
            _ => None,
        });
        Ok(counts.last().unwrap_or(0))
    }

    pub(crate) async fn begin(&mut self, deferred: bool) -> Result<(), Failure> {
        self.new_stages.clear();
        self.filled.clear();
        if self.pooled {
            self.stages.clear();
        }
        let sql = match deferred {
            true => "BEGIN; SET CONSTRAINTS ALL DEFERRED",
            false => "BEGIN; SET CONSTRAINTS ALL IMMEDIATE",
        };
        self.execute(sql).await.map(drop)
    }

    /// What was made since is gone with the transaction.
    pub(crate) fn forget_new_stages(&mut self) {
        for name in self.new_stages.drain() {
            self.stages.remove(&name);
        }
    }
}
