//! What `/metrics` tells while rows flow, and that the Grafana board shows nothing else.

use std::collections::BTreeSet;

use lattice_testkit::wait_until;

use crate::{PATIENCE, Path};

/// The names of measures in a text: in an expression, or in what `/metrics` answers.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    let ours = ["lattice_", "kafka_connect_", "debezium_metrics_"];
    words.filter(|word| ours.iter().any(|start| word.starts_with(start))).collect()
}

/// The expressions of every panel and variable of the board.
fn expressions(board: &serde_json::Value) -> String {
    let mut text = String::new();
    let mut waiting = vec![board];
    while let Some(value) = waiting.pop() {
        match value {
            serde_json::Value::Object(map) => {
                for (name, value) in map {
                    match value.as_str() {
                        Some(expression) if name == "expr" || name == "query" => {
                            text.push_str(expression);
                            text.push('\n');
                        }
                        _ => waiting.push(value),
                    }
                }
            }
            serde_json::Value::Array(items) => waiting.extend(items),
            _ => {}
        }
    }
    text
}

#[tokio::test]
async fn every_series_of_the_grafana_board_is_told_and_none_twice() {
    let path = Path::usual("metrics").await;
    path.source
        .execute("create table t (id int primary key, v text); insert into t select g, 'x' from generate_series(1, 50) g")
        .await;
    path.connect().await;
    path.equal("t").await;
    path.source.execute("insert into t values (51, 'y')").await;
    path.equal("t").await;

    let board = include_str!("../../../../docs/grafana/lattice.json");
    let board: serde_json::Value = serde_json::from_str(board).expect("the board is JSON");
    let expressions = expressions(&board);
    let wanted = names(&expressions);
    assert!(wanted.len() > 15, "the board has {} series", wanted.len());
    wait_until(PATIENCE, "every series of the board", async || {
        let told = metrics(&path).await;
        wanted.is_subset(&names(&told))
    })
    .await;

    let told = metrics(&path).await;
    let mut seen = BTreeSet::new();
    for line in told.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').expect("a series and its value");
        assert!(seen.insert(series), "{series} is told twice");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    for (series, value) in [
        (
            r#"kafka_connect_connector_task_status{connector="source",task="0",status="running"}"#,
            1.0,
        ),
        (r#"kafka_connect_worker_connector_running_task_count{connector="sink"}"#, 1.0),
    ] {
        let line = told.lines().find_map(|line| line.strip_prefix(series));
        let told = line.and_then(|value| value.trim().parse::<f64>().ok());
        assert_eq!(told, Some(value), "{series}");
    }
    let sent = r#"kafka_connect_sink_task_sink_record_send_total{connector="sink",task="0"} 51"#;
    assert!(told.contains(sent), "51 rows were delivered");
}

async fn metrics(path: &Path) -> String {
    let answer = path.lattice.request("GET", "/metrics", None).await;
    answer.body.as_str().unwrap_or_default().to_owned()
}
