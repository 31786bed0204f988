//! Events ⇄ records: Debezium's envelope, converters, topic names.
//!
//! Comes in, on the source side: a [`SourceBatch`](lattice_core::event::SourceBatch); goes out:
//! records into a [`RecordSink`](lattice_core::record::RecordSink). On the sink side the reverse:
//! records come in, an [`EventBatch`](lattice_core::event::EventBatch) goes out whose rows stay in
//! the records' own bytes. Read [`Encoder`] and [`Decoder`] first, then [`EncoderOptions`], and
//! [`render()`] for what people are shown.
//!
//! Everything that depends on a schema is compiled once into a plan, so that a row costs one pass
//! over its values and no allocation.
//!
//! This room must not know: sockets, how topics are stored, or any concrete connector.

mod avro;
mod classes;
mod decoder;
mod encoder;
mod envelope;
mod filler;
mod json;
mod keys;
mod naming;
mod options;
mod primitive;
mod render;
mod subject;
mod text;
mod writer;

pub use classes::{ConverterClass, converters};
pub use decoder::{DecodeError, Decoded, Decoder, FetchedRecords};
pub use encoder::{EncodeError, Encoder};
pub use keys::keys;
pub use naming::{Adjustment, TopicNames};
pub use options::{ConverterConfig, DecoderOptions, EncoderOptions, MessageForm, registry_of};
pub use primitive::Primitive;
pub use render::{Rendered, render};
pub use subject::Naming;
