//! What the tests of every other room share: real services, one database per test, a `lattice`
//! process that can be killed, network faults, and the comparison of a source table with its target.
//!
//! Nothing here is part of a normal build: other crates have it as a dev-dependency only. There are no
//! doubles: [`service`] gives the address of a real PostgreSQL, ClickHouse or Kafka (`cargo x services up` starts
//! them) and fails loudly when there is none.
//!
//! Read first: [`PostgresDatabase`] and [`ClickHouseDatabase`] (made empty, dropped with the test),
//! [`LatticeProcess`] (the built binary on a data folder and port of its own), [`content::Diff`] (how two
//! tables differ).
//!
//! Waiting is always for a condition with a deadline ([`wait_until`], [`wait_for`]), never for a time.

pub mod content;
#[cfg(feature = "parity")]
pub mod parity;

#[cfg(feature = "services")]
mod clickhouse;
#[cfg(feature = "services")]
mod compare;
#[cfg(feature = "services")]
mod kafka;
#[cfg(feature = "services")]
mod lattice;
#[cfg(feature = "services")]
mod pooler;
#[cfg(feature = "services")]
mod postgres;
#[cfg(feature = "services")]
mod proxy;
#[cfg(feature = "services")]
mod services;
#[cfg(feature = "services")]
mod tls;
#[cfg(feature = "services")]
mod wait;

#[cfg(feature = "services")]
pub use self::{
    clickhouse::ClickHouseDatabase,
    compare::{assert_same_content, compare_tables, wait_until_same_content},
    kafka::{KafkaBroker, KafkaBrokerOptions, KafkaCluster, kafka_tool, kafka_tool_with_input},
    lattice::{Answer, LatticeProcess},
    pooler::Pooler,
    postgres::PostgresDatabase,
    proxy::TcpProxy,
    services::{ca_certificate, free_port, service},
    tls::TlsFront,
    wait::{wait_for, wait_until},
};
