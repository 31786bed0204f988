//! Types of new and widened columns.

use crate::{
    table::Column,
    value::{Kind, Meaning, fit::Form},
};

/// The type of a new column.
pub(crate) fn type_for(meaning: &Meaning) -> String {
    match meaning {
        Meaning::Bool => "boolean",
        Meaning::Int(8 | 16) => "smallint",
        Meaning::Int(32) => "integer",
        Meaning::Int(_) => "bigint",
        Meaning::Float32 => "real",
        Meaning::Float64 => "double precision",
        Meaning::Decimal { precision: Some(precision @ 1..=1000), scale } => {
            return format!("numeric({precision},{scale})");
        }
        Meaning::Decimal { .. } | Meaning::VariableDecimal => "numeric",
        Meaning::Text(kind) => match kind {
            Kind::Plain | Kind::Enum => "text",
            Kind::Json => "json",
            Kind::Uuid => "uuid",
            Kind::Xml => "xml",
            Kind::Interval => "interval",
            Kind::ZonedTime => "time with time zone",
            Kind::Date => "date",
            Kind::Time => "time",
            Kind::Timestamp => "timestamp",
            Kind::Search => "tsvector",
        },
        Meaning::Bytes => "bytea",
        Meaning::Bits(_) => "bit varying",
        Meaning::Date => "date",
        Meaning::Time(_) => "time",
        Meaning::Timestamp(_) => "timestamp",
        Meaning::Zoned => "timestamp with time zone",
        Meaning::Duration => "interval",
        Meaning::Point => "point",
        Meaning::Json(_) => "json",
        Meaning::Array(element) => {
            // An array of arrays has the type of one.
            let element = type_for(element);
            return format!("{}[]", element.trim_end_matches("[]"));
        }
    }
    .to_owned()
}

/// The wider type that a column needs for all values of this meaning, if it is too narrow.
pub(crate) fn wider(column: &Column, meaning: &Meaning) -> Option<String> {
    let whole = |kind: &str| ["smallint", "integer", "bigint"].iter().position(|one| *one == kind);
    match (column.cast.as_str(), meaning) {
        (kind @ ("smallint" | "integer"), Meaning::Int(bits)) => {
            let wanted = match bits {
                8 | 16 => "smallint",
                32 => "integer",
                _ => "bigint",
            };
            (whole(wanted) > whole(kind)).then(|| wanted.to_owned())
        }
        ("smallint" | "integer" | "bigint", Meaning::Decimal { .. } | Meaning::VariableDecimal) => {
            Some(type_for(meaning))
        }
        ("real", Meaning::Float64) => Some("double precision".to_owned()),
        ("numeric", Meaning::VariableDecimal) if column.form != Form::Decimal(None) => {
            Some("numeric".to_owned())
        }
        ("numeric", Meaning::Decimal { precision, scale }) => {
            let Form::Decimal(Some((before, after))) = column.form else { return None };
            let Some(precision) = precision else { return Some("numeric".to_owned()) };
            let scale = u32::try_from(*scale).unwrap_or(0);
            let wanted = (precision.saturating_sub(scale).max(before), scale.max(after));
            (wanted != (before, after))
                .then(|| format!("numeric({},{})", wanted.0 + wanted.1, wanted.1))
        }
        _ => None,
    }
}
