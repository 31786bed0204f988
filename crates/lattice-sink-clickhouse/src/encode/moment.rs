//! Dates and times: from the source's units to ClickHouse's ticks.

use lattice_core::{
    calendar::{civil, parse},
    schema::{Schema, Type},
    value::Value,
};

use crate::{profile::Profile, types::ChType};

const DAY_SECONDS: i64 = 86_400;

/// How a field tells a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// Whole units since 1970 of so many a second; days: 0.
    Units(i64),
    /// ISO 8601 text.
    Text,
}

/// Turns a field's values into ticks of a column.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    from: From,
    /// Ticks a second; 0: days.
    per_second: i64,
    low: i64,
    high: i64,
    /// Width of a tick in the column. Units: bytes.
    pub(crate) bytes: usize,
}

/// A value's ticks.
pub(crate) enum Ticks {
    /// Within the column's range.
    Exact(i64),
    /// Outside; the nearest.
    Clamped(i64),
    /// Not a moment at all.
    Unreadable,
}

impl Moment {
    /// The conversion of `schema`'s values to `target`, if there is one.
    pub(crate) fn new(schema: &Schema, target: &ChType, profile: &Profile) -> Option<Self> {
        let from = match schema.semantic() {
            "io.debezium.time.Date" | "org.apache.kafka.connect.data.Date" => From::Units(0),
            "io.debezium.time.Timestamp" | "org.apache.kafka.connect.data.Timestamp" => {
                From::Units(1_000)
            }
            "io.debezium.time.MicroTimestamp" => From::Units(1_000_000),
            "io.debezium.time.NanoTimestamp" => From::Units(1_000_000_000),
            _ if schema.kind == Type::String => From::Text,
            _ => return None,
        };
        let (first, last) =
            if profile.far_dates { (-719_162, 2_932_896) } else { (-25_567, 120_529) };
        let (per_second, low, high, bytes) = match target {
            ChType::Date => (0, 0, i64::from(u16::MAX), 2),
            ChType::Date32 => (0, first, last, 4),
            ChType::DateTime => (1, 0, i64::from(u32::MAX), 4),
            ChType::DateTime64(scale) => {
                let per_second = 10i64.checked_pow((*scale).min(9))?;
                let ticks = per_second.saturating_mul(DAY_SECONDS);
                let end = ticks.checked_mul(last + 1).map_or(i64::MAX, |end| end - 1);
                (per_second, ticks.saturating_mul(first), end, 8)
            }
            // Old servers have no type for far or fine moments: microseconds since 1970.
            ChType::Int { bytes: 8, signed: true } if from != From::Units(0) => {
                (1_000_000, i64::MIN, i64::MAX, 8)
            }
            _ => return None,
        };
        Some(Self { from, per_second, low, high, bytes })
    }

    /// A value's ticks.
    pub(crate) fn ticks(&self, value: &Value<'_>) -> Ticks {
        let (units, per_second) = match (value, self.from) {
            (Value::Int(units), From::Units(per_second)) => (*units, per_second),
            (Value::Text(text), From::Text) => return self.ticks_of_text(text.as_bytes()),
            _ => return Ticks::Unreadable,
        };
        self.ticks_of(units, per_second)
    }

    /// A text's ticks.
    pub(crate) fn ticks_of_text(&self, text: &[u8]) -> Ticks {
        match parse(text) {
            Some(micros) if self.from == From::Text => self.ticks_of(micros, 1_000_000),
            _ => Ticks::Unreadable,
        }
    }

    fn ticks_of(&self, units: i64, per_second: i64) -> Ticks {
        let ticks = match (per_second, self.per_second) {
            (from, to) if from == to => units,
            (0, to) => units.saturating_mul(DAY_SECONDS.saturating_mul(to)),
            (from, 0) => units.div_euclid(DAY_SECONDS * from),
            (from, to) if from < to => units.saturating_mul(to / from),
            (from, to) => units.div_euclid(from / to),
        };
        if ticks < self.low {
            Ticks::Clamped(self.low)
        } else if ticks > self.high {
            Ticks::Clamped(self.high)
        } else {
            Ticks::Exact(ticks)
        }
    }
}

/// Days since 1970 as a date's text.
pub(crate) fn date_text(days: i64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use lattice_core::calendar::DAY_US;

    use super::*;

    #[test]
    fn dates_are_written_as_they_are_read() {
        for text in ["1970-01-01", "0001-01-01", "9999-12-31", "2024-02-29"] {
            let micros = parse(text.as_bytes()).unwrap();
            assert_eq!(date_text(micros / DAY_US), text);
        }
    }
}
