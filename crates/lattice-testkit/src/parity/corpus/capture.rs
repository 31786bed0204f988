//! What stands in a run's topics, and how it is kept.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    names::{self, Names},
    theme::Run,
};

/// A record as it was read.
#[derive(Debug, Clone)]
pub struct Raw {
    /// Its topic.
    pub topic: String,
    /// The key's text; `None`: null.
    pub key: Option<String>,
    /// The value's text; `None`: null.
    pub value: Option<String>,
    /// The headers, in order.
    pub headers: Vec<(String, Option<String>)>,
}

/// Schema and payload; a text that is no JSON with a schema is all payload.
type Side = Option<(Value, Value)>;

/// A record with names in place of what differs by nature.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) key: Side,
    pub(super) value: Side,
    pub(super) headers: Vec<(String, Value)>,
}

/// The records of a run's topics, each in its order.
#[derive(Debug, Default)]
pub struct Capture {
    pub(super) topics: BTreeMap<String, Vec<Record>>,
}

/// The captures of a theme's runs, by their names.
#[derive(Debug, Default)]
pub struct Recorded(pub BTreeMap<String, Capture>);

impl Raw {
    /// Reads a line that tells topic, key, value and headers.
    ///
    /// # Panics
    /// When it does not.
    #[must_use]
    pub fn from_line(line: &str) -> Self {
        let line: Value = serde_json::from_str(line).expect("a record");
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let headers = line["headers"].as_array().cloned().unwrap_or_default();
        Self {
            topic: text(&line["topic"]).unwrap_or_default(),
            key: text(&line["key"]),
            value: text(&line["value"]),
            headers: headers
                .iter()
                .map(|one| (text(&one[0]).unwrap_or_default(), text(&one[1])))
                .collect(),
        }
    }
}

impl Capture {
    /// The records that are the run's own. `database`: its name on this side.
    #[must_use]
    pub fn new(run: &Run, database: &str, raw: &[Raw]) -> Self {
        let mut topics: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        let mut names: BTreeMap<&str, Names<'_>> = BTreeMap::new();
        for record in raw.iter().filter(|record| run.owns(&record.topic)) {
            let names = names.entry(&record.topic).or_insert_with(|| Names::new(database));
            let named = named(record, names);
            topics.entry(record.topic.clone()).or_default().push(named);
        }
        Self { topics }
    }

    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.topics.values().map(Vec::len).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }
}

fn named(raw: &Raw, names: &mut Names<'_>) -> Record {
    let mut side = |text: &Option<String>| {
        let (schema, mut payload) = split(text.as_ref()?);
        names.payload(&mut payload);
        Some((schema, payload))
    };
    let header = |(name, text): &(String, Option<String>)| {
        let value = text.as_ref().map_or(Value::Null, |text| {
            let text = names::header(name, text);
            if text.starts_with('{') {
                serde_json::from_str(&text).unwrap_or(json!(text))
            } else {
                json!(text)
            }
        });
        (name.clone(), value)
    };
    let (key, value) = (side(&raw.key), side(&raw.value));
    Record { key, value, headers: raw.headers.iter().map(header).collect() }
}

fn split(text: &str) -> (Value, Value) {
    match serde_json::from_str(text) {
        Ok(Value::Object(mut members)) if members.contains_key("schema") => {
            let mut take = |name: &str| members.get_mut(name).map(Value::take).unwrap_or_default();
            (take("schema"), take("payload"))
        }
        Ok(value) => (Value::Null, value),
        Err(_) => (Value::Null, json!(text)),
    }
}

/// Schemas of a file: each is told once.
#[derive(Default)]
struct Known(Vec<String>);

