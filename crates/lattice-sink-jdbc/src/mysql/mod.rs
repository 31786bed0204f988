//! MySQL and MariaDB: statements of many rows, their values as literals.

pub(crate) mod apply;
pub(crate) mod catalog;
pub(crate) mod encode;
mod error;
mod options;
pub(crate) mod types;

use std::time::Duration;

use lattice_core::error::{Error, Result};
use mysql_async::{Conn, Value, prelude::Queryable};

use crate::{
    target::{Failure, Rows},
    url::Server,
};

/// What every session is set to: nothing is cut or rounded away silently, zero is a number like others, and
/// moments are in UTC.
const SESSION: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_ZERO_DATE,NO_ZERO_IN_DATE,\
                       NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00', autocommit = 1";

/// A connection to MySQL or MariaDB.
pub(crate) struct Mysql {
    connection: Conn,
    timeout: Option<Duration>,
    /// New rows are named in an upsert by an alias; before MySQL 8.0.20 and in MariaDB by a function.
    alias: bool,
    /// The longest statement. Units: bytes.
    longest: usize,
}

impl Mysql {
    /// Connects to the first host that answers.
    ///
    /// Errors: `Config`, `Auth`, `Transient`.
    pub(crate) async fn connect(server: &Server) -> Result<Self> {
        let mut last = None;
        for options in options::options(server)? {
            match options::open(server, options).await {
                Ok(connection) => return Self::set_up(server, connection).await,
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::config("connection.url names no host")))
    }

    async fn set_up(server: &Server, connection: Conn) -> Result<Self> {
        let timeout = server.parameter("socketTimeout").and_then(|text| text.parse().ok());
        let mut connected = Self {
            connection,
            timeout: timeout.filter(|ms| *ms > 0).map(Duration::from_millis),
            alias: false,
            longest: 1 << 20,
        };
        connected.execute(SESSION).await?;
        connected.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
        if let Some(variables) = server.parameter("sessionVariables") {
            connected.execute(&format!("SET SESSION {variables}")).await?;
        }
        let rows = connected.query("SELECT VERSION(), @@max_allowed_packet").await?;
        let text = |at: usize| rows.first().and_then(|row| row.get(at)).cloned().flatten();
        let version = text(0).unwrap_or_default();
        let maria = version.contains("MariaDB");
        connected.alias = !maria && connected.connection.server_version() >= (8, 0, 20);
        // Some room for what is around the rows.
        let packet = text(1).and_then(|text| text.parse::<usize>().ok()).unwrap_or(1 << 20);
        connected.longest = packet.saturating_sub(16 << 10).max(1 << 10);
        Ok(connected)
    }

    pub(crate) async fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        let (connection, timeout) = (&mut self.connection, self.timeout);
        let answer = async {
            let mut found = connection.query_iter(sql).await?;
            found.collect::<mysql_async::Row>().await
        };
        let rows = within(timeout, answer).await?;
        let value = |value: Value| match value {
            Value::NULL => None,
            Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            other => Some(other.as_sql(true)),
        };
        Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(value).collect()).collect())
    }

    /// Gives how many rows were found, even if they already were as they are wanted.
    pub(crate) async fn execute(&mut self, sql: &str) -> Result<u64, Failure> {
        let (connection, timeout) = (&mut self.connection, self.timeout);
        let answer = async {
            let done = connection.query_iter(sql).await?;
            let count = done.affected_rows();
            done.drop_result().await.map(|()| count)
        };
        within(timeout, answer).await
    }

    /// Foreign keys are always checked row by row here.
    pub(crate) async fn begin(&mut self) -> Result<(), Failure> {
        self.execute("START TRANSACTION").await.map(drop)
    }
}

/// Awaits an answer no longer than is allowed. What became of the statement is not known then.
async fn within<T>(
    timeout: Option<Duration>,
    answer: impl Future<Output = Result<T, mysql_async::Error>>,
) -> Result<T, Failure> {
    let answered = match timeout {
        None => answer.await,
        Some(timeout) => tokio::time::timeout(timeout, answer).await.map_err(|_| {
            let message = format!("the server did not answer within {} ms", timeout.as_millis());
            Failure::Other(
                Error::transient(message).with_remedy(
                    "raise socketTimeout in connection.url if statements may take longer",
                ),
            )
        })?,
    };
    answered.map_err(error::failure)
}
