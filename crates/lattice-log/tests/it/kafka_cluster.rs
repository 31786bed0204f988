//! Three brokers, of which some are killed under load: nothing is lost, nothing is there twice.

use std::{sync::Arc, time::Duration};

use lattice_log::{KafkaLog, Log as _, TopicConfig};
use lattice_testkit::{KafkaCluster, kafka_tool, wait_until};
use tokio::task::JoinHandle;

use crate::{
    kafka::{open_at, read_all, unique},
    kafka_faults::{append_numbers, assert_numbers},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// The number behind a word in what a tool printed.
fn number_behind(printed: &str, word: &str) -> usize {
    let rest = printed.split_once(word).map(|(_, rest)| rest.trim_start()).unwrap_or_default();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number behind {word} in {printed}"))
}

/// The broker that leads the topic's partition.
fn leader(address: &str, topic: &str) -> usize {
    let arguments = ["--bootstrap-server", address, "--describe", "--topic", topic];
    number_behind(&kafka_tool("org.apache.kafka.tools.TopicCommand", &arguments), "Leader:")
}

/// The broker whose controller leads.
fn controller(address: &str, _topic: &str) -> usize {
    let arguments = ["--bootstrap-server", address, "describe", "--status"];
    let printed = kafka_tool("org.apache.kafka.tools.MetadataQuorumCommand", &arguments);
    number_behind(&printed, "LeaderId:")
}

fn writing(log: &Arc<KafkaLog>, topic: &str, numbers: std::ops::Range<u32>) -> JoinHandle<()> {
    let (log, topic) = (Arc::clone(log), topic.to_owned());
    tokio::spawn(async move { append_numbers(log.as_ref(), &topic, numbers).await })
}

async fn end(log: &KafkaLog, topic: &str) -> i64 {
    let info = log.topic(topic).await.ok().flatten();
    info.and_then(|info| info.partitions.first().map(|place| place.end_offset)).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_leaders_and_controllers_lose_and_double_nothing() {
    let mut cluster = KafkaCluster::start().await;
    let address = cluster.address();
    let log = open_at(&address, "cluster").await;
    let topic = unique("numbers");
    log.create_topic(&topic, TopicConfig::default()).await.unwrap();
    append_numbers(log.as_ref(), &topic, 0..100).await;

    let mut written = 100;
    for find in [leader, controller] {
        let who = find(&address, &topic);
        let load = writing(&log, &topic, written..written + 1000);
        let reached = i64::from(written) + 100;
        wait_until(PATIENCE, "some records", async || end(&log, &topic).await > reached).await;
        cluster.broker(who).kill();
        load.await.unwrap();
        written += 1000;
        cluster.broker(who).start_again().await;
    }
    assert_numbers(&read_all(log.as_ref(), &topic, 0).await, 2100);
}
