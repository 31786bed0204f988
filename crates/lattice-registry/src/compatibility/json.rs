//! JSON Schema: whether everything that one schema allows the other allows too.
//!
//! The kinds of findings are those of Confluent's `json-schema-diff`. What cannot be decided
//! (`not`, conditions, references to elsewhere) is compatible only where both sides are equal.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Why documents that `writer` allows are not all allowed by `reader`; empty: they are.
pub(super) fn unreadable(reader: &Value, writer: &Value) -> Vec<String> {
    let mut checker =
        Checker { reader, writer, running: HashSet::new(), findings: Vec::new(), depth: 0 };
    checker.pair(reader, writer, "#");
    checker.findings
}

/// Nesting deeper than this is not looked into.
const MAX_DEPTH: usize = 100;

/// Members whose content is compared for equality alone.
const OPAQUE: [&str; 6] = ["not", "if", "then", "else", "dependencies", "patternProperties"];

struct Checker<'s> {
    reader: &'s Value,
    writer: &'s Value,
    /// Pairs of references being compared: a recursion on one counts as compatible.
    running: HashSet<(String, String)>,
    findings: Vec<String>,
    depth: usize,
}

impl<'s> Checker<'s> {
    fn find(&mut self, kind: &str, path: &str, detail: &str) {
        self.findings.push(format!("{kind} at {path}: {detail}"));
    }

    fn fits(&mut self, reader: &'s Value, writer: &'s Value) -> bool {
        let before = self.findings.len();
        self.pair(reader, writer, "");
        let fits = self.findings.len() == before;
        self.findings.truncate(before);
        fits
    }

    fn pair(&mut self, reader: &'s Value, writer: &'s Value, path: &str) {
        if reader == writer && self.reader == self.writer {
            return;
        }
        if self.depth > MAX_DEPTH {
            return self.find("TOO_DEEP", path, "nested deeper than can be compared");
        }
        self.depth += 1;
        self.resolved(reader, writer, path);
        self.depth -= 1;
    }

    fn resolved(&mut self, reader: &'s Value, writer: &'s Value, path: &str) {
        let (read, written) = (reference(reader), reference(writer));
        if read.is_some() || written.is_some() {
            let pair = (read.unwrap_or(path).to_owned(), written.unwrap_or(path).to_owned());
            if !self.running.insert(pair) {
                return;
            }
            let found = (target(self.reader, reader), target(self.writer, writer));
            let (Some(reader), Some(writer)) = found else {
                if read != written {
                    self.find("REFERENCE_CHANGED", path, "refers to another schema");
                }
                return;
            };
            return self.pair(reader, writer, path);
        }
        match (reader, writer) {
            (Value::Bool(true), _) | (_, Value::Bool(false)) => {}
            (Value::Bool(false), _) => {
                self.find("TYPE_NARROWED", path, "the reader allows nothing");
            }
            (Value::Object(read), Value::Object(written)) => self.objects(read, written, path),
            (Value::Object(read), _) => {
                if !read.keys().all(|name| is_annotation(name)) {
                    self.find("TYPE_NARROWED", path, "the writer allows everything");
                }
            }
            _ => self.find("TYPE_CHANGED", path, "not a schema"),
        }
    }

    fn objects(
        &mut self,
        read: &'s Map<String, Value>,
        written: &'s Map<String, Value>,
        path: &str,
    ) {
        if self.combined(read, written, path) {
            return;
        }
        self.types(read, written, path);
        self.enums(read, written, path);
        self.limits(read, written, path);
        for name in OPAQUE.into_iter().chain(["pattern", "format", "multipleOf", "uniqueItems"]) {
            // A format only describes; false is the same as nothing.
            let asks = read.get(name).is_some_and(|asked| *asked != Value::Bool(false));
            if name != "format" && asks && read.get(name) != written.get(name) {
                self.find(
                    &format!("{}_CHANGED", upper(name)),
                    path,
                    "the reader asks for something else",
                );
            }
        }
        self.properties(read, written, path);
        if let Some(items) = read.get("items") {
            let other = written.get("items").unwrap_or(&Value::Bool(true));
            self.pair(items, other, &format!("{path}/items"));
        }
    }

