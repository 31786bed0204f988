//! Exactly once on a real Kafka broker: whatever is killed, each row is in the topic once for readers of what is committed.

use std::{collections::BTreeMap, time::Duration};

use lattice_log::{KafkaLog, KafkaOptions, Log as _};
use lattice_testkit::{LatticeProcess, PostgresDatabase, kafka_tool, service, wait_until};
use serde_json::Value;

use crate::{PATIENCE, set, source_config};

struct Capture {
    source: PostgresDatabase,
    lattice: LatticeProcess,
    kafka: String,
    group: String,
    topic: String,
    _settings: tempfile::TempDir,
}

impl Capture {
    /// A source on a worker with transactions; a table, captured as JSON.
    async fn start(name: &str, extra: &[(&str, &str)]) -> Self {
        let source = PostgresDatabase::create(&service("LATTICE_TEST_PG15"), name).await;
        source.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)").await;
        let settings = tempfile::tempdir().expect("a temporary folder");
        let file = settings.path().join("worker.properties");
        std::fs::write(&file, "exactly.once.source.support=enabled\n").expect("a file");
        let kafka = service("LATTICE_TEST_KAFKA");
        let group = format!("g-{}", source.name());
        let arguments = ["--bootstrap-servers", &kafka, "--group-id", &group, "--worker-config"];
        let mut arguments = arguments.to_vec();
        let path = file.display().to_string();
        arguments.push(&path);
        let lattice = LatticeProcess::start_with(&arguments, &[]).await;
        let topic = format!("{}.public.orders", source.name());
        let prefix = source.name().to_owned();
        let capture = Self { source, lattice, kafka, group, topic, _settings: settings };
        let json = "org.apache.kafka.connect.json.JsonConverter";
        let mut config = source_config(&capture.source, extra);
        let more = [
            ("topic.prefix", prefix.as_str()),
            ("key.converter", json),
            ("value.converter", json),
            ("key.converter.schemas.enable", "false"),
            ("value.converter.schemas.enable", "false"),
            ("exactly.once.support", "required"),
        ];
        set(&mut config, &more);
        capture.lattice.create_connector("source", config).await;
        capture
    }

    /// How often each row is in the topic, for a reader of what is committed: Kafka's own.
    fn rows(&self) -> BTreeMap<i64, usize> {
        let printed = kafka_tool(
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            &[
                "--bootstrap-server",
                &self.kafka,
                "--topic",
                &self.topic,
                "--from-beginning",
                "--isolation-level",
                "read_committed",
                "--timeout-ms",
                "4000",
            ],
        );
        let mut rows = BTreeMap::new();
        for line in printed.lines() {
            let record: Value = serde_json::from_str(line).unwrap_or_default();
            if let Some(id) = record["after"]["id"].as_i64() {
                *rows.entry(id).or_default() += 1;
            }
        }
        rows
    }

    /// Waits until exactly these rows are there, once each.
    async fn once(&self, wanted: &BTreeMap<i64, usize>) {
        wait_until(PATIENCE, "each row once", async || {
            let rows = self.rows();
            let twice: Vec<_> = rows.iter().filter(|(_, count)| **count > 1).collect();
            assert!(twice.is_empty(), "more than once: {twice:?}");
            rows == *wanted
        })
        .await;
    }

    async fn end(&self) -> u64 {
        let path = format!("/api/v1/topics/{}", self.topic);
        let answer = self.lattice.request("GET", &path, None).await;
        let partitions = answer.body["partitions"].as_array().cloned().unwrap_or_default();
        partitions.iter().filter_map(|one| one["end_offset"].as_u64()).sum()
    }

    async fn insert(&self, from: u32, to: u32) {
        // A transaction for each row: as many places to be killed at.
        let statements =
            (from..=to).map(|id| format!("INSERT INTO orders VALUES ({id}, 'n{id}');"));
        for chunk in statements.collect::<Vec<_>>().chunks(50) {
            self.source.execute(&format!("BEGIN; {} COMMIT", chunk.concat())).await;
        }
    }
}

#[tokio::test]
async fn killed_in_the_middle_every_row_is_there_once() {
    let mut capture = Capture::start("eos_kill", &[]).await;
    capture.lattice.wait_running("source").await;
    for round in 0..3 {
        let before = capture.end().await;
        capture.insert(round * 500 + 1, round * 500 + 500).await;
        // Killed as soon as something of it arrives: most of it is under way.
        wait_until(PATIENCE, "records of the round", async || capture.end().await > before).await;
        capture.lattice.kill();
        capture.lattice.start_again().await;
    }
    capture.insert(1501, 1501).await;
    let wanted: BTreeMap<i64, usize> = (1..=1501).map(|id| (id, 1)).collect();
    capture.once(&wanted).await;
}

#[tokio::test]
async fn transactions_that_end_by_the_clock_lose_and_double_nothing() {
    let by_clock =
        [("transaction.boundary", "interval"), ("transaction.boundary.interval.ms", "300")];
    let mut capture = Capture::start("eos_clock", &by_clock).await;
    capture.lattice.wait_running("source").await;
    capture.insert(1, 200).await;
    wait_until(PATIENCE, "records", async || capture.end().await > 0).await;
    capture.lattice.kill();
    capture.lattice.start_again().await;
    capture.insert(201, 300).await;
    let wanted: BTreeMap<i64, usize> = (1..=300).map(|id| (id, 1)).collect();
    capture.once(&wanted).await;
}

#[tokio::test]
async fn a_task_whose_id_somebody_else_has_fails_and_says_why() {
    let capture = Capture::start("eos_zombie", &[]).await;
    capture.lattice.wait_running("source").await;
    capture.insert(1, 50).await;
    wait_until(PATIENCE, "the first rows", async || capture.end().await >= 50).await;
    let options =
        KafkaOptions { group_id: capture.group.clone(), ..KafkaOptions::new(&capture.kafka) };
    let other = KafkaLog::open(options).await.unwrap();
    let taken = other.transactions("source", 0, Duration::from_secs(60)).await.unwrap();
    assert!(taken.is_some());
    capture.insert(51, 60).await;
    let trace = capture.lattice.wait_failed("source").await;
    assert!(trace.contains("transactional id"), "{trace}");
    let rows = capture.rows();
    assert!(rows.keys().all(|id| *id <= 50), "written by a fenced task: {rows:?}");
}
