//! What went wrong for users of real registries, and must not here.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{Client, Memory, V1, V2};

fn body(schema: &str) -> String {
    json!({ "schema": schema }).to_string()
}

/// A body with members beyond those that are needed is taken, and an answer has none beyond those
/// that are known: both have broken clients.
#[tokio::test]
async fn bodies_with_more_are_taken_and_answers_have_no_more() {
    let client = Client::new(Arc::default()).await;
    let more = json!({
        "schema": V1, "schemaType": "AVRO", "metadata": null, "ruleSet": null, "references": null,
        "schemaTags": [], "propagateSchemaTags": false,
    });
    let registered = client.send("POST", "/subjects/s/versions", &more.to_string()).await;
    assert_eq!(registered, (200, json!({ "id": 1 })));
    let (_, version) = client.send("GET", "/subjects/s/versions/1", "").await;
    let mut members: Vec<&String> = version.as_object().unwrap().keys().collect();
    members.sort();
    assert_eq!(members, ["guid", "id", "schema", "subject", "version"]);
}

#[tokio::test]
async fn a_verdict_tells_its_reasons_on_demand_alone() {
    let client = Client::new(Arc::default()).await;
    client.register("s", V1).await;
    let wrong = body(&V1.replace("\"int\"", "\"string\""));
    let path = "/compatibility/subjects/s/versions/latest";
    let (_, plain) = client.send("POST", path, &wrong).await;
    assert_eq!(plain, json!({ "is_compatible": false }));
    let (_, verbose) = client.send("POST", &format!("{path}?verbose=true"), &wrong).await;
    let reason = verbose["messages"][0].as_str().unwrap();
    assert!(reason.contains("TYPE_MISMATCH") && reason.contains("/fields/0/type"), "{reason}");
}

#[tokio::test]
async fn every_level_is_known_and_asked_in_any_case() {
    let client = Client::new(Arc::default()).await;
    for level in [
        "NONE",
        "BACKWARD",
        "BACKWARD_TRANSITIVE",
        "FORWARD",
        "FORWARD_TRANSITIVE",
        "FULL",
        "FULL_TRANSITIVE",
    ] {
        let put = json!({ "compatibility": level.to_lowercase() }).to_string();
        let answer = client.send("PUT", "/config/s", &put).await;
        assert_eq!(answer, (200, json!({ "compatibility": level })));
        let answer = client.send("GET", "/config/s", "").await;
        assert_eq!(answer, (200, json!({ "compatibilityLevel": level })));
    }
}

