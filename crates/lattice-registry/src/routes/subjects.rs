//! Subjects and their versions: listed, looked up, registered, deleted.

use axum::{
    body::Bytes,
    extract::{Path, Query, State},
    response::Response,
};
use serde_json::json;

use super::{Answer, Flags, Json, Registry, new_schema, plain, schema_json, text};
use crate::{
    Code, RegistryError,
    parsed::kept_text,
    subjects::{Change, Deleted, Settings, Which},
};

pub(super) async fn list(State(registry): Registry, Query(flags): Query<Flags>) -> Json {
    let names = registry.read(|subjects| subjects.names(flags.shown())).await;
    let names = names
        .into_iter()
        .filter(|name| name.starts_with(flags.prefix()))
        .map(|name| name.to_string())
        .collect();
    Json(flags.page(names).into())
}

pub(super) async fn versions(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let subject = plain(&subject);
    let shown = if flags.deleted_as_negative { Deleted::Shown } else { flags.shown() };
    let numbers: Vec<i32> = registry
        .read(|subjects| {
            let versions = subjects.versions(subject, shown).into_iter();
            versions
                .map(|one| {
                    if one.deleted && flags.deleted_as_negative {
                        -one.version
                    } else {
                        one.version
                    }
                })
                .collect()
        })
        .await;
    if numbers.is_empty() {
        return Err(RegistryError::subject_not_found(subject));
    }
    Ok(Json(flags.page(numbers).into()))
}

pub(super) async fn version(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
    Query(flags): Query<Flags>,
) -> Answer {
    let which = Which::parse(&version)?;
    registry
        .read(|subjects| {
            let found = subjects.version(plain(&subject), which, flags.shown())?;
            Ok(Json(schema_json(found)))
        })
        .await
}

pub(super) async fn text_of_version(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
    Query(flags): Query<Flags>,
) -> Result<Response, RegistryError> {
    let which = Which::parse(&version)?;
    registry
        .read(|subjects| {
            let found = subjects.version(plain(&subject), which, flags.shown())?;
            Ok(text(&found.schema))
        })
        .await
}

pub(super) async fn referenced_by(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
    Query(flags): Query<Flags>,
) -> Answer {
    let (subject, which) = (plain(&subject), Which::parse(&version)?);
    registry
        .read(|subjects| {
            let number = subjects.version(subject, which, Deleted::Shown)?.version;
            let ids = subjects.referenced_by(subject, number, flags.deleted);
            let ids: Vec<i32> = ids.iter().map(|id| id.0).collect();
            Ok(Json(flags.page(ids).into()))
        })
        .await
}

/// The latest version whose metadata has all of the given properties: `?key=a&value=1&key=b&value=2`.
pub(super) async fn by_metadata(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Answer {
    let subject = plain(&subject);
    let all = |wanted: &str| {
        let pairs = pairs.iter().filter(move |(name, _)| name == wanted);
        pairs.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
    };
    let (keys, values) = (all("key"), all("value"));
    let deleted = Deleted::shown(all("deleted").contains(&"true"));
    registry
        .read(|subjects| {
            let versions = subjects.versions(subject, deleted);
            if versions.is_empty() {
                return Err(RegistryError::subject_not_found(subject));
            }
            let found = versions.into_iter().rev().find(|version| {
                let properties =
                    version.extra.metadata.as_ref().and_then(|metadata| metadata.get("properties"));
                keys.iter().zip(&values).all(|(key, value)| {
                    properties.and_then(|all| all.get(*key)).is_some_and(|found| found == *value)
                })
            });
            let missing = || RegistryError::new(Code::SchemaNotFound, "Schema not found");
            found.map(|version| Json(schema_json(version))).ok_or_else(missing)
        })
        .await
}

pub(super) async fn register(
    State(registry): Registry,
    Path(subject): Path<String>,
    body: Bytes,
) -> Answer {
    let registered = registry.register_version(plain(&subject), new_schema(&body)?).await?;
    Ok(Json(json!({ "id": registered.id.0 })))
}

pub(super) async fn lookup(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
    body: Bytes,
) -> Answer {
    let (subject, schema) = (plain(&subject), new_schema(&body));
    registry
        .read(|subjects| {
            if subjects.versions(subject, flags.shown()).is_empty() {
                return Err(RegistryError::subject_not_found(subject));
            }
            let mut schema = schema?;
            subjects.parse(&schema)?;
            schema.schema = kept_text(schema.schema_type, &schema.schema);
            match subjects.lookup(subject, &schema, flags.shown()) {
                Some(found) => Ok(Json(schema_json(found))),
                None => Err(RegistryError::new(Code::SchemaNotFound, "Schema not found")),
            }
        })
        .await
}

pub(super) async fn delete(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let subject = plain(&subject);
    let numbers = registry
        .write(|subjects| {
            let mut changes = subjects.delete(subject, None, flags.permanent)?;
            let numbers: Vec<i32> = changes.iter().map(changed_version).collect();
            // A deleted subject starts anew with the global settings.
            let settings = Settings::default();
            changes.push(Change::Set { subject: subject.to_owned(), settings });
            Ok((numbers, changes))
        })
        .await?;
    Ok(Json(numbers.into()))
}

pub(super) async fn delete_version(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
    Query(flags): Query<Flags>,
) -> Answer {
    let which = Which::parse(&version)?;
    let number = registry
        .write(|subjects| {
            let changes = subjects.delete(plain(&subject), Some(which), flags.permanent)?;
            Ok((changes.first().map_or(0, changed_version), changes))
        })
        .await?;
    Ok(Json(number.into()))
}

fn changed_version(change: &Change) -> i32 {
    match change {
        Change::Put(schema) => schema.version,
        Change::Remove { version, .. } => *version,
        Change::Set { .. } => 0,
    }
}
