//! How a field's values become a column's bytes.

use std::{collections::HashMap, sync::Arc};

use lattice_core::schema::{Schema, Type};

use super::moment::Moment;
use crate::{
    profile::Profile,
    types::{self, ChType},
};

/// How values become the column's bytes.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// Whole numbers of a width, within a range.
    Int {
        bytes: usize,
        low: i64,
        high: i64,
    },
    Float32,
    Float64,
    /// Text and bytes as they are.
    Raw,
    /// Any value as text.
    Text(Arc<Schema>),
    /// Text and bytes of at most this length, filled up with zeros.
    Padded(usize),
    Uuid,
    Moment(Moment),
    Decimal {
        bytes: usize,
        precision: u32,
        /// What its digits can hold, if that is less than 128 bits.
        limit: u128,
        scale: i64,
        from: i64,
    },
    Enum {
        bytes: usize,
        labels: HashMap<Box<[u8]>, i16>,
    },
    Array,
    Map,
}

/// How values of `schema` become a column of type `target`; `None`: they cannot.
pub(super) fn form(schema: &Arc<Schema>, target: &ChType, profile: &Profile) -> Option<Form> {
    let whole = matches!(schema.kind, Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64);
    if let Some(moment) = Moment::new(schema, target, profile) {
        return Some(Form::Moment(moment));
    }
    let decimal = schema.semantic() == "org.apache.kafka.connect.data.Decimal";
    Some(match target {
        ChType::Bool if schema.kind == Type::Boolean => Form::Int { bytes: 1, low: 0, high: 1 },
        ChType::Bool if whole => Form::Int { bytes: 1, low: 0, high: 1 },
        ChType::Int { bytes, signed } if whole || schema.kind == Type::Boolean => {
            // What lies beyond 64 bits cannot come.
            let high = |bits: usize| if bits < 63 { (1i64 << bits) - 1 } else { i64::MAX };
            let (low, high) = match signed {
                true => (-high(bytes * 8 - 1) - 1, high(bytes * 8 - 1)),
                false => (0, high(bytes * 8)),
            };
            Form::Int { bytes: *bytes, low, high }
        }
        ChType::Float32 if schema.kind == Type::Float32 => Form::Float32,
        ChType::Float64 if whole || matches!(schema.kind, Type::Float32 | Type::Float64) => {
            Form::Float64
        }
        ChType::String | ChType::Other => string_form(schema),
        ChType::FixedString(length) if matches!(schema.kind, Type::String | Type::Bytes) => {
            Form::Padded(*length)
        }
        ChType::Uuid if schema.kind == Type::String => Form::Uuid,
        ChType::Decimal { precision, scale } if *precision >= 1 => {
            let variable = schema.semantic() == "io.debezium.data.VariableScaleDecimal";
            if !(decimal || variable || whole || schema.kind == Type::String) {
                return None;
            }
            let bytes = match precision {
                ..=9 => 4,
                10..=18 => 8,
                19..=38 => 16,
                _ => 32,
            };
            let from = if decimal { types::scale(schema) } else { 0 };
            let limit = 10u128.pow((*precision).min(38));
            let scale = i64::from(*scale);
            Form::Decimal { bytes, precision: *precision, limit, scale, from }
        }
        ChType::Enum { bytes, labels } if schema.kind == Type::String => {
            let labels = labels.iter().map(|(label, number)| (label.as_bytes().into(), *number));
            Form::Enum { bytes: *bytes, labels: labels.collect() }
        }
        _ => return None,
    })
}

fn string_form(schema: &Arc<Schema>) -> Form {
    let bits = schema.semantic() == "io.debezium.data.Bits";
    let decimal = schema.semantic() == "org.apache.kafka.connect.data.Decimal";
    match schema.kind {
        Type::String => Form::Raw,
        Type::Bytes if !bits && !decimal => Form::Raw,
        _ => Form::Text(Arc::clone(schema)),
    }
}
