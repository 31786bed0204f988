//! Finding artifacts and versions by what they are and what is in them.

use axum::{
    body::Bytes,
    extract::{Query, State},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer, Registry,
    artifacts::of_subject,
    forms::{self, Json, place},
    problem::Problem,
};
use crate::{
    RegisteredSchema,
    parsed::{comparable, kept_text},
    subjects::Subjects,
};

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Wanted {
    group_id: Option<String>,
    artifact_id: Option<String>,
    artifact_type: Option<String>,
    name: Option<String>,
    version: Option<String>,
    state: Option<String>,
    global_id: Option<i64>,
    content_id: Option<i32>,
    canonical: bool,
    offset: usize,
    limit: usize,
    order: Option<String>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            group_id: None,
            artifact_id: None,
            artifact_type: None,
            name: None,
            version: None,
            state: None,
            global_id: None,
            content_id: None,
            canonical: false,
            offset: 0,
            limit: 20,
            order: None,
        }
    }
}

impl Wanted {
    fn takes(&self, subjects: &Subjects, schema: &RegisteredSchema) -> bool {
        let (group, artifact) = place(&schema.subject);
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        let called = |wanted: &str| {
            let given = subjects.settings(&schema.subject).apicurio.get("name").cloned();
            let given = given.as_ref().and_then(Value::as_str).unwrap_or(artifact).to_owned();
            given.contains(wanted.trim_matches('*'))
        };
        is(&self.group_id, group)
            && self.artifact_id.as_deref().is_none_or(|wanted| like(wanted, artifact))
            && is(&self.artifact_type, schema.schema_type)
            && is(&self.version, &schema.version.to_string())
            && is(&self.state, forms::state(schema))
            && self.global_id.is_none_or(|id| id == schema.global_id)
            && self.content_id.is_none_or(|id| id == schema.id.0)
            && self.name.as_deref().is_none_or(called)
    }

    /// The versions that fit, by global id, the newest first on demand.
    fn find<'s>(
        &self,
        subjects: &'s Subjects,
        content: impl Fn(&RegisteredSchema) -> bool,
    ) -> Vec<&'s RegisteredSchema> {
        let mut found: Vec<_> = subjects
            .all()
            .filter(|schema| self.takes(subjects, schema) && content(schema))
            .collect();
        found.sort_by_key(|schema| schema.global_id);
        if self.order.as_deref() == Some("desc") {
            found.reverse();
        }
        found
    }

    fn versions(&self, found: Vec<&RegisteredSchema>) -> Json {
        let count = found.len();
        let page = found.into_iter().skip(self.offset).take(self.limit);
        let versions: Vec<Value> = page.map(forms::version).collect();
        Json(json!({ "count": count, "versions": versions }))
    }

    fn artifacts(&self, subjects: &Subjects, found: &[&RegisteredSchema]) -> Json {
        let mut names: Vec<&str> = found.iter().map(|schema| &*schema.subject).collect();
        names.sort_unstable();
        names.dedup();
        let count = names.len();
        if self.order.as_deref() == Some("desc") {
            names.reverse();
        }
        let page = names.into_iter().skip(self.offset).take(self.limit);
        let artifacts: Vec<Value> = page.filter_map(|name| of_subject(subjects, name)).collect();
        Json(json!({ "artifacts": artifacts, "count": count }))
    }

    /// Whether a schema has the content that was sent.
    fn same<'t>(
        &self,
        text: &'t str,
    ) -> Result<impl Fn(&RegisteredSchema) -> bool + use<'t>, Problem> {
        if text.trim().is_empty() {
            return Err(Problem::missing("body"));
        }
        let kind = self.artifact_type.as_deref().unwrap_or("AVRO");
        let (kept, form) = (kept_text(kind, text), comparable(kind, text));
        let canonical = self.canonical;
        Ok(move |schema: &RegisteredSchema| {
            *schema.schema == *kept
                || (canonical && comparable(schema.schema_type, &schema.schema) == form)
        })
    }
}

/// `orders*` takes everything that begins so.
fn like(wanted: &str, found: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(begin) => found.starts_with(begin),
        None => wanted == found,
    }
}

fn utf8(body: &Bytes) -> Result<&str, Problem> {
    std::str::from_utf8(body).map_err(|_| Problem::bad_request("the content is not UTF-8"))
}

pub(super) async fn artifacts(State(registry): Registry, Query(wanted): Query<Wanted>) -> Json {
    registry.read(|subjects| wanted.artifacts(subjects, &wanted.find(subjects, |_| true))).await
}

pub(super) async fn artifacts_by_content(
    State(registry): Registry,
    Query(wanted): Query<Wanted>,
    request: Bytes,
) -> Answer {
    let same = wanted.same(utf8(&request)?)?;
    Ok(registry.read(|subjects| wanted.artifacts(subjects, &wanted.find(subjects, same))).await)
}

pub(super) async fn versions(State(registry): Registry, Query(wanted): Query<Wanted>) -> Json {
    registry.read(|subjects| wanted.versions(wanted.find(subjects, |_| true))).await
}

pub(super) async fn versions_by_content(
    State(registry): Registry,
    Query(wanted): Query<Wanted>,
    request: Bytes,
) -> Answer {
    let same = wanted.same(utf8(&request)?)?;
    Ok(registry.read(|subjects| wanted.versions(wanted.find(subjects, same))).await)
}
