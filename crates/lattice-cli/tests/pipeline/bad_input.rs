//! Wrong configurations: one clear message each, which names the key, the reason and the remedy, the
//! same in the platform's API, Kafka Connect's and the command line. The console shows what the
//! platform's API answers.

use std::process::Command;

use serde_json::{Map, Value, json};

use crate::Path;

/// What is wrong, in which key it is told, and words of the reason and of the remedy.
struct Wrong {
    what: &'static str,
    change: (&'static str, &'static str),
    key: &'static str,
    reason: &'static str,
    remedy: &'static str,
}

const fn wrong(
    what: &'static str,
    change: (&'static str, &'static str),
    key: &'static str,
    reason: &'static str,
    remedy: &'static str,
) -> Wrong {
    Wrong { what, change, key, reason, remedy }
}

const SOURCE: [Wrong; 11] = [
    wrong(
        "password",
        ("database.password", "wr0ng-one"),
        "database.password",
        "password authentication failed",
        "database.password",
    ),
    wrong(
        "host",
        ("database.hostname", "nowhere.invalid"),
        "database.hostname",
        "nowhere.invalid",
        "database.hostname",
    ),
    wrong("port", ("database.port", "1"), "database.hostname", "127.0.0.1:1", "database.port"),
    wrong(
        "database",
        ("database.dbname", "no_such_database"),
        "database.dbname",
        "no_such_database",
        "database.dbname",
    ),
    wrong(
        "table",
        ("table.include.list", "public.no_such_table"),
        "table.include.list",
        "\"public.no_such_table\" matches no table",
        "regular expressions on schema.table",
    ),
    wrong(
        "publication",
        ("publication.autocreate.mode", "disabled"),
        "publication.name",
        "publication",
        "CREATE PUBLICATION",
    ),
    wrong("plugin", ("plugin.name", "wal2json"), "plugin.name", "wal2json", "pgoutput"),
    wrong(
        "class",
        ("connector.class", "postgress"),
        "connector.class",
        "postgress",
        "did you mean",
    ),
    wrong(
        "key",
        ("database.hostnme", "x"),
        "database.hostnme",
        "unknown",
        "did you mean \"database.hostname\"?",
    ),
    wrong("range", ("database.port", "70000"), "database.port", "70000", "from 1 to 65535"),
    wrong("number", ("max.batch.size", "many"), "max.batch.size", "many", "number"),
];

const SINK: [Wrong; 6] = [
    wrong("password", ("password", "wr0ng-one"), "password", "Authentication failed", "password"),
    wrong("host", ("hostname", "nowhere.invalid"), "hostname", "nowhere.invalid", "hostname"),
    wrong(
        "database",
        ("database", "no_such_database"),
        "database",
        "no_such_database",
        "CREATE DATABASE",
    ),
    wrong("key", ("databse", "x"), "databse", "unknown", "did you mean \"database\"?"),
    wrong("value", ("errors.tolerance", "some"), "errors.tolerance", "some", "none, all"),
    wrong("topics", ("topics.regex", "("), "topics.regex", "(", "regular expression"),
];

/// The issue of a key in what `POST /api/v1/check` answers.
fn issue_of(answer: &Value, key: &str) -> Option<(String, String)> {
    let issue = answer["issues"].as_array()?.iter().find(|issue| issue["key"] == key)?;
    let text = |member: &str| issue[member].as_str().unwrap_or_default().to_owned();
    Some((text("message"), text("remedy")))
}

async fn check_all(path: &Path, base: &[(String, String)], cases: &[Wrong]) -> Vec<String> {
    let mut failures = Vec::new();
    for case in cases {
        let mut config: Map<String, Value> =
            base.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        config.insert(case.change.0.to_owned(), case.change.1.into());
        let body = json!({ "name": "wrong", "config": config });
        let answer = path.lattice.request("POST", "/api/v1/check", Some(&body)).await;
        let Some((message, remedy)) = issue_of(&answer.body, case.key) else {
            failures.push(format!("{}: no issue of {} in {}", case.what, case.key, answer.body));
            continue;
        };
        if !message.contains(case.reason) || !format!("{message} {remedy}").contains(case.remedy) {
            failures.push(format!("{}: {message:?}, remedy {remedy:?}", case.what));
        }
        if answer.body["ok"] == true {
            // A warning: the connector may run, so nothing is created here.
            continue;
        }
        let connect = path.lattice.request("POST", "/connectors", Some(&body)).await;
        if connect.status != 400 || !connect.message().contains(&message) {
            failures.push(format!("{}: Connect's API: {}", case.what, connect.body));
        }
        let told = command_line(path, &body).await;
        if !told.contains(&message) || !told.contains(&remedy) {
            failures.push(format!("{}: the command line: {told}", case.what));
        }
        for text in [&answer.body.to_string(), &connect.body.to_string(), &told] {
            if text.contains("wr0ng-one") {
                failures.push(format!("{}: a password is shown: {text}", case.what));
            }
        }
    }
    failures
}

/// What `lattice check` prints.
async fn command_line(path: &Path, body: &Value) -> String {
    let (url, body) = (path.lattice.url(), body.to_string());
    let run = move || {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("wrong.json");
        std::fs::write(&file, body).expect("write the file");
        let output = Command::new(env!("CARGO_BIN_EXE_lattice"))
            .args(["--url", &url, "check"])
            .arg(&file)
            .output()
            .expect("run lattice");
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    };
    tokio::task::spawn_blocking(run).await.expect("the command ends")
}

#[tokio::test]
async fn every_wrong_configuration_of_a_source_is_told_alike_everywhere() {
    let path = Path::usual("wrong_source").await;
    path.source.execute("CREATE TABLE public.t (id int PRIMARY KEY)").await;
    let failures = check_all(&path, &path.source_config(&[]), &SOURCE).await;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn every_wrong_configuration_of_a_sink_is_told_alike_everywhere() {
    let path = Path::usual("wrong_sink").await;
    let failures = check_all(&path, &path.sink_config(&[]), &SINK).await;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
