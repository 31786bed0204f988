//! Brokers that are killed, and connections that break: nothing is lost, nothing is there twice.

use std::{sync::Arc, time::Duration};

use lattice_log::Log as _;
use lattice_testkit::{KafkaBroker, KafkaBrokerOptions, TcpProxy, free_port, wait_until};

use crate::kafka::{open_at, read_all, records, request, unique};

/// Appends one number after the other, each until it is taken, as the runtime does.
pub(crate) async fn append_numbers(
    log: &dyn lattice_log::Log,
    topic: &str,
    numbers: std::ops::Range<u32>,
) {
    for number in numbers {
        let batch = records(topic, 0, [format!("{number}")]);
        while let Err(error) = log.append(request(vec![batch.clone()])).await {
            assert_eq!(error.kind(), lattice_core::ErrorKind::Transient, "{}", error.chain());
        }
    }
}

/// All numbers once, in order; the first place where they are not is told.
pub(crate) fn assert_numbers(found: &[(i64, String)], count: usize) {
    let wrong = found
        .iter()
        .zip(0_i64..)
        .find(|((offset, value), number)| offset != number || *value != number.to_string());
    assert_eq!((wrong, found.len()), (None, count));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_connections_and_lost_answers_write_nothing_twice() {
    let port = free_port();
    let proxy = TcpProxy::start(&format!("127.0.0.1:{port}"));
    let advertised = proxy.port();
    let options = KafkaBrokerOptions { port, advertised, ..KafkaBrokerOptions::default() };
    let _broker = KafkaBroker::start_with(options).await;
    let log = open_at(&proxy.address().to_string(), "faults").await;
    let topic = unique("numbers");
    append_numbers(log.as_ref(), &topic, 0..10).await;
    for round in 1..=10 {
        if round % 2 == 0 {
            proxy.cut();
        } else {
            proxy.lose_next_answer();
        }
        append_numbers(log.as_ref(), &topic, round * 10..(round + 1) * 10).await;
    }
    assert_numbers(&read_all(log.as_ref(), &topic, 0).await, 110);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_killed_and_restarted_under_load_loses_and_doubles_nothing() {
    let mut broker = KafkaBroker::start().await;
    let log = open_at(&broker.address(), "restart").await;
    let topic = unique("numbers");
    let writing = tokio::spawn({
        let (log, topic) = (Arc::clone(&log), topic.clone());
        async move { append_numbers(log.as_ref(), &topic, 0..2000).await }
    });
    let place = lattice_log::TopicPartition::new(&*topic, 0);
    wait_until(Duration::from_secs(60), "some records", async || {
        let from = vec![(place.clone(), 0)];
        log.fetch(from, 1, Duration::from_millis(10)).await.is_ok_and(|found| !found.is_empty())
    })
    .await;
    broker.kill();
    wait_until(Duration::from_secs(60), "the log to say that it takes nothing", async || {
        !log.health().writable || writing.is_finished()
    })
    .await;
    broker.start_again().await;
    writing.await.unwrap();
    assert!(log.health().writable);
    assert_numbers(&read_all(log.as_ref(), &topic, 0).await, 2000);
}
