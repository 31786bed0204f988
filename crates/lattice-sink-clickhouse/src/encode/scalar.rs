//! Single values as Native blocks have them.

use super::builder::Refusal;

/// The bytes, filled up with zeros to `end`.
pub(super) fn put_padded(out: &mut Vec<u8>, bytes: &[u8], end: usize) -> Result<(), Refusal> {
    if out.len() + bytes.len() > end {
        return Err(format!("{} bytes are too many for the column", bytes.len()));
    }
    out.extend_from_slice(bytes);
    out.resize(end, 0);
    Ok(())
}

/// The lower bytes of a number. The usual widths are stores, where a length only known when it
/// runs would be a call.
#[inline]
pub(super) fn put_int(out: &mut Vec<u8>, number: i64, bytes: usize) {
    let number = number.to_le_bytes();
    match bytes {
        8 => out.extend_from_slice(&number),
        4 => out.extend_from_slice(&number[..4]),
        2 => out.extend_from_slice(&number[..2]),
        1 => out.push(number[0]),
        bytes => out.extend_from_slice(&number[..bytes.min(8)]),
    }
}

/// A length in seven-bit groups, then the bytes.
#[inline]
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let mut length = text.len();
    while length >= 0x80 {
        out.push((length & 0x7F) as u8 | 0x80); // seven bits
        length >>= 7;
    }
    out.push(length as u8); // seven bits are left
    out.extend_from_slice(text);
}

/// Big-endian two's complement of at most 16 bytes.
pub(super) fn short(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    if bytes.len() > 16 {
        return None;
    }
    let fill = if first & 0x80 != 0 { -1 } else { 0 };
    Some(bytes.iter().fold(fill, |number: i128, byte| (number << 8) | i128::from(*byte)))
}

/// Two little-endian halves, the high one first.
pub(super) fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    let bad = match <&[u8; 36]>::try_from(text) {
        // As PostgreSQL and everyone writes them: 8-4-4-4-12 digits.
        Ok(text) => {
            const PAIRS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
            let digits = bytes.iter_mut().zip(PAIRS).fold(0, |bad, (byte, at)| {
                let (high, low) = (digit(text[at]), digit(text[at + 1]));
                *byte = high << 4 | low & 0xF;
                bad | high | low
            });
            let dashes = [8, 13, 18, 23].iter().all(|at| text[*at] == b'-');
            digits > 0xF || !dashes
        }
        Err(_) => {
            let mut digits = text.iter().filter(|byte| **byte != b'-').map(|byte| digit(*byte));
            let mut bad = 0;
            for byte in &mut bytes {
                let (high, low) = (digits.next()?, digits.next()?);
                *byte = high << 4 | low & 0xF;
                bad |= high | low;
            }
            bad > 0xF || digits.next().is_some()
        }
    };
    bytes[..8].reverse();
    bytes[8..].reverse();
    (!bad).then_some(bytes)
}

/// A hexadecimal digit's number; above 15: it is none.
#[inline]
fn digit(byte: u8) -> u8 {
    const DIGITS: [u8; 256] = {
        let mut digits = [0xFF; 256];
        let mut number = 0;
        while number < 16 {
            let lower = b"0123456789abcdef"[number];
            digits[lower as usize] = number as u8;
            digits[lower.to_ascii_uppercase() as usize] = number as u8;
            number += 1;
        }
        digits
    };
    DIGITS[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_two_halves_each_turned_round() {
        let bytes = uuid(b"aa0e8400-e29b-41d4-A716-446655440000").unwrap();
        assert_eq!(bytes[..8], [0xD4, 0x41, 0x9B, 0xE2, 0x00, 0x84, 0x0E, 0xAA]);
        assert_eq!(bytes[8..], [0x00, 0x00, 0x44, 0x55, 0x66, 0x44, 0x16, 0xA7]);
        assert_eq!(uuid(b"aa0e8400e29b41d4a716446655440000"), Some(bytes));
        for wrong in
            ["", "aa0e8400-e29b-41d4-A716-44665544000", "aa0e8400-e29b-41d4-A716-4466554400000"]
        {
            assert_eq!(uuid(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(uuid(b"ga0e8400-e29b-41d4-A716-446655440000"), None);
    }
}
