//! Decoded records of a topic: a page of them, or as they arrive.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    extract::{Path, Query, State},
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use lattice_log::{RecordBatchReader, RecordView, StoredBatch, TopicInfo, TopicPartition};
use serde::Deserialize;
use serde_json::{Value, json};

use super::topics::find;
use crate::{
    answer::{Answer, Json, Refusal},
    state::ServerState,
};

const LIMIT: usize = 50;
const MAX_LIMIT: usize = 1000;

/// What one look at the log may bring. Units: bytes.
const FETCH_BYTES: usize = 4 << 20;

/// How many of a burst's newest records a stream shows; people cannot read more in a moment.
const BURST: usize = 200;

#[derive(Deserialize)]
pub(crate) struct Page {
    from: Option<String>,
    partition: Option<i32>,
    limit: Option<usize>,
}

pub(crate) async fn messages(
    State(state): State<ServerState>,
    Path(name): Path<String>,
    Query(page): Query<Page>,
) -> Answer {
    let topic = find(&state, &name).await?;
    let limit = page.limit.unwrap_or(LIMIT).clamp(1, MAX_LIMIT);
    let starts = starts(&topic, &page, limit)?;
    let mut records = Vec::new();
    for (place, offset, end) in starts {
        records.extend(read(&state, place, offset, end, limit).await?);
    }
    records.sort_by_key(|record: &Value| record["timestamp_ms"].as_i64());
    let latest = page.from.as_deref().is_none_or(|from| from == "latest");
    if records.len() > limit && latest {
        records.drain(..records.len() - limit);
    }
    records.truncate(limit);
    Ok(Json(json!({ "records": records })))
}

/// Where to begin in each partition, and where it ends.
fn starts(topic: &TopicInfo, page: &Page, limit: usize) -> Answer<Vec<(TopicPartition, i64, i64)>> {
    let back = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut starts = Vec::new();
    for info in &topic.partitions {
        if page.partition.is_some_and(|wanted| wanted != info.partition) {
            continue;
        }
        let first = info.log_start_offset;
        let offset = match page.from.as_deref() {
            None | Some("latest") => (info.end_offset - back).max(first),
            Some("earliest") => first,
            Some(text) => text.parse::<i64>().map(|offset| offset.max(first)).map_err(|_| {
                Refusal::bad(format!("from \"{text}\" is none of earliest, latest or an offset"))
            })?,
        };
        let place = TopicPartition { topic: topic.name.clone(), partition: info.partition };
        starts.push((place, offset, info.end_offset));
    }
    if starts.is_empty() {
        let partition = page.partition.unwrap_or(0);
        return Err(Refusal::not_found(format!(
            "Topic {} has no partition {partition}",
            topic.name
        )));
    }
    Ok(starts)
}

async fn read(
    state: &ServerState,
    place: TopicPartition,
    from: i64,
    end: i64,
    limit: usize,
) -> Answer<Vec<Value>> {
    let mut records = Vec::new();
    let mut next = from;
    while next < end && records.len() < limit {
        let wanted = vec![(place.clone(), next)];
        let batches = state.log().fetch(wanted, FETCH_BYTES, Duration::ZERO).await?;
        if batches.is_empty() {
            break;
        }
        for batch in batches {
            next = batch.base_offset + i64::from(batch.records);
            render(state, &batch, from, &mut records, limit).await?;
            if records.len() >= limit {
                break;
            }
        }
    }
    Ok(records)
}

/// Appends a batch's records from an offset on, until there are `limit`.
async fn render(
    state: &ServerState,
    batch: &StoredBatch,
    from: i64,
    records: &mut Vec<Value>,
    limit: usize,
) -> Answer<()> {
    let set = RecordBatchReader::new(&batch.bytes)?.read()?;
    for record in set.iter() {
        if record.offset() < from {
            continue;
        }
        if records.len() >= limit {
            break;
        }
        records.push(record_json(state, batch.partition.partition, &record).await);
    }
    Ok(())
}

