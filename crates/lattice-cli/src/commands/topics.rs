//! `lattice topics …` and `lattice tail`.

use anyhow::Result;
use reqwest::Method;
use serde_json::Value;

use super::{print_json, text};
use crate::{
    arguments::{Global, Topics},
    client::{Server, segment},
    table,
};

pub(super) async fn run(server: &Server, global: &Global, command: Topics) -> Result<()> {
    match command {
        Topics::List { all } => list(server, global, all).await,
        Topics::Show { topic } => {
            let path = format!("/api/v1/topics/{}", segment(&topic));
            print_json(&server.get(&path).await?)
        }
        Topics::Delete { topic } => {
            let path = format!("/api/v1/topics/{}", segment(&topic));
            server.ask(Method::DELETE, &path, None).await?;
            println!("deleted {topic}");
            Ok(())
        }
    }
}

async fn list(server: &Server, global: &Global, all: bool) -> Result<()> {
    let topics = server.get("/api/v1/topics").await?;
    let shown: Vec<Value> = topics
        .as_array()
        .into_iter()
        .flatten()
        .filter(|topic| all || topic["internal"] != true)
        .cloned()
        .collect();
    if global.json {
        return print_json(&Value::Array(shown));
    }
    let row = |topic: &Value| {
        let bytes = table::bytes(topic["bytes"].as_u64().unwrap_or(0));
        vec![text(topic, "name"), text(topic, "partitions"), text(topic, "records"), bytes]
    };
    let rows: Vec<_> = shown.iter().map(row).collect();
    println!("{}", table::render(&["TOPIC", "PARTITIONS", "RECORDS", "SIZE"], &rows));
    Ok(())
}

/// Prints records: what is there from `from` on, then what arrives, until `limit`.
pub(super) async fn tail(
    server: &Server,
    global: &Global,
    topic: &str,
    from: Option<&str>,
    limit: Option<usize>,
) -> Result<()> {
    let base = format!("/api/v1/topics/{}", segment(topic));
    let mut left = limit.unwrap_or(usize::MAX);
    if let Some(from) = from {
        let path = format!("{base}/messages?from={}&limit={}", segment(from), left.min(1000));
        let page = server.get(&path).await?;
        for record in page["records"].as_array().into_iter().flatten() {
            print_record(global, record)?;
            left = left.saturating_sub(1);
        }
    }
    if left == 0 {
        return Ok(());
    }
    server
        .events(&format!("{base}/stream"), |event, record| {
            if event == "record" {
                print_record(global, &record)?;
                left -= 1;
            }
            Ok(left > 0)
        })
        .await
}

fn print_record(global: &Global, record: &Value) -> Result<()> {
    if global.json {
        println!("{record}");
        return Ok(());
    }
    let place = format!("{}/{}", record["partition"], record["offset"]);
    let key = &record["key"]["data"];
    match record["op"].as_str() {
        Some(op) => {
            let row = if op == "d" { &record["before"] } else { &record["after"] };
            println!("{place} {op} {key} {row}");
        }
        None if record["tombstone"] == true => println!("{place} tombstone {key}"),
        None => println!("{place} {key} {}", record["value"]["data"]),
    }
    Ok(())
}
