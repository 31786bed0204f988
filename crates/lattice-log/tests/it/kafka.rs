//! Every method of the log on a real broker.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use lattice_core::{
    ErrorKind,
    position::Position,
    record::{RecordRef, RecordSink as _},
};
use lattice_log::{
    AppendRequest, BatchSetBuilder, CleanupPolicy, Compression, EncodedBatch, KafkaLog,
    KafkaOptions, Log, RecordBatchReader, SourceOffset, TopicConfig, TopicPartition,
};
use lattice_testkit::{kafka_tool, service};
use serde_json::{Map, Value, json};

/// Records of now: those of another time fall to the topic's retention at any moment.
pub(crate) fn now_ms() -> i64 {
    let now = std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970");
    i64::try_from(now.as_millis()).expect("a clock before the year 292 million")
}

/// Names of their own for every test and every run.
pub(crate) fn unique(what: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{what}-{}-{}-{}", now_ms(), std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) async fn open_at(address: &str, group: &str) -> Arc<KafkaLog> {
    let mut options = KafkaOptions { group_id: group.to_owned(), ..KafkaOptions::new(address) };
    options.offset_partitions = 3;
    KafkaLog::open(options).await.unwrap_or_else(|error| panic!("open: {}", error.chain()))
}

/// The log of the tests that share one.
pub(crate) async fn open() -> Arc<KafkaLog> {
    open_at(&service("LATTICE_TEST_KAFKA"), "shared-by-tests").await
}

/// A log of a test's own, and its group.
async fn open_alone() -> (Arc<KafkaLog>, String) {
    let group = unique("group");
    (open_at(&service("LATTICE_TEST_KAFKA"), &group).await, group)
}

pub(crate) fn records(
    topic: &str,
    partition: i32,
    values: impl IntoIterator<Item = String>,
) -> EncodedBatch {
    let mut builder =
        BatchSetBuilder::new(Box::new(|_| 1), Compression::Lz4).with_max_batch_bytes(usize::MAX);
    let handle = builder.topic(topic);
    for value in values {
        let record = RecordRef {
            key: Some(b"key"),
            value: Some(value.as_bytes()),
            headers: &[("h", Some(b"1"))],
            timestamp_ms: now_ms(),
        };
        builder.append(handle, Some(partition), record);
    }
    builder.finish().remove(0).compress().expect("a batch")
}

pub(crate) fn request(batches: Vec<EncodedBatch>) -> AppendRequest {
    AppendRequest { batches, source_offset: None }
}

