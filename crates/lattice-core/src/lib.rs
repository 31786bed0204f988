//! Lattice's vocabulary: what every room of the house speaks and nothing else.
//!
//! Comes in: nothing; goes out: types. Read [`event::EventBatch`] and [`event::SourceBatch`]
//! first (what flows), then [`connector`] (who makes it flow), then [`schema::Schema`] and
//! [`value::Value`] (what is in it).
//!
//! This crate must not know: sockets, files, tokio, Avro, JSON documents on the wire, topics'
//! storage, or any concrete connector.

pub mod calendar;
pub mod config;
pub mod connector;
pub mod decimal;
pub mod error;
pub mod event;
pub mod position;
pub mod progress;
pub mod record;
pub mod schema;
pub mod secret;
pub mod store;
pub mod value;

use std::{future::Future, pin::Pin};

pub use error::{Error, ErrorKind, Result};

/// A boxed future, so that the contracts stay object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
