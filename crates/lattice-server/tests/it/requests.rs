//! Requests good and bad by table, secrets, and what browsers may do.

use serde_json::{Value, json};

use crate::house::{House, SECRET, source};

/// Method, path, body, status, and a text that the answer holds.
type Case = (&'static str, &'static str, Value, u16, &'static str);

async fn check(house: &House, cases: Vec<Case>) {
    for (method, path, body, status, text) in cases {
        let told = house.call(method, path, &body).await;
        let place = format!("{method} {path} {body}: {}", told.text);
        assert_eq!(told.status.as_u16(), status, "{place}");
        assert!(told.text.contains(text), "no \"{text}\" in {place}");
        assert!(!told.text.contains(SECRET), "{place}");
        if status >= 400 {
            assert_eq!(told.json()["error_code"], status, "{place}");
            assert!(!told.json()["message"].as_str().unwrap().is_empty(), "{place}");
        }
    }
}

#[tokio::test]
async fn malformed_bodies_are_refused_with_help() {
    let house = House::new().await;
    let with = |key: &str, value: Value| {
        let mut config = source();
        config[key] = value;
        config
    };
    let post = |config: Value| json!({"name": "x", "config": config});
    check(
        &house,
        vec![
            ("POST", "/connectors", json!([]), 400, "cannot be read"),
            ("POST", "/connectors", json!("x"), 400, "cannot be read"),
            ("POST", "/connectors", json!({}), 400, "config"),
            ("POST", "/connectors", json!({"config": source()}), 400, "name"),
            ("POST", "/connectors", json!({"name": [], "config": {}}), 400, "must be a text"),
            ("POST", "/connectors", json!({"name": "x", "config": null}), 400, "config"),
            ("POST", "/connectors", post(json!({})), 400, "connector.class"),
            ("POST", "/connectors", post(with("topic.prefix", Value::Null)), 400, "is null"),
            ("POST", "/connectors", post(with("topic.prefix", json!([]))), 400, "must be a text"),
            ("POST", "/connectors", post(with("name", json!("y"))), 400, "name"),
            (
                "POST",
                "/connectors",
                post(json!({"connector.class": "waiting"})),
                400,
                "topic.prefix",
            ),
            ("PUT", "/connectors/x/config", with("name", json!("y")), 400, "name"),
            ("PUT", "/connectors/x/config", with("tasks.max", json!(0)), 400, "tasks.max"),
            ("PUT", "/connectors/x/config", with("waiting.password", json!("bad")), 400, "wrong"),
            ("PUT", "/connectors/x/config", json!([]), 400, "cannot be read"),
            ("PATCH", "/connectors/x/config", json!({}), 404, "Connector x not found"),
            ("POST", "/api/v1/check", json!({}), 400, "config"),
            ("POST", "/api/v1/preview", json!({"config": {}}), 400, "topic"),
            ("POST", "/api/v1/preview", json!({"config": source(), "topic": "t"}), 400, "source"),
            ("GET", "/api/v1/topics/t/messages?limit=many", Value::Null, 400, "limit"),
            ("GET", "/connectors/%FF/status", Value::Null, 400, "UTF-8"),
            ("GET", "/nowhere", Value::Null, 404, "nothing is at /nowhere"),
            ("DELETE", "/connectors", Value::Null, 405, "DELETE"),
            ("GET", "/connectors", Value::Null, 200, "[]"),
        ],
    )
    .await;
    let told = house.ask("POST", "/connectors", &[("content-type", "text/plain")], "{}").await;
    assert_eq!(told.status.as_u16(), 415, "{}", told.text);
    let json = [("content-type", "application/json; charset=utf-8")];
    let told = house.ask("POST", "/connectors", &json, "{\"name\": ").await;
    assert_eq!(told.status.as_u16(), 400, "{}", told.text);
    assert!(told.text.contains("line 1"), "{}", told.text);
    let told = house.ask("POST", "/connectors", &json, &" ".repeat(9 << 20)).await;
    assert_eq!((told.status.as_u16(), &told.json()["error_code"]), (413, &json!(413)));
}

#[tokio::test]
async fn a_connector_goes_through_its_states() {
    let house = House::new().await;
    let create = json!({"name": "c", "config": source(), "initial_state": "stopped"});
    let other = json!({"name": "other"});
    check(
        &house,
        vec![
            ("POST", "/connectors/", create.clone(), 201, "********"),
            ("POST", "/connectors", create, 409, "Connector c already exists"),
            ("GET", "/connectors/c/status", Value::Null, 200, "STOPPED"),
            ("GET", "/connectors/c/tasks/", Value::Null, 200, "[]"),
            ("PATCH", "/connectors/c/offsets", json!({"offsets": []}), 400, "need to be provided"),
            (
                "PATCH",
                "/connectors/c/offsets",
                json!({"offsets": [{"partition": {"server": "p"}, "offset": {"row": "x"}}]}),
                400,
                "row",
            ),
            (
                "PATCH",
                "/connectors/c/offsets",
                json!({"offsets": [{"partition": {"server": "p"}, "offset": {"row": 7}}]}),
                200,
                "altered successfully",
            ),
            ("GET", "/connectors/c/offsets", Value::Null, 200, r#""row":7"#),
            ("DELETE", "/connectors/c/offsets", Value::Null, 200, "reset successfully"),
            ("PUT", "/connectors/c/resume", Value::Null, 202, ""),
            ("PATCH", "/connectors/c/config", other, 400, "name"),
            ("GET", "/connectors/c/config", Value::Null, 200, r#""name":"c""#),
            ("POST", "/connectors/c/restart", Value::Null, 204, ""),
            ("POST", "/connectors/c/restart?includeTasks=true", Value::Null, 202, "tasks"),
            ("POST", "/connectors/c/tasks/9/restart", Value::Null, 404, "c-9"),
            ("PUT", "/connectors/c/pause", Value::Null, 202, ""),
            ("PUT", "/connectors/c/stop", Value::Null, 204, ""),
            ("PUT", "/connectors/c/stop", Value::Null, 204, ""),
            ("GET", "/connectors?expand=info&expand=status", Value::Null, 200, "STOPPED"),
            ("DELETE", "/connectors/c", Value::Null, 204, ""),
            ("GET", "/connectors/c", Value::Null, 404, "Connector c not found"),
            ("GET", "/connectors/c/status", Value::Null, 404, "No status found for connector c"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_mask_that_comes_back_keeps_the_stored_secret() {
    let house = House::new().await;
    let told = house.call("PUT", "/connectors/c/config", &source()).await;
    assert_eq!(told.status.as_u16(), 201, "{}", told.text);
    assert_eq!(told.headers["location"], "/connectors/c");
    let shown = house.get("/connectors/c/config").await.json();
    assert_eq!(shown["waiting.password"], "********");
    // The source refuses every password but the stored one.
    let told = house.call("PUT", "/connectors/c/config", &shown).await;
    assert_eq!(told.status.as_u16(), 200, "{}", told.text);
    let body = json!({"name": "c", "config": shown});
    let told = house.call("POST", "/api/v1/check", &body).await;
    assert_eq!((&told.json()["ok"], &told.json()["unchanged"]), (&json!(true), &json!(true)));
    let body = json!({"name": "c", "config": {"topic.prefix": "q"}});
    assert_eq!(house.call("POST", "/api/v1/check", &body).await.json()["unchanged"], false);
    for path in [
        "/connectors/c",
        "/connectors/c/tasks",
        "/connectors?expand=info",
        "/api/v1/connectors/c",
        "/api/v1/overview",
        "/metrics",
    ] {
        let told = house.get(path).await;
        assert!(told.status.is_success() && !told.text.contains(SECRET), "{path}: {}", told.text);
    }
}

#[tokio::test]
async fn browsers_get_the_console_and_programs_the_api() {
    let house = House::new().await;
    let page = [("accept", "text/html,*/*"), ("host", "127.0.0.1:8083")];
    for path in ["/", "/topics", "/connect/some/page"] {
        let told = house.ask("GET", path, &page, "").await;
        assert_eq!(told.status.as_u16(), 200, "{path}");
        assert!(told.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
    }
    assert_eq!(house.get("/").await.json()["kafka_cluster_id"], "cluster");
    assert_eq!(house.ask("GET", "/api/v1/nothing", &page, "").await.status.as_u16(), 404);
    let foreign = [("origin", "https://evil.example"), ("host", "127.0.0.1:8083")];
    let told = house.ask("DELETE", "/connectors/c", &foreign, "").await;
    assert_eq!((told.status.as_u16(), &told.json()["error_code"]), (403, &json!(403)));
}
