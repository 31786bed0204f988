//! The whole path with real services on both ends: PostgreSQL → topics → ClickHouse or SQL databases, through the
//! built binary. Every test ends by comparing source and target by content.

mod bad_input;
mod crashes;
mod exactly_once;
mod faults;
mod kafka;
mod metrics;
mod pairs;
mod registries;
mod sql;
mod takeover;
mod transforms;
mod workers;

use std::time::Duration;

use lattice_testkit::{
    ClickHouseDatabase, LatticeProcess, PostgresDatabase, service, wait_until,
    wait_until_same_content,
};

/// How long the target may take to become equal on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A source database, a target database and a platform between them.
struct Path {
    source: PostgresDatabase,
    target: ClickHouseDatabase,
    lattice: LatticeProcess,
}

/// A source connector's configuration; slot and publication are the database's own.
fn source_config(source: &PostgresDatabase, extra: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut config = source.connector_config();
    let slot = format!("s_{}", source.name());
    let own = [
        ("connector.class", "io.debezium.connector.postgresql.PostgresConnector"),
        ("topic.prefix", "p"),
        ("plugin.name", "pgoutput"),
        ("schema.include.list", "public"),
        ("slot.name", &slot),
        ("publication.autocreate.mode", "all_tables"),
        // Truncations are skipped unless they are asked for.
        ("skipped.operations", "none"),
    ];
    set(&mut config, &own);
    set(&mut config, extra);
    config
}

impl Path {
    /// An empty database on each side, and the platform.
    async fn new(name: &str, postgres: &str, clickhouse: &str) -> Self {
        Self {
            source: PostgresDatabase::create(&service(postgres), name).await,
            target: ClickHouseDatabase::create(&service(clickhouse), name).await,
            lattice: LatticeProcess::start().await,
        }
    }

    /// Between PostgreSQL 15 and the modern ClickHouse.
    async fn usual(name: &str) -> Self {
        Self::new(name, "LATTICE_TEST_PG15", "LATTICE_TEST_CH").await
    }

    /// The source connector's configuration.
    fn source_config(&self, extra: &[(&str, &str)]) -> Vec<(String, String)> {
        source_config(&self.source, extra)
    }

    /// The sink connector's configuration.
    fn sink_config(&self, extra: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut config = self.target.connector_config();
        let own = [
            ("connector.class", "com.clickhouse.kafka.connect.ClickHouseSinkConnector"),
            ("topics.regex", r"p\.public\..*"),
        ];
        set(&mut config, &own);
        set(&mut config, extra);
        config
    }

    /// Creates both connectors.
    async fn connect(&self) {
        self.lattice.create_connector("source", self.source_config(&[])).await;
        self.lattice.create_connector("sink", self.sink_config(&[])).await;
    }

    /// Waits until a table and its target are equal.
    async fn equal(&self, table: &str) {
        let topic = format!("p.public.{table}");
        let table = format!("public.{table}");
        wait_until_same_content(PATIENCE, &self.source, &table, &self.target, &topic).await;
    }

    /// Records in a table's topic.
    async fn records(&self, table: &str) -> u64 {
        let answer =
            self.lattice.request("GET", &format!("/api/v1/topics/p.public.{table}"), None).await;
        let partitions = answer.body["partitions"].as_array().cloned().unwrap_or_default();
        partitions.iter().filter_map(|partition| partition["end_offset"].as_u64()).sum()
    }

    /// Waits until a table's topic has at least so many records.
    async fn wait_records(&self, table: &str, wanted: u64) {
        let what = format!("{wanted} records in the topic of {table}");
        wait_until(PATIENCE, &what, async || self.records(table).await >= wanted).await;
    }
}

fn set(config: &mut Vec<(String, String)>, pairs: &[(&str, &str)]) {
    for (key, value) in pairs {
        config.retain(|(other, _)| other != key);
        config.push(((*key).to_owned(), (*value).to_owned()));
    }
}
