//! The registry over HTTP, as clients see it.

use std::sync::Arc;

use serde_json::json;

use crate::support::{Client, Memory, V1, V2, V3};

const V1_SPACED: &str =
    r#"{ "name": "R", "type": "record", "fields": [{"type":"int","name":"a"}] }"#;

#[tokio::test]
async fn the_same_schema_has_one_id_whatever_the_subject_and_the_spacing() {
    let client = Client::new(Arc::default()).await;
    assert_eq!(client.register("s", V1).await, (200, json!({ "id": 1 })));
    assert_eq!(client.register("s", V1_SPACED).await, (200, json!({ "id": 1 })));
    assert_eq!(client.register("t", V1).await, (200, json!({ "id": 1 })));
    assert_eq!(client.register("s", V2).await, (200, json!({ "id": 2 })));
    let (_, versions) = client.send("GET", "/subjects/s/versions", "").await;
    assert_eq!(versions, json!([1, 2]));
    let (_, places) = client.send("GET", "/schemas/ids/1/versions", "").await;
    assert_eq!(places, json!([{ "subject": "s", "version": 1 }, { "subject": "t", "version": 1 }]));
}

#[tokio::test]
async fn an_incompatible_schema_is_refused_and_nothing_is_written() {
    let client = Client::new(Arc::default()).await;
    client.register("s", V1).await;
    let (status, body) = client.register("s", V3).await;
    assert_eq!((status, &body["error_code"]), (409, &json!(40901)));
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("\"s\"") && message.contains("field \"c\""), "{message}");
    assert_eq!(client.send("GET", "/subjects/s/versions", "").await.1, json!([1]));
    let put = r#"{"compatibility":"NONE"}"#;
    assert_eq!(client.send("PUT", "/config/s", put).await, (200, json!({"compatibility":"NONE"})));
    assert_eq!(client.register("s", V3).await.0, 200);
}

