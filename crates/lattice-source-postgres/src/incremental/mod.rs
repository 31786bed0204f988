//! Incremental snapshots: tables read again chunk by chunk while the stream goes on.
//!
//! A chunk is read between two watermarks, logical messages that come back in the stream. Where the
//! second one stands, the chunk's rows become events, save those that the stream has told of since in
//! a state that the chunk does not have (see [`window`]). Each chunk's end is part of the position, so
//! that the next start goes on behind it.
//!
//! Two parts: the [`reader`](read) beside the stream knows SQL and not the stream, the
//! [`Incremental`] in it knows the stream and no SQL.

mod progress;
mod read;
mod signal;
mod window;

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use lattice_core::{
    Error, Result,
    event::{Span, TableSchema},
    progress::Progress,
};
use tokio::sync::mpsc;

pub(crate) use progress::IncrementalProgress;
pub(crate) use read::run;
pub(crate) use signal::Signal;

use crate::protocol::pgoutput::Relation;
use window::{Verdict, Visible, Window};

/// The prefix of watermarks.
pub(crate) const WATERMARK_PREFIX: &str = "lattice-snapshot";

/// Transactions that are remembered: a commit comes in the stream a moment before others see it.
const RECENT: usize = 4096;

/// What the reader is to do.
#[derive(Debug)]
pub(crate) struct Order {
    /// Stands in its watermarks.
    pub(crate) number: u64,
    pub(crate) task: Task,
}

#[derive(Debug)]
pub(crate) enum Task {
    /// Find the tables that these patterns name.
    Resolve(Vec<String>),
    /// Read the rows behind this key; empty: from the start.
    Read { table: String, after: Vec<String>, limit: usize },
}

/// What came of an order. It is sent before the watermark that ends it.
#[derive(Debug)]
pub(crate) enum Answer {
    Tables(Vec<String>),
    Chunk(Chunk),
    /// It will never be: why.
    Refused(String),
}

/// Rows of one table in the order of its key.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) schema: Arc<TableSchema>,
    pub(crate) data: Bytes,
    pub(crate) rows: Vec<Span>,
    /// The rows' keys, as many as `rows`.
    pub(crate) keys: Vec<Box<[u8]>>,
    /// The last row's key, as texts.
    pub(crate) last: Vec<String>,
    /// There are no rows behind it.
    pub(crate) complete: bool,
    /// What the reader's transaction saw.
    pub(crate) visible: Visible,
    /// Below every change that is still to come: what its rows carry as version.
    pub(crate) version_lsn: u64,
}

/// An order that runs.
struct Running {
    number: u64,
    /// The patterns whose tables it finds.
    asked: Vec<String>,
}

/// The incremental snapshot as the stream sees it.
pub(crate) struct Incremental {
    orders: mpsc::Sender<Order>,
    answers: mpsc::Receiver<Answer>,
    report: Arc<Progress>,
    /// The server sends watermarks back.
    allowed: bool,
    progress: Option<IncrementalProgress>,
    /// The order that runs.
    running: Option<Running>,
    next: u64,
    /// Rows that are asked for at most, and how many may be.
    limit: (usize, usize),
    window: Option<Window>,
    /// Ids of the transactions that came last.
    recent: VecDeque<u32>,
}

impl Incremental {
    /// Goes on where `progress` says. `first`: a number that no earlier process has used.
    pub(crate) fn new(
        orders: mpsc::Sender<Order>,
        answers: mpsc::Receiver<Answer>,
        report: Arc<Progress>,
        progress: Option<IncrementalProgress>,
        rows: usize,
        first: u64,
    ) -> Self {
        let recent = VecDeque::new();
        let (running, window) = (None, None);
        let (allowed, limit, next) = (false, (rows, rows), first);
        Self { orders, answers, report, allowed, progress, running, next, limit, window, recent }
    }

    /// The server sends watermarks back.
    pub(crate) fn allow(&mut self) {
        self.allowed = true;
    }

    /// What the position keeps.
    pub(crate) fn progress(&self) -> Option<&IncrementalProgress> {
        self.progress.as_ref()
    }

    /// Acts on a signal.
    pub(crate) fn signal(&mut self, signal: Signal) {
        let signal = match signal {
            Signal::Execute(_) if !self.allowed => {
                let text = "incremental snapshots need PostgreSQL 14 or later";
                Signal::Unknown(text.to_owned())
            }
            signal => signal,
        };
        let progress = self.progress.get_or_insert_default();
        match signal {
            Signal::Execute(patterns) => progress.wanted.extend(patterns),
            Signal::Stop(patterns) => progress.stop(&patterns),
            Signal::Pause => progress.paused = true,
            Signal::Resume => progress.paused = false,
            Signal::Log(message) => tracing::info!(message, "signal"),
            Signal::Unknown(reason) => {
                tracing::warn!(reason, "a signal is passed over");
                self.report.note("signal", Some(reason));
            }
        }
        self.tidy();
    }

