//! Numbers in Java's texts.

use lattice_core::{decimal, schema::Schema};

/// `Double.toString`.
pub(crate) fn double_text(value: f64) -> String {
    java_float(value, &format!("{value:e}"))
}

/// `Float.toString`.
pub(crate) fn float_text(value: f32) -> String {
    java_float(f64::from(value), &format!("{value:e}"))
}

/// `scientific`: the shortest digits, as `d.ddde±n`.
fn java_float(value: f64, scientific: &str) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    if value == 0.0 {
        return format!("{sign}0.0");
    }
    if !(-3..7).contains(&exponent) {
        let rest = if digits.len() > 1 { &digits[1..] } else { "0" };
        return format!("{sign}{}.{rest}E{exponent}", &digits[..1]);
    }
    if exponent < 0 {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = usize::try_from(exponent + 1).unwrap_or(1);
    if digits.len() <= whole {
        return format!("{sign}{digits}{}.0", "0".repeat(whole - digits.len()));
    }
    format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
}

/// The scale of a `Decimal` schema.
pub(crate) fn scale_of(schema: &Schema) -> i32 {
    schema.get_parameter("scale").and_then(|scale| scale.parse().ok()).unwrap_or(0)
}

/// `BigDecimal.toString` of an unscaled big-endian number.
pub(crate) fn decimal_text(unscaled: &[u8], scale: i32) -> String {
    let (negative, digits) = decimal::digits(unscaled);
    let sign = if negative { "-" } else { "" };
    let adjusted = i32::try_from(digits.len()).unwrap_or(i32::MAX) - 1 - scale;
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    if scale > 0 && adjusted >= -6 {
        let places = usize::try_from(scale).unwrap_or(0);
        let padded = format!("{}{digits}", "0".repeat((places + 1).saturating_sub(digits.len())));
        let (whole, fraction) = padded.split_at(padded.len() - places);
        return format!("{sign}{whole}.{fraction}");
    }
    let fraction = if digits.len() > 1 { format!(".{}", &digits[1..]) } else { String::new() };
    format!("{sign}{}{fraction}E{adjusted:+}", &digits[..1])
}

/// The unscaled bytes and the scale of a decimal text; `None`: it is none.
pub(crate) fn decimal_of(text: &str) -> Option<(Vec<u8>, i32)> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > 1000 || !digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some((decimal::unscaled(digits.bytes(), negative), scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floating_point_numbers_have_javas_texts() {
        for (value, text) in [
            (0.0, "0.0"),
            (1.5, "1.5"),
            (-2.75, "-2.75"),
            (1e10, "1.0E10"),
            (1e7, "1.0E7"),
            (1_234_567.0, "1234567.0"),
            (0.001, "0.001"),
            (0.000_12, "1.2E-4"),
        ] {
            assert_eq!(double_text(value), text);
        }
        assert_eq!(float_text(1.1), "1.1");
    }

    #[test]
    fn decimals_have_javas_texts() {
        assert_eq!(decimal_text(&[0x30, 0x39], 2), "123.45");
        assert_eq!(decimal_text(&[0xff], 3), "-0.001");
        assert_eq!(decimal_text(&[1], 9), "1E-9");
        assert_eq!(decimal_text(&[0x0c], -2), "1.2E+3");
        for text in ["123.45", "-0.001", "12345678901234567890", "-128", "255"] {
            let (bytes, scale) = decimal_of(text).unwrap();
            assert_eq!(decimal_text(&bytes, scale), text);
        }
    }
}
