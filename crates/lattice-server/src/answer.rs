//! Answers: JSON, and Kafka Connect's error body.

use axum::{
    body::Bytes,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use lattice_core::{Error, ErrorKind};
use lattice_runtime::WorkerError;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A refusal: `{"error_code": status, "message": reason}`.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    message: String,
}

pub(crate) type Answer<T = Json> = Result<T, Refusal>;

/// A JSON answer.
#[derive(Debug)]
pub(crate) struct Json(pub(crate) Value);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "application/json")], self.0.to_string()).into_response()
    }
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// What needs a task's worker came while the task changes workers; clients try again.
    pub(crate) fn rebalancing() -> Self {
        let message =
            "Cannot complete request because of a conflicting operation (e.g. worker rebalance)";
        Self::new(StatusCode::CONFLICT, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({ "error_code": self.status.as_u16(), "message": self.message });
        (self.status, Json(body)).into_response()
    }
}

impl From<WorkerError> for Refusal {
    fn from(error: WorkerError) -> Self {
        let status =
            StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, error.to_string())
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::Config | ErrorKind::Auth | ErrorKind::Schema | ErrorKind::Data => {
                StatusCode::BAD_REQUEST
            }
            ErrorKind::Transient | ErrorKind::Fatal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.chain())
    }
}

/// Whether a `Content-Type` says JSON.
pub(crate) fn is_json(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/json")
}

/// The refusal of a body that is not said to be JSON.
pub(crate) fn not_json(content_type: &str) -> Refusal {
    let message = format!(
        "HTTP 415 Unsupported Media Type: send the body with Content-Type: application/json, not \"{content_type}\""
    );
    Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
}

/// Reads a JSON body. Kafka Connect answers 500 to a malformed one; 400 with the place helps.
pub(crate) fn body<T: DeserializeOwned>(headers: &HeaderMap, bytes: &Bytes) -> Answer<T> {
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !is_json(content_type) {
        return Err(not_json(content_type));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        Refusal::bad(format!("the request's body cannot be read: {error} (expected JSON of the shape that /openapi.json tells)"))
    })
}
