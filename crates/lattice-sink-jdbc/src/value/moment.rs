//! Dates and times as ISO text.

use lattice_core::calendar::{DAY_US, civil};

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

#[cfg(test)]
mod tests {
    use lattice_core::calendar::parse;

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
        assert_eq!(timestamp_text(i64::MAX, "Z"), "infinity");
    }
}