async fn record_json(state: &ServerState, partition: i32, record: &RecordView<'_>) -> Value {
    let headers: Vec<(&[u8], Option<&[u8]>)> =
        record.headers().map(|header| (header.key, header.value)).collect();
    let registry = state.registry().as_ref();
    let shown = lattice_codec::render(registry, record.key(), record.value(), &headers).await;
    let header = |(key, value): &(String, Value)| json!({ "key": key, "value": value });
    let mut body = json!({
        "partition": partition,
        "offset": record.offset(),
        "timestamp_ms": record.timestamp_ms(),
        "headers": shown.headers.iter().map(header).collect::<Vec<_>>(),
        "tombstone": record.value().is_none(),
        "op": null,
    });
    // JSON with schemas has the event inside.
    let event = shown.value.get("payload").filter(|_| shown.value.get("schema").is_some());
    let event = event.unwrap_or(&shown.value);
    if let Some(op) = event.get("op").and_then(Value::as_str)
        && event.get("source").is_some()
    {
        body["op"] = op.into();
        body["before"] = event.get("before").cloned().unwrap_or_default();
        body["after"] = event.get("after").cloned().unwrap_or_default();
    }
    body["key"] = decoded_json(record.key(), shown.key, shown.key_schema_id);
    body["value"] = decoded_json(record.value(), shown.value, shown.value_schema_id);
    body
}

fn decoded_json(bytes: Option<&[u8]>, data: Value, schema_id: Option<i32>) -> Value {
    let format = match (bytes, schema_id) {
        (None, _) => "null",
        (Some(_), Some(_)) => "avro",
        (Some(bytes), None) => match std::str::from_utf8(bytes) {
            Err(_) => "binary",
            // Rendering gives a text only where the bytes are no JSON, or are a JSON text.
            Ok(_) if data.is_string() => "text",
            Ok(_) => "json",
        },
    };
    json!({ "format": format, "schema_id": schema_id, "data": data })
}

/// A stream's place in a topic.
struct Following {
    state: ServerState,
    places: Vec<(TopicPartition, i64)>,
    ready: VecDeque<Value>,
}

pub(crate) async fn stream(
    State(state): State<ServerState>,
    Path(name): Path<String>,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let topic = find(&state, &name).await?;
    let place = |info: &lattice_log::PartitionInfo| {
        let place = TopicPartition { topic: topic.name.clone(), partition: info.partition };
        (place, info.end_offset)
    };
    let places = topic.partitions.iter().map(place).collect();
    let following = Following { state, places, ready: VecDeque::new() };
    let stream = stream::unfold(following, |mut following| async move {
        let event = match following.next().await? {
            Ok(record) => Event::default().event("record").data(record.to_string()),
            Err(refusal) => Event::default().event("trouble").data(format!("{refusal:?}")),
        };
        Some((Ok(event), following))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

impl Following {
    /// The next record; `None`: the server stops.
    async fn next(&mut self) -> Option<Answer<Value>> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Some(Ok(record));
            }
            let stopping = self.state.stopping().clone();
            let filled = tokio::select! {
                filled = self.fill() => filled,
                () = stopping.cancelled() => return None,
            };
            if let Err(refusal) = filled {
                // Said once a second at most, so that a lasting trouble floods nobody.
                tokio::time::sleep(Duration::from_secs(1)).await;
                return Some(Err(refusal));
            }
        }
    }

    async fn fill(&mut self) -> Answer<()> {
        let wait = Duration::from_secs(5);
        let batches = self.state.log().fetch(self.places.clone(), FETCH_BYTES, wait).await?;
        let mut records = Vec::new();
        let total: i64 = batches.iter().map(|batch| i64::from(batch.records)).sum();
        let mut skip = total - i64::try_from(BURST).unwrap_or(i64::MAX);
        for batch in &batches {
            let end = batch.base_offset + i64::from(batch.records);
            let place = self.places.iter_mut().find(|(place, _)| *place == batch.partition);
            let Some((_, offset)) = place else { continue };
            let from = (*offset).max(batch.base_offset + skip.max(0));
            *offset = end;
            skip -= i64::from(batch.records);
            render(&self.state, batch, from, &mut records, BURST).await?;
        }
        self.ready.extend(records);
        Ok(())
    }
}
