//! The same path on a real Kafka broker.

use lattice_testkit::{
    ClickHouseDatabase, LatticeProcess, PostgresDatabase, service, wait_until,
    wait_until_same_content,
};

use crate::{PATIENCE, Path};

/// A path whose platform keeps everything in Kafka; topics and group are the test's own.
async fn path_on_kafka(name: &str) -> Path {
    let source = PostgresDatabase::create(&service("LATTICE_TEST_PG15"), name).await;
    let target = ClickHouseDatabase::create(&service("LATTICE_TEST_CH"), name).await;
    let kafka = service("LATTICE_TEST_KAFKA");
    let group = format!("g-{}", source.name());
    let arguments = ["--bootstrap-servers", &kafka, "--group-id", &group];
    let lattice = LatticeProcess::start_with(&arguments, &[]).await;
    Path { source, target, lattice }
}

async fn connect(path: &Path) -> String {
    let prefix = path.source.name().to_owned();
    let regex = format!(r"{prefix}\.public\..*");
    let source = path.source_config(&[("topic.prefix", &prefix)]);
    path.lattice.create_connector("source", source).await;
    let sink = path.sink_config(&[("topics.regex", &regex)]);
    path.lattice.create_connector("sink", sink).await;
    format!("{prefix}.public.orders")
}

async fn equal(path: &Path, topic: &str) {
    wait_until_same_content(PATIENCE, &path.source, "public.orders", &path.target, topic).await;
}

#[tokio::test]
async fn a_table_reaches_clickhouse_through_kafka() {
    let path = path_on_kafka("kafka_pair").await;
    path.source
        .execute("CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamptz)")
        .await;
    path.source
        .execute(
            "INSERT INTO orders SELECT n, 'before ' || n, now() FROM generate_series(1, 500) n",
        )
        .await;
    let topic = connect(&path).await;
    equal(&path, &topic).await;
    path.source
        .execute(
            "INSERT INTO orders SELECT n, 'after ' || n, now() FROM generate_series(501, 900) n;
             UPDATE orders SET note = 'changed' WHERE id % 3 = 0;
             DELETE FROM orders WHERE id % 7 = 0",
        )
        .await;
    equal(&path, &topic).await;
    let offsets = path.lattice.get("/connectors/sink/offsets").await;
    assert!(offsets["offsets"].as_array().is_some_and(|offsets| !offsets.is_empty()), "{offsets}");
}

#[tokio::test]
async fn killed_again_and_again_on_kafka_the_target_ends_equal() {
    let mut path = path_on_kafka("kafka_kill").await;
    path.source.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)").await;
    let topic = connect(&path).await;
    for round in 0..4 {
        path.source
            .execute(&format!(
                "INSERT INTO orders SELECT {round} * 1000 + n, 'r{round}' FROM generate_series(1, 1000) n;
                 UPDATE orders SET note = note || '+' WHERE id % 5 = {round};
                 DELETE FROM orders WHERE id % 11 = {round}"
            ))
            .await;
        let records = async || {
            let answer =
                path.lattice.request("GET", &format!("/api/v1/topics/{topic}"), None).await;
            let partitions = answer.body["partitions"].as_array().cloned().unwrap_or_default();
            partitions.iter().filter_map(|one| one["end_offset"].as_u64()).sum::<u64>()
        };
        let wanted = 500 + round * 1000;
        wait_until(PATIENCE, "records in the topic", async || records().await >= wanted).await;
        path.lattice.kill();
        path.lattice.start_again().await;
    }
    equal(&path, &topic).await;
}
