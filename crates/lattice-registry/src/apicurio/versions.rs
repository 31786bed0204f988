//! Versions of an artifact.

use axum::{
    body::Bytes,
    extract::{Path, Query, State},
    http::StatusCode,
    response::Response,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer, ArtifactPath, Page, Registry, VersionPath,
    forms::{self, Json, VersionBody, body, not_a_number},
    problem::Problem,
};
use crate::{
    EmbeddedRegistry, NewSchema, RegisteredSchema,
    embedded::now_ms,
    subjects::{Change, Deleted, Registration, Subjects},
};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Creation {
    dry_run: bool,
}

#[derive(Deserialize)]
struct StateBody {
    state: String,
}

/// The version that an expression means: a number, or the latest that is enabled.
fn find<'s>(
    subjects: &'s Subjects,
    subject: &str,
    expression: &str,
) -> Result<&'s RegisteredSchema, Problem> {
    let versions = subjects.versions(subject, Deleted::Shown);
    if versions.is_empty() {
        return Err(Problem::no_artifact(subject));
    }
    let found = if matches!(expression, "branch=latest" | "latest") {
        versions.iter().rev().find(|version| !version.deleted)
    } else {
        versions.iter().find(|version| version.version.to_string() == expression)
    };
    found.copied().ok_or_else(|| Problem::no_version(subject, expression))
}

/// Registers a version, or says what it would be.
pub(super) async fn register(
    registry: &EmbeddedRegistry,
    subject: &str,
    schema: NewSchema,
    version: Option<String>,
    dry_run: bool,
) -> Result<RegisteredSchema, Problem> {
    let wanted = match version {
        None => None,
        Some(text) => match text.parse::<i32>() {
            Ok(number) if number > 0 => Some(number),
            Ok(_) | Err(_) => return Err(not_a_number(&text)),
        },
    };
    let (made, taken) = registry
        .write(|subjects| {
            let (made, changes) = match subjects.register(subject, schema, now_ms())? {
                Registration::Found(found) => (found, Vec::new()),
                Registration::New(new, changes) => (new, changes),
            };
            if wanted.is_some_and(|wanted| wanted != made.version) {
                return Ok(((made, true), Vec::new()));
            }
            Ok(((made, false), if dry_run { Vec::new() } else { changes }))
        })
        .await?;
    if taken {
        let title = format!("the next version is {}, no other can be made", made.version);
        return Err(Problem::new(409, "VersionAlreadyExistsException", title));
    }
    Ok(made)
}

pub(super) async fn list(
    State(registry): Registry,
    Path(path): Path<ArtifactPath>,
    Query(page): Query<Page>,
) -> Answer {
    let subject = path.subject();
    registry
        .read(|subjects| {
            let versions = subjects.versions(&subject, Deleted::Shown);
            if versions.is_empty() {
                return Err(Problem::no_artifact(&subject));
            }
            let count = versions.len();
            let versions: Vec<Value> = page.of(versions).into_iter().map(forms::version).collect();
            Ok(Json(json!({ "count": count, "versions": versions })))
        })
        .await
}

pub(super) async fn create(
    State(registry): Registry,
    Path(path): Path<ArtifactPath>,
    Query(creation): Query<Creation>,
    request: Bytes,
) -> Answer {
    let subject = path.subject();
    let kind = registry
        .read(|subjects| {
            subjects.versions(&subject, Deleted::Shown).first().map(|first| first.schema_type)
        })
        .await
        .ok_or_else(|| Problem::no_artifact(&subject))?;
    let (schema, version) = body::<VersionBody>(&request)?.schema(kind)?;
    let made = register(&registry, &subject, schema, version, creation.dry_run).await?;
    Ok(Json(forms::version(&made)))
}

