//! How long a row of ten columns takes through the encoder and back through the decoder.
//!
//! `cargo run --release -p lattice-codec --example encode_rate`

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use lattice_codec::{Decoder, DecoderOptions, Encoder, EncoderOptions, FetchedRecords};
use lattice_core::{
    BoxFuture, Error, Result,
    config::Config,
    event::{
        ChangeEvent, Column, Op, Origin, RowDecoder, SourceBatch, SourceInfo, Span, TableId,
        TableSchema,
    },
    position::Position,
    record::{RecordRef, RecordSink, TopicHandle},
    schema::{Field, Schema, Type},
    value::Value,
};
use lattice_log::RecordIndex;
use lattice_registry::{NewSchema, RegisteredSchema, SchemaId, SchemaRegistry};

const ROWS: u32 = 200_000;

#[derive(Default)]
struct Registry(std::sync::Mutex<Vec<Arc<str>>>);

impl SchemaRegistry for Registry {
    fn register<'a>(&'a self, _: &'a str, schema: NewSchema) -> BoxFuture<'a, Result<SchemaId>> {
        let mut all = self.0.lock().expect("never poisoned");
        all.push(schema.schema.into());
        let id = SchemaId(i32::try_from(all.len()).expect("few"));
        Box::pin(async move { Ok(id) })
    }

    fn schema(&self, id: SchemaId) -> BoxFuture<'_, Result<Arc<str>>> {
        let index = usize::try_from(id.0 - 1).unwrap_or(usize::MAX);
        let found = self.0.lock().expect("never poisoned").get(index).cloned();
        Box::pin(async move { found.ok_or_else(|| Error::data("unknown schema")) })
    }

    fn subjects(&self) -> BoxFuture<'_, Result<Vec<Arc<str>>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn versions<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<RegisteredSchema>>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// Fields are separated by tabs: five numbers, five texts.
#[derive(Debug)]
struct Tabs;

impl RowDecoder for Tabs {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        let text = std::str::from_utf8(row).map_err(|_| Error::data("not UTF-8"))?;
        for (index, field) in text.split('\t').enumerate() {
            out.push(if index < 5 {
                Value::Int(field.parse().map_err(|_| Error::data("not a number"))?)
            } else {
                Value::text(field)
            });
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Block(Arc<Schema>);

impl SourceInfo for Block {
    fn schema(&self) -> &Arc<Schema> {
        &self.0
    }

    fn values<'a>(&'a self, table: &'a TableId, origin: &'a Origin, out: &mut Vec<Value<'a>>) {
        out.push(Value::text("3.6.1.Final"));
        out.push(Value::text("postgresql"));
        out.push(Value::text("shop"));
        out.push(Value::Int(origin.ts_us / 1000));
        out.push(Value::text(origin.snapshot.as_str()));
        out.push(Value::text(&table.database));
        out.push(Value::text("[\"1\",\"2\"]"));
        out.push(Value::Int(origin.ts_us));
        out.push(Value::Int(origin.ts_us * 1000));
        out.push(Value::text(&table.schema));
        out.push(Value::text(&table.table));
        out.push(origin.tx_id.map_or(Value::Null, |id| Value::Int(id.cast_signed())));
        out.push(origin.lsn.map_or(Value::Null, |lsn| Value::Int(lsn.cast_signed())));
        out.extend([Value::Null, Value::Null, Value::Null]);
    }

    fn event_fields(&self) -> &[usize] {
        &[12]
    }

    fn event_values<'a>(&'a self, origin: &'a Origin, out: &mut Vec<Value<'a>>) {
        out.push(origin.lsn.map_or(Value::Null, |lsn| Value::Int(lsn.cast_signed())));
    }
}

fn source_schema() -> Arc<Schema> {
    let field = |name: &str, kind, optional| {
        let schema = Schema::new(kind);
        Field::new(name, if optional { schema.optional() } else { schema })
    };
    let fields = vec![
        field("version", Type::String, false),
        field("connector", Type::String, false),
        field("name", Type::String, false),
        field("ts_ms", Type::Int64, false),
        field("snapshot", Type::String, true),
        field("db", Type::String, false),
        field("sequence", Type::String, true),
        field("ts_us", Type::Int64, true),
        field("ts_ns", Type::Int64, true),
        field("schema", Type::String, false),
        field("table", Type::String, false),
        field("txId", Type::Int64, true),
        field("lsn", Type::Int64, true),
        field("xmin", Type::Int64, true),
        field("origin", Type::String, true),
        field("origin_lsn", Type::Int64, true),
    ];
    Arc::new(Schema::structure("io.debezium.connector.postgresql.Source", fields))
}