/// Everything in a partition, as texts with their offsets.
pub(crate) async fn read_all(log: &dyn Log, topic: &str, partition: i32) -> Vec<(i64, String)> {
    let place = TopicPartition::new(topic, partition);
    let mut next = 0;
    let mut found = Vec::new();
    loop {
        let fetched = log.fetch(vec![(place.clone(), next)], 1 << 20, Duration::from_millis(300));
        let batches = fetched.await.expect("a fetch");
        if batches.is_empty() {
            return found;
        }
        for batch in batches {
            let reader = RecordBatchReader::new(&batch.bytes).expect("a whole batch");
            if !reader.is_control() {
                found.extend(
                    reader.read().expect("records").iter().filter(|r| r.offset() >= next).map(
                        |record| {
                            let value = record.value().unwrap_or_default();
                            (record.offset(), String::from_utf8_lossy(value).into_owned())
                        },
                    ),
                );
            }
            next = batch.last_offset + 1;
        }
    }
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

#[tokio::test]
async fn topics_are_made_with_whatever_kafka_can_configure() {
    let (log, name) = (open().await, unique("configured"));
    let other = [("max.message.bytes", "2000000"), ("cleanup.policy", "compact,delete")];
    let config = TopicConfig {
        replication_factor: Some(1),
        other: other.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        ..TopicConfig::default()
    };
    assert!(log.create_topic(&name, config).await.unwrap());
    let address = service("LATTICE_TEST_KAFKA");
    let describe = ["--bootstrap-server", &address, "--describe", "--topic", &name];
    let described = kafka_tool("org.apache.kafka.tools.TopicCommand", &describe);
    for (name, value) in other {
        assert!(described.contains(&format!("{name}={value}")), "{described}");
    }
    let wrong = TopicConfig {
        other: [("no.such.thing".to_owned(), "1".to_owned())].into(),
        ..TopicConfig::default()
    };
    let error = log.create_topic(&unique("wrong"), wrong).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    let copies = TopicConfig { replication_factor: Some(9), ..TopicConfig::default() };
    let error = log.create_topic(&unique("copies"), copies).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
}

#[tokio::test]
async fn topics_are_made_described_and_deleted() {
    let log = open().await;
    let name = unique("shop");
    let config = TopicConfig {
        partitions: 3,
        cleanup_policy: CleanupPolicy::Compact,
        retention_ms: Some(3_600_000),
        retention_bytes: Some(10 << 20),
        ..TopicConfig::default()
    };
    assert!(log.create_topic(&name, config.clone()).await.unwrap());
    assert!(!log.create_topic(&name, TopicConfig::default()).await.unwrap());
    let info = log.topic(&name).await.unwrap().unwrap();
    assert_eq!(info.config, config);
    assert!(!info.internal);
    assert_eq!(info.partitions.iter().map(|p| p.partition).collect::<Vec<_>>(), [0, 1, 2]);
    let topics = log.topics().await.unwrap();
    assert!(topics.iter().any(|topic| *topic.name == name));
    assert!(topics.windows(2).all(|pair| pair[0].name < pair[1].name));
    let internal = topics.iter().filter(|topic| topic.internal);
    assert!(internal.count() >= 3, "the platform's own topics are internal");
    assert!(log.delete_topic(&name).await.unwrap());
    assert!(!log.delete_topic(&name).await.unwrap());
    assert_eq!(log.topic(&name).await.unwrap(), None);
}

#[tokio::test]
async fn a_topic_that_kafka_refuses_is_a_configuration_error() {
    let log = open().await;
    let error = log.create_topic("no good name", TopicConfig::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    assert!(error.to_string().contains("create topic no good name"), "{error}");
}

#[tokio::test]
async fn records_come_back_in_order_with_their_offsets() {
    let log = open().await;
    let topic = unique("orders");
    log.create_topic(&topic, TopicConfig { partitions: 2, ..TopicConfig::default() })
        .await
        .unwrap();
    let values = |from: i32, to: i32| (from..to).map(|number| format!("v{number}"));
    let offsets = log
        .append(request(vec![
            records(&topic, 0, values(0, 10)),
            records(&topic, 1, values(100, 105)),
            records(&topic, 0, values(10, 30)),
        ]))
        .await
        .unwrap();
    assert_eq!(offsets, [0, 0, 10]);
    let again = log.append(request(vec![records(&topic, 0, values(30, 31))])).await.unwrap();
    assert_eq!(again, [30]);
    let expected: Vec<(i64, String)> = (0..31).map(|n| (n, format!("v{n}"))).collect();
    assert_eq!(read_all(log.as_ref(), &topic, 0).await, expected);
    assert_eq!(read_all(log.as_ref(), &topic, 1).await.len(), 5);
    let info = log.topic(&topic).await.unwrap().unwrap();
    assert_eq!((info.partitions[0].end_offset, info.partitions[0].records), (31, 31));
    assert!(log.health().writable);
}

#[tokio::test]
async fn a_fetch_gives_batches_from_several_partitions_and_skips_what_is_before() {
    let log = open().await;
    let topic = unique("many");
    log.create_topic(&topic, TopicConfig { partitions: 4, ..TopicConfig::default() })
        .await
        .unwrap();
    let batch = |partition| records(&topic, partition, (0..5).map(|n| format!("{partition}.{n}")));
    log.append(request((0..4).map(batch).collect())).await.unwrap();
    log.append(request((0..4).map(batch).collect())).await.unwrap();
    let from = (0..4).map(|id| (TopicPartition::new(&*topic, id), 7)).collect();
    let batches = log.fetch(from, 1 << 20, Duration::from_secs(5)).await.unwrap();
    assert_eq!(batches.len(), 4);
    assert!(batches.iter().all(|batch| (batch.base_offset, batch.last_offset) == (5, 9)));
    let from = vec![(TopicPartition::new(&*topic, 0), 0)];
    let one = log.fetch(from, 1, Duration::from_secs(5)).await.unwrap();
    assert_eq!(one.len(), 1, "at least one batch, whatever the limit");
}

#[tokio::test]
async fn a_fetch_waits_for_records_and_for_topics() {
    let log = open().await;
    let topic = unique("later");
    let place = TopicPartition::new(&*topic, 0);
    let none = log.fetch(vec![(place.clone(), 0)], 1 << 20, Duration::from_millis(50)).await;
    assert!(none.unwrap().is_empty());
    let waiting = tokio::spawn({
        let (log, place) = (Arc::clone(&log), place.clone());
        async move { log.fetch(vec![(place, 0)], 1 << 20, Duration::from_secs(60)).await }
    });
    // The append makes the topic.
    log.append(request(vec![records(&topic, 0, ["there".to_owned()])])).await.unwrap();
    let batches = waiting.await.unwrap().unwrap();
    assert_eq!(batches[0].partition, place);
}

#[tokio::test]
async fn an_offset_beyond_the_end_is_an_error() {
    let log = open().await;
    let topic = unique("short");
    log.append(request(vec![records(&topic, 0, ["one".to_owned()])])).await.unwrap();
    let place = TopicPartition::new(&*topic, 0);
    let beyond = log.fetch(vec![(place.clone(), 1000)], 1 << 20, Duration::from_secs(5)).await;
    let error = beyond.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal);
    assert!(error.to_string().contains("beyond its end 1"), "{error}");
}

#[tokio::test]
async fn offsets_below_the_start_read_from_the_start() {
    let log = open().await;
    let topic = unique("trimmed");
    log.append(request(vec![records(&topic, 0, (0..10).map(|n| n.to_string()))])).await.unwrap();
    log.append(request(vec![records(&topic, 0, (10..20).map(|n| n.to_string()))])).await.unwrap();
    let address = service("LATTICE_TEST_KAFKA");
    let file = std::env::temp_dir().join(format!("{topic}.json"));
    let wanted =
        json!({ "partitions": [{ "topic": topic, "partition": 0, "offset": 10 }], "version": 1 });
    std::fs::write(&file, wanted.to_string()).unwrap();
    let arguments = ["--bootstrap-server", &address, "--offset-json-file", file.to_str().unwrap()];
    kafka_tool("org.apache.kafka.tools.DeleteRecordsCommand", &arguments);
    std::fs::remove_file(&file).unwrap();
    let place = TopicPartition::new(&*topic, 0);
    let batches = log.fetch(vec![(place, 3)], 1 << 20, Duration::from_secs(5)).await.unwrap();
    assert_eq!(batches[0].base_offset, 10);
    assert_eq!(log.topic(&topic).await.unwrap().unwrap().partitions[0].log_start_offset, 10);
}

#[tokio::test]
async fn a_partition_that_the_topic_lacks_is_named() {
    let log = open().await;
    let topic = unique("single");
    log.create_topic(&topic, TopicConfig::default()).await.unwrap();
    let error = log.append(request(vec![records(&topic, 7, ["x".to_owned()])])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{}", error.chain());
    assert!(error.to_string().contains("has 1 partitions, none with number 7"), "{error}");
}

#[tokio::test]
async fn a_record_larger_than_kafka_takes_is_a_data_error_that_tells_the_limit() {
    let log = open().await;
    let topic = unique("large");
    let mut state = 88_172_645_463_325_252_u64;
    let noise: String = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + (state % 90) as u8)
    })
    .take(2_500_000)
    .collect();
    let error = log.append(request(vec![records(&topic, 0, [noise])])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data, "{}", error.chain());
    assert!(error.to_string().contains(&topic), "{error}");
    assert!(error.remedy().unwrap().contains("max.message.bytes"));
    log.append(request(vec![records(&topic, 0, ["small".to_owned()])])).await.unwrap();
    assert_eq!(read_all(log.as_ref(), &topic, 0).await, [(0, "small".to_owned())]);
}

