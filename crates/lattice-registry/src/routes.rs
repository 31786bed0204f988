//! Confluent's REST API over an [`EmbeddedRegistry`].
//!
//! Source: the Schema Registry API reference; wire forms live here and nowhere else.

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{Path, Query, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Code, EmbeddedRegistry, Level, NewSchema, Reference, RegisteredSchema, RegistryError, SchemaId,
    subjects::{Change, Mode, Settings, Which},
};

type Registry = State<Arc<EmbeddedRegistry>>;
type Answer = std::result::Result<Json, RegistryError>;

const CONTENT: &str = "application/vnd.schemaregistry.v1+json";

struct Json(Value);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, CONTENT)], self.0.to_string()).into_response()
    }
}

impl IntoResponse for RegistryError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = json!({ "error_code": self.code as u32, "message": self.message });
        (status, [(CONTENT_TYPE, CONTENT)], body.to_string()).into_response()
    }
}

/// The routes, to be nested wherever the server wants them.
pub fn routes(registry: Arc<EmbeddedRegistry>) -> Router {
    Router::new()
        .route("/", get(root))
        .route("/schemas", get(schemas))
        .route("/schemas/types", get(types))
        .route("/schemas/ids/{id}", get(by_id))
        .route("/schemas/ids/{id}/schema", get(text_by_id))
        .route("/schemas/ids/{id}/subjects", get(subjects_of_id))
        .route("/schemas/ids/{id}/versions", get(versions_of_id))
        .route("/subjects", get(subjects))
        .route("/subjects/{subject}", post(lookup).delete(delete_subject))
        .route("/subjects/{subject}/versions", get(versions).post(register))
        .route("/subjects/{subject}/versions/{version}", get(version).delete(delete_version))
        .route("/subjects/{subject}/versions/{version}/schema", get(text_of_version))
        .route("/subjects/{subject}/versions/{version}/referencedby", get(referenced_by))
        .route("/compatibility/subjects/{subject}/versions", post(compatible_with_all))
        .route("/compatibility/subjects/{subject}/versions/{version}", post(compatible_with_one))
        .route("/config", get(global_config).put(put_global_config).delete(delete_global_config))
        .route("/config/{subject}", get(config).put(put_config).delete(delete_config))
        .route("/mode", get(global_mode).put(put_global_mode))
        .route("/mode/{subject}", get(mode).put(put_mode).delete(delete_mode))
        .route("/contexts", get(contexts))
        .with_state(registry)
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Flags {
    deleted: bool,
    permanent: bool,
    verbose: bool,
    latest_only: bool,
    default_to_global: bool,
    subject_prefix: Option<String>,
    offset: usize,
    limit: Option<i64>,
}

impl Flags {
    fn page<T>(&self, items: Vec<T>) -> Vec<T> {
        let limit = self.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        items.into_iter().skip(self.offset).take(limit).collect()
    }
}

/// The body of a registration; unknown members are ignored, since newer clients send more.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SchemaBody {
    schema: Option<String>,
    schema_type: Option<String>,
    references: Option<Vec<ReferenceBody>>,
}

#[derive(Deserialize)]
struct ReferenceBody {
    name: String,
    subject: String,
    version: i32,
}

fn parse_body<T: for<'de> Deserialize<'de>>(body: &Bytes, code: Code) -> Result<T, RegistryError> {
    serde_json::from_slice(body).map_err(|error| {
        RegistryError::new(code, format!("the request's body cannot be read as JSON: {error}"))
    })
}

fn new_schema(body: &Bytes) -> Result<NewSchema, RegistryError> {
    let body: SchemaBody = parse_body(body, Code::InvalidSchema)?;
    let invalid = |message: String| RegistryError::new(Code::InvalidSchema, message);
    match body.schema_type.as_deref() {
        None | Some("AVRO") => {}
        Some(other) => {
            return Err(invalid(format!(
                "Invalid schema type {other}: this registry keeps AVRO schemas"
            )));
        }
    }
    let Some(schema) = body.schema.filter(|schema| !schema.trim().is_empty()) else {
        return Err(invalid("Empty schema: \"schema\" must hold the schema's text".to_owned()));
    };
    let reference = |body: ReferenceBody| Reference {
        name: body.name,
        subject: body.subject,
        version: body.version,
    };
    let references = body.references.unwrap_or_default().into_iter().map(reference).collect();
    Ok(NewSchema { references, ..NewSchema::avro(schema) })
}

