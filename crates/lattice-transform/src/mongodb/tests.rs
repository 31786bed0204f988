use std::sync::Arc;

use lattice_core::{
    config::Config,
    schema::{Field, Schema, Type},
    value::{Text, Value},
};

use crate::{Chain, Datum, Record};

const CLASS: &str = "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState";

fn chain(more: &[(&str, &str)]) -> Chain {
    let mut config = Config::default();
    config.set("transforms", "flat");
    config.set("transforms.flat.type", CLASS);
    for (key, value) in more {
        config.set(format!("transforms.flat.{key}"), *value);
    }
    Chain::from_config(&config).expect("is a chain")
}

fn text(text: Option<&str>) -> Value<'static> {
    text.map_or(Value::Null, |text| Value::Text(Text::copied(text)))
}

/// A change as the source's records have it.
fn change(op: &str, id: &str, after: Option<&str>, updated: Option<&str>) -> Record {
    let optional = |kind| Arc::new(Schema::new(kind).optional());
    let json = || Arc::new(Schema::new(Type::String).named("io.debezium.data.Json", 1).optional());
    let update = Schema::structure("update", vec![Field::new("updatedFields", json())]).optional();
    let source = Schema::structure("source", vec![Field::new("ts_ms", optional(Type::Int64))]);
    let envelope = Schema::structure(
        "p.db.t.Envelope",
        vec![
            Field::new("before", json()),
            Field::new("after", json()),
            Field::new("updateDescription", Arc::new(update)),
            Field::new("source", Arc::new(source)),
            Field::new("op", optional(Type::String)),
        ],
    );
    let update = updated.map_or(Value::Null, |updated| Value::Struct(vec![text(Some(updated))]));
    let source = Value::Struct(vec![Value::Int(5)]);
    let values = vec![Value::Null, text(after), update, source, text(Some(op))];
    Record { key: key(id), value: Datum::new(envelope, Value::Struct(values)), ..tombstone() }
}

fn key(id: &str) -> Datum {
    let fields = vec![Field::new("id", Arc::new(Schema::new(Type::String)))];
    Datum::new(Schema::structure("p.db.t.Key", fields), Value::Struct(vec![text(Some(id))]))
}

fn tombstone() -> Record {
    Record { topic: "p.db.t".into(), key: key("1"), ..Record::default() }
}

/// Fields by name: type and value.
fn fields(datum: &Datum) -> Vec<(String, Type, Value<'static>)> {
    let (Some(schema), Value::Struct(values)) = (&datum.schema, &datum.value) else {
        panic!("not a struct: {datum:?}")
    };
    let fields = schema.fields.iter().zip(values);
    fields
        .map(|(field, value)| (field.name.to_string(), field.schema.kind, value.clone()))
        .collect()
}

fn apply(chain: &mut Chain, record: Record) -> Record {
    chain.apply(record).expect("is treated").expect("is kept")
}

#[test]
fn a_document_becomes_typed_fields_and_its_key_an_id_of_its_type() {
    let mut chain = chain(&[("add.fields", "op,source.ts_ms")]);
    let document = "{\"_id\": 1,\"n\": {\"$numberLong\": \"5\"},\"d\": {\"$date\": 7},\"x\": NaN,\
                    \"a\": [1,2],\"in\": {\"s\": \"t\"},\"nothing\": null}";
    let record = apply(&mut chain, change("c", "1", Some(document), None));
    assert_eq!(fields(&record.key), [("id".to_owned(), Type::Int64, Value::Int(1))]);
    let row = fields(&record.value);
    let names: Vec<&str> = row.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["_id", "n", "d", "x", "a", "in", "__op", "__source_ts_ms"]);
    assert_eq!((row[0].1, &row[0].2), (Type::Int32, &Value::Int(1)));
    assert_eq!((row[1].1, &row[1].2), (Type::Int64, &Value::Int(5)));
    assert!(matches!(row[3].2, Value::Float64(x) if x.is_nan()));
    assert_eq!(row[4].2, Value::Array(vec![Value::Int(1), Value::Int(2)]));
    assert_eq!(row[5].2, Value::Struct(vec![text(Some("t"))]));
    let schema = record.value.schema.expect("has a schema");
    assert_eq!(schema.semantic(), "p.db.t");
    assert_eq!(schema.fields[5].schema.semantic(), "p.db.t.in");
}

