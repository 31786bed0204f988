//! How far an incremental snapshot is.

use std::fmt;

use lattice_core::{Error, Result, event::TableSchema};
use serde_json::{Value, json};

/// What is left of an incremental snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IncrementalProgress {
    /// Patterns whose tables are not known yet.
    pub wanted: Vec<String>,
    /// Tables; the first is being read.
    pub tables: Vec<String>,
    /// The last key of the first table that was read; empty: none.
    pub after: Vec<String>,
    /// A signal has paused it.
    pub paused: bool,
}

impl IncrementalProgress {
    /// The patterns' tables are these.
    pub(super) fn resolved(&mut self, patterns: &[String], tables: Vec<String>) {
        self.wanted.retain(|wanted| !patterns.contains(wanted));
        for table in tables {
            if !self.tables.contains(&table) {
                self.tables.push(table);
            }
        }
    }

    /// The first table is done.
    pub(super) fn next_table(&mut self) {
        self.after.clear();
        if !self.tables.is_empty() {
            self.tables.remove(0);
        }
    }

    /// Leaves out what is named; without names everything.
    pub(super) fn stop(&mut self, names: &[String]) {
        let named = |name: &String| names.is_empty() || names.contains(name);
        if self.tables.first().is_some_and(named) {
            self.after.clear();
        }
        self.tables.retain(|table| !named(table));
        self.wanted.retain(|pattern| !named(pattern));
    }

    /// Whether this is the table that is being read.
    pub(super) fn reads(&self, schema: &TableSchema) -> bool {
        self.tables.first().is_some_and(|table| schema.id.is_called(table))
    }

    /// As the position keeps it.
    #[must_use]
    pub fn to_json(&self) -> String {
        json!({"wanted": self.wanted, "tables": self.tables, "after": self.after, "paused": self.paused})
            .to_string()
    }

    /// Reads what [`Self::to_json`] writes.
    ///
    /// Errors: `Config`.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = || Error::config("\"lattice_incremental\" of the position cannot be read");
        let value: Value = serde_json::from_str(text).map_err(|error| bad().with_source(error))?;
        let list = |name: &str| -> Result<Vec<String>> {
            serde_json::from_value(value[name].clone()).map_err(|error| bad().with_source(error))
        };
        Ok(Self {
            wanted: list("wanted")?,
            tables: list("tables")?,
            after: list("after")?,
            paused: value["paused"].as_bool().ok_or_else(bad)?,
        })
    }
}

impl fmt::Display for IncrementalProgress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tables.iter().chain(&self.wanted).map(String::as_str).collect();
        let paused = if self.paused { "paused; " } else { "" };
        write!(formatter, "{paused}left: {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_survives_being_written_and_ends_table_by_table() {
        let mut progress = IncrementalProgress {
            wanted: vec!["public\\.x.*".to_owned()],
            after: vec!["5".to_owned(), "it's".to_owned()],
            ..IncrementalProgress::default()
        };
        assert_eq!(IncrementalProgress::parse(&progress.to_json()).unwrap(), progress);
        progress.after.clear();
        let patterns = progress.wanted.clone();
        progress.resolved(&patterns, vec!["public.xa".to_owned(), "public.xb".to_owned()]);
        progress.after = vec!["7".to_owned()];
        progress.next_table();
        assert_eq!(
            (&progress.tables[..], progress.after.len()),
            (&["public.xb".to_owned()][..], 0)
        );
        progress.stop(&[]);
        assert_eq!(progress, IncrementalProgress::default());
        assert!(IncrementalProgress::parse("{}").is_err());
    }
}
