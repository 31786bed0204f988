//! From messages to events: transactions, positions, tables. Holds no socket and no row.

mod chunks;
mod messages;

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicI64, atomic::Ordering},
};

use bytes::Bytes;
use lattice_core::{
    Error, ErrorKind, Result,
    connector::TaskContext,
    event::{ChangeEvent, Notice, Op, Origin, SourceBatch, SourceInfo, Span, TableId, TableSchema},
    position::Position,
    progress::{Progress, TableProgress, TableState},
};

use super::{
    report::{POSTGRES_EPOCH_US, now_us},
    reselect::Missing,
};
use crate::{
    config::{Settings, filter::PatternList},
    incremental::Incremental,
    position::{Offset, partition},
    protocol::pgoutput::{Message, Relation, Tuple},
    row::NoColumns,
    tables::Tables,
};

/// The prefix of our own logical messages, which keep idle slots moving.
pub(crate) const HEARTBEAT_PREFIX: &str = "lattice-heartbeat";

/// What is to be done before the next message.
pub(super) enum Step {
    /// Nothing.
    Done,
    /// Look up a table's structure.
    Relation(Relation),
    /// Select what the last event's row lacks.
    Missing(Missing),
    /// Take what the incremental snapshot has read.
    Answer,
}

struct Captured {
    schema: Arc<TableSchema>,
    progress: Arc<TableProgress>,
    relation: Relation,
}

/// The transaction whose messages come.
#[derive(Default)]
struct Transaction {
    open: bool,
    commit_lsn: u64,
    /// Messages so far.
    row: u64,
    /// How many of them were delivered before the restart.
    skip: u64,
    origin: Origin,
}

pub(super) struct Assembler {
    tables: Tables,
    messages: PatternList,
    info: Arc<dyn SourceInfo>,
    prefix: Arc<str>,
    progress: Arc<Progress>,
    behind_ms: Arc<AtomicI64>,
    max_events: usize,
    /// By relation OID; `None`: not captured.
    relations: HashMap<u32, Option<Captured>>,
    transaction: Transaction,
    offset: Offset,
    /// The last real commit, for `source.sequence`.
    last_commit: Option<u64>,
    moved: bool,
    events: Vec<ChangeEvent>,
    notices: Vec<Notice>,
    batch_tables: Vec<Arc<TableSchema>>,
    /// Relation OID and index in `batch_tables`, with the batch's counts.
    batch_index: Vec<(u32, u64, u64)>,
    message_table: Arc<TableSchema>,
    incremental: Incremental,
    signals: Option<String>,
    /// The table of signals.
    signal_relation: Option<u32>,
}

/// Stands for the table of logical messages among relation OIDs, of which none is zero.
const MESSAGE_OID: u32 = 0;

