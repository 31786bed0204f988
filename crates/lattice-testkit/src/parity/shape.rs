//! Whether two JSON values have the same shape: keys and types, not texts and numbers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A value's shape. Elements of a list are taken together.
#[derive(Debug, Default, PartialEq)]
struct Shape {
    /// `text`, `number`, `boolean`, `null`, `object`, `list`: several after a merge.
    types: BTreeSet<&'static str>,
    fields: BTreeMap<String, Shape>,
    /// Fields that not every merged object has.
    optional: BTreeSet<String>,
    objects: usize,
    items: Option<Box<Shape>>,
}

/// Notes in what the shape of `ours` differs from that of `real`.
pub(super) fn compare(real: &Value, ours: &Value, found: &mut Vec<String>) {
    let (mut one, mut other) = (Shape::default(), Shape::default());
    one.add(real, "");
    other.add(ours, "");
    one.compare(&other, "", found);
    compare_validations(real, ours, found);
}

impl Shape {
    fn add(&mut self, value: &Value, name: &str) {
        match value {
            Value::Null => _ = self.types.insert("null"),
            Value::Bool(_) => _ = self.types.insert("boolean"),
            Value::Number(_) => _ = self.types.insert("number"),
            Value::String(_) => _ = self.types.insert("text"),
            Value::Array(items) => {
                self.types.insert("list");
                for item in items {
                    self.items.get_or_insert_default().add(item, "");
                }
            }
            Value::Object(map) => self.add_object(map, name),
        }
    }

    fn add_object(&mut self, map: &serde_json::Map<String, Value>, name: &str) {
        self.types.insert("object");
        // A map, such as loggers by name: its values are compared as a list's items are.
        if !map.is_empty() && map.values().all(|value| value.get("level").is_some()) {
            for value in map.values() {
                self.items.get_or_insert_default().add(value, "");
            }
            return;
        }
        // A configuration has the connector's own keys: only its kind is compared.
        let flat = name == "config" && map.values().all(Value::is_string);
        if flat {
            return;
        }
        for (name, value) in map {
            if self.objects > 0 && !self.fields.contains_key(name) {
                self.optional.insert(name.clone());
            }
            self.fields.entry(name.clone()).or_default().add(value, name);
        }
        let missing = self.fields.keys().filter(|name| !map.contains_key(*name)).cloned();
        self.optional.extend(missing);
        self.objects += 1;
    }

    fn compare(&self, ours: &Self, place: &str, found: &mut Vec<String>) {
        if ours.types.iter().any(|kind| !self.types.contains(kind)) {
            found.push(format!("{place}/ is {:?} instead of {:?}", ours.types, self.types));
            return;
        }
        for (name, shape) in &self.fields {
            match ours.fields.get(name) {
                Some(own) => shape.compare(own, &format!("{place}/{name}"), found),
                None if self.optional.contains(name) => {}
                None => found.push(format!("{place}/{name} is missing")),
            }
        }
        for name in ours.fields.keys().filter(|name| !self.fields.contains_key(*name)) {
            found.push(format!("{place}/{name} is ours alone"));
        }
        match (&self.items, &ours.items) {
            (Some(real), Some(own)) => real.compare(own, &format!("{place}/[]"), found),
            (Some(_), None) => found.push(format!("{place}/ is an empty list")),
            (None, Some(_)) => found.push(format!("{place}/ is no empty list")),
            (None, None) => {}
        }
    }
}

/// The answer of a validation is told by the keys that have errors.
fn compare_validations(real: &Value, ours: &Value, found: &mut Vec<String>) {
    if real.get("error_count").is_none() || ours.get("error_count").is_none() {
        return;
    }
    let (real, ours) = (wrong_keys(real), wrong_keys(ours));
    if real != ours {
        found.push(format!("errors at {ours:?} instead of {real:?}"));
    }
}

