//! What Kafka's own console tools write and read, with every codec.

use std::time::Duration;

use lattice_core::record::{RecordRef, RecordSink as _};
use lattice_log::{
    BatchSetBuilder, Compression, Log as _, RecordBatchReader, TopicConfig, TopicPartition,
};
use lattice_testkit::{kafka_tool, kafka_tool_with_input, service};

use crate::kafka::{now_ms, open, read_all, request, unique};

#[tokio::test]
async fn the_console_consumer_reads_what_is_written() {
    let log = open().await;
    let topic = unique("console");
    for codec in Compression::ALL {
        let mut builder = BatchSetBuilder::new(Box::new(|_| 1), codec);
        let handle = builder.topic(&topic);
        for number in 0..100 {
            let value = format!("{} {number} {}", codec.as_str(), "x".repeat(50));
            let record = RecordRef {
                key: Some(b"k"),
                value: Some(value.as_bytes()),
                headers: &[],
                timestamp_ms: now_ms(),
            };
            builder.append(handle, None, record);
        }
        let batches = builder.finish().into_iter().map(|raw| raw.compress().unwrap()).collect();
        log.append(request(batches)).await.unwrap();
    }
    let address = service("LATTICE_TEST_KAFKA");
    let printed = kafka_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        &[
            "--bootstrap-server",
            &address,
            "--topic",
            &topic,
            "--from-beginning",
            "--max-messages",
            "500",
            "--timeout-ms",
            "20000",
        ],
    );
    assert_eq!(printed.lines().count(), 500);
    for codec in Compression::ALL {
        let last = format!("{} 99 ", codec.as_str());
        assert!(printed.lines().any(|line| line.starts_with(&last)), "{last}");
    }
}

#[tokio::test]
async fn what_the_console_producer_packs_is_read() {
    let (log, topic) = (open().await, unique("packed"));
    log.create_topic(&topic, TopicConfig::default()).await.unwrap();
    let address = service("LATTICE_TEST_KAFKA");
    let lines = |codec: &str| -> Vec<String> {
        (0..2000).map(|number| format!("{codec} {number} {}", "x".repeat(50))).collect()
    };
    let mut expected = Vec::new();
    for codec in ["gzip", "snappy"] {
        let lines = lines(codec);
        kafka_tool_with_input(
            "org.apache.kafka.tools.ConsoleProducer",
            &[
                "--bootstrap-server",
                &address,
                "--topic",
                &topic,
                "--compression-codec",
                codec,
                "--batch-size",
                "200000",
            ],
            &lines.join("\n"),
        );
        expected.extend(lines);
    }
    let place = TopicPartition::new(&*topic, 0);
    let fetched = log.fetch(vec![(place, 0)], 1 << 20, Duration::from_secs(5)).await.unwrap();
    let packed = RecordBatchReader::new(&fetched[0].bytes).unwrap().compression();
    assert_eq!(packed, Compression::Gzip);
    let read = read_all(log.as_ref(), &topic, 0).await;
    assert_eq!(read.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), expected);
}
