//! Which tables, columns and messages: Debezium's lists of regular expressions, matched against
//! the whole name and without case.

use lattice_core::{
    Result,
    config::{Config, Key, split_list},
};
use regex::{Regex, RegexBuilder};

use super::keys;

/// A list of patterns, to include or to exclude.
#[derive(Debug, Clone, Default)]
pub struct PatternList {
    patterns: Vec<Regex>,
    exclude: bool,
}

impl PatternList {
    /// From a pair of keys of which at most one may be given.
    ///
    /// Errors: `Config`.
    pub fn either(config: &Config, include: &Key, exclude: &Key) -> Result<Self> {
        let included = Self::given(config, include)?;
        let excluded = Self::given(config, exclude)?;
        match (included, excluded) {
            (Some(_), Some(_)) => {
                let reason = format!("cannot be given together with \"{}\"", include.name);
                Err(config.invalid(exclude, &reason))
            }
            (Some(list), None) => Ok(list),
            (None, Some(list)) => Ok(Self { exclude: true, ..list }),
            (None, None) => Ok(Self { patterns: Vec::new(), exclude: true }),
        }
    }

    /// From one key, if it is given.
    ///
    /// Errors: `Config`.
    pub fn given(config: &Config, key: &Key) -> Result<Option<Self>> {
        let Some(text) = config.get(key.name).filter(|text| !text.trim().is_empty()) else {
            return Ok(None);
        };
        let patterns = split_list(text)
            .map(|pattern| full_match(&pattern).map_err(|reason| config.invalid(key, &reason)))
            .collect::<Result<_>>()?;
        Ok(Some(Self { patterns, exclude: false }))
    }

    /// From patterns.
    ///
    /// Errors: which is none, and why.
    pub fn of(patterns: &[String]) -> Result<Self, String> {
        let patterns = patterns.iter().map(|pattern| full_match(pattern)).collect::<Result<_, _>>();
        Ok(Self { patterns: patterns?, exclude: false })
    }

    /// Whether `name` is wanted.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.is_match(name)) != self.exclude
    }
}

impl PatternList {
    /// Patterns of what is wanted, as they were written, that match none of `names`.
    fn unmatched<'l>(&'l self, names: &'l [String]) -> impl Iterator<Item = &'l str> {
        let wanted = self.patterns.iter().filter(|_| !self.exclude);
        let idle = wanted.filter(|pattern| !names.iter().any(|name| pattern.is_match(name)));
        idle.map(|pattern| {
            let text = pattern.as_str();
            text.strip_prefix(START).and_then(|text| text.strip_suffix(END)).unwrap_or(text)
        })
    }
}

/// Around a pattern, so that it matches only a whole name.
const START: &str = "^(?:";
const END: &str = ")$";

fn full_match(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(&format!("{START}{pattern}{END}"))
        .case_insensitive(true)
        .dot_matches_new_line(true)
        .build()
        .map_err(|error| format!("\"{pattern}\" is not a regular expression: {error}"))
}

/// Which tables are captured.
#[derive(Debug, Clone)]
pub struct TableFilter {
    schemas: PatternList,
    tables: PatternList,
    ignore_builtin: bool,
    /// `signal.data.collection`, which is captured whatever the lists say.
    signals: Option<String>,
}

impl TableFilter {
    pub(super) fn from_config(config: &Config) -> Result<Self> {
        Ok(Self {
            schemas: PatternList::either(
                config,
                &keys::SCHEMA_INCLUDE_LIST,
                &keys::SCHEMA_EXCLUDE_LIST,
            )?,
            tables: PatternList::either(
                config,
                &keys::TABLE_INCLUDE_LIST,
                &keys::TABLE_EXCLUDE_LIST,
            )?,
            ignore_builtin: config.boolean(&keys::TABLE_IGNORE_BUILTIN)?,
            signals: config.text(&keys::SIGNAL_DATA_COLLECTION).map(|name| name.trim().to_owned()),
        })
    }

