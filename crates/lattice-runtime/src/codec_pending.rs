use std::sync::Arc;
use lattice_core::{config::{Config, Key}, error::{Error, Result}, event::{EventBatch, SourceBatch}, record::RecordSink};
use lattice_registry::SchemaRegistry;
use lattice_log::record_batch::RecordIndex;
use bytes::Bytes;
#[allow(missing_docs)] pub(crate) struct EncoderOptions;
impl EncoderOptions { pub(crate) fn from_config(_: &str, _: u32, _: &Config) -> Result<Self> { Ok(Self) } }
pub(crate) struct Encoder;
pub(crate) struct EncodeError { pub(crate) event: usize, pub(crate) error: Error }
impl Encoder {
  pub(crate) fn new(_: EncoderOptions, _: Arc<dyn SchemaRegistry>) -> Self { Self }
  pub(crate) async fn prepare(&mut self, _: &SourceBatch) -> Result<()> { Ok(()) }
  pub(crate) fn encode(&mut self, _: &SourceBatch, _: usize, _: &mut dyn RecordSink) -> Result<(), EncodeError> { Ok(()) }
}
pub(crate) struct DecoderOptions;
impl DecoderOptions { pub(crate) fn from_config(_: &Config) -> Result<Self> { Ok(Self) } }
pub(crate) struct Decoder;
pub(crate) struct FetchedRecords { pub(crate) topic: Arc<str>, pub(crate) partition: i32, pub(crate) data: Bytes, pub(crate) records: Vec<RecordIndex> }
pub(crate) struct Decoded { pub(crate) batch: EventBatch, pub(crate) errors: Vec<(Arc<str>, i32, i64, Error)> }
impl Decoder {
  pub(crate) fn new(_: DecoderOptions, _: Arc<dyn SchemaRegistry>) -> Self { Self }
  pub(crate) async fn decode(&mut self, _: Vec<FetchedRecords>) -> Result<Decoded> { Ok(Decoded { batch: EventBatch::default(), errors: vec![] }) }
}
pub(crate) fn keys() -> &'static [Key] { &[] }
