//! Tables whose columns are members of the envelope themselves.

use std::sync::Arc;

use lattice_core::{
    event::{Layout, Op, SourceBatch},
    schema::{Schema, Type},
    value::Value,
};

use crate::support::*;

pub(crate) fn documents(changes: Vec<Change>) -> SourceBatch {
    let json = || text().named("io.debezium.data.Json", 1);
    let names = Schema::array(Arc::new(Schema::new(Type::String))).optional();
    let columns = vec![
        ("id", Schema::new(Type::String)),
        ("before", json()),
        ("after", json()),
        ("removedFields", names),
    ];
    let mut made = batch("t", columns, vec![0], changes);
    let table = made.tables.pop().and_then(Arc::into_inner).expect("is ours alone");
    made.tables.push(Arc::new(table.laid_out(Layout::Members)));
    made
}

pub(crate) fn row(after: Value<'static>, removed: Value<'static>) -> Option<Vec<Value<'static>>> {
    Some(vec![t("7"), Value::Null, after, removed])
}

#[tokio::test]
async fn members_stand_before_source_in_json() {
    let registry = Arc::new(Registry::default());
    let removed = Value::Array(vec![t("x")]);
    let batch = documents(vec![
        (Op::Update, None, row(t("{\"_id\": 7}"), removed)),
        (Op::Delete, None, row(Value::Null, Value::Null)),
    ]);
    let records = encode(&registry, &config(JSON), &batch).await.unwrap();
    assert_eq!(records.len(), 3, "a delete has its tombstone");
    let payload = |at: usize| {
        let bytes = records[at].value.as_deref().expect("a value");
        let whole: serde_json::Value = serde_json::from_slice(bytes).expect("is JSON");
        whole.get("payload").cloned().unwrap_or(whole)
    };
    let names: Vec<String> = payload(0).as_object().expect("an object").keys().cloned().collect();
    let expected = ["before", "after", "removedFields", "source", "op", "ts_ms", "transaction"];
    assert_eq!(names, expected);
    assert_eq!(payload(0)["after"], "{\"_id\": 7}");
    assert_eq!(payload(0)["removedFields"], serde_json::json!(["x"]));
    assert_eq!(payload(0)["source"]["table"], "t");
    assert_eq!(payload(1)["op"], "d");
    assert_eq!(records[2].value, None);
    assert_eq!(records[2].key, records[1].key);
}

#[tokio::test]
async fn the_schema_has_no_version_and_the_bytes_follow_it() {
    let registry = Arc::new(Registry::default());
    let batch = documents(vec![(Op::Create, None, row(t("{}"), Value::Null))]);
    let records = encode(&registry, &config(&[]), &batch).await.unwrap();
    let json = r#"{"type":"string","connect.version":1,"connect.name":"io.debezium.data.Json"}"#;
    let schema = registry.text("shop.public.t-value");
    let start = format!(
        r#"{{"type":"record","name":"Envelope","namespace":"shop.public.t","fields":[{{"name":"before","type":["null",{json}],"default":null}},{{"name":"after","type":["null",{json}],"default":null}},{{"name":"removedFields","type":["null",{{"type":"array","items":"string"}}],"default":null}},{{"name":"source","type":"#
    );
    assert!(schema.starts_with(&start), "{schema}");
    let end = r#"],"connect.name":"shop.public.t.Envelope"}"#;
    assert!(schema.ends_with(end) && !schema.contains(r#""connect.version":2"#), "{schema}");
    // The value's id (2), before null, after "{}", no removed fields.
    let value = records[0].value.as_deref().expect("a value");
    assert_eq!(&value[..10], &[0, 0, 0, 0, 2, 0, 2, 4, b'{', b'}']);
    assert_eq!(value[10], 0);
    assert_eq!(records[0].key.as_deref(), Some(&[0, 0, 0, 0, 1, 2, b'7'][..]));
}

#[tokio::test]
async fn documents_become_rows_with_their_keys_column_and_deletes_stay_deletes() {
    let registry = Arc::new(Registry::default());
    let json = || text().named("io.debezium.data.Json", 1);
    let columns = vec![
        ("id", Schema::new(Type::String)),
        ("before", json()),
        ("after", json()),
        ("updateDescription", text()),
    ];
    let changes = vec![
        (Op::Create, None, row(t("{\"_id\": 7,\"v\": \"a\"}"), Value::Null)),
        (Op::Delete, None, row(Value::Null, Value::Null)),
    ];
    let mut made = batch("t", columns, vec![0], changes);
    let table = made.tables.pop().and_then(Arc::into_inner).expect("is ours alone");
    made.tables.push(Arc::new(table.laid_out(Layout::Members)));
    let records = encode(&registry, &config(&[]), &made).await.expect("encodes");
    let class = "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState";
    let flat = [("transforms", "flat"), ("transforms.flat.type", class)];
    let decoded = decode(&registry, &config(&flat), &records).await;
    assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
    let ops: Vec<Op> = decoded.batch.events.iter().map(|event| event.op).collect();
    assert_eq!(ops, [Op::Create, Op::Delete], "and no tombstone after it");
    let table = &decoded.batch.tables[decoded.batch.events[0].table as usize].1;
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    assert_eq!((names, &*table.key), (vec!["_id", "v", "id"], &[2][..]));
    assert_eq!(values(&decoded, 0, false), Some(vec![Value::Int(7), t("a"), Value::Int(7)]));
    assert_eq!(values(&decoded, 1, true), Some(vec![Value::Int(7)]));
}
