//! The cursors of a snapshot.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::StreamExt;
use lattice_core::Result;
use mongodb::{
    bson::{Bson, Document, doc},
    error::Error as DriverError,
    options::{FindOptions, Hint, ReadConcern},
    raw_batch_cursor::RawBatchCursor,
};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    bson, client::Deployment, config::Settings, discover::Found, error::explain, position::Range,
    reply::Reply,
};

/// Documents in an answer, if not said otherwise; an answer has at most 16 MB anyhow.
const DOCUMENTS: u32 = 2000;

/// A range that is to be read.
pub(super) struct Work {
    pub(super) unit: usize,
    pub(super) range: usize,
    pub(super) found: Found,
    pub(super) cut: Range,
}

/// All ranges, in order.
#[derive(Default)]
pub(super) struct Queue(VecDeque<Work>);

impl Queue {
    pub(super) fn push(&mut self, work: Work) {
        self.0.push_back(work);
    }
}

/// Documents of a range.
pub(super) struct Piece {
    pub(super) unit: usize,
    pub(super) range: usize,
    pub(super) reply: Reply,
    /// The last `_id` of them.
    pub(super) last: Option<Vec<u8>>,
    /// The range has no more.
    pub(super) done: bool,
}

/// Reads all ranges, `snapshot.max.threads` at once. The channel ends after the last.
pub(super) fn spawn(
    readers: &mut JoinSet<()>,
    deployment: &Deployment,
    settings: &Arc<Settings>,
    queue: Queue,
) -> mpsc::Receiver<Result<Piece>> {
    let (sender, pieces) = mpsc::channel(1);
    let count = settings.snapshot_threads.min(queue.0.len());
    let queue = Arc::new(Mutex::new(queue.0));
    for _ in 0..count {
        let (queue, sender) = (Arc::clone(&queue), sender.clone());
        let (deployment, settings) = (deployment.clone(), Arc::clone(settings));
        readers.spawn(async move {
            loop {
                let work = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some(work) = work else { return };
                if let Err(error) = read(&deployment, &settings, work, &sender).await {
                    // The receiver is gone only when nobody is interested any more.
                    let _ = sender.send(Err(error)).await;
                    return;
                }
            }
        });
    }
    pieces
}

async fn read(
    deployment: &Deployment,
    settings: &Settings,
    work: Work,
    sender: &mpsc::Sender<Result<Piece>>,
) -> Result<()> {
    let Work { unit, range, found, cut } = work;
    let failed = |error: DriverError| explain(&format!("read {}", found.name()), &error);
    let mut cursor = open(deployment, settings, &found, &cut).await.map_err(failed)?;
    let mut last = cut.last;
    loop {
        let batch = cursor.next().await.transpose().map_err(failed)?;
        let done = batch.is_none();
        let mut reply = match batch {
            Some(batch) => Reply::read(batch)?,
            None => {
                Reply { data: bytes::Bytes::new(), documents: Vec::new(), token: None, time: None }
            }
        };
        // A range that goes on begins with the document it has ended with.
        let id = |at: usize| {
            let document = reply.documents.get(at)?.of(&reply.data);
            bson::get(document, "_id").map(bson::wrap)
        };
        let again = last.is_some() && id(0) == last;
        last = reply.documents.len().checked_sub(1).and_then(id).or(last);
        if again {
            reply.documents.remove(0);
        }
        if reply.documents.is_empty() && !done {
            continue;
        }
        let piece = Piece { unit, range, reply, last: last.clone(), done };
        if sender.send(Ok(piece)).await.is_err() || done {
            return Ok(());
        }
    }
}

async fn open(
    deployment: &Deployment,
    settings: &Settings,
    found: &Found,
    cut: &Range,
) -> Result<RawBatchCursor, DriverError> {
    let collection =
        deployment.client.database(&found.database).collection::<Document>(&found.collection);
    let filter = settings.snapshot_filters.get(&found.name()).cloned().unwrap_or_default();
    let bound = |id: &Option<Vec<u8>>| id.as_deref().and_then(bound_of);
    // Bounds of the index and no conditions: a condition sees only values of its own type.
    let options = FindOptions::builder()
        .sort(doc! {"_id": 1})
        .hint(Hint::Keys(doc! {"_id": 1}))
        .min(bound(&cut.last).or_else(|| bound(&cut.from)))
        .max(bound(&cut.to))
        .batch_size(settings.fetch_size.unwrap_or(DOCUMENTS))
        .no_cursor_timeout(true)
        .read_concern(ReadConcern::majority())
        .build();
    collection.find(filter).with_options(options).batch().await
}

fn bound_of(wrapped: &[u8]) -> Option<Document> {
    let document = Document::from_reader(wrapped).ok()?;
    let id: &Bson = document.get("_")?;
    Some(doc! {"_id": id.clone()})
}
