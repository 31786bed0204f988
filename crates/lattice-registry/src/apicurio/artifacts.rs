//! Artifacts: made, listed, described, deleted.

use axum::{
    body::Bytes,
    extract::{Path, Query, State},
    http::StatusCode,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Answer, ArtifactPath, Page, Registry,
    forms::{self, Json, VersionBody, body, kind, subject_of},
    problem::Problem,
    versions,
};
use crate::subjects::{Change, Deleted, Settings, Subjects};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Creation {
    if_exists: Option<String>,
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateBody {
    artifact_id: Option<String>,
    artifact_type: Option<String>,
    first_version: Option<VersionBody>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// An artifact as it stands in answers; none: there is no such subject.
pub(super) fn of_subject(subjects: &Subjects, subject: &str) -> Option<Value> {
    let versions = subjects.versions(subject, Deleted::Shown);
    let (first, last) = (versions.first()?, versions.last()?);
    Some(forms::artifact(first, last, &subjects.settings(subject)))
}

pub(super) async fn list(
    State(registry): Registry,
    Path(group): Path<String>,
    Query(page): Query<Page>,
) -> Json {
    registry
        .read(|subjects| {
            let names = subjects.names(Deleted::Shown).into_iter();
            let of_group: Vec<_> = names.filter(|name| forms::place(name).0 == group).collect();
            let count = of_group.len();
            let artifacts: Vec<Value> =
                page.of(of_group).iter().filter_map(|name| of_subject(subjects, name)).collect();
            Json(json!({ "artifacts": artifacts, "count": count }))
        })
        .await
}

pub(super) async fn one(State(registry): Registry, Path(path): Path<ArtifactPath>) -> Answer {
    let subject = path.subject();
    let found = registry.read(|subjects| of_subject(subjects, &subject)).await;
    found.map(Json).ok_or_else(|| Problem::no_artifact(&subject))
}

pub(super) async fn create(
    State(registry): Registry,
    Path(group): Path<String>,
    Query(creation): Query<Creation>,
    request: Bytes,
) -> Answer {
    let CreateBody { artifact_id, artifact_type, first_version, others } = body(&request)?;
    let kind = kind(&artifact_type.ok_or_else(|| Problem::missing("body.artifactType"))?)?;
    let artifact = artifact_id.ok_or_else(|| Problem::missing("body.artifactId"))?;
    let first = first_version.ok_or_else(|| Problem::missing("body.firstVersion"))?;
    let (schema, version) = first.schema(kind)?;
    let subject = subject_of(Some(&group), &artifact);
    let fail = match creation.if_exists.as_deref() {
        None | Some("FAIL") => true,
        Some("CREATE_VERSION" | "FIND_OR_CREATE_VERSION") => false,
        Some(other) => {
            return Err(Problem::bad_request(format!(
                "ifExists={other} is none of FAIL, CREATE_VERSION, FIND_OR_CREATE_VERSION"
            )));
        }
    };
    let exists =
        registry.read(|subjects| !subjects.versions(&subject, Deleted::Hidden).is_empty()).await;
    if exists && fail {
        let title = format!("An artifact with ID '{artifact}' in group '{group}' already exists.");
        return Err(Problem::new(409, "ArtifactAlreadyExistsException", title));
    }
    let made = versions::register(&registry, &subject, schema, version, creation.dry_run).await?;
    if !exists && !creation.dry_run {
        describe(&registry, &subject, &others).await?;
    }
    let artifact = registry.read(|subjects| of_subject(subjects, &subject)).await;
    // A dry run has left no artifact.
    let artifact = artifact.unwrap_or_else(|| forms::artifact(&made, &made, &Settings::default()));
    Ok(Json(json!({ "artifact": artifact, "version": forms::version(&made) })))
}

/// Keeps the members that describe an artifact or a group.
pub(super) async fn describe(
    registry: &crate::EmbeddedRegistry,
    name: &str,
    members: &Map<String, Value>,
) -> Result<(), Problem> {
    let given: Vec<(&String, &Value)> = members
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "name" | "description" | "labels"))
        .collect();
    if given.is_empty() {
        return Ok(());
    }
    registry
        .write(|subjects| {
            let mut settings = subjects.settings(name);
            for (member, value) in given {
                settings.apicurio.insert(member.clone(), value.clone());
            }
            Ok(((), vec![Change::Set { subject: name.to_owned(), settings }]))
        })
        .await?;
    Ok(())
}

pub(super) async fn change(
    State(registry): Registry,
    Path(path): Path<ArtifactPath>,
    request: Bytes,
) -> Result<StatusCode, Problem> {
    let subject = path.subject();
    let members: Map<String, Value> = body(&request)?;
    let exists =
        registry.read(|subjects| !subjects.versions(&subject, Deleted::Shown).is_empty()).await;
    if !exists {
        return Err(Problem::no_artifact(&subject));
    }
    describe(&registry, &subject, &members).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn delete(
    State(registry): Registry,
    Path(path): Path<ArtifactPath>,
) -> Result<StatusCode, Problem> {
    let subject = path.subject();
    let exists =
        registry.read(|subjects| !subjects.versions(&subject, Deleted::Shown).is_empty()).await;
    if !exists {
        return Err(Problem::no_artifact(&subject));
    }
    registry.write(|subjects| Ok(((), subjects.removal(&subject)?))).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn delete_all(
    State(registry): Registry,
    Path(group): Path<String>,
) -> Result<StatusCode, Problem> {
    registry
        .write(|subjects| {
            let mut changes = Vec::new();
            for name in subjects.names(Deleted::Shown) {
                if forms::place(&name).0 == group {
                    changes.extend(subjects.removal(&name)?);
                }
            }
            Ok(((), changes))
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
