//! What goes wrong, and what is said then.

use lattice_core::{ErrorKind, config::Severity, connector::SourceConnector};
use lattice_testkit::service;
use mongodb::bson::doc;

use crate::harness::{DEADLINE, Source, ops};

#[tokio::test]
async fn a_lost_position_stops_with_the_ways_out_and_each_of_them_works() {
    let mut source = Source::new("lost", &[]).await;
    source.insert("t", doc! {"_id": 0}).await;
    drop(source.stream().await);
    source.insert("t", doc! {"_id": 1}).await;
    let fail = doc! {"configureFailPoint": "failCommand", "mode": {"times": 1},
    "data": {"failCommands": ["aggregate"], "errorCode": 286, "appName": "lattice_lost"}};
    let admin = source.client.database("admin");
    let uri = format!("{}&appName=lattice_lost", service("LATTICE_TEST_MONGO"));
    source.config.set("mongodb.connection.string", uri);
    admin.run_command(fail.clone()).await.expect("the fail point is set");
    let error = source.try_open().await.err().expect("does not open");
    assert_eq!(error.kind(), ErrorKind::Fatal);
    let text = error.chain();
    for part in ["286", "when_needed", "lattice.accept.gap", "replSetResizeOplog"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    source.config.set("snapshot.mode", "when_needed");
    admin.run_command(fail.clone()).await.expect("the fail point is set");
    let mut task = source.open().await;
    assert_eq!(ops(&source.read(&mut task, 2).await), [("r", "0"), ("r", "1")]);
    source.config.set("snapshot.mode", "initial");
    source.config.set("lattice.accept.gap", "true");
    admin.run_command(fail).await.expect("the fail point is set");
    let mut task = source.stream().await;
    source.insert("t", doc! {"_id": 2}).await;
    assert_eq!(ops(&source.read(&mut task, 1).await), [("c", "2")]);
}

#[tokio::test]
async fn a_dropped_target_of_the_stream_is_gone_past() {
    let options = [("capture.scope", "collection"), ("capture.target", "DB.t")];
    let mut source = Source::new("invalidate", &options).await;
    source.insert("t", doc! {"_id": 0}).await;
    let mut task = source.stream().await;
    source.insert("t", doc! {"_id": 1}).await;
    source.collection("t").drop().await.expect("is dropped");
    assert_eq!(ops(&source.read(&mut task, 1).await), [("c", "1")]);
    let said =
        |source: &Source| source.progress.notes().iter().any(|(_, text)| text.contains("dropped"));
    while !said(&source) {
        source.step(&mut task).await;
    }
    source.insert("t", doc! {"_id": 2}).await;
    assert_eq!(ops(&source.read(&mut task, 1).await), [("c", "2")]);
    drop(task);
    // The stored position is behind the invalidation, too.
    source.insert("t", doc! {"_id": 3}).await;
    let mut task = source.open().await;
    assert_eq!(ops(&source.read(&mut task, 1).await), [("c", "3")]);
}

#[tokio::test]
async fn a_renamed_collection_is_told_and_goes_on_under_its_new_name() {
    let mut source = Source::new("rename", &[]).await;
    source.insert("t", doc! {"_id": 0}).await;
    let mut task = source.stream().await;
    let name = source.database.name().to_owned();
    let rename = doc! {"renameCollection": format!("{name}.t"), "to": format!("{name}.u")};
    source.client.database("admin").run_command(rename).await.expect("is renamed");
    source.insert("u", doc! {"_id": 1}).await;
    let seen = source.read(&mut task, 1).await;
    assert_eq!(seen[0].collection, "u");
    let notes = source.progress.notes();
    assert!(notes.iter().any(|(_, text)| text.contains("was renamed to")), "{notes:?}");
}

#[tokio::test]
async fn missing_images_are_told_with_the_command_that_turns_them_on() {
    let mode = [("capture.mode", "change_streams_with_pre_image")];
    let mut source = Source::new("images", &mode).await;
    source.insert("t", doc! {"_id": 0}).await;
    let issues = source.connector.validate(&source.config).await;
    let issue = issues.iter().find(|issue| issue.key == "capture.mode").expect("is told");
    assert_eq!(issue.severity, Severity::Warning);
    let remedy = issue.remedy.as_deref().unwrap_or("");
    assert!(remedy.contains("changeStreamPreAndPostImages"), "{remedy}");
    let mut task = source.stream().await;
    source.collection("t").delete_one(doc! {"_id": 0}).await.expect("is deleted");
    assert_eq!(ops(&source.read(&mut task, 1).await), [("d", "0")]);
    let (_, report) = source.progress.tables().pop().expect("is known");
    assert!(report.message().is_some_and(|text| text.contains("collMod")));
}

#[tokio::test]
async fn wrong_configurations_are_refused_by_name() {
    let cases = [
        ("mongodb.connection.string", "http://h", "mongodb://"),
        ("mongodb.connection.string", "mongodb://u:hunter2@", "mongodb.connection.string"),
        ("capture.scope", "database", "capture.target"),
        ("cursor.pipeline", "{}", "array of stages"),
        ("cursor.oversize.handling.mode", "skip", "cursor.oversize.skip.threshold"),
        ("collection.exclude.list", "(", "collection.exclude.list"),
        ("field.exclude.list", "a", "field.exclude.list"),
        ("field.renames", "a.b.c", "field.renames"),
        ("database.exclude.list", "x", "database.include.list"),
        ("mongodb.ssl.keystore", "/x.p12", "mongodb.ssl.keystore"),
        ("mongodb.ssl.truststore", "/x.jks", "keystore"),
        ("signal.data.collection", "a.b", "signal.data.collection"),
        ("snapshot.mode", "custom", "snapshot.mode"),
        ("skipped.operations", "x", "skipped.operations"),
    ];
    let plain = Source::new("refused", &[]).await;
    for (key, value, named) in cases {
        let mut config = plain.config.clone();
        config.set(key, value);
        let issues = plain.connector.validate(&config).await;
        let text = format!("{issues:?}");
        assert!(issues.iter().any(|issue| issue.severity == Severity::Error), "{key}={value}");
        assert!(text.contains(named), "{key}={value}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_what_to_check() {
    let mut source = Source::new("unreachable", &[]).await;
    source.config.set("mongodb.connection.string", "mongodb://127.0.0.1:1/?replicaSet=x");
    source.config.set("mongodb.server.selection.timeout.ms", "300");
    let validating = source.connector.validate(&source.config);
    let issues = tokio::time::timeout(DEADLINE, validating).await.expect("in time");
    assert_eq!(issues.len(), 1);
    assert_eq!(issues[0].key, "mongodb.connection.string");
    assert!(issues[0].remedy.as_deref().is_some_and(|remedy| remedy.contains("replicaSet")));
}

#[tokio::test]
async fn pickers_see_collections_and_which_are_captured() {
    let source = Source::new("pickers", &[("collection.include.list", "DB\\.a")]).await;
    source.insert("a", doc! {"_id": 0}).await;
    source.insert("b", doc! {"_id": 0}).await;
    let tables = source.connector.tables(&source.config).await.expect("are listed");
    let seen: Vec<(&str, bool, Option<u64>)> =
        tables.iter().map(|table| (table.name.as_str(), table.captured, table.rows)).collect();
    assert_eq!(seen, [("lattice_pickers.a", true, Some(1)), ("lattice_pickers.b", false, Some(1))]);
}
