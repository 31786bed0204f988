//! A target table as it is.

use crate::{names::TableName, value::fit::Form};

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) form: Form,
    /// The type as the database writes it.
    pub(crate) type_text: String,
    /// The same without length and precision, of the domain's base: what texts are cast to.
    pub(crate) cast: String,
    pub(crate) nullable: bool,
    /// The database computes it.
    pub(crate) generated: bool,
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) name: TableName,
    pub(crate) columns: Vec<Column>,
    /// Column sets of unique indexes, the primary key's first.
    pub(crate) uniques: Vec<Vec<String>>,
    /// Tables that rows of this one refer to.
    pub(crate) parents: Vec<TableName>,
}

impl Table {
    /// The column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether rows are unique by exactly these columns.
    pub(crate) fn is_unique_by(&self, key: &[String]) -> bool {
        self.uniques.iter().any(|unique| same(unique, key))
    }
}

fn same(left: &[String], right: &[String]) -> bool {
    left.len() == right.len() && left.iter().all(|name| right.contains(name))
}
