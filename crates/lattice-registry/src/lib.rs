//! The registry: schemas with identity.
//!
//! Comes in: a subject and a schema's text; goes out: an id that every record carries, and later
//! the text for an id. Read [`SchemaRegistry`] first (what encoders and decoders use), then
//! [`avro::Schema`] (a parsed Avro schema), then [`EmbeddedRegistry`] (subjects, versions, ids and
//! the compatibility rules in a [`DocumentStore`](lattice_core::store::DocumentStore)), then
//! [`routes()`] (the same over HTTP as Confluent's registry serves it) and [`apicurio_routes()`] (as
//! Apicurio serves it). [`RegistryClient`] uses a registry elsewhere; [`Registries`] says which one
//! a connector uses.
//!
//! This room must not know: topics, events, connectors, or how documents are kept.

mod apicurio;
pub mod avro;
mod client;
mod compatibility;
mod embedded;
mod error;
mod model;
mod parsed;
mod protobuf;
mod registries;
mod routes;
mod subjects;

pub use apicurio::apicurio_routes;
pub use client::{ClientSettings, RegistryClient};
pub use compatibility::Level;
pub use embedded::{EmbeddedRegistry, Slots};
pub use error::{Code, RegistryError};
pub use model::{Extra, NewSchema, Reference, RegisteredSchema, SchemaId, SchemaRegistry};
pub use registries::Registries;
pub use routes::routes;
