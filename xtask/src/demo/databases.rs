//! The demo's source and target: private servers, or the user's own.

use std::{env, fs, path::Path, process::Command, time::Duration};

use anyhow::{Context, Result, bail};

use super::shop;
use crate::{
    command, place,
    services::{clickhouse::Engine, free_port, postgres::Server},
};

/// A comment on what the demo makes in a server of the user's: nothing else is ever dropped.
const MARK: &str = "made by Lattice's demo";

/// The PostgreSQL that is captured.
pub(crate) struct Source {
    /// A URL of the shop's database, as a user who may replicate.
    pub(crate) url: String,
    pub(crate) description: String,
    server: Option<Server>,
}

/// The ClickHouse that is filled.
pub(crate) struct Target {
    pub(crate) url: String,
    pub(crate) description: String,
    pub(crate) user: String,
    pub(crate) password: String,
    server: Option<Engine>,
    asking: Query,
}

/// What asks a ClickHouse; each thread has its own.
#[derive(Clone)]
pub(crate) struct Query {
    url: String,
    user: String,
    password: String,
    agent: ureq::Agent,
}

impl Query {
    /// Runs a statement; the answer as TabSeparated text.
    pub(crate) fn run(&self, sql: &str) -> Result<String> {
        let request = self
            .agent
            .post(&self.url)
            .header("X-ClickHouse-User", &self.user)
            .header("X-ClickHouse-Key", &self.password);
        let mut answer = request.send(sql).context("ask ClickHouse")?;
        let status = answer.status();
        let text = answer
            .body_mut()
            .with_config()
            .limit(u64::MAX)
            .read_to_string()
            .context("read ClickHouse's answer")?;
        if !status.is_success() {
            bail!("ClickHouse: {}", text.trim());
        }
        Ok(text)
    }
}

impl Source {
    /// The user's server (`LATTICE_DEMO_PG`, a URL), else one of our own; in it an empty database for the shop.
    pub(crate) fn open() -> Result<Self> {
        let (admin, description, server) = if let Ok(url) = env::var("LATTICE_DEMO_PG") {
            let shown = url.rsplit_once('@').map_or(url.as_str(), |(_, place)| place).to_owned();
            (url, format!("{shown} (yours)"), None)
        } else {
            let folder = place::databases()?.join("demo-postgres");
            let _ = fs::remove_dir_all(&folder);
            let server = Server {
                bin: place::system_postgres("")?,
                folder,
                port: free_port()?,
                standby: false,
            };
            server.start(true)?;
            (server.url("postgres"), format!("127.0.0.1:{} (private)", server.port), Some(server))
        };
        let source = Self { url: with_database(&admin, shop::DATABASE), description, server };
        source.make_database(&admin)?;
        Ok(source)
    }

    fn make_database(&self, admin: &str) -> Result<()> {
        let name = shop::DATABASE;
        let there = format!(
            "SELECT coalesce(shobj_description(oid, 'pg_database'), '-') FROM pg_database WHERE datname = '{name}'"
        );
        match psql(admin, &there)?.trim() {
            "" => {}
            mark if mark == MARK => {
                let of_slots = format!("FROM pg_replication_slots WHERE database = '{name}'");
                psql(
                    admin,
                    &format!("SELECT pg_terminate_backend(active_pid) {of_slots} AND active"),
                )?;
                psql(admin, &format!("SELECT pg_drop_replication_slot(slot_name) {of_slots}"))?;
                psql(admin, &format!("DROP DATABASE {name} WITH (FORCE)"))?;
            }
            _ => bail!(
                "the server has a database {name} that the demo did not make; rename it, or unset LATTICE_DEMO_PG"
            ),
        }
        psql(admin, &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"))?;
        psql(admin, &format!("COMMENT ON DATABASE {name} IS '{}'", MARK.replace('\'', "''")))?;
        Ok(())
    }

    /// Runs SQL in the shop's database; the answer unaligned, tabs between values.
    pub(crate) fn sql(&self, sql: &str) -> Result<String> {
        psql(&self.url, sql)
    }

    /// All rows of the shop.
    pub(crate) fn rows(&self) -> Result<u64> {
        let counts =
            shop::TABLES.map(|table| format!("(SELECT count(*) FROM {table})")).join(" + ");
        self.sql(&format!("SELECT {counts}"))?.trim().parse().context("count the source's rows")
    }

    /// The parts of the URL: host, port, user, password.
    pub(crate) fn parts(&self) -> Result<[String; 4]> {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let (login, place) = rest.rsplit_once('@').context("the PostgreSQL URL names no user")?;
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let address = place.split('/').next().unwrap_or(place);
        let (host, port) = address.split_once(':').unwrap_or((address, "5432"));
        Ok([host, port, user, password].map(percent_decoded))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            let _ = server.stop();
            let _ = fs::remove_dir_all(&server.folder);
        }
    }
}

