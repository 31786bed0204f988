//! Errors of the worker's API, sorted by the answer a client gets.

use lattice_core::{Error, ErrorKind, config::ConfigIssue};

/// Why a request to the worker failed. The texts are Kafka Connect's where it has one.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// There is no such connector, task or plugin (404).
    #[error("{0}")]
    NotFound(String),
    /// It exists already, or another operation is in its way (409).
    #[error("{0}")]
    Conflict(String),
    /// The request cannot be right (400).
    #[error("{0}")]
    BadRequest(String),
    /// The configuration is invalid (400).
    #[error("{}", invalid_text(.0))]
    Invalid(Vec<ConfigIssue>),
    /// The worker could not do it (500).
    #[error("{}", .0.chain())]
    Internal(Error),
}

/// Result of the worker's API.
pub type WorkerResult<T> = Result<T, WorkerError>;

impl WorkerError {
    /// The HTTP status of Kafka Connect's answer.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::NotFound(_) => 404,
            Self::Conflict(_) => 409,
            Self::BadRequest(_) | Self::Invalid(_) => 400,
            Self::Internal(_) => 500,
        }
    }

    pub(crate) fn unknown_connector(name: &str) -> Self {
        Self::NotFound(format!("Connector {name} not found"))
    }
}

impl From<Error> for WorkerError {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Config => Self::BadRequest(error.chain()),
            ErrorKind::Transient
            | ErrorKind::Auth
            | ErrorKind::Data
            | ErrorKind::Schema
            | ErrorKind::Fatal => Self::Internal(error),
        }
    }
}

fn invalid_text(issues: &[ConfigIssue]) -> String {
    let mut text = format!(
        "Connector configuration is invalid and contains the following {} error(s):",
        issues.len()
    );
    for issue in issues {
        text.push('\n');
        if issue.key.is_empty() {
            text.push_str(&issue.message);
        } else {
            text.push_str(&format!("{}: {}", issue.key, issue.message));
        }
        if let Some(remedy) = &issue.remedy {
            text.push_str(&format!(" (remedy: {remedy})"));
        }
    }
    text.push_str(
        "\nYou can also find the above list of errors at the endpoint \
         `/connector-plugins/{connectorType}/config/validate`",
    );
    text
}
