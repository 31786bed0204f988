//! A schema and a converter, compiled: values → a record's key or value.

use std::sync::Arc;

use lattice_core::{
    error::{Error, Result},
    schema::{Schema, Type},
    value::Value,
};
use lattice_registry::{NewSchema, SchemaRegistry};

use crate::{
    avro, json,
    options::ConverterConfig,
    primitive::Primitive,
    text::{java_text, simple_text},
};

/// Why a value cannot be written, and which field of the row it is.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) column: Option<usize>,
    pub(crate) reason: &'static str,
}

impl From<&'static str> for Fault {
    fn from(reason: &'static str) -> Self {
        Self { column: None, reason }
    }
}

/// A member of an envelope.
#[derive(Clone, Copy)]
pub(crate) enum Part<'p, 'v> {
    /// NULL.
    Null,
    /// A struct's values.
    Row(&'p [Value<'v>]),
    /// Any value.
    One(&'p Value<'v>),
    /// A struct of which most is encoded, and the values between.
    Pieces(&'p Pieces, &'p [Value<'v>]),
}

/// An encoded struct with gaps for some of its fields.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    bytes: Vec<u8>,
    /// Field, and where in `bytes` its value belongs; ascending.
    gaps: Vec<(usize, usize)>,
}

impl Pieces {
    /// Writes the struct, each gap filled by `write` with its field and value.
    fn write<F>(
        &self,
        values: &[Value<'_>],
        out: &mut Vec<u8>,
        write: impl Fn(usize, &Value<'_>, &mut Vec<u8>) -> Result<(), F>,
    ) -> Result<(), F> {
        let mut from = 0;
        for ((field, at), value) in self.gaps.iter().zip(values) {
            out.extend_from_slice(self.bytes.get(from..*at).unwrap_or_default());
            write(*field, value, out)?;
            from = *at;
        }
        out.extend_from_slice(self.bytes.get(from..).unwrap_or_default());
        Ok(())
    }
}

#[derive(Debug)]
enum Form {
    Avro(avro::Node),
    Json(json::Node),
    Text(Schema),
    Simple(Schema),
    Bytes,
    Primitive(Primitive),
}

/// Writes values of one schema.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Stands before every value: magic and schema id, or the JSON envelope's schema.
    prefix: Box<[u8]>,
    form: Form,
    suffix: &'static [u8],
}

/// What a writer is made of.
pub(crate) struct Recipe<'a> {
    pub(crate) converter: ConverterConfig,
    pub(crate) schema: &'a Schema,
    pub(crate) subject: &'a str,
    pub(crate) placeholder: &'a [u8],
    /// Keys have no NULLs: where the schema allows none they become the type's zero.
    pub(crate) key: bool,
}

impl Writer {
    /// Compiles, and registers the schema where the converter has a registry.
    ///
    /// Errors: the registry's; `Config` where the converter cannot take the schema.
    pub(crate) async fn compile(
        recipe: Recipe<'_>,
        registry: &Arc<dyn SchemaRegistry>,
    ) -> Result<Self> {
        let Recipe { converter, schema, subject, placeholder, key } = recipe;
        let nulls = converter.nulls();
        match converter {
            ConverterConfig::Avro { long_ids, .. } => {
                let text = avro::avro_text(schema, converter.meta());
                let id = registry.register(subject, NewSchema::avro(text)).await;
                let id = id.map_err(|error| not_registered(subject, error))?;
                let mut prefix = vec![0];
                if long_ids {
                    prefix.extend_from_slice(&[0; 4]);
                }
                prefix.extend_from_slice(&id.0.to_be_bytes());
                let node = avro::Node::compile(schema, nulls, placeholder);
                let node = if key { node.fields_null_as_zero() } else { node };
                Ok(Self { prefix: prefix.into(), form: Form::Avro(node), suffix: b"" })
            }
            ConverterConfig::Json { schemas, numeric, .. } => {
                let node = json::Node::compile(schema, numeric, nulls, placeholder);
                let node = if key { node.fields_null_as_zero() } else { node };
                let (prefix, suffix): (Vec<u8>, &'static [u8]) = if schemas {
                    let text = json::schema_text(schema);
                    (format!("{{\"schema\":{text},\"payload\":").into_bytes(), b"}")
                } else {
                    (Vec::new(), b"")
                };
                Ok(Self { prefix: prefix.into(), form: Form::Json(node), suffix })
            }
            ConverterConfig::Text => Ok(Self::plain(Form::Text(schema.clone()))),
            ConverterConfig::Simple => Ok(Self::plain(Form::Simple(schema.clone()))),
            ConverterConfig::Bytes if schema.kind == Type::Bytes => Ok(Self::plain(Form::Bytes)),
            ConverterConfig::Primitive(one) if schema.kind == one.kind() => {
                Ok(Self::plain(Form::Primitive(one)))
            }
            ConverterConfig::Bytes => Err(not_taken("ByteArrayConverter", subject, "bytes")),
            ConverterConfig::Primitive(one) => {
                let class = one.class().rsplit('.').next().unwrap_or_default();
                Err(not_taken(class, subject, "value of its type"))
            }
        }
    }