#[test]
fn a_field_that_was_taken_away_is_null_and_numbers_grow() {
    let mut chain = chain(&[]);
    apply(&mut chain, change("c", "1", Some("{\"_id\": 1,\"a\": 1,\"b\": \"x\"}"), None));
    let record = apply(&mut chain, change("u", "1", Some("{\"_id\": 1,\"a\": 1.5}"), None));
    let row = fields(&record.value);
    assert_eq!(row[1], ("a".to_owned(), Type::Float64, Value::Float64(1.5)));
    assert_eq!(row[2], ("b".to_owned(), Type::String, Value::Null));
    let record = apply(&mut chain, change("u", "1", Some("{\"_id\": 1,\"a\": 2}"), None));
    assert_eq!(fields(&record.value)[1].2, Value::Float64(2.0));
}

#[test]
fn a_field_that_changes_its_type_is_named_with_the_ways_out() {
    let mut chain = chain(&[]);
    apply(&mut chain, change("c", "1", Some("{\"_id\": 1,\"a\": {\"b\": 1}}"), None));
    let failed = chain.apply(change("c", "2", Some("{\"_id\": 2,\"a\": {\"b\": \"x\"}}"), None));
    let text = failed.expect_err("does not fit").error.chain();
    for part in ["p.db.t.a.b", "a whole number", "a text", "field.exclude.list"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn structs_are_flattened_and_names_that_clash_are_told() {
    let mut chain = chain(&[("flatten.struct", "true"), ("array.encoding", "document")]);
    let document = "{\"_id\": 1,\"a\": {\"b\": {\"c\": 1}},\"l\": [1,\"x\"]}";
    let record = apply(&mut chain, change("c", "1", Some(document), None));
    let names: Vec<_> = fields(&record.value).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["_id", "a_b_c", "l__0", "l__1"]);
    let clash = change("c", "2", Some("{\"_id\": 2,\"a_b_c\": 1}"), None);
    let text = chain.apply(clash).expect_err("clashes").error.chain();
    assert!(text.contains("a_b_c") && text.contains("flatten.struct.delimiter"), "{text}");
}

#[test]
fn an_update_without_its_document_has_what_was_set() {
    let mut chain = chain(&[]);
    let record =
        change("u", "{\"$oid\": \"596e275826f08b2730779e1f\"}", None, Some("{\"a.b\": 3}"));
    let record = apply(&mut chain, record);
    let row = fields(&record.value);
    assert_eq!(row[0], ("a.b".to_owned(), Type::Int32, Value::Int(3)));
    assert_eq!(row[1].2, text(Some("596e275826f08b2730779e1f")));
}

#[test]
fn modes_decide_what_deletes_become() {
    let delete = || change("d", "1", None, None);
    for (mode, kept, tombstones) in [
        ("drop", false, false),
        ("tombstone", true, false),
        ("delete-to-tombstone", true, false),
        ("rewrite", true, false),
        ("rewrite-with-tombstone", true, true),
    ] {
        let mut chain = chain(&[("delete.tombstone.handling.mode", mode)]);
        let record = chain.apply(delete()).expect("is treated");
        assert_eq!(record.is_some(), kept, "{mode}");
        if let Some(record) = record {
            assert_eq!(record.value.is_null(), !mode.starts_with("rewrite"), "{mode}");
            if mode.starts_with("rewrite") {
                let row = fields(&record.value);
                assert_eq!(row.last().expect("fields").2, Value::Bool(true), "{mode}");
            }
        }
        assert_eq!(chain.apply(tombstone()).expect("is treated").is_some(), tombstones, "{mode}");
    }
}

#[test]
fn other_records_pass_as_they_are() {
    let mut chain = chain(&[]);
    let other = Record { value: Datum::text("x"), ..tombstone() };
    assert_eq!(apply(&mut chain, other.clone()), other);
}