fn batch() -> SourceBatch {
    let mut data = Vec::new();
    let mut events = Vec::new();
    for row in 0..ROWS {
        let start = data.len();
        let texts = "some text\tanother one\topen\tBerlin\t2026-01-01 00:00:00";
        data.extend_from_slice(format!("{row}\t{}\t7\t-3\t123456789\t{texts}", row * 3).as_bytes());
        let after = Span {
            start: u32::try_from(start).expect("small"),
            len: u32::try_from(data.len() - start).expect("small"),
        };
        let origin = Origin {
            ts_us: 1_767_225_600_000_000,
            tx_id: Some(555),
            lsn: Some(24_023_128 + u64::from(row)),
            ..Origin::default()
        };
        events.push(ChangeEvent {
            op: Op::Create,
            table: 0,
            before: None,
            after: Some(after),
            origin,
        });
    }
    let columns = (0..10)
        .map(|index| {
            let schema = Schema::new(if index < 5 { Type::Int64 } else { Type::String });
            let schema = if index == 0 { schema } else { schema.optional() };
            Column { name: format!("column_{index}").into(), schema: Arc::new(schema) }
        })
        .collect();
    let id = TableId { database: "db".into(), schema: "public".into(), table: "orders".into() };
    SourceBatch {
        tables: vec![Arc::new(TableSchema::new(id, columns, vec![0], Arc::new(Tabs)))],
        data: data.into(),
        events,
        position: Position::default(),
        info: Arc::new(Block(source_schema())),
        notices: Vec::new(),
    }
}

/// One buffer of all records.
#[derive(Default)]
struct Buffer {
    data: Vec<u8>,
    records: Vec<RecordIndex>,
}

impl Buffer {
    fn add(&mut self, part: Option<&[u8]>) -> Option<lattice_log::Span> {
        let start = u32::try_from(self.data.len()).expect("small");
        self.data.extend_from_slice(part?);
        Some(lattice_log::Span { start, len: u32::try_from(part?.len()).expect("small") })
    }
}

impl RecordSink for Buffer {
    fn topic(&mut self, _: &str) -> TopicHandle {
        TopicHandle(0)
    }

    fn append(&mut self, _: TopicHandle, _: Option<i32>, record: RecordRef<'_>) {
        let (key, value) = (self.add(record.key), self.add(record.value));
        self.records.push(RecordIndex {
            offset: i64::try_from(self.records.len()).expect("small"),
            timestamp_ms: record.timestamp_ms,
            key,
            value,
            headers: lattice_log::Span::default(),
            header_count: 0,
        });
    }
}

#[allow(clippy::print_stdout)] // what the example is for
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    for (name, class) in [
        ("avro", "io.confluent.connect.avro.AvroConverter"),
        ("json", "org.apache.kafka.connect.json.JsonConverter"),
    ] {
        let mut config = Config::default();
        config.set("topic.prefix", "shop");
        for side in ["key", "value"] {
            config.set(format!("{side}.converter"), class);
            config.set(format!("{side}.converter.schemas.enable"), "false");
        }
        measure(name, &config).await?;
    }
    Ok(())
}

#[allow(clippy::print_stdout)] // what the example is for
async fn measure(name: &str, config: &Config) -> Result<()> {
    let registry: Arc<dyn SchemaRegistry> = Arc::new(Registry::default());
    let batch = batch();
    let options = EncoderOptions::from_config("orders", 0, config)?;
    let mut encoder = Encoder::new(options, Arc::clone(&registry));
    encoder.prepare(&batch).await?;
    let mut decoder = Decoder::new(DecoderOptions::from_config(config)?, registry);
    let per_row = |since: Instant| since.elapsed().as_secs_f64() * 1e6 / f64::from(ROWS);
    let mut best = [f64::INFINITY; 3];
    for _ in 0..5 {
        let mut sink = Buffer::default();
        sink.data.reserve(200 << 20);
        let start = Instant::now();
        encoder.encode(&batch, 0, &mut sink).map_err(|failed| failed.error)?;
        best[0] = best[0].min(per_row(start));
        let fetched = FetchedRecords {
            topic: "shop.public.orders".into(),
            partition: 0,
            data: Bytes::from(sink.data),
            records: sink.records,
        };
        let start = Instant::now();
        let decoded = decoder.decode(vec![fetched]).await?;
        best[1] = best[1].min(per_row(start));
        let start = Instant::now();
        let mut values = Vec::new();
        for event in &decoded.batch.events {
            values.clear();
            let table = &decoded.batch.tables[event.table as usize].1;
            let row = event.after.unwrap_or_default();
            table.decoder.decode(row.of(&decoded.batch.data), &mut values)?;
        }
        best[2] = best[2].min(per_row(start));
    }
    let [encode, decode, read] = best;
    println!("{name}: encode {encode:.3} µs/row, decode {decode:.3} µs/row, read {read:.3} µs/row");
    Ok(())
}