pub(super) async fn one(State(registry): Registry, Path(path): Path<VersionPath>) -> Answer {
    let VersionPath { group, artifact, version } = path;
    let subject = forms::subject_of(Some(&group), &artifact);
    registry.read(|subjects| Ok(Json(forms::version(find(subjects, &subject, &version)?)))).await
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Handling {
    references: String,
}

impl Handling {
    pub(super) fn dereference(&self) -> bool {
        self.references == "DEREFERENCE"
    }
}

pub(super) async fn content(
    State(registry): Registry,
    Path(path): Path<VersionPath>,
    Query(handling): Query<Handling>,
) -> Result<Response, Problem> {
    let VersionPath { group, artifact, version } = path;
    let subject = forms::subject_of(Some(&group), &artifact);
    registry
        .read(|subjects| {
            let found = find(subjects, &subject, &version)?;
            if found.deleted {
                return Err(Problem::no_version(&subject, &version));
            }
            if handling.dereference() {
                let text = subjects.text_alone(found.id)?;
                return Ok(forms::content(found.schema_type, &text));
            }
            Ok(forms::content(found.schema_type, &found.schema))
        })
        .await
}

pub(super) async fn references(State(registry): Registry, Path(path): Path<VersionPath>) -> Answer {
    let VersionPath { group, artifact, version } = path;
    let subject = forms::subject_of(Some(&group), &artifact);
    registry
        .read(|subjects| {
            let found = find(subjects, &subject, &version)?;
            Ok(Json(forms::references(&found.references)))
        })
        .await
}

pub(super) async fn comments(State(registry): Registry, Path(path): Path<VersionPath>) -> Answer {
    let VersionPath { group, artifact, version } = path;
    let subject = forms::subject_of(Some(&group), &artifact);
    registry.read(|subjects| find(subjects, &subject, &version).map(|_| Json(json!([])))).await
}

pub(super) async fn state(State(registry): Registry, Path(path): Path<VersionPath>) -> Answer {
    let VersionPath { group, artifact, version } = path;
    let subject = forms::subject_of(Some(&group), &artifact);
    registry
        .read(|subjects| {
            let state = forms::state(find(subjects, &subject, &version)?);
            Ok(Json(json!({ "state": state })))
        })
        .await
}

pub(super) async fn change_state(
    State(registry): Registry,
    Path(path): Path<VersionPath>,
    request: Bytes,
) -> Result<StatusCode, Problem> {
    let VersionPath { group, artifact, version } = path;
    let subject = forms::subject_of(Some(&group), &artifact);
    let StateBody { state } = body(&request)?;
    let deleted = match state.as_str() {
        "ENABLED" => false,
        "DISABLED" => true,
        other => {
            return Err(Problem::bad_request(format!(
                "state {other}: a version is ENABLED or DISABLED here"
            )));
        }
    };
    let schema = registry.read(|subjects| find(subjects, &subject, &version).cloned()).await?;
    let change = Change::Put(RegisteredSchema { deleted, ..schema });
    registry.write(|_| Ok(((), vec![change]))).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn delete(
    State(registry): Registry,
    Path(path): Path<VersionPath>,
) -> Result<StatusCode, Problem> {
    let VersionPath { group, artifact, version } = path;
    let subject = forms::subject_of(Some(&group), &artifact);
    let number = registry
        .read(|subjects| find(subjects, &subject, &version).map(|found| found.version))
        .await?;
    registry.write(|subjects| Ok(((), subjects.removal_of(&subject, number)?))).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn latest_branch(
    subjects: &Subjects,
    subject: &str,
) -> Result<serde_json::Map<String, Value>, Problem> {
    let versions = subjects.versions(subject, Deleted::Hidden);
    match (versions.first(), versions.last()) {
        (Some(first), Some(last)) => Ok(forms::latest_branch(first, last)),
        _ => Err(Problem::no_artifact(subject)),
    }
}

pub(super) async fn branches(State(registry): Registry, Path(path): Path<ArtifactPath>) -> Answer {
    let subject = path.subject();
    registry
        .read(|subjects| {
            let branch = latest_branch(subjects, &subject)?;
            Ok(Json(json!({ "branches": [branch], "count": 1 })))
        })
        .await
}

#[derive(Deserialize)]
pub(super) struct BranchPath {
    group: String,
    artifact: String,
    branch: String,
}

impl BranchPath {
    /// The one branch that there is.
    fn subject(&self) -> Result<String, Problem> {
        if self.branch == "latest" {
            return Ok(forms::subject_of(Some(&self.group), &self.artifact));
        }
        let title = format!("No branch '{}' was found.", self.branch);
        Err(Problem::new(404, "BranchNotFoundException", title))
    }
}

pub(super) async fn branch(State(registry): Registry, Path(path): Path<BranchPath>) -> Answer {
    let subject = path.subject()?;
    registry
        .read(|subjects| {
            let branch = latest_branch(subjects, &subject)?;
            Ok(Json(forms::placed(branch, &subject)))
        })
        .await
}

pub(super) async fn of_branch(
    State(registry): Registry,
    Path(path): Path<BranchPath>,
    Query(page): Query<Page>,
) -> Answer {
    let subject = path.subject()?;
    registry
        .read(|subjects| {
            find(subjects, &subject, "latest")?;
            let mut versions = subjects.versions(&subject, Deleted::Hidden);
            versions.reverse();
            let count = versions.len();
            let versions: Vec<Value> = page.of(versions).into_iter().map(forms::version).collect();
            Ok(Json(json!({ "count": count, "versions": versions })))
        })
        .await
}
