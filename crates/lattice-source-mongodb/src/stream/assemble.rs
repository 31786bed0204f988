//! Answers of the change stream → batches.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use lattice_core::{
    Error, Result,
    connector::TaskContext,
    event::{
        ChangeEvent, Notice, NoticeKind, Op, Origin, SnapshotMarker, SourceBatch, SourceInfo, Span,
        TableSchema,
    },
    position::Position,
    progress::{Progress, TableProgress, TableState},
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use super::event::{Event, merged};
use crate::{
    bson::json::{self, Mode, Style},
    config::Settings,
    fields::Below,
    info::MongoInfo,
    position::{Offset, partition},
    reply::Reply,
    row::{self, Kind},
};

/// How often the position is stored while nothing happens.
const IDLE: Duration = Duration::from_secs(2);

/// A collection that was met.
struct Captured {
    schema: Arc<TableSchema>,
    progress: Arc<TableProgress>,
    /// It was said that its changes come without the document before.
    told: bool,
}

/// A batch under construction.
#[derive(Default)]
struct Draft {
    tables: Vec<Arc<TableSchema>>,
    /// Place among the tables, and what is counted, of collections by their place in `known`.
    places: HashMap<usize, (u32, u64, u64)>,
    events: Vec<ChangeEvent>,
    /// Merged events, behind the answer's own bytes.
    extra: Vec<u8>,
}

/// Makes batches, and knows the position.
pub(super) struct Assembler {
    settings: Arc<Settings>,
    progress: Arc<Progress>,
    info: Arc<dyn SourceInfo>,
    wall_time: bool,
    behind_ms: Arc<AtomicI64>,
    offset: Offset,
    names: HashMap<(String, String), Option<usize>>,
    known: Vec<Captured>,
    /// The collection of the change before: most are of the same.
    last: (String, String, Option<usize>),
    /// Session of the last transaction: its BSON and its text.
    session: Option<(Vec<u8>, Arc<str>)>,
    fragments: Vec<Vec<u8>>,
    invalidated: bool,
    stored: Option<Instant>,
    beaten: Instant,
}

impl Assembler {
    pub(super) fn new(
        settings: &Arc<Settings>,
        wall_time: bool,
        context: &TaskContext,
        offset: Offset,
    ) -> Self {
        Self {
            settings: Arc::clone(settings),
            progress: Arc::clone(&context.progress),
            info: Arc::new(MongoInfo::new(&settings.prefix, wall_time)),
            wall_time,
            behind_ms: context.progress.gauge("source_behind_ms"),
            offset,
            names: HashMap::new(),
            known: Vec::new(),
            last: (String::new(), String::new(), None),
            session: None,
            fragments: Vec::new(),
            invalidated: false,
            stored: None,
            beaten: Instant::now(),
        }
    }

    pub(super) fn offset(&self) -> &Offset {
        &self.offset
    }

    pub(super) fn invalidated(&self) -> bool {
        self.invalidated
    }

    pub(super) fn reopened(&mut self) {
        self.invalidated = false;
    }

    /// A batch of an answer; `None`: nothing happened that is worth storing.
    pub(super) fn batch(&mut self, reply: Reply) -> Result<Option<SourceBatch>> {
        let mut draft = Draft::default();
        let mut moved = false;
        for span in &reply.documents {
            let bytes = span.of(&reply.data);
            moved |= self.event(bytes, *span, reply.data.len(), &mut draft)?;
        }
        // While an event is here in part only, one resumes before it.
        if self.fragments.is_empty()
            && !self.invalidated
            && let Some(token) = reply.token
            && self.offset.token.as_ref() != Some(&token)
        {
            self.offset.token = Some(token);
            moved = true;
        }
        let due = self.beat_due();
        let idle = draft.events.is_empty();
        if idle {
            self.behind_ms.store(0, Ordering::Relaxed);
            // The first position is stored at once: a start without one would begin at another now.
            let fresh = self.stored.is_some_and(|stored| !moved || stored.elapsed() < IDLE);
            if !due && !self.invalidated && fresh {
                return Ok(None);
            }
        }
        self.stored = Some(Instant::now());
        self.report(&draft);
        let data = match (idle, draft.extra.is_empty()) {
            (true, _) => Bytes::new(),
            (false, true) => reply.data,
            (false, false) => [&reply.data[..], &draft.extra].concat().into(),
        };
        let prefix = &self.settings.prefix;
        let notices = if due { vec![beat(prefix, draft.events.len())] } else { Vec::new() };
        Ok(Some(SourceBatch {
            tables: draft.tables,
            data,
            events: draft.events,
            position: Position { partition: partition(prefix), offset: self.offset.to_map() },
            info: Arc::clone(&self.info),
            notices,
        }))
    }

