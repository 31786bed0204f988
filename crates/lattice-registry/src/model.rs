//! What a registry keeps, and the trait through which encoders and decoders use one.

use std::sync::Arc;

use lattice_core::{BoxFuture, Result};
use serde_json::Value;

/// A schema's id, as it stands in every record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaId(pub i32);

/// A reference from one schema to another's named type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The full name by which the schema uses it.
    pub name: String,
    /// The subject that holds it.
    pub subject: String,
    /// The version in that subject.
    pub version: i32,
}

/// What Confluent's API keeps beside a schema and gives back as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extra {
    /// Tags, properties, sensitive fields.
    pub metadata: Option<Value>,
    /// Migration and domain rules.
    pub rule_set: Option<Value>,
}

/// A schema to be registered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewSchema {
    /// `AVRO`, `JSON` or `PROTOBUF`.
    pub schema_type: &'static str,
    /// The text.
    pub schema: String,
    /// What it refers to.
    pub references: Vec<Reference>,
    /// What is kept beside it.
    pub extra: Extra,
    /// The id it must get; only where a subject is being imported.
    pub id: Option<SchemaId>,
    /// The version it must get; only where a subject is being imported.
    pub version: Option<i32>,
}

impl NewSchema {
    /// An Avro schema without references.
    pub fn avro(schema: impl Into<String>) -> Self {
        Self { schema_type: "AVRO", schema: schema.into(), ..Self::default() }
    }
}

/// A version of a subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegisteredSchema {
    /// Its id: one for each distinct content.
    pub id: SchemaId,
    /// Apicurio's other id: one for each version of each subject.
    pub global_id: i64,
    /// The subject.
    pub subject: Arc<str>,
    /// The version, from 1.
    pub version: i32,
    /// `AVRO`, `JSON` or `PROTOBUF`.
    pub schema_type: &'static str,
    /// The text.
    pub schema: Arc<str>,
    /// What it refers to.
    pub references: Vec<Reference>,
    /// What is kept beside it.
    pub extra: Extra,
    /// Soft deleted: hidden, but its id still resolves.
    pub deleted: bool,
    /// When it was registered. Units: ms since 1970.
    pub created_ms: i64,
}

/// A registry, embedded or remote.
pub trait SchemaRegistry: Send + Sync {
    /// Registers a schema under a subject, or finds it there. Returns when it is durable.
    ///
    /// Errors: `Schema` when the text is invalid or incompatible with the subject's earlier
    /// versions; `Transient` when the registry does not answer.
    fn register<'a>(
        &'a self,
        subject: &'a str,
        schema: NewSchema,
    ) -> BoxFuture<'a, Result<SchemaId>>;

    /// The text of a schema, soft deleted ones too.
    ///
    /// Errors: `Data` when the id is unknown; `Transient`.
    fn schema(&self, id: SchemaId) -> BoxFuture<'_, Result<Arc<str>>>;

    /// All subjects that have a live version, by name.
    fn subjects(&self) -> BoxFuture<'_, Result<Vec<Arc<str>>>>;

    /// The live versions of a subject, oldest first; empty: unknown subject.
    fn versions<'a>(&'a self, subject: &'a str) -> BoxFuture<'a, Result<Vec<RegisteredSchema>>>;
}
