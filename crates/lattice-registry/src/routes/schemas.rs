//! Schemas by their ids, and all of them.

use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use serde_json::{Value, json};

use super::{Answer, Flags, Json, Registry, details, plain, schema_json, text};
use crate::{
    Code, RegistryError, SchemaId,
    parsed::TYPES,
    subjects::{Digest, Subjects, guid, guid_text},
};

pub(super) async fn types() -> Json {
    Json(json!(TYPES))
}

pub(super) async fn list(State(registry): Registry, Query(flags): Query<Flags>) -> Json {
    let list = registry
        .read(|subjects| {
            let mut list = Vec::new();
            for name in subjects.names(flags.shown()) {
                if !name.starts_with(flags.prefix()) {
                    continue;
                }
                let versions = subjects.versions(&name, flags.shown());
                let skip = if flags.latest_only { versions.len().saturating_sub(1) } else { 0 };
                list.extend(versions.into_iter().skip(skip).map(schema_json));
            }
            list
        })
        .await;
    Json(flags.page(list).into())
}

fn parse_id(text: &str) -> Result<SchemaId, RegistryError> {
    text.parse()
        .map(SchemaId)
        .map_err(|_| RegistryError::new(Code::SchemaNotFound, format!("Schema {text} not found")))
}

fn schema(subjects: &Subjects, id: SchemaId, flags: &Flags) -> Result<Value, RegistryError> {
    let mut body = json!({ "schema": *subjects.text(id)? });
    let places = subjects.places(id, true);
    let wanted = flags.subject.as_deref().map(plain);
    let place = places.iter().find(|place| wanted.is_some_and(|wanted| *place.subject == *wanted));
    if let Some(place) = place.or(places.first()) {
        details(&mut body, place);
    }
    if flags.fetch_max_id {
        body["maxId"] = subjects.max_id().into();
    }
    Ok(body)
}

pub(super) async fn by_id(
    State(registry): Registry,
    Path(id): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let id = parse_id(&id)?;
    registry.read(|subjects| schema(subjects, id, &flags).map(Json)).await
}

pub(super) async fn text_by_id(
    State(registry): Registry,
    Path(id): Path<String>,
) -> Result<Response, RegistryError> {
    let id = parse_id(&id)?;
    Ok(text(&registry.read(|subjects| subjects.text(id)).await?))
}

pub(super) async fn subjects_of_id(
    State(registry): Registry,
    Path(id): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let id = parse_id(&id)?;
    registry
        .read(|subjects| {
            subjects.text(id)?;
            let places = subjects.places(id, flags.deleted);
            let mut names: Vec<_> = places.iter().map(|place| place.subject.to_string()).collect();
            names.dedup();
            Ok(Json(flags.page(names).into()))
        })
        .await
}

pub(super) async fn versions_of_id(
    State(registry): Registry,
    Path(id): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let id = parse_id(&id)?;
    registry
        .read(|subjects| {
            subjects.text(id)?;
            let places = subjects.places(id, flags.deleted);
            let list: Vec<_> = places
                .iter()
                .map(|place| json!({ "subject": *place.subject, "version": place.version }))
                .collect();
            Ok(Json(flags.page(list).into()))
        })
        .await
}

/// `00112233-4455-…`, with or without its hyphens.
fn parse_guid(text: &str) -> Result<Digest, RegistryError> {
    let hex: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let mut guid = Digest::default();
    let good = hex.len() == 32
        && guid.iter_mut().zip(hex.chunks(2)).all(|(byte, pair)| {
            let digit = std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'));
            digit
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                .map(|value| *byte = value)
                .is_some()
        });
    let missing = || RegistryError::new(Code::SchemaNotFound, format!("Schema {text} not found"));
    if good { Ok(guid) } else { Err(missing()) }
}

fn id_of_guid(subjects: &Subjects, text: &str) -> Result<SchemaId, RegistryError> {
    subjects
        .id_of_guid(parse_guid(text)?)
        .ok_or_else(|| RegistryError::new(Code::SchemaNotFound, format!("Schema {text} not found")))
}

pub(super) async fn by_guid(
    State(registry): Registry,
    Path(given): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    registry
        .read(|subjects| {
            let id = id_of_guid(subjects, &given)?;
            let mut body = schema(subjects, id, &flags)?;
            if let Some(place) = subjects.places(id, true).first() {
                body["guid"] = guid_text(guid(place)).into();
            }
            Ok(Json(body))
        })
        .await
}

pub(super) async fn ids_of_guid(State(registry): Registry, Path(given): Path<String>) -> Answer {
    registry
        .read(|subjects| {
            let id = id_of_guid(subjects, &given)?;
            Ok(Json(json!([{ "context": ".", "id": id.0 }])))
        })
        .await
}
