//! Numbers and moments as the Java driver prints them.

use std::fmt::Write as _;

/// Java's `Double.toString`. Finite only.
pub fn double(number: f64, out: &mut String) {
    if number == 0.0 {
        out.push_str(if number.is_sign_negative() { "-0.0" } else { "0.0" });
        return;
    }
    let size = number.abs();
    if (1e-3..1e7).contains(&size) {
        let start = out.len();
        // Writing to a string cannot fail.
        let _ = write!(out, "{number}");
        if !out.get(start..).unwrap_or_default().contains('.') {
            out.push_str(".0");
        }
        return;
    }
    let mut text = format!("{number:e}");
    if !text.contains('.') {
        // Java takes the nearest of two digits, where one would do: 4.9E-324.
        let two = format!("{number:.1e}");
        if two.parse() == Ok(number) {
            text = two;
        }
    }
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    out.push_str(digits);
    if !digits.contains('.') {
        out.push_str(".0");
    }
    out.push('E');
    out.push_str(exponent);
}

/// A moment in ISO form, in UTC: seconds always, a fraction without trailing zeros. `None`: before
/// 1970 or after 9999, which has another form.
pub fn iso_date(ms: i64, out: &mut String) -> Option<()> {
    if !(0..=253_402_300_799_999).contains(&ms) {
        return None;
    }
    let (day, in_day) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let (year, month, day) = civil(day);
    let seconds = in_day / 1000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    // Writing to a string cannot fail.
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    let fraction = in_day % 1000;
    if fraction > 0 {
        let digits = format!("{fraction:03}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
    out.push('Z');
    Some(())
}

/// Year, month and day of a day since 1970 (Howard Hinnant's algorithm).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The text of a Decimal128 (General Decimal Arithmetic, to-scientific-string), from its 16 bytes.
#[must_use]
pub fn decimal128(bytes: [u8; 16]) -> String {
    let bits = u128::from_le_bytes(bytes);
    let sign = if bits >> 127 == 1 { "-" } else { "" };
    let combination = (bits >> 122) & 0x1f;
    if combination == 0x1f {
        return "NaN".to_owned();
    }
    if combination == 0x1e {
        return format!("{sign}Infinity");
    }
    // With the two bits set the coefficient would need more than 34 digits, which is read as zero.
    let (exponent, coefficient) = if combination >> 3 == 3 {
        ((bits >> 111) & 0x3fff, 0)
    } else {
        ((bits >> 113) & 0x3fff, bits & ((1 << 113) - 1))
    };
    let coefficient =
        if coefficient > 9_999_999_999_999_999_999_999_999_999_999_999 { 0 } else { coefficient };
    let exponent = i64::try_from(exponent).unwrap_or(0) - 6176;
    format!("{sign}{}", scientific(&coefficient.to_string(), exponent))
}

fn scientific(digits: &str, exponent: i64) -> String {
    let count = i64::try_from(digits.len()).unwrap_or(0);
    let adjusted = exponent + count - 1;
    if exponent <= 0 && adjusted >= -6 {
        if exponent == 0 {
            return digits.to_owned();
        }
        let point = count + exponent;
        return match usize::try_from(point) {
            Ok(point) if point > 0 => {
                let (whole, fraction) = digits.split_at(point);
                format!("{whole}.{fraction}")
            }
            _ => format!("0.{}{digits}", "0".repeat(usize::try_from(-point).unwrap_or(0))),
        };
    }
    let (first, rest) = digits.split_at(1);
    let mark = if adjusted < 0 { "" } else { "+" };
    if rest.is_empty() {
        format!("{first}E{mark}{adjusted}")
    } else {
        format!("{first}.{rest}E{mark}{adjusted}")
    }
}
