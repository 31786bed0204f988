use super::*;

#[test]
fn a_recursive_record_parses_and_its_reference_is_the_record_itself() {
    let schema = Schema::parse(
        r#"{"type":"record","name":"a.Node","fields":[{"name":"next","type":["null","Node"],"default":null}]}"#,
    )
    .unwrap();
    let Kind::Record(record) = schema.kind(schema.root()) else { panic!("not a record") };
    let Kind::Union(branches) = schema.kind(record.fields[0].schema) else { panic!("not a union") };
    assert_eq!(branches[1], schema.root());
}

#[test]
fn properties_stay_in_their_order() {
    let schema = Schema::parse(
        r#"{"type":"bytes","scale":2,"precision":10,"connect.name":"x","logicalType":"decimal"}"#,
    )
    .unwrap();
    let names: Vec<_> = schema.node(schema.root()).properties.keys().cloned().collect();
    assert_eq!(names, ["scale", "precision", "connect.name", "logicalType"]);
}

#[test]
fn what_is_wrong_with_a_schema_is_named() {
    for (text, reason) in [
        ("{", "not JSON"),
        ("7", "not a schema"),
        (r#"{"type":"recordd"}"#, "undefined name: \"recordd\""),
        (r#"{"type":"record","name":"R"}"#, "no \"fields\""),
        (r#"{"type":"record","name":"1R","fields":[]}"#, "illegal name"),
        (r#"{"type":"record","name":"R","fields":[{"name":"a"}]}"#, "no \"type\""),
        (
            r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}"#,
            "invalid default for field a of record R",
        ),
        (r#"["int","int"]"#, "duplicate in union"),
        (r#"{"type":"enum","name":"E","symbols":["A","A"]}"#, "duplicate symbol"),
    ] {
        let error = Schema::parse(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn deep_nesting_is_refused_and_does_not_exhaust_the_stack() {
    let deep = format!("{}\"int\"{}", "{\"type\":\"array\",\"items\":".repeat(60), "}".repeat(60));
    assert!(Schema::parse(&deep).is_ok());
    let deeper =
        format!("{}\"int\"{}", "{\"type\":\"array\",\"items\":".repeat(5000), "}".repeat(5000));
    assert!(Schema::parse(&deeper).is_err());
}
