//! Column types: which schema a PostgreSQL type has, and how its text becomes a value.
//!
//! Snapshot and stream both give PostgreSQL's text under the same session settings, so that one
//! decoder serves both and they cannot disagree.

pub mod catalog;
pub mod change;
mod composite;
mod decoder;
mod defaults;
mod mapping;
mod numeric;
mod temporal;

pub use decoder::{BadValue, Decoder};
pub use defaults::{default_value, zero_text};
pub use mapping::{Mapped, map_type};

/// `decimal.handling.mode`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecimalMode {
    /// Exact.
    Precise,
    /// FLOAT64.
    Double,
    /// Text.
    String,
}

/// `time.precision.mode`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeMode {
    /// By the column's precision.
    Adaptive,
    /// As adaptive, but times always in µs.
    AdaptiveTimeMicroseconds,
    /// Kafka Connect's own types, in ms.
    Connect,
    /// ISO text.
    IsoString,
    /// µs.
    Microseconds,
    /// ns.
    Nanoseconds,
}

/// `binary.handling.mode`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryMode {
    /// As they are.
    Bytes,
    /// Base64 text.
    Base64,
    /// Base64 text for URLs, padded.
    Base64Url,
    /// Hexadecimal text.
    Hex,
}

/// What becomes of columns of a type that has no mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownMode {
    /// Its text, as a string (`include.unknown.datatypes` not given).
    Text,
    /// Left out (`false`).
    Drop,
    /// Its text's bytes in the binary mode (`true`).
    Bytes,
}

/// How values are written: the keys of the value group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes {
    /// `decimal.handling.mode`
    pub decimal: DecimalMode,
    /// `time.precision.mode`
    pub time: TimeMode,
    /// `binary.handling.mode`
    pub binary: BinaryMode,
    /// `interval.handling.mode` is `string`.
    pub interval_text: bool,
    /// `hstore.handling.mode` is `map`.
    pub hstore_map: bool,
    /// `money.fraction.digits`
    pub money_digits: i32,
    /// `include.unknown.datatypes`
    pub unknown: UnknownMode,
    /// `event.converting.failure.handling.mode` is `fail`: NaN and infinity in an exact number
    /// are an error; otherwise they become NULL where the column allows it.
    pub fail_on_special: bool,
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            decimal: DecimalMode::Precise,
            time: TimeMode::Adaptive,
            binary: BinaryMode::Bytes,
            interval_text: false,
            hstore_map: false,
            money_digits: 2,
            unknown: UnknownMode::Text,
            fail_on_special: false,
        }
    }
}
