//! A writer is killed again and again; nothing acknowledged may be missing.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use lattice_core::{
    position::Position,
    record::{RecordRef, RecordSink as _},
};
use lattice_log::{
    AppendRequest, BatchSetBuilder, Compression, EmbeddedLog, EmbeddedOptions, Log as _,
    RecordBatchReader, SourceOffset, TopicPartition,
};
use serde_json::{Map, json};

/// Names the folder; set in the child only.
const FOLDER: &str = "LATTICE_LOG_CRASH_FOLDER";

/// Streams that write side by side, so that their requests share transactions.
const STREAMS: usize = 4;

/// How often the writer is killed.
const ROUNDS: usize = 20;

/// The child: appends numbers for ever, and says each that was acknowledged.
#[test]
fn writer_until_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let log = EmbeddedLog::open(EmbeddedOptions::new(folder)).expect("the log opens");
        let mut streams = tokio::task::JoinSet::new();
        for stream in 0..STREAMS {
            streams.spawn(write_stream(Arc::clone(&log), stream));
        }
        streams.join_all().await;
    });
}

async fn write_stream(log: Arc<EmbeddedLog>, stream: usize) {
    let name = format!("stream{stream}");
    let info = log.topic(&name).await.expect("topics can be read");
    let mut next = info.map_or(0, |info| info.partitions[0].end_offset);
    // A value that fills several pages, so that a kill hits in the middle of one transaction.
    let mut value = vec![stream as u8; 40_000];
    loop {
        let mut builder = BatchSetBuilder::new(Box::new(|_| 1), Compression::None);
        let topic = builder.topic(&name);
        for _ in 0..3 {
            value[..8].copy_from_slice(&next.to_be_bytes());
            builder.append(topic, None, RecordRef { value: Some(&value), ..RecordRef::default() });
            next += 1;
        }
        let batches = builder.finish().into_iter().map(|batch| batch.compress().expect("packs"));
        let position = Position { partition: Map::new(), offset: object(next) };
        let request = AppendRequest {
            batches: batches.collect(),
            source_offset: Some(SourceOffset { connector: name.clone(), position }),
        };
        log.append(request).await.expect("an append succeeds");
        let line = format!("acknowledged {stream} {next}\n");
        std::io::stdout().lock().write_all(line.as_bytes()).expect("the parent listens");
    }
}

fn object(next: i64) -> Map<String, serde_json::Value> {
    json!({ "next": next }).as_object().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_killed_writer_loses_nothing_acknowledged_and_leaves_no_half_request() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut acknowledged = HashMap::new();
    for round in 0..ROUNDS {
        // Kills fall early and late in the life of the file and of its write-ahead log.
        write_and_kill(folder.path(), 1 + round * 17 % 90, &mut acknowledged);
        check(folder.path(), &acknowledged).await;
    }
    let least = acknowledged.values().min().copied();
    assert!(least > Some(0), "every stream got something acknowledged: {acknowledged:?}");
}

/// Runs the child until it has acknowledged some appends, and kills it in the middle of others.
fn write_and_kill(folder: &Path, appends: usize, acknowledged: &mut HashMap<usize, i64>) {
    let mut child = Command::new(std::env::current_exe().expect("the test knows its file"))
        .args(["--exact", "crash::writer_until_killed", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
    let mut note = |line: &str| {
        let mut words = line.split(' ').skip_while(|word| !word.ends_with("acknowledged")).skip(1);
        let stream = words.next().and_then(|word| word.parse().ok());
        let next = words.next().and_then(|word| word.parse().ok());
        let (Some(stream), Some(next)) = (stream, next) else { return false };
        acknowledged.insert(stream, next);
        true
    };
    let mut heard = 0;
    while heard < appends {
        let line = lines.next().expect("the child goes on").expect("its output is text");
        heard += usize::from(note(&line));
    }
    child.kill().expect("the child can be killed");
    // What it said before it died counts as well; a last line may be cut.
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    let whole = rest.len().saturating_sub(1);
    for line in &rest[..whole] {
        note(line);
    }
    child.wait().expect("the child has ended");
}

async fn check(folder: &Path, acknowledged: &HashMap<usize, i64>) {
    let log = EmbeddedLog::open(EmbeddedOptions::new(folder)).expect("the log opens after a kill");
    for stream in 0..STREAMS {
        let name = format!("stream{stream}");
        let said = acknowledged.get(&stream).copied().unwrap_or(0);
        let read = read_all(&log, &name).await;
        assert!(read >= said, "{name}: {said} were acknowledged, {read} are there");
        let positions = log.source_offsets(&name).await.expect("offsets can be read");
        let offset = positions.first().map(|position| position.offset.clone());
        assert_eq!(offset, (read > 0).then(|| object(read)), "{name}: the offset fits the records");
    }
    log.close().await.expect("the log closes");
}

/// Reads a topic from its start, checks that offsets and numbers are without a gap, counts.
async fn read_all(log: &EmbeddedLog, name: &str) -> i64 {
    let mut next = 0;
    loop {
        let from = vec![(TopicPartition::new(name, 0), next)];
        let batches = log.fetch(from, 4 << 20, Duration::ZERO).await.expect("batches can be read");
        if batches.is_empty() {
            return next;
        }
        for stored in batches {
            assert_eq!(stored.base_offset, next);
            let reader = RecordBatchReader::new(&stored.bytes).expect("the batch is whole");
            for record in reader.read().expect("its records are whole").iter() {
                let value = record.value().expect("it has a value");
                assert_eq!(record.offset(), next);
                assert_eq!(value[..8], next.to_be_bytes());
                next += 1;
            }
            assert_eq!(stored.last_offset + 1, next);
        }
    }
}
