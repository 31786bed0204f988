//! Records → event batches.

mod avro;
mod convert;
mod json;
mod laid;
mod row;
mod transformed;

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use lattice_core::{
    error::{Error, ErrorKind, Result},
    event::{ChangeEvent, Coordinate, EventBatch, Op, Origin, Span, TableSchema},
};
use lattice_log::RecordIndex;
use lattice_registry::{SchemaId, SchemaRegistry, avro::Schema};
use lattice_transform::Chain;

use crate::options::{ConverterConfig, DecoderOptions};
use avro::AvroPlan;
use convert::Part;
use transformed::{Forms, Transformer, Whole};

/// The records of one stored batch.
#[derive(Debug, Clone)]
pub struct FetchedRecords {
    /// Topic.
    pub topic: Arc<str>,
    /// Partition.
    pub partition: i32,
    /// The unpacked records.
    pub data: Bytes,
    /// Where each stands in `data`.
    pub records: Vec<RecordIndex>,
}

/// What came of records.
#[derive(Debug, Default)]
pub struct Decoded {
    /// The events.
    pub batch: EventBatch,
    /// Records that cannot be read or transformed.
    pub errors: Vec<DecodeError>,
}

/// A record that gives no event.
#[derive(Debug)]
pub struct DecodeError {
    /// Topic.
    pub topic: Arc<str>,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// Why: kind `Data` or `Schema`.
    pub error: Error,
    /// The class of the transformation that could not treat it; `None`: it is the converter.
    pub transform: Option<&'static str>,
}

/// Turns records into event batches. Rows stay in the records' bytes.
pub struct Decoder {
    options: DecoderOptions,
    registry: Arc<dyn SchemaRegistry>,
    schemas: HashMap<i32, Arc<AvroPlan>>,
    /// The last that a key and a value had: most records have the same as the one before.
    recent: [Option<(i32, Arc<AvroPlan>)>; 2],
    tables: convert::Tables,
    /// With transformations, records go another way.
    transformer: Option<Transformer>,
}

/// What the record before was: nearly every one is of the same topic and schemas, and then all
/// that is to be done is to find its rows.
struct Like {
    /// Index into the batch's topics.
    topic: u32,
    key: Option<i32>,
    value: i32,
    plan: Arc<AvroPlan>,
    /// Index into the batch's tables.
    table: u32,
}

/// A part of a record.
#[derive(Debug, Clone, Copy)]
enum Side {
    Key,
    Value,
}

/// The part of a record that is decoded.
struct Source<'a> {
    topic: &'a Arc<str>,
    data: &'a [u8],
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
        }
    }
}

impl Decoder {
    /// A decoder for one task.
    #[must_use]
    pub fn new(options: DecoderOptions, registry: Arc<dyn SchemaRegistry>) -> Self {
        let tables = convert::Tables::new(options.placeholder.clone());
        Self {
            options,
            registry,
            schemas: HashMap::new(),
            recent: [None, None],
            tables,
            transformer: None,
        }
    }

    /// The same, with transformations between records and events.
    #[must_use]
    pub fn with_transforms(mut self, chain: Chain) -> Self {
        self.transformer = (!chain.is_empty()).then(|| Transformer::new(chain));
        self
    }

    /// Decodes. A record that cannot be read is an entry in `errors` and keeps no other from
    /// being read.
    ///
    /// Errors: `Transient` and `Auth` when the registry does not answer.
    pub async fn decode(&mut self, records: Vec<FetchedRecords>) -> Result<Decoded> {
        let unknown = self.fetch_schemas(&records).await?;
        if let Some(transformer) = &mut self.transformer {
            let forms = Forms { key: self.options.key, value: self.options.value };
            return transform(transformer, &records, &forms, &mut self.tables);
        }
        let data = joined(&records)?;
        let mut out = Collector::default();
        let count = records.iter().map(|fetched| fetched.records.len()).sum();
        let batch = &mut out.decoded.batch;
        batch.events.reserve(count);
        batch.coordinates.reserve(count);
        batch.keys.reserve(count);
        let mut base = 0_u32;
        let mut like: Option<Like> = None;
        for fetched in &records {
            let topic = out.topic(&fetched.topic);
            let source = Source { topic: &fetched.topic, data: &data };
            for record in &fetched.records {
                let place =
                    |span: lattice_log::Span| Span { start: span.start + base, len: span.len };
                let coordinate = Coordinate {
                    topic,
                    partition: fetched.partition,
                    offset: record.offset,
                    timestamp_ms: record.timestamp_ms,
                };
                let (key, value) = (record.key.map(place), record.value.map(place));
                if let Some(like) = &like
                    && like.topic == topic
                    && let Some((part, table)) = like.read(&data, key, value)
                {
                    out.plain(coordinate, table, part);
                    continue;
                }
                like = None;
                match self.record(&source, key, value, &unknown) {
                    Ok(event) => {
                        out.event(coordinate, event);
                        like = value.and_then(|_| self.like(&out, key.map(|key| key.of(&data))));
                    }
                    Err(error) => out.error(fetched, record.offset, error, None),
                }
            }
            base += u32::try_from(fetched.data.len()).unwrap_or(0); // `joined` has checked the sum
        }
        out.decoded.batch.data = data;
        Ok(out.decoded)
    }

