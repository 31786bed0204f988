//! Decimal numbers as digits.

use lattice_core::{decimal::plain_text, value::Text};

/// The text of an unscaled big-endian two's complement number.
pub(crate) fn decimal(unscaled: &[u8], scale: i64) -> Option<Text<'static>> {
    if !(-10_000..=20_000).contains(&scale) {
        return None;
    }
    if unscaled.is_empty() || unscaled.len() > 16 {
        return Some(Text::owned(plain_text(unscaled, scale)));
    }
    let fill = if unscaled.first().is_some_and(|byte| byte & 0x80 != 0) { 0xFF } else { 0 };
    let mut bytes = [fill; 16];
    bytes.get_mut(16 - unscaled.len()..)?.copy_from_slice(unscaled);
    let number = i128::from_be_bytes(bytes);
    // 39 digits, sign and point.
    let mut buffer = [0_u8; 48];
    let (mut at, mut rest, mut digits) = (buffer.len(), number.unsigned_abs(), 0_i64);
    if !(0..=36).contains(&scale) {
        return Some(Text::owned(plain_text(unscaled, scale)));
    }
    while rest > 0 || digits <= scale {
        if digits == scale && scale > 0 {
            at -= 1;
            *buffer.get_mut(at)? = b'.';
        }
        at -= 1;
        *buffer.get_mut(at)? = b'0' + (rest % 10) as u8;
        rest /= 10;
        digits += 1;
    }
    if number < 0 {
        at -= 1;
        *buffer.get_mut(at)? = b'-';
    }
    std::str::from_utf8(buffer.get(at..)?).ok().map(Text::copied)
}

/// Sign, digits before the point and digits after it; leading and trailing zeros taken away.
/// `None`: the text is no plain number.
pub(crate) fn parts(text: &str) -> Option<(bool, &str, &str)> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let some = !whole.is_empty() || !fraction.is_empty();
    (some && plain(whole) && plain(fraction))
        .then(|| (negative, whole.trim_start_matches('0'), fraction.trim_end_matches('0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_whatever_their_number() {
        let text = |unscaled: &[u8], scale| decimal(unscaled, scale).unwrap().as_str().to_owned();
        assert_eq!(text(&[0xFF], 2), "-0.01");
        assert_eq!(text(&[0], 0), "0");
        assert_eq!(text(&[0], 3), "0.000");
        assert_eq!(text(&[0x30, 0x39], 2), "123.45");
        assert_eq!(text(&[5], -2), "500");
        let mut one = vec![1];
        one.extend([0; 40]);
        assert_eq!(text(&one, 3).len(), 98);
        assert_eq!(text(&i128::MIN.to_be_bytes(), 36), "-170.141183460469231731687303715884105728");
        assert_eq!(parts("-00120.500"), Some((true, "120", "5")));
        assert_eq!(parts("NaN"), None);
        assert_eq!(parts("1e5"), None);
    }
}
