use bytes::Bytes;
use lattice_core::record::{RecordRef, RecordSink};
use serde_json::json;

use super::*;
use crate::{
    log::{EncodedBatch, SourceOffset},
    record_batch::{BatchSetBuilder, Compression, RecordBatchReader},
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
        let set = RecordBatchReader::new(&stored.bytes).unwrap().read().unwrap();
        for record in set.iter() {
            values.push((record.offset(), record.value().unwrap().to_vec()));
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_reads_beyond_the_end_that_the_topic_tells() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let writing = tokio::spawn({
        let log = Arc::clone(&log);
        async move {
            for _ in 0..400 {
                log.append(request(vec![batch("t", &[b"a"], 1)])).await.unwrap();
            }
        }
    });
    let mut next = 0;
    while next < 400 {
        let wait = Duration::from_secs(60);
        for stored in log.fetch(vec![(place("t"), next)], 1 << 20, wait).await.unwrap() {
            next = stored.last_offset + 1;
        }
        // What a consumer compares its position with; an end before it looks like a new topic.
        let end = log.topic("t").await.unwrap().unwrap().partitions[0].end_offset;
        assert!(next <= end, "read to {next}, the topic says it ends at {end}");
    }
    writing.await.unwrap();
}

#[tokio::test]
async fn records_and_source_offset_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let position = Position {
        partition: json!({"server":"s"}).as_object().unwrap().clone(),
        offset: json!({"lsn": 7}).as_object().unwrap().clone(),
    };
    let source_offset =
        Some(SourceOffset { connector: "c".to_owned(), position: position.clone() });
    log.append(AppendRequest { batches: vec![batch("t", &[b"a"], 1)], source_offset })
        .await
        .unwrap();
    assert_eq!(log.source_offsets("c").await.unwrap(), std::slice::from_ref(&position));
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
    assert_eq!(log.committed_offsets("g").await.unwrap(), [(place("t"), 1), (place("u"), 6)]);
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

/// Bytes that no codec makes smaller.
fn noise() -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(step).take(200_000).collect()
}

#[tokio::test]
async fn a_full_disk_is_said_and_passes_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let limit =
        EmbeddedOptions { max_file_bytes: Some(8 << 20), ..EmbeddedOptions::new(folder.path()) };
    let log = EmbeddedLog::open(limit).unwrap();
    let noise = noise();
    for _ in 0..10 {
        log.append(request(vec![batch("other", &[&noise], 1)])).await.unwrap();
    }
    let mut stored = 0;
    let error = loop {
        match log.append(request(vec![batch("t", &[&noise], 1)])).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), lattice_core::ErrorKind::Transient);
    assert!(error.chain().contains("log disk is full"), "{}", error.chain());
    assert!(error.remedy().is_some() && !log.health().writable);
    // Room again: somebody deletes a topic, and the next append succeeds.
    assert!(log.delete_topic("other").await.unwrap());
    let base = log.append(request(vec![batch("t", &[&noise], 1)])).await.unwrap();
    assert_eq!(base, [stored], "the failed append left nothing behind");
    assert_eq!(log.health(), LogHealth { writable: true, message: None, ..log.health() });
}

#[tokio::test]
async fn a_disk_at_its_reserve_takes_no_records_but_lets_topics_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    log.append(request(vec![batch("t", &[b"a"], 1)])).await.unwrap();
    log.close().await.unwrap();
    drop(log);
    let full = EmbeddedOptions { reserve_bytes: u64::MAX, ..EmbeddedOptions::new(folder.path()) };
    let log = EmbeddedLog::open(full).unwrap();
    let error = log.append(request(vec![batch("t", &[b"b"], 1)])).await.unwrap_err();
    assert!(error.chain().contains("log disk is full"), "{}", error.chain());
    log.commit_offsets("g", vec![(place("t"), 1)]).await.unwrap();
    assert!(log.delete_topic("t").await.unwrap());
    assert!(!log.health().writable);
}

