//! Values → Avro bytes, by a plan that is compiled once a schema.

use lattice_core::{
    schema::{Schema, Type},
    value::Value,
};

use super::schema::{default_leads, string_keys};
use crate::filler;

/// What a NULL becomes where the schema has a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// It stays NULL where NULL is allowed.
    Kept,
    /// It becomes the default, as with Kafka Connect's own defaults.
    Defaulted,
}

/// How a value of one schema is written.
#[derive(Debug)]
pub(crate) struct Node {
    shape: Shape,
    /// The union's branch of a value, already as a byte; `None`: no union.
    branch: Option<u8>,
    /// What is written for NULL; `None`: NULL is refused.
    null: Option<Box<[u8]>>,
    /// What is written for a value the source did not send.
    missing: Box<[u8]>,
    /// What is written for an unchanged out-of-line value.
    unchanged: Box<[u8]>,
}

#[derive(Debug)]
enum Shape {
    Bool,
    Int,
    Long,
    Float,
    Double,
    Text,
    Bytes,
    Array(Box<Node>),
    Map(Box<Node>),
    Entries(Box<Node>, Box<Node>),
    Record(Vec<Node>),
}

/// Why a value cannot be written.
pub(crate) type Fault = &'static str;

impl Node {
    /// Compiles a schema. `placeholder` stands for what was not sent since it is unchanged.
    pub(crate) fn compile(schema: &Schema, nulls: Nulls, placeholder: &[u8]) -> Self {
        let child = |schema: &Schema| Self::compile(schema, nulls, placeholder);
        let element = || schema.element.as_ref().map(|element| Box::new(child(element)));
        let text = || Box::new(child(&Schema::new(Type::String)));
        let shape = match schema.kind {
            Type::Boolean => Shape::Bool,
            Type::Int8 | Type::Int16 | Type::Int32 => Shape::Int,
            Type::Int64 => Shape::Long,
            Type::Float32 => Shape::Float,
            Type::Float64 => Shape::Double,
            Type::String => Shape::Text,
            Type::Bytes => Shape::Bytes,
            Type::Array => Shape::Array(element().unwrap_or_else(text)),
            Type::Map if string_keys(schema) => Shape::Map(element().unwrap_or_else(text)),
            Type::Map => Shape::Entries(
                schema.key.as_ref().map_or_else(text, |key| Box::new(child(key))),
                element().unwrap_or_else(text),
            ),
            Type::Struct => {
                Shape::Record(schema.fields.iter().map(|field| child(&field.schema)).collect())
            }
        };
        let leads = default_leads(schema);
        let branch = schema.optional.then_some(if leads { 0 } else { 2 });
        let mut node =
            Self { shape, branch, null: None, missing: Box::default(), unchanged: Box::default() };
        node.fill(schema, nulls, placeholder);
        node
    }

    /// Prepares the bytes of what is not a value.
    fn fill(&mut self, schema: &Schema, nulls: Nulls, placeholder: &[u8]) {
        let null_branch: Option<Box<[u8]>> =
            self.branch.map(|branch| Box::from([if branch == 0 { 2 } else { 0 }]));
        let default = schema
            .default
            .as_ref()
            .filter(|default| !default.is_absent() && schema.kind != Type::Struct)
            .and_then(|default| self.bytes_of(default));
        self.null = match (nulls, null_branch) {
            (Nulls::Kept, Some(null)) => Some(null),
            (_, null) => default.or(null),
        };
        self.missing = match &self.null {
            Some(null) => null.clone(),
            None => self.bytes_of(&filler::zero(schema)).unwrap_or_default(),
        };
        let unchanged = filler::placeholder(schema, placeholder);
        self.unchanged = unchanged
            .and_then(|value| self.bytes_of(&value))
            .unwrap_or_else(|| self.missing.clone());
    }

    fn bytes_of(&self, value: &Value<'_>) -> Option<Box<[u8]>> {
        let mut bytes = Vec::new();
        self.write(value, &mut bytes).ok()?;
        Some(bytes.into())
    }

