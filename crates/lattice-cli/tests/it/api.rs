//! One table of requests, good and bad, with the status and the words that clients act on.

#![allow(clippy::too_many_lines)] // a table of requests is as long as the API

use lattice_testkit::{LatticeProcess, PostgresDatabase, service};
use serde_json::{Value, json};

/// Method, path, body, status, and a text that the answer holds.
type Case = (&'static str, &'static str, Option<Value>, u16, &'static str);

async fn check(lattice: &LatticeProcess, cases: Vec<Case>) {
    for (method, path, body, status, text) in cases {
        let answer = lattice.request(method, path, body.as_ref()).await;
        let shown = answer.body.to_string();
        assert_eq!(answer.status, status, "{method} {path} {body:?}: {shown}");
        assert!(shown.contains(text), "{method} {path} {body:?}: no \"{text}\" in {shown}");
        let registry = path.starts_with("/registry") || path.starts_with("/apis/ccompat");
        if status >= 400 && !registry {
            assert_eq!(answer.body["error_code"], status, "{method} {path}: {shown}");
            assert!(!answer.message().is_empty(), "{method} {path}: a message");
        }
    }
}

#[tokio::test]
async fn an_empty_server_answers_as_kafka_connect_does() {
    let lattice = LatticeProcess::start().await;
    let class = "com.clickhouse.kafka.connect.ClickHouseSinkConnector";
    let config = json!({ "connector.class": class });
    check(
        &lattice,
        vec![
            ("GET", "/", None, 200, "kafka_cluster_id"),
            ("GET", "/health", None, 200, "healthy"),
            ("GET", "/connectors", None, 200, "[]"),
            ("GET", "/connectors/", None, 200, "[]"),
            ("GET", "/connectors?expand=status&expand=info", None, 200, "{}"),
            ("GET", "/connectors/none", None, 404, "Connector none not found"),
            ("GET", "/connectors/none/config", None, 404, "none not found"),
            ("GET", "/connectors/none/status", None, 404, "No status found for connector none"),
            ("GET", "/connectors/none/tasks", None, 404, "not found"),
            ("GET", "/connectors/none/tasks/0/status", None, 404, "none"),
            ("GET", "/connectors/none/offsets", None, 404, "not found"),
            ("GET", "/connectors/none/topics", None, 200, r#"{"none":{"topics":[]}}"#),
            ("DELETE", "/connectors/none", None, 404, "not found"),
            ("PUT", "/connectors/none/pause", None, 404, "Unknown connector none"),
            ("PUT", "/connectors/none/resume", None, 404, "Unknown connector none"),
            ("PUT", "/connectors/none/stop", None, 404, "Unknown connector none"),
            ("POST", "/connectors/none/restart", None, 404, "Unknown connector: none"),
            ("POST", "/connectors/none/tasks/0/restart", None, 404, "none"),
            ("PATCH", "/connectors/none/config", Some(json!({"a": "b"})), 404, "not found"),
            ("DELETE", "/connectors/none/offsets", None, 404, "not found"),
            ("GET", "/nowhere", None, 404, "404"),
            ("PATCH", "/connectors", Some(json!({})), 405, "405"),
            ("POST", "/connectors", Some(json!([])), 400, "cannot be read"),
            ("POST", "/connectors", Some(json!({})), 400, "config"),
            ("POST", "/connectors", Some(json!({"name": [], "config": {}})), 400, "name"),
            ("POST", "/connectors", Some(json!({"name": "x"})), 400, "config"),
            (
                "POST",
                "/connectors",
                Some(json!({"name": "x", "config": []})),
                400,
                "cannot be read",
            ),
            (
                "POST",
                "/connectors",
                Some(json!({"name": "x", "config": {}})),
                400,
                "connector.class",
            ),
            (
                "POST",
                "/connectors",
                Some(json!({"name": "x", "config": {"a": {}}})),
                400,
                "must be a text",
            ),
            (
                "POST",
                "/connectors",
                Some(json!({"name": "x", "config": {"connector.class": "postgress"}})),
                400,
                "did you mean",
            ),
            (
                "POST",
                "/connectors",
                Some(json!({"name": "x", "config": {"name": "y", "connector.class": class}})),
                400,
                "name",
            ),
            (
                "POST",
                "/connectors",
                Some(json!({"name": "x", "config": config, "initial_state": "RUNING"})),
                400,
                "RUNNING, PAUSED, STOPPED",
            ),
            ("POST", "/connectors", Some(json!({"name": "", "config": config})), 400, "name"),
            (
                "PUT",
                "/connectors/x/config",
                Some(json!({"connector.class": class, "tasks.max": "0"})),
                400,
                "tasks.max",
            ),
            ("PUT", "/connectors/x/config", Some(json!({"connector.class": class})), 400, "topics"),
            (
                "GET",
                "/connector-plugins",
                None,
                200,
                "io.debezium.connector.postgresql.PostgresConnector",
            ),
            ("GET", "/connector-plugins?connectorsOnly=false", None, 200, "AvroConverter"),
            ("GET", "/connector-plugins/PostgresConnector/config", None, 200, "database.hostname"),
            ("GET", "/connector-plugins/Nothing/config", None, 404, "Nothing"),
            (
                "PUT",
                "/connector-plugins/PostgresConnector/config/validate",
                Some(json!({})),
                400,
                "no connector type",
            ),
            (
                "PUT",
                "/connector-plugins/ClickHouseSink/config/validate",
                Some(config.clone()),
                200,
                "error_count",
            ),
            ("GET", "/admin/loggers", None, 200, "root"),
            ("GET", "/admin/loggers/none", None, 404, "Logger none not found."),
            ("PUT", "/admin/loggers/root", Some(json!({"level": "debug"})), 200, "root"),
            ("PUT", "/admin/loggers/root", Some(json!({"level": "LOUD"})), 404, "LOUD"),
            ("PUT", "/admin/loggers/root", Some(json!({})), 400, "level"),
            ("GET", "/api/v1/info", None, 200, "data_folder"),
            ("GET", "/api/v1/overview", None, 200, "connectors"),
            ("GET", "/api/v1/groups", None, 200, "[]"),
            ("GET", "/api/v1/log", None, 200, "embedded"),
            ("GET", "/api/v1/workers", None, 200, "worker_id"),
            ("GET", "/api/v1/topics", None, 200, "[]"),
            ("GET", "/api/v1/topics/none", None, 404, "Topic none not found"),
            ("DELETE", "/api/v1/topics/none", None, 404, "Topic none not found"),
            ("GET", "/api/v1/topics/none/messages", None, 404, "Topic none not found"),
            ("GET", "/api/v1/topics/none/stream", None, 404, "Topic none not found"),
            ("GET", "/api/v1/connectors/none", None, 404, "not found"),
            ("POST", "/api/v1/check", Some(json!({})), 400, "config"),
            (
                "POST",
                "/api/v1/check",
                Some(json!({"config": {"connector.class": "postgres"}})),
                200,
                "database.hostname",
            ),
            (
                "POST",
                "/api/v1/tables",
                Some(json!({"config": {"connector.class": "clickhouse"}})),
                400,
                "a sink has no tables",
            ),
            ("POST", "/api/v1/preview", Some(json!({"config": {}})), 400, "topic"),
            ("GET", "/openapi.json", None, 200, "openapi"),
            ("GET", "/metrics", None, 200, "lattice_log_writable"),
            ("GET", "/registry/subjects", None, 200, "[]"),
            ("GET", "/apis/ccompat/v7/subjects/none/versions", None, 404, "40401"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_connector_goes_through_its_states_and_its_secrets_are_never_shown() {
    let source = PostgresDatabase::create(&service("LATTICE_TEST_PG15"), "api_states").await;
    source.execute("create table public.t (id int primary key, v text); insert into public.t values (1, 'a')").await;
    let lattice = LatticeProcess::start().await;
    let slot = format!("s_{}", source.name());
    let mut config: serde_json::Map<String, Value> =
        source.connector_config().into_iter().map(|(key, value)| (key, value.into())).collect();
    for (key, value) in [
        ("connector.class", "postgres"),
        ("topic.prefix", "p"),
        ("plugin.name", "pgoutput"),
        ("slot.name", slot.as_str()),
    ] {
        config.insert(key.to_owned(), value.into());
    }
    let create = json!({ "name": "c", "config": config, "initial_state": "STOPPED" });
    check(
        &lattice,
        vec![
            ("POST", "/connectors", Some(create.clone()), 201, "********"),
            ("POST", "/connectors", Some(create), 409, "Connector c already exists"),
            ("GET", "/connectors/c/status", None, 200, "STOPPED"),
            (
                "PATCH",
                "/connectors/c/offsets",
                Some(json!({"offsets": []})),
                400,
                "need to be provided",
            ),
            (
                "PATCH",
                "/connectors/c/offsets",
                Some(json!({"offsets": [{"partition": {"server": "p"}, "offset": {"lsn": "x"}}]})),
                400,
                "lsn",
            ),
            ("PUT", "/connectors/c/resume", None, 202, ""),
        ],
    )
    .await;
    lattice.wait_running("c").await;
    check(
        &lattice,
        vec![
            ("DELETE", "/connectors/c/offsets", None, 400, "STOPPED"),
            ("GET", "/connectors?expand=status&expand=info", None, 200, "RUNNING"),
            ("GET", "/connectors/c", None, 200, r#""type":"source""#),
            ("GET", "/connectors/c/config", None, 200, "********"),
            ("GET", "/connectors/c/tasks", None, 200, r#""task":0"#),
            ("GET", "/connectors/c/tasks/0/status", None, 200, "RUNNING"),
            ("GET", "/connectors/c/tasks/7/status", None, 404, "c-7"),
            ("POST", "/connectors/c/tasks/0/restart", None, 204, ""),
            ("POST", "/connectors/c/restart", None, 204, ""),
            (
                "POST",
                "/connectors/c/restart?includeTasks=true&onlyFailed=false",
                None,
                202,
                "tasks",
            ),
            ("PUT", "/connectors/c/pause", None, 202, ""),
        ],
    )
    .await;
    lattice.wait_state("c", "PAUSED").await;
    lattice.put("/connectors/c/resume", &Value::Null).await;
    lattice.wait_running("c").await;
    // The console sends the mask back: the stored password stays.
    let shown = lattice.get("/connectors/c/config").await;
    lattice.put("/connectors/c/config", &shown).await;
    lattice.wait_running("c").await;
    for path in [
        "/connectors/c",
        "/connectors/c/config",
        "/connectors/c/tasks",
        "/api/v1/connectors/c",
        "/connectors?expand=info",
    ] {
        let text = lattice.get(path).await.to_string();
        assert!(
            !text.contains(&format!("\"{}\"", source.password()))
                || source.password() == source.user(),
            "{path}: {text}"
        );
        assert!(text.contains("********"), "{path}: {text}");
    }
    check(
        &lattice,
        vec![
            (
                "PATCH",
                "/connectors/c/config",
                Some(json!({"tombstones.on.delete": "maybe"})),
                400,
                "tombstones.on.delete",
            ),
            (
                "PATCH",
                "/connectors/c/config",
                Some(json!({"tombstones.on.delete": "false"})),
                200,
                "tombstones.on.delete",
            ),
            ("PUT", "/connectors/c/stop", None, 204, ""),
            ("GET", "/connectors/c/status", None, 200, r#""tasks":[]"#),
            ("DELETE", "/connectors/c/offsets", None, 200, "reset successfully"),
            ("DELETE", "/connectors/c", None, 204, ""),
            ("GET", "/connectors/c", None, 404, "Connector c not found"),
        ],
    )
    .await;
}
