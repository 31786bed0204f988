//! The socket's side of the stream: large reads, whole messages, batches by size and time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use lattice_core::{Error, Result, event::SourceBatch};
use tokio::{
    io::AsyncReadExt,
    sync::{Notify, Semaphore, mpsc},
    time::Instant,
};

use super::{
    Delivered,
    assemble::{Assembler, Step},
};
use crate::{
    buffers::Buffers,
    connection::{Pace, READ_BYTES, ReadHalf, malformed, server_error},
    protocol::{
        backend::{self, DATA_HEADER, Replication},
        pgoutput,
    },
};

/// A batch is handed over at this size at the latest.
const BATCH_BYTES: usize = 2 << 20;

/// How long a small batch waits for more: the walsender sends row by row, and a batch a row
/// would cost more than it saves.
const LINGER: Duration = Duration::from_millis(3);

/// How long a batch waits that fills quickly, or whose changes are late anyway.
const BUSY_LINGER: Duration = Duration::from_millis(20);

/// Changes that were committed this long ago are late: throughput counts, not the next few ms.
const LATE_US: i64 = 250_000;

/// A batch that has this much after [`LINGER`] fills quickly.
const BUSY_BYTES: usize = 16 << 10;

/// A batch of this size takes its buffer with it; smaller ones share one. Units: bytes.
const LARGE_BYTES: usize = 128 << 10;

/// How often a position without events is handed over at most.
const IDLE_POSITION: Duration = Duration::from_secs(1);

/// What an event costs beside its row.
const EVENT_BYTES: usize = 160;

pub(super) struct Reader {
    pub(super) half: ReadHalf,
    pub(super) pace: Pace,
    pub(super) buffer: BytesMut,
    pub(super) buffers: Buffers,
    /// Everything before it is in the batch or done with.
    pub(super) at: usize,
    pub(super) assembler: Assembler,
    pub(super) received: Arc<AtomicU64>,
    pub(super) wake: Arc<Notify>,
    pub(super) sender: mpsc::Sender<Delivered>,
    pub(super) budget: Arc<Semaphore>,
    pub(super) budget_bytes: usize,
    /// Zero: no heartbeat records.
    pub(super) heartbeat: Duration,
}

impl Reader {
    /// Reads until the connection ends or nobody listens.
    pub(super) async fn run(mut self) -> Result<()> {
        let mut started: Option<Instant> = None;
        let mut last_sent = Instant::now();
        let mut last_beat = Instant::now();
        while !self.sender.is_closed() {
            self.assembler.advance();
            self.parse().await?;
            if !self.assembler.is_empty() && started.is_none() {
                started = Some(Instant::now());
            }
            let full = self.at >= BATCH_BYTES || self.assembler.is_full();
            if !full && self.read_ready()? {
                continue;
            }
            if let (Some(since), false) = (started, full) {
                let busy = self.at >= BUSY_BYTES || self.assembler.behind_us() > LATE_US;
                let linger = if busy { BUSY_LINGER } else { LINGER };
                if since.elapsed() < linger {
                    tokio::time::sleep(LINGER).await;
                    if self.read_ready()? {
                        continue;
                    }
                }
            }
            if !self.heartbeat.is_zero() && last_beat.elapsed() >= self.heartbeat {
                self.assembler.beat();
                last_beat = Instant::now();
            }
            let due = self.assembler.has_moved() && last_sent.elapsed() >= IDLE_POSITION;
            if started.is_some() || due || self.assembler.has_notices() {
                self.hand_over().await;
                (started, last_sent) = (None, Instant::now());
                continue;
            }
            self.wait().await?;
        }
        Ok(())
    }

    /// Takes what the socket has, without waiting. False: it has nothing.
    fn read_ready(&mut self) -> Result<bool> {
        self.make_room();
        self.pace.set(true);
        match self.half.read_buf(&mut self.buffer).now_or_never() {
            Some(read) => check(read).map(|()| true),
            None => Ok(false),
        }
    }

    /// Waits for bytes, or for the time when a position or a heartbeat is due.
    async fn wait(&mut self) -> Result<()> {
        self.make_room();
        self.pace.set(false);
        let mut patience = if self.assembler.has_moved() { IDLE_POSITION } else { Duration::MAX };
        if !self.heartbeat.is_zero() {
            patience = patience.min(self.heartbeat);
        }
        let patience = patience.min(Duration::from_secs(3600));
        match tokio::time::timeout(patience, self.half.read_buf(&mut self.buffer)).await {
            Ok(read) => check(read),
            Err(_) => {
                self.buffers.forget();
                Ok(())
            }
        }
    }

