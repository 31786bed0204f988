//! Values in PostgreSQL's binary COPY form.

use std::fmt::Write;

use crate::{
    layout::{Slot, Wire as AnyWire},
    table::Column,
    value::{Cell, Kind, Meaning, decimal, hex},
};

/// How a field is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    Bytea,
    Date,
    Time,
    Timestamp,
    Uuid,
    Jsonb,
    /// As text, which the server casts.
    Cast,
}

/// 2000-01-01 since 1970. Units: days.
const EPOCH_DAYS: i64 = 10_957;
/// The same. Units: µs.
const EPOCH_US: i64 = 946_684_800_000_000;

/// How values of this meaning go into a column.
pub(crate) fn slot(column: &Column, meaning: &Meaning) -> Slot {
    let wire = wire(&column.cast, meaning);
    let (stage, cast) = match wire {
        Wire::Text => ("text".to_owned(), None),
        Wire::Cast => {
            // `bit` alone is one bit.
            let cast = if column.cast == "bit" { "bit varying" } else { &column.cast };
            ("text".to_owned(), Some(cast.to_owned()))
        }
        _ => (column.cast.clone(), None),
    };
    Slot {
        name: column.name.clone(),
        form: column.form.clone(),
        nullable: column.nullable,
        wire: AnyWire::Postgres(wire),
        stage,
        cast,
    }
}

fn wire(kind: &str, meaning: &Meaning) -> Wire {
    use Meaning as M;
    let decimal = matches!(meaning, M::Decimal { .. } | M::VariableDecimal);
    let integer = matches!(meaning, M::Int(_) | M::Bool);
    let float = matches!(meaning, M::Float32 | M::Float64);
    let moment = matches!(
        meaning,
        M::Date | M::Timestamp(_) | M::Zoned | M::Text(Kind::Date | Kind::Timestamp)
    );
    match kind {
        "boolean" if matches!(meaning, M::Bool) => Wire::Bool,
        "smallint" if integer || decimal => Wire::Int2,
        "integer" if integer || decimal => Wire::Int4,
        "bigint" if integer || decimal => Wire::Int8,
        "real" if float => Wire::Float4,
        "double precision" if float => Wire::Float8,
        "numeric" if decimal || integer || float || matches!(meaning, M::Text(Kind::Plain)) => {
            Wire::Numeric
        }
        "text" | "character varying" | "character" | "citext" => Wire::Text,
        "bytea" if matches!(meaning, M::Bytes) => Wire::Bytea,
        "date" if moment => Wire::Date,
        "time without time zone" if matches!(meaning, M::Time(_) | M::Text(Kind::Time)) => {
            Wire::Time
        }
        "timestamp without time zone" | "timestamp with time zone" if moment => Wire::Timestamp,
        "uuid" if matches!(meaning, M::Text(Kind::Uuid)) => Wire::Uuid,
        "jsonb" if matches!(meaning, M::Json(_) | M::Text(Kind::Json)) => Wire::Jsonb,
        _ => Wire::Cast,
    }
}

impl Wire {
    /// Appends a value's bytes.
    ///
    /// Errors: the value is not of the column's kind.
    pub(crate) fn write(self, cell: &Cell<'_>, out: &mut Vec<u8>) -> Result<(), String> {
        match (self, cell) {
            (Self::Bool, Cell::Bool(flag)) => out.push(u8::from(*flag)),
            (Self::Int2, Cell::Int(number)) => {
                out.extend(narrow::<i16>(*number)?.to_be_bytes());
            }
            (Self::Int4, Cell::Int(number)) => {
                out.extend(narrow::<i32>(*number)?.to_be_bytes());
            }
            (Self::Int8, Cell::Int(number)) => out.extend(number.to_be_bytes()),
            (Self::Float4, Cell::Float32(number)) => out.extend(number.to_be_bytes()),
            #[allow(clippy::cast_possible_truncation)] // checked when it was fitted
            (Self::Float4, Cell::Float64(number)) => out.extend((*number as f32).to_be_bytes()),
            (Self::Float8, Cell::Float64(number)) => out.extend(number.to_be_bytes()),
            (Self::Float8, Cell::Float32(number)) => out.extend(f64::from(*number).to_be_bytes()),
            (Self::Numeric, cell) => numeric(&cell.text(), out)?,
            (Self::Bytea, Cell::Bytes(bytes)) => out.extend_from_slice(bytes.as_slice()),
            (Self::Date, Cell::Date(days)) => out.extend(date(*days)?.to_be_bytes()),
            (Self::Date, Cell::Timestamp(us) | Cell::Zoned(us)) => {
                out.extend(date(Cell::days(*us))?.to_be_bytes());
            }
            (Self::Time, Cell::Time(us)) => out.extend(us.to_be_bytes()),
            (Self::Timestamp, Cell::Timestamp(us) | Cell::Zoned(us)) => {
                let us = if matches!(*us, i64::MAX | i64::MIN) {
                    *us
                } else {
                    us.saturating_sub(EPOCH_US)
                };
                out.extend(us.to_be_bytes());
            }
            (Self::Uuid, Cell::Text(text)) => out.extend(uuid(text.as_str())?),
            (Self::Jsonb, Cell::Text(text)) => {
                out.push(1);
                out.extend_from_slice(text.as_bytes());
            }
            (Self::Text, Cell::Bytes(_)) | (Self::Cast, _) => text(cell, out),
            (Self::Text, cell) => out.extend_from_slice(cell.text().as_bytes()),
            (wire, cell) => return Err(format!("{} is no {wire:?}", cell.text())),
        }
        Ok(())
    }

