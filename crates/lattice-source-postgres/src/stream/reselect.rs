//! Large values of rows whose key changed.
//!
//! The server leaves values out of an update that are stored out of line and were not touched.
//! Consumers find them in the row they have; but a changed key makes a new row, whose large values
//! nobody has. They are selected from the table as it is now. Should the row have changed since, then the
//! change that made it so is still to come and wins.

use crate::{
    connection::{Row, quote_ident, quote_literal},
    protocol::pgoutput::Relation,
    row::{Field, fields},
};

/// A row to complete.
pub(super) struct Missing {
    /// Selects the values that are missing, in order.
    pub(super) sql: String,
    tuple: Vec<u8>,
}

impl Missing {
    /// Of an update from the key `old` (`K`) to the row `new`; `None`: nothing is missing.
    pub(super) fn of(relation: &Relation, old: &[u8], new: &[u8]) -> Option<Self> {
        if old.first() != Some(&b'K') {
            return None; // the whole old row has the values
        }
        let (old, fields) = (fields(old).ok()?, fields(new).ok()?);
        let (mut wanted, mut conditions, mut moved) = (Vec::new(), Vec::new(), false);
        for ((column, field), old) in relation.columns.iter().zip(&fields).zip(&old) {
            match field {
                Field::Unchanged => wanted.push(quote_ident(&column.name)),
                Field::Text(text) if column.identity => {
                    let text = std::str::from_utf8(text).ok()?;
                    let name = quote_ident(&column.name);
                    conditions.push(format!("{name} = {}", quote_literal(text)));
                    moved |= field != old;
                }
                Field::Text(_) | Field::Null => {}
            }
        }
        let keys = relation.columns.iter().filter(|column| column.identity).count();
        if wanted.is_empty() || !moved || conditions.len() != keys {
            return None;
        }
        let schema = if relation.schema.is_empty() { "pg_catalog" } else { &relation.schema };
        let sql = format!(
            "SELECT {} FROM {}.{} WHERE {}",
            wanted.join(", "),
            quote_ident(schema),
            quote_ident(&relation.table),
            conditions.join(" AND ")
        );
        Some(Self { sql, tuple: new.to_vec() })
    }

    /// The row with the selected values; `None`: it cannot be completed.
    pub(super) fn complete(&self, found: &Row) -> Option<Vec<u8>> {
        let fields = fields(&self.tuple).ok()?;
        let mut found = found.iter();
        let mut out = self.tuple.get(..3)?.to_vec();
        for field in fields {
            let text = match field {
                Field::Unchanged => found.next()?.as_deref().map(AsRef::as_ref),
                Field::Text(text) => Some(text),
                Field::Null => None,
            };
            match text {
                Some(text) => {
                    out.push(b't');
                    out.extend_from_slice(&u32::try_from(text.len()).ok()?.to_be_bytes());
                    out.extend_from_slice(text);
                }
                None => out.push(b'n'),
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::pgoutput::RelationColumn;

    fn relation() -> Relation {
        let column = |name: &str, identity| RelationColumn {
            identity,
            name: name.to_owned(),
            type_oid: 25,
            typmod: -1,
        };
        Relation {
            oid: 1,
            schema: "public".to_owned(),
            table: "t".to_owned(),
            identity: b'd',
            columns: vec![column("id", true), column("body", false)],
        }
    }

    #[test]
    fn a_moved_row_gets_its_large_value_from_the_table() {
        let (old, new) = (b"K\0\x02t\0\0\0\x011n", b"N\0\x02t\0\0\0\x012u");
        let missing = Missing::of(&relation(), old, new).unwrap();
        assert_eq!(missing.sql, r#"SELECT "body" FROM "public"."t" WHERE "id" = '2'"#);
        let row = missing.complete(&vec![Some("xy".to_owned())]).unwrap();
        assert_eq!(row, b"N\0\x02t\0\0\0\x012t\0\0\0\x02xy");
    }

    #[test]
    fn rows_that_stay_or_have_everything_are_left_alone() {
        let old = b"K\0\x02t\0\0\0\x011n";
        assert!(Missing::of(&relation(), old, b"N\0\x02t\0\0\0\x011u").is_none());
        assert!(Missing::of(&relation(), old, b"N\0\x02t\0\0\0\x012n").is_none());
    }
}
