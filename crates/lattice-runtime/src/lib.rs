//! The worker: runs connectors' tasks between databases and the log, and answers for them.
//!
//! Comes in: configurations and orders (create, pause, stop, …) by [`Worker`]'s methods; goes out:
//! records in the log, rows in targets, and what [`WorkerSnapshot`] tells. Read [`Worker`] first,
//! then the modules in the order of a record's way: `source` (pulls batches) → `writer` (encodes,
//! compresses, appends) → the log → `sink` (fetches, decodes, writes); around them `task`
//! (supervision), `retry` (what an error leads to) and `connector` (states, Kafka Connect's).
//!
//! Invariants: a position moves only after what it covers is durable; every queue is bounded in
//! bytes; every spawned task has an owner that awaits it; a panic is a failed task.
//!
//! This room must not know: any concrete connector, HTTP, or the environment.

mod connector;
mod creation;
mod dead_letter;
mod error;
mod exactly_once;
mod feed;
mod group;
mod inspect;
mod keys;
mod model;
mod offsets;
mod overrides;
mod plugins;
mod press;
mod preview;
mod properties;
mod providers;
mod report;
mod retry;
mod salvage;
mod sink;
mod source;
mod store;
mod task;
mod validate;
mod worker;
mod writer;

pub use error::{WorkerError, WorkerResult};
pub use group::Place;
pub use model::{
    ConfigInfo, ConfigValue, ConnectorInfo, ConnectorKind, ConnectorSnapshot, ConnectorStatus,
    Definition, InitialState, OffsetEntry, PluginClass, PluginInfo, State, TableSnapshot,
    TaskSnapshot, TaskStatus, Validation, WorkerSnapshot,
};
pub use plugins::Plugins;
pub use properties::properties;
pub use providers::Environment;
pub use retry::Backoff;
pub use worker::{Worker, WorkerConfig, WorkerOptions};
