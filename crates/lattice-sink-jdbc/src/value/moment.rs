//! Dates and times: from the source's units and texts, and to ISO text.

/// Units: µs.
pub(crate) const DAY_US: i64 = 86_400_000_000;

/// Microseconds since 1970 of an ISO 8601 date and time; the ends of `i64` for infinity.
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

/// Microseconds of a time of the day, and what follows it.
pub(crate) fn time_of_day(time: &[u8]) -> Option<(i64, &[u8])> {
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

/// Year, month and day of days since 1970.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970 as text; infinity as such.
pub(crate) fn date_text(days: i64) -> String {
    match days {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        days => {
            let (year, month, day) = civil(days);
            let sign = if year < 0 { "-" } else { "" };
            format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
        }
    }
}

/// Microseconds of a day as text, with a fraction only if there is one.
pub(crate) fn time_text(micros: i64) -> String {
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match fraction {
        0 => format!("{hour:02}:{minute:02}:{second:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}.{fraction:06}"),
    }
}

/// Microseconds since 1970 as text; infinity as such.
pub(crate) fn timestamp_text(micros: i64, zone: &str) -> String {
    match micros {
        i64::MAX | i64::MIN => date_text(micros),
        micros => {
            let (day, time) = (micros.div_euclid(DAY_US), micros.rem_euclid(DAY_US));
            format!("{} {}{zone}", date_text(day), time_text(time))
        }
    }
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
    fn moments_are_written_as_they_are_read() {
        for text in [
            "1970-01-01 00:00:00",
            "0001-01-01 23:59:59.999999",
            "-0043-03-15 00:00:01",
            "12345-02-28 12:00:00",
        ] {
            assert_eq!(timestamp_text(parse(text.as_bytes()).unwrap(), ""), text);
        }
        assert_eq!(parse(b"1970-01-01T02:00:00.5+02:00"), Some(500_000));
        assert_eq!(timestamp_text(i64::MAX, "Z"), "infinity");
        assert_eq!(parse(b"nonsense"), None);
    }
}
