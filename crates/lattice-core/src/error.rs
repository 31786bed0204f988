//! The one error that crosses room boundaries, and the kinds that decide what happens next.

use std::error::Error as StdError;

/// What the runtime must do about an error. Decided where the error arises, obeyed in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The configuration or the environment is wrong: stop and tell the user.
    Config,
    /// It may pass by itself: retry with backoff.
    Transient,
    /// Credentials or rights are missing: stop and tell the user.
    Auth,
    /// This record cannot be processed: dead-letter it or fail, by `errors.tolerance`.
    Data,
    /// An incompatible schema change: stop the table or the task.
    Schema,
    /// A bug, or a position that is lost: stop; never go on silently.
    Fatal,
}

impl ErrorKind {
    /// The kind's word as it stands in logs, metrics and API answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Transient => "transient",
            Self::Auth => "auth",
            Self::Data => "data",
            Self::Schema => "schema",
            Self::Fatal => "fatal",
        }
    }
}

/// An error at a room's boundary: its kind, what was attempted, and what mends it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    remedy: Option<String>,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Result with the boundary error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes an error. `message`: lower case, no full stop, what was attempted with what.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), remedy: None, source: None }
    }

    /// Makes a [`ErrorKind::Config`] error.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    /// Makes a [`ErrorKind::Transient`] error.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Transient, message)
    }

    /// Makes a [`ErrorKind::Data`] error.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message)
    }

    /// Makes a [`ErrorKind::Schema`] error.
    pub fn schema(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Schema, message)
    }

    /// Makes a [`ErrorKind::Fatal`] error.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Fatal, message)
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Adds the cause. It is never formatted into the message; [`Error::chain`] prints both.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What the runtime must do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What the user can do about it, if that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
    }

    /// The message and every cause.
    #[must_use]
    pub fn causes(&self) -> String {
        let mut text = self.message.clone();
        let mut cause = StdError::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }

    /// The message, every cause, and the remedy, for people and for the `trace` of a status.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.causes();
        if let Some(remedy) = &self.remedy {
            text.push_str(" (remedy: ");
            text.push_str(remedy);
            text.push(')');
        }
        text
    }
}