    fn plain(form: Form) -> Self {
        Self { prefix: Box::default(), form, suffix: b"" }
    }

    /// Writes a value.
    pub(crate) fn write(&self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        out.extend_from_slice(&self.prefix);
        match &self.form {
            Form::Avro(node) => node.write(value, out)?,
            Form::Json(node) => node.write(value, out)?,
            Form::Text(schema) | Form::Simple(schema) => {
                let mut text = String::new();
                match self.form {
                    Form::Text(_) => java_text(schema, value, &mut text),
                    _ => simple_text(schema, value, false, &mut text),
                }
                out.extend_from_slice(text.as_bytes());
            }
            Form::Primitive(primitive) => primitive.write(value, out)?,
            Form::Bytes => match value {
                Value::Bytes(bytes) => out.extend_from_slice(bytes.as_slice()),
                _ => return Err(Fault::from("a value that is no bytes")),
            },
        }
        out.extend_from_slice(self.suffix);
        Ok(())
    }

    /// Writes a struct of the values at `picks`: a key of a row.
    pub(crate) fn write_picked(
        &self,
        row: &[Value<'_>],
        picks: &[usize],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let picked = picks.iter().map(|pick| row.get(*pick).unwrap_or(&Value::Missing));
        match &self.form {
            Form::Avro(node) => {
                out.extend_from_slice(&self.prefix);
                for ((node, value), column) in node.fields().iter().zip(picked).zip(picks) {
                    node.write(value, out)
                        .map_err(|reason| Fault { column: Some(*column), reason })?;
                }
                out.extend_from_slice(self.suffix);
                Ok(())
            }
            Form::Json(node) => {
                out.extend_from_slice(&self.prefix);
                json_fields(node, picked, out).map_err(|(index, reason)| Fault {
                    column: picks.get(index).copied(),
                    reason,
                })?;
                out.extend_from_slice(self.suffix);
                Ok(())
            }
            _ => self.write(&Value::Struct(picked.cloned().collect()), out),
        }
    }

    /// Encodes the struct that is the value's member `member`, with gaps for the fields `gaps`.
    ///
    /// False: this form has no pieces; write the whole struct.
    pub(crate) fn pieces(
        &self,
        member: usize,
        values: &[Value<'_>],
        gaps: &[usize],
        pieces: &mut Pieces,
    ) -> Result<bool, Fault> {
        pieces.bytes.clear();
        pieces.gaps.clear();
        match &self.form {
            Form::Avro(node) => {
                let Some(node) = node.fields().get(member) else { return Ok(false) };
                node.write_branch(&mut pieces.bytes);
                for (index, (field, value)) in node.fields().iter().zip(values).enumerate() {
                    if gaps.contains(&index) {
                        pieces.gaps.push((index, pieces.bytes.len()));
                    } else {
                        field.write(value, &mut pieces.bytes)?;
                    }
                }
            }
            Form::Json(node) => {
                let Some((_, node)) = node.fields().get(member) else { return Ok(false) };
                pieces.bytes.push(b'{');
                for (index, ((name, field), value)) in node.fields().iter().zip(values).enumerate()
                {
                    if index > 0 {
                        pieces.bytes.push(b',');
                    }
                    pieces.bytes.extend_from_slice(name);
                    if gaps.contains(&index) {
                        pieces.gaps.push((index, pieces.bytes.len()));
                    } else {
                        field.write(value, &mut pieces.bytes)?;
                    }
                }
                pieces.bytes.push(b'}');
            }
            Form::Text(_) | Form::Simple(_) | Form::Bytes | Form::Primitive(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Writes a struct, member by member.
    pub(crate) fn write_parts(
        &self,
        parts: &[Part<'_, '_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        match &self.form {
            Form::Avro(node) => {
                out.extend_from_slice(&self.prefix);
                for (node, part) in node.fields().iter().zip(parts) {
                    match part {
                        Part::Null => node.write(&Value::Null, out)?,
                        Part::One(value) => node.write(value, out)?,
                        Part::Row(values) => avro_row(node, values, out)?,
                        Part::Pieces(pieces, values) => {
                            let fields = node.fields();
                            pieces.write(values, out, |index, value, out| {
                                fields.get(index).map_or(Ok(()), |field| field.write(value, out))
                            })?;
                        }
                    }
                }
            }
            Form::Json(node) => {
                out.extend_from_slice(&self.prefix);
                for (index, ((name, node), part)) in node.fields().iter().zip(parts).enumerate() {
                    out.push(if index == 0 { b'{' } else { b',' });
                    out.extend_from_slice(name);
                    match part {
                        Part::Null => node.write(&Value::Null, out)?,
                        Part::One(value) => node.write(value, out)?,
                        Part::Row(values) => json_fields(node, values.iter(), out)
                            .map_err(|(index, reason)| Fault { column: Some(index), reason })?,
                        Part::Pieces(pieces, values) => {
                            let fields = node.fields();
                            pieces.write(values, out, |index, value, out| {
                                let field = fields.get(index);
                                field.map_or(Ok(()), |(_, field)| field.write(value, out))
                            })?;
                        }
                    }
                }
                out.push(b'}');
            }
            _ => return self.write(&owned(parts), out),
        }
        out.extend_from_slice(self.suffix);
        Ok(())
    }
}

fn avro_row(node: &avro::Node, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Fault> {
    node.write_branch(out);
    let fields = node.fields();
    if fields.len() != values.len() {
        return Err(Fault::from("a row with another number of columns"));
    }
    for (index, (field, value)) in fields.iter().zip(values).enumerate() {
        field.write(value, out).map_err(|reason| Fault { column: Some(index), reason })?;
    }
    Ok(())
}

fn json_fields<'i, 'v: 'i>(
    node: &json::Node,
    values: impl Iterator<Item = &'i Value<'v>>,
    out: &mut Vec<u8>,
) -> Result<(), (usize, &'static str)> {
    out.push(b'{');
    for (index, ((name, node), value)) in node.fields().iter().zip(values).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(name);
        node.write(value, out).map_err(|reason| (index, reason))?;
    }
    out.push(b'}');
    Ok(())
}

fn owned<'v>(parts: &[Part<'_, 'v>]) -> Value<'v> {
    let value = |part: &Part<'_, 'v>| match part {
        Part::Null => Value::Null,
        Part::One(value) => (*value).clone(),
        Part::Row(values) => Value::Struct(values.to_vec()),
        // Only forms that have pieces are given them.
        Part::Pieces(..) => Value::Missing,
    };
    Value::Struct(parts.iter().map(value).collect())
}

fn not_taken(class: &str, subject: &str, what: &str) -> Error {
    Error::config(format!("the {class} cannot write records of {subject}, which are no {what}"))
        .with_remedy("use the AvroConverter or the JsonConverter, or take the value out of its struct by the transformation ExtractField")
}

fn not_registered(subject: &str, error: Error) -> Error {
    let wrapped = Error::new(error.kind(), format!("register the schema of subject \"{subject}\""));
    let wrapped = match error.remedy() {
        Some(remedy) => {
            let remedy = remedy.to_owned();
            wrapped.with_remedy(remedy)
        }
        None => wrapped,
    };
    wrapped.with_source(error)
}
