//! The logs as their users meet them: killed processes, folders in other hands, disks that are full; real Kafka
//! brokers, and what happens to them.

mod crash;
mod folder;
mod kafka;
mod kafka_cluster;
mod kafka_console;
mod kafka_faults;
mod kafka_security;
mod kafka_transactions;