#[tokio::test]
async fn offsets_of_groups_are_kept_listed_and_deleted() {
    let log = open().await;
    let (topic, group) = (unique("topic"), unique("connect-sink"));
    log.create_topic(&topic, TopicConfig { partitions: 2, ..TopicConfig::default() })
        .await
        .unwrap();
    let place = |id| TopicPartition::new(&*topic, id);
    assert!(log.committed_offsets(&group).await.unwrap().is_empty());
    log.delete_offsets(&group, None).await.unwrap();
    log.commit_offsets(&group, vec![(place(1), 5), (place(0), 3)]).await.unwrap();
    assert_eq!(log.committed_offsets(&group).await.unwrap(), [(place(0), 3), (place(1), 5)]);
    log.commit_offsets(&group, vec![(place(0), 4)]).await.unwrap();
    assert!(log.groups().await.unwrap().contains(&group));
    log.delete_offsets(&group, Some(vec![place(1)])).await.unwrap();
    assert_eq!(log.committed_offsets(&group).await.unwrap(), [(place(0), 4)]);
    log.delete_offsets(&group, None).await.unwrap();
    assert!(log.committed_offsets(&group).await.unwrap().is_empty());
    assert!(!log.groups().await.unwrap().contains(&group));
}

#[tokio::test]
async fn source_offsets_are_kafka_connects_records() {
    let (log, group) = open_alone().await;
    let topic = unique("captured");
    let partition = map(json!({ "server": "shop" }));
    let offset = map(json!({ "lsn": 24_023_128, "txId": 555 }));
    let position = Position { partition: partition.clone(), offset: offset.clone() };
    let append = AppendRequest {
        batches: vec![records(&topic, 0, ["row".to_owned()])],
        source_offset: Some(SourceOffset { connector: "inventory".to_owned(), position }),
    };
    log.append(append).await.unwrap();
    let known = log.source_offsets("inventory").await.unwrap();
    assert_eq!(known, [Position { partition: partition.clone(), offset }]);
    assert!(log.source_offsets("other").await.unwrap().is_empty());

    let offsets = format!("{group}-offsets");
    let address = service("LATTICE_TEST_KAFKA");
    let printed = kafka_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        &[
            "--bootstrap-server",
            &address,
            "--topic",
            &offsets,
            "--from-beginning",
            "--max-messages",
            "1",
            "--timeout-ms",
            "20000",
            "--formatter-property",
            "print.key=true",
        ],
    );
    assert_eq!(
        printed.trim(),
        "[\"inventory\",{\"server\":\"shop\"}]\t{\"lsn\":24023128,\"txId\":555}"
    );

    // Another process goes on where the first one was.
    let other = open_at(&address, &group).await;
    assert_eq!(other.source_offsets("inventory").await.unwrap().len(), 1);
    let moved = map(json!({ "lsn": 1 }));
    other
        .set_source_offsets("inventory", vec![(partition.clone(), Some(moved.clone()))])
        .await
        .unwrap();
    assert_eq!(log.source_offsets("inventory").await.unwrap()[0].offset, moved);
    log.set_source_offsets("inventory", vec![(partition, None)]).await.unwrap();
    assert!(other.source_offsets("inventory").await.unwrap().is_empty());
}

