//! Days, dates and ISO 8601 texts of the proleptic Gregorian calendar.
//!
//! The calendar repeats every 400 years, which are 146,097 days; counted from March, a leap day is the
//! last of its year. Year 0 is 1 BC.

/// One day. Units: µs.
pub const DAY_US: i64 = 86_400_000_000;

/// From 0000-03-01 to 1970-01-01. Units: days.
const EPOCH: i64 = 719_468;

/// Days since 1970 of a date. `month` is 1 to 12; a day out of its month counts on.
#[must_use]
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH
}

/// Year, month and day of days since 1970.
#[must_use]
pub fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days.saturating_add(EPOCH);
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Microseconds since 1970 of an ISO 8601 date, or date and time with or without a zone; the ends of
/// `i64` for PostgreSQL's `infinity` and `-infinity`. `None`: not such a text, or beyond `i64`.
#[must_use]
pub fn parse(text: &[u8]) -> Option<i64> {
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
    let date = days(year, month, day).checked_mul(DAY_US)?;
    let Some(time) = rest.get(6..) else { return Some(date) };
    let (micros, rest) = time_of_day(time)?;
    let micros = date.checked_add(micros)?;
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

/// Microseconds of a time of the day (`12:34`, `12:34:56.789`), and what follows it.
#[must_use]
pub fn time_of_day(time: &[u8]) -> Option<(i64, &[u8])> {
    let (hour, minute) = (number(time.get(..2)?)?, number(time.get(3..5)?)?);
    let (second, rest) = match time.get(5) {
        Some(b':') => (number(time.get(6..8)?)?, time.get(8..)?),
        _ => (0, time.get(5..)?),
    };
    let mut micros = (hour * 3600 + minute * 60 + second) * 1_000_000;
    let [b'.', fraction @ ..] = rest else { return Some((micros, rest)) };
    let end = fraction.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(fraction.len());
    let mut digits = 0;
    for at in 0..6 {
        let digit = fraction.get(at).filter(|_| at < end).map_or(0, |byte| byte - b'0');
        digits = digits * 10 + i64::from(digit);
    }
    micros += digits;
    Some((micros, fraction.get(end..)?))
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
    fn every_day_of_many_years_is_its_date() {
        assert_eq!((days(1970, 1, 1), civil(0)), (0, (1970, 1, 1)));
        assert_eq!(civil(days(0, 2, 29)), (0, 2, 29));
        for day in (-4_000_000..4_000_000).step_by(97) {
            let (year, month, of_month) = civil(day);
            assert_eq!(days(year, month, of_month), day);
        }
    }

    #[test]
    fn iso_texts_are_read() {
        assert_eq!(parse(b"1970-01-01"), Some(0));
        assert_eq!(parse(b"1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse(b"2024-02-29T12:34:56.789012Z"), Some(1_709_210_096_789_012));
        assert_eq!(parse(b"1970-01-01T02:00:00.5+02:00"), Some(500_000));
        assert_eq!(parse(b"0001-01-01T00:00:00Z"), Some(-62_135_596_800_000_000));
        assert_eq!(parse(b"+12345-01-01T00:00:00Z"), Some(327_403_382_400_000_000));
        assert_eq!(parse(b"nonsense"), None);
        assert_eq!(parse(b"2024-02"), None);
    }
}
