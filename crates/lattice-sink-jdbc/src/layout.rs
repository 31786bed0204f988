//! How rows of one structure stand in a table: which columns, in which bytes.

use std::sync::Arc;

use lattice_core::value::Value;

use crate::{
    config::OutOfRange,
    mysql::encode::Wire as MysqlWire,
    postgres::encode::Wire as PostgresWire,
    sqlite,
    table::Table,
    value::{Cell, Meaning, fit, fit::Form},
};

/// In what bytes a field is gathered: those that its database is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Postgres(PostgresWire),
    /// A literal.
    Mysql(MysqlWire),
    /// Its storage class and its bytes.
    Sqlite,
}

/// A column of a layout.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) form: Form,
    pub(crate) nullable: bool,
    pub(crate) wire: Wire,
    /// The type of the staging table's column.
    pub(crate) stage: String,
    /// What the staged value is cast to.
    pub(crate) cast: Option<String>,
}

/// Columns of a table that are written together; the key's first.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) table: Arc<Table>,
    pub(crate) slots: Vec<Slot>,
    /// How many of them are the key.
    pub(crate) keys: usize,
    /// Each row has every field that its structure has.
    pub(crate) full: bool,
    /// Unique in its task.
    pub(crate) id: usize,
}

impl Layout {
    /// Names of the key's columns.
    pub(crate) fn key(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().take(self.keys).map(|slot| slot.name.as_str())
    }

    /// The same, owned.
    pub(crate) fn key_names(&self) -> Vec<String> {
        self.key().map(str::to_owned).collect()
    }

    /// The columns beside the key.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().skip(self.keys)
    }

    /// The key of a gathered row, for people.
    pub(crate) fn show_key(&self, row: &[u8]) -> String {
        let fields = Fields(row).zip(self.slots.iter().take(self.keys));
        let pair = |(field, slot): (Option<&[u8]>, &Slot)| {
            let value = match (field, slot.wire) {
                (None, _) => "NULL".to_owned(),
                (Some(bytes), Wire::Postgres(wire)) => wire.show(bytes),
                (Some(bytes), Wire::Mysql(wire)) => wire.show(bytes),
                (Some(bytes), Wire::Sqlite) => sqlite::read(bytes).text().into_owned(),
            };
            format!("{}={value}", slot.name)
        };
        fields.map(pair).collect::<Vec<_>>().join(", ")
    }
}

/// What a slot is filled from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The row's value of this index.
    Field(usize),
    Topic,
    Partition,
    Offset,
}

/// How rows of one structure fill a layout.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) layout: Arc<Layout>,
    /// One a slot.
    pub(crate) sources: Vec<(Source, Meaning)>,
}

/// Where a record stood.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) topic: Arc<str>,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// What came of putting a row into bytes.
pub(crate) struct Encoded {
    /// Bytes of the key at the row's start.
    pub(crate) key: usize,
    /// Slots that the row has no value for; empty: it has all.
    pub(crate) absent: Vec<usize>,
}

/// Puts a row's first `count` slots into bytes: for each its length (−1: NULL) and its bytes.
///
/// Errors: why the row cannot be written, naming the column.
pub(crate) fn encode(
    plan: &Plan,
    count: usize,
    values: &[Value<'_>],
    place: &Place,
    policy: OutOfRange,
    out: &mut Vec<u8>,
) -> Result<Encoded, String> {
    let mut encoded = Encoded { key: 0, absent: Vec::new() };
    let start = out.len();
    let slots = plan.layout.slots.iter().zip(&plan.sources).take(count);
    for (at, (slot, (source, meaning))) in slots.enumerate() {
        let is_key = at < plan.layout.keys;
        let cell = match source {
            Source::Field(field) => match values.get(*field) {
                None | Some(Value::Missing | Value::Unchanged) if !is_key => {
                    encoded.absent.push(at);
                    continue;
                }
                Some(value) => meaning.read(value),
                None => Ok(Cell::Null),
            },
            Source::Topic => Ok(Cell::Text(lattice_core::value::Text::borrowed(&place.topic))),
            Source::Partition => Ok(Cell::Int(i64::from(place.partition))),
            Source::Offset => Ok(Cell::Int(place.offset)),
        };
        let named = |why: &str| format!("column {}: {why}", slot.name);
        let cell = cell.map_err(named)?;
        let cell = fit::fit(&slot.form, cell, policy, slot.nullable && !is_key);
        let cell = cell.map_err(|why| named(&why))?;
        if is_key && cell == Cell::Null {
            return Err(named("it is a part of the key and has no value"));
        }
        put(slot.wire, &cell, out).map_err(|why| named(&why))?;
        if at + 1 == plan.layout.keys {
            encoded.key = out.len() - start;
        }
    }
    Ok(encoded)
}

fn put(wire: Wire, cell: &Cell<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let at = out.len();
    out.extend_from_slice(&(-1_i32).to_be_bytes());
    if *cell == Cell::Null {
        return Ok(());
    }
    match wire {
        Wire::Postgres(wire) => wire.write(cell, out)?,
        Wire::Mysql(wire) => wire.write(cell, out)?,
        Wire::Sqlite => sqlite::write(cell, out)?,
    }
    let length = i32::try_from(out.len() - at - 4)
        .map_err(|_| "the value has more than 2 GiB".to_owned())?;
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// The fields of a gathered row.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        match usize::try_from(i32::from_be_bytes(*length)) {
            Err(_) => {
                self.0 = rest;
                Some(None)
            }
            Ok(length) => {
                let (field, rest) = rest.split_at_checked(length)?;
                self.0 = rest;
                Some(Some(field))
            }
        }
    }
}
