//! Rows of Avro records.

use std::sync::Arc;

use lattice_core::{
    error::{Error, Result},
    event::{Column, RowDecoder, RowVisitor},
    value::Value,
};

use crate::{
    avro::{Damage, Input, Reader},
    filler,
};

/// Reads rows that are Avro records.
#[derive(Debug)]
pub(super) struct AvroRow {
    pub(super) columns: Vec<Column>,
    cells: Vec<Cell>,
}

/// How a column is read.
#[derive(Debug)]
struct Cell {
    reader: Reader,
    /// The branch of a union with null that has the value.
    branch: Option<u8>,
    /// `None`: another than those.
    form: Option<Form>,
    /// What stands for an unchanged value.
    placeholder: Option<Value<'static>>,
}

/// What most columns are, so that these need no [`Value`] on their way.
#[derive(Debug, Clone, Copy)]
enum Form {
    Int,
    Long,
    Text,
    Bytes,
}

impl AvroRow {
    pub(super) fn new(columns: Vec<Column>, readers: Vec<Reader>, placeholder: &[u8]) -> Self {
        let cell = |(column, reader): (&Column, Reader)| {
            Cell::new(reader, filler::placeholder(&column.schema, placeholder))
        };
        let cells = columns.iter().zip(readers).map(cell).collect();
        Self { columns, cells }
    }

    #[cold]
    fn damaged(&self, index: usize, damage: &Damage) -> Error {
        let name = self.columns.get(index).map_or("", |column| &column.name);
        Error::data(format!("read column \"{name}\": {}", damage.reason()))
    }
}

impl Cell {
    fn new(reader: Reader, placeholder: Option<Value<'static>>) -> Self {
        let (branch, inner) = match &reader {
            Reader::Optional(branch, inner) => (Some(*branch), &**inner),
            inner => (None, inner),
        };
        let form = match inner {
            Reader::Int => Some(Form::Int),
            Reader::Long => Some(Form::Long),
            Reader::Text => Some(Form::Text),
            Reader::Bytes => Some(Form::Bytes),
            _ => None,
        };
        Self { branch, form, placeholder, reader }
    }

    #[inline]
    fn visit(&self, input: &mut Input<'_>, visitor: &mut dyn RowVisitor) -> Result<bool, Damage> {
        let Some(form) = self.form else {
            let value = self.reader.read(input)?;
            return Ok(visitor.value(self.told(&value)));
        };
        if let Some(branch) = self.branch
            && !input.optional(branch)?
        {
            return Ok(visitor.null());
        }
        let stands = |bytes: &[u8]| match &self.placeholder {
            Some(Value::Text(text)) => text.as_bytes() == bytes,
            Some(Value::Bytes(placeholder)) => placeholder.as_slice() == bytes,
            _ => false,
        };
        Ok(match form {
            Form::Int => visitor.int(input.int()?),
            Form::Long => visitor.int(input.long()?),
            Form::Text => {
                let text = input.text_bytes()?;
                if stands(text) { visitor.value(&Value::Unchanged) } else { visitor.text(text) }
            }
            Form::Bytes => {
                let bytes = input.bytes()?;
                if stands(bytes) { visitor.value(&Value::Unchanged) } else { visitor.bytes(bytes) }
            }
        })
    }

    /// The value, or that it is unchanged.
    fn told<'v>(&self, value: &'v Value<'v>) -> &'v Value<'v> {
        let unchanged = self.placeholder.as_ref().is_some_and(|placeholder| placeholder == value);
        if unchanged { &Value::Unchanged } else { value }
    }
}

/// The decoder of a table: shares the plan with others.
#[derive(Debug, Clone)]
pub(super) struct SharedRow(pub(super) Arc<AvroRow>);

impl RowDecoder for SharedRow {
    fn decode<'a>(&self, row: &'a [u8], out: &mut Vec<Value<'a>>) -> Result<()> {
        let mut input = Input::new(row);
        for (index, cell) in self.0.cells.iter().enumerate() {
            let value =
                cell.reader.read(&mut input).map_err(|damage| self.0.damaged(index, &damage))?;
            let unchanged =
                cell.placeholder.as_ref().is_some_and(|placeholder| *placeholder == value);
            out.push(if unchanged { Value::Unchanged } else { value });
        }
        ended(&input)
    }

    fn visit(&self, row: &[u8], visitor: &mut dyn RowVisitor) -> Result<bool> {
        let mut input = Input::new(row);
        for (index, cell) in self.0.cells.iter().enumerate() {
            match cell.visit(&mut input, visitor) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(damage) => return Err(self.0.damaged(index, &damage)),
            }
        }
        ended(&input).map(|()| true)
    }
}

fn ended(input: &Input<'_>) -> Result<()> {
    match input.left() {
        0 => Ok(()),
        left => Err(Error::data(format!("{left} bytes follow the row"))),
    }
}
