//! 256-bit whole numbers, as far as decimals need them: sign and magnitude.

/// A sign and a magnitude below 2^256, little end first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wide {
    negative: bool,
    magnitude: [u64; 4],
}

/// The largest power of ten in 64 bits that digits are taken off by.
const CHUNK: u64 = 1_000_000_000_000_000_000;

impl Wide {
    /// Reads big-endian two's complement. `None`: more than 256 bits.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
        let fill = if negative { 0xFF } else { 0 };
        let extra = bytes.len().saturating_sub(32);
        let (head, tail) = bytes.split_at(extra);
        if head.iter().any(|byte| *byte != fill)
            || (extra > 0 && tail.first().is_some_and(|byte| (byte & 0x80 != 0) != negative))
        {
            return None;
        }
        let mut whole = [fill; 32];
        whole[32 - tail.len()..].copy_from_slice(tail);
        let mut magnitude = [0; 4];
        for (limb, chunk) in magnitude.iter_mut().rev().zip(whole.chunks_exact(8)) {
            *limb = chunk.iter().fold(0, |limb, byte| (limb << 8) | u64::from(*byte));
        }
        let mut wide = Self { negative: false, magnitude };
        if negative {
            wide.complement();
            wide.negative = true;
        }
        Some(wide)
    }

    /// Reads a plain decimal number and gives it with its scale. `None`: it is none, or too long.
    pub(crate) fn from_text(text: &str) -> Option<(Self, i64)> {
        let (negative, digits) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let mut wide = Self { negative: false, magnitude: [0; 4] };
        let (mut scale, mut point, mut any) = (0, false, false);
        for byte in digits {
            match byte {
                b'0'..=b'9' => {
                    wide = wide.times(10, u64::from(byte - b'0'))?;
                    any = true;
                    scale += i64::from(point);
                }
                b'.' if !point => point = true,
                _ => return None,
            }
        }
        wide.negative = negative;
        any.then_some((wide, scale))
    }

    /// The same number with `by` more digits after the point. `None`: too large, or digits
    /// other than zero would be lost.
    pub(crate) fn rescaled(self, by: i64) -> Option<Self> {
        let mut wide = self;
        for _ in 0..by.max(0) {
            if wide.magnitude == [0; 4] {
                break;
            }
            wide = wide.times(10, 0)?;
        }
        for _ in by.min(0)..0 {
            if wide.magnitude == [0; 4] {
                break;
            }
            if wide.divide(10) != 0 {
                return None;
            }
        }
        Some(wide)
    }

    /// Little-endian two's complement. `None`: it needs more than 255 bits.
    pub(crate) fn to_le_bytes(mut self) -> Option<[u8; 32]> {
        if self.magnitude[3] >> 63 != 0 {
            return None;
        }
        if self.negative {
            self.complement();
        }
        let mut bytes = [0; 32];
        for (chunk, limb) in bytes.chunks_exact_mut(8).zip(self.magnitude) {
            chunk.copy_from_slice(&limb.to_le_bytes());
        }
        Some(bytes)
    }

    /// How many decimal digits it has.
    pub(crate) fn digits(self) -> usize {
        self.digit_text().len()
    }

    /// The number with `scale` digits after the point.
    pub(crate) fn to_text(self, scale: i64) -> String {
        let mut digits = self.digit_text();
        if let Ok(zeros) = usize::try_from(-scale)
            && digits != "0"
        {
            digits.extend(std::iter::repeat_n('0', zeros));
        }
        if let Ok(scale @ 1..) = usize::try_from(scale) {
            if digits.len() <= scale {
                digits.insert_str(0, &"0".repeat(scale + 1 - digits.len()));
            }
            digits.insert(digits.len() - scale, '.');
        }
        if self.negative {
            digits.insert(0, '-');
        }
        digits
    }

    fn digit_text(mut self) -> String {
        let mut chunks = Vec::new();
        while self.magnitude != [0; 4] {
            chunks.push(self.divide(CHUNK));
        }
        let Some(first) = chunks.pop() else { return "0".to_owned() };
        let mut text = first.to_string();
        for chunk in chunks.iter().rev() {
            text.push_str(&format!("{chunk:018}"));
        }
        text
    }

    fn times(mut self, factor: u64, add: u64) -> Option<Self> {
        let mut carry = u128::from(add);
        for limb in &mut self.magnitude {
            let product = u128::from(*limb) * u128::from(factor) + carry;
            *limb = product as u64; // the low half; the high half is carried
            carry = product >> 64;
        }
        (carry == 0).then_some(self)
    }

    /// Divides in place and gives the rest.
    fn divide(&mut self, divisor: u64) -> u64 {
        let mut rest = 0u128;
        for limb in self.magnitude.iter_mut().rev() {
            let part = (rest << 64) | u128::from(*limb);
            *limb = (part / u128::from(divisor)) as u64; // below 2^64, since rest < divisor
            rest = part % u128::from(divisor);
        }
        rest as u64
    }

    fn complement(&mut self) {
        let mut carry = true;
        for limb in &mut self.magnitude {
            let (sum, over) = (!*limb).overflowing_add(u64::from(carry));
            *limb = sum;
            carry = over;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_of_a_number_are_the_same_number() {
        for (text, scale) in [("0", 0), ("-1", 0), ("123.4500", 4), ("-0.01", 2)] {
            let (wide, found) = Wide::from_text(text).unwrap();
            assert_eq!(found, scale);
            assert_eq!(wide.to_text(scale), text);
            let mut bytes = wide.to_le_bytes().unwrap();
            bytes.reverse();
            assert_eq!(Wide::from_bytes(&bytes).unwrap().to_text(scale), text);
        }
    }

    #[test]
    fn long_numbers_keep_all_digits() {
        let text = "99999999999999999999999999999999999.99999";
        let (wide, scale) = Wide::from_text(text).unwrap();
        assert_eq!(wide.to_text(scale), text);
        assert_eq!(wide.digits(), 40);
        assert_eq!(wide.rescaled(2).unwrap().to_text(7), format!("{text}00"));
        assert!(wide.rescaled(-1).is_none());
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["NaN", "", ".", "1e5", "1.2.3", "Infinity"] {
            assert!(Wide::from_text(text).is_none(), "{text}");
        }
        assert!(Wide::from_bytes(&[1; 40]).is_none());
    }
}