    /// `oneOf`, `anyOf`, `allOf`: every choice of the writer must be one of the reader's.
    fn combined(
        &mut self,
        read: &'s Map<String, Value>,
        written: &'s Map<String, Value>,
        path: &str,
    ) -> bool {
        let choices = |object: &'s Map<String, Value>| {
            ["oneOf", "anyOf"].into_iter().find_map(|name| object.get(name)?.as_array())
        };
        let all = |object: &'s Map<String, Value>| object.get("allOf").and_then(Value::as_array);
        match (choices(read), choices(written), all(read), all(written)) {
            (None, None, None, None) => return false,
            (Some(read), Some(written), ..) => {
                let missing =
                    written.iter().position(|one| !read.iter().any(|other| self.fits(other, one)));
                if let Some(index) = missing {
                    let detail =
                        format!("no choice of the reader takes the writer's number {index}");
                    self.find("SUM_TYPE_NARROWED", path, &detail);
                }
            }
            (Some(read), None, None, None) => {
                let writer = written;
                let fits = read.iter().any(|one| self.fits_object(one, writer));
                if !fits {
                    self.find("COMBINED_TYPE_CHANGED", path, "no choice of the reader fits");
                }
            }
            (_, _, Some(read), Some(written)) => {
                let missing =
                    read.iter().position(|one| !written.iter().any(|other| self.fits(one, other)));
                if let Some(index) = missing {
                    let detail = format!("the writer does not promise the reader's number {index}");
                    self.find("PRODUCT_TYPE_EXTENDED", path, &detail);
                }
            }
            _ => self.find("COMBINED_TYPE_CHANGED", path, "combined in another way"),
        }
        true
    }

    fn fits_object(&mut self, reader: &'s Value, writer: &'s Map<String, Value>) -> bool {
        let before = self.findings.len();
        match reader {
            Value::Object(reader) => self.objects(reader, writer, ""),
            other => {
                if *other == Value::Bool(false) {
                    self.find("TYPE_NARROWED", "", "");
                }
            }
        }
        let fits = self.findings.len() == before;
        self.findings.truncate(before);
        fits
    }

    fn types(&mut self, read: &Map<String, Value>, written: &Map<String, Value>, path: &str) {
        let Some(allowed) = types(read) else { return };
        let Some(made) = types(written) else {
            if !written.contains_key("enum") && !written.contains_key("const") {
                self.find("TYPE_NARROWED", path, "the writer has no type");
            }
            return;
        };
        let takes = |one: &&str| {
            allowed.contains(one) || (**one == *"integer" && allowed.contains(&"number"))
        };
        let missing: Vec<&str> = made.iter().copied().filter(|one| !takes(one)).collect();
        if !missing.is_empty() {
            let kind = if missing.len() == made.len() { "TYPE_CHANGED" } else { "TYPE_NARROWED" };
            let detail =
                format!("the reader takes {}, not {}", allowed.join(", "), missing.join(", "));
            self.find(kind, path, &detail);
        }
    }

    fn enums(&mut self, read: &'s Map<String, Value>, written: &'s Map<String, Value>, path: &str) {
        let values =
            |object: &'s Map<String, Value>| match (object.get("const"), object.get("enum")) {
                (Some(one), _) => Some(vec![one]),
                (None, Some(Value::Array(list))) => Some(list.iter().collect::<Vec<_>>()),
                _ => None,
            };
        let Some(allowed) = values(read) else { return };
        match values(written) {
            None => self.find("ENUM_ARRAY_ADDED", path, "the writer is not limited to values"),
            Some(made) => {
                if let Some(missing) = made.iter().find(|one| !allowed.contains(one)) {
                    let detail = format!("the reader does not take {missing}");
                    self.find("ENUM_ARRAY_NARROWED", path, &detail);
                }
            }
        }
    }

    fn limits(&mut self, read: &Map<String, Value>, written: &Map<String, Value>, path: &str) {
        const LIMITS: [(&str, bool); 10] = [
            ("maximum", true),
            ("exclusiveMaximum", true),
            ("maxLength", true),
            ("maxItems", true),
            ("maxProperties", true),
            ("minimum", false),
            ("exclusiveMinimum", false),
            ("minLength", false),
            ("minItems", false),
            ("minProperties", false),
        ];
        for (name, upper_limit) in LIMITS {
            let Some(limit) = read.get(name).and_then(Value::as_f64) else { continue };
            match written.get(name).and_then(Value::as_f64) {
                None => {
                    self.find(
                        &format!("{}_ADDED", upper(name)),
                        path,
                        "the writer has no such limit",
                    );
                }
                Some(other) if upper_limit && other > limit => {
                    self.find(
                        &format!("{}_DECREASED", upper(name)),
                        path,
                        &format!("{other} to {limit}"),
                    );
                }
                Some(other) if !upper_limit && other < limit => {
                    self.find(
                        &format!("{}_INCREASED", upper(name)),
                        path,
                        &format!("{other} to {limit}"),
                    );
                }
                Some(_) => {}
            }
        }
    }

    fn properties(
        &mut self,
        read: &'s Map<String, Value>,
        written: &'s Map<String, Value>,
        path: &str,
    ) {
        let (reads, writes) = (Content::of(read), Content::of(written));
        for (name, schema) in reads.properties() {
            let place = format!("{path}/properties/{name}");
            match (writes.property(name), writes.others) {
                (Some(other), _) => self.pair(schema, other, &place),
                (None, Value::Bool(false)) => {}
                (None, others) if others.is_object() => self.pair(schema, others, &place),
                (None, _) => {
                    if !self.fits(schema, &Value::Bool(true)) {
                        let detail = "the writer may write anything under this name";
                        self.find("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", &place, detail);
                    }
                }
            }
        }
        for (name, schema) in writes.properties() {
            let place = format!("{path}/properties/{name}");
            match (reads.property(name), reads.others) {
                (Some(_), _) | (None, Value::Bool(true)) => {}
                (None, Value::Bool(false)) => {
                    let detail = "the reader takes no other properties";
                    self.find("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", &place, detail);
                }
                (None, others) => self.pair(others, schema, &place),
            }
        }
        if reads.others != writes.others && (reads.is_object || writes.is_object) {
            self.pair(reads.others, writes.others, &format!("{path}/additionalProperties"));
        }
        for name in reads.required() {
            let has_default =
                reads.property(name).is_some_and(|schema| schema.get("default").is_some());
            if !has_default && !writes.required().any(|other| other == name) {
                let place = format!("{path}/required/{name}");
                self.find("REQUIRED_ATTRIBUTE_ADDED", &place, "the writer may leave it out");
            }
        }
    }
}

