//! Values → JSON text, by a plan that is compiled once a schema.

use std::{
    fmt::{Display, LowerExp},
    io::Write as _,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lattice_core::{
    decimal,
    schema::{Schema, Type},
    value::Value,
};

use super::number::float_text;
use crate::{avro::Nulls, filler};

/// How a value of one schema is written.
#[derive(Debug)]
pub(crate) struct Node {
    shape: Shape,
    null: Option<Box<[u8]>>,
    missing: Box<[u8]>,
    unchanged: Box<[u8]>,
}

#[derive(Debug)]
enum Shape {
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    /// Decimal as a number literal.
    Decimal(i64),
    Array(Box<Node>),
    /// Keys are texts.
    Map(Box<Node>),
    Entries(Box<Node>, Box<Node>),
    /// Each field with `"name":` before it.
    Record(Vec<(Box<[u8]>, Node)>),
}

type Fault = &'static str;

impl Node {
    /// Compiles a schema.
    pub(crate) fn compile(
        schema: &Schema,
        numeric: bool,
        nulls: Nulls,
        placeholder: &[u8],
    ) -> Self {
        let child = |schema: &Schema| Self::compile(schema, numeric, nulls, placeholder);
        let text = || Box::new(child(&Schema::new(Type::String)));
        let element =
            || schema.element.as_ref().map_or_else(text, |element| Box::new(child(element)));
        let decimal = schema.semantic() == "org.apache.kafka.connect.data.Decimal";
        let shape = match schema.kind {
            Type::Boolean => Shape::Bool,
            Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 => Shape::Int,
            Type::Float32 | Type::Float64 => Shape::Float,
            Type::String => Shape::Text,
            Type::Bytes if numeric && decimal => Shape::Decimal(
                schema.get_parameter("scale").and_then(|scale| scale.parse().ok()).unwrap_or(0),
            ),
            Type::Bytes => Shape::Bytes,
            Type::Array => Shape::Array(element()),
            Type::Map if schema.key.as_ref().is_none_or(|key| key.kind == Type::String) => {
                Shape::Map(element())
            }
            Type::Map => Shape::Entries(
                schema.key.as_ref().map_or_else(text, |key| Box::new(child(key))),
                element(),
            ),
            Type::Struct => Shape::Record(
                schema
                    .fields
                    .iter()
                    .map(|field| {
                        let mut name = Vec::new();
                        write_string(field.name.as_bytes(), &mut name);
                        name.push(b':');
                        (name.into(), child(&field.schema))
                    })
                    .collect(),
            ),
        };
        let mut node =
            Self { shape, null: None, missing: Box::default(), unchanged: Box::default() };
        node.fill(schema, nulls, placeholder);
        node
    }

    fn fill(&mut self, schema: &Schema, nulls: Nulls, placeholder: &[u8]) {
        let null: Option<Box<[u8]>> = schema.optional.then(|| Box::from(*b"null"));
        let default = schema.default.as_ref().filter(|default| !default.is_absent());
        let default = default.and_then(|default| self.bytes_of(default));
        self.null = match (nulls, null) {
            (Nulls::Kept, Some(null)) => Some(null),
            (_, null) => default.or(null),
        };
        self.missing = match &self.null {
            Some(null) => null.clone(),
            None => self.bytes_of(&filler::zero(schema)).unwrap_or_else(|| Box::from(*b"null")),
        };
        self.unchanged = filler::placeholder(schema, placeholder)
            .and_then(|value| self.bytes_of(&value))
            .unwrap_or_else(|| self.missing.clone());
    }

    fn bytes_of(&self, value: &Value<'_>) -> Option<Box<[u8]>> {
        let mut bytes = Vec::new();
        self.write(value, &mut bytes).ok()?;
        Some(bytes.into())
    }

    /// The record's fields, each with its name as it is written; empty for anything else.
    pub(crate) fn fields(&self) -> &[(Box<[u8]>, Node)] {
        match &self.shape {
            Shape::Record(fields) => fields,
            _ => &[],
        }
    }

    /// Makes every field write NULL like a value that was not sent.
    pub(crate) fn fields_null_as_zero(mut self) -> Self {
        if let Shape::Record(fields) = &mut self.shape {
            for (_, field) in fields {
                if field.null.is_none() {
                    field.null = Some(field.missing.clone());
                }
            }
        }
        self
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
            value => return self.shape.write(value, out),
        }
        Ok(())
    }
}

