//! Groups: those that were made, and those that an artifact is in.

use std::collections::BTreeSet;

use axum::{
    body::Bytes,
    extract::{Path, Query, State},
    http::StatusCode,
};
use serde_json::{Map, Value, json};

use super::{
    Answer, Page, Registry,
    artifacts::describe,
    forms::{self, DEFAULT, Json, body},
    problem::Problem,
};
use crate::{
    embedded::now_ms,
    subjects::{Change, Deleted, Settings, Subjects, group_key},
};

fn names(subjects: &Subjects) -> BTreeSet<String> {
    let of_artifacts = subjects.names(Deleted::Shown);
    let of_artifacts = of_artifacts.iter().map(|name| forms::place(name).0.to_owned());
    let made = subjects.set_names().filter_map(|name| name.strip_prefix(&group_key("")));
    let all = of_artifacts.chain(made.map(str::to_owned));
    all.filter(|name| name != DEFAULT).collect()
}

fn no_group(name: &str) -> Problem {
    Problem::new(404, "GroupNotFoundException", format!("No group '{name}' was found."))
}

pub(super) async fn list(State(registry): Registry, Query(page): Query<Page>) -> Json {
    registry
        .read(|subjects| {
            let names: Vec<String> = names(subjects).into_iter().collect();
            let count = names.len();
            let group = |name: &String| forms::group(name, &subjects.settings(&group_key(name)));
            let groups: Vec<Value> = page.of(names).iter().map(group).collect();
            Json(json!({ "groups": groups, "count": count }))
        })
        .await
}

pub(super) async fn one(State(registry): Registry, Path(name): Path<String>) -> Answer {
    registry
        .read(|subjects| {
            if !names(subjects).contains(&name) {
                return Err(no_group(&name));
            }
            Ok(Json(forms::group(&name, &subjects.settings(&group_key(&name)))))
        })
        .await
}

pub(super) async fn create(State(registry): Registry, request: Bytes) -> Answer {
    let members: Map<String, Value> = body(&request)?;
    let name = members.get("groupId").and_then(Value::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(Problem::missing("body.groupId"));
    }
    if name.contains(':') {
        return Err(Problem::bad_request("a group's name has no colon here"));
    }
    let key = group_key(&name);
    let exists = registry
        .write(|subjects| {
            let exists = subjects.set_names().any(|other| other == key);
            let mut settings = Settings::default();
            settings.apicurio.insert("createdOn".to_owned(), now_ms().into());
            let change = Change::Set { subject: key.clone(), settings };
            Ok((exists, if exists { Vec::new() } else { vec![change] }))
        })
        .await?;
    if exists {
        let title = format!("Group '{name}' already exists.");
        return Err(Problem::new(409, "GroupAlreadyExistsException", title));
    }
    describe(&registry, &key, &members).await?;
    let settings = registry.read(|subjects| subjects.settings(&key)).await;
    Ok(Json(forms::group(&name, &settings)))
}

pub(super) async fn change(
    State(registry): Registry,
    Path(name): Path<String>,
    request: Bytes,
) -> Result<StatusCode, Problem> {
    let members: Map<String, Value> = body(&request)?;
    if !registry.read(|subjects| names(subjects).contains(&name)).await {
        return Err(no_group(&name));
    }
    describe(&registry, &group_key(&name), &members).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn delete(
    State(registry): Registry,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    if !registry.read(|subjects| names(subjects).contains(&name)).await {
        return Err(no_group(&name));
    }
    registry
        .write(|subjects| {
            let settings = Settings::default();
            let mut changes = vec![Change::Set { subject: group_key(&name), settings }];
            for subject in subjects.names(Deleted::Shown) {
                if forms::place(&subject).0 == name {
                    changes.extend(subjects.removal(&subject)?);
                }
            }
            Ok(((), changes))
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