    /// A written value, for people.
    pub(crate) fn show(self, bytes: &[u8]) -> String {
        let number = || {
            let fill = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { 0xFF } else { 0 };
            let mut wide = [fill; 8];
            let start = wide.len().saturating_sub(bytes.len());
            for (to, from) in wide.iter_mut().skip(start).zip(bytes) {
                *to = *from;
            }
            i64::from_be_bytes(wide)
        };
        match self {
            Self::Int2 | Self::Int4 | Self::Int8 => number().to_string(),
            Self::Text | Self::Cast => String::from_utf8_lossy(bytes).into_owned(),
            Self::Date => crate::value::moment::date_text(number() + EPOCH_DAYS),
            Self::Timestamp => {
                crate::value::moment::timestamp_text(number().saturating_add(EPOCH_US), "")
            }
            _ => hex(bytes),
        }
    }
}

fn narrow<T: TryFrom<i64>>(number: i64) -> Result<T, String> {
    T::try_from(number).map_err(|_| format!("{number} is outside of the column's range"))
}

fn date(days: i64) -> Result<i32, String> {
    match days {
        i64::MAX => Ok(i32::MAX),
        i64::MIN => Ok(i32::MIN),
        days => narrow(days - EPOCH_DAYS),
    }
}

fn uuid(text: &str) -> Result<[u8; 16], String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'-' | b'{' | b'}')).collect();
    let bad = || format!("{text} is no UUID");
    let mut bytes = [0; 16];
    if digits.len() != 32 {
        return Err(bad());
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
    }
    Ok(bytes)
}

/// Text that the server casts to the column's type.
fn text(cell: &Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        Cell::Bytes(bytes) => {
            out.extend_from_slice(b"\\x");
            out.extend_from_slice(hex(bytes.as_slice()).as_bytes());
        }
        Cell::Array(items) => {
            let mut literal = String::new();
            array(items, &mut literal);
            out.extend_from_slice(literal.as_bytes());
        }
        cell => out.extend_from_slice(cell.text().as_bytes()),
    }
}

/// An array literal: every element between quotes, NULL without.
fn array(items: &[Cell<'_>], out: &mut String) {
    out.push('{');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match item {
            Cell::Null => out.push_str("NULL"),
            Cell::Array(items) => array(items, out),
            item => {
                out.push('"');
                let text = match item {
                    Cell::Bytes(bytes) => format!("\\x{}", hex(bytes.as_slice())),
                    item => item.text().into_owned(),
                };
                for char in text.chars() {
                    if matches!(char, '"' | '\\') {
                        out.push('\\');
                    }
                    out.push(char);
                }
                out.push('"');
            }
        }
    }
    out.push('}');
}

/// `numeric`: groups of four digits, the weight of the first, sign and display scale.
fn numeric(text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let special = match text {
        "NaN" => Some(0xC000_u16),
        "Infinity" | "inf" => Some(0xD000),
        "-Infinity" | "-inf" => Some(0xF000),
        _ => None,
    };
    let mut head = |groups: u16, weight: i16, sign: u16, scale: u16| {
        for part in
            [groups.to_be_bytes(), weight.to_be_bytes(), sign.to_be_bytes(), scale.to_be_bytes()]
        {
            out.extend(part);
        }
    };
    if let Some(sign) = special {
        head(0, 0, sign, 0);
        return Ok(());
    }
    let bad = || format!("{text} is no number");
    let (negative, whole, _) = decimal::parts(text).ok_or_else(bad)?;
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    let scale =
        u16::try_from(fraction.len()).ok().filter(|scale| *scale < 0x4000).ok_or_else(bad)?;
    let lead = (4 - whole.len() % 4) % 4;
    let mut digits = String::with_capacity(whole.len() + fraction.len() + 8);
    let _ = write!(digits, "{}{whole}{fraction}", "000".get(..lead).unwrap_or_default());
    while !digits.len().is_multiple_of(4) {
        digits.push('0');
    }
    let whole_groups = (whole.len() + lead) / 4;
    let mut groups: Vec<u16> = digits
        .as_bytes()
        .chunks(4)
        .map(|group| group.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
        .collect();
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let leading = groups.iter().take_while(|group| **group == 0).count();
    let groups = groups.get(leading..).unwrap_or_default();
    let weight = i64::try_from(whole_groups).unwrap_or(0) - 1 - i64::try_from(leading).unwrap_or(0);
    let weight = if groups.is_empty() { 0 } else { i16::try_from(weight).map_err(|_| bad())? };
    let sign = if negative && !groups.is_empty() { 0x4000 } else { 0 };
    head(u16::try_from(groups.len()).map_err(|_| bad())?, weight, sign, scale);
    for group in groups {
        out.extend(group.to_be_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(text: &str) -> Vec<i16> {
        let mut out = Vec::new();
        numeric(text, &mut out).unwrap();
        out.chunks(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]])).collect()
    }

    #[test]
    fn numbers_are_groups_of_four_digits() {
        assert_eq!(groups("0"), [0, 0, 0, 0]);
        assert_eq!(groups("12345.6700"), [3, 1, 0, 4, 1, 2345, 6700]);
        assert_eq!(groups("-0.00001"), [1, -2, 0x4000, 5, 1000]);
        assert_eq!(groups("40000"), [1, 1, 0, 0, 4]);
        assert_eq!(groups("100"), [1, 0, 0, 0, 100]);
    }

    #[test]
    fn arrays_are_quoted_so_that_null_and_the_word_null_differ() {
        let items = vec![
            Cell::Null,
            Cell::Text(lattice_core::value::Text::borrowed("NULL")),
            Cell::Text(lattice_core::value::Text::borrowed("a\"\\,")),
            Cell::Array(vec![Cell::Int(1)]),
        ];
        let mut out = String::new();
        array(&items, &mut out);
        assert_eq!(out, r#"{NULL,"NULL","a\"\\,",{"1"}}"#);
    }
}