    fn make_room(&mut self) {
        if self.assembler.is_empty() && self.at > 0 {
            self.buffer.advance(self.at);
            self.at = 0;
        }
        let missing = backend::frame_len(&self.buffer, self.at)
            .map_or(0, |len| (self.at + len).saturating_sub(self.buffer.len()));
        if self.buffer.capacity() - self.buffer.len() < missing.max(READ_BYTES / 4) {
            self.buffer.reserve(missing.max(READ_BYTES));
        }
    }

    /// Takes all whole messages, until the batch is full.
    async fn parse(&mut self) -> Result<()> {
        while self.at < BATCH_BYTES && !self.assembler.is_full() {
            let Some(frame) = backend::frame(&self.buffer, self.at).map_err(malformed)? else {
                return Ok(());
            };
            let (mut end, mut answered) = (frame.end, false);
            let body = self.buffer.get(frame.start..frame.end).unwrap_or(&[]);
            match frame.tag {
                b'd' => match backend::replication(body).map_err(malformed)? {
                    Replication::Data { lsn, payload, .. } => {
                        let message = pgoutput::parse(payload, false).map_err(malformed)?;
                        let base = frame.start + DATA_HEADER;
                        match self.assembler.apply(message, payload, base, lsn)? {
                            Step::Done => {}
                            Step::Relation(relation) => self.assembler.learn(relation).await?,
                            Step::Answer => answered = true,
                            Step::Missing(missing) => {
                                if let Some(row) = self.assembler.complete(&missing).await? {
                                    end = self.insert_row(end, &row)?;
                                }
                            }
                        }
                        self.received.fetch_max(lsn, Ordering::Release);
                    }
                    Replication::KeepAlive { wal_end, reply } => {
                        self.assembler.keep_alive(wal_end);
                        self.received.fetch_max(wal_end, Ordering::Release);
                        if reply {
                            self.wake.notify_one();
                        }
                    }
                },
                b'E' => return Err(server_error(body, "read the replication stream")),
                b'c' => return Err(Error::transient("the server ended the replication stream")),
                _ => {}
            }
            self.at = end;
            if answered {
                self.take_chunk().await?;
            }
        }
        Ok(())
    }

    /// Hands over what the incremental snapshot has read, behind everything that came before.
    async fn take_chunk(&mut self) -> Result<()> {
        if !self.assembler.is_empty() {
            self.hand_over().await;
        }
        if let Some(batch) = self.assembler.chunk().await? {
            self.send(batch).await;
        }
        self.assembler.advance();
        Ok(())
    }

    /// Puts a row that the server did not send behind the message that it belongs to; gives its end.
    fn insert_row(&mut self, at: usize, row: &[u8]) -> Result<usize> {
        let rest = self.buffer.split_off(at);
        self.buffer.extend_from_slice(row);
        let end = self.buffer.len();
        self.buffer.unsplit(rest);
        self.assembler.replace_row(at, end)?;
        Ok(end)
    }

    /// What the batch's rows lie in.
    fn take_data(&mut self) -> Bytes {
        let at = std::mem::take(&mut self.at);
        if at < LARGE_BYTES {
            return self.buffer.split_to(at).freeze();
        }
        // The little that was read beyond the batch begins another buffer.
        let mut next = self.buffers.take();
        next.extend_from_slice(self.buffer.get(at..).unwrap_or(&[]));
        let mut full = std::mem::replace(&mut self.buffer, next);
        full.truncate(at);
        let data = full.freeze();
        self.buffers.remember(&data);
        data
    }

    async fn hand_over(&mut self) {
        let data = self.take_data();
        let batch = self.assembler.take(data);
        self.send(batch).await;
    }

    async fn send(&mut self, batch: SourceBatch) {
        let cost =
            (batch.data.len() + batch.events.len() * EVENT_BYTES).clamp(1, self.budget_bytes);
        let cost = u32::try_from(cost).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&self.budget).acquire_many_owned(cost).await else { return };
        // A closed channel ends the loop.
        let _ = self.sender.send(Ok((batch, permit))).await;
    }
}

fn check(read: std::io::Result<usize>) -> Result<()> {
    match read {
        Ok(0) => Err(Error::transient("the server closed the replication connection")),
        Ok(_) => Ok(()),
        Err(error) => Err(Error::transient("read the replication stream").with_source(error)),
    }
}
