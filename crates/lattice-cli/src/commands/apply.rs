//! `lattice apply` and `lattice check`: connectors as code.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::{print_json, text};
use crate::{
    arguments::Global,
    client::Server,
    documents::{self, Document},
};
use lattice_server::path_segment;

/// Creates what is not there, updates what differs, leaves alone what is equal.
pub(super) async fn apply(
    server: &Server,
    global: &Global,
    files: &[PathBuf],
    dry_run: bool,
) -> Result<()> {
    let mut documents = Vec::new();
    for file in files {
        // All files are read before the first change.
        documents.extend(documents::read(file)?);
    }
    let mut done = Vec::new();
    for Document { name, config } in documents {
        let path = format!("/connectors/{}/config", path_segment(&name));
        let (status, current) = server.call(Method::GET, &path, None).await?;
        let action = match status {
            StatusCode::OK if same(&current, &name, &config) => match masks(&current, &config) {
                // Only the server can compare what it shows masked.
                true if !same_secrets(server, &name, &config).await? => "updated",
                _ => "unchanged",
            },
            StatusCode::OK => "updated",
            StatusCode::NOT_FOUND => "created",
            _ => bail!("{name}: {}", text(&current, "message")),
        };
        if !dry_run && action != "unchanged" {
            let body = Value::Object(config);
            server.ask(Method::PUT, &path, Some(&body)).await.with_context(|| name.clone())?;
        }
        if !global.json {
            let would = if dry_run && action != "unchanged" { "would be " } else { "" };
            println!("{name} {would}{action}");
        }
        done.push(json!({ "name": name, "action": action, "dry_run": dry_run }));
    }
    if global.json {
        print_json(&Value::Array(done))?;
    }
    Ok(())
}

/// What the server shows in the place of a secret that was written out.
const MASK: &str = lattice_core::secret::MASK;

/// Whether a file says what the server has, as far as the server shows it.
fn same(current: &Value, name: &str, config: &Map<String, Value>) -> bool {
    let Some(current) = current.as_object() else { return false };
    let known = |map: &Map<String, Value>| {
        let mut map = map.clone();
        if map.get("name").is_some_and(|given| given == name) {
            map.remove("name");
        }
        for (key, shown) in &mut map {
            if current.get(key).is_some_and(|value| value == MASK) {
                *shown = MASK.into();
            }
        }
        map
    };
    known(current) == known(config)
}

/// Whether the server masks something that the file writes out.
fn masks(current: &Value, config: &Map<String, Value>) -> bool {
    config.iter().any(|(key, value)| current[key] == MASK && value != MASK)
}

async fn same_secrets(server: &Server, name: &str, config: &Map<String, Value>) -> Result<bool> {
    let body = json!({ "name": name, "config": config });
    let result = server.ask(Method::POST, "/api/v1/check", Some(&body)).await?;
    Ok(result["unchanged"] == true)
}

/// Runs the preflight of every connector; fails when one has an error.
pub(super) async fn check(server: &Server, global: &Global, files: &[PathBuf]) -> Result<ExitCode> {
    let mut results = Vec::new();
    let mut all_ok = true;
    for file in files {
        for Document { name, config } in documents::read(file)? {
            let body = json!({ "name": name, "config": config });
            let result = server.ask(Method::POST, "/api/v1/check", Some(&body)).await?;
            all_ok &= result["ok"] == true;
            if !global.json {
                print_issues(&name, &result);
            }
            results.push(json!({ "name": name, "result": result }));
        }
    }
    if global.json {
        print_json(&Value::Array(results))?;
    }
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_issues(name: &str, result: &Value) {
    let issues = result["issues"].as_array().cloned().unwrap_or_default();
    if issues.is_empty() {
        println!("{name}: all right");
    }
    for issue in issues {
        let key = text(&issue, "key");
        let place = if key.is_empty() { String::new() } else { format!(" {key}:") };
        println!("{name}: {}:{place} {}", text(&issue, "severity"), text(&issue, "message"));
        if let Some(remedy) = issue["remedy"].as_str() {
            println!("    {remedy}");
        }
    }
}
