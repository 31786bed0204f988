//! The OpenAPI document against the server: every path in it answers, and as the document says.

use lattice_testkit::LatticeProcess;
use serde_json::Value;

#[tokio::test]
async fn every_get_of_the_document_is_answered_with_a_status_that_it_names() {
    let lattice = LatticeProcess::start().await;
    let document = lattice.get("/openapi.json").await;
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    assert!(paths.len() > 30, "the document has {} paths", paths.len());
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().cloned().unwrap_or_default() {
            let concrete = concrete(&path);
            if operation["responses"]["200"]["content"].get("text/event-stream").is_some()
                && !path.contains('{')
            {
                // A stream never ends; its test reads it.
                continue;
            }
            let body = (method != "get").then(|| Value::Object(serde_json::Map::new()));
            let answer =
                lattice.request(&method.to_ascii_uppercase(), &concrete, body.as_ref()).await;
            let status = answer.status.to_string();
            assert!(
                operation["responses"].get(&status).is_some(),
                "{method} {concrete} answered {status}, which the document does not name: {}",
                answer.body
            );
            assert_ne!(answer.status, 405, "{method} {path} is in the document but not served");
        }
    }
}

fn concrete(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "none" } else { part });
    parts.collect::<Vec<_>>().join("/")
}
