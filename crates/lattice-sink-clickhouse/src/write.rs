//! Takes events for all tables of a task, and gives what is gathered to be written.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use lattice_core::{
    error::Result,
    event::{EventBatch, Op, TableSchema},
    progress::{Progress, TableProgress},
};

use crate::{
    client::Client,
    config::Settings,
    encode::rows::Sealed,
    profile::Profile,
    table::{Range, Table},
    target::Target,
};

/// The latency is widened up to here while the server has too many parts.
const WIDEST_LATENCY_MS: u64 = 30_000;

/// Everything that writing needs besides the rows.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) settings: Arc<Settings>,
    pub(crate) profile: Profile,
    pub(crate) progress: Arc<Progress>,
    /// Names the staging tables of this task.
    pub(crate) task: String,
    /// How long rows wait for others now. Units: ms.
    pub(crate) latency_ms: AtomicU64,
}

impl Context {
    /// The server has too many parts: it gets fewer and larger inserts.
    pub(crate) fn widen(&self) {
        let now = self.latency_ms.load(Ordering::Relaxed);
        self.set_latency(now.saturating_mul(2).min(WIDEST_LATENCY_MS));
    }

    /// The server has taken an insert: back to the latency that is wished, in steps, so that the
    /// one that the server can keep up with is found.
    pub(crate) fn narrow(&self) {
        let wished = u64::try_from(self.settings.latency.as_millis()).unwrap_or(u64::MAX);
        let now = self.latency_ms.load(Ordering::Relaxed);
        if now > wished {
            self.set_latency((now - now / 4).max(wished));
        }
    }

    fn set_latency(&self, ms: u64) {
        self.latency_ms.store(ms, Ordering::Relaxed);
        let gauge = self.progress.gauge("sink_batch_latency_ms");
        gauge.store(i64::try_from(ms).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
}

/// What is written to one table.
pub(crate) struct Load {
    pub(crate) topic: Arc<str>,
    pub(crate) table: String,
    /// The table as its rows were made for it; `None`: there is none, and nothing to write.
    pub(crate) target: Option<Arc<Target>>,
    pub(crate) sealed: Sealed,
    pub(crate) events: u64,
    pub(crate) last_ms: i64,
    pub(crate) progress: Arc<TableProgress>,
}

/// All tables of a task.
pub(crate) struct Writer {
    context: Arc<Context>,
    tables: Vec<Table>,
    by_topic: HashMap<Arc<str>, usize>,
}

/// What a batch needs of each topic before its rows are taken.
#[derive(Default)]
struct Needs<'b> {
    /// Structures, and whether whole rows have them.
    structures: Vec<(&'b Arc<TableSchema>, bool)>,
    ranges: Vec<Range>,
    enveloped: bool,
}

impl Writer {
    /// A writer that knows no table yet.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, tables: Vec::new(), by_topic: HashMap::new() }
    }

    /// Makes and evolves tables for a batch. Gives the table of each of its topics, for
    /// [`Writer::take`].
    ///
    /// Errors: `Transient`, `Auth`, `Config`, `Schema`.
    pub(crate) async fn prepare(&mut self, batch: &EventBatch) -> Result<Vec<usize>> {
        let context = Arc::clone(&self.context);
        let mut slots = Vec::with_capacity(batch.topics.len());
        for (topic, needs) in batch.topics.iter().zip(needs(batch)) {
            // Transformed records went to another topic's table.
            if needs.ranges.is_empty() {
                slots.push(usize::MAX);
                continue;
            }
            let slot = match self.by_topic.get(topic) {
                Some(slot) => *slot,
                None => {
                    self.tables.push(Table::read(&context, topic).await?);
                    self.by_topic.insert(Arc::clone(topic), self.tables.len() - 1);
                    self.tables.len() - 1
                }
            };
            slots.push(slot);
            let Some(table) = self.tables.get_mut(slot) else { continue };
            if needs.enveloped {
                table.note_envelope();
            }
            table.prepare_all(&context, &needs.structures).await?;
            table.forget_present();
            for range in &needs.ranges {
                table.find_present(&context, range).await?;
            }
        }
        Ok(slots)
    }

    /// Takes the events of a batch; `slots`: what [`Writer::prepare`] gave for it. Only CPU.
    pub(crate) fn take(&mut self, batch: &EventBatch, slots: &[usize]) {
        let mut values = Vec::new();
        for (at, event) in batch.events.iter().enumerate() {
            let slot = batch.target(event).and_then(|topic| slots.get(topic as usize));
            if let Some(table) = slot.and_then(|slot| self.tables.get_mut(*slot)) {
                table.take(batch, at, &mut values);
            }
        }
    }

    /// Rows and bytes that are gathered.
    pub(crate) fn gathered(&self) -> (usize, usize) {
        let sum = |sum: (usize, usize), table: &Table| {
            let (rows, bytes) = table.gathered();
            (sum.0 + rows, sum.1 + bytes)
        };
        self.tables.iter().fold((0, 0), sum)
    }

    /// What is gathered; afterwards nothing is.
    pub(crate) fn seal(&mut self) -> Vec<Load> {
        self.tables.iter_mut().filter_map(Table::seal).collect()
    }
}

/// What the events of each topic need.
fn needs(batch: &EventBatch) -> Vec<Needs<'_>> {
    let mut all: Vec<Needs<'_>> = batch.topics.iter().map(|_| Needs::default()).collect();
    let mut rows = vec![false; batch.tables.len()];
    for (at, (event, coordinate)) in batch.events.iter().zip(&batch.coordinates).enumerate() {
        let target = batch.target(event).and_then(|topic| all.get_mut(topic as usize));
        let Some(needs) = target else { continue };
        needs.enveloped |= event.origin.lsn.is_some();
        needs.note(coordinate.partition, coordinate.offset);
        let key = match event.op {
            Op::Read | Op::Create | Op::Update => None,
            Op::Delete | Op::Tombstone => batch.keys.get(at).and_then(Option::as_ref),
            Op::Truncate | Op::Message => continue,
        };
        match (key, rows.get_mut(event.table as usize)) {
            (Some(key), _) => {
                if !needs.structures.iter().any(|(known, _)| known.uid == key.uid) {
                    needs.structures.push((key, false));
                }
            }
            (None, Some(row)) => *row = true,
            (None, None) => {}
        }
    }
    // Rows first: they make the table that a key alone cannot.
    for ((topic, table), row) in batch.tables.iter().zip(rows) {
        if let (true, Some(needs)) = (row, all.get_mut(*topic as usize)) {
            needs.structures.insert(0, (table, true));
        }
    }
    all
}

impl Needs<'_> {
    fn note(&mut self, partition: i32, offset: i64) {
        match self.ranges.last_mut().filter(|range| range.partition == partition) {
            Some(range) => range.last = range.last.max(offset),
            None => match self.ranges.iter_mut().find(|range| range.partition == partition) {
                Some(range) => range.last = range.last.max(offset),
                None => self.ranges.push(Range { partition, first: offset, last: offset }),
            },
        }
    }
}