    /// Gets the schemas that were not met before. Returns why some cannot be had.
    async fn fetch_schemas(&mut self, records: &[FetchedRecords]) -> Result<HashMap<i32, String>> {
        let mut wanted = Vec::new();
        let mut last = [None; 2];
        for fetched in records {
            for record in &fetched.records {
                let sides = [(self.options.key, record.key), (self.options.value, record.value)];
                for ((converter, span), last) in sides.into_iter().zip(&mut last) {
                    if !matches!(converter, ConverterConfig::Avro { .. }) {
                        continue;
                    }
                    let id = span.and_then(|span| schema_id(span.of(&fetched.data)));
                    let Some((id, _)) = id.filter(|(id, _)| *last != Some(*id)) else { continue };
                    *last = Some(id);
                    let known = match &self.transformer {
                        Some(transformer) => transformer.wholes.contains_key(&id),
                        None => self.schemas.contains_key(&id),
                    };
                    if !known && !wanted.contains(&id) {
                        wanted.push(id);
                    }
                }
            }
        }
        let mut unknown = HashMap::new();
        for id in wanted {
            match self.fetch_schema(id).await {
                Ok(Fetched::Plan(plan)) => {
                    self.schemas.insert(id, Arc::new(*plan));
                }
                Ok(Fetched::Whole(whole)) => {
                    if let Some(transformer) = &mut self.transformer {
                        transformer.wholes.insert(id, Arc::new(*whole));
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::Transient | ErrorKind::Auth) => {
                    return Err(error);
                }
                Err(error) => {
                    unknown.insert(id, error.chain());
                }
            }
        }
        Ok(unknown)
    }

    async fn fetch_schema(&self, id: i32) -> Result<Fetched> {
        let text = self.registry.schema(SchemaId(id)).await?;
        let schema = Schema::parse(&text)
            .map_err(|error| Error::schema(format!("parse schema {id}")).with_source(error))?;
        let made = match &self.transformer {
            Some(_) => Whole::compile(&schema).map(|whole| Fetched::Whole(Box::new(whole))),
            None => AvroPlan::compile(&schema, &self.options.placeholder)
                .map(|plan| Fetched::Plan(Box::new(plan))),
        };
        made.map_err(|damage| Error::schema(format!("use schema {id}: {}", damage.reason())))
    }

    fn record(
        &mut self,
        source: &Source<'_>,
        key: Option<Span>,
        value: Option<Span>,
        unknown: &HashMap<i32, String>,
    ) -> Result<Event> {
        let (key_form, value_form) = (self.options.key, self.options.value);
        let key = match key {
            Some(span) => Some(self.key(source, key_form, span, unknown)?),
            None => None,
        };
        let Some(span) = value else { return self.tombstone(source, key) };
        match value_form {
            ConverterConfig::Avro { .. } => {
                let (id, plan, span) = self.avro(source, span, Side::Value, unknown)?;
                let part = plan.locate(source.data, span).map_err(|damage| {
                    Error::data(format!(
                        "the value's Avro bytes of schema {id}: {}",
                        damage.reason()
                    ))
                    .with_remedy("the record was not written with this schema, or is damaged")
                })?;
                let table = self.tables.avro_row(source.topic, id, &plan, key.as_ref());
                Ok(finish(part, table, key))
            }
            ConverterConfig::Json { schemas, .. } => {
                let (part, table) = self.tables.json_row(source, span, schemas, key.as_ref())?;
                Ok(finish(part, table, key))
            }
            ConverterConfig::Text
            | ConverterConfig::Simple
            | ConverterConfig::Bytes
            | ConverterConfig::Primitive(_) => {
                let table = self.tables.single(source.topic, "value", value_form, key.as_ref());
                Ok(finish(Part::plain(span), table, key))
            }
        }
    }

    fn key(
        &mut self,
        source: &Source<'_>,
        form: ConverterConfig,
        span: Span,
        unknown: &HashMap<i32, String>,
    ) -> Result<Key> {
        match form {
            ConverterConfig::Avro { .. } => {
                let (id, plan, span) = self.avro(source, span, Side::Key, unknown)?;
                Ok(Key { table: self.tables.avro_key(source.topic, id, &plan), span })
            }
            ConverterConfig::Json { schemas, .. } => self.tables.json_key(source, span, schemas),
            ConverterConfig::Text
            | ConverterConfig::Simple
            | ConverterConfig::Bytes
            | ConverterConfig::Primitive(_) => {
                Ok(Key { table: self.tables.single(source.topic, "key", form, None), span })
            }
        }
    }

    /// The plan of an Avro record and where its bytes stand.
    fn avro(
        &mut self,
        source: &Source<'_>,
        span: Span,
        side: Side,
        unknown: &HashMap<i32, String>,
    ) -> Result<(i32, Arc<AvroPlan>, Span)> {
        let bytes = span.of(source.data);
        let Some((id, prefix)) = schema_id(bytes) else {
            let side = side.name();
            let start =
                bytes.first().map_or_else(|| "nothing".to_owned(), |byte| format!("0x{byte:02x}"));
            return Err(Error::data(format!(
                "the {side} is not Avro with a schema id: it begins with {start}, not with 0x00 and an id"
            ))
            .with_remedy(format!("set \"{side}.converter\" to what the topic was written with")));
        };
        let span = Span { start: span.start + prefix, len: span.len - prefix };
        if let Some((recent, plan)) = &self.recent[side as usize]
            && *recent == id
        {
            return Ok((id, Arc::clone(plan), span));
        }
        let Some(plan) = self.schemas.get(&id) else {
            let side = side.name();
            let why = unknown.get(&id).map_or("unknown", String::as_str);
            return Err(Error::data(format!("the {side}'s schema {id} cannot be used: {why}"))
                .with_remedy(
                    "the topic was written with another registry, or the schema was deleted",
                ));
        };
        self.recent[side as usize] = Some((id, Arc::clone(plan)));
        Ok((id, Arc::clone(plan), span))
    }

    /// The record with a value that was decoded last, as others may be like it.
    fn like(&self, out: &Collector, key: Option<&[u8]>) -> Option<Like> {
        let avro = |form| matches!(form, ConverterConfig::Avro { .. });
        if !avro(self.options.value) || (key.is_some() && !avro(self.options.key)) {
            return None;
        }
        let key = match key {
            Some(key) => Some(schema_id(key)?.0),
            None => None,
        };
        let (value, plan) = self.recent[Side::Value as usize].as_ref()?;
        let (topic, _, table) = out.last?;
        Some(Like { topic, key, value: *value, plan: Arc::clone(plan), table })
    }

    fn tombstone(&mut self, source: &Source<'_>, key: Option<Key>) -> Result<Event> {
        let Some(key) = key else {
            return Err(Error::data("a record with neither key nor value"));
        };
        let table = self.tables.latest(source.topic).unwrap_or_else(|| Arc::clone(&key.table));
        Ok(Event {
            op: Op::Tombstone,
            table,
            before: Some(key.span),
            after: None,
            origin: Origin::default(),
            key: Some(key.table),
        })
    }
}

impl Like {
    /// The rows of a record, if it is like the one before and whole without its key.
    #[inline]
    fn read(&self, data: &[u8], key: Option<Span>, value: Option<Span>) -> Option<(Part, u32)> {
        let span = value?;
        let (id, prefix) = schema_id(span.of(data))?;
        let key = match key {
            Some(key) => Some(schema_id(key.of(data))?.0),
            None => None,
        };
        if id != self.value || key != self.key {
            return None;
        }
        let span = Span { start: span.start + prefix, len: span.len - prefix };
        let part = self.plan.locate(data, span).ok()?;
        let needs_key = part.op == Op::Delete && part.before.is_none();
        (!needs_key).then_some((part, self.table))
    }
}

/// A schema from the registry, compiled for the way that records go.
enum Fetched {
    Plan(Box<AvroPlan>),
    Whole(Box<Whole>),
}

/// Decodes through transformations.
fn transform(
    transformer: &mut Transformer,
    records: &[FetchedRecords],
    forms: &Forms,
    tables: &mut convert::Tables,
) -> Result<Decoded> {
    let mut out = Collector::default();
    let mut data = Vec::new();
    for fetched in records {
        let topic = out.topic(&fetched.topic);
        for index in &fetched.records {
            let coordinate = Coordinate {
                topic,
                partition: fetched.partition,
                offset: index.offset,
                timestamp_ms: index.timestamp_ms,
            };
            match transformer.record(fetched, index, forms, (tables, &mut data)) {
                Ok(Some(routed)) => {
                    let topic = out.topic(&routed.topic);
                    out.event_of(coordinate, topic, routed.event);
                }
                Ok(None) => {}
                Err(failed) => out.error(fetched, index.offset, failed.error, failed.transform),
            }
        }
    }
    out.decoded.batch.data = data.into();
    Ok(out.decoded)
}

/// A record's key.
struct Key {
    table: Arc<TableSchema>,
    span: Span,
}

struct Event {
    op: Op,
    table: Arc<TableSchema>,
    before: Option<Span>,
    after: Option<Span>,
    origin: Origin,
    key: Option<Arc<TableSchema>>,
}

/// A delete that does not know its row has its key there.
fn finish(part: Part, table: Arc<TableSchema>, key: Option<Key>) -> Event {
    let Part { op, mut before, after, origin } = part;
    let mut key_table = None;
    if op == Op::Delete
        && before.is_none()
        && let Some(key) = key
    {
        before = Some(key.span);
        key_table = Some(key.table);
    }
    Event { op, table, before, after, origin, key: key_table }
}

/// A schema id and how many bytes it takes with the magic byte before it.
pub(crate) fn schema_id(bytes: &[u8]) -> Option<(i32, u32)> {
    match bytes {
        // No registry gives the id 0: four zeros are the upper half of Apicurio's long ids.
        [0, 0, 0, 0, 0, a, b, c, d, ..] => Some((i32::from_be_bytes([*a, *b, *c, *d]), 9)),
        [0, a, b, c, d, ..] => Some((i32::from_be_bytes([*a, *b, *c, *d]), 5)),
        _ => None,
    }
}

/// One buffer of all records; a single one is not copied.
fn joined(records: &[FetchedRecords]) -> Result<Bytes> {
    if let [one] = records {
        return Ok(one.data.clone());
    }
    let total: usize = records.iter().map(|fetched| fetched.data.len()).sum();
    if u32::try_from(total).is_err() {
        return Err(Error::fatal("more than 4 GiB of records were to be decoded at once"));
    }
    let mut data = Vec::with_capacity(total);
    for fetched in records {
        data.extend_from_slice(&fetched.data);
    }
    Ok(data.into())
}

/// Collects a batch.
#[derive(Default)]
struct Collector {
    decoded: Decoded,
    by_uid: HashMap<(u32, u64), u32>,
    last: Option<(u32, u64, u32)>,
}

impl Collector {
    fn topic(&mut self, topic: &Arc<str>) -> u32 {
        let topics = &mut self.decoded.batch.topics;
        let index = topics.iter().position(|other| other == topic).unwrap_or_else(|| {
            topics.push(Arc::clone(topic));
            topics.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    fn table(&mut self, topic: u32, table: &Arc<TableSchema>) -> u32 {
        if let Some((last_topic, uid, index)) = self.last
            && last_topic == topic
            && uid == table.uid
        {
            return index;
        }
        let tables = &mut self.decoded.batch.tables;
        let index = *self.by_uid.entry((topic, table.uid)).or_insert_with(|| {
            tables.push((topic, Arc::clone(table)));
            u32::try_from(tables.len() - 1).unwrap_or(u32::MAX)
        });
        self.last = Some((topic, table.uid, index));
        index
    }

    #[inline]
    fn plain(&mut self, coordinate: Coordinate, table: u32, part: Part) {
        let Part { op, before, after, origin } = part;
        let batch = &mut self.decoded.batch;
        batch.events.push(ChangeEvent { op, table, before, after, origin });
        batch.coordinates.push(coordinate);
        batch.keys.push(None);
    }

    fn event(&mut self, coordinate: Coordinate, event: Event) {
        self.event_of(coordinate, coordinate.topic, event);
    }

    /// An event whose table is of another topic than its record.
    fn event_of(&mut self, coordinate: Coordinate, topic: u32, event: Event) {
        let table = self.table(topic, &event.table);
        let batch = &mut self.decoded.batch;
        batch.events.push(ChangeEvent {
            op: event.op,
            table,
            before: event.before,
            after: event.after,
            origin: event.origin,
        });
        batch.coordinates.push(coordinate);
        batch.keys.push(event.key);
    }

    fn error(
        &mut self,
        fetched: &FetchedRecords,
        offset: i64,
        cause: Error,
        transform: Option<&'static str>,
    ) {
        let (topic, partition) = (&fetched.topic, fetched.partition);
        let what = if transform.is_some() { "transform" } else { "decode" };
        let message = format!("{what} record {topic}-{partition}@{offset}");
        let mut error = Error::new(cause.kind(), message);
        if let Some(remedy) = cause.remedy() {
            error = error.with_remedy(remedy.to_owned());
        }
        let error = error.with_source(cause);
        let topic = Arc::clone(topic);
        self.decoded.errors.push(DecodeError { topic, partition, offset, error, transform });
    }
}
