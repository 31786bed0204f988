//! Exact numbers from their text: `numeric` and `money`.

use lattice_core::{
    decimal,
    value::{Binary, Text, Value},
};

use super::decoder::BadValue;

/// An exact number's digits without its point.
struct Digits<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
}

fn split(text: &[u8]) -> Result<Digits<'_>, BadValue> {
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(at) => (&text[..at], text.get(at + 1..).unwrap_or(&[])),
        None => (text, &[] as &[u8]),
    };
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return Err(BadValue("not a number"));
    }
    Ok(Digits { negative, whole, fraction })
}

/// NaN or an infinity.
pub(super) fn is_special(text: &[u8]) -> bool {
    matches!(text, b"NaN" | b"Infinity" | b"-Infinity")
}

/// The unscaled number at `scale`, big-endian two's complement, as short as can be.
pub(super) fn decimal(text: &[u8], scale: usize) -> Result<Binary<'static>, BadValue> {
    let digits = split(text)?;
    if digits.fraction.len() > scale {
        let (_, cut) = digits.fraction.split_at(scale);
        if cut.iter().any(|digit| *digit != b'0') {
            return Err(BadValue("more decimal places than the column has"));
        }
    }
    let fraction = digits.fraction.get(..scale.min(digits.fraction.len())).unwrap_or(&[]);
    let zeros = scale - fraction.len();
    let all = digits.whole.iter().chain(fraction).copied().chain(std::iter::repeat_n(b'0', zeros));
    if digits.whole.len() + scale <= 38 {
        let mut number: i128 = 0;
        for digit in all {
            number = number * 10 + i128::from(digit - b'0');
        }
        let number = if digits.negative { -number } else { number };
        return Ok(Binary::copied(decimal::shortest(&number.to_be_bytes())));
    }
    Ok(Binary::owned(decimal::unscaled(all, digits.negative)))
}

/// A `numeric` without declared scale: `VariableScaleDecimal` with trailing zeros stripped.
pub(super) fn variable(text: &[u8]) -> Result<Value<'static>, BadValue> {
    let digits = split(text)?;
    let zeros = digits.fraction.iter().rev().take_while(|digit| **digit == b'0').count();
    let scale = digits.fraction.len() - zeros;
    let unscaled = decimal(text, scale)?;
    let scale = i64::try_from(scale).map_err(|_| BadValue("too many decimal places"))?;
    Ok(Value::Struct(vec![Value::Int(scale), Value::Bytes(unscaled)]))
}

/// A `numeric` as text; NaN and infinities in Debezium's words.
pub(super) fn text(raw: &[u8]) -> Result<Value<'_>, BadValue> {
    Ok(match raw {
        b"NaN" => Value::text("NAN"),
        b"Infinity" => Value::text("POSITIVE_INFINITY"),
        b"-Infinity" => Value::text("NEGATIVE_INFINITY"),
        raw => Value::text(std::str::from_utf8(raw).map_err(|_| BadValue("text is not UTF-8"))?),
    })
}

/// A `numeric`'s text with this many decimal places.
pub(super) fn text_at(raw: &[u8], scale: usize) -> Result<Value<'static>, BadValue> {
    if is_special(raw) {
        return text(raw).map(Value::into_owned);
    }
    let unscaled = decimal(raw, scale)?;
    let scale = i64::try_from(scale).map_err(|_| BadValue("too many decimal places"))?;
    Ok(Value::Text(Text::owned(decimal::plain_text(unscaled.as_slice(), scale))))
}

/// A `money`'s plain number: `-$1,234.50` → `-1234.50`.
pub(super) fn money(text: &[u8]) -> String {
    let negative = text.iter().any(|byte| matches!(byte, b'-' | b'('));
    let digits = text.iter().filter(|byte| byte.is_ascii_digit() || **byte == b'.');
    let sign = if negative { "-" } else { "" };
    sign.chars().chain(digits.map(|byte| char::from(*byte))).collect()
}

/// A `money` at `scale`, rounded half up.
pub(super) fn money_decimal(text: &[u8], scale: usize) -> Result<Value<'static>, BadValue> {
    let plain = money(text);
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let Some(next) = fraction.as_bytes().get(scale) else {
        return Ok(Value::Bytes(decimal(plain.as_bytes(), scale)?));
    };
    let kept: String = fraction.chars().take(scale).collect();
    let number: i128 = format!("{whole}{kept}").parse().map_err(|_| BadValue("not money"))?;
    let up = i128::from(*next >= b'5');
    let number = if plain.starts_with('-') { number - up } else { number + up };
    Ok(Value::Bytes(Binary::copied(decimal::shortest(&number.to_be_bytes()))))
}

/// A `money` as text.
pub(super) fn money_text(text: &[u8]) -> Value<'static> {
    Value::Text(Text::copied(&money(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unscaled(text: &str, scale: usize) -> Vec<u8> {
        decimal(text.as_bytes(), scale).unwrap().as_slice().to_vec()
    }

    #[test]
    fn numbers_become_the_shortest_twos_complement() {
        assert_eq!(unscaled("0", 0), [0]);
        assert_eq!(unscaled("1.28", 2), [0, 128]);
        assert_eq!(unscaled("-1.28", 2), [128]);
        assert_eq!(unscaled("1", 2), [100]);
        assert_eq!(unscaled("-1", 0), [255]);
    }

    #[test]
    fn trailing_zeros_are_stripped_where_the_scale_is_free() {
        let value = variable(b"1.500").unwrap();
        let expected = Value::Struct(vec![Value::Int(1), Value::bytes(&[15])]);
        assert_eq!(value, expected);
    }

    #[test]
    fn money_is_rounded_half_up_to_its_digits() {
        assert_eq!(money(b"-$1,234.50"), "-1234.50");
        assert_eq!(money_decimal(b"$0.25", 1).unwrap(), Value::bytes(&[3]));
        assert_eq!(money_decimal(b"-$0.25", 1).unwrap(), Value::bytes(&[0xfd]));
    }

    proptest! {
        #[test]
        fn the_long_way_equals_the_short_way(number in any::<i128>()) {
            let number = number / 10;
            let text = number.unsigned_abs().to_string();
            let long = decimal::unscaled(text.bytes(), number < 0);
            let short = decimal::shortest(&number.to_be_bytes()).to_vec();
            prop_assert_eq!(long.as_slice(), short.as_slice());
        }
    }
}