fn wrong_keys(validation: &Value) -> BTreeSet<&str> {
    let configs = validation["configs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let values = configs.iter().map(|config| &config["value"]);
    let wrong =
        values.filter(|value| value["errors"].as_array().is_some_and(|errors| !errors.is_empty()));
    wrong.filter_map(|value| value["name"].as_str()).collect()
}

/// Groups of keys that Kafka Connect gives every connector.
const GROUPS: [&str; 7] = [
    "Common",
    "Transforms",
    "Predicates",
    "Error Handling",
    "Topic Creation",
    "Exactly Once Support",
    "offsets.topic",
];

/// The definitions of a list or of a validation.
fn definitions(body: &Value) -> impl Iterator<Item = &Value> {
    let items = body.get("configs").unwrap_or(body).as_array().map(Vec::as_slice);
    items.unwrap_or_default().iter().map(|item| item.get("definition").unwrap_or(item))
}

fn is_framework(definition: &Value) -> bool {
    definition["group"].as_str().is_some_and(|group| GROUPS.contains(&group))
}

/// Compares the keys that Kafka Connect gives every connector, one by one.
pub(super) fn compare_definitions(real: &Value, ours: &Value, found: &mut Vec<String>) {
    for definition in definitions(real).filter(|definition| is_framework(definition)) {
        let name = &definition["name"];
        let Some(own) = definitions(ours).find(|own| own["name"] == *name) else {
            found.push(format!("key {name} is missing"));
            continue;
        };
        for field in
            ["type", "required", "default_value", "importance", "group", "width", "display_name"]
        {
            if definition[field] != own[field] {
                let (own, real) = (&own[field], &definition[field]);
                found.push(format!("key {name}: {field} is {own} instead of {real}"));
            }
        }
    }
}

/// Longer texts of a recording are cut: documentation, stack traces.
const LONGEST_TEXT: usize = 120;

/// Longer lists and maps of a recording keep one item of each shape, and what else is compared.
const LONGEST_LIST: usize = 8;

/// A body as it is recorded. `with_definitions`: of keys, the framework's are all kept.
pub(super) fn reduced(value: &Value, with_definitions: bool) -> Value {
    let mut seen = BTreeSet::new();
    let mut keeps = |item: &Value, many: bool| {
        let definition = item.get("definition").unwrap_or(item);
        let errors = item["value"]["errors"].as_array().is_some_and(|errors| !errors.is_empty());
        let wanted = with_definitions && is_framework(definition);
        seen.insert(signature(item)) || !many || errors || wanted
    };
    match value {
        Value::String(text) if text.chars().count() > LONGEST_TEXT => {
            Value::String(text.chars().take(LONGEST_TEXT).chain(['…']).collect())
        }
        Value::Array(items) => {
            let many = items.len() > LONGEST_LIST;
            let kept = items.iter().filter(|item| keeps(item, many));
            kept.map(|item| reduced(item, with_definitions)).collect()
        }
        Value::Object(map) => {
            let many = map.len() > 3 * LONGEST_LIST;
            let kept = map.iter().filter(|(_, item)| keeps(item, many));
            let kept = kept.map(|(name, item)| (name.clone(), reduced(item, with_definitions)));
            Value::Object(kept.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// A value's shape in a few letters.
fn signature(value: &Value) -> String {
    match value {
        Value::Null => "n".to_owned(),
        Value::Bool(_) => "b".to_owned(),
        Value::Number(_) => "i".to_owned(),
        Value::String(_) => "t".to_owned(),
        Value::Array(items) => {
            let shapes: BTreeSet<String> = items.iter().map(signature).collect();
            format!("[{}]", shapes.into_iter().collect::<Vec<_>>().join(","))
        }
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(name, value)| format!("{name}:{}", signature(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(real: Value, ours: Value) -> Vec<String> {
        let mut found = Vec::new();
        compare(&real, &ours, &mut found);
        found
    }

    #[test]
    fn texts_and_numbers_may_differ() {
        let real = json!({"a": 1, "l": [{"x": "t"}, {"x": null, "y": 1}], "config": {"k": "v"}});
        let ours = json!({"a": 2, "l": [{"x": "u"}], "config": {"other": "w"}});
        assert_eq!(found(real, ours), Vec::<String>::new());
    }

    #[test]
    fn keys_and_types_may_not() {
        let real = json!({"a": 1, "b": "t", "l": [1]});
        let ours = json!({"a": "1", "c": 1, "l": []});
        assert_eq!(found(real, ours).len(), 4);
    }
}
