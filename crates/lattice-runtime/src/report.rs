//! What a running task shows of itself: state, counters, rates, lag.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use lattice_core::progress::{Progress, TableProgress};
use lattice_log::TopicPartition;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::model::{State, TableSnapshot, TaskSnapshot, TaskStatus};

/// Rates are means over this many seconds: long enough to be steady, short enough to be live.
const WINDOW: Duration = Duration::from_secs(10);

/// `behind_ms` before anything is known.
const UNKNOWN: i64 = i64::MIN;

/// A task's report, shared between the task and whoever asks.
pub(crate) struct Report {
    pub(crate) id: u32,
    pub(crate) progress: Arc<Progress>,
    pub(crate) dead_letters: AtomicU64,
    pub(crate) retries: AtomicU64,
    /// Set by a person; the task obeys.
    pub(crate) pause: watch::Sender<bool>,
    /// Ends the task gracefully.
    pub(crate) cancel: CancellationToken,
    events: AtomicU64,
    bytes: AtomicU64,
    /// Goes up whenever something became durable: the retry policy's sign of health.
    pulse: AtomicU64,
    behind_ms: AtomicI64,
    status: Mutex<(State, Option<String>)>,
    window: Mutex<VecDeque<(Instant, u64, u64)>>,
    delivered: Mutex<BTreeMap<TopicPartition, Delivered>>,
    changed: watch::Sender<u64>,
}

/// How far a sink has come in a partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivered {
    /// The next offset to deliver.
    pub(crate) next: i64,
    /// When the last delivered record was made. Units: ms since the Unix epoch; 0: none yet.
    pub(crate) timestamp_ms: i64,
}

impl Report {
    pub(crate) fn new(id: u32, paused: bool, changed: watch::Sender<u64>) -> Self {
        Self {
            id,
            progress: Arc::default(),
            dead_letters: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            pause: watch::Sender::new(paused),
            cancel: CancellationToken::new(),
            events: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            pulse: AtomicU64::new(0),
            behind_ms: AtomicI64::new(UNKNOWN),
            status: Mutex::new((State::Unassigned, None)),
            window: Mutex::default(),
            delivered: Mutex::default(),
            changed,
        }
    }

    pub(crate) fn set_state(&self, state: State, trace: Option<String>) {
        {
            let mut status = lock(&self.status);
            if *status == (state, trace.clone()) {
                return;
            }
            *status = (state, trace);
        }
        self.changed.send_modify(|version| *version += 1);
    }

    pub(crate) fn note(&self, subject: &'static str, text: Option<String>) {
        self.progress.note(subject, text);
        self.changed.send_modify(|version| *version += 1);
    }

    pub(crate) fn status(&self, worker_id: &str) -> TaskStatus {
        let (state, trace) = lock(&self.status).clone();
        TaskStatus { id: self.id, state, worker_id: worker_id.to_owned(), trace }
    }

