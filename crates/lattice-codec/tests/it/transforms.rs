//! Records that went through transformations which change nothing are those that went past them.

use lattice_core::{
    event::{Op, SourceBatch},
    schema::{Schema, Type},
    value::Value,
};

use crate::{documents, support::*};

/// A router that no topic matches.
const NOTHING: [(&str, &str); 4] = [
    ("transforms", "t"),
    ("transforms.t.type", "org.apache.kafka.connect.transforms.RegexRouter"),
    ("transforms.t.regex", "no such topic"),
    ("transforms.t.replacement", "x"),
];

/// Without the moments of encoding, which differ.
fn shown(part: Option<&[u8]>) -> serde_json::Value {
    let Some(bytes) = part else { return serde_json::Value::Null };
    let mut json: serde_json::Value = serde_json::from_slice(bytes).expect("is JSON");
    if let Some(payload) = json.get_mut("payload").and_then(serde_json::Value::as_object_mut) {
        payload.retain(|name, _| !name.starts_with("ts_"));
    }
    json
}

async fn the_same(batch: SourceBatch) {
    let registry = std::sync::Arc::new(Registry::default());
    let plain = encode(&registry, &config(JSON_SCHEMAS), &batch).await.expect("encodes");
    let all: Vec<(&str, &str)> = JSON_SCHEMAS.iter().copied().chain(NOTHING).collect();
    let through = encode(&registry, &config(&all), &batch).await.expect("encodes");
    assert_eq!(plain.len(), through.len());
    for (one, other) in plain.iter().zip(&through) {
        assert_eq!(one.topic, other.topic);
        assert_eq!(shown(one.key.as_deref()), shown(other.key.as_deref()));
        assert_eq!(shown(one.value.as_deref()), shown(other.value.as_deref()));
    }
}

const JSON_SCHEMAS: &[(&str, &str)] = &[
    ("key.converter", "org.apache.kafka.connect.json.JsonConverter"),
    ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
];

#[tokio::test]
async fn rows_are_the_same_with_and_without() {
    let columns = || {
        vec![("id", int()), ("name", text()), ("big", text()), ("amount", Schema::new(Type::Int64))]
    };
    let row = |id: i64, name: Value<'static>, big: Value<'static>| {
        Some(vec![Value::Int(id), name, big, Value::Int(5)])
    };
    let only_key = Some(vec![Value::Int(1), Value::Missing, Value::Missing, Value::Missing]);
    the_same(batch(
        "t",
        columns(),
        vec![0],
        vec![
            (Op::Read, None, row(1, t("a"), t("x"))),
            (Op::Update, None, row(1, Value::Null, Value::Unchanged)),
            (Op::Update, row(1, t("a"), t("x")), row(2, t("a"), Value::Unchanged)),
            (Op::Delete, only_key, None),
        ],
    ))
    .await;
}

#[tokio::test]
async fn documents_are_the_same_with_and_without() {
    the_same(documents::documents(vec![
        (Op::Update, None, documents::row(t("{}"), Value::Array(vec![t("x")]))),
        (Op::Delete, None, documents::row(Value::Null, Value::Null)),
    ]))
    .await;
}

#[tokio::test]
async fn decoded_rows_are_the_same_with_and_without() {
    let registry = std::sync::Arc::new(Registry::default());
    let changes = vec![
        (Op::Create, None, Some(vec![Value::Int(1), t("a")])),
        (Op::Delete, Some(vec![Value::Int(1), Value::Missing]), None),
    ];
    let batch = batch("t", vec![("id", int()), ("name", text())], vec![0], changes);
    let records = encode(&registry, &config(&[]), &batch).await.expect("encodes");
    let plain = decode(&registry, &config(&[]), &records).await;
    let through = decode(&registry, &config(&NOTHING), &records).await;
    assert!(through.errors.is_empty());
    assert_eq!(plain.batch.events.len(), through.batch.events.len());
    for (at, (one, other)) in plain.batch.events.iter().zip(&through.batch.events).enumerate() {
        assert_eq!(one.op, other.op);
        assert_eq!(one.origin, other.origin);
        assert_eq!(plain.batch.coordinates[at], through.batch.coordinates[at]);
        for before in [false, true] {
            assert_eq!(values(&plain, at, before), values(&through, at, before));
        }
    }
}

#[tokio::test]
async fn a_key_taken_out_of_its_struct_is_written_and_read_as_a_plain_number() {
    let registry = std::sync::Arc::new(Registry::default());
    let rows = vec![(Op::Create, None, Some(vec![Value::Int(7), t("seven")]))];
    let batch = batch("orders", vec![("id", int()), ("note", text())], vec![0], rows);
    let extract = [
        ("transforms", "key"),
        ("transforms.key.type", "org.apache.kafka.connect.transforms.ExtractField$Key"),
        ("transforms.key.field", "id"),
    ];
    let integer = ("key.converter", "org.apache.kafka.connect.converters.IntegerConverter");
    let mut with = extract.to_vec();
    with.push(integer);
    let records = encode(&registry, &config(&with), &batch).await.unwrap();
    assert_eq!(records[0].key.as_deref(), Some(&[0, 0, 0, 7][..]));

    let decoded = decode(&registry, &config(&[integer]), &records).await;
    assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
    let other = ("key.converter", "org.apache.kafka.connect.converters.LongConverter");
    let with: Vec<_> = NOTHING.into_iter().chain([other]).collect();
    let refused = decode(&registry, &config(&with), &records).await;
    assert!(refused.errors[0].error.chain().contains("4 bytes are no value of the LongConverter"));

    let whole = encode(&registry, &config(&[integer]), &batch).await.unwrap_err();
    assert!(whole.to_string().contains("IntegerConverter"), "{whole}");
}
