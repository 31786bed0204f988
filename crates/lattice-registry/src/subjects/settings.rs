//! What a subject, or the whole registry, has of its own: level, mode, and what is only kept.

use serde_json::{Map, Value};

use super::{Result, Subjects};
use crate::{Code, Level, RegistryError};

/// What a subject (or, under the empty name, the whole registry) has of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) level: Option<Level>,
    pub(crate) mode: Option<Mode>,
    /// Confluent's other members, given back as they came: `normalize`, `alias`, ….
    pub(crate) others: Map<String, Value>,
    /// Apicurio's members of an artifact or a group: `name`, `description`, `labels`, rules.
    pub(crate) apicurio: Map<String, Value>,
}

/// Whether schemas may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    ReadWrite,
    ReadOnly,
    ReadOnlyOverride,
    Import,
    Forward,
}

impl Mode {
    const ALL: [Self; 5] =
        [Self::ReadWrite, Self::ReadOnly, Self::ReadOnlyOverride, Self::Import, Self::Forward];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ReadWrite => "READWRITE",
            Self::ReadOnly => "READONLY",
            Self::ReadOnlyOverride => "READONLY_OVERRIDE",
            Self::Import => "IMPORT",
            Self::Forward => "FORWARD",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(word))
    }

    fn is_read_only(self) -> bool {
        matches!(self, Self::ReadOnly | Self::ReadOnlyOverride | Self::Forward)
    }
}

/// The name under which a group's settings are kept: no subject begins with a colon.
pub(crate) fn group_key(group: &str) -> String {
    format!(":group:{group}")
}

impl Subjects {
    pub(crate) fn settings(&self, subject: &str) -> Settings {
        self.settings.get(subject).cloned().unwrap_or_default()
    }

    pub(crate) fn level(&self, subject: &str) -> Level {
        let own = |subject: &str| self.settings.get(subject).and_then(|settings| settings.level);
        let group = subject.split_once(':').map(|(group, _)| group_key(group));
        own(subject).or_else(|| own(&group?)).or_else(|| own("")).unwrap_or(Level::Backward)
    }

    pub(crate) fn mode(&self, subject: &str) -> Mode {
        let own = |subject: &str| self.settings.get(subject).and_then(|settings| settings.mode);
        match own("") {
            Some(Mode::ReadOnlyOverride) => Mode::ReadOnlyOverride,
            global => own(subject).or(global).unwrap_or(Mode::ReadWrite),
        }
    }

    /// Errors: `NotPermitted` in a mode that only reads.
    pub(crate) fn writable(&self, subject: &str) -> Result<()> {
        if self.mode(subject).is_read_only() {
            let message = format!("Subject {subject} is in read-only mode");
            return Err(RegistryError::new(Code::NotPermitted, message));
        }
        Ok(())
    }

    /// Names under which something is set, the whole registry's empty one too.
    pub(crate) fn set_names(&self) -> impl Iterator<Item = &str> {
        self.settings.keys().map(String::as_str)
    }
}
