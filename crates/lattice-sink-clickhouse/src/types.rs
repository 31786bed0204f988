//! ClickHouse's types: read from `system.columns`, and chosen for a schema.

use lattice_core::schema::{Schema, Type};

use crate::profile::Profile;

/// A column's type, as far as values are encoded for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChType {
    /// `Bool`
    Bool,
    /// `Int8` … `UInt64`
    Int {
        /// Width.
        bytes: usize,
        /// Whether it has a sign.
        signed: bool,
    },
    /// `Float32`
    Float32,
    /// `Float64`
    Float64,
    /// `String`
    String,
    /// `FixedString(n)`
    FixedString(usize),
    /// `UUID`
    Uuid,
    /// `Date`
    Date,
    /// `Date32`
    Date32,
    /// `DateTime`
    DateTime,
    /// `DateTime64(p)`
    DateTime64(u32),
    /// `Decimal(p, s)`
    Decimal {
        /// Digits.
        precision: u32,
        /// Digits after the point.
        scale: u32,
    },
    /// `Enum8`, `Enum16`
    Enum {
        /// Width.
        bytes: usize,
        /// Labels and numbers.
        labels: Vec<(String, i16)>,
    },
    /// `Array(T)`
    Array(Box<ChType>),
    /// `Map(K, V)`
    Map(Box<ChType>, Box<ChType>),
    /// `Nullable(T)`
    Nullable(Box<ChType>),
    /// `LowCardinality(T)`
    LowCardinality(Box<ChType>),
    /// Any other: sent as text, which the server reads.
    Other,
}

impl ChType {
    /// Reads a type's text.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        let (name, arguments) = match text.split_once('(') {
            Some((name, rest)) => (name.trim(), split(rest.strip_suffix(')').unwrap_or(rest))),
            None => (text, Vec::new()),
        };
        let argument = |at: usize| arguments.get(at).map_or("", |argument| argument.as_str());
        let number = |at: usize| argument(at).parse().unwrap_or(0);
        let inner = |at: usize| Box::new(Self::parse(argument(at)));
        let int = |bytes, signed| Self::Int { bytes, signed };
        match name {
            "Bool" => Self::Bool,
            "Int8" => int(1, true),
            "Int16" => int(2, true),
            "Int32" => int(4, true),
            "Int64" => int(8, true),
            "UInt8" => int(1, false),
            "UInt16" => int(2, false),
            "UInt32" => int(4, false),
            "UInt64" => int(8, false),
            "Float32" => Self::Float32,
            "Float64" => Self::Float64,
            "String" => Self::String,
            "FixedString" => Self::FixedString(argument(0).parse().unwrap_or(0)),
            "UUID" => Self::Uuid,
            "Date" => Self::Date,
            "Date32" => Self::Date32,
            "DateTime" => Self::DateTime,
            "DateTime64" => Self::DateTime64(number(0)),
            "Decimal" => Self::Decimal { precision: number(0), scale: number(1) },
            "Enum8" => Self::Enum { bytes: 1, labels: labels(&arguments) },
            "Enum16" => Self::Enum { bytes: 2, labels: labels(&arguments) },
            "Array" => Self::Array(inner(0)),
            "Map" => Self::Map(inner(0), inner(1)),
            "Nullable" => Self::Nullable(inner(0)),
            "LowCardinality" => Self::LowCardinality(inner(0)),
            _ => Self::Other,
        }
    }

    /// The type without `LowCardinality` and `Nullable`, and whether NULL is a value of it.
    pub(crate) fn base(&self) -> (&Self, bool) {
        match self {
            Self::LowCardinality(inner) => inner.base(),
            Self::Nullable(inner) => (inner.base().0, true),
            other => (other, false),
        }
    }

    /// The type's text in a Native block; the server casts it to the column's own.
    pub(crate) fn wire(&self) -> String {
        let plain = |name: &str| name.to_owned();
        match self {
            Self::Bool => plain("Bool"),
            Self::Int { bytes, signed } => {
                format!("{}Int{}", if *signed { "" } else { "U" }, bytes * 8)
            }
            Self::Float32 => plain("Float32"),
            Self::Float64 => plain("Float64"),
            Self::String | Self::Other => plain("String"),
            Self::FixedString(length) => format!("FixedString({length})"),
            Self::Uuid => plain("UUID"),
            Self::Date => plain("Date"),
            Self::Date32 => plain("Date32"),
            Self::DateTime => plain("DateTime"),
            Self::DateTime64(scale) => format!("DateTime64({scale})"),
            Self::Decimal { precision, scale } => format!("Decimal({precision}, {scale})"),
            Self::Enum { bytes, labels } => {
                let label = |(label, number): &(String, i16)| {
                    format!("{} = {number}", crate::client::literal(label))
                };
                let labels: Vec<String> = labels.iter().map(label).collect();
                format!("Enum{}({})", bytes * 8, labels.join(", "))
            }
            Self::Array(inner) => format!("Array({})", inner.wire()),
            Self::Map(key, value) => format!("Map({}, {})", key.wire(), value.wire()),
            Self::Nullable(inner) => format!("Nullable({})", inner.wire()),
            Self::LowCardinality(inner) => inner.wire(),
        }
    }

    /// Whether a column of this type may become one of `wanted` without loss.
    pub(crate) fn widens_to(&self, wanted: &Self) -> bool {
        let ((from, from_null), (to, to_null)) = (self.base(), wanted.base());
        if from_null && !to_null {
            return false;
        }
        if from == to {
            return to_null && !from_null;
        }
        match (from, to) {
            (Self::Int { bytes: a, signed: s }, Self::Int { bytes: b, signed: t }) => {
                b > a && (s == t || *t)
            }
            (Self::Float32, Self::Float64) => true,
            (
                Self::Decimal { precision: p, scale: s },
                Self::Decimal { precision: q, scale: t },
            ) => (q, t) != (p, s) && t >= s && q.saturating_sub(*t) >= p.saturating_sub(*s),
            (Self::DateTime64(a), Self::DateTime64(b)) => b > a,
            _ => false,
        }
    }
}