fn references_json(schema: &RegisteredSchema) -> Vec<Value> {
    let reference = |reference: &Reference| json!({ "name": reference.name, "subject": reference.subject, "version": reference.version });
    schema.references.iter().map(reference).collect()
}

fn schema_json(schema: &RegisteredSchema) -> Value {
    let mut body = json!({
        "subject": *schema.subject,
        "version": schema.version,
        "id": schema.id.0,
        "schema": *schema.schema,
    });
    if !schema.references.is_empty() {
        body["references"] = references_json(schema).into();
    }
    body
}

async fn root() -> Json {
    Json(json!({}))
}

async fn types() -> Json {
    Json(json!(["AVRO"]))
}

async fn contexts() -> Json {
    Json(json!(["."]))
}

async fn schemas(State(registry): Registry, Query(flags): Query<Flags>) -> Json {
    let prefix = flags.subject_prefix.clone().unwrap_or_default();
    let list = registry
        .read(|subjects| {
            let mut list = Vec::new();
            for name in subjects.names(flags.deleted) {
                if !name.starts_with(&prefix) {
                    continue;
                }
                let versions = subjects.versions(&name, flags.deleted);
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

async fn by_id(State(registry): Registry, Path(id): Path<String>) -> Answer {
    let id = parse_id(&id)?;
    registry
        .read(|subjects| {
            let text = subjects.text(id)?;
            let mut body = json!({ "schema": *text });
            if let Some(place) = subjects.places(id, true).first()
                && !place.references.is_empty()
            {
                body["references"] = references_json(place).into();
            }
            Ok(Json(body))
        })
        .await
}

async fn text_by_id(
    State(registry): Registry,
    Path(id): Path<String>,
) -> Result<Response, RegistryError> {
    let id = parse_id(&id)?;
    let text = registry.read(|subjects| subjects.text(id)).await?;
    Ok(([(CONTENT_TYPE, CONTENT)], text.to_string()).into_response())
}

async fn subjects_of_id(
    State(registry): Registry,
    Path(id): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let id = parse_id(&id)?;
    registry
        .read(|subjects| {
            subjects.text(id)?;
            let mut names: Vec<_> = subjects
                .places(id, flags.deleted)
                .iter()
                .map(|place| place.subject.to_string())
                .collect();
            names.dedup();
            Ok(Json(flags.page(names).into()))
        })
        .await
}

async fn versions_of_id(
    State(registry): Registry,
    Path(id): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let id = parse_id(&id)?;
    registry
        .read(|subjects| {
            subjects.text(id)?;
            let place = |place: &&RegisteredSchema| {
                json!({ "subject": *place.subject, "version": place.version })
            };
            let list: Vec<_> = subjects.places(id, flags.deleted).iter().map(place).collect();
            Ok(Json(flags.page(list).into()))
        })
        .await
}

async fn subjects(State(registry): Registry, Query(flags): Query<Flags>) -> Json {
    let prefix = flags.subject_prefix.clone().unwrap_or_default();
    let names = registry.read(|subjects| subjects.names(flags.deleted)).await;
    let names = names
        .into_iter()
        .filter(|name| prefix == ":*:" || name.starts_with(&prefix))
        .map(|name| name.to_string())
        .collect();
    Json(flags.page(names).into())
}

async fn versions(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let numbers: Vec<i32> = registry
        .read(|subjects| {
            subjects.versions(&subject, flags.deleted).iter().map(|item| item.version).collect()
        })
        .await;
    if numbers.is_empty() {
        return Err(RegistryError::subject_not_found(&subject));
    }
    Ok(Json(flags.page(numbers).into()))
}

async fn version(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
    Query(flags): Query<Flags>,
) -> Answer {
    let which = Which::parse(&version)?;
    registry
        .read(|subjects| Ok(Json(schema_json(subjects.version(&subject, which, flags.deleted)?))))
        .await
}

async fn text_of_version(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
    Query(flags): Query<Flags>,
) -> Result<Response, RegistryError> {
    let which = Which::parse(&version)?;
    let text = registry
        .read(|subjects| {
            subjects.version(&subject, which, flags.deleted).map(|found| found.schema.to_string())
        })
        .await?;
    Ok(([(CONTENT_TYPE, CONTENT)], text).into_response())
}

async fn referenced_by(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
) -> Answer {
    let which = Which::parse(&version)?;
    registry
        .read(|subjects| {
            let number = subjects.version(&subject, which, true)?.version;
            let ids: Vec<i32> =
                subjects.referenced_by(&subject, number).iter().map(|id| id.0).collect();
            Ok(Json(ids.into()))
        })
        .await
}

async fn register(State(registry): Registry, Path(subject): Path<String>, body: Bytes) -> Answer {
    let registered = registry.register_version(&subject, new_schema(&body)?).await?;
    Ok(Json(json!({ "id": registered.id.0 })))
}

async fn lookup(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
    body: Bytes,
) -> Answer {
    let schema = new_schema(&body);
    registry
        .read(|subjects| {
            if subjects.versions(&subject, flags.deleted).is_empty() {
                return Err(RegistryError::subject_not_found(&subject));
            }
            let schema = schema?;
            subjects.parse(&schema)?;
            match subjects.lookup(&subject, &schema, flags.deleted) {
                Some(found) => Ok(Json(schema_json(found))),
                None => Err(RegistryError::new(Code::SchemaNotFound, "Schema not found")),
            }
        })
        .await
}

async fn delete_subject(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let numbers = registry
        .write(|subjects| {
            let mut changes = subjects.delete(&subject, None, flags.permanent)?;
            let numbers: Vec<i32> = changes.iter().map(changed_version).collect();
            // A deleted subject starts anew with the global settings.
            changes.push(Change::Set { subject: subject.clone(), settings: Settings::default() });
            Ok((numbers, changes))
        })
        .await?;
    Ok(Json(numbers.into()))
}

async fn delete_version(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
    Query(flags): Query<Flags>,
) -> Answer {
    let which = Which::parse(&version)?;
    let number = registry
        .write(|subjects| {
            let changes = subjects.delete(&subject, Some(which), flags.permanent)?;
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

async fn compatible_with_one(
    State(registry): Registry,
    Path((subject, version)): Path<(String, String)>,
    Query(flags): Query<Flags>,
    body: Bytes,
) -> Answer {
    let (which, schema) = (Which::parse(&version)?, new_schema(&body)?);
    registry
        .read(|subjects| {
            let parsed = subjects.parse(&schema)?;
            if which == Which::Latest && subjects.versions(&subject, false).is_empty() {
                return Ok(verdict(&[], flags.verbose));
            }
            let found = subjects.version(&subject, which, false)?;
            let findings = subjects.compare(subjects.level(&subject), &parsed, &[found])?;
            Ok(verdict(&findings, flags.verbose))
        })
        .await
}

async fn compatible_with_all(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
    body: Bytes,
) -> Answer {
    let schema = new_schema(&body)?;
    registry
        .read(|subjects| {
            let parsed = subjects.parse(&schema)?;
            let versions = subjects.versions(&subject, false);
            let findings = subjects.compare(subjects.level(&subject), &parsed, &versions)?;
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

async fn global_config(State(registry): Registry) -> Json {
    let level = registry.read(|subjects| subjects.level("")).await;
    Json(json!({ "compatibilityLevel": level.as_str() }))
}

async fn config(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let (own, any) = registry
        .read(|subjects| (subjects.settings(&subject).level, subjects.level(&subject)))
        .await;
    match own {
        Some(level) => Ok(Json(json!({ "compatibilityLevel": level.as_str() }))),
        None if flags.default_to_global => Ok(Json(json!({ "compatibilityLevel": any.as_str() }))),
        None => Err(RegistryError::new(
            Code::NoSubjectCompatibility,
            format!("Subject '{subject}' does not have subject-level compatibility configured"),
        )),
    }
}

async fn set(
    registry: &EmbeddedRegistry,
    subject: &str,
    set: impl FnOnce(&mut Settings),
) -> Result<Settings, RegistryError> {
    registry
        .write(|subjects| {
            let before = subjects.settings(subject);
            let mut settings = before;
            set(&mut settings);
            Ok((before, vec![Change::Set { subject: subject.to_owned(), settings }]))
        })
        .await
}

fn word(body: &Bytes, member: &str, code: Code) -> Result<String, RegistryError> {
    let body: Value = parse_body(body, code)?;
    match body.get(member).and_then(Value::as_str) {
        Some(word) => Ok(word.to_owned()),
        None => Err(RegistryError::new(code, format!("the body has no \"{member}\""))),
    }
}

async fn put_level(registry: &EmbeddedRegistry, subject: &str, body: &Bytes) -> Answer {
    let given = word(body, "compatibility", Code::InvalidLevel)?;
    let Some(level) = Level::from_word(&given) else {
        let message = format!(
            "Invalid compatibility level '{given}'. Valid values are none, backward, forward, \
             full, backward_transitive, forward_transitive, and full_transitive"
        );
        return Err(RegistryError::new(Code::InvalidLevel, message));
    };
    set(registry, subject, |settings| settings.level = Some(level)).await?;
    Ok(Json(json!({ "compatibility": level.as_str() })))
}

async fn put_global_config(State(registry): Registry, body: Bytes) -> Answer {
    put_level(&registry, "", &body).await
}

async fn put_config(State(registry): Registry, Path(subject): Path<String>, body: Bytes) -> Answer {
    put_level(&registry, &subject, &body).await
}

async fn delete_global_config(State(registry): Registry) -> Answer {
    let before = set(&registry, "", |settings| settings.level = None).await?;
    let level = before.level.unwrap_or(Level::Backward);
    Ok(Json(json!({ "compatibilityLevel": level.as_str() })))
}

async fn delete_config(State(registry): Registry, Path(subject): Path<String>) -> Answer {
    let before = set(&registry, &subject, |settings| settings.level = None).await?;
    match before.level {
        Some(level) => Ok(Json(json!({ "compatibilityLevel": level.as_str() }))),
        None => Err(RegistryError::subject_not_found(&subject)),
    }
}

async fn global_mode(State(registry): Registry) -> Json {
    let mode = registry.read(|subjects| subjects.mode("")).await;
    Json(json!({ "mode": mode.as_str() }))
}

async fn mode(
    State(registry): Registry,
    Path(subject): Path<String>,
    Query(flags): Query<Flags>,
) -> Answer {
    let (own, any) =
        registry.read(|subjects| (subjects.settings(&subject).mode, subjects.mode(&subject))).await;
    match own.or(flags.default_to_global.then_some(any)) {
        Some(mode) => Ok(Json(json!({ "mode": mode.as_str() }))),
        None => Err(RegistryError::new(
            Code::NoSubjectMode,
            format!("Subject '{subject}' does not have subject-level mode configured"),
        )),
    }
}

async fn put_mode_of(registry: &EmbeddedRegistry, subject: &str, body: &Bytes) -> Answer {
    let given = word(body, "mode", Code::InvalidMode)?;
    let Some(mode) = Mode::from_word(&given) else {
        let message = format!("Invalid mode '{given}'. Valid values are READWRITE, READONLY");
        return Err(RegistryError::new(Code::InvalidMode, message));
    };
    set(registry, subject, |settings| settings.mode = Some(mode)).await?;
    Ok(Json(json!({ "mode": mode.as_str() })))
}

async fn put_global_mode(State(registry): Registry, body: Bytes) -> Answer {
    put_mode_of(&registry, "", &body).await
}

async fn put_mode(State(registry): Registry, Path(subject): Path<String>, body: Bytes) -> Answer {
    put_mode_of(&registry, &subject, &body).await
}

async fn delete_mode(State(registry): Registry, Path(subject): Path<String>) -> Answer {
    let before = set(&registry, &subject, |settings| settings.mode = None).await?;
    match before.mode {
        Some(mode) => Ok(Json(json!({ "mode": mode.as_str() }))),
        None => Err(RegistryError::subject_not_found(&subject)),
    }
}
