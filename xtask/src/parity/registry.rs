//! `cargo x parity registry`: a real Apicurio's answers to the table of requests.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{
    place,
    services::{apicurio::Registry, free_port},
};

const FOLDER: &str = "crates/lattice-registry/tests/parity";

/// A fresh Apicurio answers the table from its first request to its last: later ones depend on earlier ones.
pub(super) fn record() -> Result<()> {
    let folder = place::root().join(FOLDER);
    let table = folder.join("requests.jsonl");
    let text = fs::read_to_string(&table).with_context(|| format!("read {}", table.display()))?;
    let server = Registry::new(place::dev().join("parity-apicurio"), free_port()?);
    server.start(true).context("start a fresh Apicurio")?;
    let recorded = ask(&server.url(), &text);
    server.stop()?;
    write(&folder.join("apicurio.jsonl"), &recorded?)
}

fn ask(url: &str, table: &str) -> Result<String> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut out = String::new();
    for line in table.lines() {
        let request: Value = serde_json::from_str(line).with_context(|| format!("read {line}"))?;
        let (status, body) = send(&agent, url, &request).with_context(|| format!("send {line}"))?;
        let answer = json!({ "name": request["name"], "status": status, "body": body });
        writeln!(out, "{answer}").context("write an answer")?;
    }
    Ok(out)
}

fn send(agent: &ureq::Agent, url: &str, request: &Value) -> Result<(u16, Value)> {
    let text = |member: &str| request[member].as_str().unwrap_or_default();
    let content_type = request["type"].as_str().unwrap_or("application/vnd.schemaregistry.v1+json");
    let body = match (&request["raw"], &request["body"]) {
        (Value::String(raw), _) => raw.clone(),
        (_, Value::Null) => String::new(),
        (_, body) => body.to_string(),
    };
    let content_type =
        if text("path").contains("/registry/v3") { "application/json" } else { content_type };
    let request = ureq::http::Request::builder()
        .method(text("method"))
        .uri(format!("{url}{}", text("path")))
        .header("content-type", content_type)
        .body(body)?;
    let mut answer = agent.run(request)?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().read_to_string()?;
    let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
    Ok((status, timeless(body)))
}

/// The same without times of day, so that recording again changes only what has changed.
fn timeless(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let member = |(name, value): (String, Value)| {
                let time = matches!(name.as_str(), "createdOn" | "modifiedOn" | "builtOn");
                (name, if time { Value::from("a time") } else { timeless(value) })
            };
            Value::Object(object.into_iter().map(member).collect())
        }
        Value::Array(items) => items.into_iter().map(timeless).collect(),
        other => other,
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
    println!("{} answers recorded in {}", text.lines().count(), path.display());
    Ok(())
}