/// Splits arguments at commas outside parentheses and quotes.
fn split(text: &str) -> Vec<String> {
    let (mut items, mut depth, mut quoted, mut escaped) = (vec![String::new()], 0, false, false);
    for char in text.chars() {
        if char == ',' && depth == 0 && !quoted {
            items.push(String::new());
            continue;
        }
        match char {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(char);
        }
    }
    items.into_iter().map(|item| item.trim().to_owned()).collect()
}

fn labels(arguments: &[String]) -> Vec<(String, i16)> {
    let label = |argument: &String| {
        let (label, number) = argument.rsplit_once('=')?;
        let label = label.trim().strip_prefix('\'')?.strip_suffix('\'')?;
        let label = label.replace("\\'", "'").replace("\\\\", "\\");
        Some((label, number.trim().parse().ok()?))
    };
    arguments.iter().filter_map(label).collect()
}

/// The type of a column that is made for `schema`.
pub(crate) fn chosen(schema: &Schema, key: bool, profile: &Profile) -> String {
    let base = base_type(schema, profile);
    let wrappable = !base.starts_with("Array(") && !base.starts_with("Map(");
    let nullable = schema.optional && !key && wrappable;
    match (base.strip_prefix("LowCardinality("), nullable) {
        (Some(inner), true) => format!("LowCardinality(Nullable({inner})"),
        (_, true) => format!("Nullable({base})"),
        (_, false) => base,
    }
}

