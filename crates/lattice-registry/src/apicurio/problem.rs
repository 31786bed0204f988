//! Refusals in Apicurio's form: a status, a title, and the name of the exception that its clients
//! act on.

use axum::{
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::{Code, RegistryError};

/// A refusal.
pub(super) struct Problem {
    status: u16,
    name: &'static str,
    title: String,
    causes: Option<Value>,
}

impl Problem {
    pub(super) fn new(status: u16, name: &'static str, title: impl Into<String>) -> Self {
        Self { status, name, title: title.into(), causes: None }
    }

    pub(super) fn bad_request(title: impl Into<String>) -> Self {
        Self::new(400, "BadRequestException", title)
    }

    /// A member of the body that must be there.
    pub(super) fn missing(member: &str) -> Self {
        let title = format!("Request is missing a required parameter: {member}");
        Self::new(400, "MissingRequiredParameterException", title)
    }

    pub(super) fn no_artifact(subject: &str) -> Self {
        let (group, artifact) = super::forms::place(subject);
        let title = format!("No artifact with ID '{artifact}' in group '{group}' was found.");
        Self::new(404, "ArtifactNotFoundException", title)
    }

    pub(super) fn no_version(subject: &str, version: &str) -> Self {
        let (group, artifact) = super::forms::place(subject);
        let title = format!(
            "No version '{version}' found for artifact with ID '{artifact}' in group '{group}'."
        );
        Self::new(404, "VersionNotFoundException", title)
    }

    pub(super) fn no_content(id: &str) -> Self {
        let title = format!("No content with ID '{id}' was found.");
        Self::new(404, "ContentNotFoundException", title)
    }
}

impl From<RegistryError> for Problem {
    fn from(error: RegistryError) -> Self {
        let RegistryError { code, message, findings, .. } = error;
        match code {
            Code::Incompatible | Code::InvalidSchema => {
                let causes = findings.iter().map(|finding| cause(finding)).collect();
                let problem = Self::new(400, "RuleViolationException", message);
                Self { causes: Some(causes), ..problem }
            }
            Code::SubjectNotFound => Self::new(404, "ArtifactNotFoundException", message),
            Code::VersionNotFound => Self::new(404, "VersionNotFoundException", message),
            Code::SchemaNotFound => Self::new(404, "ContentNotFoundException", message),
            Code::ReferenceExists => Self::new(409, "ReferenceExistsException", message),
            Code::NotPermitted => Self::new(409, "NotAllowedException", message),
            Code::Store => Self::new(500, "RegistryStorageException", message),
            _ => Self::bad_request(message),
        }
    }
}

/// `KIND at /place: detail` taken apart.
fn cause(finding: &str) -> Value {
    let place = finding.split_once(" at ").and_then(|(_, rest)| rest.split_once(": "));
    let (context, _) = place.unwrap_or(("/", ""));
    json!({ "description": finding, "context": context })
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut body = json!({
            "detail": format!("{}: {}", self.name, self.title),
            "title": self.title,
            "status": self.status,
            "name": self.name,
        });
        if let Some(causes) = self.causes {
            body["causes"] = causes;
        }
        (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
    }
}

pub(super) async fn wrong_method() -> Problem {
    Problem::new(405, "NotAllowedException", "this path does not know this method")
}
