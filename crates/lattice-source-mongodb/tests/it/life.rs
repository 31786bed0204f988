//! Snapshots, positions, restarts.

use std::collections::BTreeMap;

use lattice_core::{connector::SourceConnector, position::Position};
use mongodb::bson::{Bson, Document, doc, oid::ObjectId};
use serde_json::json;

use crate::harness::{Seen, Source, ops};

/// The collection as the events leave it.
fn folded(seen: &[Seen]) -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    for event in seen {
        match &event.after {
            Some(after) => rows.insert(event.id.clone(), after.clone()),
            None if event.op == "d" => rows.remove(&event.id),
            None => None,
        };
    }
    rows
}

#[tokio::test]
async fn a_snapshot_reads_ids_of_every_type_once() {
    let mut source = Source::new("every_id", &[("snapshot.fetch.size", "2")]).await;
    let ids: [Bson; 9] = [
        Bson::Null,
        1.into(),
        Bson::Double(2.5),
        Bson::Int64(7),
        "a".into(),
        "b".into(),
        doc! {"x": 1}.into(),
        ObjectId::new().into(),
        true.into(),
    ];
    for id in &ids {
        source.insert("t", doc! {"_id": id.clone()}).await;
    }
    // A start anew after every batch, each from the stored position.
    let mut seen = Vec::new();
    for _ in 0..ids.len() {
        let mut task = source.open().await;
        seen.extend(source.step(&mut task).await);
    }
    let mut keys: Vec<&str> = seen.iter().map(|seen| seen.id.as_str()).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((count, keys.len()), (ids.len(), ids.len()), "each once: {keys:?}");
}

#[tokio::test]
async fn a_large_collection_is_read_in_parallel_ranges_and_resumed_inside_of_them() {
    let options = [("snapshot.fetch.size", "3000"), ("snapshot.max.threads", "3")];
    let mut source = Source::new("ranges", &options).await;
    let documents: Vec<Document> = (0..60_000).map(|id| doc! {"_id": id, "v": id * 2}).collect();
    for part in documents.chunks(10_000) {
        source.collection("t").insert_many(part).await.expect("are inserted");
    }
    let mut seen = Vec::new();
    let mut ranges = 0;
    while source.position.as_ref().is_none_or(|at| at.offset.contains_key("initsync")) {
        let mut task = source.open().await;
        for _ in 0..4 {
            seen.extend(source.step(&mut task).await);
            let Some(text) =
                source.position.as_ref().and_then(|at| at.offset.get("lattice_snapshot"))
            else {
                break;
            };
            let progress: serde_json::Value =
                serde_json::from_str(text.as_str().expect("a text")).expect("is JSON");
            let cut = progress["lattice_ranges.t"].as_array().map_or(0, Vec::len);
            ranges = ranges.max(cut);
        }
    }
    assert!(ranges > 1, "it was cut");
    assert_eq!(seen.len(), 60_000, "every document once, whatever was interrupted");
    assert_eq!(folded(&seen).len(), 60_000);
}

#[tokio::test]
async fn nothing_is_missing_at_the_seam() {
    let mut source = Source::new("seam", &[("snapshot.fetch.size", "10")]).await;
    for id in 0..50 {
        source.insert("t", doc! {"_id": id, "v": 0}).await;
    }
    let mut task = source.open().await;
    let mut seen = source.step(&mut task).await;
    let t = source.collection("t");
    // While the snapshot runs: before, at and behind where it reads.
    for id in [0, 5, 25, 49] {
        t.update_one(doc! {"_id": id}, doc! {"$set": {"v": id + 1}}).await.expect("is updated");
    }
    t.delete_one(doc! {"_id": 1}).await.expect("is deleted");
    t.delete_one(doc! {"_id": 48}).await.expect("is deleted");
    source.insert("t", doc! {"_id": 100, "v": 1}).await;
    source.insert("t", doc! {"_id": -1, "v": 1}).await;
    while !seen.iter().any(|seen| seen.id == "-1" && seen.op == "c") {
        seen.extend(source.step(&mut task).await);
    }
    // Documents of the moment before the start may come once more, before their changes.
    let known: Vec<String> = (0..50).map(|id| id.to_string()).collect();
    let again = |seen: &Seen| seen.op == "c" && known.contains(&seen.id);
    let changes: Vec<_> =
        seen.iter().filter(|seen| seen.op != "r" && !again(seen)).cloned().collect();
    assert_eq!(changes.len(), 8, "each change once: {:?}", ops(&changes));
    let rows = folded(&seen);
    assert_eq!(rows.len(), 50);
    assert_eq!(rows["25"], "{\"_id\": 25,\"v\": 26}");
    assert!(!rows.contains_key("1") && !rows.contains_key("48"));
}