impl Target {
    /// `LATTICE_DEMO_CLICKHOUSE` (a URL), else a modern `clickhouse` program on the `PATH`, else the engine from PyPI.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let (url, description, server) = if let Ok(url) = env::var("LATTICE_DEMO_CLICKHOUSE") {
            let shown = url.rsplit_once('@').map_or(url.as_str(), |(_, place)| place).to_owned();
            (url, format!("{shown} (yours)"), None)
        } else {
            let folder = folder.join("clickhouse");
            let port = free_port()?;
            let (server, what) =
                match place::program("clickhouse").filter(|program| is_modern(program)) {
                    Some(program) => {
                        (Engine::program(program, folder, port), "private, the clickhouse program")
                    }
                    None => (Engine::embedded(folder, port), "private, the engine from PyPI"),
                };
            server.start(true)?;
            (server.url(), format!("127.0.0.1:{port} ({what})"), Some(server))
        };
        let (url, user, password) = without_login(&url);
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)));
        let asking = Query {
            url: url.clone(),
            user: user.clone(),
            password: password.clone(),
            agent: config.build().into(),
        };
        let target = Self { url, description, user, password, server, asking };
        target.clear()?;
        Ok(target)
    }

    /// Drops the tables of an earlier demo; the one that the demo makes itself tells whose they are.
    fn clear(&self) -> Result<()> {
        let found = self.query("SELECT name, comment FROM system.tables WHERE database = 'default' AND name LIKE 'fulfillment.public.%'")?;
        let ours = found.lines().any(|line| line.contains("Lattice"));
        if !found.is_empty() && !ours {
            bail!(
                "ClickHouse has tables fulfillment.public.* in database default that the demo did not make; rename or drop them"
            );
        }
        for line in found.lines() {
            let name = line.split('\t').next().unwrap_or_default();
            let kind = if name.ends_with("_live") { "VIEW" } else { "TABLE" };
            self.query(&format!("DROP {kind} IF EXISTS default.`{name}`"))?;
        }
        Ok(())
    }

    /// Runs a statement; the answer as TabSeparated text.
    pub(crate) fn query(&self, sql: &str) -> Result<String> {
        self.asking.run(sql)
    }

    /// For another thread.
    pub(crate) fn another(&self) -> Query {
        self.asking.clone()
    }

    /// All rows of the shop that readers see; tables that are not there yet have none.
    pub(crate) fn rows(&self) -> u64 {
        let count = |table: &&str| {
            let sql = format!(
                "SELECT count() FROM {} FINAL WHERE is_deleted = 0",
                shop::target_name(table)
            );
            self.query(&sql).ok().and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        shop::TABLES.iter().map(count).sum()
    }

    /// Host, port, and whether TLS is used.
    pub(crate) fn parts(&self) -> (String, String, bool) {
        let tls = self.url.starts_with("https://");
        let address = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let address = address.split(['/', '?']).next().unwrap_or(address);
        let (host, port) =
            address.rsplit_once(':').unwrap_or((address, if tls { "8443" } else { "8123" }));
        (host.to_owned(), port.to_owned(), tls)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            let _ = server.stop();
        }
    }
}

/// Debian's package has a `clickhouse` of 2018, which knows no deleted rows.
fn is_modern(program: &Path) -> bool {
    let version =
        command::capture(Command::new(program).args(["local", "--query", "SELECT version()"]));
    let major = version.ok().and_then(|text| text.trim().split('.').next()?.parse::<u32>().ok());
    major.is_some_and(|major| major >= 23)
}

fn psql(url: &str, sql: &str) -> Result<String> {
    let mut psql = Command::new("psql");
    psql.args([url, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]);
    psql.env("PGCONNECT_TIMEOUT", "10").env("PGOPTIONS", "-c client_min_messages=warning");
    command::capture(&mut psql)
}

fn with_database(url: &str, database: &str) -> String {
    let (before, query) =
        url.split_once('?').map_or((url, None), |(before, query)| (before, Some(query)));
    let from = before.find("://").map_or(0, |at| at + 3);
    let end = before[from..].find('/').map_or(before.len(), |at| from + at);
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}/{database}{query}", &before[..end])
}

/// A URL without its login, and the login.
fn without_login(url: &str) -> (String, String, String) {
    let default = || (url.trim_end_matches('/').to_owned(), "default".to_owned(), String::new());
    let Some((scheme, rest)) = url.split_once("://") else { return default() };
    let Some((login, place)) = rest.rsplit_once('@') else { return default() };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    (
        format!("{scheme}://{}", place.trim_end_matches('/')),
        percent_decoded(user),
        percent_decoded(password),
    )
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value =
            digits.filter(|_| *byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(value.unwrap_or(*byte));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_of_a_url_is_replaced() {
        assert_eq!(
            with_database("postgres://u:p@h:1/postgres?sslmode=require", "f"),
            "postgres://u:p@h:1/f?sslmode=require"
        );
        assert_eq!(with_database("postgres://u:p@h:1", "f"), "postgres://u:p@h:1/f");
    }

    #[test]
    fn logins_are_taken_out_of_urls() {
        let (url, user, password) = without_login("https://me:p%40ss@h:8443/");
        assert_eq!(
            (url.as_str(), user.as_str(), password.as_str()),
            ("https://h:8443", "me", "p@ss")
        );
        assert_eq!(without_login("http://h:1").1, "default");
    }
}
