//! What a task tells about its tables while it works, without locks on the hot path.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering},
    },
};

/// A table's state as users see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TableState {
    /// Known, nothing done yet.
    Pending = 0,
    /// Its snapshot is running.
    Snapshotting = 1,
    /// Its changes flow.
    Streaming = 2,
    /// Paused by a person.
    Paused = 3,
    /// Stopped by an error; see the message.
    Failed = 4,
}

impl TableState {
    /// The word in API answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Snapshotting => "SNAPSHOTTING",
            Self::Streaming => "STREAMING",
            Self::Paused => "PAUSED",
            Self::Failed => "FAILED",
        }
    }

    fn from_u8(number: u8) -> Self {
        match number {
            1 => Self::Snapshotting,
            2 => Self::Streaming,
            3 => Self::Paused,
            4 => Self::Failed,
            _ => Self::Pending,
        }
    }
}

/// One table's counters. Cheap to bump from the hot path.
#[derive(Debug, Default)]
pub struct TableProgress {
    state: AtomicU8,
    /// Rows the snapshot has read so far.
    pub snapshot_rows: AtomicU64,
    /// Rows the snapshot expects (an estimate), or 0: not known.
    pub snapshot_rows_expected: AtomicU64,
    /// Chunks done and expected, packed by the setter below.
    pub snapshot_chunks: AtomicU64,
    /// How many chunks the snapshot has.
    pub snapshot_chunks_expected: AtomicU64,
    /// Inserts, updates, deletes and other changes streamed (source) or written (sink).
    pub events: AtomicU64,
    /// Bytes of the rows.
    pub bytes: AtomicU64,
    /// Rows that could not be processed and went to the dead letters.
    pub errors: AtomicU64,
    /// Source time of the last event. Units: ms since the Unix epoch; 0: none yet.
    pub last_event_ms: AtomicI64,
    message: Mutex<Option<String>>,
}

impl TableProgress {
    /// The state.
    #[must_use]
    pub fn state(&self) -> TableState {
        TableState::from_u8(self.state.load(Ordering::Relaxed))
    }

    /// Sets the state.
    pub fn set_state(&self, state: TableState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// Sets the state to failed, with the cause.
    pub fn fail(&self, message: impl Into<String>) {
        self.set_message(Some(message.into()));
        self.set_state(TableState::Failed);
    }

    /// A warning or the cause of a failure, for people.
    pub fn set_message(&self, message: Option<String>) {
        *self.message.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = message;
    }

    /// The warning or cause of failure.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        self.message.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

/// A task's report: its tables, and gauges of the source or target as a whole.
#[derive(Debug, Default)]
pub struct Progress {
    tables: Mutex<BTreeMap<String, Arc<TableProgress>>>,
    gauges: Mutex<BTreeMap<&'static str, Arc<AtomicI64>>>,
    notes: Mutex<BTreeMap<&'static str, String>>,
}

impl Progress {
    /// The table's counters, made at the first call. Keep the handle; do not look up per event.
    #[must_use]
    pub fn table(&self, name: &str) -> Arc<TableProgress> {
        let mut tables = self.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Arc::clone(tables.entry(name.to_owned()).or_default())
    }

    /// All tables, by name.
    #[must_use]
    pub fn tables(&self) -> Vec<(String, Arc<TableProgress>)> {
        let tables = self.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tables.iter().map(|(name, table)| (name.clone(), Arc::clone(table))).collect()
    }

    /// A gauge by its metric name without the `lattice_` prefix, for example
    /// `source_retained_wal_bytes`, `source_behind_ms`. Keep the handle.
    #[must_use]
    pub fn gauge(&self, name: &'static str) -> Arc<AtomicI64> {
        let mut gauges = self.gauges.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Arc::clone(gauges.entry(name).or_default())
    }

    /// All gauges.
    #[must_use]
    pub fn gauges(&self) -> Vec<(&'static str, i64)> {
        let gauges = self.gauges.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        gauges.iter().map(|(name, gauge)| (*name, gauge.load(Ordering::Relaxed))).collect()
    }

    /// Sets or clears a standing remark for people, by topic: `reconnecting`, `slot`, `warning`.
    pub fn note(&self, topic: &'static str, text: Option<String>) {
        let mut notes = self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match text {
            Some(text) => notes.insert(topic, text),
            None => notes.remove(topic),
        };
    }

    /// The standing remarks.
    #[must_use]
    pub fn notes(&self) -> Vec<(&'static str, String)> {
        let notes = self.notes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        notes.iter().map(|(topic, text)| (*topic, text.clone())).collect()
    }
}
