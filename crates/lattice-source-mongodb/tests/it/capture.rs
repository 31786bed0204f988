//! What changes look like.

use mongodb::bson::{Bson, DateTime, doc, oid::ObjectId};
use serde_json::json;

use crate::harness::{Source, ops};

#[tokio::test]
async fn inserts_updates_replacements_and_deletes_have_debeziums_shape() {
    let mut source = Source::new("shape", &[]).await;
    source.insert("t", doc! {"_id": 0, "old": true}).await;
    let mut task = source.open().await;
    let first = source.read(&mut task, 1).await;
    assert_eq!(ops(&first), [("r", "0")]);
    assert_eq!(first[0].source("snapshot"), "last");
    assert_eq!(first[0].source("ord"), -1);
    let t = source.collection("t");
    let task = &mut task;
    source.insert("t", doc! {"_id": 1, "a": 5_i64, "d": DateTime::from_millis(1)}).await;
    let change = doc! {"$set": {"a": 6_i64, "n.x": 1}, "$unset": {"d": ""}};
    t.update_one(doc! {"_id": 1}, change).await.expect("is updated");
    t.replace_one(doc! {"_id": 1}, doc! {"z": "ü"}).await.expect("is replaced");
    t.delete_one(doc! {"_id": 1}).await.expect("is deleted");
    let seen = source.read(task, 4).await;
    assert_eq!(ops(&seen), [("c", "1"), ("u", "1"), ("u", "1"), ("d", "1")]);
    let created = "{\"_id\": 1,\"a\": {\"$numberLong\": \"5\"},\"d\": {\"$date\": 1}}";
    assert_eq!(seen[0].after.as_deref(), Some(created));
    assert_eq!(seen[0].update, None);
    let (removed, updated, truncated) = seen[1].update.clone().expect("is described");
    assert_eq!((removed, truncated), (vec!["d".to_owned()], Vec::new()));
    // `n` was not there: as a whole it is new.
    assert_eq!(updated.as_deref(), Some("{\"n\": {\"x\": 1}, \"a\": 6}"));
    assert_eq!(seen[2].after.as_deref(), Some("{\"_id\": 1,\"z\": \"ü\"}"));
    assert_eq!((&seen[3].before, &seen[3].after), (&None, &None));
    let block = &seen[0];
    assert_eq!(block.source("connector"), "mongodb");
    assert_eq!(block.source("name"), "p");
    assert_eq!(block.source("snapshot"), "false");
    assert_eq!(block.source("db"), "lattice_shape");
    assert_eq!(block.source("collection"), "t");
    assert_eq!(block.source("wallTime"), block.source("ts_ms"));
    assert!(block.source("ord").as_i64().is_some_and(|ord| ord > 0));
    assert_eq!(block.source("lsid"), &json!(null));
}

