//! Avro: Connect schemas to Avro's JSON, values to bytes, and both back.

mod connect;
mod hops;
mod read;
mod schema;
mod write;

pub(crate) use connect::connect_schema;
pub(crate) use hops::Hops;
pub(crate) use read::{Damage, Input, Reader};
pub(crate) use schema::{Meta, avro_text};
pub(crate) use write::{Node, Nulls, write_bytes, write_long};
