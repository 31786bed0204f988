//! Another Kafka Connect cluster, listed and steered through this one.

use lattice_testkit::{LatticeProcess, PostgresDatabase, free_port, service};
use serde_json::{Value, json};

#[tokio::test]
async fn the_connectors_of_another_cluster_are_listed_and_steered() {
    let source = PostgresDatabase::create(&service("LATTICE_TEST_PG15"), "clusters").await;
    source.execute("create table t (id int primary key)").await;
    let (here, there) = (LatticeProcess::start().await, LatticeProcess::start().await);
    let mut config: serde_json::Map<String, Value> =
        source.connector_config().into_iter().map(|(key, value)| (key, value.into())).collect();
    let slot = format!("s_{}", source.name());
    for (key, value) in [
        ("connector.class", "io.debezium.connector.postgresql.PostgresConnector"),
        ("topic.prefix", "p"),
        ("plugin.name", "pgoutput"),
        ("slot.name", slot.as_str()),
    ] {
        config.insert(key.to_owned(), value.into());
    }
    let base = "/api/v1/clusters/other";
    let nowhere = json!({"url": format!("http://127.0.0.1:{}", free_port())});
    let ask = async |method: &str, path: &str, body: Option<Value>| {
        let path = format!("{base}{path}");
        here.request(method, &path, body.as_ref()).await
    };
    assert_eq!(ask("GET", "/connectors", None).await.status, 404);
    for wrong in [json!({}), json!({"url": "connect:8083"}), json!({"url": "http://x", "y": 1})] {
        assert_eq!(ask("PUT", "", Some(wrong)).await.status, 400);
    }
    // A cluster that is not there is kept, and says so.
    let kept = ask("PUT", "", Some(nowhere)).await;
    assert_eq!(kept.status, 201);
    assert!(
        kept.body["message"].as_str().is_some_and(|text| text.contains("no answer")),
        "{}",
        kept.body
    );
    let refused = ask("GET", "/connectors", None).await;
    assert_eq!((refused.status, &refused.body["error_code"]), (502, &json!(502)));

    let told = ask("PUT", "", Some(json!({"url": there.url()}))).await;
    assert_eq!((told.status, &told.body["connectors"]), (200, &json!(0)), "{}", told.body);
    let clusters = here.get("/api/v1/clusters").await;
    assert_eq!(clusters[0]["name"], "other");
    assert_eq!(clusters[0]["message"], Value::Null, "{clusters}");

    let create = json!({"name": "c 1", "config": config});
    assert_eq!(ask("POST", "/connectors", Some(create.clone())).await.status, 201);
    assert_eq!(ask("POST", "/connectors", Some(create)).await.status, 409, "refusals are given on");
    there.wait_running("c%201").await;
    let all = ask("GET", "/connectors", None).await.body;
    assert_eq!(all["c 1"]["status"]["connector"]["state"], "RUNNING", "{all}");
    assert_eq!(all["c 1"]["info"]["config"]["database.password"], "********");
    let mut shown = ask("GET", "/connectors/c%201/config", None).await.body;
    shown["poll.interval.ms"] = "100".into();
    let put = ask("PUT", "/connectors/c%201/config", Some(shown)).await;
    assert_eq!(put.status, 200, "the mask that comes back is the stored secret: {}", put.body);
    for (method, path, status) in [
        ("PUT", "/connectors/c%201/pause", 202),
        ("PUT", "/connectors/c%201/resume", 202),
        ("POST", "/connectors/c%201/restart?includeTasks=true", 202),
        ("GET", "/connectors/c%201/status", 200),
        ("GET", "/connectors/c%201/offsets", 405),
        ("PUT", "/connectors/c%201/stop", 204),
        ("GET", "/connectors/none/status", 404),
        ("DELETE", "/connectors/c%201", 204),
        ("DELETE", "", 204),
        ("GET", "/connectors", 404),
    ] {
        let told = ask(method, path, None).await;
        assert_eq!(told.status, status, "{method} {path}: {}", told.body);
    }
    assert_eq!(there.get("/connectors").await, json!([]));
}