#[tokio::test]
async fn everything_is_there_after_the_store_is_opened_again() {
    let store: Arc<Memory> = Arc::default();
    let client = Client::new(Arc::clone(&store)).await;
    client.register("s", V1).await;
    client.register("s", V2).await;
    client.send("PUT", "/config", r#"{"compatibility":"FULL"}"#).await;
    client.send("PUT", "/config/s", r#"{"compatibility":"NONE"}"#).await;
    client.send("DELETE", "/subjects/s/versions/1", "").await;
    let again = Client::new(store).await;
    assert_eq!(again.send("GET", "/subjects/s/versions", "").await.1, json!([2]));
    assert_eq!(again.send("GET", "/schemas/ids/1", "").await.1, json!({ "schema": V1 }));
    assert_eq!(again.send("GET", "/config", "").await.1, json!({"compatibilityLevel":"FULL"}));
    assert_eq!(again.send("GET", "/config/s", "").await.1, json!({"compatibilityLevel":"NONE"}));
    assert_eq!(again.register("s", V3).await.1, json!({ "id": 3 }));
}

#[tokio::test]
async fn deletes_are_soft_first_and_permanent_only_afterwards() {
    let client = Client::new(Arc::default()).await;
    client.register("s", V1).await;
    let permanent = client.send("DELETE", "/subjects/s?permanent=true", "").await;
    assert_eq!((permanent.0, &permanent.1["error_code"]), (404, &json!(40405)));
    assert_eq!(client.send("DELETE", "/subjects/s", "").await, (200, json!([1])));
    assert_eq!(client.send("DELETE", "/subjects/s", "").await.1["error_code"], json!(40404));
    assert_eq!(client.send("GET", "/subjects?deleted=true", "").await.1, json!(["s"]));
    assert_eq!(client.send("GET", "/schemas/ids/1", "").await.0, 200, "consumers go on");
    assert_eq!(client.register("s", V1).await.1, json!({ "id": 1 }));
    assert_eq!(client.send("GET", "/subjects/s/versions", "").await.1, json!([2]));
}

/// (method, path, body, status, error code)
#[tokio::test]
async fn errors_have_the_status_and_code_that_clients_act_on() {
    let client = Client::new(Arc::default()).await;
    client.register("s", V1).await;
    let good = json!({ "schema": V2 }).to_string();
    let bad = json!({ "schema": "{\"type\":\"recordd\"}" }).to_string();
    let bad_default = json!({ "schema": r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}"# }).to_string();
    let cases = [
        ("GET", "/subjects/NO/versions/latest", "", 404, 40401),
        ("GET", "/subjects/NO/versions", "", 404, 40401),
        ("POST", "/subjects/NO", &good, 404, 40401),
        ("GET", "/subjects/s/versions/7", "", 404, 40402),
        ("POST", "/subjects/s", &good, 404, 40403),
        ("GET", "/schemas/ids/99999999", "", 404, 40403),
        ("GET", "/schemas/ids/abc", "", 404, 40403),
        ("GET", "/subjects/s/versions/0", "", 422, 42202),
        ("GET", "/subjects/s/versions/x", "", 422, 42202),
        ("POST", "/subjects/s/versions", &bad, 422, 42201),
        ("POST", "/subjects/s/versions", &bad_default, 422, 42201),
        ("POST", "/subjects/s/versions", "{}", 422, 42201),
        ("POST", "/subjects/s/versions", r#"{"schema":""}"#, 422, 42201),
        ("POST", "/subjects/s/versions", "not json", 422, 42201),
        ("PUT", "/config/s", r#"{"compatibility":"SIDEWAYS"}"#, 422, 42203),
        ("GET", "/config/s", "", 404, 40408),
        ("GET", "/mode/s", "", 404, 40409),
        ("PUT", "/mode", r#"{"mode":"X"}"#, 422, 42204),
        ("DELETE", "/subjects/NO", "", 404, 40401),
    ];
    for (method, path, body, status, code) in cases {
        let answer = client.send(method, path, body).await;
        assert_eq!(answer.0, status, "{method} {path} {body}: {}", answer.1);
        assert_eq!(answer.1["error_code"], json!(code), "{method} {path} {body}");
        assert!(answer.1["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    let global = client.send("GET", "/config/s?defaultToGlobal=true", "").await;
    assert_eq!(global, (200, json!({ "compatibilityLevel": "BACKWARD" })));
    let unknown = client.send("POST", "/compatibility/subjects/NO/versions/latest", &good).await;
    assert_eq!(unknown, (200, json!({ "is_compatible": true })));
    let minus_one = client.send("GET", "/subjects/s/versions/-1", "").await;
    assert_eq!(minus_one.1["version"], json!(1));
}

#[tokio::test]
async fn a_subject_with_1200_versions_is_listed_and_deleted_whole() {
    let client = Client::new(Arc::default()).await;
    client.send("PUT", "/config/s", r#"{"compatibility":"NONE"}"#).await;
    for number in 0..1200 {
        let schema = format!(
            r#"{{"type":"record","name":"R","fields":[{{"name":"a","type":"int","default":{number}}}]}}"#
        );
        assert_eq!(client.register("s", &schema).await.0, 200);
    }
    let (_, list) = client.send("GET", "/subjects/s/versions", "").await;
    assert_eq!(list.as_array().map(Vec::len), Some(1200));
    assert_eq!(client.send("GET", "/subjects/s/versions/latest", "").await.1["version"], 1200);
    let (_, deleted) = client.send("DELETE", "/subjects/s", "").await;
    assert_eq!(deleted.as_array().map(Vec::len), Some(1200));
}

#[tokio::test]
async fn a_read_only_registry_takes_nothing_new_but_finds_what_it_has() {
    let client = Client::new(Arc::default()).await;
    client.register("s", V1).await;
    client.send("PUT", "/mode", r#"{"mode":"READONLY"}"#).await;
    assert_eq!(client.register("s", V1).await.0, 200);
    let refused = client.register("s", V2).await;
    assert_eq!((refused.0, &refused.1["error_code"]), (422, &json!(42205)));
}

#[tokio::test]
async fn a_referenced_type_is_resolved_and_its_version_cannot_be_deleted() {
    let client = Client::new(Arc::default()).await;
    client
        .register("t", r#"{"type":"record","name":"x.T","fields":[{"name":"i","type":"int"}]}"#)
        .await;
    let body = json!({
        "schema": r#"{"type":"record","name":"U","fields":[{"name":"t","type":"x.T"}]}"#,
        "references": [{ "name": "x.T", "subject": "t", "version": 1 }],
    });
    let registered = client.send("POST", "/subjects/u/versions", &body.to_string()).await;
    assert_eq!(registered, (200, json!({ "id": 2 })));
    assert_eq!(client.send("GET", "/subjects/t/versions/1/referencedby", "").await.1, json!([2]));
    let refused = client.send("DELETE", "/subjects/t/versions/1", "").await;
    assert_eq!((refused.0, &refused.1["error_code"]), (422, &json!(42206)));
}
