//! Decimal numbers of any length, as unscaled big-endian two's complement and as digits.

/// The most zeros that a scale may add to a number's text.
const MOST_ZEROS: usize = 100_000;

/// Changes the sign of a two's complement number.
pub fn negate(number: &mut [u8]) {
    let mut carry = true;
    for byte in number.iter_mut().rev() {
        (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
    }
}

/// Whether a number is below zero, and its absolute value.
#[must_use]
pub fn magnitude(number: &[u8]) -> (bool, Vec<u8>) {
    let negative = number.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut magnitude = number.to_vec();
    if negative {
        negate(&mut magnitude);
    }
    (negative, magnitude)
}

/// Whether a number is below zero, and the digits of its absolute value, without leading zeros.
#[must_use]
pub fn digits(number: &[u8]) -> (bool, String) {
    let (negative, mut rest_of) = magnitude(number);
    // By repeated division, nine digits at a time.
    let mut groups = Vec::new();
    while rest_of.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u64;
        for byte in &mut rest_of {
            let value = rest << 8 | u64::from(*byte);
            *byte = u8::try_from(value / 1_000_000_000).unwrap_or(u8::MAX); // rest < 10⁹: it fits
            rest = value % 1_000_000_000;
        }
        groups.push(rest);
    }
    let Some(first) = groups.pop() else { return (negative, "0".to_owned()) };
    let mut text = first.to_string();
    for group in groups.iter().rev() {
        text.push_str(&format!("{group:09}"));
    }
    (negative, text)
}

/// The plain text of a number of `scale` digits after the point: never with an exponent.
#[must_use]
pub fn plain_text(unscaled: &[u8], scale: i64) -> String {
    let (negative, mut text) = digits(unscaled);
    let places = usize::try_from(scale.unsigned_abs()).unwrap_or(MOST_ZEROS).min(MOST_ZEROS);
    if scale < 0 && text != "0" {
        text.extend(std::iter::repeat_n('0', places));
    } else if scale > 0 {
        if text.len() <= places {
            text.insert_str(0, &"0".repeat(places + 1 - text.len()));
        }
        text.insert(text.len() - places, '.');
    }
    if negative {
        text.insert(0, '-');
    }
    text
}

/// The number of some digits (`0` to `9`), as short as can be.
#[must_use]
pub fn unscaled(digits: impl Iterator<Item = u8>, negative: bool) -> Vec<u8> {
    // Little-endian limbs, nine digits at a time.
    let mut limbs: Vec<u32> = Vec::new();
    let mut push = |factor: u64, add: u64| {
        let mut carry = add;
        for limb in &mut limbs {
            let product = u64::from(*limb) * factor + carry;
            #[allow(clippy::cast_possible_truncation)] // the low half
            let low = product as u32;
            *limb = low;
            carry = product >> 32;
        }
        if carry > 0 {
            #[allow(clippy::cast_possible_truncation)] // below 2^32: factor is below 2^32
            limbs.push(carry as u32);
        }
    };
    let (mut group, mut factor) = (0, 1);
    for digit in digits {
        group = group * 10 + u64::from(digit.wrapping_sub(b'0'));
        factor *= 10;
        if factor == 1_000_000_000 {
            push(factor, group);
            (group, factor) = (0, 1);
        }
    }
    if factor > 1 {
        push(factor, group);
    }
    let mut bytes = vec![0];
    bytes.extend(limbs.iter().rev().flat_map(|limb| limb.to_be_bytes()));
    if negative {
        negate(&mut bytes);
    }
    shortest(&bytes).to_vec()
}

/// A number without the leading bytes that say no more than its sign.
#[must_use]
pub fn shortest(number: &[u8]) -> &[u8] {
    let mut rest = number;
    while let [first, second, ..] = rest {
        let redundant = (*first == 0 && *second < 0x80) || (*first == 0xff && *second >= 0x80);
        if !redundant {
            break;
        }
        rest = &rest[1..];
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_keep_their_digits() {
        let mut long = vec![1];
        long.extend([0; 40]);
        for (number, scale, text) in [
            (&[][..], 0, "0"),
            (&[0], 2, "0.00"),
            (&[0xFF], 2, "-0.01"),
            (&[0x30, 0x39], 2, "123.45"),
            (&[5], -3, "5000"),
            (&[0x80, 0, 0, 0, 0, 0, 0, 0], 0, "-9223372036854775808"),
            (
                &long,
                3,
                "2135987035920910082395021706169552114602704522356652769947041607822219725780640550022962086936.576",
            ),
        ] {
            assert_eq!(plain_text(number, scale), text);
        }
    }

    #[test]
    fn digits_become_the_shortest_number() {
        let number = |text: &str| {
            let (negative, digits) = text.strip_prefix('-').map_or((false, text), |it| (true, it));
            unscaled(digits.bytes(), negative)
        };
        assert_eq!(number("0"), [0]);
        assert_eq!(number("-0"), [0]);
        assert_eq!(number("127"), [0x7f]);
        assert_eq!(number("128"), [0, 0x80]);
        assert_eq!(number("-128"), [0x80]);
        assert_eq!(number("-129"), [0xff, 0x7f]);
        for text in ["-1", "999999999", "1000000000", "-170141183460469231731687303715884105729"] {
            assert_eq!(plain_text(&number(text), 0), text);
        }
    }
}
