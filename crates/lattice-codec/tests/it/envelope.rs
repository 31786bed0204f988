use std::sync::Arc;

use lattice_core::{
    ErrorKind,
    event::{Notice, NoticeKind, Op, SnapshotMarker},
    schema::{Field, Schema, Type},
    value::Value,
};

use crate::support::*;

fn orders() -> Vec<(&'static str, Schema)> {
    vec![
        ("id", int()),
        ("note", text()),
        (
            "amount",
            Schema::new(Type::Bytes)
                .named("org.apache.kafka.connect.data.Decimal", 1)
                .parameter("scale", "2")
                .parameter("connect.decimal.precision", "10")
                .optional(),
        ),
        (
            "created_at",
            Schema::new(Type::String)
                .named("io.debezium.time.ZonedTimestamp", 1)
                .with_default(Value::text("1970-01-01T00:00:00.000000Z")),
        ),
        ("flags", Schema::new(Type::Int16).optional()),
        ("state", text().with_default(Value::text("x"))),
        ("tags", Schema::array(Arc::new(text())).optional()),
    ]
}

#[tokio::test]
async fn schemas_are_debezium_s_text_for_text() {
    let registry = Arc::new(Registry::default());
    let batch = batch("orders", orders(), vec![0], vec![]);
    encode(&registry, &config(&[]), &batch).await.unwrap();
    assert_eq!(
        registry.text("shop.public.orders-key"),
        r#"{"type":"record","name":"Key","namespace":"shop.public.orders","fields":[{"name":"id","type":"int"}],"connect.name":"shop.public.orders.Key"}"#
    );
    let row = concat!(
        r#"{"type":"record","name":"Value","fields":[{"name":"id","type":"int"},"#,
        r#"{"name":"note","type":["null","string"],"default":null},"#,
        r#"{"name":"amount","type":["null",{"type":"bytes","scale":2,"precision":10,"connect.version":1,"connect.parameters":{"scale":"2","connect.decimal.precision":"10"},"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}],"default":null},"#,
        r#"{"name":"created_at","type":{"type":"string","connect.version":1,"connect.default":"1970-01-01T00:00:00.000000Z","connect.name":"io.debezium.time.ZonedTimestamp"},"default":"1970-01-01T00:00:00.000000Z"},"#,
        r#"{"name":"flags","type":["null",{"type":"int","connect.type":"int16"}],"default":null},"#,
        r#"{"name":"state","type":[{"type":"string","connect.default":"x"},"null"],"default":"x"},"#,
        r#"{"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null}"#,
        r#"],"connect.name":"shop.public.orders.Value"}"#,
    );
    let source = concat!(
        r#"{"type":"record","name":"Source","namespace":"io.debezium.connector.postgresql","fields":[{"name":"ts_ms","type":"long"},"#,
        r#"{"name":"snapshot","type":[{"type":"string","connect.version":1,"connect.parameters":{"allowed":"true,first,last,false,incremental"},"connect.default":"false","connect.name":"io.debezium.data.Enum"},"null"],"default":"false"},"#,
        r#"{"name":"table","type":"string"},{"name":"txId","type":["null","long"],"default":null},{"name":"lsn","type":["null","long"],"default":null}"#,
        r#"],"connect.version":1,"connect.name":"io.debezium.connector.postgresql.Source"}"#,
    );
    let transaction = concat!(
        r#"{"type":"record","name":"block","namespace":"event","fields":[{"name":"id","type":"string"},{"name":"total_order","type":"long"},{"name":"data_collection_order","type":"long"}],"#,
        r#""connect.version":1,"connect.name":"event.block"}"#,
    );
    let long = |name: &str| format!(r#"{{"name":"{name}","type":["null","long"],"default":null}}"#);
    assert_eq!(
        registry.text("shop.public.orders-value"),
        format!(
            r#"{{"type":"record","name":"Envelope","namespace":"shop.public.orders","fields":[{{"name":"before","type":["null",{row}],"default":null}},{{"name":"after","type":["null","Value"],"default":null}},{{"name":"source","type":{source}}},{{"name":"transaction","type":["null",{transaction}],"default":null}},{{"name":"op","type":"string"}},{},{},{}],"connect.version":2,"connect.name":"shop.public.orders.Envelope"}}"#,
            long("ts_ms"),
            long("ts_us"),
            long("ts_ns")
        )
    );
}

#[tokio::test]
async fn a_delete_is_followed_by_a_tombstone_with_the_same_key_and_headers() {
    let registry = Arc::new(Registry::default());
    let columns = vec![("id", int()), ("note", text())];
    let changes = vec![(Op::Delete, Some(vec![Value::Int(1), Value::Missing]), None)];
    let batch = batch("t", columns, vec![0], changes);
    let records = encode(&registry, &config(&[]), &batch).await.unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].key.as_deref(), Some(&[0, 0, 0, 0, 1, 2][..]));
    assert_eq!(records[1].value, None);
    assert_eq!(records[0].key, records[1].key);
    assert_eq!(records[0].headers, records[1].headers);
    let names: Vec<_> = records[0].headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "__debezium.context.connectorLogicalName",
            "__debezium.context.taskId",
            "__debezium.context.connectorName",
            "__debezium.context.runId"
        ]
    );
    assert_eq!(records[0].headers[0].1, b"shop");
    let off = config(&[("tombstones.on.delete", "false"), ("extended.headers.enabled", "false")]);
    let records = encode(&registry, &off, &batch).await.unwrap();
    assert_eq!(records.len(), 1);
    assert!(records[0].headers.is_empty());
}

