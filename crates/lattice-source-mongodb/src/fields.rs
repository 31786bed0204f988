//! `field.exclude.list` and `field.renames`: which fields of documents are left out or called otherwise.
//! Source: Debezium's `FieldSelector`: array indexes count for nothing in paths.

use lattice_core::{
    Result,
    config::{Config, Key},
};
use regex::Regex;

use crate::config::keys;

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate<'f> {
    /// Written as it is, with these paths for what is inside of it.
    Kept,
    /// Left out.
    Removed,
    /// Written under another name.
    Renamed(&'f str),
}

#[derive(Debug, Clone)]
struct Rule {
    namespace: Regex,
    path: Vec<String>,
    rename: Option<String>,
}

/// All rules of a configuration.
#[derive(Debug, Clone, Default)]
pub struct FieldRules(Vec<Rule>);

/// The rules of one collection.
#[derive(Debug, Clone, Default)]
pub struct Fields(Vec<(Vec<String>, Option<String>)>);

/// The rules that are left below some path.
#[derive(Debug, Clone, Default)]
pub struct Below<'f>(Vec<(&'f [String], Option<&'f str>)>);

impl FieldRules {
    /// Errors: `Config`, for entries that are no `database.collection.field`.
    pub fn from_config(config: &Config) -> Result<Self> {
        let mut rules = Vec::new();
        for entry in config.list(&keys::FIELD_EXCLUDE_LIST) {
            rules.push(rule(config, &keys::FIELD_EXCLUDE_LIST, &entry, None)?);
        }
        for entry in config.list(&keys::FIELD_RENAMES) {
            let reason = format!("\"{entry}\" is not <database>.<collection>.<field>:<new name>");
            let (path, name) = entry
                .rsplit_once(':')
                .filter(|(_, name)| !name.trim().is_empty())
                .ok_or_else(|| config.invalid(&keys::FIELD_RENAMES, &reason))?;
            let name = Some(name.trim().to_owned());
            rules.push(rule(config, &keys::FIELD_RENAMES, path, name)?);
        }
        Ok(Self(rules))
    }

    /// Those of one collection.
    #[must_use]
    pub fn of(&self, database: &str, collection: &str) -> Fields {
        let namespace = format!("{database}.{collection}");
        let meant = self.0.iter().filter(|rule| rule.namespace.is_match(&namespace));
        Fields(meant.map(|rule| (rule.path.clone(), rule.rename.clone())).collect())
    }
}

fn rule(config: &Config, key: &Key, entry: &str, rename: Option<String>) -> Result<Rule> {
    let mut parts = entry.trim().split('.');
    let (database, collection) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let path: Vec<String> = parts.map(str::to_owned).collect();
    if database.is_empty()
        || collection.is_empty()
        || path.iter().any(String::is_empty)
        || path.is_empty()
    {
        let reason = format!("\"{entry}\" is not <database>.<collection>.<field>[.<field>]");
        return Err(config.invalid(key, &reason));
    }
    let part = |text: &str| regex::escape(text).replace("\\*", ".*");
    let pattern = format!("(?is)^{}\\.{}$", part(database), part(collection));
    let namespace = Regex::new(&pattern)
        .map_err(|error| config.invalid(key, &format!("\"{entry}\": {error}")))?;
    Ok(Rule { namespace, path, rename })
}

impl Fields {
    /// The rules at a document's top.
    #[must_use]
    pub fn top(&self) -> Below<'_> {
        Below(self.0.iter().map(|(path, name)| (path.as_slice(), name.as_deref())).collect())
    }
}

impl<'f> Below<'f> {
    /// Whether nothing is to be done here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What becomes of the field `name`, and the rules inside of it.
    #[must_use]
    pub fn enter(&self, name: &[u8]) -> (Fate<'f>, Self) {
        let mut inside = Self::default();
        let mut fate = Fate::Kept;
        for (path, rename) in &self.0 {
            let Some((first, rest)) = path.split_first() else { continue };
            if first.as_bytes() != name {
                continue;
            }
            match (rest.is_empty(), *rename) {
                (false, rename) => inside.0.push((rest, rename)),
                (true, None) => return (Fate::Removed, Self::default()),
                (true, Some(name)) => fate = Fate::Renamed(name),
            }
        }
        (fate, inside)
    }

    /// The same for a dotted path of an update description; `None`: it is left out.
    #[must_use]
    pub fn enter_path(&self, dotted: &str) -> Option<(String, Self)> {
        let mut here = self.clone();
        let mut out: Vec<&str> = Vec::new();
        for part in dotted.split('.') {
            let index = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            if index && !out.is_empty() {
                out.push(part);
                continue;
            }
            let (fate, inside) = here.enter(part.as_bytes());
            match fate {
                Fate::Removed => return None,
                Fate::Renamed(name) => out.push(name),
                Fate::Kept => out.push(part),
            }
            here = inside;
        }
        Some((out.join("."), here))
    }
}
