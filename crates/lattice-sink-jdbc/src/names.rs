//! Names: a topic's table, and identifiers as each database quotes and folds them.

use std::fmt;

use crate::url::Dialect;

/// A table's name, with its schema (PostgreSQL) or database (MySQL) if it was given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TableName {
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
}

impl fmt::Display for TableName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(formatter, "{schema}.{}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

impl Dialect {
    /// An identifier between quotes.
    pub(crate) fn quoted(self, name: &str) -> String {
        match self {
            Self::Mysql => format!("`{}`", name.replace('`', "``")),
            Self::Postgres | Self::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A table's name between quotes.
    pub(crate) fn table(self, table: &TableName) -> String {
        match &table.schema {
            Some(schema) => format!("{}.{}", self.quoted(schema), self.quoted(&table.name)),
            None => self.quoted(&table.name),
        }
    }

    /// A list of identifiers between quotes.
    pub(crate) fn list<'a>(self, names: impl Iterator<Item = &'a str>) -> String {
        names.map(|name| self.quoted(name)).collect::<Vec<_>>().join(", ")
    }

    /// The longest identifier: bytes in PostgreSQL, characters in MySQL.
    fn longest(self) -> usize {
        match self {
            Self::Postgres => 63,
            Self::Mysql => 64,
            Self::Sqlite => usize::MAX,
        }
    }

    /// What is wrong with a name, if the database would cut or refuse it.
    pub(crate) fn check_name(self, name: &str) -> Option<String> {
        let length = if self == Self::Mysql { name.chars().count() } else { name.len() };
        match () {
            () if name.is_empty() => Some("a name is empty".to_owned()),
            () if name.contains('\0') => {
                Some(format!("the name \"{}\" has a zero byte", name.escape_debug()))
            }
            () if length > self.longest() => Some(format!(
                "the name \"{name}\" has {length} {}, more than the {} that the database keeps",
                if self == Self::Mysql { "characters" } else { "bytes" },
                self.longest()
            )),
            () => None,
        }
    }
}

/// How a topic's table and a field's column are called.
#[derive(Debug, Clone)]
pub(crate) struct Naming {
    format: String,
    /// Dots of the topic part schema and table; else they become underscores.
    dots_part: bool,
    /// New names keep their case.
    keep_case: bool,
    dialect: Dialect,
}

impl Naming {
    /// Errors: what is wrong with the format.
    pub(crate) fn new(
        format: &str,
        dots_part: bool,
        keep_case: bool,
        dialect: Dialect,
    ) -> Result<Self, String> {
        let mut rest = format;
        while let Some((_, tail)) = rest.split_once("${") {
            let (word, tail) = tail.split_once('}').ok_or("a ${ in it has no end")?;
            if !["topic", "source.schema", "source.table"].contains(&word) {
                return Err(format!(
                    "${{{word}}} is not known; expected ${{topic}}, ${{source.schema}} or ${{source.table}}"
                ));
            }
            rest = tail;
        }
        Ok(Self { format: format.trim().to_owned(), dots_part, keep_case, dialect })
    }

    /// The table of a topic's rows. The source's schema and table are the topic's last two words, as
    /// sources name their topics.
    ///
    /// Errors: what is wrong with the name.
    pub(crate) fn table(&self, topic: &str) -> Result<TableName, String> {
        let mut words = topic.rsplit('.');
        let (table, schema) = (words.next().unwrap_or(topic), words.next());
        if schema.is_none() && self.format.contains("${source.schema}") {
            return Err("its name has no dots, so it tells no ${source.schema}".to_owned());
        }
        let whole = if self.dots_part { topic.to_owned() } else { topic.replace('.', "_") };
        let full = self
            .format
            .replace("${topic}", &whole)
            .replace("${source.schema}", schema.unwrap_or_default())
            .replace("${source.table}", table);
        let full = self.fold(&full);
        let parts: Vec<&str> = full.split('.').map(|part| part.trim_matches('"')).collect();
        let (schema, name) = match (self.dialect, parts.as_slice()) {
            (_, [name]) => (None, *name),
            // A file of SQLite has no schemas of its own: the name keeps its dots.
            (Dialect::Sqlite, _) => (None, full.as_str()),
            (_, [.., schema, name]) => (Some((*schema).to_owned()), *name),
            (_, []) => (None, ""),
        };
        let named = TableName { schema, name: name.to_owned() };
        let wrong = {
            let mut parts = named.schema.iter().chain([&named.name]);
            parts.find_map(|part| self.dialect.check_name(part))
        };
        match wrong {
            Some(reason) => Err(reason),
            None => Ok(named),
        }
    }

    /// The column of a field in a table that is made or changed.
    pub(crate) fn column(&self, field: &str) -> String {
        self.fold(field)
    }

    /// As the database folds names that are not quoted.
    fn fold(&self, name: &str) -> String {
        match self.dialect {
            Dialect::Postgres if !self.keep_case => name.to_lowercase(),
            _ => name.to_owned(),
        }
    }
}

/// The name among those that exist: as it is, else whatever its case if only one is alike.
pub(crate) fn existing<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut alike = Vec::new();
    for name in names {
        if name == wanted {
            return Some(name);
        }
        if name.to_lowercase() == wanted.to_lowercase() {
            alike.push(name);
        }
    }
    match alike.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(format: &str, dots: bool, keep: bool, dialect: Dialect) -> Result<String, String> {
        let naming = Naming::new(format, dots, keep, dialect)?;
        naming.table("p.public.Items").map(|name| name.to_string())
    }

    #[test]
    fn tables_are_named_as_both_vendors_do() {
        let pg = Dialect::Postgres;
        assert_eq!(table("${topic}", false, false, pg).unwrap(), "p_public_items");
        assert_eq!(table("${topic}", true, true, pg).unwrap(), "public.Items");
        assert_eq!(table("a.${source.table}_x", false, true, pg).unwrap(), "a.Items_x");
        assert_eq!(table("${topic}", true, true, Dialect::Sqlite).unwrap(), "p.public.Items");
        assert!(table("${source.lsn}", true, true, pg).unwrap_err().contains("${source.lsn}"));
        assert!(table(&"x".repeat(64), true, true, pg).unwrap_err().contains("64 bytes"));
    }

    #[test]
    fn existing_names_are_found_in_either_case_if_that_is_clear() {
        assert_eq!(existing("Id", ["id", "v"].into_iter()), Some("id"));
        assert_eq!(existing("id", ["Id", "id"].into_iter()), Some("id"));
        assert_eq!(existing("iD", ["Id", "id"].into_iter()), None);
    }
}
