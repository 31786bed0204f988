//! What a server of some version can do.

use lattice_core::error::Result;

use crate::client::Client;

/// A server's abilities, by its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Profile {
    /// The version's text.
    pub(crate) version: String,
    /// No `Bool`, `DateTime64`, `Date32`, `Map`, wide decimals; other dialect (before 21.12).
    pub(crate) legacy: bool,
    /// `ReplacingMergeTree(version, is_deleted)` (23.2).
    pub(crate) deletes_in_engine: bool,
    /// Dates from year 1 to 9999 (26.7), else 1900 to 2299.
    pub(crate) far_dates: bool,
    /// `insert_deduplication_token` (22.2).
    pub(crate) tokens: bool,
    /// Settings of every insert.
    pub(crate) insert: &'static [(&'static str, &'static str)],
}

impl Profile {
    /// Asks the server. Errors: `Transient`, `Auth`, `Config`.
    pub(crate) async fn detect(client: &Client) -> Result<Self> {
        let version = client.query("SELECT version()").await?;
        Ok(Self::of(version.trim()))
    }

    /// The abilities of a version, compared as numbers.
    pub(crate) fn of(version: &str) -> Self {
        let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version_number = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let legacy = version_number < (21, 12);
        Self {
            version: version.to_owned(),
            legacy,
            deletes_in_engine: version_number >= (23, 2),
            far_dates: version_number >= (26, 7),
            tokens: version_number >= (22, 2),
            // Asynchronous inserts are the default since 26.2: they answer before rows are there.
            // Rows of one key within an insert are as well replaced by the next merge: to look for
            // them at once is a quarter of the server's work on an insert.
            insert: if legacy {
                &[]
            } else {
                &[("async_insert", "0"), ("optimize_on_insert", "0")]
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(Profile::of("23.10.1").deletes_in_engine);
        assert!(!Profile::of("22.12.1").deletes_in_engine);
        assert!(Profile::of("18.16.1").legacy);
        assert!(!Profile::of("26.9.2.1").legacy);
        assert!(Profile::of("26.10.1").far_dates);
    }
}
