//! Rules of the registry, a group or an artifact. `COMPATIBILITY` is Confluent's level; validity
//! and integrity are always checked in full, so that the others are kept and change nothing.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
    routing::{MethodRouter, get},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer, Registry,
    forms::{Json, body, subject_of},
    problem::Problem,
};
use crate::{
    EmbeddedRegistry, Level,
    subjects::{Change, Deleted, Settings, Subjects, group_key},
};

const COMPATIBILITY: &str = "COMPATIBILITY";
const OTHERS: [(&str, &[&str]); 2] = [
    ("VALIDITY", &["NONE", "SYNTAX_ONLY", "FULL"]),
    (
        "INTEGRITY",
        &[
            "NONE",
            "REFS_EXIST",
            "ALL_REFS_MAPPED",
            "NO_DUPLICATES",
            "NO_CIRCULAR_REFERENCES",
            "FULL",
        ],
    ),
];

/// Whose rules: without a group the registry's, without an artifact the group's.
#[derive(Deserialize)]
struct Scope {
    group: Option<String>,
    artifact: Option<String>,
    rule: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuleBody {
    rule_type: Option<String>,
    config: Option<String>,
}

pub(super) fn all() -> MethodRouter<Arc<EmbeddedRegistry>> {
    get(list).post(add).delete(delete_all)
}

pub(super) fn one() -> MethodRouter<Arc<EmbeddedRegistry>> {
    get(show).put(change).delete(delete)
}

impl Scope {
    /// The name under which the settings are kept.
    fn name(&self) -> String {
        match (&self.group, &self.artifact) {
            (None, _) => String::new(),
            (Some(group), None) => group_key(group),
            (group, Some(artifact)) => subject_of(group.as_deref(), artifact),
        }
    }

    /// Errors: 404 for an artifact that is not there.
    fn check(&self, subjects: &Subjects) -> Result<(), Problem> {
        let name = self.name();
        if self.artifact.is_some() && subjects.versions(&name, Deleted::Shown).is_empty() {
            return Err(Problem::no_artifact(&name));
        }
        Ok(())
    }

    /// Errors: 404 for a rule that there is not.
    fn rule(&self) -> Result<&'static str, Problem> {
        let rule = self.rule.as_deref().unwrap_or_default();
        known(rule).ok_or_else(|| not_found(rule))
    }
}

fn known(rule: &str) -> Option<&'static str> {
    let names = OTHERS.iter().map(|(name, _)| *name).chain([COMPATIBILITY]);
    names.into_iter().find(|name| *name == rule)
}

fn not_found(rule: &str) -> Problem {
    Problem::new(404, "RuleNotFoundException", format!("No rule named '{rule}' was found."))
}

fn value(settings: &Settings, rule: &str) -> Option<String> {
    if rule == COMPATIBILITY {
        return settings.level.map(|level| level.as_str().to_owned());
    }
    let rules = settings.apicurio.get("rules")?;
    rules.get(rule)?.as_str().map(str::to_owned)
}

/// Sets a rule, or takes it away.
fn set(settings: &mut Settings, rule: &'static str, value: Option<&str>) -> Result<(), Problem> {
    let wrong =
        |value: &str| Problem::bad_request(format!("{value} is no configuration of {rule}"));
    if rule == COMPATIBILITY {
        let level = |word| Level::from_word(word).ok_or_else(|| wrong(word));
        settings.level = value.map(level).transpose()?;
        return Ok(());
    }
    let words = OTHERS.iter().find(|(name, _)| *name == rule).map(|(_, words)| *words);
    if let Some(value) = value
        && !words.is_some_and(|words| words.contains(&value))
    {
        return Err(wrong(value));
    }
    let rules = settings.apicurio.remove("rules");
    let mut rules = rules.and_then(|rules| rules.as_object().cloned()).unwrap_or_default();
    match value {
        Some(value) => rules.insert(rule.to_owned(), value.into()),
        None => rules.remove(rule),
    };
    if !rules.is_empty() {
        settings.apicurio.insert("rules".to_owned(), Value::Object(rules));
    }
    Ok(())
}

/// Decides on new settings and keeps them.
async fn update(
    registry: &EmbeddedRegistry,
    scope: &Scope,
    decide: impl FnOnce(&mut Settings) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let name = scope.name();
    registry
        .write(|subjects| {
            let mut settings = subjects.settings(&name);
            let outcome = scope.check(subjects).and_then(|()| decide(&mut settings));
            let changes = match &outcome {
                Ok(()) => vec![Change::Set { subject: name.clone(), settings }],
                Err(_) => Vec::new(),
            };
            Ok((outcome, changes))
        })
        .await?
}

async fn list(State(registry): Registry, Path(scope): Path<Scope>) -> Answer {
    registry
        .read(|subjects| {
            scope.check(subjects)?;
            let settings = subjects.settings(&scope.name());
            let rules = ["VALIDITY", COMPATIBILITY, "INTEGRITY"];
            let rules: Vec<&str> =
                rules.into_iter().filter(|rule| value(&settings, rule).is_some()).collect();
            Ok(Json(json!(rules)))
        })
        .await
}

async fn add(
    State(registry): Registry,
    Path(scope): Path<Scope>,
    request: Bytes,
) -> Result<StatusCode, Problem> {
    let RuleBody { rule_type, config } = body(&request)?;
    let rule = rule_type.ok_or_else(|| Problem::missing("body.ruleType"))?;
    let known = known(&rule).ok_or_else(|| Problem::bad_request(format!("no rule is {rule}")))?;
    let config = config.ok_or_else(|| Problem::missing("body.config"))?;
    update(&registry, &scope, |settings| {
        if value(settings, known).is_some() {
            let title = format!("A rule named '{known}' already exists.");
            return Err(Problem::new(409, "RuleAlreadyExistsException", title));
        }
        set(settings, known, Some(&config))
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show(State(registry): Registry, Path(scope): Path<Scope>) -> Answer {
    let rule = scope.rule()?;
    registry
        .read(|subjects| {
            scope.check(subjects)?;
            let found = value(&subjects.settings(&scope.name()), rule);
            let config = found.ok_or_else(|| not_found(rule))?;
            Ok(Json(json!({ "config": config, "ruleType": rule })))
        })
        .await
}

async fn change(State(registry): Registry, Path(scope): Path<Scope>, request: Bytes) -> Answer {
    let rule = scope.rule()?;
    let RuleBody { config, .. } = body(&request)?;
    let config = config.ok_or_else(|| Problem::missing("body.config"))?;
    update(&registry, &scope, |settings| {
        value(settings, rule).ok_or_else(|| not_found(rule))?;
        set(settings, rule, Some(&config))
    })
    .await?;
    Ok(Json(json!({ "config": config, "ruleType": rule })))
}

async fn delete(
    State(registry): Registry,
    Path(scope): Path<Scope>,
) -> Result<StatusCode, Problem> {
    let rule = scope.rule()?;
    update(&registry, &scope, |settings| {
        value(settings, rule).ok_or_else(|| not_found(rule))?;
        set(settings, rule, None)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn delete_all(
    State(registry): Registry,
    Path(scope): Path<Scope>,
) -> Result<StatusCode, Problem> {
    update(&registry, &scope, |settings| {
        settings.level = None;
        settings.apicurio.remove("rules");
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}
