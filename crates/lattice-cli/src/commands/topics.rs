//! `lattice topics …` and `lattice tail`.

use std::time::Duration;

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::Value;

use super::{print_json, text};
use crate::{
    arguments::{Global, Topics},
    client::Server,
    table,
};
use lattice_server::path_segment;

pub(super) async fn run(server: &Server, global: &Global, command: Topics) -> Result<()> {
    match command {
        Topics::List { all } => list(server, global, all).await,
        Topics::Show { topic } => {
            let path = format!("/api/v1/topics/{}", path_segment(&topic));
            print_json(&server.get(&path).await?)
        }
        Topics::Delete { topic } => {
            let path = format!("/api/v1/topics/{}", path_segment(&topic));
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

/// How long to wait before asking again for records that are not there yet.
const PERIOD: Duration = Duration::from_millis(250);

/// What one answer may bring.
const PAGE: usize = 1000;

/// Prints records: what is there from `from` on (else only new ones), then what arrives, until
/// `limit`. Reads by offsets rather than from the server's stream, which passes over what a
/// person could not read: programs that read the output miss nothing.
pub(super) async fn tail(
    server: &Server,
    global: &Global,
    topic: &str,
    from: Option<&str>,
    limit: Option<usize>,
) -> Result<()> {
    let base = format!("/api/v1/topics/{}", path_segment(topic));
    let mut places = places(&server.get(&base).await?, from)?;
    let mut left = limit.unwrap_or(usize::MAX);
    while left > 0 {
        let mut found = false;
        for (partition, next) in &mut places {
            let path = format!(
                "{base}/messages?partition={partition}&from={next}&limit={}",
                left.min(PAGE)
            );
            let page = server.get(&path).await?;
            for record in page["records"].as_array().into_iter().flatten() {
                print_record(global, record)?;
                // A page is in the order of time, which need not be that of offsets.
                *next = (*next).max(record["offset"].as_i64().unwrap_or(*next) + 1);
                left -= 1;
                found = true;
            }
            if left == 0 {
                return Ok(());
            }
        }
        if !found {
            tokio::time::sleep(PERIOD).await;
        }
    }
    Ok(())
}

/// Partitions of a topic with the offset to begin at.
fn places(topic: &Value, from: Option<&str>) -> Result<Vec<(i64, i64)>> {
    let mut places = Vec::new();
    for partition in topic["partitions"].as_array().into_iter().flatten() {
        let number = |member: &str| partition[member].as_i64().unwrap_or(0);
        let offset = match from {
            None | Some("latest") => number("end_offset"),
            Some("earliest") => number("log_start_offset"),
            Some(text) => text
                .parse()
                .with_context(|| format!("--from {text} is neither earliest nor an offset"))?,
        };
        places.push((number("partition"), offset));
    }
    Ok(places)
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
