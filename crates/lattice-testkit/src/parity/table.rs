//! The table, the recording and the list of differences, as they lie in the project.

use std::{
    collections::BTreeMap,
    io,
    time::{Duration, Instant},
};

use serde_json::{Map, Value};

use super::http::Answer;

/// How long an awaited state may take: a task of the real one starts in seconds.
const PATIENCE: Duration = Duration::from_secs(40);

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Unique in its table.
    pub name: String,
    /// The method.
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// Headers besides `Host`, `Connection` and `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// The body, as sent.
    pub body: Option<String>,
    /// JSON pointers whose values must be equal, not only of one shape.
    pub equal: Vec<String>,
    /// Whether definitions of keys are compared one by one.
    pub definitions: bool,
    /// Sent to clean up; what is answered is of no interest.
    pub ignored: bool,
    /// Asked again until these pointers have these values.
    until: Map<String, Value>,
}

/// All requests, in order.
#[derive(Debug)]
pub struct Table(pub Vec<Request>);

/// What the real program answered, by the request's name.
#[derive(Debug, Default)]
pub struct Recording(pub BTreeMap<String, Answer>);

/// Differences that are meant.
#[derive(Debug)]
pub struct Differences(pub Vec<Difference>);

/// A difference that is meant.
#[derive(Debug)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// Why it is right.
    pub reason: String,
    /// The requests that show it.
    pub requests: Vec<String>,
    /// Texts of differences that are it, in any request.
    pub anywhere: Vec<String>,
}

impl Table {
    /// Reads a table for one `side`: `real` or `ours`. `{{name}}` in its text stands for a variable: of those given
    /// (where the services are), of the table's `both`, or of the side's own. A variable may be an object; an object
    /// with the only key `+` is the union of the objects in its list.
    ///
    /// # Panics
    /// When the text is no table: it is part of the project.
    #[must_use]
    pub fn read(text: &str, side: &str, given: &[(&str, &str)]) -> Self {
        let mut text = text.to_owned();
        for (name, value) in given {
            text = text.replace(&format!("{{{{{name}}}}}"), value);
        }
        let table: Value = serde_json::from_str(&text).expect("a table of requests");
        let rows = table["requests"].as_array().expect("a list of requests");
        let variables = [&table["both"], &table[side]].map(|part| part.as_object().cloned());
        let variables: Vec<_> = variables.into_iter().flatten().flatten().collect();
        let requests: Vec<Request> =
            rows.iter().map(|row| request(&with_variables(row, &variables))).collect();
        let mut names = std::collections::BTreeSet::new();
        for request in &requests {
            assert!(names.insert(&request.name), "two requests are named {}", request.name);
        }
        Self(requests)
    }
}

fn with_variables(row: &Value, variables: &[(String, Value)]) -> Value {
    let mut text = row.to_string();
    for (name, value) in variables {
        let place = format!("{{{{{name}}}}}");
        text = match value {
            Value::String(value) => text.replace(&place, value),
            value => text.replace(&format!("\"{place}\""), &value.to_string()),
        };
    }
    serde_json::from_str(&text).expect("variables leave a request JSON")
}

fn request(row: &Value) -> Request {
    let (method, target) =
        row["call"].as_str().and_then(|call| call.split_once(' ')).expect("\"call\": \"GET /…\"");
    let body = match (&row["json"], &row["raw"]) {
        (_, Value::String(raw)) => Some(raw.clone()),
        (Value::Null, _) if row.get("json").is_none() => None,
        (json, _) => Some(merged(json).to_string()),
    };
    let mut headers: Vec<(String, String)> = Vec::new();
    match row["type"].as_str() {
        Some("") => {}
        Some(kind) => headers.push(("Content-Type".to_owned(), kind.to_owned())),
        None if body.is_some() => {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        None => {}
    }
    if let Some(accept) = row["accept"].as_str() {
        headers.push(("Accept".to_owned(), accept.to_owned()));
    }
    let equal = row["equal"].as_array().cloned().unwrap_or_default();
    let name = row["name"].as_str().or(row["call"].as_str()).unwrap_or_default();
    Request {
        name: name.to_owned(),
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body,
        equal: equal.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        definitions: row["definitions"] == true,
        ignored: row["ignored"] == true,
        until: row["until"].as_object().cloned().unwrap_or_default(),
    }
}

fn merged(value: &Value) -> Value {
    match value {
        Value::Object(map) if map.len() == 1 && map.contains_key("+") => {
            let mut union = Map::new();
            for part in map["+"].as_array().map(Vec::as_slice).unwrap_or_default() {
                union.extend(merged(part).as_object().cloned().unwrap_or_default());
            }
            Value::Object(union)
        }
        Value::Object(map) => {
            Value::Object(map.iter().map(|(name, value)| (name.clone(), merged(value))).collect())
        }
        Value::Array(items) => items.iter().map(merged).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

impl Request {
    /// Sends it, again until the awaited state is there.
    ///
    /// Errors: of the connection; `TimedOut` when the state does not come.
    pub fn send(&self, address: &str) -> io::Result<Answer> {
        let start = Instant::now();
        loop {
            let answer = Answer::ask(address, self)?;
            let reached = |(pointer, wanted): (&String, &Value)| match pointer.as_str() {
                "status" => *wanted == answer.status,
                pointer => answer.body.pointer(pointer) == Some(wanted),
            };
            if self.until.iter().all(reached) {
                return Ok(answer);
            }
            if start.elapsed() > PATIENCE {
                let awaited = Value::Object(self.until.clone());
                let text = format!("waited in vain for {awaited}: {}", answer.body);
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Panics
    /// When the text is none.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let map: Map<String, Value> = serde_json::from_str(text).expect("a recording");
        Self(map.iter().map(|(name, answer)| (name.clone(), Answer::from_json(answer))).collect())
    }

    /// One answer a line, in the table's order.
    #[must_use]
    pub fn write(answers: &[(&Request, Answer)]) -> String {
        let line = |(request, answer): &(&Request, Answer)| {
            format!("{}: {}", Value::String(request.name.clone()), answer.to_json(request))
        };
        let lines: Vec<String> = answers.iter().map(line).collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }
}

impl Differences {
    /// Reads a list: `[{"name": …, "reason": …, "requests": […], "anywhere": […]}]`.
    ///
    /// # Panics
    /// When the text is none.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let rows: Vec<Value> = serde_json::from_str(text).expect("a list of differences");
        let texts = |value: &Value| {
            let items = value.as_array().cloned().unwrap_or_default();
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let difference = |row: &Value| Difference {
            name: text(&row["name"]),
            reason: text(&row["reason"]),
            requests: texts(&row["requests"]),
            anywhere: texts(&row["anywhere"]),
        };
        Self(rows.iter().map(difference).collect())
    }

    /// Which difference a request shows, if any.
    #[must_use]
    pub fn of(&self, request: &str) -> Option<&str> {
        let shows =
            |difference: &&Difference| difference.requests.iter().any(|name| name == request);
        self.0.iter().find(shows).map(|difference| difference.name.as_str())
    }

    /// Whether a text tells a difference that is meant in any request.
    #[must_use]
    pub fn is_anywhere(&self, text: &str) -> bool {
        self.0.iter().flat_map(|difference| &difference.anywhere).any(|known| known == text)
    }
}
