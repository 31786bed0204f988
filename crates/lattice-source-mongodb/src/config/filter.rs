//! Which databases and collections: Debezium's lists, matched against the whole name, by the server and
//! again here.

use lattice_core::{
    Result,
    config::{Config, Key, split_list},
};
use regex::{Regex, RegexBuilder};

use super::keys;

/// Never captured.
const BUILTIN: [&str; 3] = ["admin", "config", "local"];

/// A list of names or patterns, to include or to exclude.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// As they were written.
    pub entries: Vec<String>,
    patterns: Vec<Regex>,
    /// The names that match are left out.
    pub exclude: bool,
}

impl List {
    fn given(config: &Config, key: &Key, literal: bool) -> Result<Option<Self>> {
        let Some(text) = config.get(key.name).filter(|text| !text.trim().is_empty()) else {
            return Ok(None);
        };
        let entries: Vec<String> = split_list(text).collect();
        let pattern = |entry: &String| {
            let source = if literal { regex::escape(entry) } else { entry.clone() };
            RegexBuilder::new(&format!("^(?:{source})$"))
                .case_insensitive(true)
                .dot_matches_new_line(true)
                .build()
                .map_err(|error| {
                    let reason = format!("\"{entry}\" is not a regular expression: {error}");
                    config.invalid(key, &reason)
                })
        };
        let patterns = entries.iter().map(pattern).collect::<Result<_>>()?;
        Ok(Some(Self { entries, patterns, exclude: false }))
    }

    fn either(config: &Config, include: &Key, exclude: &Key, literal: bool) -> Result<Self> {
        let included = Self::given(config, include, literal)?;
        let excluded = Self::given(config, exclude, literal)?;
        match (included, excluded) {
            (Some(_), Some(_)) => {
                let reason = format!("cannot be given together with \"{}\"", include.name);
                Err(config.invalid(exclude, &reason))
            }
            (Some(list), None) => Ok(list),
            (None, Some(list)) => Ok(Self { exclude: true, ..list }),
            (None, None) => Ok(Self { exclude: true, ..Self::default() }),
        }
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether `name` is wanted.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_match(name)) != self.exclude
    }
}

/// What is captured.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Databases.
    pub databases: List,
    /// `database.collection`
    pub collections: List,
    /// Entries are names and not patterns.
    pub literal: bool,
    snapshot: Option<List>,
}

impl Filter {
    /// Errors: `Config`.
    pub fn from_config(config: &Config) -> Result<Self> {
        let literal =
            config.text(&keys::FILTERS_MATCH_MODE).is_some_and(|mode| mode.trim() == "literal");
        Ok(Self {
            databases: List::either(
                config,
                &keys::DATABASE_INCLUDE_LIST,
                &keys::DATABASE_EXCLUDE_LIST,
                literal,
            )?,
            collections: List::either(
                config,
                &keys::COLLECTION_INCLUDE_LIST,
                &keys::COLLECTION_EXCLUDE_LIST,
                literal,
            )?,
            literal,
            snapshot: List::given(config, &keys::SNAPSHOT_INCLUDE_COLLECTION_LIST, false)?,
        })
    }

    /// Whether anything of the database may be captured.
    #[must_use]
    pub fn allows_database(&self, database: &str) -> bool {
        !BUILTIN.contains(&database) && self.databases.allows(database)
    }

    /// Whether the collection is captured.
    #[must_use]
    pub fn allows(&self, database: &str, collection: &str) -> bool {
        self.allows_database(database)
            && !collection.starts_with("system.")
            && self.collections.allows(&format!("{database}.{collection}"))
    }

    /// Whether the collection is captured, and read by the snapshot.
    #[must_use]
    pub fn snapshots(&self, database: &str, collection: &str) -> bool {
        self.allows(database, collection)
            && self
                .snapshot
                .as_ref()
                .is_none_or(|list| list.allows(&format!("{database}.{collection}")))
    }
}