    /// Gives the reader its next order, if there is one and none runs.
    pub(crate) fn advance(&mut self) {
        if self.running.is_some() {
            return;
        }
        let going = |progress: &&IncrementalProgress| self.allowed && !progress.paused;
        let Some(progress) = self.progress.as_ref().filter(going) else { return };
        let (number, asked) = (self.next, progress.wanted.clone());
        let task = match progress.tables.first() {
            _ if !asked.is_empty() => Task::Resolve(asked.clone()),
            Some(table) => Task::Read {
                table: table.clone(),
                after: progress.after.clone(),
                limit: self.limit.0,
            },
            None => return,
        };
        // Closed: the stream ends, and the position knows what is left.
        if self.orders.try_send(Order { number, task }).is_ok() {
            self.next += 1;
            self.running = Some(Running { number, asked });
        }
    }

    /// A transaction has come whole.
    pub(crate) fn committed(&mut self, xid: u32) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(xid);
    }

    /// A watermark has come; true: it ends the order that runs, whose answer is there.
    pub(crate) fn watermark(&mut self, content: &[u8]) -> bool {
        let Some((side, number)) = read::parse_watermark(content) else { return false };
        if self.running.as_ref().is_none_or(|running| running.number != number) {
            return false; // of an earlier process
        }
        if side == read::LOW {
            self.window = Some(Window::open(self.recent.iter().copied().collect()));
            return false;
        }
        true
    }

    /// Whether a chunk is being read, beside which rows are noted.
    #[inline]
    pub(crate) fn is_reading(&self) -> bool {
        self.window.is_some()
    }

    /// A row of a table that may be the one that is read.
    pub(crate) fn row(
        &mut self,
        schema: &TableSchema,
        relation: &Relation,
        xid: u32,
        (old, new): (Option<&[u8]>, Option<&[u8]>),
    ) {
        if let Some(window) = &mut self.window
            && let Some(table) = self.progress.as_ref().and_then(|all| all.tables.first())
            && schema.id.is_called(table)
        {
            window.note(schema, relation, xid, old, new);
        }
    }

    /// Something happened after which the chunk cannot be judged.
    pub(crate) fn disturb(&mut self) {
        if let Some(window) = &mut self.window {
            window.disturb();
        }
    }

    /// Takes the answer of the order that ended: the rows of it that are to become events.
    ///
    /// Errors: `Transient` when the reader is gone.
    pub(crate) async fn finish(&mut self) -> Result<Option<(Chunk, Vec<usize>)>> {
        let gone = || Error::transient("the reader of the incremental snapshot ended");
        let answer = self.answers.recv().await.ok_or_else(gone)?;
        let asked = self.running.take().map(|running| running.asked).unwrap_or_default();
        let window = self.window.take();
        let Some(progress) = &mut self.progress else { return Ok(None) };
        let kept = match answer {
            Answer::Tables(tables) => {
                progress.resolved(&asked, tables);
                None
            }
            Answer::Refused(reason) => {
                tracing::warn!(reason, "a table is left out of the incremental snapshot");
                self.report.note("incremental snapshot", Some(reason));
                if asked.is_empty() {
                    progress.next_table();
                }
                progress.resolved(&asked, Vec::new());
                None
            }
            // A signal has taken the table away in the meantime.
            Answer::Chunk(chunk) if !progress.reads(&chunk.schema) => None,
            Answer::Chunk(chunk) => match window.map(|window| window.judge(&chunk)) {
                // The fewer rows, the smaller the chance that one of them changes beside it.
                None | Some(Verdict::Again) => {
                    self.limit.0 = (self.limit.0 / 4).max(1);
                    None
                }
                Some(Verdict::Keep(kept)) => {
                    self.limit.0 = self.limit.0.saturating_mul(2).min(self.limit.1);
                    if chunk.complete {
                        tracing::info!(table = %chunk.schema.id, "read by the incremental snapshot");
                        progress.next_table();
                    } else {
                        progress.after.clone_from(&chunk.last);
                    }
                    Some((chunk, kept))
                }
            },
        };
        self.tidy();
        Ok(kept)
    }

    fn tidy(&mut self) {
        let done = |progress: &mut IncrementalProgress| {
            progress.wanted.is_empty() && progress.tables.is_empty()
        };
        if self.progress.take_if(done).is_some() {
            self.report.note("incremental snapshot running", None);
        }
        if let Some(progress) = &self.progress {
            self.report.note("incremental snapshot running", Some(progress.to_string()));
        }
    }
}