#[tokio::test]
async fn a_refused_version_leaves_the_list_as_it_was() {
    let client = Client::new(Arc::default()).await;
    let two = V1.replace("}]", r#"},{"name":"b","type":"int","default":0}]"#);
    let three = V1.replace("}]", r#"},{"name":"b","type":"int"}]"#);
    client.register("s", V1).await;
    client.register("s", &two).await;
    client.send("PUT", "/config/s", r#"{"compatibility":"BACKWARD_TRANSITIVE"}"#).await;
    assert_eq!(client.register("s", &three).await.0, 409);
    assert_eq!(client.send("GET", "/subjects/s/versions", "").await.1, json!([1, 2]));
    client.send("PUT", "/config/s", r#"{"compatibility":"BACKWARD"}"#).await;
    assert_eq!(client.register("s", &three).await.0, 200);
}

/// A record that was written with an id must never be read with another schema.
#[tokio::test]
async fn an_id_is_never_given_twice_whatever_was_deleted() {
    let store: Arc<Memory> = Arc::default();
    let client = Client::new(Arc::clone(&store)).await;
    client.register("s", V1).await;
    client.register("s", V2).await;
    client.send("DELETE", "/subjects/s", "").await;
    client.send("DELETE", "/subjects/s?permanent=true", "").await;
    let (status, gone) = client.send("GET", "/schemas/ids/2", "").await;
    assert_eq!((status, &gone["error_code"]), (404, &json!(40403)));
    let again = Client::new(store).await;
    let other = V1.replace("\"R\"", "\"Other\"");
    assert_eq!(again.register("t", &other).await.1, json!({ "id": 3 }));
}

#[tokio::test]
async fn schemas_are_imported_with_their_ids_where_the_mode_allows_it() {
    let client = Client::new(Arc::default()).await;
    let import = json!({ "schema": V1, "id": 77, "version": 5 }).to_string();
    let refused = client.send("POST", "/subjects/s/versions", &import).await;
    assert_eq!((refused.0, &refused.1["error_code"]), (422, &json!(42205)));
    client.send("PUT", "/mode/s", r#"{"mode":"IMPORT"}"#).await;
    let answer = client.send("POST", "/subjects/s/versions", &import).await;
    assert_eq!(answer, (200, json!({ "id": 77 })));
    assert_eq!(client.send("GET", "/subjects/s/versions", "").await.1, json!([5]));
    let without = client.send("POST", "/subjects/s/versions", &body(V2)).await;
    assert_eq!(without.0, 422, "an import says its ids");
    let other = json!({ "schema": V2, "id": 77 }).to_string();
    assert_eq!(client.send("POST", "/subjects/s/versions", &other).await.0, 422);
    client.send("DELETE", "/mode/s", "").await;
    assert_eq!(client.register("s", V2).await.1, json!({ "id": 78 }));
    let (_, mode) = client.send("PUT", "/mode", r#"{"mode":"IMPORT"}"#).await;
    assert_eq!(mode["error_code"], json!(42205), "ids in use must not be given away");
    let forced = client.send("PUT", "/mode?force=true", r#"{"mode":"IMPORT"}"#).await;
    assert_eq!(forced, (200, json!({ "mode": "IMPORT" })));
}

#[tokio::test]
async fn metadata_rules_and_settings_are_kept_and_given_back() {
    let store: Arc<Memory> = Arc::default();
    let client = Client::new(Arc::clone(&store)).await;
    let metadata = json!({ "properties": { "owner": "shop" } });
    let with = json!({ "schema": V1, "metadata": metadata, "ruleSet": { "domainRules": [] } });
    client.send("POST", "/subjects/s/versions", &with.to_string()).await;
    client.register("s", V2).await;
    let config = r#"{"compatibility":"FULL","normalize":true,"compatibilityGroup":"major"}"#;
    client.send("PUT", "/config/s", config).await;
    for client in [&client, &Client::new(store).await] {
        let (_, one) = client.send("GET", "/subjects/s/versions/1", "").await;
        assert_eq!(one["metadata"], metadata);
        assert_eq!(one["ruleSet"], json!({ "domainRules": [] }));
        let path = "/subjects/s/metadata?key=owner&value=shop";
        assert_eq!(client.send("GET", path, "").await.1["version"], json!(1));
        let path = "/subjects/s/metadata?key=owner&value=other";
        assert_eq!(client.send("GET", path, "").await.0, 404);
        let (_, config) = client.send("GET", "/config/s", "").await;
        let wanted = json!({ "compatibilityLevel": "FULL", "normalize": true, "compatibilityGroup": "major" });
        assert_eq!(config, wanted);
    }
}

#[tokio::test]
async fn a_schema_is_found_by_its_guid() {
    let client = Client::new(Arc::default()).await;
    client.register("s", V1).await;
    let (_, version) = client.send("GET", "/subjects/s/versions/1", "").await;
    let guid = version["guid"].as_str().unwrap();
    let (_, found) = client.send("GET", &format!("/schemas/guids/{guid}"), "").await;
    assert_eq!((&found["schema"], &found["guid"]), (&json!(V1), &json!(guid)));
    let (_, ids) = client.send("GET", &format!("/schemas/guids/{guid}/ids"), "").await;
    assert_eq!(ids, json!([{ "context": ".", "id": 1 }]));
    for wrong in
        ["nope", "00000000-0000-0000-0000-000000000000", "+0000000-0000-0000-0000-000000000000"]
    {
        assert_eq!(client.send("GET", &format!("/schemas/guids/{wrong}"), "").await.0, 404);
    }
}

#[tokio::test]
async fn deleted_versions_are_told_apart_on_demand() {
    let client = Client::new(Arc::default()).await;
    client.register("s", V1).await;
    client.register("s", V2).await;
    client.send("DELETE", "/subjects/s/versions/1", "").await;
    let versions = |query: &'static str| {
        let client = &client;
        async move { client.send("GET", &format!("/subjects/s/versions?{query}"), "").await.1 }
    };
    assert_eq!(versions("").await, json!([2]));
    assert_eq!(versions("deleted=true").await, json!([1, 2]));
    assert_eq!(versions("deletedOnly=true").await, json!([1]));
    assert_eq!(versions("deletedAsNegative=true").await, json!([-1, 2]));
    let (_, one) = client.send("GET", "/subjects/s/versions/1?deleted=true", "").await;
    assert_eq!(one["deleted"], json!(true));
}

#[tokio::test]
async fn the_default_context_before_a_subject_is_the_subject() {
    let client = Client::new(Arc::default()).await;
    client.register(":.:s", V1).await;
    assert_eq!(client.send("GET", "/subjects", "").await.1, json!(["s"]));
    assert_eq!(client.send("GET", "/subjects/:.:s/versions", "").await.1, json!([1]));
    assert_eq!(client.send("GET", "/subjects?subjectPrefix=:.:s", "").await.1, json!(["s"]));
}

#[tokio::test]
async fn nothing_that_is_sent_makes_it_fail_inside() {
    let client = Client::new(Arc::default()).await;
    client.register("s", V1).await;
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let bodies = [
        "",
        "{",
        "[]",
        "null",
        "1",
        "\"x\"",
        "{\"schema\":1}",
        "{\"schema\":{}}",
        "{\"schema\":\"\\u0000\"}",
        "{\"schema\":\"[]\",\"schemaType\":7}",
        "{\"schema\":\"\\\"int\\\"\",\"references\":[{}]}",
        deep.as_str(),
    ];
    for path in [
        "/subjects/s/versions",
        "/subjects/s",
        "/compatibility/subjects/s/versions/latest",
        "/compatibility/subjects/s/versions",
    ] {
        for body in bodies {
            let (status, answer) = client.send("POST", path, body).await;
            assert!((400..500).contains(&status), "{path} {body:.40}: {status} {answer}");
            assert!(answer["error_code"].is_u64(), "{path} {body:.40}: {answer}");
        }
    }
    for path in ["/config", "/config/s", "/mode", "/mode/s"] {
        for body in bodies {
            let (status, _) = client.send("PUT", path, body).await;
            assert!((400..500).contains(&status), "{path} {body:.40}: {status}");
        }
    }
    assert_eq!(client.send("GET", "/subjects/s/versions", "").await.1, json!([1]));
    assert_ne!(client.send("GET", "/config", "").await.1, Value::Null);
}