impl Shape {
    fn write(&self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        match (self, value) {
            (Self::Bool, Value::Bool(value)) => {
                out.extend_from_slice(if *value { b"true" } else { b"false" });
            }
            (Self::Int, Value::Int(number)) => write_int(*number, out),
            (Self::Float, Value::Float32(number)) => {
                write_float(*number, out);
            }
            (Self::Float, Value::Float64(number)) => write_float(*number, out),
            (Self::Text, Value::Text(text)) => write_string(text.as_bytes(), out),
            (Self::Bytes, Value::Bytes(bytes)) => {
                out.push(b'"');
                out.extend_from_slice(STANDARD.encode(bytes.as_slice()).as_bytes());
                out.push(b'"');
            }
            (Self::Decimal(scale), Value::Bytes(bytes)) => {
                out.extend_from_slice(decimal::plain_text(bytes.as_slice(), *scale).as_bytes());
            }
            (Self::Array(element), Value::Array(items)) => {
                list(items, *b"[]", out, |item, out| element.write(item, out))?;
            }
            (Self::Map(element), Value::Map(items)) => {
                list(items, *b"{}", out, |(key, item), out| {
                    let Value::Text(key) = key else { return Err("a map key that is no text") };
                    write_string(key.as_bytes(), out);
                    out.push(b':');
                    element.write(item, out)
                })?;
            }
            (Self::Entries(key_node, element), Value::Map(items)) => {
                list(items, *b"[]", out, |(key, item), out| {
                    out.push(b'[');
                    key_node.write(key, out)?;
                    out.push(b',');
                    element.write(item, out)?;
                    out.push(b']');
                    Ok(())
                })?;
            }
            (Self::Record(fields), Value::Struct(items)) if fields.len() == items.len() => {
                out.push(b'{');
                for (index, ((name, node), item)) in fields.iter().zip(items).enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(name);
                    node.write(item, out)?;
                }
                out.push(b'}');
            }
            _ => return Err("a value of another type than its schema's"),
        }
        Ok(())
    }
}

fn list<T>(
    items: &[T],
    [open, close]: [u8; 2],
    out: &mut Vec<u8>,
    mut write: impl FnMut(&T, &mut Vec<u8>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    out.push(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out)?;
    }
    out.push(close);
    Ok(())
}

pub(crate) fn write_int(number: i64, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{number}");
}

fn write_float<N: Copy + Display + LowerExp + Into<f64>>(number: N, out: &mut Vec<u8>) {
    match not_finite(number.into()) {
        Some(word) => out.extend_from_slice(format!("\"{word}\"").as_bytes()),
        None => out.extend_from_slice(float_text(number).as_bytes()),
    }
}

/// Jackson's word for what is no JSON number.
pub(crate) fn not_finite(number: f64) -> Option<&'static str> {
    match number {
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        number if number.is_nan() => Some("NaN"),
        _ => None,
    }
}

/// A JSON string with Jackson's escapes.
pub(crate) fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut from = 0;
    for (index, byte) in text.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            8 => b"\\b",
            12 => b"\\f",
            0..=31 => b"",
            _ => continue,
        };
        out.extend_from_slice(&text[from..index]);
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04X}");
        } else {
            out.extend_from_slice(escape);
        }
        from = index + 1;
    }
    out.extend_from_slice(&text[from..]);
    out.push(b'"');
}
