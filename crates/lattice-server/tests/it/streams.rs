//! Server-sent events, and records of a topic as they come.

use std::time::Duration;

use axum::{
    body::{Body, BodyDataStream},
    http::Request,
};
use futures_util::StreamExt as _;
use lattice_core::record::{RecordRef, RecordSink as _};
use lattice_log::{AppendRequest, BatchSetBuilder, Compression, Log as _};
use serde_json::Value;

use crate::house::{House, source};

const PATIENCE: Duration = Duration::from_secs(20);

async fn open(house: &House, path: &str) -> BodyDataStream {
    let response = house.send(Request::get(path).body(Body::empty()).unwrap()).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body().into_data_stream()
}

/// The next event with data: its name and its data.
async fn next(stream: &mut BodyDataStream) -> (String, Value) {
    loop {
        let chunk = tokio::time::timeout(PATIENCE, stream.next()).await.expect("an event");
        let text = String::from_utf8(chunk.unwrap().unwrap().to_vec()).unwrap();
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        if let (Some(event), Some(data)) = (line("event: "), line("data: ")) {
            return (event.to_owned(), serde_json::from_str(data).unwrap());
        }
    }
}

async fn append(house: &House, topic: &str, values: std::ops::Range<usize>) {
    let mut builder = BatchSetBuilder::new(Box::new(|_| 1), Compression::default());
    let handle = builder.topic(topic);
    for number in values {
        let value = format!("{{\"n\":{number}}}");
        let record = RecordRef {
            key: Some(b"k"),
            value: Some(value.as_bytes()),
            headers: &[],
            timestamp_ms: 1,
        };
        builder.append(handle, Some(0), record);
    }
    let batches = builder.finish().into_iter().map(|raw| raw.compress().unwrap()).collect();
    house.log.append(AppendRequest { batches, source_offset: None }).await.unwrap();
}

#[tokio::test]
async fn a_change_of_state_is_told_and_the_stream_ends_with_the_server() {
    let house = House::new().await;
    let mut events = open(&house, "/api/v1/events").await;
    let (name, snapshot) = next(&mut events).await;
    assert_eq!((name.as_str(), &snapshot["connectors"]), ("snapshot", &Value::Array(Vec::new())));
    house.call("PUT", "/connectors/c/config", &source()).await;
    let mut state = Value::Null;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while state != "RUNNING" {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for RUNNING: {state}");
        state = next(&mut events).await.1["connectors"][0]["state"].clone();
    }
    house.stopping.cancel();
    let rest = tokio::time::timeout(PATIENCE, events.collect::<Vec<_>>()).await;
    assert!(rest.is_ok(), "the stream ends");
}

#[tokio::test]
async fn records_are_paged_and_streamed() {
    let house = House::new().await;
    append(&house, "t", 0..120).await;
    let page = house.get("/api/v1/topics/t/messages?from=earliest&limit=3").await.json();
    let offsets = |page: &Value| -> Vec<i64> {
        let records = page["records"].as_array().unwrap();
        records.iter().map(|record| record["offset"].as_i64().unwrap()).collect()
    };
    assert_eq!(offsets(&page), [0, 1, 2]);
    assert_eq!(page["records"][2]["value"]["data"]["n"], 2);
    let page = house.get("/api/v1/topics/t/messages?limit=2").await.json();
    assert_eq!(offsets(&page), [118, 119]);
    let page = house.get("/api/v1/topics/t/messages?from=60&limit=2&partition=0").await.json();
    assert_eq!(offsets(&page), [60, 61]);

    let mut stream = open(&house, "/api/v1/topics/t/stream").await;
    append(&house, "t", 120..121).await;
    let (name, record) = next(&mut stream).await;
    assert_eq!((name.as_str(), &record["offset"]), ("record", &Value::from(120)));
}
