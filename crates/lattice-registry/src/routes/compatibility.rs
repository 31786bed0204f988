//! Whether a schema could be registered, without registering it.

use axum::{
    body::Bytes,
    extract::{Path, Query, State},
};
use serde_json::json;

use super::{Answer, Flags, Json, Registry, new_schema, plain};
use crate::subjects::{Deleted, Which};

pub(super) async fn with_one(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
    Query(flags): Query<Flags>,
    body: Bytes,
) -> Answer {
    let (which, schema) = (Which::parse(&version)?, new_schema(&body)?);
    let subject = plain(&subject);
    registry
        .read(|subjects| {
            let parsed = subjects.parse(&schema)?;
            let known = subjects.versions(subject, Deleted::Hidden);
            if which == Which::Latest && known.is_empty() {
                return Ok(verdict(&[], flags.verbose));
            }
            let found = subjects.version(subject, which, Deleted::Hidden)?;
            let findings = subjects.compare(subjects.level(subject), &parsed, &[found])?;
            Ok(verdict(&findings, flags.verbose))
        })
        .await
}

pub(super) async fn with_all(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
    body: Bytes,
) -> Answer {
    let (subject, schema) = (plain(&subject), new_schema(&body)?);
    registry
        .read(|subjects| {
            let parsed = subjects.parse(&schema)?;
            let versions = subjects.versions(subject, Deleted::Hidden);
            let findings = subjects.compare(subjects.level(subject), &parsed, &versions)?;
            Ok(verdict(&findings, flags.verbose))
        })
        .await
}

fn verdict(findings: &[String], verbose: bool) -> Json {
    let mut body = json!({ "is_compatible": findings.is_empty() });
    if verbose {
        body["messages"] = findings.into();
    }
    Json(body)
}
