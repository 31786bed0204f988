//! JSON in the shapes of Kafka Connect's JsonConverter.

mod number;
mod schema;
mod write;

pub(crate) use number::{decimal_text, float_text};
pub(crate) use schema::schema_text;
pub(crate) use write::{Node, write_string};
