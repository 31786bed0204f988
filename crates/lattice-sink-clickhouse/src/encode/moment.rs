//! Dates and times: from the source's units to ClickHouse's ticks.

use lattice_core::{
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

/// Microseconds since 1970 of an ISO 8601 date and time; far beyond the ends for infinity.
pub(crate) fn parse(text: &[u8]) -> Option<i64> {
    match text {
        b"infinity" => return Some(i64::MAX),
        b"-infinity" => return Some(i64::MIN),
        _ => {}
    }
    let (sign, rest) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    let end = rest.iter().position(|byte| *byte == b'-')?;
    let year = sign * number(rest.get(..end)?)?;
    let rest = rest.get(end + 1..)?;
    let (month, day) = (number(rest.get(..2)?)?, number(rest.get(3..5)?)?);
    let mut micros = days(year, month, day).checked_mul(DAY_SECONDS * 1_000_000)?;
    let Some(time) = rest.get(6..) else { return Some(micros) };
    let (hour, minute) = (number(time.get(..2)?)?, number(time.get(3..5)?)?);
    let (second, mut rest) = match time.get(5) {
        Some(b':') => (number(time.get(6..8)?)?, time.get(8..)?),
        _ => (0, time.get(5..)?),
    };
    micros = micros.checked_add((hour * 3600 + minute * 60 + second) * 1_000_000)?;
    if let [b'.', fraction @ ..] = rest {
        let end = fraction.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(fraction.len());
        let mut digits = 0;
        for at in 0..6 {
            let digit = fraction.get(at).filter(|_| at < end).map_or(0, |byte| byte - b'0');
            digits = digits * 10 + i64::from(digit);
        }
        micros = micros.checked_add(digits)?;
        rest = fraction.get(end..)?;
    }
    match rest {
        [] | [b'Z'] => Some(micros),
        [sign @ (b'+' | b'-'), zone @ ..] => {
            let minutes = zone.get(3..5).map_or(Some(0), number)?;
            let offset = (number(zone.get(..2)?)? * 60 + minutes) * 60_000_000;
            micros.checked_sub(if *sign == b'+' { offset } else { -offset })
        }
        _ => None,
    }
}

/// Days since 1970 as a date's text.
pub(crate) fn date_text(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Days since 1970 of a date of the proleptic Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    digits.iter().try_fold(0i64, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_texts_are_read() {
        assert_eq!(parse(b"1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse(b"2024-02-29T12:34:56.789012Z"), Some(1_709_210_096_789_012));
        assert_eq!(parse(b"1970-01-01T02:00:00.5+02:00"), Some(500_000));
        assert_eq!(parse(b"0001-01-01T00:00:00Z"), Some(-62_135_596_800_000_000));
        assert_eq!(parse(b"+12345-01-01T00:00:00Z"), Some(327_403_382_400_000_000));
        assert_eq!(parse(b"nonsense"), None);
        assert_eq!(parse(b"2024-02"), None);
    }

    #[test]
    fn dates_are_written_as_they_are_read() {
        for text in ["1970-01-01", "0001-01-01", "9999-12-31", "2024-02-29"] {
            let micros = parse(text.as_bytes()).unwrap();
            assert_eq!(date_text(micros / (DAY_SECONDS * 1_000_000)), text);
        }
    }
}
