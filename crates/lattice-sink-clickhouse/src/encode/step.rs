//! What is done to a table, one after the other.

use super::BlockColumn;

/// Which record a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// A step of a write.
#[derive(Debug)]
pub(crate) enum Step {
    /// Rows are inserted.
    Rows(Set),
    /// Rows are deleted by statement, where they cannot be marked.
    Delete(Deletes),
    /// Rows older than this version are gone.
    Truncate(u64),
}

/// Rows of one structure, ready to be sent.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) columns: Vec<BlockColumn>,
    pub(crate) rows: Vec<Place>,
    /// Columns whose values the source did not send: taken from the table.
    pub(crate) holes: Vec<String>,
    pub(crate) key: Vec<String>,
}

/// Keys to delete.
#[derive(Debug)]
pub(crate) struct Deletes {
    /// The key's columns.
    pub(crate) key: Vec<String>,
    /// Each key as a literal, and the delete's version.
    pub(crate) tuples: Vec<(String, u64)>,
}
