//! Cuts a collection into ranges of `_id`s.

use std::sync::atomic::Ordering;

use futures_util::TryStreamExt;
use lattice_core::{Result, progress::TableProgress};
use mongodb::bson::{RawDocumentBuf, doc};

use crate::{
    bson, client::Deployment, config::Settings, discover::Found, error::explain, position::Range,
};

/// Fewer documents than this are not worth another cursor.
const ROWS: u64 = 20_000;
/// Samples for each cut, so that ranges come out alike.
const SAMPLES: u64 = 10;
/// Ranges beyond this only make positions longer.
const MOST: u64 = 64;

/// Errors: the server's.
pub(super) async fn ranges(
    deployment: &Deployment,
    settings: &Settings,
    found: &Found,
    report: &TableProgress,
) -> Result<Vec<Range>> {
    let collection =
        deployment.client.database(&found.database).collection::<RawDocumentBuf>(&found.collection);
    let what = || format!("plan the snapshot of {}", found.name());
    let rows = collection.estimated_document_count().await;
    let rows = rows.map_err(|error| explain(&what(), &error))?;
    report.snapshot_rows_expected.store(rows, Ordering::Relaxed);
    let threads = settings.snapshot_threads as u64;
    let wanted = (rows / ROWS).min(threads * 4).min(MOST);
    if threads == 1 || wanted < 2 || settings.snapshot_filters.contains_key(&found.name()) {
        return Ok(vec![Range::default()]);
    }
    let size = i64::try_from(wanted * SAMPLES).unwrap_or(i64::MAX);
    let stages = [
        doc! {"$sample": {"size": size}},
        doc! {"$project": {"_id": 1}},
        doc! {"$sort": {"_id": 1}},
    ];
    let cursor = collection.aggregate(stages).with_type::<RawDocumentBuf>().await;
    let cursor = cursor.map_err(|error| explain(&what(), &error))?;
    let samples: Vec<RawDocumentBuf> =
        cursor.try_collect().await.map_err(|error| explain(&what(), &error))?;
    let ids = samples.iter().filter_map(|sample| bson::get(sample.as_bytes(), "_id"));
    let mut ids: Vec<Vec<u8>> = ids.map(bson::wrap).collect();
    ids.dedup();
    let cuts: Vec<Vec<u8>> = ids
        .chunks(usize::try_from(SAMPLES).unwrap_or(1))
        .skip(1)
        .filter_map(|chunk| chunk.first().cloned())
        .collect();
    let mut ranges = Vec::with_capacity(cuts.len() + 1);
    let mut from = None;
    for cut in cuts {
        ranges.push(Range { from: from.replace(cut.clone()), to: Some(cut), ..Range::default() });
    }
    ranges.push(Range { from, ..Range::default() });
    Ok(ranges)
}