#[tokio::test]
async fn a_changed_key_is_a_delete_a_tombstone_and_a_create() {
    let registry = Arc::new(Registry::default());
    let columns = vec![("a", int()), ("b", Schema::new(Type::String)), ("v", int())];
    let old = vec![Value::Int(1), t("x"), Value::Missing];
    let new = vec![Value::Int(1), t("t"), Value::Int(5)];
    let batch = batch("t", columns, vec![0, 1], vec![(Op::Update, Some(old), Some(new))]);
    let records = encode(&registry, &config(&[]), &batch).await.unwrap();
    assert_eq!(records.len(), 3);
    assert_eq!(records[0].headers[0], ("__debezium.newkey".into(), br#"{"a":1,"b":"t"}"#.to_vec()));
    assert_eq!(records[1].headers, records[0].headers);
    assert_eq!(records[2].headers[0], ("__debezium.oldkey".into(), br#"{"a":1,"b":"x"}"#.to_vec()));
    let decoded = decode(&registry, &config(&[]), &records).await;
    assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
    let ops: Vec<_> = decoded.batch.events.iter().map(|event| event.op).collect();
    assert_eq!(ops, [Op::Delete, Op::Tombstone, Op::Create]);
    // What was not sent of a NOT NULL column is the type's zero.
    assert_eq!(values(&decoded, 0, true).unwrap(), [Value::Int(1), t("x"), Value::Int(0)]);
    assert_eq!(values(&decoded, 1, true).unwrap(), [Value::Int(1), t("x")]);
    assert_eq!(values(&decoded, 2, false).unwrap(), [Value::Int(1), t("t"), Value::Int(5)]);
    let (_, table) = &decoded.batch.tables[0];
    assert_eq!(table.key, [0, 1]);
    assert_eq!(decoded.batch.events[0].origin.lsn, Some(4242));
    assert_eq!(decoded.batch.events[0].origin.tx_id, Some(77));
    assert_eq!(decoded.batch.events[0].origin.ts_us, 1_700_000_000_000_000);
}

#[tokio::test]
async fn an_unchanged_value_comes_from_the_row_before_or_is_told_apart() {
    let registry = Arc::new(Registry::default());
    let array = |kind| Schema::array(Arc::new(Schema::new(kind).optional())).optional();
    let columns = vec![
        ("id", int()),
        ("a", text()),
        ("b", Schema::new(Type::Bytes).optional()),
        ("c", array(Type::Int32)),
        ("d", array(Type::Float64)),
        ("e", array(Type::String)),
        ("f", array(Type::Boolean)),
        (
            "n",
            Schema::new(Type::Bytes)
                .named("org.apache.kafka.connect.data.Decimal", 1)
                .parameter("scale", "0"),
        ),
    ];
    let unchanged = || {
        let mut row = vec![Value::Unchanged; 8];
        row[0] = Value::Int(1);
        row
    };
    let mut known = unchanged();
    known[1] = t("old");
    let changes =
        vec![(Op::Update, None, Some(unchanged())), (Op::Update, Some(known), Some(unchanged()))];
    let batch = batch("t", columns, vec![0], changes);
    for extra in [&[][..], JSON] {
        let config = config(extra);
        let records = encode(&registry, &config, &batch).await.unwrap();
        let decoded = decode(&registry, &config, &records).await;
        assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
        assert_eq!(values(&decoded, 0, false).unwrap(), unchanged());
        assert_eq!(values(&decoded, 1, false).unwrap()[1], t("old"));
        assert_eq!(values(&decoded, 1, false).unwrap()[2], Value::Unchanged);
    }
}

#[tokio::test]
async fn null_in_a_column_with_a_default_stays_null_unless_asked() {
    let registry = Arc::new(Registry::default());
    let number = Schema::new(Type::Int32).optional().with_default(Value::Int(999));
    let columns = vec![("id", int()), ("n", number)];
    let changes = vec![(Op::Create, None, Some(vec![Value::Int(1), Value::Null]))];
    let batch = batch("t", columns, vec![0], changes);
    for (key, kept, replaced) in [
        ("value.converter.ignore.default.for.nullables", "true", "false"),
        ("value.converter.replace.null.with.default", "false", "true"),
    ] {
        for (word, expected) in [(kept, Value::Null), (replaced, Value::Int(999))] {
            let mut config = config(if key.contains("replace") { JSON } else { &[] });
            config.set(key, word);
            let records = encode(&registry, &config, &batch).await.unwrap();
            let decoded = decode(&registry, &config, &records).await;
            assert_eq!(values(&decoded, 0, false).unwrap()[1], expected, "{key}={word}");
        }
    }
}

#[tokio::test]
async fn truncates_are_skipped_unless_asked_for_and_have_no_key() {
    let registry = Arc::new(Registry::default());
    let batch = batch("t", vec![("id", int())], vec![0], vec![(Op::Truncate, None, None)]);
    assert!(encode(&registry, &config(&[]), &batch).await.unwrap().is_empty());
    let none = config(&[("skipped.operations", "none")]);
    let records = encode(&registry, &none, &batch).await.unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].key, None);
    let decoded = decode(&registry, &none, &records).await;
    assert_eq!(decoded.batch.events[0].op, Op::Truncate);
}

#[tokio::test]
async fn heartbeats_go_to_partition_zero_of_their_own_topic() {
    let registry = Arc::new(Registry::default());
    let mut batch = batch("t", vec![("id", int())], vec![0], vec![]);
    let one = |name: &str, field: &str, kind| {
        Arc::new(Schema::structure(name, vec![Field::new(field, Schema::new(kind))]))
    };
    batch.notices.push(Notice {
        kind: NoticeKind::Heartbeat,
        before_event: 0,
        key: (
            one("io.debezium.connector.common.ServerNameKey", "serverName", Type::String),
            Value::Struct(vec![t("shop")]),
        ),
        value: (
            one("io.debezium.connector.common.Heartbeat", "ts_ms", Type::Int64),
            Value::Struct(vec![Value::Int(7)]),
        ),
    });
    let records = encode(&registry, &config(&[]), &batch).await.unwrap();
    assert_eq!(records[0].topic, "__debezium-heartbeat.shop");
    assert_eq!(records[0].partition, Some(0));
    assert_eq!(records[0].value.as_deref().map(|value| &value[5..]), Some(&[14][..]));
}

#[tokio::test]
async fn transactions_count_their_events() {
    let registry = Arc::new(Registry::default());
    let row = |id| (Op::Create, None, Some(vec![Value::Int(id)]));
    let batch = batch("t", vec![("id", int())], vec![0], vec![row(1), row(2)]);
    let mut config = config(JSON);
    config.set("provide.transaction.metadata", "true");
    config.set("value.converter.schemas.enable", "false");
    let records = encode(&registry, &config, &batch).await.unwrap();
    let json: serde_json::Value =
        serde_json::from_slice(records[1].value.as_deref().unwrap()).unwrap();
    assert_eq!(json["transaction"]["id"], "77:4242");
    assert_eq!(json["transaction"]["total_order"], 2);
    assert_eq!(json["transaction"]["data_collection_order"], 2);
}

#[tokio::test]
async fn what_cannot_be_encoded_names_its_column_and_nothing_of_it_is_appended() {
    let registry = Arc::new(Registry::default());
    let columns = vec![("id", int()), ("n", int())];
    let rows = vec![
        (Op::Create, None, Some(vec![Value::Int(1), Value::Null])),
        (Op::Create, None, Some(vec![Value::Int(2), Value::Int(2)])),
    ];
    let batch = batch("t", columns, vec![0], rows);
    let options = lattice_codec::EncoderOptions::from_config("c", 0, &config(&[])).unwrap();
    let registry: Arc<dyn lattice_registry::SchemaRegistry> = registry;
    let mut encoder = lattice_codec::Encoder::new(options, registry);
    encoder.prepare(&batch).await.unwrap();
    let mut sink = Collected::default();
    let failed = encoder.encode(&batch, 0, &mut sink).unwrap_err();
    assert_eq!(failed.event, 0);
    assert_eq!(failed.error.kind(), ErrorKind::Data);
    assert!(
        failed.error.to_string().contains("column \"n\" of table public.t"),
        "{}",
        failed.error
    );
    assert!(sink.records.is_empty());
    encoder.encode(&batch, 1, &mut sink).unwrap();
    assert_eq!(sink.records.len(), 1);
}

#[tokio::test]
async fn columns_whose_names_become_one_are_both_named() {
    let registry = Arc::new(Registry::default());
    let batch = batch("t", vec![("a b", int()), ("a_b", int())], vec![0], vec![]);
    let error = encode(&registry, &config(&[]), &batch).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.to_string().contains("\"a b\" and \"a_b\""), "{error}");
}

#[test]
fn an_unknown_converter_is_named_with_what_was_meant() {
    let config = config(&[("value.converter", "io.confluent.connect.avro.AvroConvertor")]);
    let error = lattice_codec::EncoderOptions::from_config("c", 0, &config).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.chain().contains("did you mean \"io.confluent.connect.avro.AvroConverter\""));
}

#[tokio::test]
async fn what_a_transaction_s_events_share_is_told_apart_from_what_they_do_not() {
    for extra in [&[][..], JSON] {
        let registry = Arc::new(Registry::default());
        let row = |id| (Op::Create, None, Some(vec![Value::Int(id)]));
        let mut batch = batch("t", vec![("id", int())], vec![0], (0..6).map(row).collect());
        // Three of one transaction, of which one without an LSN; two of the next; a snapshot's.
        let origins = [(7, Some(1)), (7, Some(70_000)), (7, None), (8, Some(2)), (8, Some(3))];
        for (event, (tx_id, lsn)) in batch.events.iter_mut().zip(origins) {
            (event.origin.tx_id, event.origin.lsn) = (Some(tx_id), lsn);
        }
        batch.events[4].origin.ts_us += 5_000_000;
        batch.events[5].origin.snapshot = SnapshotMarker::Last;
        let records = encode(&registry, &config(extra), &batch).await.unwrap();
        let decoded = decode(&registry, &config(extra), &records).await;
        assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
        assert_eq!(decoded.batch.events.len(), 6);
        for (read, sent) in decoded.batch.events.iter().zip(&batch.events) {
            assert_eq!(read.origin, sent.origin);
        }
    }
}
