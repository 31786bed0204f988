//! Levels and modes, of one subject or (without one in the path) of the whole registry.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Path, Query, State},
    routing::{MethodRouter, get},
};
use serde_json::{Map, Value, json};

use super::{Answer, Flags, Json, Registry, parse_body, plain};
use crate::{
    Code, EmbeddedRegistry, Level, RegistryError,
    subjects::{Change, Deleted, Mode, Settings, Subjects},
};

/// Members of a configuration that are kept and given back as they came.
const OTHERS: [&str; 10] = [
    "alias",
    "normalize",
    "validateFields",
    "validateRules",
    "compatibilityGroup",
    "compatibilityPolicy",
    "defaultMetadata",
    "overrideMetadata",
    "defaultRuleSet",
    "overrideRuleSet",
];

pub(super) fn level() -> MethodRouter<Arc<EmbeddedRegistry>> {
    get(get_level).put(put_level).delete(delete_level)
}

pub(super) fn mode() -> MethodRouter<Arc<EmbeddedRegistry>> {
    get(get_mode).put(put_mode).delete(delete_mode)
}

/// The name under which the settings are kept: empty for the whole registry.
fn name(path: Option<&Path<String>>) -> &str {
    path.map_or("", |Path(subject)| plain(subject))
}

/// Changes settings and gives what they were before.
async fn change(
    registry: &EmbeddedRegistry,
    subject: &str,
    change: impl FnOnce(&Subjects, &mut Settings) -> Result<(), RegistryError>,
) -> Result<Settings, RegistryError> {
    registry
        .write(|subjects| {
            let before = subjects.settings(subject);
            let mut settings = before.clone();
            change(subjects, &mut settings)?;
            Ok((before, vec![Change::Set { subject: subject.to_owned(), settings }]))
        })
        .await
}

fn config(level: Level, member: &str, others: &Map<String, Value>) -> Json {
    let mut body = Map::new();
    body.insert(member.to_owned(), level.as_str().into());
    let others = others.iter().filter(|(name, _)| OTHERS.contains(&name.as_str()));
    body.extend(others.map(|(name, value)| (name.clone(), value.clone())));
    Json(Value::Object(body))
}

async fn get_level(
    State(registry): Registry,
    path: Option<Path<String>>,
    Query(flags): Query<Flags>,
) -> Answer {
    let subject = name(path.as_ref());
    registry
        .read(|subjects| {
            let own = subjects.settings(subject);
            let global = subject.is_empty() || flags.default_to_global;
            match own.level.or_else(|| global.then(|| subjects.level(subject))) {
                Some(level) => Ok(config(level, "compatibilityLevel", &own.others)),
                None => Err(RegistryError::new(
                    Code::NoSubjectCompatibility,
                    format!(
                        "Subject '{subject}' does not have subject-level compatibility configured"
                    ),
                )),
            }
        })
        .await
}

