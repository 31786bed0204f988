//! A schema with the types that it refers to written into it, so that its text stands alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::parse::{primitive, qualify};

/// Nesting deeper than this is left as it is; the parser refuses it anyway.
const MAX_DEPTH: usize = 200;

/// Writes the named types of `references` into `text` where they are first used. A text that is
/// no JSON comes back unchanged, for the parser to refuse.
pub(crate) fn inline<'t>(text: &str, references: impl Iterator<Item = &'t str>) -> String {
    let Ok(mut schema) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let mut known = Definitions::default();
    for reference in references {
        if let Ok(value) = serde_json::from_str::<Value>(reference) {
            known.collect(&value, "", 0);
        }
    }
    Writer { known: &known, written: BTreeSet::new() }.schema(&mut schema, "", 0);
    schema.to_string()
}

/// Named types by their full names.
#[derive(Default)]
struct Definitions(BTreeMap<String, Map<String, Value>>);

impl Definitions {
    fn collect(&mut self, schema: &Value, namespace: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match schema {
            Value::Array(branches) => {
                for branch in branches {
                    self.collect(branch, namespace, depth + 1);
                }
            }
            Value::Object(object) => {
                let space = match full_name(object, namespace) {
                    Some(full) => {
                        let space = namespace_of(&full).to_owned();
                        self.0.entry(full).or_insert_with(|| object.clone());
                        space
                    }
                    None => namespace.to_owned(),
                };
                for inner in ["type", "items", "values"] {
                    if let Some(inner) = object.get(inner) {
                        self.collect(inner, &space, depth + 1);
                    }
                }
                for field in fields(object) {
                    if let Some(schema) = field.get("type") {
                        self.collect(schema, &space, depth + 1);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

struct Writer<'k> {
    known: &'k Definitions,
    /// Full names that stand in the text already.
    written: BTreeSet<String>,
}

impl Writer<'_> {
    fn schema(&mut self, schema: &mut Value, namespace: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match schema {
            Value::String(word) if primitive(word).is_none() => {
                if let Some(mut definition) = self.definition(word, namespace) {
                    self.schema(&mut definition, "", depth + 1);
                    *schema = definition;
                }
            }
            Value::Array(branches) => {
                for branch in branches {
                    self.schema(branch, namespace, depth + 1);
                }
            }
            Value::Object(object) => self.object(object, namespace, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn object(&mut self, object: &mut Map<String, Value>, namespace: &str, depth: usize) {
        let space = match full_name(object, namespace) {
            Some(full) => {
                let space = namespace_of(&full).to_owned();
                self.written.insert(full);
                space
            }
            None => namespace.to_owned(),
        };
        for inner in ["type", "items", "values"] {
            if let Some(inner) = object.get_mut(inner) {
                // "record", "array" and the like are no types of their own.
                let word = inner.as_str().is_some_and(|word| {
                    matches!(word, "record" | "error" | "enum" | "fixed" | "array" | "map")
                });
                if !word {
                    self.schema(inner, &space, depth + 1);
                }
            }
        }
        let Some(Value::Array(list)) = object.get_mut("fields") else { return };
        for field in list {
            if let Some(schema) = field.get_mut("type") {
                self.schema(schema, &space, depth + 1);
            }
        }
    }

    /// The definition of a name that is used and not yet written, with its full name.
    fn definition(&self, word: &str, namespace: &str) -> Option<Value> {
        let qualified = qualify(word, namespace);
        let usable =
            |name: &&str| self.known.0.contains_key(*name) && !self.written.contains(*name);
        let full = [qualified.as_str(), word].into_iter().find(usable)?;
        if self.written.contains(&qualified) {
            return None;
        }
        let mut object = self.known.0.get(full)?.clone();
        let short = full.rsplit('.').next().unwrap_or(full);
        object.insert("name".to_owned(), short.into());
        object.insert("namespace".to_owned(), namespace_of(full).into());
        Some(Value::Object(object))
    }
}

fn fields(object: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    object.get("fields").and_then(Value::as_array).into_iter().flatten()
}

/// The full name of an object that defines a type.
fn full_name(object: &Map<String, Value>, namespace: &str) -> Option<String> {
    let kind = object.get("type")?.as_str()?;
    if !matches!(kind, "record" | "error" | "enum" | "fixed") {
        return None;
    }
    let name = object.get("name")?.as_str()?;
    let space = object.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
    Some(qualify(name, space))
}

fn namespace_of(full: &str) -> &str {
    full.rsplit_once('.').map_or("", |(space, _)| space)
}