impl Assembler {
    pub(super) fn new(
        settings: &Settings,
        tables: Tables,
        offset: Offset,
        info: Arc<dyn SourceInfo>,
        context: &TaskContext,
        incremental: Incremental,
    ) -> Self {
        let id = TableId {
            database: settings.target.database.as_str().into(),
            schema: "".into(),
            table: "".into(),
        };
        Self {
            tables,
            messages: settings.messages.clone(),
            info,
            prefix: settings.prefix.as_str().into(),
            progress: Arc::clone(&context.progress),
            behind_ms: context.progress.gauge("source_behind_ms"),
            max_events: settings.max_batch,
            relations: HashMap::new(),
            transaction: Transaction::default(),
            // Behind a snapshot there was no commit yet: its position is the slot's.
            last_commit: offset.tx_id.and(offset.commit_lsn),
            offset,
            moved: false,
            events: Vec::new(),
            notices: Vec::new(),
            batch_tables: Vec::new(),
            batch_index: Vec::new(),
            message_table: Arc::new(TableSchema::new(
                id,
                Vec::new(),
                Vec::new(),
                Arc::new(NoColumns),
            )),
            incremental,
            signals: settings.signals.clone(),
            signal_relation: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= self.max_events
    }

    /// How long ago the last event was committed. Units: µs.
    pub(super) fn behind_us(&self) -> i64 {
        self.events.last().map_or(0, |event| now_us() - event.origin.ts_us)
    }

    pub(super) fn has_moved(&self) -> bool {
        self.moved
    }

    pub(super) fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Everything before `wal_end` was sent. Outside a transaction that is a place to resume at.
    pub(super) fn keep_alive(&mut self, wal_end: u64) {
        if !self.transaction.open && self.offset.commit_lsn.is_none_or(|lsn| lsn < wal_end) {
            self.offset.commit_lsn = Some(wal_end);
            self.moved = true;
        }
        if self.events.is_empty() {
            self.behind_ms.store(0, Ordering::Relaxed);
        }
    }

    /// Takes a message in. `base`: where `payload` stands in the buffer.
    pub(super) fn apply(
        &mut self,
        message: Message<'_>,
        payload: &[u8],
        base: usize,
        lsn: u64,
    ) -> Result<Step> {
        match message {
            Message::Insert { relation, new } => {
                if self.row(relation, Op::Create, None, Some(new), base, lsn)? {
                    self.note(relation, payload, None, Some(new));
                    if self.signal_relation == Some(relation) {
                        self.signal(payload, new);
                    }
                }
            }
            Message::Update { relation, old, new } => {
                let told = self.row(relation, Op::Update, old, Some(new), base, lsn)?;
                if told {
                    self.note(relation, payload, old, Some(new));
                }
                if let (Some(old), true) = (old, told)
                    && let Some(missing) = self.missing(relation, old, new, payload)
                {
                    return Ok(Step::Missing(missing));
                }
            }
            Message::Delete { relation, old } => {
                if self.row(relation, Op::Delete, Some(old), None, base, lsn)? {
                    self.note(relation, payload, Some(old), None);
                }
            }
            Message::Begin { final_lsn, commit_us, xid } => self.begin(final_lsn, commit_us, xid),
            Message::Commit { end_lsn, .. } => self.commit(end_lsn),
            Message::Relation(relation) => return Ok(Step::Relation(relation)),
            Message::Truncate { relations, .. } => self.truncate(&relations, lsn)?,
            Message::Message { transactional, prefix, content, .. } => {
                if self.message(transactional, prefix, content, payload, base, lsn)? {
                    return Ok(Step::Answer);
                }
            }
            Message::Origin { name, .. } => {
                self.transaction.origin.extra = Some(name.into());
            }
            Message::Type { .. } => {}
            Message::StreamStart { .. }
            | Message::StreamStop
            | Message::StreamCommit { .. }
            | Message::StreamAbort { .. }
            | Message::TwoPhase(_) => {
                return Err(Error::fatal(
                    "the server sent a transaction in pieces though it was not asked to",
                ));
            }
        }
        Ok(Step::Done)
    }

    /// Learns a table's structure.
    pub(super) async fn learn(&mut self, relation: Relation) -> Result<()> {
        let oid = relation.oid;
        // The batch's index points to the former structure.
        if let Some(entry) = self.batch_index.iter_mut().find(|entry| entry.0 == oid) {
            entry.0 = u32::MAX;
        }
        self.incremental.disturb();
        self.await_transaction().await?;
        let schema = self.tables.of_relation(&relation).await?;
        let signals = schema.as_ref().is_some_and(|schema| {
            self.signals.as_ref().is_some_and(|signals| *signals == schema.id.to_string())
        });
        if signals {
            self.signal_relation = Some(oid);
        }
        let captured = schema.map(|schema| {
            let progress = self.progress.table(&schema.id.to_string());
            progress.set_state(TableState::Streaming);
            Captured { schema, progress, relation }
        });
        self.relations.insert(oid, captured);
        Ok(())
    }

    fn missing(&self, relation: u32, old: Tuple, new: Tuple, payload: &[u8]) -> Option<Missing> {
        let captured = self.relations.get(&relation)?.as_ref()?;
        let (old, new) = (payload.get(old.start..old.end)?, payload.get(new.start..new.end)?);
        Missing::of(&captured.relation, old, new)
    }

    /// Waits until look-ups see what the current transaction did.
    async fn await_transaction(&mut self) -> Result<()> {
        match self.offset.tx_id.filter(|_| self.transaction.open) {
            Some(xid) => self.tables.await_visible(xid).await,
            None => Ok(()),
        }
    }

    /// Selects what a row lacks and gives the whole row; `None`: it is not there any more.
    pub(super) async fn complete(&mut self, missing: &Missing) -> Result<Option<Vec<u8>>> {
        self.await_transaction().await?;
        match self.tables.select(&missing.sql).await {
            Ok(row) => Ok(row.and_then(|row| missing.complete(&row))),
            Err(error) if error.kind() == ErrorKind::Transient => Err(error),
            Err(error) => {
                // Its table was altered or dropped since.
                tracing::warn!(error = error.chain(), "a large value could not be selected");
                Ok(None)
            }
        }
    }

    /// The last event's row is this one.
    pub(super) fn replace_row(&mut self, start: usize, end: usize) -> Result<()> {
        if let Some(event) = self.events.last_mut() {
            event.after = Some(span(Tuple { start, end }, 0)?);
        }
        Ok(())
    }

    fn begin(&mut self, final_lsn: u64, commit_us: i64, xid: u32) {
        let skip = match self.offset.partial.take() {
            Some((lsn, row)) if lsn == final_lsn => row,
            Some((lsn, row)) => {
                tracing::warn!(
                    lsn,
                    row,
                    "the transaction that was done in part did not come again"
                );
                0
            }
            None => 0,
        };
        let ts_us = commit_us.saturating_add(POSTGRES_EPOCH_US);
        self.transaction = Transaction {
            open: true,
            commit_lsn: final_lsn,
            row: 0,
            skip,
            origin: Origin {
                ts_us,
                tx_id: Some(u64::from(xid)),
                last_commit_lsn: self.last_commit,
                ..Origin::default()
            },
        };
        self.offset.tx_id = Some(xid);
        self.offset.ts_us = Some(ts_us);
    }

    fn commit(&mut self, end_lsn: u64) {
        self.transaction.open = false;
        self.offset.commit_lsn = Some(end_lsn);
        self.offset.lsn = Some(end_lsn);
        self.offset.message_type = Some("COMMIT");
        self.last_commit = Some(end_lsn);
        self.moved = true;
        if let Some(xid) = self.offset.tx_id {
            self.incremental.committed(xid);
        }
    }

    /// Behind everything so far.
    fn position(&self) -> Position {
        let mut offset = self.offset.clone();
        offset.incremental = self.incremental.progress().cloned();
        if self.transaction.open {
            let row = self.transaction.row.max(self.transaction.skip);
            offset.partial = Some((self.transaction.commit_lsn, row));
        }
        Position { partition: partition(&self.prefix), offset: offset.to_map() }
    }

    /// Counts a message of the transaction. False: it was delivered before the restart.
    fn count(&mut self, lsn: u64, kind: &'static str) -> bool {
        self.transaction.row += 1;
        self.offset.lsn = Some(lsn);
        self.offset.message_type = Some(kind);
        self.transaction.row > self.transaction.skip
    }

    /// False: it was delivered before, or its table is not captured.
    fn row(
        &mut self,
        relation: u32,
        op: Op,
        before: Option<Tuple>,
        after: Option<Tuple>,
        base: usize,
        lsn: u64,
    ) -> Result<bool> {
        let kind = match op {
            Op::Create => "INSERT",
            Op::Update => "UPDATE",
            _ => "DELETE",
        };
        if !self.count(lsn, kind) {
            return Ok(false);
        }
        let Some(table) = self.table(relation)? else { return Ok(false) };
        let before = before.map(|tuple| span(tuple, base)).transpose()?;
        let after = after.map(|tuple| span(tuple, base)).transpose()?;
        let bytes = before.map_or(0, |span| span.len) + after.map_or(0, |span| span.len);
        self.push(table, op, before, after, lsn, u64::from(bytes));
        Ok(true)
    }

    fn push(
        &mut self,
        table: u32,
        op: Op,
        before: Option<Span>,
        after: Option<Span>,
        lsn: u64,
        bytes: u64,
    ) {
        if let Some(entry) = self.batch_index.get_mut(table as usize) {
            entry.1 += 1;
            entry.2 += bytes;
        }
        let origin = Origin { lsn: Some(lsn), ..self.transaction.origin.clone() };
        self.events.push(ChangeEvent { op, table, before, after, origin });
    }

    /// The table's index in the batch; `None`: it is not captured.
    fn table(&mut self, relation: u32) -> Result<Option<u32>> {
        // Few tables are in a batch, and most rows are of the last one's.
        let known = self.batch_index.iter().rposition(|entry| entry.0 == relation);
        let index = match known {
            Some(index) => index,
            None if relation == MESSAGE_OID => {
                self.batch_tables.push(Arc::clone(&self.message_table));
                self.batch_index.push((MESSAGE_OID, 0, 0));
                self.batch_index.len() - 1
            }
            None => match self.relations.get(&relation) {
                Some(Some(captured)) => {
                    self.batch_tables.push(Arc::clone(&captured.schema));
                    self.batch_index.push((relation, 0, 0));
                    self.batch_index.len() - 1
                }
                Some(None) => return Ok(None),
                None => {
                    return Err(Error::fatal(format!(
                        "the server sent a row of table {relation} before its structure"
                    )));
                }
            },
        };
        u32::try_from(index).map(Some).map_err(|_| Error::fatal("too many tables in a batch"))
    }

    fn truncate(&mut self, relations: &[u32], lsn: u64) -> Result<()> {
        if !self.count(lsn, "TRUNCATE") {
            return Ok(());
        }
        self.incremental.disturb();
        for relation in relations {
            if let Some(table) = self.table(*relation)? {
                self.push(table, Op::Truncate, None, None, lsn, 0);
            }
        }
        Ok(())
    }

    /// The batch so far, whose rows lie in `data`.
    pub(super) fn take(&mut self, data: Bytes) -> SourceBatch {
        let position = self.position();
        self.report();
        self.moved = false;
        self.batch_index.clear();
        let capacity = self.events.len();
        let events = std::mem::replace(&mut self.events, Vec::with_capacity(capacity));
        SourceBatch {
            tables: std::mem::take(&mut self.batch_tables),
            data: if events.is_empty() { Bytes::new() } else { data },
            events,
            position,
            info: Arc::clone(&self.info),
            notices: std::mem::take(&mut self.notices),
        }
    }

    fn report(&self) {
        let Some(last) = self.events.last() else { return };
        let behind = (now_us() - last.origin.ts_us).max(0) / 1000;
        self.behind_ms.store(behind, Ordering::Relaxed);
        for (relation, events, bytes) in &self.batch_index {
            if let Some(Some(captured)) = self.relations.get(relation) {
                captured.progress.events.fetch_add(*events, Ordering::Relaxed);
                captured.progress.bytes.fetch_add(*bytes, Ordering::Relaxed);
                captured.progress.last_event_ms.store(last.origin.ts_us / 1000, Ordering::Relaxed);
            }
        }
    }
}

fn span(tuple: Tuple, base: usize) -> Result<Span> {
    let start = u32::try_from(base + tuple.start);
    let len = u32::try_from(tuple.end - tuple.start);
    match (start, len) {
        (Ok(start), Ok(len)) => Ok(Span { start, len }),
        _ => Err(Error::data("a row lies beyond 4 GiB in its batch")),
    }
}