    /// Takes one event. True: the position moved.
    fn event(&mut self, bytes: &[u8], span: Span, base: usize, draft: &mut Draft) -> Result<bool> {
        let event = Event::read(bytes)?;
        if let Some((fragment, of)) = event.split.filter(|(_, of)| *of > 1) {
            if fragment == 1 {
                self.fragments.clear();
            }
            self.fragments.push(bytes.to_vec());
            if fragment < of {
                return Ok(false);
            }
            let whole = merged(&std::mem::take(&mut self.fragments))?;
            let start = u32::try_from(base + draft.extra.len());
            let (Ok(start), Ok(len)) = (start, u32::try_from(whole.len())) else {
                return Err(Error::data("changes beyond 4 GB in one answer"));
            };
            self.whole(&Event::read(&whole)?, Span { start, len }, draft)?;
            draft.extra.extend_from_slice(&whole);
        } else {
            self.whole(&event, span, draft)?;
        }
        Ok(true)
    }

    fn whole(&mut self, event: &Event<'_>, span: Span, draft: &mut Draft) -> Result<()> {
        let transaction = self.transaction(event)?;
        if let Some(op) =
            op(event.operation).filter(|op| !self.settings.skipped.contains(op.as_str()))
            && let Some(place) = self.captured(event.database, event.collection)
        {
            self.push(op, place, event, span, transaction.clone(), draft);
        } else {
            self.notable(event);
        }
        let token = event.token.map(<[u8]>::to_vec);
        self.offset = Offset {
            time: event.time.or(self.offset.time),
            token: token.or(self.offset.token.take()),
            transaction: transaction.map(|(session, number)| (session.to_string(), number)),
            snapshot: None,
            foreign_snapshot: false,
        };
        Ok(())
    }

    fn push(
        &mut self,
        op: Op,
        known: usize,
        event: &Event<'_>,
        span: Span,
        transaction: Option<(Arc<str>, i64)>,
        draft: &mut Draft,
    ) {
        let Some(captured) = self.known.get_mut(known) else { return };
        if self.settings.pre_image && op != Op::Create && !event.before && !captured.told {
            captured.told = true;
            captured.progress.set_message(Some(no_pre_image(event)));
        }
        let (place, count, size) = draft.places.entry(known).or_insert_with(|| {
            draft.tables.push(Arc::clone(&captured.schema));
            (u32::try_from(draft.tables.len() - 1).unwrap_or(u32::MAX), 0, 0)
        });
        *count += 1;
        *size += u64::from(span.len);
        let seconds = event.time.map_or(0, |time| i64::try_from(time >> 32).unwrap_or(0));
        let wall = event.wall_ms.filter(|_| self.wall_time);
        let (session, number) = transaction.unzip();
        let origin = Origin {
            ts_us: wall.map_or(seconds * 1_000_000, |ms| ms.saturating_mul(1000)),
            tx_id: number.map(i64::cast_unsigned),
            lsn: event.time,
            last_commit_lsn: None,
            snapshot: SnapshotMarker::False,
            extra: session,
        };
        draft.events.push(ChangeEvent {
            op,
            table: *place,
            before: None,
            after: Some(span),
            origin,
        });
    }

    /// Session text and number, if the change belongs to a transaction.
    fn transaction(&mut self, event: &Event<'_>) -> Result<Option<(Arc<str>, i64)>> {
        let (Some(session), Some(number)) = (event.session, event.number) else { return Ok(None) };
        if let Some((bytes, text)) = &self.session
            && bytes == session
        {
            return Ok(Some((Arc::clone(text), number)));
        }
        let mut out = String::new();
        let style = Style { mode: Mode::Strict, spaced: false };
        json::document(session, style, &Below::default(), &mut out)?;
        let text: Arc<str> = out.into();
        self.session = Some((session.to_vec(), Arc::clone(&text)));
        Ok(Some((text, number)))
    }

