//! One compiled decoder a column: from PostgreSQL's text to a value.

use base64::Engine;
use lattice_core::value::{Binary, Text, Value};

use super::{
    BinaryMode, composite, numeric,
    temporal::{self, Unit},
};

/// A value that cannot be read, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadValue(
    /// The reason.
    pub &'static str,
);

/// How a column's text becomes a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoder {
    /// `t` or `f`.
    Bool,
    /// A whole number.
    Int,
    /// `real`
    Float32,
    /// `double precision`, and `numeric` in mode `double`.
    Float64,
    /// The text itself.
    Text,
    /// `bytea`
    Bytes(BinaryMode),
    /// The bytes of the text of a type that has no mapping.
    Raw(BinaryMode),
    /// `date`; true: as ISO text.
    Date(bool),
    /// `time`
    Time(Unit),
    /// `timestamp`
    Timestamp(Unit),
    /// `timestamptz` with this many digits of a second.
    TimestampTz(u8),
    /// `timetz`
    TimeTz,
    /// `interval`; true: as text.
    Interval(bool),
    /// `numeric(p,s)` at this scale.
    Decimal {
        /// Decimal places.
        scale: usize,
        /// NaN and infinity become NULL instead of an error.
        special_null: bool,
    },
    /// `numeric`
    VariableDecimal {
        /// NaN and infinity become NULL instead of an error.
        special_null: bool,
    },
    /// `numeric` as text.
    NumericText,
    /// `money` at this scale.
    Money(usize),
    /// `money` as FLOAT64.
    MoneyDouble,
    /// `money` as text.
    MoneyText,
    /// `bit(1)`
    Bit,
    /// `bit(n)`, `varbit`
    Bits,
    /// An array, flattened when it has several dimensions.
    Array {
        /// Its elements.
        element: Box<Decoder>,
        /// What stands between them.
        delimiter: u8,
    },
    /// `hstore`; true: as a map, else as JSON text.
    Hstore(bool),
    /// `point`
    Point,
    /// PostGIS `geometry` and `geography`.
    Geometry,
    /// pgvector's `vector` (false) and `halfvec` (true).
    Vector(bool),
    /// pgvector's `sparsevec`.
    SparseVector,
}

impl Decoder {
    /// Reads a value that is not NULL.
    ///
    /// Errors: text that is not of the type, or a value that the schema cannot hold.
    pub fn decode<'a>(&self, raw: &'a [u8]) -> Result<Value<'a>, BadValue> {
        Ok(match self {
            Self::Bool => match raw {
                b"t" | b"true" => Value::Bool(true),
                b"f" | b"false" => Value::Bool(false),
                _ => return Err(BadValue("not a boolean")),
            },
            Self::Int => Value::Int(int(raw)?),
            Self::Float32 => Value::Float32(float(raw)?),
            Self::Float64 => Value::Float64(float(raw)?),
            Self::Text => Value::text(utf8(raw)?),
            Self::Bytes(mode) => bytea(raw, *mode)?,
            Self::Raw(mode) => binary(raw.to_vec(), *mode),
            Self::Date(iso) => temporal::date(raw, *iso)?,
            Self::Time(unit) => temporal::time(raw, *unit)?,
            Self::Timestamp(unit) => temporal::timestamp(raw, *unit)?,
            Self::TimestampTz(digits) => temporal::timestamptz(raw, *digits)?,
            Self::TimeTz => temporal::timetz(raw)?,
            Self::Interval(text) => temporal::interval(raw, *text)?,
            Self::Decimal { special_null, .. } | Self::VariableDecimal { special_null }
                if numeric::is_special(raw) =>
            {
                if !special_null {
                    return Err(BadValue("NaN or infinity, which an exact number cannot hold"));
                }
                Value::Null
            }
            Self::Decimal { scale, .. } => Value::Bytes(numeric::decimal(raw, *scale)?),
            Self::VariableDecimal { .. } => numeric::variable(raw)?,
            Self::NumericText => numeric::text(raw)?,
            Self::Money(scale) => numeric::money_decimal(raw, *scale)?,
            Self::MoneyDouble => Value::Float64(float(numeric::money(raw).as_bytes())?),
            Self::MoneyText => numeric::money_text(raw),
            Self::Bit => match raw {
                b"1" => Value::Bool(true),
                b"0" => Value::Bool(false),
                // A varbit(1) may be empty, which no BOOLEAN says; the real one's is NULL too.
                b"" => Value::Null,
                _ => return Err(BadValue("not one bit")),
            },
            Self::Bits => bits(raw)?,
            Self::Array { element, delimiter } => composite::array(raw, element, *delimiter)?,
            Self::Hstore(as_map) => composite::hstore(raw, *as_map)?,
            Self::Point => composite::point(raw)?,
            Self::Geometry => composite::geometry(raw)?,
            Self::Vector(half) => composite::vector(raw, *half)?,
            Self::SparseVector => composite::sparse_vector(raw)?,
        })
    }
}

pub(super) fn utf8(raw: &[u8]) -> Result<&str, BadValue> {
    std::str::from_utf8(raw)
        .map_err(|_| BadValue("text is not UTF-8 (the database's encoding is SQL_ASCII?)"))
}

