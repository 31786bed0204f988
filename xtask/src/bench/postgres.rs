//! The source database of a benchmark, driven by PostgreSQL's own client programs.

use std::{
    env,
    io::Write,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};

/// A database of the benchmark's own; dropped at the end.
pub(crate) struct Database {
    admin: String,
    /// Its name.
    pub(crate) name: String,
    /// A connection URL to it.
    pub(crate) url: String,
}

/// The measured table: ten columns of common types.
pub(crate) const TABLE: &str = "create table public.items (
    id bigint primary key, customer int not null, sku text not null, quantity int not null,
    price numeric(10,2) not null, weight double precision, active boolean not null,
    note text, created timestamptz not null, ref uuid not null)";

/// Rows for [`TABLE`], numbered by the two bounds.
pub(crate) fn fill(from: u64, to: u64) -> String {
    format!(
        "insert into public.items select i, (i*7919 % 100000)::int, 'sku-' || (i % 5000), (i % 17)::int, \
         ((i % 100000)::numeric / 100)::numeric(10,2), (i % 1000) / 8.0, i % 3 = 0, \
         case when i % 4 = 0 then null else 'note of item ' || i end, \
         timestamptz '2024-01-01 00:00:00+00' + i * interval '1 second', \
         md5(i::text)::uuid from generate_series({from}::bigint, {to}::bigint) i"
    )
}

impl Database {
    /// Makes a database on the server of `cargo x services up`.
    pub(crate) fn create(name: &str) -> Result<Self> {
        let admin = env::var("LATTICE_BENCH_PG").or_else(|_| env::var("LATTICE_TEST_PG15"));
        let admin = admin
            .unwrap_or_else(|_| "postgres://postgres:postgres@127.0.0.1:15415/postgres".to_owned());
        let base = admin.rsplit_once('/').map_or(admin.as_str(), |(base, _)| base);
        let name = format!("bench_{name}");
        let database = Self { url: format!("{base}/{name}"), admin: admin.clone(), name };
        database.drop_leftovers().context("is PostgreSQL running? cargo x services up")?;
        psql(&admin, &format!("create database {}", database.name))?;
        Ok(database)
    }

    fn drop_leftovers(&self) -> Result<()> {
        let slots = format!(
            "select pg_terminate_backend(active_pid) from pg_replication_slots where database = '{0}' and active_pid is not null",
            self.name
        );
        psql(&self.admin, &slots)?;
        for _ in 0..50 {
            let left = psql(
                &self.admin,
                &format!(
                    "select count(pg_drop_replication_slot(slot_name)) from pg_replication_slots where database = '{}' and not active",
                    self.name
                ),
            );
            let active = psql(
                &self.admin,
                &format!(
                    "select count(*) from pg_replication_slots where database = '{}'",
                    self.name
                ),
            )?;
            if left.is_ok() && active.trim() == "0" {
                break;
            }
        }
        psql(&self.admin, &format!("drop database if exists {} with (force)", self.name))?;
        Ok(())
    }

    /// Drops a slot as soon as nobody reads it any more.
    pub(crate) fn drop_slot(&self, name: &str) -> Result<()> {
        let end = format!(
            "select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = '{name}' and active"
        );
        let drop = format!("select pg_drop_replication_slot('{name}')");
        let mut attempts = 0;
        loop {
            psql(&self.admin, &end)?;
            match psql(&self.url, &drop) {
                Ok(_) => return Ok(()),
                Err(error) if attempts == 100 => return Err(error),
                Err(_) => attempts += 1,
            }
        }
    }

    /// Runs statements; the answer unaligned, without headers.
    pub(crate) fn sql(&self, sql: &str) -> Result<String> {
        psql(&self.url, sql)
    }

    /// Runs a script of psql in one session.
    pub(crate) fn script(&self, text: &str) -> Result<()> {
        let mut child = Command::new("psql")
            .args([&self.url, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("run psql")?;
        child.stdin.take().context("psql has no input")?.write_all(text.as_bytes())?;
        let status = child.wait()?;
        if !status.success() {
            bail!("psql ended with {status}");
        }
        Ok(())
    }

    /// The host, port, user and password parts for a connector's configuration.
    pub(crate) fn parts(&self) -> Result<[String; 4]> {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let parse = || {
            let (login, place) = rest.split_once('@')?;
            let (user, password) = login.split_once(':')?;
            let (address, _) = place.split_once('/')?;
            let (host, port) = address.split_once(':')?;
            Some([host, port, user, password].map(str::to_owned))
        };
        parse().with_context(|| {
            "the URL is not postgres://user:password@host:port/database".to_owned()
        })
    }

    /// Reads a slot to `end` with a client that throws everything away; gives the seconds.
    pub(crate) fn discard(&self, slot: &str, publication: &str, end: &str) -> Result<f64> {
        let started = Instant::now();
        let status = Command::new("pg_recvlogical")
            .args(["--dbname", &self.url, "--slot", slot, "--start", "--endpos", end, "--no-loop"])
            .args(["--option", "proto_version=1"])
            .args(["--option", &format!("publication_names={publication}")])
            .args(["--file", "/dev/null"])
            .stderr(Stdio::null())
            .status()
            .context("run pg_recvlogical")?;
        if !status.success() {
            bail!("pg_recvlogical ended with {status}");
        }
        Ok(started.elapsed().as_secs_f64())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The next run drops what this one could not.
        self.drop_leftovers().ok();
    }
}

fn psql(url: &str, sql: &str) -> Result<String> {
    let output = Command::new("psql")
        .args([url, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql])
        .output()
        .context("run psql")?;
    if !output.status.success() {
        bail!("psql: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Reads the table with as many `COPY` connections as `connections`; gives the seconds.
pub(crate) fn copy_out(database: &Database, connections: u64) -> Result<f64> {
    let pages: u64 = database
        .sql("select greatest(1, pg_relation_size('public.items') / 8192)")?
        .parse()
        .context("read the table's size")?;
    let step = pages.div_ceil(connections);
    let started = Instant::now();
    let mut children = Vec::new();
    for part in 0..connections {
        let (from, to) = (part * step, (part + 1) * step);
        let copy = format!(
            "copy (select * from public.items where ctid >= '({from},0)' and ctid < '({to},0)') to stdout"
        );
        let child = Command::new("psql")
            .args([&database.url, "-X", "-q", "-c", &copy])
            .stdout(Stdio::null())
            .spawn()
            .context("run psql")?;
        children.push(child);
    }
    for mut child in children {
        let status = child.wait()?;
        if !status.success() {
            bail!("psql ended with {status}");
        }
    }
    Ok(started.elapsed().as_secs_f64())
}
