//! A connector moves from one cluster to another and back under load. Both sides are Lattice on one real Kafka, as two groups:
//! `cargo x parity takeover` does the same with the real Kafka Connect and Debezium.

use std::process::{Command, Stdio};

use lattice_testkit::{LatticeProcess, PostgresDatabase, service, wait_until};
use serde_json::Value;

use crate::{PATIENCE, set, source_config};

const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";

async fn platform(group: &str) -> LatticeProcess {
    let brokers = service("LATTICE_TEST_KAFKA");
    let arguments = ["--bootstrap-servers", &brokers, "--group-id", group];
    LatticeProcess::start_with(&arguments, &[("PASSWORD_OF_TEST", "postgres")]).await
}

/// Runs the command to its end, or kills it as soon as the connector is stopped at its old place.
async fn moved(word: &str, ours: &LatticeProcess, other: &LatticeProcess, killed: bool) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lattice"))
        .args(["--url", &ours.url(), word, "--connect-url", &other.url(), "--connector", "orders"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("run lattice");
    let from = if word == "takeover" { other } else { ours };
    if killed {
        wait_until(PATIENCE, "the connector to stop", async || {
            from.states("orders").await.first().is_some_and(|state| state == "STOPPED")
        })
        .await;
        child.kill().expect("kill the command");
    }
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await;
    let output = output.expect("wait").expect("the command ends");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(killed || output.status.success(), "{word}: {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connector_moves_there_and_back_under_load_and_no_row_is_lost_or_twice() {
    let source = PostgresDatabase::create(&service("LATTICE_TEST_PG15"), "takeover").await;
    source.execute("CREATE TABLE orders (id bigserial PRIMARY KEY, note text)").await;
    let (there, here) = (
        platform(&format!("{}_a", source.name())).await,
        platform(&format!("{}_b", source.name())).await,
    );
    let prefix = source.name().to_owned();
    let topic = format!("{prefix}.public.orders");
    let mut config = source_config(
        &source,
        &[
            ("topic.prefix", &prefix),
            ("key.converter", JSON),
            ("value.converter", JSON),
            ("value.converter.schemas.enable", "false"),
        ],
    );
    set(&mut config, &[("database.password", "${env:PASSWORD_OF_TEST}")]);
    there.create_connector("orders", config).await;
    there.wait_running("orders").await;
    let writer = source.connect().await;
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let load = tokio::spawn(async move {
        let mut rows = 0_u64;
        while stopped.try_recv().is_err() {
            writer
                .batch_execute("INSERT INTO orders (note) VALUES ('x'), ('y')")
                .await
                .expect("insert");
            rows += 2;
        }
        rows
    });
    let records = async |server: &LatticeProcess| {
        let answer = server.request("GET", &format!("/api/v1/topics/{topic}"), None).await;
        let partitions = answer.body["partitions"].as_array().cloned().unwrap_or_default();
        partitions.iter().filter_map(|one| one["end_offset"].as_u64()).sum::<u64>()
    };
    wait_until(PATIENCE, "the first records", async || records(&there).await > 0).await;
    moved("takeover", &here, &there, true).await;
    moved("takeover", &here, &there, false).await;
    let before = records(&here).await;
    wait_until(PATIENCE, "records after the take-over", async || records(&here).await > before)
        .await;
    moved("handback", &here, &there, true).await;
    moved("handback", &here, &there, false).await;
    let before = records(&here).await;
    wait_until(PATIENCE, "records after the hand-back", async || records(&there).await > before)
        .await;
    stop.send(()).expect("the load goes on");
    let rows = load.await.expect("the load");
    wait_until(PATIENCE, "all records", async || records(&there).await >= rows).await;
    assert_eq!(ids(&there, &topic, rows).await, (1..=rows).collect::<Vec<_>>());
}

/// The keys of a topic's records, in order.
async fn ids(server: &LatticeProcess, topic: &str, rows: u64) -> Vec<u64> {
    let mut found: Vec<u64> = Vec::new();
    let mut from = 0;
    loop {
        let path = format!("/api/v1/topics/{topic}/messages?from={from}&limit=500");
        let answer = server.get(&path).await;
        let records = answer["records"].as_array().cloned().unwrap_or_default();
        let Some(last) = records.last().and_then(|record| record["offset"].as_u64()) else { break };
        let id = |record: &Value| record["value"]["data"]["after"]["id"].as_u64();
        found.extend(records.iter().filter_map(id));
        from = last + 1;
        if found.len() as u64 > rows {
            break;
        }
    }
    found
}