#[tokio::test]
async fn keys_are_the_relaxed_text_of_every_type_of_id() {
    let mut source = Source::new("ids", &[("snapshot.mode", "no_data")]).await;
    let mut task = source.stream().await;
    let object = ObjectId::parse_str("596e275826f08b2730779e1f").expect("an id");
    let ids: [(Bson, &str); 7] = [
        (Bson::Int32(1234), "1234"),
        (Bson::Double(12.34), "12.34"),
        (Bson::String("1234".into()), "\"1234\""),
        (Bson::ObjectId(object), "{\"$oid\": \"596e275826f08b2730779e1f\"}"),
        (DateTime::from_millis(1_577_836_800_000).into(), "{\"$date\": \"2020-01-01T00:00:00Z\"}"),
        (doc! {"hi": "kafka", "nums": [10, 100]}.into(), "{\"hi\": \"kafka\",\"nums\": [10,100]}"),
        (Bson::Int64(99), "99"),
    ];
    for (id, _) in &ids {
        source.insert("t", doc! {"_id": id.clone()}).await;
    }
    let seen = source.read(&mut task, ids.len()).await;
    let keys: Vec<&str> = seen.iter().map(|seen| seen.id.as_str()).collect();
    assert_eq!(keys, ids.iter().map(|(_, key)| *key).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_transaction_is_named_by_session_and_number() {
    let mut source = Source::new("transaction", &[]).await;
    source.insert("t", doc! {"_id": 0}).await;
    let mut task = source.stream().await;
    let mut session = source.client.start_session().await.expect("a session");
    session.start_transaction().await.expect("begins");
    for id in 1..3 {
        let t = source.collection("t");
        t.insert_one(doc! {"_id": id}).session(&mut session).await.expect("is inserted");
    }
    session.commit_transaction().await.expect("commits");
    let seen = source.read(&mut task, 2).await;
    assert_eq!(ops(&seen), [("c", "1"), ("c", "2")]);
    assert_eq!(seen[0].source("lsid"), seen[1].source("lsid"));
    let lsid = seen[0].source("lsid").as_str().expect("has a session");
    assert!(lsid.starts_with("{\"id\": {\"$binary\": \""), "{lsid}");
    assert!(seen[0].source("txnNumber").is_i64());
}

#[tokio::test]
async fn modes_decide_what_updates_have() {
    let modes = [
        ("change_streams", false, false),
        ("change_streams_update_full", true, false),
        ("change_streams_with_pre_image", false, true),
        ("change_streams_update_full_with_pre_image", true, true),
    ];
    for (mode, full, before) in modes {
        let mut source =
            Source::new(&format!("mode_{full}_{before}"), &[("capture.mode", mode)]).await;
        source.insert("t", doc! {"_id": 1, "v": 1}).await;
        let images = doc! {"collMod": "t", "changeStreamPreAndPostImages": {"enabled": true}};
        source.database.run_command(images).await.expect("images are on");
        let mut task = source.stream().await;
        let t = source.collection("t");
        t.update_one(doc! {"_id": 1}, doc! {"$set": {"v": 2}}).await.expect("is updated");
        t.delete_one(doc! {"_id": 1}).await.expect("is deleted");
        let seen = source.read(&mut task, 2).await;
        assert_eq!(ops(&seen), [("u", "1"), ("d", "1")], "{mode}");
        let old = before.then_some("{\"_id\": 1,\"v\": 1}");
        assert_eq!(seen[0].before.as_deref(), old, "{mode}");
        assert_eq!(seen[1].before.is_some(), before, "{mode}");
        // The document may be gone before it is looked up.
        assert!(full || seen[0].after.is_none(), "{mode}");
    }
}

#[tokio::test]
async fn a_document_that_is_gone_before_the_look_up_is_null_and_nothing_else_changes() {
    let mut source = Source::new("gone", &[]).await;
    source.insert("t", doc! {"_id": 0}).await;
    drop(source.stream().await);
    let t = source.collection("t");
    source.insert("t", doc! {"_id": 1, "v": 0}).await;
    t.update_one(doc! {"_id": 1}, doc! {"$set": {"v": 1}}).await.expect("is updated");
    t.delete_one(doc! {"_id": 1}).await.expect("is deleted");
    let mut task = source.open().await;
    let seen = source.read(&mut task, 3).await;
    assert_eq!(ops(&seen), [("c", "1"), ("u", "1"), ("d", "1")]);
    assert_eq!(seen[1].after, None);
    assert!(seen[1].update.is_some());
}

#[tokio::test]
async fn lists_hold_for_snapshot_and_stream_as_whole_names() {
    let lists =
        [("database.include.list", ""), ("collection.include.list", "DB\\.orders,DB\\.it.ms")];
    let mut source = Source::new("lists", &lists).await;
    for name in ["orders", "orders2", "xorders", "items"] {
        source.insert(name, doc! {"_id": name}).await;
    }
    let mut task = source.open().await;
    let seen = source.read(&mut task, 2).await;
    let mut names: Vec<&str> = seen.iter().map(|seen| seen.collection.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["items", "orders"]);
    for name in ["xorders", "orders2", "items", "orders"] {
        source.insert(name, doc! {"_id": 2}).await;
    }
    let seen = source.read(&mut task, 2).await;
    assert_eq!(seen[0].collection, "items");
    assert_eq!(seen[1].collection, "orders");
}

#[tokio::test]
async fn literal_lists_and_skipped_operations_are_left_out_by_the_server() {
    let lists = [
        ("database.include.list", ""),
        ("filters.match.mode", "literal"),
        ("collection.include.list", "DB.a.b"),
        ("skipped.operations", "u"),
    ];
    let mut source = Source::new("literal", &lists).await;
    source.insert("a.b", doc! {"_id": 0}).await;
    let mut task = source.stream().await;
    let t = source.collection("a.b");
    source.insert("axb", doc! {"_id": 1}).await;
    t.update_one(doc! {"_id": 0}, doc! {"$set": {"v": 1}}).await.expect("is updated");
    t.delete_one(doc! {"_id": 0}).await.expect("is deleted");
    let mut seen = source.read(&mut task, 1).await;
    if !ops(&seen).contains(&("d", "0")) {
        seen.extend(source.read(&mut task, 1).await);
    }
    // What was written just before the start may come with it.
    let mut kept = ops(&seen);
    kept.retain(|one| *one != ("c", "0"));
    assert_eq!(kept, [("d", "0")]);
}

#[tokio::test]
async fn fields_are_left_out_and_renamed_everywhere() {
    let rules = [
        ("field.exclude.list", "DB.t.secret,*.t.a.b"),
        ("field.renames", "DB.t.name:title,DB.t.list.x:y"),
    ];
    let mut source = Source::new("fields", &rules).await;
    let document = doc! {"_id": 1, "secret": 1, "a": {"b": 1, "c": 2}, "name": "n",
    "list": [{"x": 1}, {"x": 2}]};
    source.insert("t", document).await;
    let mut task = source.open().await;
    let seen = source.read(&mut task, 1).await;
    let expected = json!({"_id": 1, "a": {"c": 2}, "title": "n", "list": [{"y": 1}, {"y": 2}]});
    assert_eq!(seen[0].after(), expected);
    let change = doc! {"$set": {"secret": 2, "a.b": 3, "a.c": 4, "name": "m", "list.1.x": 5}};
    source.collection("t").update_one(doc! {"_id": 1}, change).await.expect("is updated");
    let seen = source.read(&mut task, 1).await;
    let (_, updated, _) = seen[0].update.clone().expect("is described");
    let updated: serde_json::Value =
        serde_json::from_str(&updated.expect("has updates")).expect("is JSON");
    assert_eq!(updated, json!({"a.c": 4, "title": "m", "list.1.y": 5}));
}

#[tokio::test]
async fn stages_of_the_user_run_on_the_server() {
    let stages = [("cursor.pipeline", "[{\"$match\": {\"fullDocument.v\": {\"$gt\": 1}}}]")];
    let mut source = Source::new("stages", &stages).await;
    source.insert("t", doc! {"_id": 0}).await;
    let mut task = source.stream().await;
    for v in 1..4 {
        source.insert("t", doc! {"_id": v, "v": v}).await;
    }
    assert_eq!(ops(&source.read(&mut task, 2).await), [("c", "2"), ("c", "3")]);
}

#[tokio::test]
async fn large_documents_come_whole_and_in_parts() {
    for mode in ["fail", "split"] {
        let options = [
            ("cursor.oversize.handling.mode", mode),
            ("capture.mode", "change_streams_update_full_with_pre_image"),
        ];
        let mut source = Source::new(&format!("large_{mode}"), &options).await;
        source.insert("t", doc! {"_id": 0}).await;
        let images = doc! {"collMod": "t", "changeStreamPreAndPostImages": {"enabled": true}};
        source.database.run_command(images).await.expect("images are on");
        let mut task = source.stream().await;
        source.insert("t", doc! {"_id": 1, "p": "x".repeat(9_000_000)}).await;
        let change = doc! {"$set": {"p": "y".repeat(9_000_000)}};
        source.collection("t").update_one(doc! {"_id": 1}, change).await.expect("is updated");
        let seen = source.read(&mut task, 2).await;
        assert_eq!(ops(&seen), [("c", "1"), ("u", "1")], "{mode}");
        let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        assert!(size(&seen[1].before) > 9_000_000, "{mode}");
        assert!(size(&seen[1].after) > 9_000_000, "{mode}");
    }
}
