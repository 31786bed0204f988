use lattice_core::record::{RecordRef, RecordSink};
use serde_json::json;

use super::*;
use crate::{
    model::{Compression, EncodedBatch, SourceOffset},
    record_batch::{BatchSetBuilder, RecordBatchReader},
};

fn batch(topic: &str, values: &[&[u8]], timestamp_ms: i64) -> EncodedBatch {
    let mut builder = BatchSetBuilder::new(Box::new(|_| 1), Compression::Lz4);
    let handle = builder.topic(topic);
    for value in values {
        let record = RecordRef { value: Some(value), timestamp_ms, ..RecordRef::default() };
        builder.append(handle, None, record);
    }
    builder.finish().remove(0).compress().unwrap()
}

fn request(batches: Vec<EncodedBatch>) -> AppendRequest {
    AppendRequest { batches, source_offset: None }
}

fn place(topic: &str) -> TopicPartition {
    TopicPartition { topic: topic.into(), partition: 0 }
}

const NOW: Duration = Duration::ZERO;

#[tokio::test]
async fn what_was_appended_is_read_back_and_survives_a_new_start() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    assert_eq!(log.append(request(vec![batch("t", &[b"a", b"b"], 1)])).await.unwrap(), [0]);
    let both = request(vec![batch("t", &[b"c"], 2), batch("u", &[b"d"], 2)]);
    assert_eq!(log.append(both).await.unwrap(), [2, 0]);
    log.close().await.unwrap();
    drop(log);
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let batches = log.fetch(vec![(place("t"), 1)], 1 << 20, NOW).await.unwrap();
    let mut values = Vec::new();
    for stored in &batches {
        let reader = RecordBatchReader::new(&stored.bytes).unwrap();
        for record in &reader.records {
            values.push((record.offset, record.value.unwrap().of(&reader.data).to_vec()));
        }
    }
    assert_eq!(values, [(0, b"a".to_vec()), (1, b"b".to_vec()), (2, b"c".to_vec())]);
    let info = log.topic("t").await.unwrap().unwrap();
    assert_eq!((info.partitions[0].end_offset, info.partitions[0].records), (3, 3));
    assert!(log.fetch(vec![(place("t"), 3)], 1 << 20, NOW).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_waiting_fetch_wakes_at_the_append() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let reading = tokio::spawn({
        let log = Arc::clone(&log);
        async move { log.fetch(vec![(place("t"), 0)], 1 << 20, Duration::from_secs(60)).await }
    });
    log.append(request(vec![batch("t", &[b"a"], 1)])).await.unwrap();
    assert_eq!(reading.await.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn records_and_source_offset_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let position = Position {
        partition: json!({"server":"s"}).as_object().unwrap().clone(),
        offset: json!({"lsn": 7}).as_object().unwrap().clone(),
    };
    let source_offset = Some(SourceOffset { connector: "c".to_owned(), position: position.clone() });
    log.append(AppendRequest { batches: vec![batch("t", &[b"a"], 1)], source_offset }).await.unwrap();
    assert_eq!(log.source_offsets("c").await.unwrap(), [position.clone()]);
    log.set_source_offsets("c", vec![(position.partition, None)]).await.unwrap();
    assert!(log.source_offsets("c").await.unwrap().is_empty());
}

#[tokio::test]
async fn consumer_offsets_are_kept_until_they_or_the_topic_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    log.append(request(vec![batch("t", &[b"a"], 1)])).await.unwrap();
    log.commit_offsets("g", vec![(place("t"), 1), (place("u"), 5)]).await.unwrap();
    log.commit_offsets("g", vec![(place("u"), 6)]).await.unwrap();
    assert_eq!(
        log.committed_offsets("g").await.unwrap(),
        [(place("t"), 1), (place("u"), 6)]
    );
    assert!(log.delete_topic("t").await.unwrap());
    assert_eq!(log.committed_offsets("g").await.unwrap(), [(place("u"), 6)]);
    assert_eq!(log.groups().await.unwrap(), ["g"]);
    log.delete_offsets("g", None).await.unwrap();
    assert!(log.groups().await.unwrap().is_empty());
}