impl Known {
    /// The schema with its structs in the list, and numbers in their place.
    fn fold(&mut self, schema: &Value) -> Value {
        match schema {
            Value::Object(members) => {
                let mut folded: Map<String, Value> =
                    members.iter().map(|(name, value)| (name.clone(), self.fold(value))).collect();
                if members.get("type") != Some(&json!("struct")) {
                    return Value::Object(folded);
                }
                let field = folded.shift_remove("field");
                let text = Value::Object(folded).to_string();
                let index = self.0.iter().position(|known| *known == text).unwrap_or_else(|| {
                    self.0.push(text);
                    self.0.len() - 1
                });
                match field {
                    Some(field) => json!({ "struct": index, "field": field }),
                    None => json!({ "struct": index }),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.fold(item)).collect(),
            other => other.clone(),
        }
    }
}

/// The schema with its structs in place of their numbers.
fn unfold(schema: &Value, structs: &[Value]) -> Value {
    match schema {
        Value::Object(members) => {
            let index = members
                .get("struct")
                .and_then(Value::as_u64)
                .and_then(|index| usize::try_from(index).ok());
            if let Some(index) = index {
                let mut whole = unfold(&structs[index], structs);
                if let (Some(whole), Some(field)) = (whole.as_object_mut(), members.get("field")) {
                    whole.insert("field".to_owned(), field.clone());
                }
                return whole;
            }
            Value::Object(
                members
                    .iter()
                    .map(|(name, value)| (name.clone(), unfold(value, structs)))
                    .collect(),
            )
        }
        Value::Array(items) => items.iter().map(|item| unfold(item, structs)).collect(),
        other => other.clone(),
    }
}

impl Recorded {
    /// The file: a struct or a record a line.
    #[must_use]
    pub fn write(&self) -> String {
        let mut known = Known::default();
        let mut lines = Vec::new();
        for (name, capture) in &self.0 {
            let mut topics = Vec::new();
            for (topic, records) in &capture.topics {
                let records: Vec<String> =
                    records.iter().map(|record| folded(record, &mut known)).collect();
                topics.push(format!("{}: [\n{}\n]", json!(topic), records.join(",\n")));
            }
            lines.push(format!("{}: {{{}}}", json!(name), topics.join(",\n")));
        }
        format!(
            "{{\"structs\": [\n{}\n],\n\"runs\": {{\n{}\n}}}}\n",
            known.0.join(",\n"),
            lines.join(",\n")
        )
    }

    /// Reads a file.
    ///
    /// # Panics
    /// When the text is none.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let file: Value = serde_json::from_str(text).expect("a recording");
        let structs = file["structs"].as_array().expect("structs");
        let runs = file["runs"].as_object().expect("runs");
        let capture = |topics: &Value| {
            let topics = topics.as_object().expect("topics").iter();
            let records = topics.map(|(topic, records)| {
                let records = records.as_array().expect("records").iter();
                (topic.clone(), records.map(|record| unfolded(record, structs)).collect())
            });
            Capture { topics: records.collect() }
        };
        Self(runs.iter().map(|(name, topics)| (name.clone(), capture(topics))).collect())
    }
}

fn folded(record: &Record, known: &mut Known) -> String {
    let mut side = |side: &Side| {
        side.as_ref().map_or(Value::Null, |(schema, payload)| json!([known.fold(schema), payload]))
    };
    let (key, value) = (side(&record.key), side(&record.value));
    let headers: Vec<Value> = record
        .headers
        .iter()
        .map(|(name, value)| {
            let parts =
                value.get("schema").map(|schema| json!([known.fold(schema), value["payload"]]));
            json!([name, parts.unwrap_or_else(|| value.clone())])
        })
        .collect();
    json!({ "key": key, "value": value, "headers": headers }).to_string()
}

fn unfolded(record: &Value, structs: &[Value]) -> Record {
    let side = |value: &Value| {
        let parts = value.as_array()?;
        Some((unfold(parts.first()?, structs), parts.get(1)?.clone()))
    };
    let headers = record["headers"].as_array().cloned().unwrap_or_default();
    let header = |one: &Value| {
        let value = match side(&one[1]) {
            Some((schema, payload)) => json!({ "schema": schema, "payload": payload }),
            None => one[1].clone(),
        };
        (one[0].as_str().unwrap_or_default().to_owned(), value)
    };
    Record {
        key: side(&record["key"]),
        value: side(&record["value"]),
        headers: headers.iter().map(header).collect(),
    }
}
