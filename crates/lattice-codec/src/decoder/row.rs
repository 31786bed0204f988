//! Rows of Avro records.

use lattice_core::{
    error::{Error, Result},
    event::{Column, RowDecoder},
    value::Value,
};

use crate::{
    avro::{Input, Reader},
    filler,
};

/// Reads rows that are Avro records.
#[derive(Debug)]
pub(super) struct AvroRow {
    pub(super) columns: Vec<Column>,
    pub(super) readers: Vec<Reader>,
    /// What stands for an unchanged value in each column.
    pub(super) placeholders: Vec<Option<Value<'static>>>,
}

impl AvroRow {
    pub(super) fn new(columns: Vec<Column>, readers: Vec<Reader>, placeholder: &[u8]) -> Self {
        let placeholders =
            columns.iter().map(|column| filler::placeholder(&column.schema, placeholder)).collect();
        Self { columns, readers, placeholders }
    }
}

/// The decoder of a table: shares the plan with others.
#[derive(Debug, Clone)]
pub(super) struct SharedRow(pub(super) std::sync::Arc<AvroRow>);

impl RowDecoder for SharedRow {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        let plan = &*self.0;
        let mut input = Input::new(row);
        for (index, (reader, placeholder)) in
            plan.readers.iter().zip(&plan.placeholders).enumerate()
        {
            let value = reader.read(&mut input).map_err(|damage| {
                let name = plan.columns.get(index).map_or("", |column| &column.name);
                Error::data(format!("read column \"{name}\": {}", damage.reason()))
            })?;
            let unchanged = placeholder.as_ref().is_some_and(|placeholder| *placeholder == value);
            out.push(if unchanged { Value::Unchanged } else { value });
        }
        if input.left() > 0 {
            return Err(Error::data(format!("{} bytes follow the row", input.left())));
        }
        Ok(())
    }
}