pub(super) fn int(raw: &[u8]) -> Result<i64, BadValue> {
    const BAD: BadValue = BadValue("not a whole number");
    let (negative, digits) = match raw.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, raw),
    };
    if digits.is_empty() || digits.len() > 19 {
        return Err(BAD);
    }
    // Negative, because i64 has one more of them.
    let mut number: i64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(BAD);
        }
        let next = number.checked_mul(10).and_then(|n| n.checked_sub(i64::from(digit - b'0')));
        number = next.ok_or(BAD)?;
    }
    if negative { Ok(number) } else { number.checked_neg().ok_or(BAD) }
}

pub(super) fn float<T: std::str::FromStr>(raw: &[u8]) -> Result<T, BadValue> {
    utf8(raw)?.parse().map_err(|_| BadValue("not a number"))
}

fn bytea(raw: &[u8], mode: BinaryMode) -> Result<Value<'_>, BadValue> {
    let digits = raw.strip_prefix(b"\\x").ok_or(BadValue("bytea is not in hex format"))?;
    if mode == BinaryMode::Hex {
        return Ok(Value::text(utf8(digits)?));
    }
    Ok(binary(unhex(digits)?, mode))
}

pub(super) fn unhex(digits: &[u8]) -> Result<Vec<u8>, BadValue> {
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(BadValue("an odd number of hex digits"));
    }
    let mut bytes = Vec::with_capacity(pairs.len());
    for [high, low] in pairs {
        let (high, low) = (hex_digit(*high)?, hex_digit(*low)?);
        bytes.push(high << 4 | low);
    }
    Ok(bytes)
}

fn hex_digit(digit: u8) -> Result<u8, BadValue> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(BadValue("not a hex digit")),
    }
}

fn binary(bytes: Vec<u8>, mode: BinaryMode) -> Value<'static> {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    match mode {
        BinaryMode::Bytes => Value::Bytes(Binary::owned(bytes)),
        BinaryMode::Base64 => Value::Text(Text::owned(STANDARD.encode(bytes))),
        BinaryMode::Base64Url => Value::Text(Text::owned(URL_SAFE.encode(bytes))),
        BinaryMode::Hex => {
            let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
            let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
            Value::Text(Text::owned(digits.collect()))
        }
    }
}

/// Little-endian: the text's last bit is bit 0 of the first byte; as long as the highest bit set
/// asks for.
fn bits(raw: &[u8]) -> Result<Value<'static>, BadValue> {
    if raw.iter().any(|bit| !matches!(bit, b'0' | b'1')) {
        return Err(BadValue("not a bit string"));
    }
    let highest = raw.iter().position(|bit| *bit == b'1').map_or(0, |at| raw.len() - at);
    let mut bytes = vec![0; highest.div_ceil(8)];
    for (index, bit) in raw.iter().rev().enumerate() {
        if let Some(byte) = bytes.get_mut(index / 8).filter(|_| *bit == b'1') {
            *byte |= 1 << (index % 8);
        }
    }
    Ok(Value::Bytes(Binary::owned(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bit_strings_are_little_endian_and_as_long_as_their_content() {
        let bytes = |text: &str| match bits(text.as_bytes()).unwrap() {
            Value::Bytes(bytes) => bytes.as_slice().to_vec(),
            other => panic!("not bytes: {other:?}"),
        };
        assert_eq!(bytes("000000110000001000000001"), [1, 2, 3]);
        assert_eq!(bytes("101"), [5]);
        assert_eq!(bytes("00"), Vec::<u8>::new());
    }

    #[test]
    fn the_ends_of_64_bits_are_read_and_nothing_beyond() {
        assert_eq!(int(b"9223372036854775807"), Ok(i64::MAX));
        assert_eq!(int(b"-9223372036854775808"), Ok(i64::MIN));
        assert!(int(b"9223372036854775808").is_err());
        assert!(int(b"").is_err());
        assert!(int(b"1x").is_err());
    }

    #[test]
    fn invalid_utf8_is_an_error_and_not_a_question_mark() {
        assert!(Decoder::Text.decode(b"\xff").is_err());
    }

    fn all() -> Vec<Decoder> {
        use Decoder as D;
        vec![
            D::Bool,
            D::Int,
            D::Float32,
            D::Float64,
            D::Text,
            D::Bytes(BinaryMode::Bytes),
            D::Raw(BinaryMode::Base64),
            D::Date(true),
            D::Date(false),
            D::Time(Unit::Iso),
            D::Timestamp(Unit::Nanos),
            D::Timestamp(Unit::Iso),
            D::TimestampTz(6),
            D::TimeTz,
            D::Interval(true),
            D::Interval(false),
            D::Decimal { scale: 3, special_null: true },
            D::VariableDecimal { special_null: false },
            D::NumericText,
            D::Money(2),
            D::MoneyDouble,
            D::Bit,
            D::Bits,
            D::Array { element: Box::new(D::Text), delimiter: b',' },
            D::Array { element: Box::new(D::Int), delimiter: b',' },
            D::Hstore(true),
            D::Hstore(false),
            D::Point,
            D::Geometry,
            D::Vector(false),
            D::SparseVector,
        ]
    }

    proptest! {
        #[test]
        fn no_decoder_panics_on_arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            for decoder in all() {
                let _ = decoder.decode(&bytes);
            }
        }

        #[test]
        fn no_decoder_panics_on_likely_text(text in "[-+P0-9:. {}\",\\\\NULTBCx()=>/eSMHYD\\[\\]]{0,40}") {
            for decoder in all() {
                let _ = decoder.decode(text.as_bytes());
            }
        }
    }
}
