//! Runs: one prepared statement, row after row.

use rusqlite::{
    Connection, Statement,
    types::{ToSqlOutput, ValueRef},
};

use super::Sqlite;
use crate::{
    layout::{Fields, Layout, Slot},
    pile::Pile,
    reduce::{Action, Run},
    table::Table,
    target::Failure,
    url::Dialect::Sqlite as SQL,
};

/// A run on its way to the connection's thread.
struct Work {
    /// Statements of one row; the second only if the first found none.
    first: String,
    otherwise: Option<String>,
    /// Parameters of the first, as positions of fields.
    order: Vec<usize>,
    data: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
}

/// Does what a run says.
pub(crate) async fn apply(
    sqlite: &Sqlite,
    pile: &Pile,
    run: &Run,
    table: &Table,
) -> Result<(), Failure> {
    let name = SQL.table(&table.name);
    let Some(layout) = &run.layout else {
        return sqlite.execute(&format!("DELETE FROM {name}")).await.map(drop);
    };
    let Some(mut work) = work(run.action, layout, &name) else { return Ok(()) };
    for op in run.ops.iter().filter_map(|at| pile.ops.get(*at)) {
        work.data.extend_from_slice(pile.row(op));
        work.ends.push(work.data.len());
    }
    sqlite.run(move |connection| work.run(connection)).await
}

/// `None`: there is nothing to do.
fn work(action: Action, layout: &Layout, table: &str) -> Option<Work> {
    let keys = layout.keys;
    let names =
        |slots: &mut dyn Iterator<Item = &Slot>| SQL.list(slots.map(|slot| slot.name.as_str()));
    let all = names(&mut layout.slots.iter());
    let marks = vec!["?"; layout.slots.len()].join(", ");
    let pairs = |slots: &mut dyn Iterator<Item = &Slot>, parting: &str| {
        let pair = |slot: &Slot| format!("{} = ?", SQL.quoted(&slot.name));
        slots.map(pair).collect::<Vec<_>>().join(parting)
    };
    let matches = pairs(&mut layout.slots.iter().take(keys), " AND ");
    let insert = format!("INSERT INTO {table} ({all}) VALUES ({marks})");
    let update =
        || format!("UPDATE {table} SET {} WHERE {matches}", pairs(&mut layout.rest(), ", "));
    let in_order: Vec<usize> = (0..layout.slots.len()).collect();
    let key_last: Vec<usize> = (keys..layout.slots.len()).chain(0..keys).collect();
    let only_keys = layout.slots.len() == keys;
    let unique = layout.full && layout.table.is_unique_by(&layout.key_names());
    let (first, otherwise, order) = match action {
        Action::Truncate => return None,
        Action::Update if only_keys => return None,
        Action::Delete => {
            (format!("DELETE FROM {table} WHERE {matches}"), None, (0..keys).collect())
        }
        Action::Insert => (insert, None, in_order),
        Action::Update => (update(), None, key_last),
        Action::Upsert if unique => {
            let key = names(&mut layout.slots.iter().take(keys));
            let set = |slot: &Slot| {
                let name = SQL.quoted(&slot.name);
                format!("{name} = excluded.{name}")
            };
            let set: Vec<String> = layout.rest().map(set).collect();
            let end = if only_keys {
                "NOTHING".to_owned()
            } else {
                format!("UPDATE SET {}", set.join(", "))
            };
            (format!("{insert} ON CONFLICT ({key}) DO {end}"), None, in_order)
        }
        Action::Upsert if only_keys => {
            // Changes nothing, and tells whether there is such a row.
            let same: Vec<String> =
                layout.key().map(|name| format!("{0} = {0}", SQL.quoted(name))).collect();
            let probe = format!("UPDATE {table} SET {} WHERE {matches}", same.join(", "));
            (probe, Some(insert), in_order)
        }
        Action::Upsert => (update(), Some(insert), key_last),
    };
    Some(Work { first, otherwise, order, data: Vec::new(), ends: Vec::new() })
}

impl Work {
    fn run(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut first = connection.prepare_cached(&self.first)?;
        let mut otherwise = match &self.otherwise {
            Some(sql) => Some(connection.prepare_cached(sql)?),
            None => None,
        };
        let mut fields: Vec<Option<&[u8]>> = Vec::new();
        let mut start = 0;
        for end in &self.ends {
            fields.clear();
            fields.extend(Fields(self.data.get(start..*end).unwrap_or_default()));
            start = *end;
            for (parameter, at) in self.order.iter().enumerate() {
                bind(&mut first, parameter + 1, fields.get(*at).copied().flatten())?;
            }
            if first.raw_execute()? > 0 {
                continue;
            }
            if let Some(insert) = &mut otherwise {
                for (at, field) in fields.iter().enumerate() {
                    bind(insert, at + 1, *field)?;
                }
                insert.raw_execute()?;
            }
        }
        Ok(())
    }
}

fn bind(statement: &mut Statement<'_>, at: usize, field: Option<&[u8]>) -> rusqlite::Result<()> {
    let value = match field.and_then(<[u8]>::split_first) {
        None => ValueRef::Null,
        Some((class, rest)) => {
            let number = || rest.try_into().map(i64::from_be_bytes).unwrap_or(0);
            match class {
                b'i' => ValueRef::Integer(number()),
                b'f' => ValueRef::Real(f64::from_bits(number().cast_unsigned())),
                b'b' => ValueRef::Blob(rest),
                _ => ValueRef::Text(rest),
            }
        }
    };
    statement.raw_bind_parameter(at, ToSqlOutput::Borrowed(value))
}
