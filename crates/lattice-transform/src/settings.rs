//! A transformation's or predicate's own part of the connector's configuration.

use lattice_core::{
    config::{Config, Key, KeyType},
    error::{Error, Result},
};

use crate::java::Pattern;

/// `replace.null.with.default`, which most of Kafka Connect's transformations have.
pub(crate) const REPLACE_NULL: Key = Key::new(
    "replace.null.with.default",
    KeyType::Boolean,
    "Whether NULL in a field with a default becomes the default. Example: false",
)
.default("true");

/// The keys below `transforms.<alias>.` (or `predicates.<alias>.`), without that prefix.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) prefix: String,
    pub(crate) config: Config,
}

impl Settings {
    /// What stands below `prefix`.
    pub(crate) fn below(config: &Config, prefix: String) -> Self {
        let mut own = Config::default();
        for (name, value) in config.iter() {
            if let Some(name) = name.strip_prefix(&prefix) {
                own.set(name, value);
            }
        }
        Self { prefix, config: own }
    }

    /// An error that names the key as the connector's configuration has it.
    pub(crate) fn invalid(&self, key: &str, reason: &str, remedy: &str) -> Error {
        let message = format!("invalid value for configuration \"{}{key}\": {reason}", self.prefix);
        Error::config(message).with_remedy(remedy)
    }

    fn wrong(&self, key: &Key) -> Option<Error> {
        let reason = match self.config.text(key) {
            Some(value) => key.check(value)?,
            None if key.required => "a value is required".to_owned(),
            None => return None,
        };
        Some(self.invalid(key.name, &reason, key.doc))
    }

    /// Errors: `Config` for the first key whose value is against its own rule.
    pub(crate) fn check(&self, keys: &[Key]) -> Result<()> {
        keys.iter().find_map(|key| self.wrong(key)).map_or(Ok(()), Err)
    }

    /// The text, or the default; empty when there is neither.
    pub(crate) fn text(&self, key: &Key) -> &str {
        self.config.get(key.name).or(key.default).unwrap_or_default()
    }

    /// The text without blanks around it; `None`: empty.
    pub(crate) fn given(&self, key: &Key) -> Option<&str> {
        Some(self.text(key).trim()).filter(|text| !text.is_empty())
    }

    /// A list.
    pub(crate) fn list(&self, key: &Key) -> Vec<String> {
        self.config.list(key)
    }

    /// A boolean.
    pub(crate) fn flag(&self, key: &Key) -> bool {
        self.text(key).trim().eq_ignore_ascii_case("true")
    }

    /// A word, in lower case.
    pub(crate) fn word(&self, key: &Key) -> String {
        self.text(key).trim().to_ascii_lowercase()
    }

    /// A regular expression.
    ///
    /// Errors: `Config`.
    pub(crate) fn pattern(&self, key: &Key) -> Result<Pattern> {
        self.pattern_of(key, self.text(key))
    }

    /// A regular expression given as the value of a key.
    pub(crate) fn pattern_of(&self, key: &Key, text: &str) -> Result<Pattern> {
        Pattern::compile(text).map_err(|error| {
            self.invalid(
                key.name,
                &format!("\"{text}\" is no regular expression: {error}"),
                key.doc,
            )
        })
    }
}
