use std::sync::Arc;

use lattice_core::{
    event::Op,
    schema::{Schema, Type},
    value::Value,
};

use crate::support::*;

fn decimal() -> Schema {
    Schema::new(Type::Bytes)
        .named("org.apache.kafka.connect.data.Decimal", 1)
        .parameter("scale", "2")
        .optional()
}

#[tokio::test]
async fn records_have_the_json_converter_s_shape() {
    let registry = Arc::new(Registry::default());
    let columns = vec![("id", int().with_default(Value::Int(0))), ("d", decimal())];
    let row = vec![Value::Int(1), Value::bytes(&[0x30, 0x39])];
    let batch = batch("t", columns, vec![0], vec![(Op::Create, None, Some(row))]);
    let mut config = config(JSON);
    let records = encode(&registry, &config, &batch).await.unwrap();
    assert_eq!(
        String::from_utf8(records[0].key.clone().unwrap()).unwrap(),
        r#"{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"default":0,"field":"id"}],"optional":false,"name":"shop.public.t.Key"},"payload":{"id":1}}"#
    );
    let value = String::from_utf8(records[0].value.clone().unwrap()).unwrap();
    assert!(value.contains(r#""payload":{"before":null,"after":{"id":1,"d":"MDk="},"source":{"ts_ms":1700000000000,"#), "{value}");
    config.set("value.converter.schemas.enable", "false");
    config.set("value.converter.decimal.format", "NUMERIC");
    let records = encode(&registry, &config, &batch).await.unwrap();
    let value = String::from_utf8(records[0].value.clone().unwrap()).unwrap();
    assert!(
        value.starts_with(r#"{"before":null,"after":{"id":1,"d":123.45},"source":{"#),
        "{value}"
    );
}

#[tokio::test]
async fn records_without_schemas_grow_their_table() {
    let registry = Arc::new(Registry::default());
    let mut config = config(JSON);
    config.set("key.converter.schemas.enable", "false");
    config.set("value.converter.schemas.enable", "false");
    let record = |key: &str, value: &str| Record {
        topic: "t".into(),
        partition: None,
        key: Some(key.into()),
        value: Some(value.into()),
        headers: Vec::new(),
    };
    let records = [
        record(r#"{"id":1}"#, r#"{"id":1,"a":null}"#),
        record(r#"{"id":2}"#, r#"{"id":2,"a":"x","b":1.5,"__deleted":"true"}"#),
        record(r#"{"id":3}"#, "{"),
    ];
    let decoded = decode(&registry, &config, &records).await;
    assert_eq!(decoded.errors.len(), 1);
    assert_eq!(decoded.errors[0].partition, 0);
    assert_eq!(values(&decoded, 0, false).unwrap(), [Value::Int(1)]);
    assert_eq!(decoded.batch.events[1].op, Op::Delete);
    let row = values(&decoded, 1, true).unwrap();
    assert_eq!(row[..3], [Value::Int(2), t("x"), Value::Float64(1.5)]);
    assert_eq!(decoded.batch.tables[1].1.key, [0]);
}

#[tokio::test]
async fn a_string_key_is_java_s_text_of_the_struct() {
    let registry = Arc::new(Registry::default());
    let columns = vec![("id", int()), ("b", text())];
    let row = vec![Value::Int(1), t("x")];
    let batch = batch("t", columns, vec![0, 1], vec![(Op::Create, None, Some(row))]);
    let config = config(&[("key.converter", "org.apache.kafka.connect.storage.StringConverter")]);
    let records = encode(&registry, &config, &batch).await.unwrap();
    assert_eq!(records[0].key.as_deref(), Some(&b"Struct{id=1,b=x}"[..]));
    let decoded = decode(&registry, &config, &records).await;
    assert!(decoded.errors.is_empty());
}

#[tokio::test]
async fn anything_is_rendered() {
    let registry = Arc::new(Registry::default());
    let columns = vec![("id", int()), ("d", decimal())];
    let row = vec![Value::Int(1), Value::bytes(&[0x30, 0x39])];
    let batch = batch("t", columns, vec![0], vec![(Op::Create, None, Some(row))]);
    let records = encode(&registry, &config(&[]), &batch).await.unwrap();
    let (key, value) = (records[0].key.as_deref(), records[0].value.as_deref());
    let shown = lattice_codec::render(&*registry, key, value, &[(b"h", Some(b"x"))]).await;
    assert_eq!(shown.key, serde_json::json!({"id": 1}));
    assert_eq!(shown.key_schema_id, Some(1));
    assert_eq!(shown.value["after"], serde_json::json!({"id": 1, "d": "123.45"}));
    assert_eq!(shown.headers[0], ("h".into(), "x".into()));
    let shown = lattice_codec::render(&*registry, Some(b"plain"), Some(&[0xff]), &[]).await;
    assert_eq!(shown.key, "plain");
    assert_eq!(shown.value, serde_json::json!({"base64": "/w=="}));
}
