//! Confluent's REST API over an [`EmbeddedRegistry`].
//!
//! Source: the Schema Registry API reference; wire forms live here and nowhere else.

mod compatibility;
mod schemas;
mod settings;
mod subjects;

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Code, EmbeddedRegistry, Extra, NewSchema, Reference, RegisteredSchema, RegistryError, SchemaId,
    subjects::{Deleted, guid, guid_text},
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
    let (level, mode) = (settings::level(), settings::mode());
    Router::new()
        .route("/", get(root).post(root))
        .route("/schemas", get(schemas::list))
        .route("/schemas/types", get(schemas::types))
        .route("/schemas/ids/{id}", get(schemas::by_id))
        .route("/schemas/ids/{id}/schema", get(schemas::text_by_id))
        .route("/schemas/ids/{id}/subjects", get(schemas::subjects_of_id))
        .route("/schemas/ids/{id}/versions", get(schemas::versions_of_id))
        .route("/schemas/guids/{guid}", get(schemas::by_guid))
        .route("/schemas/guids/{guid}/ids", get(schemas::ids_of_guid))
        .route("/subjects", get(subjects::list))
        .route("/subjects/{subject}", post(subjects::lookup).delete(subjects::delete))
        .route("/subjects/{subject}/metadata", get(subjects::by_metadata))
        .route("/subjects/{subject}/versions", get(subjects::versions).post(subjects::register))
        .route(
            "/subjects/{subject}/versions/{version}",
            get(subjects::version).delete(subjects::delete_version),
        )
        .route("/subjects/{subject}/versions/{version}/schema", get(subjects::text_of_version))
        .route("/subjects/{subject}/versions/{version}/referencedby", get(subjects::referenced_by))
        .route("/compatibility/subjects/{subject}/versions", post(compatibility::with_all))
        .route(
            "/compatibility/subjects/{subject}/versions/{version}",
            post(compatibility::with_one),
        )
        .route("/config", level.clone())
        .route("/config/{subject}", level)
        .route("/mode", mode.clone())
        .route("/mode/{subject}", mode)
        .route("/contexts", get(contexts))
        .route("/contexts/{context}", delete(delete_context))
        .route("/v1/metadata/id", get(cluster))
        .route("/v1/metadata/version", get(version))
        .with_state(registry)
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Flags {
    deleted: bool,
    deleted_only: bool,
    deleted_as_negative: bool,
    permanent: bool,
    verbose: bool,
    latest_only: bool,
    default_to_global: bool,
    fetch_max_id: bool,
    force: bool,
    recursive: bool,
    subject: Option<String>,
    subject_prefix: Option<String>,
    offset: usize,
    limit: Option<i64>,
}

impl Flags {
    fn page<T>(&self, items: Vec<T>) -> Vec<T> {
        let limit = self.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        items.into_iter().skip(self.offset).take(limit).collect()
    }

    fn shown(&self) -> Deleted {
        if self.deleted_only { Deleted::Only } else { Deleted::shown(self.deleted) }
    }

    /// The prefix without the context, of which there is one.
    fn prefix(&self) -> &str {
        let prefix = self.subject_prefix.as_deref().unwrap_or_default();
        prefix.strip_prefix(":*:").or_else(|| prefix.strip_prefix(":.:")).unwrap_or(prefix)
    }
}

/// A subject's name without the default context before it: `:.:orders` is `orders`.
fn plain(subject: &str) -> &str {
    subject.strip_prefix(":.:").unwrap_or(subject)
}

/// The body of a registration; unknown members are ignored, since newer clients send more.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SchemaBody {
    schema: Option<String>,
    schema_type: Option<String>,
    references: Option<Vec<ReferenceBody>>,
    metadata: Option<Value>,
    rule_set: Option<Value>,
    id: Option<i32>,
    version: Option<i32>,
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
    let schema_type = match body.schema_type.as_deref() {
        None | Some("AVRO") => "AVRO",
        Some("JSON") => "JSON",
        Some("PROTOBUF") => "PROTOBUF",
        Some(other) => {
            let known = "this registry keeps AVRO, JSON and PROTOBUF schemas";
            return Err(invalid(format!("Invalid schema type {other}: {known}")));
        }
    };
    let Some(schema) = body.schema.filter(|schema| !schema.trim().is_empty()) else {
        return Err(invalid("Empty schema: \"schema\" must hold the schema's text".to_owned()));
    };
    let reference = |body: ReferenceBody| Reference {
        name: body.name,
        subject: plain(&body.subject).to_owned(),
        version: body.version,
    };
    Ok(NewSchema {
        schema_type,
        schema,
        references: body.references.unwrap_or_default().into_iter().map(reference).collect(),
        extra: Extra { metadata: body.metadata, rule_set: body.rule_set },
        id: body.id.filter(|id| *id >= 0).map(SchemaId),
        version: body.version.filter(|version| *version > 0),
    })
}

/// What every form of a schema has beside its text: members without a content are left out.
fn details(body: &mut Value, schema: &RegisteredSchema) {
    if schema.schema_type != "AVRO" {
        body["schemaType"] = schema.schema_type.into();
    }
    if !schema.references.is_empty() {
        let reference = |one: &Reference| json!({ "name": one.name, "subject": one.subject, "version": one.version });
        body["references"] = schema.references.iter().map(reference).collect();
    }
    if let Some(metadata) = &schema.extra.metadata {
        body["metadata"] = metadata.clone();
    }
    if let Some(rule_set) = &schema.extra.rule_set {
        body["ruleSet"] = rule_set.clone();
    }
}

fn schema_json(schema: &RegisteredSchema) -> Value {
    let mut body = json!({
        "subject": *schema.subject,
        "version": schema.version,
        "id": schema.id.0,
        "guid": guid_text(guid(schema)),
        "schema": *schema.schema,
    });
    details(&mut body, schema);
    if schema.deleted {
        body["deleted"] = true.into();
    }
    body
}

fn text(text: &str) -> Response {
    ([(CONTENT_TYPE, CONTENT)], text.to_owned()).into_response()
}

async fn root() -> Json {
    Json(json!({}))
}

async fn contexts() -> Json {
    Json(json!(["."]))
}

async fn delete_context() -> RegistryError {
    let message = "the registry has one context, \".\", which cannot be deleted";
    RegistryError::new(Code::NotPermitted, message)
}

async fn cluster() -> Json {
    let clusters = json!({ "kafka-cluster": "", "schema-registry-cluster": "lattice" });
    Json(json!({ "id": "", "scope": { "path": [], "clusters": clusters } }))
}

async fn version() -> Json {
    Json(json!({ "version": env!("CARGO_PKG_VERSION"), "commitId": "" }))
}
