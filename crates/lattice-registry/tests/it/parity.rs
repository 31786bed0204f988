//! Several hundred requests, answered as a real Apicurio 3.3.3 has answered them.
//!
//! `requests.jsonl` is the table, `apicurio.jsonl` what was answered (`cargo x parity registry`
//! records it anew), `differences.jsonl` where we mean to answer something else: the request, why
//! (a heading of `docs/compatibility.md`), and what we answer.

#![allow(clippy::unwrap_used)] // helpers of tests, outside of the tests' own functions

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
};

use axum::{Router, body::Body, http::Request};
use lattice_registry::{EmbeddedRegistry, apicurio_routes, routes};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::Memory;

const REQUESTS: &str = include_str!("../parity/requests.jsonl");
const RECORDED: &str = include_str!("../parity/apicurio.jsonl");
const DIFFERENCES: &str = include_str!("../parity/differences.jsonl");
const PAGE: &str = include_str!("../../../../docs/compatibility.md");

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn service() -> Router {
    let registry = EmbeddedRegistry::open(Arc::<Memory>::default()).await.unwrap();
    Router::new()
        .nest("/apis/ccompat/v7", routes(Arc::clone(&registry)))
        .nest("/apis/registry/v3", apicurio_routes(registry))
}

async fn send(service: &Router, request: &Value) -> (u64, Value) {
    let path = request["path"].as_str().unwrap();
    let usual = "application/vnd.schemaregistry.v1+json";
    let body = match (&request["raw"], &request["body"]) {
        (Value::String(raw), _) => raw.clone(),
        (_, Value::Null) => String::new(),
        (_, body) => body.to_string(),
    };
    let request = Request::builder()
        .method(request["method"].as_str().unwrap())
        .uri(path)
        .header("content-type", request["type"].as_str().unwrap_or(usual))
        .body(Body::from(body))
        .unwrap();
    let response = service.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 24).await.unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (status.into(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// What clients act on: names of members, types of values; values themselves where they are words
/// of the API, versions or subjects. Ids, times and people's words differ by nature; that a level
/// is told with `normalize: false`, a schema with its GUID, and that an incompatible schema is 409
/// or 40901, is said once on the page and not for each request.
fn shape(value: &Value, member: &str) -> Value {
    match value {
        Value::Object(object) => {
            let told = |(name, value): &(&String, &Value)| {
                *name != "guid" && !(*name == "normalize" && **value == Value::Bool(false))
            };
            let members = object.iter().filter(told);
            let members: BTreeMap<&String, Value> =
                members.map(|(name, value)| (name, shape(value, name))).collect();
            json!(members)
        }
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => json!(items),
        Value::Array(items) => {
            let shapes: BTreeSet<String> =
                items.iter().map(|item| shape(item, "").to_string()).collect();
            json!(shapes)
        }
        Value::Number(code) if member == "error_code" && code.as_u64() == Some(40901) => {
            json!(409)
        }
        Value::Number(_)
            if matches!(member, "id" | "globalId" | "contentId" | "maxId" | "count") =>
        {
            json!("a number")
        }
        Value::String(_)
            if matches!(
                member,
                "message" | "detail" | "title" | "createdOn" | "modifiedOn" | "description"
            ) =>
        {
            json!("words")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[tokio::test]
async fn every_request_is_answered_as_apicurio_does_or_the_difference_is_told() {
    let recorded: BTreeMap<String, Value> = lines(RECORDED)
        .into_iter()
        .map(|answer| (answer["name"].as_str().unwrap().to_owned(), answer))
        .collect();
    let mut differences: BTreeMap<String, Value> = lines(DIFFERENCES)
        .into_iter()
        .map(|one| (one["name"].as_str().unwrap().to_owned(), one))
        .collect();
    let service = service().await;
    let mut wrong = String::new();
    for request in lines(REQUESTS) {
        let name = request["name"].as_str().unwrap();
        let (status, body) = send(&service, &request).await;
        let theirs = &recorded[name];
        let ours = json!({ "status": status, "body": shape(&body, "") });
        let expected = json!({ "status": theirs["status"], "body": shape(&theirs["body"], "") });
        let meant = differences.remove(name);
        if ours == expected {
            if meant.is_some() {
                writeln!(wrong, "{name}: is no longer different").unwrap();
            }
            continue;
        }
        match meant {
            Some(meant) if meant["ours"] == ours => {
                let heading = format!("### {}\n", meant["why"].as_str().unwrap());
                assert!(PAGE.contains(&heading), "docs/compatibility.md has no \"{heading}\"");
            }
            _ => {
                let line = json!({ "name": name, "why": "?", "ours": ours });
                writeln!(wrong, "{line}\n    Apicurio: {expected}").unwrap();
            }
        }
    }
    for name in differences.keys() {
        writeln!(wrong, "{name}: a difference of no request").unwrap();
    }
    if !wrong.is_empty() {
        std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/parity.txt"), &wrong).unwrap();
    }
    assert!(wrong.is_empty(), "{} differences are not told:\n{wrong}", wrong.lines().count());
}