    /// Whether the table is captured.
    #[must_use]
    pub fn allows(&self, schema: &str, table: &str) -> bool {
        let name = format!("{schema}.{table}");
        if self.signals.as_ref().is_some_and(|signals| *signals == name) {
            return true;
        }
        let builtin = matches!(schema, "pg_catalog" | "information_schema")
            || schema.starts_with("pg_temp")
            || schema.starts_with("pg_toast")
            || table == "spatial_ref_sys";
        !(self.ignore_builtin && builtin)
            && self.schemas.allows(schema)
            && self.tables.allows(&name)
    }

    /// Patterns of `table.include.list` that match none of the tables (`schema.table`).
    pub(crate) fn unmatched<'l>(&'l self, tables: &'l [String]) -> impl Iterator<Item = &'l str> {
        self.tables.unmatched(tables)
    }
}

/// Which columns are captured. Key columns always are.
#[derive(Debug, Clone)]
pub struct ColumnFilter(PatternList);

impl ColumnFilter {
    pub(super) fn from_config(config: &Config) -> Result<Self> {
        let (include, exclude) = (&keys::COLUMN_INCLUDE_LIST, &keys::COLUMN_EXCLUDE_LIST);
        PatternList::either(config, include, exclude).map(Self)
    }

    /// Whether the column is captured.
    #[must_use]
    pub fn allows(&self, schema: &str, table: &str, column: &str) -> bool {
        self.0.allows(&format!("{schema}.{table}.{column}"))
    }
}

/// `message.key.columns`: columns that take the primary key's place.
#[derive(Debug, Clone, Default)]
pub struct KeyColumns(Vec<(Regex, Vec<String>)>);

impl KeyColumns {
    fn parse(text: &str) -> Result<Self, String> {
        let entries = text.split(';').map(str::trim).filter(|entry| !entry.is_empty());
        let entry = |entry: &str| {
            let (table, columns) = entry
                .rsplit_once(':')
                .ok_or_else(|| format!("\"{entry}\" is not <table>:<column>[,<column>]"))?;
            let columns = columns.split(',').map(|column| column.trim().to_owned()).collect();
            Ok((full_match(table.trim())?, columns))
        };
        entries.map(entry).collect::<Result<_, String>>().map(Self)
    }

    pub(super) fn from_config(config: &Config) -> Result<Self> {
        let key = &keys::MESSAGE_KEY_COLUMNS;
        Self::parse(config.get(key.name).unwrap_or(""))
            .map_err(|reason| config.invalid(key, &reason))
    }

    /// The columns for a table, if an entry matches.
    #[must_use]
    pub fn of(&self, schema: &str, table: &str) -> Option<Vec<&str>> {
        let name = format!("{schema}.{table}");
        let matching = self.0.iter().filter(|(pattern, _)| pattern.is_match(&name));
        let columns: Vec<&str> =
            matching.flat_map(|(_, columns)| columns.iter().map(String::as_str)).collect();
        (!columns.is_empty()).then_some(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> Config {
        Config::new(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn patterns_match_the_whole_name_without_case() {
        let filter =
            TableFilter::from_config(&config(&[("table.include.list", r"public\.ord.*, S\.x")]))
                .unwrap();
        assert!(filter.allows("public", "Orders"));
        assert!(filter.allows("s", "x"));
        assert!(!filter.allows("public", "reorders"));
        assert!(!filter.allows("xpublic", "orders"));
    }

    #[test]
    fn system_tables_are_never_captured_and_two_lists_are_refused() {
        let all = TableFilter::from_config(&config(&[])).unwrap();
        assert!(all.allows("public", "t") && !all.allows("pg_catalog", "pg_class"));
        let both = config(&[("table.include.list", "a"), ("table.exclude.list", "b")]);
        assert!(TableFilter::from_config(&both).is_err());
    }

    #[test]
    fn key_columns_of_a_table() {
        let keys = KeyColumns::parse("public.a:x,y; .*\\.b:z").unwrap();
        assert_eq!(keys.of("public", "A"), Some(vec!["x", "y"]));
        assert_eq!(keys.of("s", "b"), Some(vec!["z"]));
        assert_eq!(keys.of("s", "c"), None);
        assert!(KeyColumns::parse("nothing").is_err());
    }
}
