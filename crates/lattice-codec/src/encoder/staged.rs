//! Records on their way through transformations: applied and their schemas registered while a
//! batch is prepared, written afterwards.

use std::{collections::HashMap, sync::Arc};

use lattice_core::{
    error::{Error, Result},
    event::SourceBatch,
    record::{Header, RecordRef, RecordSink},
    schema::{Schema, Type},
    value::Value,
};
use lattice_registry::SchemaRegistry;
use lattice_transform::{Chain, Datum, Record};

use super::{
    EncodeError,
    plan::{Maker, Side},
    rows::Clock,
    unfolded::{Scene, Unfolder, notice},
};
use crate::{
    options::{ConverterConfig, EncoderOptions},
    writer::Writer,
};

/// More writers than these are made anew when they are needed.
const REMEMBERED: usize = 4096;

/// The way through transformations.
pub(super) struct Staging {
    chain: Chain,
    unfolder: Unfolder,
    writers: Writers,
    staged: Vec<Staged>,
    clock: Clock,
}

/// A record that waits to be written, or why there is none.
struct Staged {
    event: usize,
    record: Result<Record, (Option<&'static str>, Error)>,
}

impl Staging {
    pub(super) fn new(chain: Chain) -> Self {
        Self {
            chain,
            unfolder: Unfolder::default(),
            writers: Writers::default(),
            staged: Vec::new(),
            clock: Clock::now(),
        }
    }

    /// Transforms a batch's records and registers their schemas.
    ///
    /// Errors: `Schema`; the registry's own.
    pub(super) async fn prepare(
        &mut self,
        options: &EncoderOptions,
        registry: &Arc<dyn SchemaRegistry>,
        batch: &SourceBatch,
    ) -> Result<()> {
        self.staged.clear();
        self.clock = Clock::now();
        let scene = Scene { options, batch, clock: self.clock };
        self.unfolder.learn(&scene)?;
        self.stage(&scene);
        self.writers.forget_if_many();
        for staged in &self.staged {
            if let Ok(record) = &staged.record {
                self.writers.learn(options, registry, record).await?;
            }
        }
        Ok(())
    }

    fn stage(&mut self, scene: &Scene<'_>) {
        let mut notices = scene.batch.notices.iter().peekable();
        for (index, event) in scene.batch.events.iter().enumerate() {
            while let Some(next) = notices.next_if(|notice| notice.before_event <= index) {
                self.apply(index, notice(scene.options, next));
            }
            match self.unfolder.event(scene, event) {
                Ok(records) => records.into_iter().for_each(|record| self.apply(index, record)),
                Err(error) => {
                    self.staged.push(Staged { event: index, record: Err((None, error)) });
                }
            }
        }
        for next in notices {
            self.apply(scene.batch.events.len(), notice(scene.options, next));
        }
    }

    fn apply(&mut self, event: usize, record: Record) {
        let record = match self.chain.apply(record) {
            Ok(Some(record)) => Ok(record),
            Ok(None) => return,
            Err(failed) => Err((Some(failed.class), failed.error)),
        };
        self.staged.push(Staged { event, record });
    }

    /// Writes what was prepared, from an event on.
    ///
    /// Errors: the first event of which a record cannot be written; its other records are.
    pub(super) fn write(
        &mut self,
        from_event: usize,
        out: &mut dyn RecordSink,
    ) -> Result<(), EncodeError> {
        let mut failed: Option<EncodeError> = None;
        let mut staged = std::mem::take(&mut self.staged).into_iter().peekable();
        while let Some(Staged { event, record }) =
            staged.next_if(|next| failed.as_ref().is_none_or(|failed| next.event <= failed.event))
        {
            if event < from_event {
                continue;
            }
            let written = match record {
                Ok(record) => {
                    self.writers.write(&record, self.clock, out).map_err(|error| (None, error))
                }
                Err(error) => Err(error),
            };
            if let Err((transform, error)) = written {
                failed.get_or_insert(EncodeError { event, error, transform });
            }
        }
        // What follows is written by the next call.
        self.staged = staged.collect();
        failed.map_or(Ok(()), Err)
    }
}

/// Writers of schemas, by side and topic.
#[derive(Default)]
struct Writers {
    known: HashMap<(Side, Arc<str>), BySchema>,
    count: usize,
}

/// Writers of one side of a topic's records.
type BySchema = Vec<(Arc<Schema>, Written)>;

/// How values of one schema are written.
struct Written {
    writer: Writer,
    /// NULL becomes bytes too and not a null record part.
    writes_null: bool,
}

impl Writers {
    fn forget_if_many(&mut self) {
        if self.count > REMEMBERED {
            *self = Self::default();
        }
    }

