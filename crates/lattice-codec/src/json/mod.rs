//! JSON in the shapes of Kafka Connect's JsonConverter.

mod number;
mod read;
mod schema;
mod write;

pub(crate) use number::{decimal_text, float_text};
pub(crate) use read::{JsonRow, connect_schema, infer};
pub(crate) use schema::{plain, schema_text};
pub(crate) use write::Node;