#[tokio::test]
async fn keys_that_somebody_else_wrote_are_used_again() {
    let (log, group) = open_alone().await;
    // Kafka Connect writes the partition's fields in an order of its own.
    let key = br#"["wide",{"server":"shop","database":"db"}]"#;
    let mut builder = BatchSetBuilder::new(Box::new(|_| 3), Compression::None);
    let topic = builder.topic(&format!("{group}-offsets"));
    let value: &[u8] = br#"{"lsn":1}"#;
    let foreign =
        RecordRef { key: Some(key), value: Some(value), headers: &[], timestamp_ms: now_ms() };
    builder.append(topic, None, foreign);
    let batch = builder.finish().remove(0).compress().unwrap();
    log.append(request(vec![batch])).await.unwrap();
    let partition = map(json!({ "database": "db", "server": "shop" }));
    let offset = map(json!({ "lsn": 2 }));
    log.set_source_offsets("wide", vec![(partition, Some(offset.clone()))]).await.unwrap();
    let known = log.source_offsets("wide").await.unwrap();
    assert_eq!(known.len(), 1, "the same partition under the same key");
    assert_eq!(known[0].offset, offset);
}

#[tokio::test]
async fn documents_are_kept_and_connectors_are_kafka_connects_records() {
    let (log, group) = open_alone().await;
    let store = log.documents();
    let bytes = |text: &str| Some(Bytes::from(text.to_owned()));
    store
        .put("schemas", vec![("b".to_owned(), bytes("2")), ("a".to_owned(), bytes("1"))])
        .await
        .unwrap();
    let config = r#"{"properties":{"name":"shop"}}"#;
    store.put("connector-configs", vec![("shop".to_owned(), bytes(config))]).await.unwrap();
    let state = r#"{"state":"PAUSED","state.v2":"STOPPED"}"#;
    store.put("connector-states", vec![("shop".to_owned(), bytes(state))]).await.unwrap();
    let scanned = store.scan("schemas").await.unwrap();
    assert_eq!(scanned.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["a", "b"]);
    let configs = store.scan("connector-configs").await.unwrap();
    assert_eq!(configs, [("shop".to_owned(), Bytes::from(config))]);

    let address = service("LATTICE_TEST_KAFKA");
    let kept: Vec<(i64, String)> = read_all(log.as_ref(), &format!("{group}-configs"), 0).await;
    assert_eq!(kept, [(0, config.to_owned()), (1, state.to_owned())]);

    let other = open_at(&address, &group).await.documents();
    assert_eq!(other.scan("connector-states").await.unwrap()[0].1, Bytes::from(state));
    store.put("schemas", vec![("a".to_owned(), None)]).await.unwrap();
    assert_eq!(other.scan("schemas").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_cluster_that_is_down_is_waited_for_and_then_told() {
    let port = lattice_testkit::free_port();
    let mut options = KafkaOptions::new(format!("127.0.0.1:{port}"));
    options.start_timeout = Duration::from_millis(300);
    let error = KafkaLog::open(options).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Transient);
    assert!(error.chain().contains(&format!("127.0.0.1:{port}")), "{}", error.chain());
}