/// What a schema says about an object's properties.
struct Content<'s> {
    object: &'s Map<String, Value>,
    others: &'s Value,
    is_object: bool,
}

impl<'s> Content<'s> {
    fn of(object: &'s Map<String, Value>) -> Self {
        let others = object.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let is_object =
            object.contains_key("properties") || object.contains_key("additionalProperties");
        Self { object, others, is_object }
    }

    fn properties(&self) -> impl Iterator<Item = (&'s String, &'s Value)> + use<'s> {
        self.object.get("properties").and_then(Value::as_object).into_iter().flatten()
    }

    fn property(&self, name: &str) -> Option<&'s Value> {
        self.object.get("properties")?.get(name)
    }

    fn required(&self) -> impl Iterator<Item = &'s str> + use<'s> {
        let list = self.object.get("required").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str)
    }
}

fn types(object: &Map<String, Value>) -> Option<Vec<&str>> {
    match object.get("type")? {
        Value::String(one) => Some(vec![one]),
        Value::Array(list) => Some(list.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()
}

/// The schema itself, or what it refers to in the same text; none: it is elsewhere.
fn target<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    match reference(schema) {
        None => Some(schema),
        Some("#") => Some(root),
        Some(pointer) => root.pointer(pointer.strip_prefix('#')?),
    }
}

/// Members that allow and forbid nothing.
fn is_annotation(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "title",
        "description",
        "default",
        "examples",
        "$id",
        "id",
        "$schema",
        "$comment",
        "definitions",
        "$defs",
        "readOnly",
        "format",
    ];
    NAMES.contains(&name) || name.starts_with("connect.")
}

