//! In what two captures differ.

use serde_json::Value;

use super::capture::{Capture, Record};

impl Capture {
    /// In what `ours` differs from this, the real one's: a line for each place, `TOPIC #RECORD PLACE: ours instead of theirs`.
    #[must_use]
    pub fn differs(&self, ours: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let names = self
            .topics
            .keys()
            .chain(ours.topics.keys().filter(|name| !self.topics.contains_key(*name)));
        for topic in names {
            match (self.topics.get(topic), ours.topics.get(topic)) {
                (Some(real), Some(own)) => topics(topic, real, own, &mut found),
                (Some(real), None) => {
                    found.push(format!("{topic}: is missing ({} records)", real.len()));
                }
                (None, own) => {
                    found.push(format!(
                        "{topic}: is ours alone ({} records)",
                        own.map_or(0, Vec::len)
                    ));
                }
            }
        }
        found
    }
}

fn topics(topic: &str, real: &[Record], ours: &[Record], found: &mut Vec<String>) {
    if real.len() != ours.len() {
        let shown = |records: &[Record]| records.iter().map(kind).collect::<String>();
        found.push(format!("{topic}: operations are {} instead of {}", shown(ours), shown(real)));
    }
    for (index, (real, own)) in real.iter().zip(ours).enumerate() {
        let mut note = |place: &str, own: &str, real: &str| {
            found.push(format!("{topic} #{index} {place}: {own} instead of {real}"));
        };
        for (name, real, own) in [("key", &real.key, &own.key), ("value", &real.value, &own.value)]
        {
            match (real, own) {
                (Some(real), Some(own)) => {
                    values(&format!("{name} schema"), &real.0, &own.0, &mut note);
                    values(name, &real.1, &own.1, &mut note);
                }
                (None, None) => {}
                (real, own) => note(name, presence(own.is_some()), presence(real.is_some())),
            }
        }
        let headers = |record: &Record| -> Value {
            record
                .headers
                .iter()
                .map(|(name, value)| Value::from(vec![Value::from(name.as_str()), value.clone()]))
                .collect()
        };
        values("headers", &headers(real), &headers(own), &mut note);
    }
}

fn presence(there: bool) -> &'static str {
    if there { "a value" } else { "null" }
}

/// A record's letter: its operation, `-` for a tombstone, `?` for anything else.
fn kind(record: &Record) -> char {
    match &record.value {
        None => '-',
        Some((_, payload)) => {
            payload["op"].as_str().and_then(|op| op.chars().next()).unwrap_or('?')
        }
    }
}

/// Notes the deepest places in which two values differ; members' order counts.
fn values(place: &str, real: &Value, ours: &Value, note: &mut impl FnMut(&str, &str, &str)) {
    match (real, ours) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            for ((name, real), own) in a.iter().zip(b.values()) {
                values(&format!("{place}/{name}"), real, own, note);
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            // One member more or less must not hide what else differs.
            for (name, own) in b {
                match a.get(name) {
                    Some(real) => values(&format!("{place}/{name}"), real, own, note),
                    None => note(&format!("{place}/{name}"), &own.to_string(), "nothing"),
                }
            }
            for (name, real) in a.iter().filter(|(name, _)| !b.contains_key(*name)) {
                note(&format!("{place}/{name}"), "nothing", &real.to_string());
            }
            let same = |member: &&String| a.contains_key(*member) && b.contains_key(*member);
            if !a.keys().filter(same).eq(b.keys().filter(same)) {
                note(&format!("{place}/"), "another order of members", "this one");
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (real, own)) in a.iter().zip(b).enumerate() {
                let name = real["field"].as_str().map_or_else(|| index.to_string(), str::to_owned);
                values(&format!("{place}/{name}"), real, own, note);
            }
        }
        _ if real == ours => {}
        _ => note(place, &ours.to_string(), &real.to_string()),
    }
}
