//! Types of new and widened columns.

use crate::{
    table::Column,
    value::{Kind, Meaning, fit::Form},
};

/// The most digits of a decimal, and the most of them after the point.
const DIGITS: (u32, u32) = (65, 30);

/// The type of a new column. `key`: of the primary key, which takes no type without a length.
pub(crate) fn type_for(meaning: &Meaning, key: bool) -> String {
    let text = if key { "varchar(255)" } else { "longtext" };
    match meaning {
        Meaning::Bool => "tinyint(1)",
        Meaning::Int(8) => "tinyint",
        Meaning::Int(16) => "smallint",
        Meaning::Int(32) => "int",
        Meaning::Int(_) => "bigint",
        Meaning::Float32 => "float",
        Meaning::Float64 => "double",
        Meaning::Decimal { precision, scale } => return decimal(*precision, *scale, text),
        Meaning::VariableDecimal => "decimal(65,30)",
        Meaning::Text(kind) => match kind {
            Kind::Json if !key => "json",
            Kind::Uuid => "char(36)",
            Kind::Date => "date",
            Kind::Time => "time(6)",
            Kind::Timestamp => "datetime(6)",
            _ => text,
        },
        Meaning::Bytes if key => "varbinary(255)",
        Meaning::Bytes => "longblob",
        Meaning::Bits(Some(bits @ 1..=64)) => return format!("bit({bits})"),
        Meaning::Date => "date",
        Meaning::Time(_) => "time(6)",
        // A timestamp of these databases ends in 2038.
        Meaning::Timestamp(_) | Meaning::Zoned => "datetime(6)",
        Meaning::Array(_) | Meaning::Json(_) if !key => "json",
        _ => text,
    }
    .to_owned()
}

fn decimal(precision: Option<u32>, scale: i64, text: &str) -> String {
    let scale = u32::try_from(scale.max(0)).unwrap_or(u32::MAX);
    match precision.unwrap_or(DIGITS.0) {
        digits @ 1.. if digits <= DIGITS.0 && scale <= DIGITS.1.min(digits) => {
            format!("decimal({digits},{scale})")
        }
        _ => text.to_owned(),
    }
}

/// The wider type that a column needs for all values of this meaning, if it is too narrow.
pub(crate) fn wider(column: &Column, meaning: &Meaning) -> Option<String> {
    match (&column.form, meaning) {
        (Form::Int(low, high), Meaning::Int(bits)) if *low < 0 => {
            let most = (1_i128 << (bits.min(&64) - 1)) - 1;
            (most > *high).then(|| type_for(meaning, false))
        }
        (Form::Float32 { .. }, Meaning::Float64) => Some("double".to_owned()),
        (Form::Int(..), Meaning::Decimal { .. } | Meaning::VariableDecimal) => {
            Some(type_for(meaning, true))
        }
        (
            Form::Decimal(Some((before, after))),
            Meaning::Decimal { precision: Some(precision), scale },
        ) => {
            let scale = u32::try_from(*scale).unwrap_or(0);
            let wanted = (precision.saturating_sub(scale).max(*before), scale.max(*after));
            let fits = wanted.0 + wanted.1 <= DIGITS.0 && wanted.1 <= DIGITS.1;
            (wanted != (*before, *after) && fits)
                .then(|| format!("decimal({},{})", wanted.0 + wanted.1, wanted.1))
        }
        _ => None,
    }
}
