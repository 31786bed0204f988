//! A registry's errors: Confluent's codes, which clients act on.

use lattice_core::{Error, ErrorKind};

/// Confluent's error codes; the first three digits are the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Subject not found.
    SubjectNotFound = 40401,
    /// Version not found.
    VersionNotFound = 40402,
    /// Schema not found.
    SchemaNotFound = 40403,
    /// The subject was soft deleted.
    SubjectSoftDeleted = 40404,
    /// A permanent delete needs a soft one first.
    SubjectNotSoftDeleted = 40405,
    /// The version was soft deleted.
    VersionSoftDeleted = 40406,
    /// A permanent delete needs a soft one first.
    VersionNotSoftDeleted = 40407,
    /// The subject has no compatibility level of its own.
    NoSubjectCompatibility = 40408,
    /// The subject has no mode of its own.
    NoSubjectMode = 40409,
    /// Not compatible with earlier versions.
    Incompatible = 40901,
    /// Not a schema.
    InvalidSchema = 42201,
    /// Not a version.
    InvalidVersion = 42202,
    /// Not a compatibility level.
    InvalidLevel = 42203,
    /// Not a mode.
    InvalidMode = 42204,
    /// The mode forbids it.
    NotPermitted = 42205,
    /// Another schema refers to it.
    ReferenceExists = 42206,
    /// The id that was given is not the schema's.
    IdDoesNotMatch = 42207,
    /// Not a subject's name.
    InvalidSubject = 42208,
    /// The store failed.
    Store = 50001,
}

/// A refusal: code and reason.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct RegistryError {
    /// The code.
    pub code: Code,
    /// The reason, for people.
    pub message: String,
    /// The single findings where a schema is incompatible.
    pub(crate) findings: Vec<String>,
    #[source]
    source: Option<Box<Error>>,
}

impl RegistryError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), findings: Vec::new(), source: None }
    }

    pub(crate) fn subject_not_found(subject: &str) -> Self {
        Self::new(Code::SubjectNotFound, format!("Subject '{subject}' not found."))
    }

    pub(crate) fn version_not_found(version: &str) -> Self {
        Self::new(Code::VersionNotFound, format!("Version {version} not found."))
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        (self.code as u32 / 100).try_into().unwrap_or(500)
    }
}

impl From<Error> for RegistryError {
    fn from(error: Error) -> Self {
        Self {
            code: Code::Store,
            message: error.to_string(),
            findings: Vec::new(),
            source: Some(Box::new(error)),
        }
    }
}

impl From<RegistryError> for Error {
    fn from(error: RegistryError) -> Self {
        let kind = match error.code {
            Code::Store => {
                error.source.as_ref().map_or(ErrorKind::Transient, |source| source.kind())
            }
            Code::SubjectNotFound
            | Code::VersionNotFound
            | Code::SchemaNotFound
            | Code::SubjectSoftDeleted
            | Code::VersionSoftDeleted => ErrorKind::Data,
            Code::SubjectNotSoftDeleted
            | Code::VersionNotSoftDeleted
            | Code::NoSubjectCompatibility
            | Code::NoSubjectMode
            | Code::Incompatible
            | Code::InvalidSchema
            | Code::InvalidVersion
            | Code::InvalidLevel
            | Code::InvalidMode
            | Code::NotPermitted
            | Code::ReferenceExists
            | Code::IdDoesNotMatch
            | Code::InvalidSubject => ErrorKind::Schema,
        };
        Self::new(kind, error.message.clone()).with_source(error)
    }
}