    /// Something became durable.
    pub(crate) fn durable(&self, events: u64, bytes: u64) {
        self.events.fetch_add(events, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.pulse.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn pulse(&self) -> u64 {
        self.pulse.load(Ordering::Relaxed)
    }

    pub(crate) fn set_behind_ms(&self, behind_ms: i64) {
        self.behind_ms.store(behind_ms.max(0), Ordering::Relaxed);
    }

    /// The partitions a sink task has, with the offsets it starts from.
    pub(crate) fn assign(&self, positions: &BTreeMap<TopicPartition, i64>) {
        let mut delivered = lock(&self.delivered);
        delivered.retain(|partition, _| positions.contains_key(partition));
        for (partition, next) in positions {
            let start = Delivered { next: *next, timestamp_ms: 0 };
            delivered.entry(partition.clone()).or_insert(start);
        }
    }

    /// How far a sink task has come.
    pub(crate) fn delivered(&self, partition: &TopicPartition, now: Delivered) {
        if let Some(delivered) = lock(&self.delivered).get_mut(partition) {
            *delivered = now;
        }
    }

    /// Takes a sample for the rates; called about once a second.
    pub(crate) fn sample(&self, now: Instant) {
        let mut window = lock(&self.window);
        window.push_back((
            now,
            self.events.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        ));
        while window.front().is_some_and(|(at, ..)| now.duration_since(*at) > WINDOW) {
            window.pop_front();
        }
    }

    #[allow(clippy::cast_precision_loss)] // rates for people
    fn rates(&self) -> (f64, f64) {
        let window = lock(&self.window);
        let Some((since, events, bytes)) = window.front().copied() else { return (0.0, 0.0) };
        let seconds = since.elapsed().as_secs_f64();
        if seconds < 0.2 {
            return (0.0, 0.0);
        }
        let per_second = |now: &AtomicU64, then: u64| {
            now.load(Ordering::Relaxed).saturating_sub(then) as f64 / seconds
        };
        (per_second(&self.events, events), per_second(&self.bytes, bytes))
    }

    /// Everything at this moment. `end_offset`: a partition's end in the log.
    pub(crate) fn snapshot(
        &self,
        now_ms: i64,
        end_offset: impl Fn(&str, i32) -> Option<i64>,
    ) -> TaskSnapshot {
        let (events_per_s, bytes_per_s) = self.rates();
        let gauges = self.progress.gauges();
        let gauge = gauges.iter().find(|(name, _)| *name == "source_behind_ms");
        let known = self.behind_ms.load(Ordering::Relaxed);
        let mut behind_ms = gauge.map(|(_, ms)| *ms).or((known != UNKNOWN).then_some(known));
        let mut behind_records = BTreeMap::new();
        for (place, delivered) in lock(&self.delivered).iter() {
            let Some(end) = end_offset(&place.topic, place.partition) else { continue };
            let behind = (end - delivered.next).max(0);
            *behind_records.entry(place.topic.to_string()).or_insert(0) += behind;
            let ms = match (behind, delivered.timestamp_ms) {
                (0, _) => 0,
                (_, 0) => continue,
                (_, timestamp_ms) => (now_ms - timestamp_ms).max(0),
            };
            behind_ms = Some(behind_ms.unwrap_or(0).max(ms));
        }
        TaskSnapshot {
            id: self.id,
            tables: self.progress.tables().iter().map(table_snapshot).collect(),
            events: self.events.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            events_per_s,
            bytes_per_s,
            dead_letters: self.dead_letters.load(Ordering::Relaxed),
            retries: self.retries.load(Ordering::Relaxed),
            behind_ms,
            behind_records,
            gauges,
            notes: self.progress.notes(),
        }
    }
}

fn table_snapshot((name, table): &(String, Arc<TableProgress>)) -> TableSnapshot {
    TableSnapshot {
        name: name.clone(),
        state: table.state(),
        snapshot_rows: table.snapshot_rows.load(Ordering::Relaxed),
        snapshot_rows_expected: table.snapshot_rows_expected.load(Ordering::Relaxed),
        snapshot_chunks: table.snapshot_chunks.load(Ordering::Relaxed),
        snapshot_chunks_expected: table.snapshot_chunks_expected.load(Ordering::Relaxed),
        events: table.events.load(Ordering::Relaxed),
        bytes: table.bytes.load(Ordering::Relaxed),
        errors: table.errors.load(Ordering::Relaxed),
        last_event_ms: table.last_event_ms.load(Ordering::Relaxed),
        message: table.message(),
    }
}

/// Locks; a panic elsewhere leaves these small values whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The wall clock. Units: ms since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report::new(0, false, watch::Sender::new(0))
    }

    #[test]
    fn rates_are_means_over_the_window() {
        let report = report();
        let Some(since) = Instant::now().checked_sub(Duration::from_secs(2)) else { return };
        report.sample(since);
        report.durable(100, 5000);
        let (events, bytes) = report.rates();
        assert!((40.0..=50.5).contains(&events), "{events}");
        assert!((2000.0..=2525.0).contains(&bytes), "{bytes}");
    }

    #[test]
    fn lag_is_what_the_log_has_beyond_what_was_delivered() {
        let report = report();
        let place = TopicPartition::new("t", 0);
        report.assign(&BTreeMap::from([(place.clone(), 3)]));
        let unseen = report.snapshot(1000, |_, _| Some(10));
        assert_eq!((unseen.behind_records["t"], unseen.behind_ms), (7, None));
        report.delivered(&place, Delivered { next: 8, timestamp_ms: 400 });
        let behind = report.snapshot(1000, |_, _| Some(10));
        assert_eq!((behind.behind_records["t"], behind.behind_ms), (2, Some(600)));
        report.delivered(&place, Delivered { next: 10, timestamp_ms: 900 });
        assert_eq!(report.snapshot(1000, |_, _| Some(10)).behind_ms, Some(0));
    }
}
