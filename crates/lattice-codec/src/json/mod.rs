//! JSON in the shapes of Kafka Connect's JsonConverter.

mod number;
mod read;
mod schema;
mod schemaless;
mod write;

pub(crate) use number::float_text;
pub(crate) use read::{JsonRow, connect_schema, infer, to_value};
pub(crate) use schema::{plain, schema_text};
pub(crate) use schemaless::{schemaless, schemaless_json};
pub(crate) use write::Node;