#[tokio::test]
async fn a_deleted_topic_gives_its_room_back_to_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let huge: Vec<u8> = std::iter::repeat_with(noise).take(300).flatten().collect();
    log.append(request(vec![batch("t", &[&huge], 1)])).await.unwrap();
    assert!(log.delete_topic("t").await.unwrap());
    let deadline = Instant::now() + Duration::from_secs(60);
    while log.health().bytes > 60 << 20 {
        assert!(Instant::now() < deadline, "the log still takes {}", log.health().bytes);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_full_disk_is_found_free_again_without_an_append() {
    let folder = tempfile::tempdir().unwrap();
    let limit =
        EmbeddedOptions { max_file_bytes: Some(8 << 20), ..EmbeddedOptions::new(folder.path()) };
    let log = EmbeddedLog::open(limit).unwrap();
    let huge: Vec<u8> = std::iter::repeat_with(noise).take(60).flatten().collect();
    let full = log.append(request(vec![batch("t", &[&huge], 1)])).await;
    assert!(full.unwrap_err().chain().contains("log disk is full"));
    let deadline = Instant::now() + Duration::from_secs(20);
    while !log.health().writable {
        assert!(Instant::now() < deadline, "the writer does not try again");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn one_bad_request_does_not_take_its_neighbours_down() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let bad = EncodedBatch { partition: 7, ..batch("t", &[b"x"], 1) };
    let (good, refused, also_good) = tokio::join!(
        log.append(request(vec![batch("t", &[b"a"], 1)])),
        log.append(request(vec![bad])),
        log.append(request(vec![batch("t", &[b"b"], 1)])),
    );
    let refused = refused.unwrap_err();
    assert!(refused.chain().contains("topic t has no partition 7"), "{}", refused.chain());
    assert_eq!((good.unwrap(), also_good.unwrap()), (vec![0], vec![1]));
    assert!(log.health().writable);
}

#[tokio::test]
async fn an_offset_beyond_the_end_is_an_error_and_no_endless_wait() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    log.append(request(vec![batch("t", &[b"a"], 1)])).await.unwrap();
    let error = log.fetch(vec![(place("t"), 2)], 1 << 20, NOW).await.unwrap_err();
    assert!(error.chain().contains("offset 2 of t-0 is beyond its end 1"), "{}", error.chain());
}

#[tokio::test]
async fn a_fetch_keeps_to_its_size_and_no_partition_starves() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let noise = noise();
    for _ in 0..10 {
        for topic in ["t", "u"] {
            log.append(request(vec![batch(topic, &[&noise], 1)])).await.unwrap();
        }
    }
    let from = vec![(place("t"), 0), (place("u"), 0)];
    let found = log.fetch(from.clone(), 1_000_000, NOW).await.unwrap();
    let total: usize = found.iter().map(|stored| stored.bytes.len()).sum();
    assert!(total <= 1_000_000 && total > 600_000, "{total}");
    assert!(found.iter().any(|stored| stored.partition == place("u")));
    let least = log.fetch(from, 1, NOW).await.unwrap();
    assert_eq!(least.len(), 1, "a batch larger than asked for still comes");
}

#[tokio::test]
async fn a_damaged_batch_and_a_cut_file_are_said_with_file_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let noise = noise();
    log.append(request(vec![batch("t", &[&noise], 1)])).await.unwrap();
    log.close().await.unwrap();
    let path = log.file().to_owned();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() - 100_000;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let error = log.fetch(vec![(place("t"), 0)], 1 << 20, NOW).await.err().unwrap();
    assert_eq!(error.kind(), lattice_core::ErrorKind::Fatal);
    assert!(error.chain().contains("lattice.db is damaged at t-0 offset 0"), "{}", error.chain());
    assert!(error.remedy().is_some());
    log.close().await.unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).err().unwrap();
    assert!(error.chain().contains("lattice.db is damaged: it has"), "{}", error.chain());
}

#[tokio::test]
async fn what_is_wrong_with_the_folder_is_said_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).unwrap();
    let second = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).err().unwrap();
    assert!(second.chain().contains("in use by another process"), "{}", second.chain());
    log.close().await.unwrap();
    drop(log);
    std::fs::write(folder.path().join(file::NAME), b"this is no database at all, far from it")
        .unwrap();
    let damaged = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).err().unwrap();
    assert_eq!(damaged.kind(), lattice_core::ErrorKind::Fatal);
    assert!(damaged.chain().contains("is damaged") && damaged.remedy().is_some());
    let other = rusqlite::Connection::open(folder.path().join("other.db")).unwrap();
    other.execute_batch("PRAGMA user_version = 9; PRAGMA application_id = 0x4c415454").unwrap();
    drop(other);
    std::fs::rename(folder.path().join("other.db"), folder.path().join(file::NAME)).unwrap();
    let newer = EmbeddedLog::open(EmbeddedOptions::new(folder.path())).err().unwrap();
    assert_eq!(newer.kind(), lattice_core::ErrorKind::Config);
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
