//! PartitionRouting: the partition by values of the event.

use lattice_core::{
    config::{Key, KeyType, Rule},
    decimal,
    error::{Error, Result},
    schema::{Schema, Type},
    value::Value,
};

use crate::{
    Record, Transform,
    numbers::scale_of,
    record::Side,
    schemas::{DATE, DECIMAL, is_envelope, member},
    settings::Settings,
};

const FIELDS: Key = Key::new(
    "partition.payload.fields",
    KeyType::List,
    "The fields that decide: after.x, before.x, change.x (after, of deletes before), source.x, or one of the \
     envelope. Example: change.customer_id",
)
.required();
const COUNT: Key =
    Key::new("partition.topic.num", KeyType::Int, "How many partitions the topic has.")
        .required()
        .rule(Rule::Range(1, 1_000_000));
const FUNCTION: Key = Key::new(
    "partition.hash.function",
    KeyType::String,
    "java: Java's hashCode. (murmur is not built.)",
)
.default("java")
.rule(Rule::OneOf(&["java", "murmur"]));

pub(super) const KEYS: &[Key] = &[FIELDS, COUNT, FUNCTION];

struct PartitionRouting {
    paths: Vec<Vec<String>>,
    count: i32,
}

pub(super) fn make(settings: &Settings, _: Side) -> Result<Box<dyn Transform>> {
    if settings.word(&FUNCTION) == "murmur" {
        return Err(settings.invalid(
            FUNCTION.name,
            "murmur is not built",
            "use java; records with one value still go to one partition, though to another one",
        ));
    }
    let steps = |path: String| path.split('.').map(str::to_owned).collect();
    let count = settings.text(&COUNT).trim().parse().unwrap_or(1);
    Ok(Box::new(PartitionRouting {
        paths: settings.list(&FIELDS).into_iter().map(steps).collect(),
        count,
    }))
}

impl Transform for PartitionRouting {
    fn apply(&mut self, mut record: Record) -> Result<Option<Record>> {
        let (Some(schema), Value::Struct(values)) = (&record.value.schema, &record.value.value)
        else {
            return Ok(Some(record));
        };
        let op = match member(schema, values, "op") {
            Some((_, Value::Text(op))) => op.as_str(),
            _ => "",
        };
        if !is_envelope(schema) || matches!(op, "t" | "m") {
            return Ok(Some(record));
        }
        let mut sum: Option<i32> = None;
        for path in &self.paths {
            let found = value_at(schema, values, path, op == "d")?;
            if let Some((schema, value)) = found
                && !value.is_absent()
            {
                let hash = hash_code(schema, value);
                sum = Some(sum.unwrap_or(0).wrapping_add(hash));
            }
        }
        if let Some(sum) = sum {
            record.partition = Some((sum & i32::MAX) % self.count);
        }
        Ok(Some(record))
    }
}

/// The value at a path; `None`: there is no such field.
///
/// Errors: `Data` when a struct on the way has no value.
fn value_at<'v>(
    schema: &'v Schema,
    values: &'v [Value<'static>],
    path: &[String],
    deleted: bool,
) -> Result<Option<(&'v Schema, &'v Value<'static>)>> {
    let (mut schema, mut values) = (schema, values);
    for (index, step) in path.iter().enumerate() {
        let step = match (index, step.as_str()) {
            (0, "change") if deleted => "before",
            (0, "change") => "after",
            (_, step) => step,
        };
        let Some((inner, value)) = member(schema, values, step) else { return Ok(None) };
        if index + 1 == path.len() {
            return Ok(Some((inner, value)));
        }
        let Value::Struct(fields) = value else {
            return Err(Error::data(format!("Unprocessable message: it has no \"{step}\""))
                .with_remedy("use change.… instead of after.… or before.…"));
        };
        (schema, values) = (inner, fields);
    }
    Ok(None)
}

/// Java's `hashCode` of the value that a schema's value is there.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Java's narrowing
fn hash_code(schema: &Schema, value: &Value<'static>) -> i32 {
    let long = |value: i64| (value ^ (value as u64 >> 32) as i64) as i32;
    match value {
        Value::Bool(value) => {
            if *value {
                1231
            } else {
                1237
            }
        }
        Value::Int(days) if schema.semantic() == DATE => long(days.saturating_mul(86_400_000)),
        Value::Int(value) if schema.kind == Type::Int64 => long(*value),
        Value::Int(value) if schema.semantic().starts_with("org.apache.kafka") => long(*value),
        Value::Int(value) => *value as i32,
        Value::Float32(value) => value.to_bits() as i32,
        Value::Float64(value) => long(value.to_bits() as i64),
        Value::Text(text) => text
            .as_str()
            .encode_utf16()
            .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit))),
        Value::Bytes(bytes) if schema.semantic() == DECIMAL => {
            big_integer_hash(bytes.as_slice()).wrapping_mul(31).wrapping_add(scale_of(schema))
        }
        Value::Bytes(bytes) => bytes
            .as_slice()
            .iter()
            .fold(1_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(*byte as i8))),
        _ => 0,
    }
}

/// `BigInteger.hashCode`: over the magnitude's 32-bit words, times the sign.
fn big_integer_hash(bytes: &[u8]) -> i32 {
    let (negative, magnitude) = decimal::magnitude(bytes);
    let start = magnitude.iter().position(|byte| *byte != 0).unwrap_or(magnitude.len());
    let digits = &magnitude[start..];
    let first = digits.len() % 4;
    let (head, rest) = digits.split_at(first);
    let word = |bytes: &[u8]| bytes.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    let words = std::iter::once(head).filter(|head| !head.is_empty()).chain(rest.chunks(4));
    let hash = words
        .fold(0_u32, |hash, bytes| hash.wrapping_mul(31).wrapping_add(word(bytes)))
        .cast_signed();
    if negative { hash.wrapping_neg() } else { hash }
}
