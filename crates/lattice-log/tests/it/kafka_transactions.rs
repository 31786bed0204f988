//! Transactions of source tasks on a real broker.

use std::{sync::Arc, time::Duration};

use lattice_core::{ErrorKind, position::Position};
use lattice_log::{AppendRequest, KafkaLog, Log as _, SourceOffset, TopicPartition, Transactions};
use lattice_testkit::service;
use serde_json::json;

use crate::kafka::{open_at, read_all, records, unique};

const TIMEOUT: Duration = Duration::from_secs(20);

async fn open(group: &str) -> Arc<KafkaLog> {
    open_at(&service("LATTICE_TEST_KAFKA"), group).await
}

async fn begin(log: &KafkaLog, connector: &str) -> Arc<dyn Transactions> {
    let begun = log.transactions(connector, 0, TIMEOUT).await;
    begun.unwrap_or_else(|error| panic!("begin: {}", error.chain())).expect("transactions")
}

fn position(number: i64) -> Position {
    let map = |value: serde_json::Value| value.as_object().cloned().expect("an object");
    Position { partition: map(json!({ "server": "shop" })), offset: map(json!({ "lsn": number })) }
}

/// An append of one row, with the position that covers it if there is one.
fn row(topic: &str, value: &str, connector: &str, covered: Option<i64>) -> AppendRequest {
    AppendRequest {
        batches: vec![records(topic, 0, [value.to_owned()])],
        source_offset: covered.map(|number| SourceOffset {
            connector: connector.to_owned(),
            position: position(number),
        }),
    }
}

async fn values(log: &KafkaLog, topic: &str) -> Vec<String> {
    read_all(log, topic, 0).await.into_iter().map(|(_, value)| value).collect()
}

#[tokio::test]
async fn records_and_their_position_become_visible_together() {
    let (group, topic) = (unique("group"), unique("captured"));
    let log = open(&group).await;
    let transactions = begin(&log, "shop").await;
    transactions.append(row(&topic, "one", "shop", None)).await.unwrap();
    transactions.append(row(&topic, "two", "shop", None)).await.unwrap();
    assert!(values(&log, &topic).await.is_empty(), "seen before they were committed");
    transactions.append(row(&topic, "three", "shop", Some(3))).await.unwrap();
    assert_eq!(values(&log, &topic).await, ["one", "two", "three"]);
    assert_eq!(log.source_offsets("shop").await.unwrap(), [position(3)]);
    // Many in a row: each waits for the markers of the one before.
    for number in 4..30 {
        let request = row(&topic, &number.to_string(), "shop", Some(number));
        transactions.append(request).await.unwrap();
    }
    assert_eq!(values(&log, &topic).await.len(), 29);
    assert_eq!(log.source_offsets("shop").await.unwrap(), [position(29)]);
}

#[tokio::test]
async fn who_takes_over_fences_the_one_before_and_undoes_what_was_open() {
    let (group, topic) = (unique("group"), unique("captured"));
    let (log, other) = (open(&group).await, open(&group).await);
    let before = begin(&log, "shop").await;
    before.append(row(&topic, "committed", "shop", Some(1))).await.unwrap();
    before.append(row(&topic, "never", "shop", None)).await.unwrap();

    let after = begin(&other, "shop").await;
    assert_eq!(other.source_offsets("shop").await.unwrap(), [position(1)]);
    for attempt in 0..2 {
        let fenced = before.append(row(&topic, "zombie", "shop", Some(2))).await.unwrap_err();
        assert_eq!(fenced.kind(), ErrorKind::Fatal, "attempt {attempt}: {}", fenced.chain());
        let remedy = fenced.remedy().unwrap_or_default();
        assert!(remedy.contains("runs in one place"), "{}", fenced.chain());
    }
    after.append(row(&topic, "again", "shop", Some(2))).await.unwrap();
    assert_eq!(values(&log, &topic).await, ["committed", "again"]);
    // What was aborted takes offsets, and the end can be reached all the same.
    let end = log.topic(&topic).await.unwrap().unwrap().partitions[0].end_offset;
    let place = TopicPartition::new(topic.as_str(), 0);
    let mut next = 0;
    while next < end {
        let from = vec![(place.clone(), next)];
        let batches = log.fetch(from, 1 << 20, Duration::from_secs(5)).await.unwrap();
        next = batches.last().expect("more batches before the end").last_offset + 1;
    }
    assert_eq!(next, end);
}

#[tokio::test]
async fn an_append_that_fails_undoes_its_transaction_and_can_be_made_again() {
    let (group, topic) = (unique("group"), unique("captured"));
    let log = open(&group).await;
    let transactions = begin(&log, "shop").await;
    transactions.append(row(&topic, "one", "shop", Some(1))).await.unwrap();
    let mut wrong = row(&topic, "two", "shop", Some(2));
    // Its partition is not there.
    wrong.batches.push(records(&topic, 7, ["three".to_owned()]));
    let error = transactions.append(wrong).await.unwrap_err();
    assert!(!error.chain().is_empty());
    transactions.append(row(&topic, "two", "shop", Some(2))).await.unwrap();
    assert_eq!(values(&log, &topic).await, ["one", "two"]);
    assert_eq!(log.source_offsets("shop").await.unwrap(), [position(2)]);
}