#[tokio::test]
async fn a_restart_goes_on_behind_the_last_stored_change() {
    let mut source = Source::new("restart", &[]).await;
    source.insert("t", doc! {"_id": 0}).await;
    let mut task = source.stream().await;
    for id in 1..20 {
        source.insert("t", doc! {"_id": id}).await;
    }
    let first = source.read(&mut task, 1).await;
    drop(task);
    let offset = source.position.clone().expect("is stored").offset;
    assert!(offset["sec"].as_i64().is_some_and(|sec| sec > 0));
    assert!(offset["resume_token"].is_string());
    let mut task = source.open().await;
    let rest =
        if first.len() < 19 { source.read(&mut task, 19 - first.len()).await } else { vec![] };
    let keys: Vec<String> = first.iter().chain(&rest).map(|seen| seen.id.clone()).collect();
    assert_eq!(keys, (1..20).map(|id| id.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_position_moves_while_the_captured_collections_are_quiet() {
    let mut source = Source::new("quiet", &[("heartbeat.interval.ms", "200")]).await;
    source.insert("t", doc! {"_id": 0}).await;
    let mut task = source.stream().await;
    let token = |source: &Source| {
        source.position.as_ref().and_then(|at| at.offset.get("resume_token").cloned())
    };
    let before = token(&source);
    while token(&source) == before || source.heartbeats == 0 {
        assert!(source.step(&mut task).await.is_empty(), "nothing happens to what is captured");
    }
}

#[tokio::test]
async fn modes_of_the_snapshot_decide_what_is_read() {
    let mut source = Source::new("no_data", &[("snapshot.mode", "no_data")]).await;
    source.insert("t", doc! {"_id": 0}).await;
    let mut task = source.stream().await;
    source.insert("t", doc! {"_id": 1}).await;
    assert_eq!(ops(&source.read(&mut task, 1).await), [("c", "1")]);

    let mut source = Source::new("only", &[("snapshot.mode", "initial_only")]).await;
    source.insert("t", doc! {"_id": 0}).await;
    let mut task = source.open().await;
    assert_eq!(ops(&source.read(&mut task, 1).await), [("r", "0")]);
    while let Some(batch) = task.next_batch().await.expect("ends in order") {
        source.position = Some(batch.position);
    }
    let mut task = source.open().await;
    assert!(task.next_batch().await.expect("ends again").is_none(), "a restart has nothing to do");

    let mut source = Source::new("always", &[("snapshot.mode", "always")]).await;
    source.insert("t", doc! {"_id": 0}).await;
    drop(source.stream().await);
    let mut task = source.open().await;
    assert_eq!(ops(&source.read(&mut task, 1).await), [("r", "0")]);
}

#[tokio::test]
async fn a_part_of_a_collection_can_be_read() {
    let options = [
        ("snapshot.collection.filter.overrides", "DB.t"),
        ("snapshot.collection.filter.overrides.lattice_part.t", "{\"v\": {\"$gte\": 2}}"),
        ("snapshot.include.collection.list", "DB\\.t"),
    ];
    let mut source = Source::new("part", &options).await;
    for v in 0..4 {
        source.insert("t", doc! {"_id": v, "v": v}).await;
    }
    source.insert("other", doc! {"_id": 9}).await;
    let mut task = source.open().await;
    assert_eq!(ops(&source.read(&mut task, 2).await), [("r", "2"), ("r", "3")]);
}

#[tokio::test]
async fn debeziums_positions_are_taken_over_and_nonsense_is_refused() {
    let mut source = Source::new("takeover", &[]).await;
    source.insert("t", doc! {"_id": 0}).await;
    drop(source.stream().await);
    source.insert("t", doc! {"_id": 1}).await;
    let ours = source.position.clone().expect("is stored");
    let token = ours.offset["resume_token"].clone();
    let theirs = |offset: serde_json::Value| Position {
        partition: ours.partition.clone(),
        offset: offset.as_object().cloned().expect("an object"),
    };
    source.position = Some(theirs(json!({"sec": -1, "ord": -1, "resume_token": token})));
    let mut task = source.open().await;
    assert_eq!(ops(&source.read(&mut task, 1).await), [("c", "1")]);
    // Its unfinished snapshot begins anew.
    source.position = Some(theirs(json!({"sec": 1, "ord": 1, "initsync": true})));
    let mut task = source.open().await;
    assert_eq!(ops(&source.read(&mut task, 2).await), [("r", "0"), ("r", "1")]);
    for bad in [json!({}), json!({"resume_token": "?"}), json!({"sec": "x"})] {
        let error = source.connector.check_position(&theirs(bad)).expect_err("is refused");
        assert!(error.remedy().is_some_and(|remedy| remedy.contains("resume_token")));
    }
}
