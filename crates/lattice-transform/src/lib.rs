//! Transformations and predicates: Kafka Connect's and Debezium's, by their own class names.
//!
//! A [`Chain`] is compiled from a connector's configuration (`transforms`, `predicates`). It takes a
//! [`Record`], which is Kafka Connect's `ConnectRecord`, and gives it back changed, or not at all.
//! Read [`Chain`] first, then [`Record`], then the table of classes in [`transforms`].
//!
//! Everything that depends on a schema alone is made once for each schema that is met.
//!
//! This room must not know: bytes of Avro or JSON, topics' storage, the registry, any concrete connector.

mod catalog;
mod chain;
mod date_format;
mod debezium;
mod java;
mod kafka;
mod literal;
mod mongodb;
mod numbers;
mod predicates;
mod record;
mod schemas;
mod settings;

use lattice_core::error::Result;

pub use catalog::{
    PredicateClass, TransformClass, find_predicate, find_transform, predicates, transforms,
};
pub use chain::{Chain, Placed, TransformError, check, is_plain_unwrap, placed_keys};
pub use record::{Datum, Header, Record};

/// Changes records, one at a time.
pub trait Transform: Send + Sync {
    /// Gives the record back changed; `None`: it is dropped.
    ///
    /// Errors: `Data`, saying what of the record cannot be treated.
    fn apply(&mut self, record: Record) -> Result<Option<Record>>;
}

/// Decides whether a transformation treats a record.
pub trait Predicate: Send + Sync {
    /// Whether it holds.
    fn holds(&self, record: &Record) -> bool;
}
