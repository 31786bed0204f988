#![allow(missing_docs)]
use bytes::{Bytes, BytesMut};
use lattice_core::{
    config::{Config, Key},
    error::{Error, Result},
    event::{
        ChangeEvent, Column, Coordinate, EventBatch, Op, Origin, RowDecoder, SourceBatch, Span,
        TableId, TableSchema,
    },
    record::{RecordRef, RecordSink},
    schema::{Schema, Type},
    value::Value,
};
use lattice_log::record_batch::RecordIndex;
use lattice_registry::SchemaRegistry;
use std::sync::Arc;
pub(crate) struct EncoderOptions(String);
impl EncoderOptions {
    pub(crate) fn from_config(_: &str, _: u32, config: &Config) -> Result<Self> {
        Ok(Self(config.get("topic.prefix").unwrap_or_default().to_owned()))
    }
}
pub(crate) struct Encoder(String);
pub(crate) struct EncodeError {
    pub(crate) event: usize,
    pub(crate) error: Error,
}
impl Encoder {
    pub(crate) fn new(o: EncoderOptions, _: Arc<dyn SchemaRegistry>) -> Self {
        Self(o.0)
    }
    pub(crate) async fn prepare(&mut self, _: &SourceBatch) -> Result<()> {
        Ok(())
    }
    pub(crate) fn encode(
        &mut self,
        b: &SourceBatch,
        from: usize,
        out: &mut dyn RecordSink,
    ) -> Result<(), EncodeError> {
        for (i, e) in b.events.iter().enumerate().skip(from) {
            let t = &b.tables[e.table as usize];
            let row = e.after.unwrap().of(&b.data);
            let mut v = Vec::new();
            t.decoder.decode(row, &mut v).map_err(|error| EncodeError { event: i, error })?;
            let h = out.topic(&format!("{}.{}", self.0, t.id));
            out.append(
                h,
                None,
                RecordRef { key: Some(&row[..8]), value: Some(row), headers: &[], timestamp_ms: 1 },
            );
        }
        Ok(())
    }
}
pub(crate) struct DecoderOptions;
impl DecoderOptions {
    pub(crate) fn from_config(_: &Config) -> Result<Self> {
        Ok(Self)
    }
}
pub(crate) struct Decoder(Arc<TableSchema>);
pub(crate) struct FetchedRecords {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    pub(crate) data: Bytes,
    pub(crate) records: Vec<RecordIndex>,
}
pub(crate) struct Decoded {
    pub(crate) batch: EventBatch,
    pub(crate) errors: Vec<(Arc<str>, i32, i64, Error)>,
}
#[derive(Debug)]
struct D;
impl RowDecoder for D {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        let (id, name) = row.split_first_chunk::<8>().ok_or_else(|| Error::data("short"))?;
        out.push(Value::Int(i64::from_be_bytes(*id)));
        out.push(Value::text(std::str::from_utf8(name).unwrap_or_default()));
        Ok(())
    }
}
impl Decoder {
    pub(crate) fn new(_: DecoderOptions, _: Arc<dyn SchemaRegistry>) -> Self {
        let column =
            |name: &str, kind| Column { name: name.into(), schema: Schema::new(kind).into() };
        Self(Arc::new(TableSchema::new(
            TableId { database: "".into(), schema: "".into(), table: "t".into() },
            vec![column("id", Type::Int64), column("name", Type::String)],
            vec![0],
            Arc::new(D),
        )))
    }
    pub(crate) async fn decode(&mut self, fetched: Vec<FetchedRecords>) -> Result<Decoded> {
        let mut data = BytesMut::new();
        let mut d = Decoded { batch: EventBatch::default(), errors: vec![] };
        for f in fetched {
            let topic = d.batch.topics.len() as u32;
            d.batch.topics.push(Arc::clone(&f.topic));
            d.batch.tables.push((topic, Arc::clone(&self.0)));
            for r in &f.records {
                let v = r.value.unwrap().of(&f.data);
                if v.starts_with(b"this") {
                    d.errors.push((
                        Arc::clone(&f.topic),
                        f.partition,
                        r.offset,
                        Error::data("no avro"),
                    ));
                    continue;
                }
                let start = data.len() as u32;
                data.extend_from_slice(v);
                d.batch.events.push(ChangeEvent {
                    op: Op::Create,
                    table: topic,
                    before: None,
                    after: Some(Span { start, len: v.len() as u32 }),
                    origin: Origin::default(),
                });
                d.batch.coordinates.push(Coordinate {
                    topic,
                    partition: f.partition,
                    offset: r.offset,
                    timestamp_ms: 1,
                });
                d.batch.keys.push(None);
            }
        }
        d.batch.data = data.freeze();
        Ok(d)
    }
}
pub(crate) fn keys() -> &'static [Key] {
    &[]
}
