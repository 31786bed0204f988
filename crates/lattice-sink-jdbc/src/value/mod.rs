//! Values between the source's schemas and the target's columns.

pub(crate) mod decimal;
pub(crate) mod fit;
pub(crate) mod json;
pub(crate) mod moment;

use std::{borrow::Cow, sync::Arc};

use lattice_core::{
    calendar,
    schema::{Schema, Type},
    value::{Binary, Text, Value},
};

use moment::{date_text, time_text, timestamp_text};

/// What a field's values mean, found once from its schema.
#[derive(Debug, Clone)]
pub(crate) enum Meaning {
    Bool,
    /// So many bits.
    Int(u8),
    Float32,
    Float64,
    Text(Kind),
    Decimal {
        precision: Option<u32>,
        scale: i64,
    },
    VariableDecimal,
    Bytes,
    /// Little-endian bits; `None`: any number of them.
    Bits(Option<usize>),
    /// Days.
    Date,
    /// So many units a second.
    Time(i64),
    Timestamp(i64),
    /// Text with a zone.
    Zoned,
    /// µs.
    Duration,
    Array(Box<Meaning>),
    /// `x` and `y`.
    Point,
    /// Everything else, as JSON.
    Json(Arc<Schema>),
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Json,
    Uuid,
    Xml,
    Enum,
    Interval,
    ZonedTime,
    Date,
    Time,
    Timestamp,
    Search,
}

impl Meaning {
    /// The meaning of a schema's values.
    pub(crate) fn of(schema: &Schema) -> Self {
        if let Some(meaning) = Self::named(schema) {
            return meaning;
        }
        match schema.kind {
            Type::Int8 => Self::Int(8),
            Type::Int16 => Self::Int(16),
            Type::Int32 => Self::Int(32),
            Type::Int64 => Self::Int(64),
            Type::Float32 => Self::Float32,
            Type::Float64 => Self::Float64,
            Type::Boolean => Self::Bool,
            Type::String => Self::Text(Kind::Plain),
            Type::Bytes => Self::Bytes,
            Type::Array => match &schema.element {
                Some(element) => Self::Array(Box::new(Self::of(element))),
                None => Self::Json(Arc::new(schema.clone())),
            },
            Type::Map | Type::Struct => Self::Json(Arc::new(schema.clone())),
        }
    }

    fn named(schema: &Schema) -> Option<Self> {
        let number = |name: &str| schema.get_parameter(name).and_then(|text| text.parse().ok());
        Some(match (schema.semantic(), schema.kind) {
            ("org.apache.kafka.connect.data.Decimal", Type::Bytes) => Self::Decimal {
                precision: number("connect.decimal.precision")
                    .and_then(|precision: i64| u32::try_from(precision).ok()),
                scale: number("scale").unwrap_or(0),
            },
            ("io.debezium.data.VariableScaleDecimal", Type::Struct) => Self::VariableDecimal,
            ("io.debezium.data.Bits", Type::Bytes) => {
                let length = number("length").and_then(|length: i64| usize::try_from(length).ok());
                Self::Bits(length.filter(|length| (1..65_536).contains(length)))
            }
            ("io.debezium.time.Date" | "org.apache.kafka.connect.data.Date", Type::Int32) => {
                Self::Date
            }
            ("io.debezium.time.Time" | "org.apache.kafka.connect.data.Time", Type::Int32) => {
                Self::Time(1_000)
            }
            ("io.debezium.time.MicroTime", Type::Int64) => Self::Time(1_000_000),
            ("io.debezium.time.NanoTime", Type::Int64) => Self::Time(1_000_000_000),
            (
                "io.debezium.time.Timestamp" | "org.apache.kafka.connect.data.Timestamp",
                Type::Int64,
            ) => Self::Timestamp(1_000),
            ("io.debezium.time.MicroTimestamp", Type::Int64) => Self::Timestamp(1_000_000),
            ("io.debezium.time.NanoTimestamp", Type::Int64) => Self::Timestamp(1_000_000_000),
            ("io.debezium.time.ZonedTimestamp", Type::String) => Self::Zoned,
            ("io.debezium.time.MicroDuration", Type::Int64) => Self::Duration,
            ("io.debezium.data.geometry.Point", Type::Struct) => Self::Point,
            (name, Type::String) => Self::Text(Kind::named(name)?),
            _ => return None,
        })
    }

