use crate::{Level, avro::Schema, compatibility::check, parsed::Parsed};

fn record(fields: &str) -> String {
    format!(r#"{{"type":"record","name":"a.R","fields":[{fields}]}}"#)
}

fn compatible(level: Level, old: &[&str], new: &str) -> bool {
    let parsed = |text: &str| {
        Parsed::Avro(Schema::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")))
    };
    let earlier: Vec<_> = (1..).zip(old.iter().map(|text| parsed(text))).collect();
    check(level, &parsed(new), &earlier).is_empty()
}

/// Java's verdicts, as a real registry gives them: (case, old, new, backward, forward).
#[test]
#[allow(clippy::too_many_lines)] // one table
fn verdicts_are_javas() {
    let int = r#"{"name":"id","type":"int"}"#;
    let with = |field: &str| record(&format!("{int},{field}"));
    let typed = |kind: &str| record(&format!(r#"{{"name":"a","type":{kind}}}"#));
    let enumeration = |symbols: &str, extra: &str| {
        format!(r#"{{"type":"enum","name":"E","symbols":[{symbols}]{extra}}}"#)
    };
    let nested = |fields: &str, name: &str| {
        typed(&format!(r#"["null",{{"type":"record","name":"{name}","fields":[{fields}]}}]"#))
    };
    let array = |fields: &str| {
        typed(&format!(
            r#"{{"type":"array","items":{{"type":"record","name":"I","fields":[{fields}]}}}}"#
        ))
    };
    let fixed = |size: u8| typed(&format!(r#"{{"type":"fixed","name":"F","size":{size}}}"#));
    let x = r#"{"name":"x","type":"int"}"#;
    let y = r#"{"name":"y","type":"int"}"#;
    let y_default = r#"{"name":"y","type":"int","default":0}"#;
    let ab = r#""A","B""#;
    let abc = r#""A","B","C""#;
    let default = r#","default":"A""#;
    let cases = [
        (
            "+field union default null",
            record(int),
            with(r#"{"name":"b","type":["null","int"],"default":null}"#),
            true,
            true,
        ),
        (
            "+field union without default",
            record(int),
            with(r#"{"name":"b","type":["null","int"]}"#),
            false,
            true,
        ),
        ("drop field without default", with(x), record(int), true, false),
        ("int to long", typed(r#""int""#), typed(r#""long""#), true, false),
        ("long to int", typed(r#""long""#), typed(r#""int""#), false, true),
        ("string to bytes", typed(r#""string""#), typed(r#""bytes""#), true, true),
        ("T to [null,T]", typed(r#""int""#), typed(r#"["null","int"]"#), true, false),
        ("[null,T] to T", typed(r#"["null","int"]"#), typed(r#""int""#), false, true),
        ("enum +symbol", typed(&enumeration(ab, "")), typed(&enumeration(abc, "")), true, false),
        ("enum -symbol", typed(&enumeration(abc, "")), typed(&enumeration(ab, "")), false, true),
        (
            "-symbol, new default",
            typed(&enumeration(abc, "")),
            typed(&enumeration(ab, default)),
            true,
            true,
        ),
        (
            "+symbol, old default",
            typed(&enumeration(ab, default)),
            typed(&enumeration(abc, "")),
            true,
            true,
        ),
        (
            "enum reorder",
            typed(&enumeration(r#""B","A""#, "")),
            typed(&enumeration(ab, "")),
            true,
            true,
        ),
        ("enum to string", typed(&enumeration(ab, "")), typed(r#""string""#), false, false),
        (
            "renamed with alias",
            record(x),
            record(r#"{"name":"z","aliases":["x"],"type":"int"}"#),
            true,
            false,
        ),
        ("renamed without", record(x), record(r#"{"name":"z","type":"int"}"#), false, false),
        ("nested +required", nested(x, "N"), nested(&format!("{x},{y}"), "N"), false, true),
        ("nested +default", nested(x, "N"), nested(&format!("{x},{y_default}"), "N"), true, true),
        ("nested renamed", nested(x, "N"), nested(x, "M"), false, false),
        ("array +required", array(x), array(&format!("{x},{y}")), false, true),
        (
            "[null,int] to [null,string]",
            typed(r#"["null","int"]"#),
            typed(r#"["null","string"]"#),
            false,
            false,
        ),
        ("+branch", typed(r#"["null","int"]"#), typed(r#"["null","int","string"]"#), true, false),
        ("-branch", typed(r#"["null","int","string"]"#), typed(r#"["null","int"]"#), false, true),
        ("fixed size", fixed(4), fixed(8), false, false),
        ("default removed", record(y_default), record(y), true, true),
        ("only namespace changed", record(x), record(x).replace("a.R", "b.R"), true, true),
        (
            "record renamed with alias",
            record(x),
            record(x).replace(r#""name":"a.R""#, r#""name":"a.S","aliases":["a.R"]"#),
            true,
            false,
        ),
        ("record renamed without", record(x), record(x).replace("a.R", "a.S"), false, false),
    ];
    for (case, old, new, backward, forward) in cases {
        assert_eq!(compatible(Level::Backward, &[&old], &new), backward, "{case}: backward");
        assert_eq!(compatible(Level::Forward, &[&old], &new), forward, "{case}: forward");
        assert_eq!(compatible(Level::Full, &[&old], &new), backward && forward, "{case}: full");
        assert!(compatible(Level::None, &[&old], &new), "{case}: none");
    }
}

#[test]
fn transitive_levels_look_at_every_version() {
    let one = record(r#"{"name":"a","type":"int"}"#);
    let two = record(r#"{"name":"a","type":"int"},{"name":"b","type":"int","default":0}"#);
    let three = record(r#"{"name":"a","type":"int"},{"name":"b","type":"int"}"#);
    assert!(compatible(Level::Backward, &[&one, &two], &three));
    assert!(!compatible(Level::BackwardTransitive, &[&one, &two], &three));
}

#[test]
fn a_recursive_record_is_compatible_with_itself() {
    let list = r#"{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}"#;
    assert!(compatible(Level::FullTransitive, &[list], list));
}

#[test]
fn a_finding_names_field_and_place() {
    let parsed = |text: &str| Parsed::Avro(Schema::parse(text).unwrap());
    let old = parsed(&record(r#"{"name":"a","type":"int"}"#));
    let new = parsed(&record(r#"{"name":"b","type":"int"}"#));
    let findings = check(Level::Backward, &new, &[(1, old)]);
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0].starts_with("READER_FIELD_MISSING_DEFAULT_VALUE at /fields/0: field \"b\"")
    );
}
