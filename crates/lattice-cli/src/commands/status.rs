//! `lattice status`: states, rates and lag; with `--watch` as they change, with progress bars.

use std::io::{IsTerminal, Write};

use anyhow::{Result, bail};
use serde_json::Value;

use super::{print_json, text};
use crate::{arguments::Global, client::Server, table};

pub(super) async fn run(
    server: &Server,
    global: &Global,
    name: Option<&str>,
    watch: bool,
) -> Result<()> {
    if !watch {
        let overview = server.get("/api/v1/overview").await?;
        return show(global, &overview, name);
    }
    let terminal = std::io::stdout().is_terminal();
    server
        .events("/api/v1/events", |event, snapshot| {
            if event == "snapshot" {
                if terminal && !global.json {
                    // Clears the screen and goes home.
                    print!("\x1b[2J\x1b[H");
                }
                show(global, &snapshot, name)?;
                std::io::stdout().flush()?;
            }
            Ok(true)
        })
        .await
}

fn show(global: &Global, overview: &Value, name: Option<&str>) -> Result<()> {
    let all = overview["connectors"].as_array().cloned().unwrap_or_default();
    let chosen: Vec<Value> = all
        .into_iter()
        .filter(|connector| name.is_none_or(|name| connector["name"] == name))
        .collect();
    if let Some(name) = name
        && chosen.is_empty()
    {
        bail!("Connector {name} not found");
    }
    if global.json {
        return print_json(&Value::Array(chosen));
    }
    if chosen.is_empty() {
        println!("no connectors yet: create one with lattice apply FILE or in the console");
        return Ok(());
    }
    let rows: Vec<_> = chosen.iter().map(connector_row).collect();
    println!(
        "{}",
        table::render(&["NAME", "TYPE", "STATE", "EVENTS/S", "BEHIND", "TOPICS"], &rows)
    );
    for connector in &chosen {
        details(connector, name.is_some());
    }
    if let Some(message) = overview["log"]["message"].as_str() {
        println!("\nlog: {message}");
    }
    Ok(())
}

fn connector_row(connector: &Value) -> Vec<String> {
    let behind = match (connector["behind_records"].as_i64(), connector["behind_ms"].as_i64()) {
        (Some(records), _) if records > 0 => format!("{records} records"),
        (_, Some(ms)) => table::millis(ms),
        (Some(_), None) => "0 records".to_owned(),
        (None, None) => "-".to_owned(),
    };
    vec![
        text(connector, "name"),
        text(connector, "type"),
        text(connector, "state"),
        format!("{:.0}", connector["events_per_s"].as_f64().unwrap_or(0.0)),
        behind,
        connector["topics"].as_array().map_or(0, Vec::len).to_string(),
    ]
}

fn details(connector: &Value, every_table: bool) {
    let name = text(connector, "name");
    if let Some(trace) = connector["trace"].as_str() {
        println!("\n{name} failed: {trace}");
    }
    for task in connector["tasks"].as_array().into_iter().flatten() {
        for (subject, note) in task["notes"].as_object().into_iter().flatten() {
            println!("{name}: {subject}: {}", note.as_str().unwrap_or_default());
        }
        for one in task["tables"].as_array().into_iter().flatten() {
            let state = text(one, "state");
            let number = |member: &str| one[member].as_u64().unwrap_or(0);
            if state == "SNAPSHOTTING" {
                let (done, expected) = (number("snapshot_rows"), number("snapshot_rows_expected"));
                println!(
                    "  {} {} {done} of about {expected} rows",
                    table::bar(done, expected),
                    text(one, "name")
                );
            } else if every_table {
                println!("  {} {state} {} events", text(one, "name"), number("events"));
            }
            if let Some(message) = one["message"].as_str() {
                println!("    {message}");
            }
        }
    }
}