    /// The place of a captured collection among the known ones.
    fn captured(&mut self, database: &str, collection: &str) -> Option<usize> {
        if self.last.0 == database && self.last.1 == collection {
            return self.last.2;
        }
        let name = (database.to_owned(), collection.to_owned());
        let place = match self.names.get(&name) {
            Some(place) => *place,
            None => self.meet(&name),
        };
        self.last = (name.0, name.1, place);
        place
    }

    fn meet(&mut self, name: &(String, String)) -> Option<usize> {
        let (database, collection) = (name.0.as_str(), name.1.as_str());
        let place = self.settings.filter.allows(database, collection).then(|| {
            let progress = self.progress.table(&format!("{database}.{collection}"));
            progress.set_state(TableState::Streaming);
            let fields = self.settings.fields.of(database, collection);
            let serialization = self.settings.serialization;
            let schema = row::table((database, collection), Kind::Change, serialization, fields);
            self.known.push(Captured { schema: Arc::new(schema), progress, told: false });
            self.known.len() - 1
        });
        self.names.insert(name.clone(), place);
        place
    }

    /// What happened to a collection as a whole has no record, but must not pass unseen.
    fn notable(&mut self, event: &Event<'_>) {
        let filter = &self.settings.filter;
        let about_us = match event.operation {
            "drop" | "rename" => filter.allows(event.database, event.collection),
            "dropDatabase" => filter.allows_database(event.database),
            _ => true,
        };
        if !about_us {
            return;
        }
        let name = format!("{}.{}", event.database, event.collection);
        let text = match event.operation {
            "invalidate" => {
                self.invalidated = true;
                "what the change stream was opened on was dropped or renamed; it goes on behind that"
                    .to_owned()
            }
            "drop" => format!("collection {name} was dropped; its records stay as they are"),
            "rename" => {
                let part = |name| {
                    let to = event.to.and_then(|to| crate::bson::get(to, name));
                    to.and_then(crate::bson::Raw::as_str).unwrap_or("?")
                };
                format!(
                    "collection {name} was renamed to {}.{}; what is written to it from now on goes to \
                     that one's topic",
                    part("db"),
                    part("coll")
                )
            }
            "dropDatabase" => format!("database {} was dropped", event.database),
            _ => return,
        };
        tracing::warn!("{text}");
        self.progress.note("warning", Some(text));
    }

    fn report(&self, draft: &Draft) {
        let Some(last) = draft.events.last() else { return };
        let last_ms = last.origin.ts_us / 1000;
        self.behind_ms.store((now_us() / 1000 - last_ms).max(0), Ordering::Relaxed);
        for (known, (_, count, size)) in &draft.places {
            if let Some(captured) = self.known.get(*known) {
                captured.progress.events.fetch_add(*count, Ordering::Relaxed);
                captured.progress.bytes.fetch_add(*size, Ordering::Relaxed);
                captured.progress.last_event_ms.store(last_ms, Ordering::Relaxed);
            }
        }
    }

    fn beat_due(&mut self) -> bool {
        let interval = self.settings.heartbeat;
        let due = !interval.is_zero() && self.beaten.elapsed() >= interval;
        if due {
            self.beaten = Instant::now();
        }
        due
    }
}

fn op(operation: &str) -> Option<Op> {
    Some(match operation {
        "insert" => Op::Create,
        "update" | "replace" => Op::Update,
        "delete" => Op::Delete,
        _ => return None,
    })
}

fn no_pre_image(event: &Event<'_>) -> String {
    let (database, collection) = (event.database, event.collection);
    format!(
        "changes come without the document before; turn it on: db.getSiblingDB(\"{database}\")\
         .runCommand({{collMod: \"{collection}\", changeStreamPreAndPostImages: {{enabled: true}}}})"
    )
}

/// Units: µs since the Unix epoch.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// A heartbeat record.
fn beat(prefix: &str, before_event: usize) -> Notice {
    let block = |name: &str, field: &str, kind: Type| {
        let fields = vec![Field::new(field, Arc::new(Schema::new(kind)))];
        Arc::new(
            Schema { fields, ..Schema::new(Type::Struct) }
                .named(&format!("io.debezium.connector.common.{name}"), 1),
        )
    };
    let name = Value::Text(Text::owned(prefix.to_owned()));
    Notice {
        kind: NoticeKind::Heartbeat,
        before_event,
        key: (block("ServerNameKey", "serverName", Type::String), Value::Struct(vec![name])),
        value: (
            block("Heartbeat", "ts_ms", Type::Int64),
            Value::Struct(vec![Value::Int(now_us() / 1000)]),
        ),
    }
}