fn base_type(schema: &Schema, profile: &Profile) -> String {
    let plain = |name: &str| name.to_owned();
    let moment = |scale: u32| {
        if profile.legacy { plain("Int64") } else { format!("DateTime64({scale}, 'UTC')") }
    };
    match schema.semantic() {
        "org.apache.kafka.connect.data.Decimal" => return decimal(schema, profile),
        "io.debezium.time.Date" | "org.apache.kafka.connect.data.Date" => {
            return plain(if profile.legacy { "String" } else { "Date32" });
        }
        "io.debezium.time.Timestamp" | "org.apache.kafka.connect.data.Timestamp" => {
            return moment(3);
        }
        "io.debezium.time.MicroTimestamp" | "io.debezium.time.ZonedTimestamp" => return moment(6),
        "io.debezium.time.NanoTimestamp" => return moment(9),
        "io.debezium.time.Time"
        | "io.debezium.time.MicroTime"
        | "io.debezium.time.NanoTime"
        | "org.apache.kafka.connect.data.Time" => return plain("Int64"),
        "io.debezium.data.Uuid" => return plain("UUID"),
        "io.debezium.data.Enum" if !profile.legacy => return plain("LowCardinality(String)"),
        _ => {}
    }
    match schema.kind {
        Type::Int8 => plain("Int8"),
        Type::Int16 => plain("Int16"),
        Type::Int32 => plain("Int32"),
        Type::Int64 => plain("Int64"),
        Type::Float32 => plain("Float32"),
        Type::Float64 => plain("Float64"),
        Type::Boolean => plain(if profile.legacy { "UInt8" } else { "Bool" }),
        Type::String | Type::Bytes | Type::Struct => plain("String"),
        Type::Array => match &schema.element {
            Some(element) => format!("Array({})", chosen(element, false, profile)),
            None => plain("String"),
        },
        Type::Map => match (&schema.key, &schema.element) {
            (Some(key), Some(element)) if !profile.legacy && key.kind == Type::String => {
                format!("Map(String, {})", chosen(element, false, profile))
            }
            _ => plain("String"),
        },
    }
}

/// The scale of Connect's Decimal.
pub(crate) fn scale(schema: &Schema) -> i64 {
    schema.get_parameter("scale").and_then(|scale| scale.parse().ok()).unwrap_or(0)
}

fn decimal(schema: &Schema, profile: &Profile) -> String {
    let scale = scale(schema);
    let given = schema.get_parameter("connect.decimal.precision");
    let precision: i64 = given.and_then(|text| text.parse().ok()).unwrap_or(38);
    // PostgreSQL 15 and later have scales below zero and above the precision.
    let precision = if scale < 0 { precision - scale } else { precision.max(scale) };
    let scale = scale.max(0);
    let most = if profile.legacy { 38 } else { 76 };
    if precision > most || precision < 1 {
        return "String".to_owned();
    }
    format!("Decimal({precision}, {scale})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_from_their_texts() {
        let of = ChType::parse;
        assert_eq!(
            of("Nullable(DateTime64(6, 'UTC'))"),
            ChType::Nullable(Box::new(ChType::DateTime64(6)))
        );
        assert_eq!(of("LowCardinality(Nullable(String))").wire(), "Nullable(String)");
        assert_eq!(
            of("Map(String, Array(Nullable(Int32)))").wire(),
            "Map(String, Array(Nullable(Int32)))"
        );
        let labels = vec![("a,b)".to_owned(), 1), ("it's".to_owned(), -2)];
        assert_eq!(of("Enum8('a,b)' = 1, 'it\\'s' = -2)"), ChType::Enum { bytes: 1, labels });
        assert_eq!(of("IPv4").wire(), "String");
    }

    #[test]
    fn only_lossless_changes_widen() {
        let widens = |from: &str, to: &str| ChType::parse(from).widens_to(&ChType::parse(to));
        assert!(widens("Int32", "Int64"));
        assert!(widens("Int32", "Nullable(Int32)"));
        assert!(widens("Decimal(10, 2)", "Decimal(12, 3)"));
        assert!(!widens("Decimal(10, 2)", "Decimal(10, 3)"));
        assert!(!widens("Int64", "Int32"));
        assert!(!widens("Nullable(Int32)", "Int64"));
        assert!(!widens("String", "Int64"));
    }
}