    /// In a word, for people.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Int(bits) => format!("int{bits}"),
            Self::Text(kind) => format!("{kind:?}").to_lowercase(),
            Self::Decimal { precision: Some(precision), scale } => {
                format!("decimal({precision},{scale})")
            }
            Self::Array(element) => format!("array of {}", element.described()),
            Self::Json(_) => "struct or map".to_owned(),
            other => {
                let text = format!("{other:?}");
                text.split([' ', '(', '{']).next().unwrap_or_default().to_lowercase()
            }
        }
    }

    /// A value as a cell.
    ///
    /// Errors: what is wrong with it.
    pub(crate) fn read<'v>(&self, value: &'v Value<'v>) -> Result<Cell<'v>, &'static str> {
        Ok(match (self, value) {
            (_, Value::Null | Value::Missing | Value::Unchanged) => Cell::Null,
            (Self::Json(schema), value) => {
                Cell::Text(Text::owned(json::json(schema, value).to_string()))
            }
            (Self::Int(_), Value::Int(number)) => Cell::Int(*number),
            (Self::Text(Kind::Date | Kind::Time | Kind::Timestamp), value) => {
                return self.read_moment(value);
            }
            (Self::Text(_), Value::Text(text)) => Cell::Text(Text::borrowed(text.as_str())),
            (Self::Decimal { scale, .. }, Value::Bytes(unscaled)) => Cell::Decimal(
                decimal::decimal(unscaled.as_slice(), *scale)
                    .ok_or("a scale beyond all measure")?,
            ),
            (Self::Bool, Value::Bool(flag)) => Cell::Bool(*flag),
            (Self::Float32, Value::Float32(number)) => Cell::Float32(*number),
            (Self::Float64, Value::Float64(number)) => Cell::Float64(*number),
            (Self::Bytes, Value::Bytes(bytes)) => Cell::Bytes(Binary::borrowed(bytes.as_slice())),
            (Self::Bits(length), Value::Bytes(bits)) => {
                Cell::Text(Text::owned(bit_text(bits.as_slice(), *length)))
            }
            (Self::Array(element), Value::Array(items)) => {
                Cell::Array(items.iter().map(|item| element.read(item)).collect::<Result<_, _>>()?)
            }
            (Self::VariableDecimal, Value::Struct(fields)) => match fields.as_slice() {
                [Value::Int(scale), Value::Bytes(unscaled), ..] => Cell::Decimal(
                    decimal::decimal(unscaled.as_slice(), *scale)
                        .ok_or("a scale beyond all measure")?,
                ),
                _ => return Err("not a number of variable scale"),
            },
            (Self::Point, Value::Struct(fields)) => match fields.as_slice() {
                [Value::Float64(x), Value::Float64(y), ..] => {
                    Cell::Text(Text::owned(format!("({x},{y})")))
                }
                _ => return Err("not a point"),
            },
            (_, value) => return self.read_moment(value),
        })
    }

    fn read_moment<'v>(&self, value: &Value<'_>) -> Result<Cell<'v>, &'static str> {
        Ok(match (self, value) {
            (Self::Date, Value::Int(days)) => Cell::Date(match i32::try_from(*days) {
                Ok(i32::MAX) => i64::MAX,
                Ok(i32::MIN) => i64::MIN,
                _ => *days,
            }),
            (Self::Time(per_second), Value::Int(units)) => Cell::Time(micros(*units, *per_second)),
            (Self::Timestamp(per_second), Value::Int(units)) => {
                Cell::Timestamp(infinite(micros(*units, *per_second)))
            }
            (Self::Zoned, Value::Text(text)) => {
                Cell::Zoned(calendar::parse(text.as_bytes()).ok_or("not a date and time")?)
            }
            (Self::Text(kind), Value::Text(text)) => {
                let text = text.as_str().trim_end_matches('Z').as_bytes();
                let found = match kind {
                    Kind::Time => calendar::time_of_day(text).map(|(micros, _)| Cell::Time(micros)),
                    Kind::Date => {
                        calendar::parse(text).map(|micros| Cell::Date(Cell::days(micros)))
                    }
                    _ => calendar::parse(text).map(Cell::Timestamp),
                };
                found.ok_or("not a date or time")?
            }
            (Self::Duration, Value::Int(micros)) => {
                let sign = if *micros < 0 { "-" } else { "" };
                let magnitude = micros.unsigned_abs();
                Cell::Text(Text::owned(format!(
                    "PT{sign}{}.{:06}S",
                    magnitude / 1_000_000,
                    magnitude % 1_000_000
                )))
            }
            _ => return Err("not of its schema's type"),
        })
    }
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "io.debezium.data.Json" => Self::Json,
            "io.debezium.data.Uuid" => Self::Uuid,
            "io.debezium.data.Xml" => Self::Xml,
            "io.debezium.data.Enum" => Self::Enum,
            "io.debezium.data.Tsvector" => Self::Search,
            "io.debezium.time.Interval" => Self::Interval,
            "io.debezium.time.ZonedTime" => Self::ZonedTime,
            "io.debezium.time.IsoDate" => Self::Date,
            "io.debezium.time.IsoTime" => Self::Time,
            "io.debezium.time.IsoTimestamp" => Self::Timestamp,
            _ => return None,
        })
    }
}

