//! A target table as it is: engine and columns, read from the server.

use lattice_core::error::Result;

use crate::{
    client::{Client, literal},
    profile::Profile,
    types::ChType,
};

/// The version column of tables that the sink makes.
pub(crate) const VERSION: &str = "_version";
/// The deletion mark of tables that the sink makes.
pub(crate) const DELETED: &str = "is_deleted";
/// The record's place, in tables without a key.
pub(crate) const PLACE: [&str; 3] = ["_topic", "_partition", "_offset"];
/// The operation, in tables without a key.
pub(crate) const OP: &str = "_op";

/// How a table's comment tells its last truncation.
const TRUNCATED: [&str; 2] = ["[lattice: rows of versions below ", " were truncated]"];

/// A column of the target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TargetColumn {
    pub(crate) name: String,
    pub(crate) type_text: String,
    pub(crate) kind: ChType,
    /// `DEFAULT`, `MATERIALIZED`, `ALIAS` or empty.
    pub(crate) default_kind: String,
}

impl TargetColumn {
    /// Whether an insert may name it.
    pub(crate) fn insertable(&self) -> bool {
        !matches!(self.default_kind.as_str(), "MATERIALIZED" | "ALIAS")
    }
}

/// A table of the target database.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) columns: Vec<TargetColumn>,
    /// Whether rows with one sorting key replace each other.
    pub(crate) replaces: bool,
    /// The engine's version column.
    pub(crate) version: Option<String>,
    /// The engine's deletion mark.
    pub(crate) deleted: Option<String>,
    comment: String,
}

impl Target {
    /// Reads a table. `None`: there is none of this name.
    ///
    /// Errors: as the client's.
    pub(crate) async fn read(
        client: &Client,
        profile: &Profile,
        database: &str,
        table: &str,
    ) -> Result<Option<Self>> {
        let (database, table) = (literal(database), literal(table));
        let columns = format!(
            "SELECT name, type, default_kind FROM system.columns \
             WHERE database = {database} AND table = {table}"
        );
        let comment = if profile.legacy { "''" } else { "comment" };
        let engine = format!(
            "SELECT engine_full, {comment} FROM system.tables \
             WHERE database = {database} AND name = {table}"
        );
        let (columns, tables) = (client.rows(&columns).await?, client.rows(&engine).await?);
        let mut found = tables.into_iter().next().into_iter().flatten();
        let Some(engine) = found.next() else { return Ok(None) };
        let comment = found.next().unwrap_or_default();
        let column = |row: Vec<String>| {
            let mut row = row.into_iter();
            let (name, type_text) = (row.next()?, row.next()?);
            let kind = ChType::parse(&type_text);
            Some(TargetColumn {
                name,
                kind,
                type_text,
                default_kind: row.next().unwrap_or_default(),
            })
        };
        let columns = columns.into_iter().filter_map(column).collect();
        Ok(Some(Self { comment, ..Self::new(columns, &engine) }))
    }

    /// A table of these columns and this engine clause.
    pub(crate) fn new(columns: Vec<TargetColumn>, engine: &str) -> Self {
        let name = engine.split(['(', ' ']).next().unwrap_or_default();
        let replaces = name.contains("Replacing");
        let mut arguments = if replaces { engine_arguments(engine) } else { Vec::new() };
        if arguments.first().is_some_and(|first| first.starts_with(char::is_numeric)) {
            arguments.clear();
        }
        let mut arguments = arguments.into_iter();
        let (version, deleted) = (arguments.next(), arguments.next());
        Self { columns, replaces, version, deleted, comment: String::new() }
    }

    /// Whether rows made for `other` are right for it, too.
    pub(crate) fn is_shaped_like(&self, other: &Self) -> bool {
        let parts =
            |target: &Self| (target.replaces, target.version.clone(), target.deleted.clone());
        self.columns == other.columns && parts(self) == parts(other)
    }

    /// The column of numbers that marks rows as deleted.
    pub(crate) fn mark(&self) -> Option<&str> {
        let is_number = |name: &&str| {
            let column = self.column(name);
            column.is_some_and(|column| matches!(column.kind, ChType::Bool | ChType::Int { .. }))
        };
        self.deleted.as_deref().or(Some(DELETED)).filter(is_number)
    }

    /// The version below which rows were truncated; 0: none were.
    pub(crate) fn truncated(&self) -> u64 {
        let rest = self.comment.split_once(TRUNCATED[0]).map(|(_, rest)| rest);
        let number = rest.and_then(|rest| rest.split_once(TRUNCATED[1]));
        number.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
    }

    /// The table's comment with this truncation instead of an earlier one.
    pub(crate) fn comment_with_truncation(&self, version: u64) -> String {
        let [start, end] = TRUNCATED;
        let earlier = format!("{start}{}{end}", self.truncated());
        let text = self.comment.replace(&earlier, "");
        format!("{} {start}{version}{end}", text.trim()).trim_start().to_owned()
    }

    /// The column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<&TargetColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether it looks like a table that the sink made: types may be widened.
    pub(crate) fn is_own(&self) -> bool {
        match self.replaces {
            true => self.version.as_deref() == Some(VERSION) && self.column(DELETED).is_some(),
            false => self.has_place() && self.column(OP).is_some(),
        }
    }

    /// Whether each row tells the record it came from.
    pub(crate) fn has_place(&self) -> bool {
        PLACE.iter().all(|name| self.column(name).is_some())
    }
}

/// The engine's arguments that are columns.
fn engine_arguments(engine: &str) -> Vec<String> {
    let Some((_, rest)) = engine.split_once("MergeTree(") else { return Vec::new() };
    let mut depth = 0;
    let end = rest.find(|char| {
        depth += match char {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth < 0
    });
    let inner = &rest[..end.unwrap_or(rest.len())];
    let arguments = inner.split(',').map(str::trim);
    let columns = arguments.filter(|argument| !argument.is_empty() && !argument.starts_with('\''));
    columns.map(|argument| argument.trim_matches('`').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_mark_are_found_in_the_engine() {
        let of = |engine: &str| {
            let target = Target::new(Vec::new(), engine);
            (target.replaces, target.version, target.deleted)
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of("MergeTree ORDER BY id"), (false, None, None));
        assert_eq!(of("ReplacingMergeTree ORDER BY id"), (true, None, None));
        assert_eq!(
            of(
                "ReplacingMergeTree(_version, is_deleted) ORDER BY id SETTINGS index_granularity = 8192"
            ),
            (true, text("_version"), text("is_deleted"))
        );
        assert_eq!(
            of("ReplicatedReplacingMergeTree('/clickhouse/{uuid}', '{replica}', ver) ORDER BY id"),
            (true, text("ver"), None)
        );
    }
}
