//! `openapi.json` against the router: every operation of the document is served.

use axum::http::StatusCode;
use serde_json::Value;

use crate::house::House;

#[tokio::test]
async fn every_operation_of_the_document_is_served() {
    let house = House::new().await;
    let document = house.get("/openapi.json").await.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 30, "the document has {} paths", paths.len());
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().unwrap() {
            let stream = operation["responses"]["200"]["content"].get("text/event-stream");
            let place = path.replace(['{', '}'], "");
            if stream.is_some() && !path.contains('{') {
                // A stream never ends; the tests of streams read it.
                continue;
            }
            let method = method.to_ascii_uppercase();
            let told = house.call(&method, &place, &Value::Object(Default::default())).await;
            let known = operation["responses"].get(told.status.as_str()).is_some();
            assert!(known, "{method} {path} answered {}: {}", told.status, told.text);
            assert_ne!(told.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn every_reference_of_the_document_leads_somewhere() {
    let house = House::new().await;
    let document = house.get("/openapi.json").await.json();
    let mut waiting = vec![&document];
    while let Some(value) = waiting.pop() {
        if let Some(Value::String(reference)) = value.get("$ref") {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
        match value {
            Value::Object(map) => waiting.extend(map.values()),
            Value::Array(list) => waiting.extend(list),
            _ => {}
        }
    }
}
