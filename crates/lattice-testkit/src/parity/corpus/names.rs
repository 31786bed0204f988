//! What differs by nature, replaced by names.

use serde_json::{Map, Value, json};

/// Gives names to a topic's transactions in the order in which they are met.
#[derive(Debug)]
pub(super) struct Names<'a> {
    /// The database's name, which a test makes.
    database: &'a str,
    transactions: Vec<String>,
}

impl<'a> Names<'a> {
    pub(super) fn new(database: &'a str) -> Self {
        Self { database, transactions: Vec::new() }
    }

    /// A key's or value's payload.
    pub(super) fn payload(&mut self, payload: &mut Value) {
        let Some(members) = payload.as_object_mut() else { return };
        if members.contains_key("source") || members.contains_key("status") || members.len() == 1 {
            times(members);
        }
        if let Some(source) = members.get_mut("source").and_then(Value::as_object_mut) {
            self.source(source);
        }
        if let Some(Value::Object(transaction)) = members.get_mut("transaction") {
            self.transaction(transaction);
        }
        let of_topic = members.contains_key("event_count") || members.len() == 1;
        if of_topic && members.get("id").is_some_and(|id| id.as_str().is_some_and(is_transaction)) {
            self.transaction(members);
        }
    }

    fn source(&mut self, source: &mut Map<String, Value>) {
        times(source);
        if source.get("db").and_then(Value::as_str) == Some(self.database) {
            source.insert("db".to_owned(), json!("{db}"));
        }
        if let Some(id) = source.get("txId").and_then(Value::as_u64) {
            source.insert("txId".to_owned(), json!(self.named(&id.to_string())));
        }
        let lsn = source.get("lsn").and_then(Value::as_u64).map(|lsn| lsn.to_string());
        if let Some(Value::String(text)) = source.get("sequence") {
            source.insert("sequence".to_owned(), json!(sequence(text, lsn.as_deref())));
        }
        if lsn.is_some() {
            source.insert("lsn".to_owned(), json!("{lsn}"));
        }
    }

    fn transaction(&mut self, members: &mut Map<String, Value>) {
        let Some(id) = members.get("id").and_then(Value::as_str) else { return };
        let Some((id, _)) = id.split_once(':') else { return };
        let named = format!("{}:{{lsn}}", self.named(id));
        members.insert("id".to_owned(), json!(named));
    }

    fn named(&mut self, id: &str) -> String {
        let known = self.transactions.iter().position(|known| known == id);
        let index = known.unwrap_or_else(|| {
            self.transactions.push(id.to_owned());
            self.transactions.len() - 1
        });
        format!("{{tx{}}}", index + 1)
    }
}

fn is_transaction(id: &str) -> bool {
    id.split_once(':').is_some_and(|parts| {
        <[&str; 2]>::from(parts).iter().all(|part| part.parse::<u64>().is_ok())
    })
}

/// Moments, where there are any.
fn times(members: &mut Map<String, Value>) {
    for name in ["ts_ms", "ts_us", "ts_ns", "timestamp"] {
        if members.get(name).is_some_and(Value::is_number) {
            members.insert(name.to_owned(), json!("{time}"));
        }
    }
}

/// The last commit (or null) and the event itself.
fn sequence(text: &str, lsn: Option<&str>) -> String {
    let parts: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let named = parts.iter().enumerate().map(|(place, part)| match part.as_str() {
        None => part.to_string(),
        Some(text) if place == 1 && lsn.is_none_or(|lsn| lsn == text) => "{lsn}".to_owned(),
        Some(_) if place == 0 => "{commit}".to_owned(),
        Some(_) => "another".to_owned(),
    });
    named.collect::<Vec<_>>().join(",")
}

/// A header's text.
pub(super) fn header(name: &str, text: &str) -> String {
    if name == "__debezium.context.runId" { "{run}".to_owned() } else { text.to_owned() }
}
