//! What is wrong with a configuration, with what mends it.

use crate::error::Error;

/// How serious an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The connector cannot run.
    Error,
    /// It can run; a person should know.
    Warning,
}

/// Something wrong with a configuration or with what it points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigIssue {
    /// The key it belongs to; empty: to none in particular.
    pub key: String,
    /// How serious.
    pub severity: Severity,
    /// The reason.
    pub message: String,
    /// What mends it, as the exact SQL, setting or value where possible.
    pub remedy: Option<String>,
}

impl ConfigIssue {
    /// An error.
    pub fn error(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), severity: Severity::Error, message: message.into(), remedy: None }
    }

    /// A warning.
    pub fn warning(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(key, message) }
    }

    /// An error of `key` as it stands: its message with every cause, and its remedy.
    pub fn of(key: impl Into<String>, error: &Error) -> Self {
        Self { remedy: error.remedy().map(str::to_owned), ..Self::error(key, error.causes()) }
    }

    /// With a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: &str) -> Self {
        self.remedy = Some(remedy.to_owned());
        self
    }
}