#[tokio::test]
async fn old_and_superfluous_records_go_and_offsets_stay() {
    let folder = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { retention_check: NOW, ..EmbeddedOptions::new(folder.path()) };
    let log = EmbeddedLog::open(options.clone()).unwrap();
    let config = TopicConfig { retention_ms: Some(1000), ..TopicConfig::default() };
    assert!(log.create_topic("old", config).await.unwrap());
    let now = SystemTimeMs::now();
    log.append(request(vec![batch("old", &[b"a", b"b"], 5)])).await.unwrap();
    log.append(request(vec![batch("old", &[b"c"], now + 3_600_000)])).await.unwrap();
    // Retention follows the commit on the writer's thread: the next answer comes after it.
    log.commit_offsets("g", vec![]).await.unwrap();
    log.commit_offsets("g", vec![]).await.unwrap();
    let info = log.topic("old").await.unwrap().unwrap().partitions[0];
    assert_eq!((info.log_start_offset, info.end_offset, info.records), (2, 3, 1));
    log.close().await.unwrap();
    drop(log);
    let log = EmbeddedLog::open(options).unwrap();
    let info = log.topic("old").await.unwrap().unwrap().partitions[0];
    assert_eq!((info.log_start_offset, info.end_offset, info.records), (2, 3, 1));
}

struct SystemTimeMs;

impl SystemTimeMs {
    fn now() -> i64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(now.as_millis()).unwrap()
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_passes_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let limit = EmbeddedOptions {
        max_file_bytes: Some(1 << 20),
        ..EmbeddedOptions::new(folder.path())
    };
    let log = EmbeddedLog::open(limit).unwrap();
    let noise: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut stored = 0;
    let error = loop {
        match log.append(request(vec![batch("t", &[&noise], 1)])).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), lattice_core::ErrorKind::Transient);
    assert!(error.chain().contains("is full"), "{}", error.chain());
    assert!(!log.health().writable);
    log.delete_topic("t").await.expect_err("a full file cannot even be cleaned while no page is free");
    log.close().await.unwrap();
    drop(log);
    // Room again: a larger limit.
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let info = log.topic("t").await.unwrap().unwrap().partitions[0];
    assert_eq!(info.end_offset, stored, "what was acknowledged is there, and nothing else");
    log.append(request(vec![batch("t", &[&noise], 1)])).await.unwrap();
    assert!(log.health().writable);
}

#[tokio::test]
async fn what_is_wrong_with_the_folder_is_said_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let second = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).err().unwrap();
    assert!(second.chain().contains("in use by another process"), "{}", second.chain());
    log.close().await.unwrap();
    drop(log);
    std::fs::write(folder.path().join(file::NAME), b"this is no database at all, far from it").unwrap();
    let damaged = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).err().unwrap();
    assert_eq!(damaged.kind(), lattice_core::ErrorKind::Fatal);
    assert!(damaged.chain().contains("is damaged") && damaged.remedy().is_some());
    let other = rusqlite::Connection::open(folder.path().join("other.db")).unwrap();
    other.execute_batch("PRAGMA user_version = 9; PRAGMA application_id = 0x4c415454").unwrap();
    drop(other);
    std::fs::rename(folder.path().join("other.db"), folder.path().join(file::NAME)).unwrap();
    let newer = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).err().unwrap();
    assert!(newer.chain().contains("format version 9"), "{}", newer.chain());
}

#[tokio::test]
async fn names_and_settings_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    for name in ["", ".", "a b", "ä", &"x".repeat(250)] {
        let error = log.create_topic(name, TopicConfig::default()).await.unwrap_err();
        assert_eq!(error.kind(), lattice_core::ErrorKind::Config, "{name}");
    }
    let config = TopicConfig { partitions: 0, ..TopicConfig::default() };
    assert!(log.create_topic("t", config).await.is_err());
    assert!(log.create_topic("t", TopicConfig::default()).await.unwrap());
    assert!(!log.create_topic("t", TopicConfig::default()).await.unwrap());
}

#[tokio::test]
async fn documents_are_written_all_or_none_and_scanned_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let store = log.documents();
    let document = |name: &str, text: &'static str| {
        (name.to_owned(), Some(Bytes::from_static(text.as_bytes())))
    };
    store.put("n", vec![document("b", "2"), document("a", "1")]).await.unwrap();
    store.put("m", vec![document("c", "3")]).await.unwrap();
    store.put("n", vec![("b".to_owned(), None), document("d", "4")]).await.unwrap();
    let found = store.scan("n").await.unwrap();
    let found: Vec<_> = found.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    assert_eq!(found, [("a", &b"1"[..]), ("d", b"4")]);
}
