//! The proxy does the fault it is told, and nothing else.

use std::time::{Duration, Instant};

use lattice_testkit::{ClickHouseDatabase, TcpProxy, service, wait_until};

async fn through_a_proxy() -> (TcpProxy, ClickHouseDatabase) {
    let proxy = TcpProxy::start(&service("LATTICE_TEST_CH"));
    let target = ClickHouseDatabase::create(&format!("http://{}", proxy.address()), "proxy").await;
    (proxy, target)
}

#[tokio::test]
async fn it_is_a_faithful_pipe_and_counts() {
    let (proxy, target) = through_a_proxy().await;
    let long = target.value("SELECT repeat('x', 1000000)").await;
    assert_eq!(long.len(), 1_000_000);
    let (to_service, to_client) = proxy.bytes();
    assert!(to_service > 0 && to_client > 1_000_000, "{to_service} {to_client}");
    assert!(proxy.connections() >= 1);
}

#[tokio::test]
async fn a_lost_answer_leaves_the_work_done() {
    let (proxy, target) = through_a_proxy().await;
    target.query("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a").await;
    proxy.lose_next_answer();
    let lost = target.try_query("INSERT INTO t VALUES (1)").await;
    assert!(lost.is_err() && proxy.answer_was_lost(), "{lost:?}");
    wait_until(Duration::from_secs(10), "the row to be there", async || {
        target.value("SELECT count() FROM t").await == "1"
    })
    .await;
}

#[tokio::test]
async fn refused_cut_and_delayed_connections_come_back() {
    let (proxy, target) = through_a_proxy().await;
    proxy.refuse(true);
    proxy.cut();
    assert!(target.try_query("SELECT 1").await.is_err());
    proxy.refuse(false);
    assert_eq!(target.value("SELECT 1").await, "1");

    proxy.delay(Duration::from_millis(150));
    let start = Instant::now();
    assert_eq!(target.value("SELECT 2").await, "2");
    assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_frozen_connection_goes_on_when_it_thaws() {
    let (proxy, target) = through_a_proxy().await;
    proxy.freeze(true);
    let asked = target.value("SELECT 3");
    let mut asked = std::pin::pin!(asked);
    assert!(
        tokio::time::timeout(Duration::from_millis(200), &mut asked).await.is_err(),
        "it was not frozen"
    );
    proxy.freeze(false);
    assert_eq!(asked.await, "3");
}