fn micros(units: i64, per_second: i64) -> i64 {
    match per_second {
        1_000 => units.saturating_mul(1_000),
        1_000_000_000 => units.div_euclid(1_000),
        _ => units,
    }
}

/// Debezium's sentinels of infinity become the ends of `i64`.
fn infinite(micros: i64) -> i64 {
    match micros {
        9_223_372_036_825_200_000.. => i64::MAX,
        ..=-9_223_372_036_832_400_000 => i64::MIN,
        micros => micros,
    }
}

/// Little-endian bits as digits, the highest first.
fn bit_text(bits: &[u8], length: Option<usize>) -> String {
    let length = length.filter(|length| *length <= bits.len() * 8);
    let length = length.unwrap_or(bits.len() * 8);
    let digit = |at: usize| {
        let byte = bits.get(at / 8).copied().unwrap_or(0);
        if byte >> (at % 8) & 1 == 1 { '1' } else { '0' }
    };
    (0..length).rev().map(digit).collect()
}

/// A value on its way to a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float32(f32),
    Float64(f64),
    /// Digits, with sign and point.
    Decimal(Text<'a>),
    Text(Text<'a>),
    Bytes(Binary<'a>),
    /// Days since 1970; the ends of `i64`: infinity, as in all moments.
    Date(i64),
    /// µs of the day.
    Time(i64),
    /// µs since 1970.
    Timestamp(i64),
    /// The same, in UTC.
    Zoned(i64),
    Array(Vec<Cell<'a>>),
}

impl Cell<'_> {
    /// The value as plain text.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Null => Cow::Borrowed(""),
            Self::Bool(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
            Self::Int(number) => Cow::Owned(number.to_string()),
            Self::Float32(number) => Cow::Owned(float_text(f64::from(*number), number.to_string())),
            Self::Float64(number) => Cow::Owned(float_text(*number, number.to_string())),
            Self::Decimal(text) | Self::Text(text) => Cow::Borrowed(text.as_str()),
            Self::Bytes(bytes) => Cow::Owned(hex(bytes.as_slice())),
            Self::Date(days) => Cow::Owned(date_text(*days)),
            Self::Time(micros) => Cow::Owned(time_text(*micros)),
            Self::Timestamp(micros) => Cow::Owned(timestamp_text(*micros, "")),
            Self::Zoned(micros) => Cow::Owned(timestamp_text(*micros, "+00:00")),
            Self::Array(_) => Cow::Owned(json::of_cell(self).to_string()),
        }
    }

    /// The day of a moment.
    pub(crate) fn days(micros: i64) -> i64 {
        match micros {
            i64::MAX | i64::MIN => micros,
            micros => micros.div_euclid(calendar::DAY_US),
        }
    }
}

fn float_text(number: f64, finite: String) -> String {
    match () {
        () if number.is_nan() => "NaN".to_owned(),
        () if number == f64::INFINITY => "Infinity".to_owned(),
        () if number == f64::NEG_INFINITY => "-Infinity".to_owned(),
        () => finite,
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}
