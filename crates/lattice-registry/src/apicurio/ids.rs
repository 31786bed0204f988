//! Contents by their ids and hashes.

use std::fmt::Write as _;

use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use sha2::{Digest as _, Sha256};

use super::{
    Answer, Registry,
    forms::{self, Json},
    problem::Problem,
    versions::Handling,
};
use crate::{RegisteredSchema, SchemaId, subjects::Subjects};

fn by_global<'s>(subjects: &'s Subjects, id: &str) -> Result<&'s RegisteredSchema, Problem> {
    let number: Option<i64> = id.parse().ok();
    subjects.all().find(|schema| Some(schema.global_id) == number).ok_or_else(|| {
        let title = format!("No version with global ID '{id}' found.");
        Problem::new(404, "VersionNotFoundException", title)
    })
}

fn by_content<'s>(subjects: &'s Subjects, id: &str) -> Result<&'s RegisteredSchema, Problem> {
    let number: Option<SchemaId> = id.parse().ok().map(SchemaId);
    subjects.all().find(|schema| Some(schema.id) == number).ok_or_else(|| Problem::no_content(id))
}

fn by_sha<'s>(subjects: &'s Subjects, hash: &str) -> Result<&'s RegisteredSchema, Problem> {
    let same = |schema: &&RegisteredSchema| {
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(schema.schema.as_bytes()) {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        hex.eq_ignore_ascii_case(hash)
    };
    subjects.all().find(same).ok_or_else(|| {
        let title = format!("No content with hash '{hash}' was found.");
        Problem::new(404, "ContentNotFoundException", title)
    })
}

/// The text, on demand with what it refers to.
fn text(
    subjects: &Subjects,
    schema: &RegisteredSchema,
    handling: &Handling,
) -> Result<Response, Problem> {
    if handling.dereference() {
        return Ok(forms::content(schema.schema_type, &subjects.text_alone(schema.id)?));
    }
    Ok(forms::content(schema.schema_type, &schema.schema))
}

pub(super) async fn by_global_id(
    State(registry): Registry,
    Path(id): Path<String>,
    Query(handling): Query<Handling>,
) -> Result<Response, Problem> {
    registry.read(|subjects| text(subjects, by_global(subjects, &id)?, &handling)).await
}

pub(super) async fn by_content_id(
    State(registry): Registry,
    Path(id): Path<String>,
    Query(handling): Query<Handling>,
) -> Result<Response, Problem> {
    registry.read(|subjects| text(subjects, by_content(subjects, &id)?, &handling)).await
}

pub(super) async fn by_hash(
    State(registry): Registry,
    Path(hash): Path<String>,
    Query(handling): Query<Handling>,
) -> Result<Response, Problem> {
    registry.read(|subjects| text(subjects, by_sha(subjects, &hash)?, &handling)).await
}

pub(super) async fn references_of_global_id(
    State(registry): Registry,
    Path(id): Path<String>,
) -> Answer {
    let list = |subjects: &Subjects| Ok(forms::references(&by_global(subjects, &id)?.references));
    registry.read(list).await.map(Json)
}

pub(super) async fn references_of_content_id(
    State(registry): Registry,
    Path(id): Path<String>,
) -> Answer {
    let list = |subjects: &Subjects| Ok(forms::references(&by_content(subjects, &id)?.references));
    registry.read(list).await.map(Json)
}

pub(super) async fn references_of_hash(
    State(registry): Registry,
    Path(hash): Path<String>,
) -> Answer {
    let list = |subjects: &Subjects| Ok(forms::references(&by_sha(subjects, &hash)?.references));
    registry.read(list).await.map(Json)
}
