//! Numbers as Java prints them.

use std::fmt::{Display, LowerExp};

use lattice_core::decimal;

/// Java's `Double.toString` or `Float.toString`, except that what is not finite is the caller's matter.
pub(crate) fn float_text<N: Copy + Display + LowerExp + Into<f64>>(number: N) -> String {
    let size = number.into().abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        let shortest = number.to_string();
        return if shortest.contains(['.', 'e']) { shortest } else { format!("{shortest}.0") };
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => format!("{mantissa}E{exponent}"),
        Some((mantissa, exponent)) => format!("{mantissa}.0E{exponent}"),
        None => text,
    }
}

/// The unscaled big-endian two's complement number of a decimal's text; `None`: no number, or it
/// has more digits after the point than `scale`.
pub(crate) fn decimal_bytes(text: &str, scale: i64) -> Option<Vec<u8>> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = format!("{whole}{fraction}");
    let mut shift = scale + exponent - i64::try_from(fraction.len()).ok()?;
    while shift < 0 && digits.ends_with('0') {
        digits.pop();
        shift += 1;
    }
    let zeros = usize::try_from(shift).ok().filter(|zeros| *zeros <= 100_000)?;
    digits.extend(std::iter::repeat_n('0', zeros));
    digits
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then(|| decimal::unscaled(digits.bytes(), negative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, scale) in [("-0.01", 2), ("123.45", 2), ("0.00", 2), ("-128", 0), ("128", 0)] {
            assert_eq!(decimal::plain_text(&decimal_bytes(text, scale).unwrap(), scale), text);
        }
        assert_eq!(decimal_bytes("1.5", 0), None);
        assert_eq!(decimal_bytes("1.5e2", 1), decimal_bytes("150", 1));
    }

    #[test]
    fn floats_are_java_s() {
        let text = float_text::<f64>;
        assert_eq!(text(1.0), "1.0");
        assert_eq!(text(0.001), "0.001");
        assert_eq!(text(1e7), "1.0E7");
        assert_eq!(text(-1.25e-5), "-1.25E-5");
        assert_eq!(float_text(f32::MAX), "3.4028235E38");
        assert_eq!(float_text(0.1_f32), "0.1");
    }
}