    /// Writes a value.
    pub(crate) fn write(&self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        match value {
            Value::Null => match &self.null {
                Some(null) => out.extend_from_slice(null),
                None => return Err("NULL where the schema allows none"),
            },
            Value::Missing => out.extend_from_slice(&self.missing),
            Value::Unchanged => out.extend_from_slice(&self.unchanged),
            value => {
                if let Some(branch) = self.branch {
                    out.push(branch);
                }
                return self.shape.write(value, out);
            }
        }
        Ok(())
    }

    /// The fields of a record; empty for anything else.
    pub(crate) fn fields(&self) -> &[Node] {
        match &self.shape {
            Shape::Record(fields) => fields,
            _ => &[],
        }
    }

    /// Writes the union's branch of a value, if there is a union.
    pub(crate) fn write_branch(&self, out: &mut Vec<u8>) {
        if let Some(branch) = self.branch {
            out.push(branch);
        }
    }

    /// Makes every field write NULL like a value that was not sent: keys have no NULLs.
    pub(crate) fn fields_null_as_zero(mut self) -> Self {
        if let Shape::Record(fields) = &mut self.shape {
            for field in fields {
                if field.null.is_none() {
                    field.null = Some(field.missing.clone());
                }
            }
        }
        self
    }
}

impl Shape {
    fn write(&self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        match (self, value) {
            (Self::Text, Value::Text(text)) => write_bytes(text.as_bytes(), out),
            (Self::Long, Value::Int(number)) => write_long(*number, out),
            (Self::Int, Value::Int(number)) => {
                if i32::try_from(*number).is_err() {
                    return Err("a number beyond 32 bits");
                }
                write_long(*number, out);
            }
            (Self::Bytes, Value::Bytes(bytes)) => write_bytes(bytes.as_slice(), out),
            (Self::Bool, Value::Bool(value)) => out.push(u8::from(*value)),
            (Self::Float, Value::Float32(number)) => out.extend_from_slice(&number.to_le_bytes()),
            (Self::Double, Value::Float64(number)) => out.extend_from_slice(&number.to_le_bytes()),
            (Self::Double, Value::Float32(number)) => {
                out.extend_from_slice(&f64::from(*number).to_le_bytes());
            }
            (Self::Array(element), Value::Array(items)) => {
                block(items, out, |item, out| element.write(item, out))?;
            }
            (Self::Map(element), Value::Map(items)) => {
                block(items, out, |(key, item), out| {
                    let Value::Text(key) = key else { return Err("a map key that is no text") };
                    write_bytes(key.as_bytes(), out);
                    element.write(item, out)
                })?;
            }
            (Self::Entries(key_node, element), Value::Map(items)) => {
                block(items, out, |(key, item), out| {
                    key_node.write(key, out)?;
                    element.write(item, out)
                })?;
            }
            (Self::Record(fields), Value::Struct(items)) => {
                if fields.len() != items.len() {
                    return Err("a struct with another number of fields");
                }
                for (field, item) in fields.iter().zip(items) {
                    field.write(item, out)?;
                }
            }
            _ => return Err("a value of another type than its schema's"),
        }
        Ok(())
    }
}

/// One block of items and the end, as Java writes it.
fn block<T>(
    items: &[T],
    out: &mut Vec<u8>,
    mut write: impl FnMut(&T, &mut Vec<u8>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if !items.is_empty() {
        write_length(items.len(), out);
        for item in items {
            write(item, out)?;
        }
    }
    out.push(0);
    Ok(())
}

pub(crate) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

fn write_length(length: usize, out: &mut Vec<u8>) {
    write_long(i64::try_from(length).unwrap_or(i64::MAX), out);
}

/// A zig-zag varint.
pub(crate) fn write_long(number: i64, out: &mut Vec<u8>) {
    #[allow(clippy::cast_sign_loss)] // zig-zag is a change of bits, not of numbers
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    if rest < 0x80 {
        #[allow(clippy::cast_possible_truncation)] // less than 128
        return out.push(rest as u8);
    }
    let mut bytes = [0_u8; 10];
    let mut len = 0;
    loop {
        #[allow(clippy::cast_possible_truncation)] // the low seven bits are meant
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            bytes[len] = low;
            break;
        }
        bytes[len] = low | 0x80;
        len += 1;
    }
    out.extend_from_slice(&bytes[..=len]);
}
