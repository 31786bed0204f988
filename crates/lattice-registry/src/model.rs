//! What a registry keeps, and the trait through which encoders and decoders use one.

use std::sync::Arc;

use lattice_core::{BoxFuture, Result};

/// A schema's id, as it stands in every record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

/// A schema to be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSchema {
    /// `AVRO` or `JSON`.
    pub schema_type: &'static str,
    /// The text.
    pub schema: String,
    /// What it refers to.
    pub references: Vec<Reference>,
}

impl NewSchema {
    /// An Avro schema without references.
    pub fn avro(schema: impl Into<String>) -> Self {
        Self { schema_type: "AVRO", schema: schema.into(), references: Vec::new() }
    }
}

/// A version of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredSchema {
    /// Its id.
    pub id: SchemaId,
    /// The subject.
    pub subject: Arc<str>,
    /// The version, from 1.
    pub version: i32,
    /// `AVRO` or `JSON`.
    pub schema_type: &'static str,
    /// The text.
    pub schema: Arc<str>,
    /// What it refers to.
    pub references: Vec<Reference>,
    /// Soft deleted: hidden, but its id still resolves.
    pub deleted: bool,
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
