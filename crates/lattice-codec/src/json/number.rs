//! Numbers as Java prints them.

/// Java's `Double.toString`, except that what is not finite is the caller's matter.
pub(crate) fn float_text(number: f64, shortest: String) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return if shortest.contains(['.', 'e']) { shortest } else { format!("{shortest}.0") };
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if mantissa.contains('.') => format!("{mantissa}E{exponent}"),
        Some((mantissa, exponent)) => format!("{mantissa}.0E{exponent}"),
        None => text,
    }
}

/// The plain decimal text of an unscaled big-endian two's complement number.
pub(crate) fn decimal_text(bytes: &[u8], scale: i64) -> String {
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut digits = magnitude(bytes, negative);
    if scale < 0 {
        if digits != "0" {
            digits.extend(std::iter::repeat_n(
                '0',
                usize::try_from(-scale).unwrap_or(0).min(100_000),
            ));
        }
    } else if scale > 0 {
        let scale = usize::try_from(scale).unwrap_or(0).min(100_000);
        if digits.len() <= scale {
            digits.insert_str(0, &"0".repeat(scale + 1 - digits.len()));
        }
        digits.insert(digits.len() - scale, '.');
    }
    if negative {
        digits.insert(0, '-');
    }
    digits
}

/// Decimal digits of the absolute value, by repeated division by 10⁹.
fn magnitude(bytes: &[u8], negative: bool) -> String {
    let mut number: Vec<u8> = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in number.iter_mut().rev() {
            let (value, overflow) = (!*byte).overflowing_add(u8::from(carry));
            *byte = value;
            carry = overflow;
        }
    }
    let mut groups = Vec::new();
    while number.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u64;
        for byte in &mut number {
            let value = rest << 8 | u64::from(*byte);
            *byte = u8::try_from(value / 1_000_000_000).unwrap_or(u8::MAX); // rest < 10⁹: it fits
            rest = value % 1_000_000_000;
        }
        groups.push(rest);
    }
    let Some(first) = groups.pop() else { return "0".to_owned() };
    let mut text = first.to_string();
    for group in groups.iter().rev() {
        text.push_str(&format!("{group:09}"));
    }
    text
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
    let mut bytes: Vec<u8> = vec![0]; // little-endian
    for digit in digits.chars() {
        let mut carry = digit.to_digit(10)?;
        for byte in &mut bytes {
            let value = u32::from(*byte) * 10 + carry;
            *byte = u8::try_from(value & 0xff).ok()?;
            carry = value >> 8;
        }
        if carry > 0 {
            bytes.push(u8::try_from(carry).ok()?);
        }
    }
    if bytes.last().is_some_and(|byte| byte & 0x80 != 0) {
        bytes.push(0);
    }
    if negative {
        let mut carry = true;
        for byte in &mut bytes {
            (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
        }
    }
    while let [.., below, top] = bytes[..]
        && (top == 0 && below & 0x80 == 0 || top == 0xff && below & 0x80 != 0)
    {
        bytes.pop();
    }
    bytes.reverse();
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal_text(&[0], 2), "0.00");
        assert_eq!(decimal_text(&[0xff], 2), "-0.01");
        assert_eq!(decimal_text(&[0x30, 0x39], 2), "123.45");
        assert_eq!(decimal_text(&[0x05], -3), "5000");
        assert_eq!(decimal_text(&[0x80, 0, 0, 0, 0, 0, 0, 0], 0), "-9223372036854775808");
        assert_eq!(decimal_text(&[], 0), "0");
        for (text, scale) in [("-0.01", 2), ("123.45", 2), ("0.00", 2), ("-128", 0), ("128", 0)] {
            assert_eq!(decimal_text(&decimal_bytes(text, scale).unwrap(), scale), text);
        }
        assert_eq!(decimal_bytes("1.5", 0), None);
        assert_eq!(decimal_bytes("1.5e2", 1), decimal_bytes("150", 1));
    }

    #[test]
    fn floats_are_java_s() {
        let text = |number: f64| float_text(number, number.to_string());
        assert_eq!(text(1.0), "1.0");
        assert_eq!(text(0.001), "0.001");
        assert_eq!(text(1e7), "1.0E7");
        assert_eq!(text(-1.25e-5), "-1.25E-5");
    }
}