/// `maxLength` → `MAX_LENGTH`
fn upper(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    for char in name.chars() {
        if char.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(char.to_ascii_uppercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (case, writer, reader, the finding; none: compatible)
    #[test]
    #[allow(clippy::too_many_lines)] // one table
    fn a_reader_must_allow_what_the_writer_allows() {
        let open = r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#;
        let closed = r#"{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}"#;
        let more = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"additionalProperties":false}"#;
        let cases = [
            ("integer to number", r#"{"type":"integer"}"#, r#"{"type":"number"}"#, None),
            (
                "number to integer",
                r#"{"type":"number"}"#,
                r#"{"type":"integer"}"#,
                Some("TYPE_CHANGED"),
            ),
            ("type widened", r#"{"type":"string"}"#, r#"{"type":["string","null"]}"#, None),
            (
                "type narrowed",
                r#"{"type":["string","null"]}"#,
                r#"{"type":"string"}"#,
                Some("TYPE_NARROWED"),
            ),
            ("enum extended", r#"{"enum":["a"]}"#, r#"{"enum":["a","b"]}"#, None),
            (
                "enum narrowed",
                r#"{"enum":["a","b"]}"#,
                r#"{"enum":["a"]}"#,
                Some("ENUM_ARRAY_NARROWED"),
            ),
            ("maximum raised", r#"{"maximum":5}"#, r#"{"maximum":9}"#, None),
            ("maximum lowered", r#"{"maximum":9}"#, r#"{"maximum":5}"#, Some("MAXIMUM_DECREASED")),
            (
                "min length added",
                r#"{"type":"string"}"#,
                r#"{"type":"string","minLength":1}"#,
                Some("MIN_LENGTH_ADDED"),
            ),
            (
                "property added, open",
                open,
                r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}"#,
                Some("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"),
            ),
            ("property added, closed", closed, more, None),
            (
                "property removed, closed",
                more,
                closed,
                Some("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"),
            ),
            ("property removed, open", more, open, None),
            ("closed", open, closed, Some("TYPE_NARROWED")),
            (
                "required added",
                closed,
                r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#,
                Some("REQUIRED_ATTRIBUTE_ADDED"),
            ),
            (
                "required with default",
                closed,
                r#"{"type":"object","properties":{"a":{"type":"integer","default":0}},"required":["a"],"additionalProperties":false}"#,
                None,
            ),
            (
                "choice added",
                r#"{"oneOf":[{"type":"string"}]}"#,
                r#"{"oneOf":[{"type":"string"},{"type":"null"}]}"#,
                None,
            ),
            (
                "choice removed",
                r#"{"oneOf":[{"type":"string"},{"type":"null"}]}"#,
                r#"{"oneOf":[{"type":"string"}]}"#,
                Some("SUM_TYPE_NARROWED"),
            ),
            (
                "became a choice",
                r#"{"type":"string"}"#,
                r#"{"oneOf":[{"type":"null"},{"type":"string"}]}"#,
                None,
            ),
            (
                "items",
                r#"{"type":"array","items":{"type":"integer"}}"#,
                r#"{"type":"array","items":{"type":"string"}}"#,
                Some("TYPE_CHANGED"),
            ),
            (
                "only words",
                r#"{"type":"string","description":"x"}"#,
                r#"{"type":"string","title":"y"}"#,
                None,
            ),
        ];
        for (case, writer, reader, finding) in cases {
            let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            let found = unreadable(&parsed(reader), &parsed(writer));
            match finding {
                None => assert!(found.is_empty(), "{case}: {found:?}"),
                Some(kind) => assert!(
                    found.first().is_some_and(|found| found.starts_with(kind)),
                    "{case}: {found:?}"
                ),
            }
        }
    }

    #[test]
    fn a_recursive_schema_ends() {
        let list = r##"{"definitions":{"n":{"type":"object","properties":{"next":{"$ref":"#/definitions/n"}}}},"$ref":"#/definitions/n"}"##;
        let other = list.replace("\"type\":\"object\",", "\"type\":\"object\",\"title\":\"x\",");
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert!(unreadable(&parsed(list), &parsed(&other)).is_empty());
    }
}