    fn find(&self, side: Side, topic: &Arc<str>, schema: &Arc<Schema>) -> Option<&Written> {
        let known = self.known.get(&(side, Arc::clone(topic)))?;
        let same = known.iter().find(|(known, _)| Arc::ptr_eq(known, schema));
        let found = same.or_else(|| known.iter().find(|(known, _)| known == schema))?;
        Some(&found.1)
    }

    /// Makes the writers that a record needs.
    async fn learn(
        &mut self,
        options: &EncoderOptions,
        registry: &Arc<dyn SchemaRegistry>,
        record: &Record,
    ) -> Result<()> {
        let headers = record.headers.iter().map(|header| (Side::Header, &header.datum));
        let sides = [(Side::Key, &record.key), (Side::Value, &record.value)];
        for (side, datum) in sides.into_iter().chain(headers) {
            let Some(schema) = schema_of(datum) else { continue };
            if self.find(side, &record.topic, &schema).is_some() {
                continue;
            }
            let maker = Maker { options, topic: &record.topic, registry };
            let json = |form: ConverterConfig| matches!(form, ConverterConfig::Json { .. });
            let writes_null = match side {
                Side::Key => json(options.key),
                Side::Value => json(options.value),
                Side::Header => json(options.header),
            };
            let written = Written { writer: maker.writer(&schema, side).await?, writes_null };
            let place = (side, Arc::clone(&record.topic));
            self.known.entry(place).or_default().push((schema, written));
            self.count += 1;
        }
        Ok(())
    }

    /// The bytes of one part of a record; `None`: null.
    fn bytes(&self, side: Side, topic: &Arc<str>, datum: &Datum) -> Result<Option<Vec<u8>>> {
        let Some(schema) = schema_of(datum) else { return Ok(None) };
        let Some(written) = self.find(side, topic, &schema) else {
            return Err(Error::fatal("a record whose schema was not prepared"));
        };
        if datum.is_null() && !written.writes_null {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        written.writer.write(&datum.value, &mut bytes).map_err(|fault| {
            Error::data(format!("encode a record of topic \"{topic}\": {}", fault.reason))
                .with_remedy(
                    "see which transformation gives a value that its schema does not allow",
                )
        })?;
        Ok(Some(bytes))
    }

    fn write(&self, record: &Record, clock: Clock, out: &mut dyn RecordSink) -> Result<()> {
        let topic = &record.topic;
        let key = self.bytes(Side::Key, topic, &record.key)?;
        let value = self.bytes(Side::Value, topic, &record.value)?;
        let mut headers = Vec::with_capacity(record.headers.len());
        for header in &record.headers {
            headers.push((&*header.name, self.bytes(Side::Header, topic, &header.datum)?));
        }
        let headers: Vec<Header<'_>> =
            headers.iter().map(|(name, bytes)| (*name, bytes.as_deref())).collect();
        let handle = out.topic(topic);
        let encoded = RecordRef {
            key: key.as_deref(),
            value: value.as_deref(),
            headers: &headers,
            timestamp_ms: record.timestamp_ms.unwrap_or_else(|| clock.ms()),
        };
        out.append(handle, record.partition, encoded);
        Ok(())
    }
}

/// The schema of a value; one that has none gets that of its form.
fn schema_of(datum: &Datum) -> Option<Arc<Schema>> {
    if let Some(schema) = &datum.schema {
        return Some(Arc::clone(schema));
    }
    let kind = match &datum.value {
        Value::Null | Value::Missing | Value::Unchanged => return None,
        Value::Bool(_) => Type::Boolean,
        Value::Int(_) => Type::Int64,
        Value::Float32(_) => Type::Float32,
        Value::Float64(_) => Type::Float64,
        Value::Bytes(_) => Type::Bytes,
        _ => Type::String,
    };
    Some(Arc::new(Schema::new(kind).optional()))
}
