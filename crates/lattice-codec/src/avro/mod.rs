//! Avro: Connect schemas to Avro's JSON, values to bytes, and both back.

mod schema;
mod write;

pub(crate) use schema::{Meta, avro_text};
pub(crate) use write::{Node, Nulls, write_long};