async fn put_level(State(registry): Registry, path: Option<Path<String>>, body: Bytes) -> Answer {
    let subject = name(path.as_ref());
    let body: Map<String, Value> = parse_body(&body, Code::InvalidLevel)?;
    let others: Map<String, Value> = body
        .iter()
        .filter(|(name, value)| OTHERS.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let level = match body.get("compatibility").filter(|given| !given.is_null()) {
        Some(given) => Some(level_of(given)?),
        None if others.is_empty() => {
            let message = "the body has no \"compatibility\"";
            return Err(RegistryError::new(Code::InvalidLevel, message));
        }
        None => None,
    };
    change(&registry, subject, |subjects, settings| {
        subjects.writable(subject)?;
        settings.level = level.or(settings.level);
        settings.others.extend(others);
        Ok(())
    })
    .await?;
    let mut echo: Map<String, Value> = body;
    echo.retain(|name, value| OTHERS.contains(&name.as_str()) && !value.is_null());
    let Some(level) = level else { return Ok(Json(Value::Object(echo))) };
    Ok(config(level, "compatibility", &echo))
}

fn level_of(given: &Value) -> Result<Level, RegistryError> {
    given.as_str().and_then(Level::from_word).ok_or_else(|| {
        let message = format!(
            "Invalid compatibility level {given}. Valid values are none, backward, forward, full, \
             backward_transitive, forward_transitive, and full_transitive"
        );
        RegistryError::new(Code::InvalidLevel, message)
    })
}

async fn delete_level(State(registry): Registry, path: Option<Path<String>>) -> Answer {
    let subject = name(path.as_ref());
    let before = change(&registry, subject, |subjects, settings| {
        subjects.writable(subject)?;
        settings.level = None;
        settings.others.clear();
        Ok(())
    })
    .await?;
    match before.level {
        Some(level) => Ok(config(level, "compatibilityLevel", &before.others)),
        None if subject.is_empty() => {
            Ok(config(Level::Backward, "compatibilityLevel", &before.others))
        }
        None => Err(RegistryError::subject_not_found(subject)),
    }
}

async fn get_mode(
    State(registry): Registry,
    path: Option<Path<String>>,
    Query(flags): Query<Flags>,
) -> Answer {
    let subject = name(path.as_ref());
    registry
        .read(|subjects| {
            let own = subjects.settings(subject).mode;
            let global = subject.is_empty() || flags.default_to_global;
            match own.or_else(|| global.then(|| subjects.mode(subject))) {
                Some(mode) => Ok(Json(json!({ "mode": mode.as_str() }))),
                None => Err(RegistryError::new(
                    Code::NoSubjectMode,
                    format!("Subject '{subject}' does not have subject-level mode configured"),
                )),
            }
        })
        .await
}

async fn put_mode(
    State(registry): Registry,
    path: Option<Path<String>>,
    Query(flags): Query<Flags>,
    body: Bytes,
) -> Answer {
    let subject = name(path.as_ref());
    let body: Map<String, Value> = parse_body(&body, Code::InvalidMode)?;
    let given = body.get("mode").and_then(Value::as_str).unwrap_or_default();
    let Some(mode) = Mode::from_word(given) else {
        let message = format!(
            "Invalid mode '{given}'. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, \
             IMPORT, FORWARD"
        );
        return Err(RegistryError::new(Code::InvalidMode, message));
    };
    change(&registry, subject, |subjects, settings| {
        // Ids that clients already hold must not be given to other schemas.
        if mode == Mode::Import && !flags.force && has_schemas(subjects, subject) {
            let message = "Cannot import since found existing subjects; set force=true to do so";
            return Err(RegistryError::new(Code::NotPermitted, message));
        }
        settings.mode = Some(mode);
        Ok(())
    })
    .await?;
    Ok(Json(json!({ "mode": mode.as_str() })))
}

fn has_schemas(subjects: &Subjects, subject: &str) -> bool {
    if subject.is_empty() {
        return !subjects.names(Deleted::Hidden).is_empty();
    }
    !subjects.versions(subject, Deleted::Hidden).is_empty()
}

async fn delete_mode(
    State(registry): Registry,
    path: Option<Path<String>>,
    Query(flags): Query<Flags>,
) -> Answer {
    let subject = name(path.as_ref());
    let before = registry
        .write(|subjects| {
            let before = subjects.settings(subject);
            let below = subjects.set_names().filter(|_| subject.is_empty() && flags.recursive);
            let mut names: Vec<&str> = below.collect();
            if !names.contains(&subject) {
                names.push(subject);
            }
            let changes = names
                .into_iter()
                .map(|name| Change::Set {
                    subject: name.to_owned(),
                    settings: Settings { mode: None, ..subjects.settings(name) },
                })
                .collect();
            Ok((before, changes))
        })
        .await?;
    match before.mode {
        Some(mode) => Ok(Json(json!({ "mode": mode.as_str() }))),
        None if subject.is_empty() => Ok(Json(json!({ "mode": Mode::ReadWrite.as_str() }))),
        None => Err(RegistryError::subject_not_found(subject)),
    }
}
