//! What artifacts, versions and references look like in answers and requests.

use axum::{
    body::Bytes,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use lattice_core::calendar;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::problem::Problem;
use crate::{NewSchema, Reference, RegisteredSchema, subjects::Settings};

pub(super) const DEFAULT: &str = "default";

/// A JSON answer.
pub(super) struct Json(pub(super) Value);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "application/json")], self.0.to_string()).into_response()
    }
}

/// Group and artifact of a subject.
pub(super) fn place(subject: &str) -> (&str, &str) {
    subject.split_once(':').unwrap_or((DEFAULT, subject))
}

/// The subject of an artifact.
pub(super) fn subject_of(group: Option<&str>, artifact: &str) -> String {
    match group {
        None | Some("" | DEFAULT) => artifact.to_owned(),
        Some(group) => format!("{group}:{artifact}"),
    }
}

/// The text itself.
pub(super) fn content(kind: &str, text: &str) -> Response {
    let content_type =
        if kind == "PROTOBUF" { "application/x-protobuf" } else { "application/json" };
    ([(CONTENT_TYPE, content_type)], text.to_owned()).into_response()
}

/// What artifacts, versions and groups have in common: who and when.
fn stamped(created_ms: i64, modified_ms: i64) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("owner".to_owned(), "".into());
    body.insert("createdOn".to_owned(), time(created_ms).into());
    body.insert("modifiedBy".to_owned(), "".into());
    body.insert("modifiedOn".to_owned(), time(modified_ms).into());
    body
}

/// Members that were given and are given back: `name`, `description`, `labels`.
fn described(body: &mut Map<String, Value>, settings: &Settings) {
    for member in ["name", "description", "labels"] {
        if let Some(value) = settings.apicurio.get(member) {
            body.insert(member.to_owned(), value.clone());
        }
    }
}

fn named(body: &mut Map<String, Value>, subject: &str) {
    let (group, artifact) = place(subject);
    if group != DEFAULT {
        body.insert("groupId".to_owned(), group.into());
    }
    body.insert("artifactId".to_owned(), artifact.into());
}

/// An artifact, told by its first and last version.
pub(super) fn artifact(
    first: &RegisteredSchema,
    last: &RegisteredSchema,
    settings: &Settings,
) -> Value {
    let mut body = stamped(first.created_ms, last.created_ms);
    body.insert("artifactType".to_owned(), first.schema_type.into());
    described(&mut body, settings);
    named(&mut body, &first.subject);
    body.into()
}

/// A version.
pub(super) fn version(schema: &RegisteredSchema) -> Value {
    let mut body = stamped(schema.created_ms, schema.created_ms);
    body.insert("version".to_owned(), schema.version.to_string().into());
    body.insert("artifactType".to_owned(), schema.schema_type.into());
    body.insert("globalId".to_owned(), schema.global_id.into());
    body.insert("contentId".to_owned(), schema.id.0.into());
    body.insert("state".to_owned(), state(schema).into());
    named(&mut body, &schema.subject);
    body.into()
}

pub(super) fn state(schema: &RegisteredSchema) -> &'static str {
    if schema.deleted { "DISABLED" } else { "ENABLED" }
}

/// A group.
pub(super) fn group(name: &str, settings: &Settings) -> Value {
    let created = settings.apicurio.get("createdOn").and_then(Value::as_i64).unwrap_or_default();
    let mut body = stamped(created, created);
    body.insert("groupId".to_owned(), name.into());
    described(&mut body, settings);
    body.into()
}

/// The branch of all versions, told by the first and the last.
pub(super) fn latest_branch(
    first: &RegisteredSchema,
    last: &RegisteredSchema,
) -> Map<String, Value> {
    let mut body = stamped(first.created_ms, last.created_ms);
    body.insert("branchId".to_owned(), "latest".into());
    body.insert("systemDefined".to_owned(), true.into());
    body
}

/// Adds group and artifact.
pub(super) fn placed(mut body: Map<String, Value>, subject: &str) -> Value {
    named(&mut body, subject);
    Value::Object(body)
}

/// References as an answer has them.
pub(super) fn references(list: &[Reference]) -> Value {
    list.iter()
        .map(|one| {
            let mut body = Map::new();
            named(&mut body, &one.subject);
            body.insert("version".to_owned(), one.version.to_string().into());
            body.insert("name".to_owned(), one.name.as_str().into());
            Value::Object(body)
        })
        .collect()
}

/// Milliseconds since 1970 as `2026-11-30T22:45:22Z`.
fn time(ms: i64) -> String {
    let seconds = ms.div_euclid(1000);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = calendar::civil(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A version to be made, in a request.
#[derive(Deserialize)]
pub(super) struct VersionBody {
    version: Option<String>,
    content: Option<ContentBody>,
}

#[derive(Deserialize)]
struct ContentBody {
    content: Option<String>,
    #[serde(default)]
    references: Option<Vec<ReferenceBody>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceBody {
    name: String,
    group_id: Option<String>,
    artifact_id: String,
    version: Option<String>,
}

impl VersionBody {
    /// The schema, and which version it is to be, if that was said.
    pub(super) fn schema(self, kind: &'static str) -> Result<(NewSchema, Option<String>), Problem> {
        let content = self.content.ok_or_else(|| Problem::missing("body.content"))?;
        let schema = content.content.filter(|text| !text.trim().is_empty());
        let schema = schema.ok_or_else(|| Problem::missing("body.content.content"))?;
        let mut references = Vec::new();
        for body in content.references.unwrap_or_default() {
            let version = body.version.as_deref().unwrap_or("1");
            references.push(Reference {
                name: body.name,
                subject: subject_of(body.group_id.as_deref(), &body.artifact_id),
                version: version.parse().map_err(|_| not_a_number(version))?,
            });
        }
        Ok((
            NewSchema { schema_type: kind, schema, references, ..NewSchema::default() },
            self.version,
        ))
    }
}

pub(super) fn not_a_number(version: &str) -> Problem {
    Problem::bad_request(format!("'{version}' is no version: versions are numbers from 1"))
}

/// Reads a request's body.
pub(super) fn body<T: for<'de> Deserialize<'de>>(body: &Bytes) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        Problem::bad_request(format!("the request's body cannot be read as JSON: {error}"))
    })
}

/// An artifact's type as we know it.
pub(super) fn kind(word: &str) -> Result<&'static str, Problem> {
    ["AVRO", "JSON", "PROTOBUF"].into_iter().find(|kind| *kind == word).ok_or_else(|| {
        Problem::bad_request(format!(
            "No such artifact type: {word} (this registry keeps AVRO, JSON and PROTOBUF)"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_the_calendar_has_them() {
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
        assert_eq!(time(951_782_399_999), "2000-02-28T23:59:59Z");
        assert_eq!(time(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(time(1_796_078_722_000), "2026-11-30T22:45:22Z");
    }

    #[test]
    fn a_subject_is_an_artifact_and_back() {
        assert_eq!(subject_of(Some("default"), "a-value"), "a-value");
        assert_eq!(subject_of(Some("g"), "a"), "g:a");
        assert_eq!(place("g:a"), ("g", "a"));
        assert_eq!(place("a"), ("default", "a"));
    }
}
